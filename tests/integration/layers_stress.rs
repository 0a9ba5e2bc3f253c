//! Programs without the library that make it hard to answer their calls. The object that was judged is the object that
//! is used, no caller waits for another, and answers are the kernel's own.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::layers::Holder;
use crate::run::{Mode, Outcome, PRODUCT, Run, have, is_whole, skip};
use crate::scratch::Scratch;

/// Time limit for anything here, which takes seconds or hangs.
const LIMIT: Duration = Duration::from_secs(90);

/// How a disturbing program is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linked {
    Statically,
    Dynamically,
}

pub(crate) const BOTH: [Linked; 2] = [Linked::Statically, Linked::Dynamically];

/// The program, compiled once for all tests.
fn compiled(linked: Linked) -> PathBuf {
    static PROGRAMS: OnceLock<tempfile::TempDir> = OnceLock::new();
    let dir = PROGRAMS.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a folder for the program");
        let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stress");
        for (name, option) in [("static", "-static"), ("dynamic", "")] {
            let path = dir.path().join(name);
            let script = format!(
                "cc {option} -O1 -Wall -Wextra -Werror -o '{}' '{sources}'/*.c -pthread",
                path.display()
            );
            let status = Command::new("sh").args(["-c", &script]).status().expect("sh");
            assert!(status.success(), "the program does not compile");
        }
        dir
    });
    dir.path().join(if linked == Linked::Statically { "static" } else { "dynamic" })
}

/// A scratch tree with the program and a fifo in its workspace.
pub(crate) fn ground(scratch: Scratch, linked: Linked) -> Scratch {
    scratch.copy_program(&compiled(linked), "ws/stress");
    scratch.write("ws/dir/inner", "inner\n");
    let fifo = scratch.path("ws/fifo");
    assert!(Command::new("mkfifo").arg(fifo).status().expect("mkfifo").success());
    scratch.hand_over();
    scratch
}

/// A run of the program with a line of arguments. `None` where only the library is tested.
pub(crate) fn run(scratch: &Scratch, mode: Mode, line: &str) -> Option<Outcome> {
    if Holder::under_test() == Holder::Library {
        skip("the library is not in programs like these");
        return None;
    }
    let line = scratch.expand(line);
    let (flags, line) = line.split_once(" -- ").unwrap_or(("", &line));
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let args: Vec<&str> = line.split_whitespace().collect();
    let program = scratch.path("ws/stress");
    let program = program.to_str().expect("UTF-8");
    Some(Run::new(scratch, program, &args).mode(mode).flags(&flags).limit(LIMIT).run())
}

/// The program, linked as `linked`, must print `expected` for `line`.
pub(crate) fn assert_says(linked: Linked, line: &str, expected: &str) {
    let scratch = ground(Scratch::new(), linked);
    let Some(outcome) = run(&scratch, Mode::under_test(), line) else { return };
    assert_eq!(outcome.stdout.trim_end(), expected, "{linked:?} {outcome}");
}

/// The program must print for `line` what it prints bare.
pub(crate) fn assert_as_bare(line: &str) {
    assert_linked_as_bare(&BOTH, line);
}

/// The same where the library is less exact, because it makes every path absolute first.
pub(crate) fn assert_static_as_bare(line: &str) {
    assert_linked_as_bare(&[Linked::Statically], line);
}

fn assert_linked_as_bare(all: &[Linked], line: &str) {
    for &linked in all {
        let bare = ground(Scratch::new(), linked);
        let Some(expected) = run(&bare, Mode::Bare, line) else { return };
        assert!(!expected.stdout.is_empty(), "{expected}");
        assert_says(linked, line, expected.stdout.trim_end());
    }
}

/// How often a race of `all` attempts is run here.
fn attempts(all: u32) -> u32 {
    if is_whole() { all } else { all / 10 }
}

/// The number after `name` in the output of the program.
fn count(outcome: &Outcome, name: &str) -> u64 {
    let mut words = outcome.stdout.split_whitespace().skip_while(|word| *word != name);
    let number = words.nth(1).and_then(|word| word.parse().ok());
    number.unwrap_or_else(|| panic!("no {name}: {outcome}"))
}

