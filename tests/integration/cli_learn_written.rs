//! `learn`, and the file that it writes. In place of the workspace's file, it never grants more than the rules that
//! applied meanwhile.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::PathBuf;

use crate::cli_learn::{run, tree};
use crate::cli_status::product;
use crate::run::{Mode, PRODUCT, Run};
use crate::run::{Outcome, given, note};
use crate::scratch::Scratch;

/// Whether this machine can learn.
fn learns(outcome: &Outcome) -> bool {
    let learns = outcome.code() != 125 || !outcome.stderr.contains("learn ");
    if !learns {
        note("skipped: learn cannot be had here");
    }
    learns
}

/// Puts the learned policy in place of the workspace's file.
fn put_in_place(scratch: &Scratch) {
    let path = |name| scratch.ws().join(name);
    fs::rename(path("jp-confine.learned.toml"), path("jp-confine.toml")).expect("renamed");
}

#[test]
fn what_the_workspaces_file_denies_stays_denied_in_its_place() {
    let scratch = tree();
    scratch.write("ws/src/x.crt", "KEY");
    let hosts = "[[access.net]]\nhost = \"a.test\"\nport = 5\nallow = true\n";
    let file = format!(
        "[[access.fs]]\npath = \"dir\"\nread = true\n\
         [[access.env]]\nname = \"PATH\"\nread = true\n{hosts}\
         [access.commands]\nsh = {{}}\ncat = {{}}\n\
         [file_policy]\ndeny_paths = ['**/*.crt']\nprompt_paths = ['**/c']\n"
    );
    scratch.write("ws/jp-confine.toml", &file);
    let learned = run(&scratch, &["learn"], "cat src/a src/b src/script src/x.crt");
    if !learns(&learned) {
        return;
    }
    learned.assert_stderr("access.env, access.net, access.commands, file_policy");
    put_in_place(&scratch);
    let policy = scratch.read("ws/jp-confine.toml");
    assert!(policy.contains(hosts) && !policy.contains("\"dir\""), "{policy}");
    let script = "cat src/a; cat src/x.crt; cat src/c; ls; echo $SECRET_VARIABLE; false";
    let line = ["--non-interactive", "--", "sh", "-c", script];
    let again = product(&scratch, &line).env("SECRET_VARIABLE", "KEY").run();
    assert!(again.stdout.starts_with('a') && !again.stdout.contains("KEY"), "{policy}\n{again}");
    again.assert_stderr("`**/*.crt` of deny_paths").assert_stderr("`**/c` of prompt_paths");
    again.assert_stderr("denied command");
}

/// If nothing used a path that a rule denied, the learned rules deny it, too.
#[test]
fn what_a_rule_of_the_file_withheld_stays_withheld() {
    let scratch = tree();
    scratch.write("ws/keep/s", "KEY");
    let file = "[[access.fs]]\npath = '.'\nread = true\n[[access.fs]]\npath = 'keep'\n";
    scratch.write("ws/jp-confine.toml", file);
    let learned = run(&scratch, &["learn"], "ls; cat file");
    if !learns(&learned) {
        return;
    }
    put_in_place(&scratch);
    let again = run(&scratch, &[], "ls; cat file; cat keep/s");
    let policy = scratch.read("ws/jp-confine.toml");
    assert!(again.stdout.contains("inside") && !again.stdout.contains("KEY"), "{policy}\n{again}");
}

#[test]
fn what_a_file_of_anybodys_opens_becomes_nobodys_own_word() {
    let scratch = tree();
    let file = "[file_policy]\ndeny_paths = ['**/*.crt']\nread_paths = ['/**/out/**']\n";
    scratch.write("ws/jp-confine.toml", file);
    let learned = run(&scratch, &["learn", "-o", "../learned.toml"], "cat file");
    if !learns(&learned) {
        return;
    }
    learned.assert_stderr("not carried over from jp-confine.toml: file_policy.read_paths");
    let policy = scratch.read("learned.toml");
    assert!(policy.contains("**/*.crt") && !policy.contains("out/"), "{policy}");
    let script = scratch.expand("cat $OUT/secret");
    run(&scratch, &["-p", "../learned.toml"], &script).assert_no_secret().assert_code(1);
}

