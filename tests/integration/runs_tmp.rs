//! A run's own `/tmp`, `/var/tmp` and `/dev/shm`: programs use them, nothing lands in the real ones, and what a person
//! grants there stays real.

use std::fs;
use std::path::{Path, PathBuf};

use macro_rules_attribute::apply;
use tempfile::TempDir;

use crate::attacks_busybox::busybox;
use crate::cli_status::product;
use crate::layers::{Holder, row};
use crate::run::{Mode, Outcome, PRODUCT, Run, given, skip};
use crate::scratch::Scratch;

/// The directories that a run has for itself.
const PLACES: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// A directory in the real `place`, which the user of `scratch` owns.
fn real(scratch: &Scratch, place: &str) -> TempDir {
    let made = tempfile::Builder::new().prefix("jp-test-").tempdir_in(place).expect("a directory");
    std::os::unix::fs::chown(made.path(), scratch.uid, scratch.uid).expect("chown");
    made
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Fails unless the run lists nothing of the real `/tmp`, where `marker` is.
fn assert_apart(run: &Outcome, marker: &TempDir) {
    let name = marker.path().file_name().and_then(|name| name.to_str()).expect("a name");
    assert!(!run.stdout.contains(name), "the real directory is seen: {run}");
}

#[apply(row!)]
fn programs_have_the_common_directories_to_themselves() {
    assert_eq!(Mode::under_test(), Mode::Confined, "bare they write to the real directories");
    let scratch = Scratch::for_ordinary_user();
    for place in PLACES {
        let marker = real(&scratch, place);
        let script =
            "echo own > $P/own; cat $P/own $TMPDIR/own /proc/self/root$P/own; ls $P; cd $P; pwd -P; stat -c %a .;
            mkdir -p d/e; mv own d/e/f; cat $P/d/e/f; cat $M/none; test -e $M || echo absent";
        let run = Run::sh(&scratch, script).env("P", place).env("M", text(marker.path())).run();
        assert_apart(&run, &marker);
        assert_eq!(run.stdout, "own\nown\nown\nown\n/tmp\n700\nown\nabsent\n", "{run}");
        run.assert_stderr("No such file").assert_ok();
        let real = Path::new(place);
        assert!(!real.join("own").exists() && !real.join("d/e/f").exists(), "{run}");
    }
}

/// Such a program is led where it writes. Its other calls meet the real directory, which is denied.
#[apply(row!)]
fn static_programs_write_nothing_in_the_real_directories() {
    assert_eq!(Mode::under_test(), Mode::Confined, "bare they write to the real directories");
    let Some(program) = busybox() else { return skip("no static busybox") };
    if Holder::under_test() == Holder::Library {
        return skip("the library alone starts no static program");
    }
    let scratch = Scratch::for_ordinary_user();
    let tool = text(&program);
    for place in PLACES {
        let marker = real(&scratch, place);
        fs::write(marker.path().join("file"), "real\n").expect("written");
        let script = format!(
            "echo own > {place}/own; {tool} mkdir {place}/d; {tool} ls $TMPDIR; \
             {tool} cat $M/file || {tool} ls {place} || echo x > $M/file || echo denied"
        );
        let run = Run::new(&scratch, tool, &["sh", "-c", &script]);
        let run = run.env("M", text(marker.path())).run();
        assert_eq!(run.stdout, "d\nown\ndenied\n", "{run}");
        assert!(!Path::new(place).join("own").exists(), "{run}");
        assert_eq!(fs::read_to_string(marker.path().join("file")).expect("read"), "real\n");
    }
}

/// Also if that is the working directory, and for what is granted there. The rest is the run's own.
#[apply(row!)]
fn a_workspace_in_tmp_is_real() {
    assert_eq!(Mode::under_test(), Mode::Confined, "bare they write to the real directories");
    let scratch = Scratch::for_ordinary_user();
    let (workspace, other) = (real(&scratch, "/tmp"), real(&scratch, "/tmp"));
    let script = "echo kept > made; pwd -P; ls ..; cd ..; pwd -P; echo own > own; cat $W/made own";
    let run = Run::sh(&scratch, script).cwd(workspace.path());
    let run = run.env("W", text(workspace.path())).run();
    assert_apart(&run, &other);
    run.assert_ok().assert_stdout(text(workspace.path())).assert_stdout("\n/tmp\nkept\nown\n");
    assert_eq!(fs::read_to_string(workspace.path().join("made")).expect("made"), "kept\n");
    assert!(!Path::new("/tmp/own").exists(), "{run}");
}

#[apply(row!)]
fn a_clone_in_tmp_takes_commits() {
    let Some(scratch) = given(&["git"], Scratch::for_ordinary_user) else { return };
    let marker = real(&scratch, "/tmp");
    let identity = "export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b
        export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; set -e";
    let first = "git init -q one; cd one; echo 1 > f; git add f; git commit -qm first";
    let set_up = format!("{identity}; {first}");
    Run::sh(&scratch, &set_up).mode(Mode::Bare).run().assert_ok();
    let second = "git clone -q one /tmp/jp-clone; cd /tmp/jp-clone; git rev-parse --show-toplevel
        echo 2 > g; git add g; git commit -qm second; git log --format=%s; git status -s; ls /tmp";
    let run = Run::sh(&scratch, &format!("{identity}; {second}")).run();
    let _ = fs::remove_dir_all("/tmp/jp-clone");
    assert_apart(&run, &marker);
    run.assert_ok().assert_stdout("/tmp/jp-clone\nsecond\nfirst\njp-clone\n");
    assert!(!run.stderr.contains("denied"), "{run}");
}

/// The virtual machine and `jcmd` use `/tmp` whatever `TMPDIR` says: for counters, and for the socket that `jcmd`
/// attaches by.
#[apply(row!)]
fn java_leaves_no_denial_and_jcmd_attaches() {
    let java = ["java", "javac", "jcmd"];
    let Some(scratch) = given(&java, Scratch::for_ordinary_user) else { return };
    let code = "public class Wait { public static void main(String[] a) throws Exception {
        java.nio.file.Files.createTempFile(\"jp\", null); System.out.println(\"up\"); System.in.read(); } }";
    scratch.write("ws/Wait.java", code);
    let marker = real(&scratch, "/tmp");
    let script = "javac Wait.java; mkfifo end up; java Wait < end > up & exec 9> end; read line < up; echo $line;
        jcmd $! VM.version; jcmd | grep -c Wait; echo > end; wait $!; ls /tmp | cut -d_ -f1";
    let run = Run::sh(&scratch, script).flags(&["-v"]).run();
    assert_apart(&run, &marker);
    run.assert_ok().assert_stdout("up\n").assert_stdout("JDK ").assert_stdout("\n1\n");
    run.assert_stdout("hsperfdata\n");
    assert!(!run.stderr.contains("denied"), "{run}");
}

#[apply(row!)]
fn tmux_serves_a_session() {
    let Some(scratch) = given(&["tmux"], Scratch::for_ordinary_user) else { return };
    let marker = real(&scratch, "/tmp");
    let script =
        "export SHELL=/bin/sh; unset TMUX_TMPDIR TMPDIR; tmux -f /dev/null new-session -d -s one 'echo in > out; read x';
        tmux ls; until test -s out; do sleep .1; done; cat out; tmux kill-server; ls /tmp";
    let run = Run::sh(&scratch, script).run();
    assert_apart(&run, &marker);
    run.assert_ok().assert_stdout("one: 1 windows").assert_stdout("\nin\n").assert_stdout("tmux-");
    assert!(!run.stderr.contains("/tmp"), "{run}");
}

/// The product with these words, of which `$T` is a directory in the real `/tmp`.
fn told(scratch: &Scratch, there: &TempDir, words: &[&str]) -> Outcome {
    let words: Vec<String> =
        words.iter().map(|word| word.replace("$T", text(there.path()))).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    product(scratch, &words).run()
}

/// A directory in the real `/tmp` with a file.
fn with_file(scratch: &Scratch) -> TempDir {
    let there = real(scratch, "/tmp");
    fs::write(there.path().join("file"), "echo real\n").expect("written");
    there
}

#[test]
fn what_is_granted_in_tmp_is_real() {
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there is nothing to show");
    let scratch = Scratch::new();
    let there = with_file(&scratch);
    fs::write(there.path().join("policy.toml"), "").expect("written");
    for options in [
        &["-r", "$T/file"][..],
        &["-r", "$T"],
        &["-r", "/tmp"],
        &["-w", "/"],
        &["--share-tmp"],
        &["-C", "/tmp"],
        &["-r", "$T/file", "-p", "$T/policy.toml", "--events", "$T/events"],
    ] {
        let run = told(&scratch, &there, &[options, &["--", "sh", "$T/file"]].concat());
        run.assert_ok().assert_stdout("real\n");
    }
    assert!(there.path().join("events").exists());
    for options in [&["-w", "$T"][..], &["-w", "$T/new"], &["--share-tmp"], &["-w", "/tmp"]] {
        let words = ["--", "sh", "-c", "echo kept > $T/new"];
        told(&scratch, &there, &[options, &words].concat()).assert_ok();
        let kept = fs::read_to_string(there.path().join("new")).expect("kept");
        assert_eq!(kept, "kept\n");
        fs::remove_file(there.path().join("new")).expect("removed");
    }
    // What may only be read is no place for files of the run's own.
    let words = ["-r", "/", "--", "sh", "-c", "echo own > $T.own && cat $T.own"];
    told(&scratch, &there, &words).assert_ok().assert_stdout("own\n");
    assert!(!PathBuf::from(format!("{}.own", text(there.path()))).exists());
}

/// Each is found at the real place, and the option that is suggested suffices.
#[test]
fn files_that_a_run_did_not_see_are_named() {
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there is nothing to show");
    let scratch = Scratch::new();
    let there = with_file(&scratch);
    for words in [
        &["cat", "$T/file"][..],
        &["sh", "$T/file"],
        &["sh", "-c", "cat <$T/file"],
        &["dd", "if=$T/file"],
        &["cat", "/tmp/../$T/file"],
    ] {
        let run = told(&scratch, &there, &[&["--"], words].concat());
        let file = format!("{}/file", text(there.path()));
        run.assert_stderr(&format!("denied read {file}")).assert_stderr(&format!("-r {file}"));
        run.assert_stderr("a run has a directory of its own here");
        assert_ne!(run.code(), 0, "{run}");
        told(&scratch, &there, &[&["-r", "$T/file", "--"], words].concat()).assert_ok();
        assert!(!told(&scratch, &there, &[&["-q", "--"], words].concat()).stderr.contains(" -r "));
    }
    // A program that succeeds did without the file.
    let run = told(&scratch, &there, &["--", "sh", "-c", "cat $T/file || true"]);
    assert!(!run.stderr.contains(" -r "), "{run}");
    let run = told(&scratch, &there, &["--", "cat", "$T/none"]);
    assert!(!run.stderr.contains(" -r "), "{run}");
}

#[test]
fn a_program_in_the_real_tmp_is_named() {
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there is nothing to show");
    let scratch = Scratch::new();
    let there = real(&scratch, "/tmp");
    fs::copy("/bin/true", there.path().join("program")).expect("copied");
    let run = told(&scratch, &there, &["--", "$T/program"]);
    run.assert_code(126).assert_stderr(&format!("-x {}/program", text(there.path())));
    told(&scratch, &there, &["-x", "$T/program", "--", "$T/program"]).assert_ok();
}

/// A file is deleted with the run's own directory, even if the command line names it as its result.
#[test]
fn files_that_are_lost_are_named() {
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there is nothing to show");
    let scratch = Scratch::new();
    let there = real(&scratch, "/tmp");
    let script = "mkdir -p $T; echo x > $T/new";
    let run = told(&scratch, &there, &["--", "sh", "-c", script]);
    let directory = text(there.path());
    let warned =
        format!("{directory} is deleted with the run's own directory; to keep it: -w {directory}");
    run.assert_ok().assert_stderr(&warned);
    told(&scratch, &there, &["-w", "$T/new", "--", "sh", "-c", "echo x > $T/new"]).assert_ok();
    assert!(there.path().join("new").exists());
    let run = told(&scratch, &there, &["--", "sh", "-c", "echo x > /tmp/x; rm /tmp/x"]);
    assert_eq!(run.stderr, "", "{run}");
}

#[test]
fn questions_without_a_run_say_what_a_run_sees() {
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there is nothing to show");
    let scratch = Scratch::new();
    let there = with_file(&scratch);
    let own = "a run has a directory of its own here";
    for path in ["$T/file", "/var/tmp/x", "/dev/shm"] {
        told(&scratch, &there, &["explain", path]).assert_ok().assert_stdout(own);
    }
    for granted in ["-r=$T", "--share-tmp"] {
        let run = told(&scratch, &there, &[granted, "explain", "$T/file"]);
        assert!(!run.assert_ok().stdout.contains(&format!("deny   {own}")), "{run}");
    }
}

/// An inner run has a directory of its own in that of the outer run.
#[apply(row!)]
fn nested_runs_have_their_own() {
    assert_eq!(Mode::under_test(), Mode::Confined, "bare they write to the real directories");
    let scratch = Scratch::for_ordinary_user();
    let marker = real(&scratch, "/tmp");
    let inner = format!("{PRODUCT} -- sh -c 'echo inner > /tmp/own; cat /tmp/own; ls /tmp'");
    let script = format!("echo outer > /tmp/own; {inner}; cat /tmp/own; ls /tmp");
    let run = Run::sh(&scratch, &script).flags(&["-x", PRODUCT]).run();
    assert_apart(&run, &marker);
    run.assert_ok().assert_stdout("inner\nown\nouter\n");
    assert!(!Path::new("/tmp/own").exists(), "{run}");
}
