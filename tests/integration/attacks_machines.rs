//! Machines that lack something: the remaining layers enforce what they can, and one line says what is missing.

use std::os::unix::fs::PermissionsExt as _;

use crate::attack::{Linking, answer, answers, arena_with, set_up};
use crate::layers::Holder;
use crate::run::{Mode, Outcome, PRODUCT, Run, have, skip};
use crate::scratch::Scratch;

/// The layers that confine a call that the library does not make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Landlock and a supervisor.
    Both,
    /// The supervisor alone.
    Supervisor,
    /// Landlock alone.
    Landlock,
    /// Neither.
    Library,
}

/// `JP_CONFINE_WITHOUT`, and the layers that are left.
const MACHINES: &[(&str, Left)] = &[
    ("landlock:1", Left::Both),
    ("landlock:2", Left::Both),
    ("landlock:3", Left::Both),
    ("landlock:4", Left::Both),
    ("landlock:5", Left::Both),
    ("landlock:6", Left::Both),
    ("landlock", Left::Supervisor),
    ("listener", Left::Landlock),
    ("openat2", Left::Landlock),
    ("proc", Left::Landlock),
    ("ptrace", Left::Landlock),
    ("landlock,listener", Left::Library),
];

/// Calls on paths that nothing grants, and whether a Landlock right covers them.
const CALLS: &[(&str, bool)] = &[
    ("open $OUT/secret", true),
    ("opendir $OUT", true),
    ("write $OUT/target", true),
    ("creat $OUT/new", true),
    ("mkdir $OUT/new", true),
    ("mkfifo $OUT/new", true),
    ("unlink $OUT/target", true),
    ("rmdir $OUT/empty", true),
    ("symlink x $OUT/new", true),
    ("exec $OUT/program", true),
    ("chmod $OUT/target", false),
    ("utimes $OUT/target", false),
    ("setxattr $OUT/target", false),
    ("getxattr $OUT/target", false),
];

fn tree(linking: Linking) -> Scratch {
    let scratch = arena_with(linking, Scratch::new());
    set_up(&scratch, "cp $ATTACK $OUT/program; $ATTACK setxattr $OUT/target user.k || :");
    scratch
}

fn attack(scratch: &Scratch, without: &str, line: &str) -> Outcome {
    let line = scratch.expand(line);
    let words: Vec<&str> = line.split(' ').collect();
    let run = Run::new(scratch, "bin/attack", &words);
    run.env("JP_CONFINE_WITHOUT", without).run()
}

/// Makes the calls of `kind` that must be denied, one after the other in one run, and asserts that they are.
fn assert_refused(scratch: &Scratch, without: &str, kind: &str, held: impl Fn(bool) -> bool) {
    let lines: Vec<String> = CALLS
        .iter()
        .filter(|(_, by_landlock)| held(*by_landlock))
        .map(|(line, _)| {
            let words = if kind.is_empty() && line.contains("xattr") { " user.k" } else { "" };
            scratch.expand(&format!("{kind}{line}{words}"))
        })
        .collect();
    let before = scratch.forbidden();
    let (said, run) = answers(lines.iter().map(String::as_str), |script| {
        Run::sh(scratch, script).env("JP_CONFINE_WITHOUT", without).run()
    });
    assert_eq!(said.len(), lines.len(), "without {without}: {run}");
    for (line, said) in lines.iter().zip(said) {
        assert!(["EACCES", "EPERM"].contains(&&*said), "without {without}: {line}: {said}: {run}");
    }
    before.assert_same(&scratch.forbidden());
}

/// Asserts that one line, and no more, says what is missing.
fn assert_said(run: &Outcome, without: &str, left: Left) {
    let said: Vec<&str> = run.stderr.lines().filter(|line| line.contains(" here: ")).collect();
    match left {
        Left::Both => assert!(said.is_empty(), "{run}"),
        _ => assert_eq!(said.len(), 1, "without {without}: {run}"),
    }
    for name in without.split(',').filter(|_| left != Left::Both) {
        assert!(said.iter().any(|line| line.contains(&format!("no {name}"))), "{run}");
    }
}