/// Without the tool's name, rules learned for a tool do not count. Both file and summary say so.
#[test]
fn what_is_learned_of_a_tool_is_told_to_be_for_that() {
    let scratch = tree();
    scratch.write("ws/jp-confine.toml", "[tools.t]\nsource = \"local\"\n");
    scratch.write("more.toml", "");
    let learned = run(&scratch, &["--tool", "t", "-p", "../more.toml", "learn"], "cat src/a");
    if !learns(&learned) {
        return;
    }
    let again = "jp-confine --tool t -p ../more.toml -p jp-confine.learned.toml -- the same again";
    learned.assert_stderr(again).assert_stderr("for runs with --tool t alone");
    put_in_place(&scratch);
    let policy = scratch.read("ws/jp-confine.toml");
    assert!(policy.contains("# For runs with `--tool t` alone"), "{policy}");
    run(&scratch, &["--tool", "t"], "cat src/b").assert_code(1).assert_stderr("1 denial");
}

/// JP's own table of a tool stays where it is. The rules are written into it.
#[test]
fn what_is_learned_of_a_tool_is_written_as_the_file_spells_the_tool() {
    let scratch = tree();
    let file = "assistant = 1\n[conversation.tools.t]\nenable = true\n\
                [conversation.tools.t.access.commands.cat]\n[conversation.tools.t.access.commands.sh]\n";
    scratch.write("ws/jp-confine.toml", file);
    let learned = run(&scratch, &["--tool", "t", "learn"], "cat src/a");
    if !learns(&learned) {
        return;
    }
    put_in_place(&scratch);
    let policy = scratch.read("ws/jp-confine.toml");
    assert!(policy.contains("[[conversation.tools.t.access.fs]]"), "{policy}");
    let again = run(&scratch, &["--tool", "t"], "cat src/a; cat src/b; ls src");
    again.assert_stdout("a").assert_stderr("denied command").assert_stderr("src/b");
}

/// If a name leads to something other than a file, `learn` writes into it, as a shell does.
#[test]
fn a_policy_is_written_into_what_is_no_file() {
    let scratch = tree();
    let learned =
        run(&scratch, &["learn", "-o", "/dev/stdout", "--html", "/dev/null"], "echo noise");
    if !learns(&learned) {
        return;
    }
    assert!(learned.stdout.starts_with("# Learned by"), "{learned}");
    assert!(!learned.stdout.contains("\nnoise"), "{learned}");
    let (pipe, read) = (scratch.path("pipe"), scratch.path("read"));
    let line = format!(
        "mkfifo {0}; exec 3<>{0}; cat {0} 3>&- >{1} &
         {PRODUCT} -q learn --force -o {0} -- true; exec 3>&-; wait",
        pipe.display(),
        read.display()
    );
    Run::new(&scratch, "sh", &["-c", &line]).mode(Mode::Bare).run().assert_ok();
    assert!(scratch.read("read").starts_with("# Learned by"));
    let found = fs::symlink_metadata(&pipe).expect("still there");
    assert!(!found.is_file(), "a pipe was replaced");
}

/// A run may have left the symlink there.
#[test]
fn a_link_to_what_is_no_file_is_replaced_and_not_followed() {
    let scratch = tree();
    let link = scratch.path("link");
    std::os::unix::fs::symlink("/dev/null", &link).expect("a link");
    let learned = run(&scratch, &["learn", "-o", "../link"], "true");
    if !learns(&learned) {
        return;
    }
    learned.assert_code(125).assert_stderr("exists already");
    run(&scratch, &["learn", "--force", "-o", "../link"], "true").assert_ok();
    assert!(fs::symlink_metadata(&link).expect("there").is_file());
    assert!(scratch.read("link").starts_with("# Learned by"));
}

#[test]
fn what_cannot_be_written_into_is_named() {
    let scratch = tree();
    let learned = run(&scratch, &["learn", "-o", "/dev/full"], "true");
    if !learns(&learned) {
        return;
    }
    learned.assert_stderr("--output /dev/full cannot be written: No space left on device");
}

