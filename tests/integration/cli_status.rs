//! Exit statuses, streams and signals of `jp-confine` itself (spec §18).

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::attack::{Linking, arena_with};
use crate::run::{Mode, PRODUCT, Run, have, skip, wait};
use crate::scratch::{SECRET, Scratch};
use crate::terminal::Terminal;

/// `jp-confine` with exactly these arguments, in the workspace.
pub(crate) fn product<'a>(scratch: &'a Scratch, args: &[&str]) -> Run<'a> {
    Run::new(scratch, PRODUCT, args).mode(Mode::Bare)
}

fn sh(scratch: &Scratch, script: &str) -> i32 {
    product(scratch, &["--", "sh", "-c", script]).run().code()
}

#[test]
fn the_childs_own_status() {
    let scratch = Scratch::new();
    for code in [0, 1, 42, 124, 125, 126, 127, 255] {
        assert_eq!(sh(&scratch, &format!("exit {code}")), code);
    }
}

#[test]
fn a_signal_is_128_and_its_number() {
    let scratch = Scratch::new();
    for (signal, number) in [("TERM", 15), ("INT", 2), ("KILL", 9), ("HUP", 1), ("USR1", 10)] {
        assert_eq!(sh(&scratch, &format!("kill -{signal} $$")), 128 + number, "{signal}");
    }
}

#[test]
fn a_program_that_is_not_there() {
    let scratch = Scratch::new();
    product(&scratch, &["--", "no-such-program"]).run().assert_code(127);
    product(&scratch, &["--", "./missing"]).run().assert_code(127);
}

#[test]
fn a_program_that_may_not_be_executed() {
    let scratch = Scratch::new();
    product(&scratch, &["--", "./file"]).run().assert_code(126);
    product(&scratch, &["--", "./dir"]).run().assert_code(126);
    scratch.copy_program(Path::new("/bin/true"), "out/program");
    product(&scratch, &["--", &scratch.expand("$OUT/program")]).run().assert_code(126);
}

/// The shell would start the first one.
#[test]
fn another_program_of_that_name_does_not_start() {
    let scratch = Scratch::new();
    scratch.copy_program(Path::new("/bin/echo"), "out/id");
    scratch.write("out/env", "not executable");
    let path = format!("{}:/usr/bin:/bin", scratch.out().display());
    let id = product(&scratch, &["--", "id"]).env("PATH", &path).run();
    id.assert_code(126).assert_stderr("denied execute").assert_stderr("out/id");
    product(&scratch, &["--", "env", "true"]).env("PATH", &path).run().assert_ok();
}

#[test]
fn wrong_usage() {
    let scratch = Scratch::new();
    for line in [
        &[][..],
        &["--no-such-option", "--", "true"],
        &["--"],
        &["--policy"],
        &["check"],
        &["check", "fly", "file"],
        &["--enforce", "somehow", "--", "true"],
        &["true"],
    ] {
        let run = product(&scratch, line).run();
        run.assert_code(125);
        assert!(!run.stderr.is_empty(), "nothing said: {run}");
        assert!(run.stdout.is_empty(), "{run}");
    }
    let run = product(&scratch, &["mounts", "remove"]).run();
    run.assert_stderr("for what can be typed: jp-confine mounts remove -h");
}

#[test]
fn what_cannot_be_enforced_is_not_run() {
    let scratch = Scratch::new();
    for options in [
        &["--policy", "missing.toml"][..],
        &["--workspace", "missing"],
        &["--profile", "no-such-profile"],
    ] {
        let line = [options, &["--", "touch", "ran"]].concat();
        product(&scratch, &line).run().assert_code(125);
        assert!(!scratch.path("ws/ran").exists(), "ran with {options:?}");
    }
}

/// Takes away each layer that `strict` needs.
#[test]
fn strict_does_without_nothing() {
    let scratch = Scratch::new();
    for feature in ["landlock", "listener", "openat2", "proc", "ptrace", "pidfd_getfd"] {
        product(&scratch, &["--enforce", "strict", "--", "touch", "ran"])
            .env("JP_CONFINE_WITHOUT", feature)
            .run()
            .assert_code(125)
            .assert_stderr(feature);
        assert!(!scratch.path("ws/ran").exists(), "ran without {feature}");
    }
}

