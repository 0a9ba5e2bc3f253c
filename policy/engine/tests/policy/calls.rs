//! Tests the table of system calls.

use std::collections::HashSet;

use jp_confine_engine::calls::{CALLS, Call, Effect, LAST_KNOWN, of_number};

#[test]
fn no_call_has_two_rows() {
    let names: HashSet<&str> = CALLS.iter().map(Call::text).collect();
    assert_eq!(names.len(), CALLS.len());
    for processor in 0..2 {
        let numbers = CALLS.iter().map(|call| call.numbers[processor]).filter(|it| *it >= 0);
        let unique: HashSet<i16> = numbers.clone().collect();
        assert_eq!(unique.len(), numbers.count());
    }
}

#[test]
fn a_number_leads_to_its_row() {
    for call in CALLS.iter().filter(|call| call.number().is_some()) {
        let found = call.number().and_then(of_number).map(Call::text);
        assert_eq!(found, Some(call.text()));
    }
    assert!([-1, LAST_KNOWN + 1, i64::MAX].into_iter().all(|it| of_number(it).is_none()));
}

#[test]
fn functions_of_libc_have_the_effect_of_their_calls() {
    for (name, effect) in [
        ("umount", Effect::Paths),
        ("klogctl", Effect::Log),
        ("clone3", Effect::Names),
        ("openat", Effect::Around),
        ("unheard_of", Effect::Around),
    ] {
        assert_eq!(Effect::of(name.as_bytes()), effect, "{name}");
    }
}