/// The file belongs to the workspace, however its path is spelled. A run may have created a symlink to it.
#[test]
fn a_policy_that_is_written_into_the_workspace_from_outside_keeps_what_it_opens() {
    let scratch = tree();
    scratch.write("ws/jp-confine.toml", "[file_policy]\nread_paths = ['/**/out/**']\n");
    std::os::unix::fs::symlink(scratch.ws(), scratch.path("link")).expect("a link");
    let by_link = run(&scratch, &["learn", "-o", "../link/learned.toml"], "cat file");
    let target = scratch.ws().join("learned.toml");
    by_link.assert_code(125).assert_stderr(&format!("--output {}", target.display()));
    let learned = run(&scratch, &["learn", "-o", "../out/../ws/learned.toml"], "cat file");
    if !learns(&learned) {
        return;
    }
    assert!(!learned.stderr.contains("not carried over"), "{learned}");
    assert!(scratch.read("ws/learned.toml").contains("out/**"), "{learned}");
}

/// The result of a run must not be lost, nor be unreadable for everybody.
#[test]
fn nothing_runs_whose_policy_could_not_be_kept() {
    let scratch = Scratch::for_ordinary_user();
    let refused = |words: &[&str], why: &str| {
        let refused = run(&scratch, words, "echo x > new");
        refused.assert_code(125).assert_stderr(why);
        assert!(!refused.stderr.contains(".jp-confine-"), "{refused}");
        assert!(!scratch.ws().join("new").exists(), "{words:?}");
    };
    refused(&["learn", "-o", "l.json"], "--output l.toml");
    refused(&["learn", "-o", "l", "--html", "none/page.html"], "No such file or directory");
    refused(&["learn", "-o", "dir", "--force"], "it is a directory");
    refused(&["learn", "-o", "l", "--html", "./l"], "the same file");
    refused(&["learn", "-o", "-", "--html", "-"], "standard output takes one");
    Run::sh(&scratch, "mkfifo pipe").mode(Mode::Bare).run().assert_ok();
    refused(&["learn", "-o", "pipe"], "nobody reads from this pipe");
    if let Some(disk) = disk() {
        refused(&["learn", "--force", "-o", &disk], "it is a block device");
    }
    fs::set_permissions(scratch.ws(), Permissions::from_mode(0o555)).expect("closed");
    refused(&["learn"], "Permission denied");
    fs::set_permissions(scratch.ws(), Permissions::from_mode(0o755)).expect("open");
}

/// A block device, if this machine shows one.
fn disk() -> Option<String> {
    let is_disk = |path: &PathBuf| {
        fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_block_device())
    };
    let mut devices = fs::read_dir("/dev").ok()?.flatten().map(|device| device.path());
    devices.find(is_disk).map(|path| path.display().to_string())
}

#[test]
fn a_policy_on_standard_output_is_alone_there() {
    let scratch = tree();
    let learned = run(&scratch, &["learn", "-o", "-"], "echo noise; cat file");
    if !learns(&learned) {
        return;
    }
    learned.assert_ok().assert_stderr("noise\ninside");
    assert!(learned.stdout.starts_with("# Learned by"), "{learned}");
    assert!(!learned.stdout.contains("\nnoise"), "{learned}");
}

/// The library does not report again what the supervisor has reported.
#[test]
fn a_refusal_is_counted_once() {
    let scratch = tree();
    for script in ["exec cat $OUT/secret", "exec ls $OUT"] {
        let learned = run(&scratch, &["learn", "-o", "-"], &scratch.expand(script));
        if !learns(&learned) {
            return;
        }
        learned.assert_stderr("1 denial\n");
    }
}