/// Otherwise a trial without a layer would run with it.
#[test]
fn a_layer_that_nobody_knows_cannot_be_done_without() {
    let scratch = Scratch::new();
    let run = product(&scratch, &["--", "touch", "ran"]).env("JP_CONFINE_WITHOUT", "proc,landlok");
    run.run()
        .assert_code(125)
        .assert_stderr("JP_CONFINE_WITHOUT names `landlok`")
        .assert_stderr("landlock, listener, openat2, proc, ptrace, pidfd_getfd");
    assert!(!scratch.path("ws/ran").exists());
}

/// A program that redirects an answer to a file takes status 0 to mean that all of it is there.
#[test]
fn an_answer_that_is_lost_is_a_failure() {
    let scratch = Scratch::new();
    let through = |script: &str, line: &[&str]| {
        Run::new(&scratch, "sh", &[&["-c", script, PRODUCT], line].concat()).mode(Mode::Bare).run()
    };
    for line in [
        &["compile"][..],
        &["man"],
        &["-h"],
        &["--version"],
        &["completions", "bash"],
        &["--dry-run", "--", "true"],
        &["check", "read", "file"],
        &["check", "--json", "read", "file"],
        &["authorize", "--json", "read", "/file"],
        &["explain", "file"],
        &["why", "--last"],
        &["mounts", "--json"],
        &["doctor"],
    ] {
        let lost = "the answer cannot be written to standard output";
        for stream in [">/dev/full", ">&-"] {
            let script = format!("\"$0\" \"$@\" {stream}");
            through(&script, line).assert_code(125).assert_stderr(lost);
        }
        let unread = through("\"$0\" \"$@\" 1<>/dev/null", line);
        assert_ne!(unread.code(), 125, "{unread}");
        through("ulimit -f 0; \"$0\" \"$@\" >x", line)
            .assert_code(125)
            .assert_stderr("File too large");
    }
    let read = "{ \"$0\" \"$@\"; echo $? >&2; } | head -c 1";
    through(read, &["man"]).assert_ok().assert_stderr("0\n");
}

/// A name that affects a terminal does not affect it in JSON either.
#[test]
fn json_leaves_a_terminal_as_it_is() {
    let scratch = Scratch::new();
    let name = "a\u{7f}\u{9b}2J\u{202e}b";
    for line in [&["check", "--json", "read", name][..], &["explain", "--json", name]] {
        let run = product(&scratch, line).run();
        run.assert_stdout(r"a\u007f\u009b2J\u202eb");
        assert!(!run.stdout.contains(['\u{7f}', '\u{9b}', '\u{202e}']), "{run}");
        let value: Value = serde_json::from_str(&run.stdout).expect("JSON");
        let value = value.get(0).unwrap_or(&value);
        assert!(value["path"].as_str().is_some_and(|path| path.ends_with(name)), "{value}");
    }
}

#[test]
fn names_of_workspaces_leave_a_terminal_as_it_is() {
    let scratch = Scratch::new();
    let name = "ws/a\x1b[2J\nb";
    scratch.write(&format!("{name}/file"), "");
    let run = product(&scratch, &["-v", "--", "true"]).cwd(&scratch.path(name)).run();
    run.assert_ok().assert_stderr(r"/ws/a\x1b[2J\x0ab");
    assert!(!run.stderr.contains('\x1b'), "{run}");
    scratch.write(&format!("{name}/jp-confine.toml"), "[[access.fs]]\npath = '.'\nreed = 1\n");
    let run = product(&scratch, &["compile"]).cwd(&scratch.path(name)).run();
    run.assert_code(125).assert_stderr(r"/ws/a\x1b[2J\x0ab/jp-confine.toml:3:1");
    assert!(!run.stderr.contains('\x1b'), "{run}");
    let rules = "[[access.fs]]\npath = '.'\nread = true\n[[access.fs]]\npath = 'in'\nwrite = true\n\
                 [[access.fs]]\npath = 'in/there'\n";
    scratch.write(&format!("{name}/jp-confine.toml"), rules);
    scratch.write(&format!("{name}/in/there/file"), "");
    for line in [&["--dry-run", "--", "true"][..], &["learn", "--html", "page", "--", "true"]] {
        let run = product(&scratch, line).cwd(&scratch.path(name)).run();
        run.assert_ok();
        assert!(!format!("{}{}", run.stdout, run.stderr).contains('\x1b'), "{run}");
    }
    let page = scratch.read(&format!("{name}/page"));
    assert!(!page.contains('\x1b') && page.contains(r"/ws/a\x1b[2J\x0ab"), "{page}");
}