#[test]
fn a_path_that_is_rewritten_meanwhile() {
    let scratch = ground(Scratch::new(), Linked::Statically);
    scratch.write("ws/f00", "allowed\n");
    scratch.write("out/f0", "forbidden\n");
    let before = scratch.forbidden();
    let line = format!("-q -- rewritten-path $WS/f00 $OUT/f0 {}", attempts(100_000));
    let Some(outcome) = run(&scratch, Mode::under_test(), &line) else { return };
    assert_eq!(count(&outcome, "escaped"), 0, "{outcome}");
    assert!(count(&outcome, "done") > 0 && count(&outcome, "refused") > 0, "{outcome}");
    before.assert_same(&scratch.forbidden());
}

#[test]
fn a_descriptor_that_changes_meanwhile() {
    let scratch = ground(Scratch::new(), Linked::Statically);
    let before = scratch.forbidden();
    let attempts = attempts(30_000);
    let line = format!("-q -r $OUT/dir -- swapped-descriptor $WS/dir $OUT/dir {attempts}");
    let Some(outcome) = run(&scratch, Mode::under_test(), &line) else { return };
    assert!(count(&outcome, "done") > 0 && count(&outcome, "refused") > 0, "{outcome}");
    before.assert_same(&scratch.forbidden());
}

#[test]
fn a_directory_and_a_link_that_change_places_meanwhile() {
    let scratch = ground(Scratch::new(), Linked::Statically);
    let before = scratch.forbidden();
    let line = format!("-q -- swapped-names dir $OUT/dir {}", attempts(30_000));
    let Some(outcome) = run(&scratch, Mode::under_test(), &line) else { return };
    assert!(count(&outcome, "done") > 0 && count(&outcome, "refused") > 0, "{outcome}");
    before.assert_same(&scratch.forbidden());
}

#[test]
fn callers_that_are_killed() {
    for linked in BOTH {
        assert_says(linked, "killed fifo 100", "then ok");
    }
}

#[test]
fn signals_reach_who_waits() {
    assert_as_bare("signals fifo restart");
    assert_as_bare("signals fifo fail");
}

/// One thread gets a signal for the process. The others go on waiting, and notice nothing.
#[test]
fn a_signal_reaches_one_of_many_who_wait() {
    assert_as_bare("shared-signal fifo");
}

/// A signal does not make a new file seem to exist already. Without `SA_RESTART`, a call ends with `EINTR` if its
/// signal comes before the supervisor takes the call. It has done nothing then.
#[test]
fn a_storm_of_signals() {
    assert_as_bare("storm 1500 restart");
    let scratch = ground(Scratch::new(), Linked::Statically);
    let Some(outcome) = run(&scratch, Mode::under_test(), "storm 1500 fail") else { return };
    assert_eq!((count(&outcome, "exists"), count(&outcome, "other")), (0, 0), "{outcome}");
}

#[test]
fn sixty_four_threads() {
    assert_as_bare("threads 64 30");
}

#[test]
fn two_thousand_processes() {
    assert_says(Linked::Statically, "processes 2000", "wrong 0");
}

/// If the supervisor lacks descriptors, it answers fewer calls at a time, and no caller is told.
#[test]
fn few_descriptors_for_who_answers() {
    if !have("prlimit") {
        return skip("no prlimit");
    }
    let scratch = ground(Scratch::for_ordinary_user(), Linked::Statically);
    // No more than the kernel, too, allows one user to have in flight.
    let rows = [("--nofile=40", "threads 20 100"), ("--nofile=120", "passers 3 45 200")];
    for (limit, verb) in rows {
        let line = [&[limit, PRODUCT, "--", "./stress"], &verb.split(' ').collect::<Vec<_>>()[..]];
        let bare = Run::new(&scratch, "prlimit", &line.concat()).mode(Mode::Bare).limit(LIMIT);
        let outcome = bare.run();
        assert_eq!(outcome.stdout, "wrong 0\n", "{verb} {outcome}");
    }
}

#[test]
fn parents_that_wait_for_their_children() {
    assert_as_bare("vforks 300");
}

#[test]
fn two_hundred_who_wait_stall_nobody() {
    let expected = "opened 200 out-of-memory 0 other 0 wrong 0";
    assert_says(Linked::Statically, "crowd fifo 200", expected);
}

