//! Tests calls on processes by number.

use super::*;

#[test]
fn other_processes_are_reached_where_landlock_keeps_those_outside_apart() {
    let without = assemble(Traps { processes: true, ..NOTHING }, Some(COOKIE), Sockets::All);
    let with = assemble(NOTHING, Some(COOKIE), Sockets::All);
    for number in numbers(When::Processes, Trap::Always) {
        assert_eq!(answer(&without, Call::of(number, &[]).with_cookie(COOKIE)), NOTIFY);
        assert!(crate::supervisor::answers(number), "call {number}");
        assert_eq!(answer(&with, Call::of(number, &[])), ALLOW);
    }
}

/// In a new user namespace the caller may create the others.
#[test]
fn namespaces_that_take_a_capability_are_told_of_where_it_is_withheld() {
    let with = assemble(NOTHING, Some(COOKIE), Sockets::All);
    let without = assemble(Traps { namespaces: true, ..NOTHING }, Some(COOKIE), Sockets::All);
    let call = |filter, number, first: i32, second: i32| {
        let arguments = [first, second].map(|word| u64::from(word.cast_unsigned()));
        answer(filter, Call::of(number, &arguments).with_cookie(COOKIE))
    };
    let (user, mounts) = (libc::CLONE_NEWUSER, libc::CLONE_NEWNS);
    for (flags, expected) in [
        (mounts, NOTIFY),
        (mounts | libc::CLONE_FS, NOTIFY),
        (libc::CLONE_NEWNET, NOTIFY),
        (user | mounts, ALLOW),
        (libc::CLONE_FS | libc::CLONE_FILES, ALLOW),
        (0, ALLOW),
    ] {
        assert_eq!(call(&without, libc::SYS_unshare, flags, 0), expected, "unshare {flags:#x}");
        assert_eq!(call(&without, libc::SYS_setns, mounts, flags), expected, "setns {flags:#x}");
        assert_eq!(call(&with, libc::SYS_unshare, flags, 0), ALLOW);
    }
    assert!([libc::SYS_unshare, libc::SYS_setns].into_iter().all(crate::supervisor::answers));
}

#[test]
fn limits_of_others_are_judged_where_they_are_set() {
    let filter = assemble(NOTHING, Some(COOKIE), Sockets::All);
    let call = |process, new| answer(&filter, Call::of(libc::SYS_prlimit64, &[process, 7, new]));
    assert_eq!(
        (call(0, 1), call(5, 0), call(5, 1), call(5, 1 << 40)),
        (ALLOW, ALLOW, NOTIFY, NOTIFY)
    );
}

/// A crash writes a file without any call.
#[test]
fn the_limit_of_core_files_stays() {
    let with = assemble(Traps { cores: true, ..NOTHING }, Some(COOKIE), Sockets::All);
    let without = assemble(NOTHING, Some(COOKIE), Sockets::All);
    let core = rustix::process::Resource::Core as u64;
    for (process, new, old, expected) in [
        (0, 1 << 40, 0, fails(0)),
        (5, 1, 0, fails(0)),
        (0, 1, 1, fails(libc::EPERM)),
        (0, 0, 1, ALLOW),
        (5, 0, 1, ALLOW),
    ] {
        let call = Call::of(libc::SYS_prlimit64, &[process, core, new, old]);
        assert_eq!(answer(&with, call), expected, "{process} {new} {old}");
    }
    let set = |filter: &[sock_filter], kind| answer(filter, Call::of(libc::SYS_setrlimit, &[kind]));
    assert_eq!((set(&with, core), set(&with, 7), set(&without, core)), (fails(0), ALLOW, ALLOW));
    let open_files = Call::of(libc::SYS_prlimit64, &[5, 7, 1, 0]);
    assert_eq!((answer(&with, open_files), answer(&without, open_files)), (NOTIFY, NOTIFY));
}

#[test]
fn who_runs_first_is_judged_where_it_is_about_others() {
    let filter = assemble(NOTHING, Some(COOKIE), Sockets::All);
    let call =
        |number, one, two| answer(&filter, Call::of(number, &[one, two]).with_cookie(COOKIE));
    for number in [libc::SYS_sched_setaffinity, libc::SYS_sched_setscheduler] {
        assert_eq!((call(number, 0, 8), call(number, 5, 8)), (ALLOW, NOTIFY));
    }
    for (number, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
        let calls =
            [(process, 0), (process, 5), (2, 0)].map(|(which, who)| call(number, which, who));
        assert_eq!(calls, [ALLOW, NOTIFY, NOTIFY], "{number}");
    }
    assert_eq!(call(libc::SYS_move_pages, 5, 0), ALLOW, "Landlock holds it");
    assert_eq!(call(libc::SYS_perf_event_open, 1, 0), NOTIFY, "it may be of a control group");
}

/// The supervisor must be able to read their arguments.
#[test]
fn processes_are_told_that_their_memory_is_hidden_where_it_must_not_be() {
    let call = |filter: &[sock_filter], what: i32, value: u64| {
        let arguments = [u64::from(what.cast_unsigned()), value];
        answer(filter, Call::of(libc::SYS_prctl, &arguments).with_cookie(COOKIE))
    };
    let filter = assemble(Traps { hiding: true, ..NOTHING }, Some(COOKIE), Sockets::All);
    for (what, value, expected) in [
        (libc::PR_SET_DUMPABLE, 0, fails(0)),
        (libc::PR_SET_DUMPABLE, 1, ALLOW),
        (libc::PR_SET_DUMPABLE, 1 << 32, ALLOW),
        (libc::PR_GET_DUMPABLE, 0, ALLOW),
        (libc::PR_SET_NAME, 0, ALLOW),
    ] {
        assert_eq!(call(&filter, what, value), expected, "{what} {value}");
    }
    let mighty = assemble(NOTHING, Some(COOKIE), Sockets::All);
    assert_eq!(call(&mighty, libc::PR_SET_DUMPABLE, 0), ALLOW);
}