#[test]
fn colours_are_for_terminals_that_have_them() {
    if !have("script") {
        return skip("no script");
    }
    let scratch = Scratch::new();
    for (term, is_coloured) in [("xterm", true), ("dumb", false)] {
        let run = product(&scratch, &["-p", "missing", "compile"]).env("TERM", term);
        let mut terminal = Terminal::start(&run);
        terminal.see("missing");
        assert_eq!(terminal.end(), Some(125));
        let screen = terminal.screen();
        assert_eq!(screen.contains("\x1b["), is_coloured, "{term}: {screen}");
    }
}

#[test]
fn help_and_version() {
    let scratch = Scratch::new();
    product(&scratch, &["--help"]).run().assert_ok().assert_stdout("Usage:");
    product(&scratch, &["--version"]).run().assert_ok().assert_stdout("jp-confine ");
}

#[test]
fn streams_pass_through() {
    let scratch = Scratch::new();
    let input: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    scratch.write("ws/check.sh", "cat > got; echo out; echo err >&2");
    let run = product(&scratch, &["--", "sh", "check.sh"]).input(&input).run();
    run.assert_ok();
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("out\n", "err\n"));
    assert!(std::fs::read(scratch.path("ws/got")).expect("a copy") == input, "stdin was changed");
}

#[test]
fn the_working_directory_and_arguments_pass_through() {
    let scratch = Scratch::new();
    let script = "pwd; printf '<%s>' \"$0\" \"$@\"";
    let line = ["--", "sh", "-c", script, "--help", "", "a b", "--", "*"];
    let run = product(&scratch, &line).cwd(&scratch.path("ws/dir")).flags(&[]).run();
    run.assert_ok().assert_stdout("/ws/dir\n").assert_stdout("<--help><><a b><--><*>");
}

#[test]
fn an_inherited_descriptor_can_be_used() {
    let scratch = Scratch::new();
    let run =
        product(&scratch, &["--", "cat", "/dev/stdin", "/proc/self/fd/0"]).input(b"once\n").run();
    run.assert_ok().assert_stdout("once");
    let run =
        product(&scratch, &["--", "sh", "-c", "cat <&9"]).inherit(9, &scratch.path("out/secret"));
    run.run().assert_ok().assert_stdout("TOPSECRET");
}

#[test]
fn signals_are_forwarded() {
    let scratch = Scratch::new();
    for (signal, code) in [("TERM", 7), ("INT", 7), ("HUP", 7)] {
        let script = format!("trap 'exit 7' {signal}; echo ready; while :; do sleep 0.05; done");
        let mut command = product(&scratch, &["--", "sh", "-c", &script]).command();
        let mut child =
            command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("a child");
        let mut lines = BufReader::new(child.stdout.take().expect("piped"));
        lines.read_line(&mut String::new()).expect("a line");
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().expect("kill").success());
        let status = wait(&mut child, Duration::from_secs(20), signal);
        assert_eq!(status.code(), Some(code), "{signal}: {status}");
    }
}