/// Each capability that a rule grants was used, or the comment says what else it is for.
#[test]
fn the_file_says_why_it_grants_what_was_not_used() {
    for (script, comment) in [
        ("mv src moved", "# create, update: needed for 1 move\n"),
        ("sed -i s/x/y/ file", "# read: needed for 1 move\n"),
        (
            "ln src/a dir/a",
            "# hard links were made to what is here 1×: it is granted what they are\n",
        ),
        (
            "for i in 1 2 3; do cp /bin/true dir/t$i; done; dir/t1",
            "# read: used below it\n[[access.fs]]\npath = \"dir\"\n",
        ),
        ("sync src; cat src/a", "# it was opened and not listed: opening takes read\n"),
        (
            "install -D src/a new/a; mkdir -p dir",
            "# kept out: programs only tried to make what is there already, or looked for what is not there, ",
        ),
    ] {
        let scratch = tree();
        let learned = run(&scratch, &["learn"], script);
        if !learns(&learned) {
            return;
        }
        let policy = scratch.read("ws/jp-confine.learned.toml");
        assert!(policy.contains(comment), "{script}\n{learned}\n{policy}");
    }
}

/// If a rule grants too many unused files to name them, the file and the summary give their number. Files that may hold
/// a secret are closed by name.
#[test]
fn what_goes_along_as_it_is_too_much_is_counted() {
    for (script, directory) in [
        ("sed -i s/1/2/ many/1", "many"),
        ("sync many; cat many/1", "many"),
        ("sync .; cat many/1", "."),
        ("mktemp -d ./tmp.XXXXXX; cat many/1", "."),
    ] {
        let scratch = tree();
        for name in 1..=20 {
            scratch.write(&format!("ws/{directory}/{name}"), "1");
        }
        scratch.write("ws/many/1", "1");
        scratch.write("ws/many/token.txt", "KEY");
        let learned = run(&scratch, &["learn"], script);
        if !learns(&learned) {
            return;
        }
        learned.assert_stderr("as they are too many for rules of their own: ");
        let policy = scratch.read("ws/jp-confine.learned.toml");
        let opened = policy.split("# this opens the ").nth(1).expect("a crowd");
        let (count, _) = opened.split_once(" in it that were not used, too: ").expect("a count");
        let others = if directory == "." { 20 } else { 19 };
        assert!((others..=others + 6).contains(&count.parse().expect("a number")), "{policy}");
        put_in_place(&scratch);
        let refused =
            run(&scratch, &[], "cat .env; cat server.key; cat many/token.txt; cat .git/config");
        refused.assert_stderr("4 denials");
    }
}

/// If one file at the top is changed, no rule at the top allows changing the whole workspace.
#[test]
fn what_could_be_changed_at_the_top_is_kept_out_one_by_one() {
    let scratch = tree();
    for name in 1..=20 {
        scratch.write(&format!("ws/{name}"), "1");
    }
    let learned = run(&scratch, &["learn"], "sed -i s/1/2/ 1");
    if !learns(&learned) {
        return;
    }
    put_in_place(&scratch);
    run(&scratch, &[], "sed -i s/2/3/ 1").assert_ok();
    run(&scratch, &[], "cat 2; echo x > 3; rm src/a").assert_stderr("3 denials");
}

/// A program that puts random characters behind its own name draws small letters alone at times, as `sed -i` does.
#[test]
fn a_name_of_small_letters_behind_the_program_s_own_is_another_next_time() {
    let Some(scratch) = given(&["python3"], tree) else { return };
    let script = "python3 -c 'import os, sys
name = os.path.basename(os.path.realpath(sys.executable)) + \"omwqwd\"
os.close(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
os.rename(name, \"file\")'";
    if !learns(&run(&scratch, &["learn"], script)) {
        return;
    }
    put_in_place(&scratch);
    run(&scratch, &[], &script.replace("omwqwd", "qwdomw")).assert_ok();
}

#[test]
fn the_command_that_tries_it_names_the_file_as_a_shell_does() {
    for (name, word) in
        [("o\t.toml", "$'o\\x09.toml'"), ("-o b.toml", "'./-o b.toml'"), ("o.toml", "o.toml")]
    {
        let scratch = tree();
        let learned = run(&scratch, &["learn", &format!("--output={name}")], "true");
        if !learns(&learned) {
            return;
        }
        learned.assert_stderr(&format!("try it: jp-confine -p {word} -- the same again"));
    }
}