/// If more calls wait than can be held, the rest fail with an error. Other calls are still answered.
#[test]
fn three_thousand_who_wait_are_too_many() {
    let scratch = ground(Scratch::new(), Linked::Statically);
    let Some(outcome) = run(&scratch, Mode::under_test(), "crowd fifo 3000") else { return };
    assert_eq!((count(&outcome, "other"), count(&outcome, "wrong")), (0, 0), "{outcome}");
    assert!(count(&outcome, "opened") > 0 && count(&outcome, "out-of-memory") > 0, "{outcome}");
    let all = count(&outcome, "opened") + count(&outcome, "out-of-memory");
    assert_eq!(all, 3000, "{outcome}");
}

#[test]
fn tracing_inside_the_run() {
    if cfg!(target_arch = "x86_64") {
        assert_as_bare("traced file");
        assert_as_bare("stepped file");
    }
}

/// If a tracer changes a call, the changed call is judged.
#[test]
fn a_tracer_that_changes_a_call() {
    if cfg!(target_arch = "x86_64") {
        assert_says(Linked::Statically, "traced file $OUT/target", "EACCES");
    }
}

#[test]
fn a_tracer_cannot_take_the_filter_off() {
    if cfg!(target_arch = "x86_64") {
        assert_says(Linked::Statically, "suspended file", "EPERM");
    }
}

#[test]
fn limits_stay_the_callers() {
    assert_as_bare("open-files 40");
    assert_as_bare("file-size");
}

/// The supervisor runs as root, but creates no file of root's for a process that is no longer root.
#[test]
fn what_is_made_belongs_to_who_makes_it() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can become others");
    }
    for linked in BOTH {
        let make = |mode| {
            let scratch = ground(Scratch::new(), linked);
            // The directory of the tests is root's alone.
            let open = "chmod 711 . .. ; chmod 777 dir";
            Run::sh(&scratch, open).mode(Mode::Bare).run().assert_ok();
            run(&scratch, mode, "identity 1234 1235 1236 027").map(|outcome| outcome.stdout)
        };
        let Some(bare) = make(Mode::Bare) else { return };
        assert!(bare.starts_with("ok 1234:1235 640 mkdir ok 1234:1235 750 roots EACCES"), "{bare}");
        assert_eq!(make(Mode::under_test()), Some(bare), "{linked:?}");
    }
}

#[test]
fn paths_anywhere_in_memory() {
    assert_static_as_bare("memory");
}

#[test]
fn names_by_which_a_process_means_itself() {
    assert_as_bare("self");
}

#[test]
fn where_relative_paths_start() {
    assert_static_as_bare("places");
}

/// No process of the run can reach the supervisor's memory or descriptors, or end it.
#[test]
fn the_supervisor_is_out_of_reach() {
    for scratch in [Scratch::new(), Scratch::for_ordinary_user()] {
        let scratch = ground(scratch, Linked::Statically);
        let Some(outcome) = run(&scratch, Mode::under_test(), "intrude") else { return };
        for what in ["mem", "environ", "maps", "root", "cwd", "exe"] {
            outcome.assert_stdout(&format!("{what} EACCES"));
        }
        for what in ["ptrace", "read", "descriptor", "kill"] {
            outcome.assert_stdout(&format!("{what} EPERM"));
        }
    }
}

/// A path through another process's view of the files does not lead where it seems to.
#[test]
fn what_is_mounted_for_others() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can mount");
    }
    let scratch = ground(Scratch::new(), Linked::Statically);
    scratch.write("elsewhere/file", "elsewhere\n");
    let script = scratch
        .expand("mount --bind $WS/../elsewhere $WS && cd $WS && echo ready && exec sleep 60");
    let mut outsider = Command::new("unshare");
    outsider.args(["-m", "--propagation", "private", "sh", "-c", &script]);
    outsider.stdout(std::process::Stdio::piped());
    let Ok(mut outsider) = outsider.spawn() else { return skip("no unshare") };
    let mut ready = [0; 6];
    let said = std::io::Read::read_exact(outsider.stdout.as_mut().expect("piped"), &mut ready);
    let line = format!("write-to /proc/{0}/root$WS/file /proc/{0}/cwd/file", outsider.id());
    let outcome = run(&scratch, Mode::under_test(), &line);
    let _ = outsider.kill();
    let _ = outsider.wait();
    if said.is_err() {
        return skip("nothing can be mounted");
    }
    let Some(outcome) = outcome else { return };
    assert_eq!(outcome.stdout.trim_end(), "EACCES EACCES", "{outcome}");
    assert_eq!(scratch.read("elsewhere/file"), "elsewhere\n");
}