fn is_of_interest() -> bool {
    let all = Holder::under_test() == Holder::Layers;
    if !all {
        skip("one holder tells all about machines");
    }
    all
}

#[test]
fn the_library_holds_everywhere() {
    if !is_of_interest() {
        return;
    }
    for (without, left) in MACHINES {
        let scratch = tree(Linking::Dynamic);
        assert_refused(&scratch, without, "", |_| true);
        assert_said(&attack(&scratch, without, "stat file"), without, *left);
    }
}

#[test]
fn calls_by_instruction_are_held_by_what_is_left() {
    if !is_of_interest() {
        return;
    }
    for (without, left) in MACHINES {
        let scratch = tree(Linking::Dynamic);
        assert_refused(&scratch, without, "i_", |by_landlock| match left {
            Left::Both | Left::Supervisor => true,
            Left::Landlock => by_landlock,
            Left::Library => false,
        });
    }
}

#[test]
fn static_programs_start_where_all_is_held() {
    if !is_of_interest() {
        return;
    }
    for (without, left) in MACHINES {
        let scratch = tree(Linking::Static);
        if matches!(left, Left::Both | Left::Supervisor) {
            assert_refused(&scratch, without, "", |_| true);
        } else {
            let run = attack(&scratch, without, "open file");
            run.assert_code(126).assert_stderr("statically linked").assert_no_secret();
        }
    }
}

#[test]
fn strict_refuses_where_a_layer_is_missing() {
    if !is_of_interest() {
        return;
    }
    let scratch = Scratch::new();
    for (without, left) in MACHINES {
        let run = Run::new(&scratch, "cat", &["file"]).flags(&["--enforce=strict"]);
        let run = run.env("JP_CONFINE_WITHOUT", without).run();
        if *left == Left::Both {
            run.assert_ok();
        } else {
            run.assert_code(125).assert_stderr("--enforce strict needs");
            assert!(!run.stdout.contains("inside"), "{run}");
        }
    }
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there is nothing to refuse");
}

/// A feature that is taken for absent is not used either.
#[test]
fn descriptors_are_not_shared_where_they_cannot_be() {
    if !is_of_interest() {
        return;
    }
    let scratch = tree(Linking::Static);
    let run = attack(&scratch, "pidfd_getfd", "bind socket");
    assert_eq!(answer(&run), "EACCES", "{run}");
    assert_said(&run, "pidfd_getfd", Left::Supervisor);
}

/// A denial takes away nothing that is granted around it.
#[test]
fn what_is_around_a_denial_is_listed_everywhere() {
    if !is_of_interest() {
        return;
    }
    let rule = |path: &str| format!("[[access.fs]]\npath = '{path}'\n");
    for (without, _) in MACHINES {
        let scratch = Scratch::new();
        scratch.write("ws/kept/file", "");
        scratch.write("policy.toml", &(rule(".") + "read = true\n" + &rule("kept")));
        let policy = scratch.path("policy.toml");
        let run =
            Run::sh(&scratch, "ls && ls kept").flags(&["-p", policy.to_str().expect("UTF-8")]);
        let run = run.env("JP_CONFINE_WITHOUT", without).run();
        run.assert_stdout("file").assert_stderr("kept': Permission denied");
    }
}

/// Runs on a kernel that answers the system call `number` with `errno`, as an old one or a container does.
fn on_a_kernel(scratch: &Scratch, number: i64, errno: i32, line: &str) -> Outcome {
    on_a_kernel_by(scratch, &[PRODUCT, "--"], (number, errno), line)
}

/// As [`on_a_kernel`], confined by the command `product`.
fn on_a_kernel_by(
    scratch: &Scratch,
    product: &[&str],
    (number, errno): (i64, i32),
    line: &str,
) -> Outcome {
    let tool = scratch.copy_program(&scratch.path("ws/bin/attack"), "tool/attack");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    let line = scratch.expand(line);
    let (number, errno) = (number.to_string(), errno.to_string());
    let mut args = vec!["fault", &number, &errno, "exec_line"];
    let confined = Mode::under_test() == Mode::Confined;
    args.extend(confined.then_some(product).into_iter().flatten());
    args.push("bin/attack");
    args.extend(line.split(' '));
    Run::new(scratch, tool.to_str().expect("UTF-8"), &args).mode(Mode::Bare).run()
}