#[test]
fn a_closed_pipe_ends_the_program_as_usual() {
    let scratch = Scratch::new();
    let script = format!("'{PRODUCT}' -- yes | head -n1; echo ${{PIPESTATUS[0]}}");
    if have("bash") {
        let run = Run::new(&scratch, "bash", &["-c", &script]).mode(Mode::Bare).run();
        run.assert_ok().assert_stdout("y\n141\n");
    }
}

#[test]
fn the_private_temporary_folder() {
    let scratch = Scratch::new();
    let script = "echo $TMPDIR; echo x > $TMPDIR/x && mkdir -p $TMPDIR/a/b && stat -c %a $TMPDIR";
    let run = product(&scratch, &["--", "sh", "-c", script]).run();
    run.assert_ok().assert_stdout("\n700\n");
    let folder = run.stdout.lines().next().expect("a folder");
    assert_ne!(folder, scratch.path("tmp").to_str().expect("UTF-8"));
    assert!(!Path::new(folder).exists(), "{folder} was left behind");
}

/// Nothing of the run is left. The user's own directory for runs stays, and may contain the library.
#[test]
fn nothing_is_left_behind() {
    let scratch = Scratch::new();
    product(&scratch, &["--", "sh", "-c", "echo x > $TMPDIR/x; cat ../out/secret; exit 0"]).run();
    let entries =
        |dir: &Path| std::fs::read_dir(dir).expect("a folder").map(|e| e.expect("an entry").path());
    let left: Vec<_> = entries(&scratch.path("tmp"))
        .flat_map(|dir| entries(&dir).collect::<Vec<_>>())
        .filter(|path| {
            let kept = |name: &std::ffi::OsStr| {
                name == "private-settings" || name.to_string_lossy().starts_with("shim-")
            };
            !path.file_name().is_some_and(kept)
        })
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn as_an_ordinary_user() {
    let scratch = Scratch::for_ordinary_user();
    let script =
        scratch.expand("id -u; touch new; cat new file; cat $OUT/secret; cat $HOME/.private/key");
    let run = product(&scratch, &["--", "sh", "-c", &script]).run();
    run.assert_no_secret().assert_stdout("inside").assert_stderr("Permission denied");
    run.assert_stderr("No such file");
}

/// Another user may have created the directory for the temporary files of all runs.
#[test]
fn without_a_place_of_the_users_own_for_the_library() {
    let scratch = Scratch::for_ordinary_user();
    let uid = scratch.uid.unwrap_or_else(|| rustix::process::geteuid().as_raw());
    scratch.write(&format!("tmp/jp-confine-{uid}"), "");
    let run = product(&scratch, &["--", "cat", "file"]).env("HOME", "/").run();
    run.assert_ok().assert_stdout("inside");
    let nowhere = scratch.path("nowhere");
    let nowhere = nowhere.to_str().expect("UTF-8");
    let run = product(&scratch, &["--", "true"]).env("HOME", "/").env("TMPDIR", nowhere).run();
    run.assert_code(125).assert_stderr("set TMPDIR");
}

/// Loaders ignore `LD_PRELOAD` then.
#[test]
fn a_user_in_effect_only_is_not_held_by_the_library_alone() {
    if !rustix::process::geteuid().is_root() || !have("setpriv") {
        return;
    }
    let scratch = Scratch::new();
    for path in [scratch.path(""), scratch.ws(), scratch.path("tmp")] {
        std::fs::set_permissions(path, Permissions::from_mode(0o777)).expect("open to all");
    }
    let words = ["--euid=65534", PRODUCT, "--enforce=cooperative", "--", "touch", "ran"];
    let run = Run::new(&scratch, "setpriv", &words).mode(Mode::Bare).env("HOME", "/").run();
    run.assert_code(125).assert_stderr("real and effective user");
    assert!(!scratch.path("ws/ran").exists(), "{run}");
}

/// In containers root often lacks `CAP_SETPCAP`.
#[test]
fn root_that_may_not_lower_its_bounding_set() {
    const SYS_ADMIN: u32 = 21;
    if !rustix::process::geteuid().is_root() || !have("setpriv") {
        return;
    }
    let scratch = Scratch::new();
    let words = [
        "--bounding-set=-setpcap",
        PRODUCT,
        "--",
        "sh",
        "-c",
        "sed -n 's/^Cap[PE][rf][mf]://p' /proc/self/status",
    ];
    let run = Run::new(&scratch, "setpriv", &words).mode(Mode::Bare).env("HOME", "/").run();
    run.assert_ok();
    let sets = run.stdout.lines().map(|set| u64::from_str_radix(set.trim(), 16).expect("bits"));
    let having: Vec<bool> = sets.map(|set| set >> SYS_ADMIN & 1 == 1).collect();
    assert_eq!(having, [false; 2], "{run}");
}

/// A container's root lacks `CAP_SYS_PTRACE`. The supervisor still looks into its callers.
#[test]
fn root_that_may_not_trace() {
    if !rustix::process::geteuid().is_root() || !have("setpriv") {
        return;
    }
    let scratch = Scratch::new();
    let out = scratch.expand("$OUT");
    let without = ["--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", PRODUCT];
    let words =
        [&without[..], &["-r", &out, "--", "sh", "-c", "/bin/cat file ../out/secret"]].concat();
    let run = Run::new(&scratch, "setpriv", &words).mode(Mode::Bare).env("HOME", "/").run();
    run.assert_ok().assert_stdout("inside").assert_stdout(SECRET);
}

#[test]
fn a_reader_of_a_large_stream_is_not_delayed() {
    let scratch = Scratch::new();
    let mut command = product(&scratch, &["--", "cat"]).command();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a child");
    let mut stdin = child.stdin.take().expect("piped");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    for line in ["one\n", "two\n"] {
        stdin.write_all(line.as_bytes()).expect("a pipe");
        let mut answer = String::new();
        lines.read_line(&mut answer).expect("a line");
        assert_eq!(answer, line);
    }
    drop(stdin);
    assert!(wait(&mut child, Duration::from_secs(20), "cat").success());
}

/// If programs cannot load the library, no loader complains. The other layers hold, or nothing runs.
#[test]
fn a_library_that_programs_cannot_read() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[file_policy]\ndeny_paths = [\"**/libjp_confine.so\"]\n");
    let line = scratch.expand("cat file; cat $OUT/secret");
    let run = product(&scratch, &["--", "sh", "-c", &line]).run();
    assert_eq!(run.stdout, "inside\n", "{run}");
    run.assert_stderr("warning: the library is not loaded, as the policy keeps programs from /")
        .assert_stderr("secret: Permission denied");
    assert!(!run.stderr.contains("ld.so"), "{run}");
}