/// Numbers of processes, names and rights in namespaces of a program's own mean what they do outside.
#[test]
fn namespaces_of_ones_own() {
    for scratch in [Scratch::new(), Scratch::for_ordinary_user()] {
        let scratch = ground(scratch, Linked::Statically);
        let line = "-v -- namespaces $OUT/target";
        let Some(outcome) = run(&scratch, Mode::under_test(), line) else { return };
        if outcome.stdout == "none\n" {
            return skip("no namespaces can be made here");
        }
        outcome.assert_stdout("pid 1 owner own path EACCES comm ok mount EPERM");
        outcome.assert_stderr("denied mount / by stress, stopped by the supervisor");
    }
}

/// A socket is bound only where the policy allows creating it, even if everything above is granted.
#[test]
fn a_socket_below_a_narrower_rule() {
    let scratch = ground(Scratch::new(), Linked::Statically);
    let line = "-q -w $OUT/empty --deny $OUT/empty/no -- swapped-names dir $OUT/empty/no 4000";
    Run::sh(&scratch, &scratch.expand("mkdir $OUT/empty/no")).mode(Mode::Bare).run().assert_ok();
    let Some(outcome) = run(&scratch, Mode::under_test(), line) else { return };
    assert!(count(&outcome, "done") > 0 && count(&outcome, "refused") > 0, "{outcome}");
    assert!(scratch.path("out/empty/no").read_dir().expect("read").next().is_none());
}

/// A debugger in the run stops a program at a breakpoint, and goes through a trapped call.
#[test]
fn a_debugger_in_the_run() {
    if !have("gdb") {
        return;
    }
    for linked in BOTH {
        let scratch = ground(Scratch::new(), linked);
        let script = "gdb -nx -batch -ex 'break places' -ex run -ex 'break mkdir' -ex continue \
            -ex finish -ex continue -ex continue --args ./stress places 2>&1";
        let run = Run::sh(&scratch, script).limit(LIMIT).run();
        run.assert_stdout("Breakpoint 1, ").assert_stdout("exited normally");
        run.assert_stdout("bad EBADF negative EBADF");
    }
}

/// The product itself in namespaces: with and without mapped ids, and where `/proc` shows other processes.
#[test]
fn the_run_in_namespaces() {
    if !have("unshare") || Holder::under_test() == Holder::Library {
        return;
    }
    let inside_of = |scratch: Scratch, options: &[&str]| {
        let scratch = ground(scratch, Linked::Statically);
        let forbidden = scratch.expand("$OUT/target");
        let line = ["--", PRODUCT, "--", "./stress", "write-to", "file", &forbidden];
        let run = Run::new(&scratch, "unshare", &[options, &line].concat());
        run.mode(Mode::Bare).limit(LIMIT).run()
    };
    let inside = |options: &[&str]| inside_of(Scratch::new(), options);
    if inside(&["-U"]).stderr.contains("unshare failed") {
        return skip("no namespaces can be made here");
    }
    for options in [&["-U"][..], &["-Ur"], &["-Urmpf", "--mount-proc"]] {
        let outcome = inside(options);
        assert_eq!(outcome.stdout, "ok EACCES\n", "{options:?} {outcome}");
    }
    inside(&["-Urpf"]).assert_code(126).assert_stderr("no proc here");
    // A user who is root only there finds the directory that root keeps for itself.
    let scratch = Scratch::for_ordinary_user();
    std::fs::create_dir(scratch.path("tmp/jp-confine-0")).expect("a folder");
    assert_eq!(inside_of(scratch, &["-Ur"]).stdout, "ok EACCES\n");
}