#[test]
fn a_kernel_without_landlock() {
    if !is_of_interest() {
        return;
    }
    for linking in [Linking::Dynamic, Linking::Static] {
        let scratch = tree(linking);
        for line in
            ["open $OUT/secret", "i_open $OUT/secret", "i_creat $OUT/new", "i_chmod $OUT/target"]
        {
            let run = on_a_kernel(&scratch, libc::SYS_landlock_create_ruleset, libc::ENOSYS, line);
            assert_eq!(answer(&run), "EACCES", "{line}: {run}");
            assert_said(&run, "landlock", Left::Supervisor);
        }
    }
}

#[test]
fn a_kernel_without_a_listener() {
    if !is_of_interest() {
        return;
    }
    for errno in [libc::EINVAL, libc::ENOSYS, libc::EPERM] {
        let scratch = tree(Linking::Dynamic);
        for line in
            ["open $OUT/secret", "i_open $OUT/secret", "i_creat $OUT/new", "i_exec $OUT/program"]
        {
            let run = on_a_kernel(&scratch, libc::SYS_seccomp, errno, line);
            assert_eq!(answer(&run), "EACCES", "{line}: {run}");
            assert_said(&run, "listener", Left::Landlock);
        }
    }
}

/// Linux 5.8 added `faccessat2`. Without a supervisor it is called before each start of a program.
#[test]
fn a_kernel_that_is_older_than_5_8() {
    if !is_of_interest() {
        return;
    }
    let scratch = tree(Linking::Dynamic);
    for errno in [libc::ENOSYS, libc::EPERM] {
        let number = libc::SYS_faccessat2;
        for (line, expected) in
            [("exec_self open file", "ok inside"), ("exec_self open $OUT/secret", "EACCES")]
        {
            let product = [PRODUCT, "--enforce=cooperative", "--"];
            let run = on_a_kernel_by(&scratch, &product, (number, errno), line);
            assert_eq!(run.stdout.lines().next(), Some(expected), "{run}");
        }
    }
}

/// Containers deny this to callers that may not trace all processes. The launcher says what is lost.
#[test]
fn a_container_without_looking_into_others() {
    if !is_of_interest() {
        return;
    }
    let scratch = tree(Linking::Dynamic);
    for (number, name, left) in [
        (libc::SYS_process_vm_readv, "ptrace", Left::Landlock),
        (libc::SYS_pidfd_getfd, "pidfd_getfd", Left::Supervisor),
    ] {
        let run = on_a_kernel(&scratch, number, libc::EPERM, "i_open $OUT/secret");
        assert_eq!(answer(&run), "EACCES", "{name}: {run}");
        assert_said(&run, name, left);
    }
}

/// Inside another sandbox, with namespaces of its own.
#[test]
fn inside_bubblewrap() {
    if !is_of_interest() {
        return;
    }
    if !have("bwrap") {
        return skip("no bwrap");
    }
    for linking in [Linking::Dynamic, Linking::Static] {
        let scratch = tree(linking);
        for line in ["open $OUT/secret", "i_open $OUT/secret", "i_creat $OUT/new"] {
            let line = scratch.expand(line);
            let mut args = vec!["--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc"];
            let confined = Mode::under_test() == Mode::Confined;
            args.extend(confined.then_some([PRODUCT, "--"]).into_iter().flatten());
            args.push("bin/attack");
            args.extend(line.split(' '));
            let run = Run::new(&scratch, "bwrap", &args).mode(Mode::Bare).run();
            if run.stderr.contains("bwrap: ") {
                return skip("namespaces cannot be had here");
            }
            assert_eq!(answer(&run), "EACCES", "{line}: {run}");
        }
    }
}