/// The library is below the home, and the reads of programs are judged.
#[test]
fn a_home_that_a_link_leads_to() {
    let scratch = Scratch::for_ordinary_user();
    let home = scratch.path("link");
    std::os::unix::fs::symlink(scratch.home(), &home).expect("a link");
    let home = home.to_str().expect("UTF-8");
    let run = product(&scratch, &["--deny=no", "--", "cat", "file"]).env("HOME", home).run();
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("inside\n", ""), "{run}");
}

/// Nothing may be executed where the library usually is. So it is elsewhere, or is not loaded.
#[test]
fn data_that_nothing_is_executed_from() {
    if !rustix::process::geteuid().is_root() || !have("unshare") {
        return skip("only root can mount");
    }
    let scratch = Scratch::new();
    let run = |line: &str| {
        let script = format!(
            "for place in /var/lib $HOME; do mount -t tmpfs -o noexec none $place || exit 77; done
             {line} -- cat file"
        );
        let args = ["-m", "--propagation", "private", "sh", "-c", &script];
        Run::new(&scratch, "unshare", &args).mode(Mode::Bare).run()
    };
    let elsewhere = run(PRODUCT);
    if elsewhere.code() == 77 || elsewhere.stderr.contains("unshare failed") {
        return skip("nothing can be mounted");
    }
    assert_eq!((elsewhere.stdout.as_str(), elsewhere.stderr.as_str()), ("inside\n", ""));
    let nowhere = run(&format!("TMPDIR=$HOME {PRODUCT}"));
    assert_eq!(nowhere.stdout, "inside\n", "{nowhere}");
    let begin =
        "jp-confine: warning: the library is not loaded, as nothing may be executed where /";
    assert!(nowhere.stderr.starts_with(begin) && nowhere.stderr.lines().count() == 1, "{nowhere}");
    run(&format!("TMPDIR=$HOME {PRODUCT} --enforce cooperative")).assert_code(125);
}

