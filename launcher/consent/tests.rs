//! Who waits for which question, without a terminal.

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::Denial;
use jp_confine_policy::tier::Restraint;
use jp_confine_policy::tiers::Tiers;

use super::*;
use crate::supervisor::task::Subject;
use crate::turns::Turns;

fn about() -> About {
    About {
        interactive: true,
        workspace: "/w".into(),
        tiers: Tiers::default(),
        typed: None,
        turns: Turns::default(),
    }
}

/// That this process wants to read a file of that name.
fn question(pid: u32, name: &[u8]) -> Question {
    let denial = Denial {
        rule: None,
        missing: Capabilities::READ,
        hidden: false,
        second: false,
        level: 0,
        visible: 0,
        restraint: Some(Restraint::Prompt),
        ask: true,
    };
    about().question(&denial, Subject::new(name), b"/bin/cat".to_vec(), pid)
}

/// The process of each question, and how many wait for it.
fn waiting(consent: &Consent) -> Vec<(u32, usize)> {
    let state = consent.state();
    state.pending.iter().map(|one| (one.question.pid, one.waiters.len())).collect()
}

/// As two threads of one process do, and none of another.
#[test]
fn only_who_is_named_joins_a_question() {
    let consent = Consent::new(about());
    let join = |tid, pid| consent.join(tid, &question(pid, b"/w/f")).expect("joined");
    let _waiters = [join(7, 7), join(8, 7), join(9, 9)];
    assert_eq!(waiting(&consent), [(7, 2), (9, 1)]);
}

#[test]
fn an_answer_for_once_is_for_one_process() {
    let consent = Consent::new(about());
    let join = |tid: i32| {
        let question = question(tid.unsigned_abs(), b"/w/f");
        consent.join(tid, &question).expect("joined")
    };
    let waiters = [join(3), join(4), join(5), join(6)];
    consent.answer(waiters[1].id, Answer::Once);
    // In the order in which they came.
    assert_eq!(waiting(&consent), [(3, 1), (5, 1), (6, 1)]);
    consent.answer(waiters[0].id, Answer::Once);
    assert_eq!(waiting(&consent), [(5, 1), (6, 1)]);
    consent.answer(waiters[2].id, Answer::No);
    assert_eq!(waiting(&consent), []);
}
