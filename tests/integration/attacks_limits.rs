//! With few descriptors, little memory, no standard streams or no `/proc`, nothing is allowed that should not be (spec
//! §13).

use macro_rules_attribute::apply;

use crate::attack::{Linking, arena, arena_with, set_up};
use crate::layers::row;
use crate::run::{Mode, Outcome, PRODUCT, Run, have, skip};
use crate::scratch::Scratch;

/// One test per row: `name: RESOURCE, limits;`. Each limit applies first from before the launcher starts. Then it
/// applies to a program that is already confined, and to what that executes.
macro_rules! limits {
    ($($name:ident: $resource:literal, $limits:expr;)*) => {
        $(
            crate::layers::row! {
                fn $name() {
                    for limit in $limits {
                        assert_closed($resource, limit);
                    }
                }
            }
        )*
    };
}

limits! {
    few_descriptors: "NOFILE", [3, 4, 5, 6, 7, 8, 10, 12];
    little_memory: "AS", (1_u32..16).map(|megabytes| megabytes << 20);
    small_stack: "STACK", [4096, 65536, 262_144];
    no_room_in_files: "FSIZE", [0];
}

const CONFINED: [&str; 2] = [PRODUCT, "--"];

fn assert_closed(resource: &str, limit: u32) {
    let scratch = arena(Scratch::new());
    set_up(&scratch, "ln -s $OUT/secret link");
    let attack = scratch.path("ws/bin/attack");
    let (attack, limit) = (attack.to_str().expect("UTF-8"), limit.to_string());
    let limited = ["limit", resource, &limit];
    let before = scratch.forbidden();
    for step in
        [&["open", "link"][..], &["unlink", "../out/target"], &["exec_self", "open", "link"]]
    {
        let product = if Mode::under_test() == Mode::Confined { &CONFINED[..] } else { &[] };
        let outside = [&limited[..], &["exec"], product, &[attack], step].concat();
        assert_nothing_done(&Run::new(&scratch, attack, &outside).mode(Mode::Bare).run());
        let inside = [&limited[..], step].concat();
        assert_nothing_done(&Run::new(&scratch, attack, &inside).run());
    }
    before.assert_same(&scratch.forbidden());
}

fn assert_nothing_done(outcome: &Outcome) {
    outcome.assert_no_secret();
    assert!(!outcome.stdout.starts_with("ok"), "{outcome}");
}

/// Shell words that run the attack program.
fn attack(scratch: &Scratch, steps: &str) -> String {
    let product =
        if Mode::under_test() == Mode::Confined { CONFINED.join(" ") } else { String::new() };
    scratch.expand(&format!("{product} $WS/bin/attack {steps}"))
}

#[apply(row!)]
fn no_standard_streams() {
    for closed in ["0<&-", "1>&-", "2>&-", "0<&- 1>&-", "0<&- 1>&- 2>&-"] {
        let scratch = arena(Scratch::new());
        let before = scratch.forbidden();
        let line = attack(&scratch, "unlink $OUT/target , link $OUT/secret got");
        Run::sh(&scratch, &format!("exec {closed}; {line}")).mode(Mode::Bare).run();
        let line = attack(&scratch, "link $OUT/secret got");
        Run::sh(&scratch, &format!("exec {closed}; {line}")).mode(Mode::Bare).run();
        before.assert_same(&scratch.forbidden());
        scratch.assert_nothing_leaked();
    }
}

#[apply(row!)]
fn no_proc() {
    if !have("unshare") {
        return;
    }
    let hide = "mount -t tmpfs none /proc";
    let scratch = arena(Scratch::new());
    set_up(&scratch, "ln -s $OUT/secret link");
    let probe = Run::sh(&scratch, &format!("unshare -m sh -c '{hide}'")).mode(Mode::Bare).run();
    if probe.code() != 0 {
        return skip("there can be no mount namespace");
    }
    for steps in ["open $OUT/secret", "open link", "exec_self open link", "unlink ../out/target"] {
        let line = attack(&scratch, steps);
        let script = format!("unshare -m sh -c '{hide} && {line}'");
        assert_nothing_done(&Run::sh(&scratch, &script).mode(Mode::Bare).run());
    }
    // Nothing shows the program's path, so the report gives its name.
    let scratch = arena_with(Linking::Static, Scratch::new());
    let line = "-- sh -c \"bin/attack open file\"";
    let script = format!("unshare -m sh -c '{hide} && {PRODUCT} {line}'");
    let run = Run::sh(&scratch, &script).mode(Mode::Bare).run();
    run.assert_stderr("denied execve bin/attack").assert_stderr("statically linked");
}