/// An otherwise unused user, who has no other processes.
#[test]
fn without_room_for_a_thread() {
    if !rustix::process::geteuid().is_root() || !have("prlimit") {
        return skip("only root can be another user");
    }
    let mut scratch = Scratch::new();
    scratch.uid = Some(54_321);
    scratch.hand_over();
    for most in ["1", "2"] {
        let limit = format!("--nproc={most}");
        let line = [limit.as_str(), PRODUCT, "--", "echo", "ran"];
        let outcome = Run::new(&scratch, "prlimit", &line).mode(Mode::Bare).run();
        outcome.assert_code(125).assert_stderr("the supervisor cannot begin");
        outcome.assert_stderr("allow the user more (`ulimit -u`)");
        assert!(outcome.stdout.is_empty() && !outcome.stderr.contains("panicked"), "{outcome}");
    }
}

/// If the supervisor lacks something, that is no denial.
#[test]
fn few_descriptors_are_not_a_refusal() {
    if !have("busybox") {
        return skip("no busybox");
    }
    let scratch = Scratch::new();
    for limit in 20..26 {
        let script = format!("ulimit -n {limit}; {PRODUCT} -- busybox sh -c 'exec 3> made'");
        let outcome = Run::sh(&scratch, &script).mode(Mode::Bare).run();
        assert!(!outcome.stderr.contains("Permission denied"), "{limit}: {outcome}");
    }
}

/// A limit on the length of files ends programs, as it would without confinement. It does not end the processes that
/// serve them.
#[test]
fn the_limit_of_files_length() {
    let scratch = Scratch::new();
    let script = |blocks: u32| {
        format!("ulimit -f {blocks}; {PRODUCT} -- sh -c 'head -c 9000000 /dev/zero > big'; echo $?")
    };
    let run = |blocks| Run::sh(&scratch, &script(blocks)).mode(Mode::Bare).run();
    run(0).assert_stdout("125\n").assert_stderr("allow longer ones (`ulimit -f`)");
    run(16_000).assert_stdout("153\n");
}

/// A call that every run needs fails as in a container. The launcher names it, and the doctor finds it.
#[test]
fn a_kernel_without_what_every_run_needs() {
    let scratch = arena_with(Linking::Dynamic, Scratch::new());
    let on = |number: i64, errno: i32, line: &[&str]| {
        let (number, errno) = (number.to_string(), errno.to_string());
        let fault = ["fault", &number, &errno, "exec_line", PRODUCT];
        let run = Run::new(&scratch, "bin/attack", &[&fault, line].concat());
        run.mode(Mode::Bare).run()
    };
    let needs = [
        (libc::SYS_memfd_create, "memfd", "memfd_create(2) allowed"),
        (libc::SYS_prctl, "subreaper", "prctl(2) allowed"),
    ];
    for (number, name, remedy) in needs {
        for errno in [libc::ENOSYS, libc::EPERM] {
            let run = on(number, errno, &["--enforce=cooperative", "--", "touch", "ran"]);
            run.assert_code(125).assert_stderr(remedy);
            assert!(!run.stderr.contains("TMPDIR") && !scratch.path("ws/ran").exists(), "{run}");
            let doctor = on(number, errno, &["doctor"]);
            doctor.assert_ok().assert_stdout(remedy).assert_stdout("nothing is run");
            doctor.assert_stdout("cooperative  refused").assert_stdout("strict       refused");
            let found = doctor.stdout.lines().skip(1).find(|line| line.contains(name));
            assert!(found.is_some_and(|line| line.contains(" no, refused: ")), "{doctor}");
        }
    }
}
