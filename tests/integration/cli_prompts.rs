//! Prompts in a terminal, while programs run.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::attack::{Linking, answer, arena, arena_with, call};
use crate::run::{Mode, PRODUCT, Run, given, have};
use crate::scratch::Scratch;
use crate::terminal::{Terminal, quoted};

/// A workspace in which `ask/` prompts, with two files in it.
pub(crate) fn place() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[file_policy]\nprompt_paths = ['<workspace>/ask/**']\n");
    scratch.write("ws/ask/a", "content-a\n");
    scratch.write("ws/ask/b", "content-b\n");
    scratch
}

pub(crate) fn start(scratch: &Scratch, script: &str) -> Terminal {
    Terminal::start(&Run::sh(scratch, script).mode(Mode::Confined))
}

/// Such a workspace, if a terminal and these programs are there.
pub(crate) fn place_with(programs: &[&str]) -> Option<Scratch> {
    given(&[&["script"], programs].concat(), place)
}

/// The end of a prompt.
pub(crate) const QUESTION: &str = "[N] no  [?] help: ";

/// Waits for the next prompt, and types this answer.
pub(crate) fn reply(terminal: &mut Terminal, answer: &str) {
    terminal.see(QUESTION);
    terminal.keys(&format!("{answer}\n"));
}

// conformance: tiers-4, tiers-57, tiers-58
#[test]
fn yes_is_for_once() {
    let Some(scratch) = place_with(&[]) else { return };
    std::os::unix::fs::symlink("ask", scratch.ws().join("way")).expect("linked");
    let mut terminal = start(&scratch, "cat ask/a; cat way/a; echo status:$?");
    terminal.see("wants to read");
    terminal.see("ask/a");
    terminal.see("prompt_paths has `<workspace>/ask/**`");
    terminal.see("jp-confine.toml:2)");
    reply(&mut terminal, "y");
    terminal.see("content-a");
    terminal.see("via way/a");
    reply(&mut terminal, "");
    terminal.see("status:1");
    assert_eq!(terminal.end(), Some(0));
    assert_eq!(terminal.screen().matches("    via ").count(), 1, "{}", terminal.screen());
    assert_eq!(terminal.screen().matches("content-a").count(), 1);
}

/// A yes is for one call, even if the same thread asks for the same file again at once.
#[test]
fn yes_is_for_one_call() {
    let Some(scratch) = place_with(&[]) else { return };
    let mut terminal =
        start(&scratch, "read x < ask/a; echo first:$x; x=; read x < ask/a; echo second:$x");
    reply(&mut terminal, "y");
    terminal.see("first:content-a");
    reply(&mut terminal, "yesterday");
    terminal.see("that is no answer here");
    reply(&mut terminal, "n");
    terminal.end();
    assert!(!terminal.screen().contains("second:content"), "{}", terminal.screen());
}

/// The library itself makes the call that it asked about. A system call of the program's own is another one.
#[test]
fn yes_is_for_the_call_that_was_asked_about() {
    let Some(scratch) = given(&["script"], || arena_with(Linking::Dynamic, place())) else {
        return;
    };
    let mut terminal = start(&scratch, "bin/attack open ask/a , i_open ask/a");
    for answer in ["y\n", "n\n"] {
        terminal.see("wants to read");
        terminal.see(QUESTION);
        terminal.keys(answer);
    }
    terminal.see("EACCES");
    terminal.end();
}

/// A yes to open a file for writing also covers its mode and its times, with the library and without.
#[test]
fn who_may_write_is_asked_once() {
    if !have("script") {
        return;
    }
    for (script, linking) in [
        ("touch ask/a; touch ask/new", Linking::Dynamic),
        ("bin/attack touch ask/a; bin/attack touch ask/new", Linking::Static),
    ] {
        let scratch = arena_with(linking, place());
        let mut terminal = start(&scratch, script);
        for _ in 0..2 {
            terminal.see("update");
            reply(&mut terminal, "y");
        }
        assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
        let screen = terminal.screen();
        assert_eq!(screen.matches(QUESTION).count(), 2, "{script}: {screen}");
    }
}

/// One prompt covers a start and every read by the interpreter. It does not let others read the script.
#[test]
fn a_script_is_one_question() {
    let Some(scratch) = place_with(&["python3"]) else { return };
    let script = "#!/usr/bin/env python3\nprint('ran', 40 + 2)\n";
    scratch.write("ws/ask/s", script);
    fs::set_permissions(scratch.path("ws/ask/s"), Permissions::from_mode(0o755)).expect("set");
    let mut terminal = start(&scratch, "ask/s; cat ask/s");
    terminal.see("wants to read, execute\r\n    ask/s\r\n");
    reply(&mut terminal, "y");
    terminal.see("ran 42");
    terminal.see("wants to read\r\n    ask/s\r\n");
    reply(&mut terminal, "n");
    terminal.end();
    assert_eq!(terminal.screen().matches(QUESTION).count(), 2, "{}", terminal.screen());
}

/// If libc opens a library by itself, there is one prompt at that moment. After a no, the error names the library.
#[test]
fn a_library_is_one_question() {
    let Some(scratch) = place_with(&["python3", "cc"]) else { return };
    let line = ["-shared", "-o", "ask/l.so", "-x", "c", "/dev/null"];
    let built = Command::new("cc").args(line).current_dir(scratch.ws()).status();
    assert!(built.expect("cc").success());
    let script = "import ctypes; ctypes.CDLL('ask/l.so'); print('loa' + 'ded')";
    for (answer, said) in [("y\n", "loaded"), ("n\n", "ask/l.so: cannot open")] {
        let mut terminal = start(&scratch, &format!("python3 -c \"{script}\""));
        terminal.see("wants to read\r\n    ask/l.so\r\n");
        terminal.see(QUESTION);
        terminal.keys(answer);
        terminal.see(said);
        terminal.end();
        assert_eq!(terminal.screen().matches(QUESTION).count(), 1, "{}", terminal.screen());
    }
}

/// The same without random addresses, and with names of one length. So the new program's arguments are at the addresses
/// of the old one's.
#[test]
fn a_script_is_one_question_without_random_addresses() {
    let Some(scratch) = place_with(&["setarch"]) else { return };
    let script = |path: &str, lines: &str| {
        scratch.write(path, &format!("#!/bin/sh\n{lines}\n"));
        fs::set_permissions(scratch.path(path), Permissions::from_mode(0o755)).expect("set");
    };
    script("ws/one/a", "exec one/b");
    script("ws/ask/s", "echo ran");
    // The script replaces the first one, or is its child.
    for line in ["exec ask/s", "ask/s\n:"] {
        script("ws/one/b", line);
        let mut terminal = start(&scratch, "setarch -R one/a");
        terminal.see("wants to read, execute\r\n    ask/s\r\n");
        reply(&mut terminal, "y");
        terminal.see("ran\r\n");
        assert_eq!(terminal.end(), Some(0));
        assert_eq!(terminal.screen().matches(QUESTION).count(), 1, "{}", terminal.screen());
    }
}

/// The yes is only for a start that takes place, and only for that file.
#[test]
fn a_yes_to_a_start_opens_nothing_else() {
    let Some(scratch) = given(&["script", "python3"], Scratch::new) else { return };
    scratch.write("ws/jp-confine.toml", "[file_policy]\nprompt_paths = ['**/s']\n");
    let swap = "import os\nos.rename('d', 'old')\nos.rename('e', 'd')\nprint(open('d/s').read())\n";
    let fails = "import os\ntry: os.execv('d/s', ['s'])\nexcept OSError: print('failed')\n";
    for (script, start) in [
        ("#!/none\n".to_owned(), format!("{fails}print(open('d/s').read())\n")),
        ("#!/none\n".to_owned(), format!("{fails}{swap}")),
        (format!("#!/usr/bin/env python3\n{swap}"), "import os\nos.execv('d/s', ['s'])".to_owned()),
    ] {
        for old in ["ws/d", "ws/old"] {
            let _ = fs::remove_dir_all(scratch.path(old));
        }
        scratch.write("ws/d/s", &script);
        scratch.write("ws/e/s", "content-e\n");
        scratch.write("ws/start", &start);
        fs::set_permissions(scratch.path("ws/d/s"), Permissions::from_mode(0o755)).expect("set");
        let mut terminal = self::start(&scratch, "python3 start");
        terminal.see("wants to read, execute\r\n    d/s\r\n");
        reply(&mut terminal, "y");
        terminal.see("wants to read\r\n    d/s\r\n");
        reply(&mut terminal, "n");
        terminal.end();
        let screen = terminal.screen();
        assert!(!screen.contains("content-e"), "{script}: {screen}");
    }
}

/// If another file is there by the time of the answer, there is another prompt, with the library and without.
#[test]
fn a_start_is_of_what_was_asked_about() {
    if !have("script") {
        return;
    }
    for linking in [Linking::Dynamic, Linking::Static] {
        let scratch = Scratch::new();
        scratch.write("ws/jp-confine.toml", "[file_policy]\nprompt_paths = ['**/s']\n");
        for (script, line) in [("ws/d/s", "echo ran-d"), ("ws/e/s", "echo ran-e")] {
            scratch.write(script, &format!("#!/bin/sh\n{line}\n"));
            fs::set_permissions(scratch.path(script), Permissions::from_mode(0o755)).expect("set");
        }
        let scratch = arena_with(linking, scratch);
        let mut terminal = start(&scratch, "bin/attack exec d/s; bin/attack exec d/s");
        terminal.see("wants to read, execute\r\n    d/s\r\n");
        terminal.see(QUESTION);
        for (from, to) in [("ws/d", "ws/old"), ("ws/e", "ws/d")] {
            fs::rename(scratch.path(from), scratch.path(to)).expect("renamed");
        }
        for _ in 0..2 {
            terminal.keys("y\n");
            terminal.see("wants to read, execute\r\n    d/s\r\n");
            terminal.see(QUESTION);
        }
        terminal.keys("n\n");
        terminal.end();
        let screen = terminal.screen();
        assert_eq!(screen.matches("ran-e").count(), 1, "{screen}");
        assert_eq!(screen.matches(QUESTION).count(), 3, "{screen}");
    }
}

/// If the file is removed by the time of the answer, there is no further prompt, with the library and without.
#[test]
fn a_start_of_what_is_removed_is_one_question() {
    removed_at_the_question(None, &["y\n"], "ENOENT");
}

/// The yes does not start the file that took its place.
#[test]
fn a_start_of_what_is_replaced_is_another_question() {
    removed_at_the_question(Some("ws/other"), &["y\n", "n\n"], "EACCES");
}

/// Starts a script, and removes it during the prompt, so that nothing runs. A `successor` then takes its place.
fn removed_at_the_question(successor: Option<&str>, answers: &[&str], outcome: &str) {
    if !have("script") {
        return;
    }
    for linking in [Linking::Dynamic, Linking::Static] {
        let scratch = place();
        for script in ["ws/ask/s", "ws/other"] {
            scratch.write(script, "#!/bin/sh\necho ran\n");
            fs::set_permissions(scratch.path(script), Permissions::from_mode(0o755)).expect("set");
        }
        let scratch = arena_with(linking, scratch);
        let mut terminal = start(&scratch, "bin/attack exec ask/s");
        for (place, answer) in answers.iter().enumerate() {
            terminal.see("wants to read, execute\r\n    ask/s\r\n");
            terminal.see(QUESTION);
            if place == 0 {
                fs::remove_file(scratch.path("ws/ask/s")).expect("removed");
                let come = |other| fs::rename(scratch.path(other), scratch.path("ws/ask/s"));
                successor.map(come).transpose().expect("renamed");
            }
            terminal.keys(answer);
        }
        terminal.see(outcome);
        terminal.end();
        let screen = terminal.screen();
        assert_eq!(screen.matches(QUESTION).count(), answers.len(), "{screen}");
        assert!(!screen.contains("ran\r"), "{screen}");
    }
}

/// A start fails, and another one reads the file, even with the same interpreter. The yes does not cover that.
#[test]
fn a_yes_to_a_start_that_fails_is_for_no_other() {
    if !have("script") || !have("python3") {
        return;
    }
    for (script, words, then) in [
        ("no program", "['s']", "'/bin/cat', ['cat', 'd/s']"),
        ("#!/bin/cat", "['s', *['x' * 100000] * 100]", "'/bin/cat', ['cat', 'd/s']"),
    ] {
        let scratch = Scratch::new();
        scratch.write("ws/jp-confine.toml", "[file_policy]\nprompt_paths = ['**/s']\n");
        scratch.write("ws/d/s", &format!("{script}\n"));
        fs::set_permissions(scratch.path("ws/d/s"), Permissions::from_mode(0o755)).expect("set");
        let try_it = format!("import os\ntry: os.execv('d/s', {words})\nexcept OSError: pass\n");
        scratch.write("ws/start", &format!("{try_it}os.execv({then})\n"));
        let mut terminal = start(&scratch, "python3 start");
        terminal.see("wants to read, execute\r\n    d/s\r\n");
        reply(&mut terminal, "y");
        terminal.see("cat (");
        terminal.see("wants to read\r\n    d/s\r\n");
        reply(&mut terminal, "n");
        terminal.end();
        assert!(!terminal.screen().contains(&format!("{script}\r")), "{}", terminal.screen());
    }
}

#[test]
fn a_run_remembers_yes_and_no() {
    let Some(scratch) = place_with(&[]) else { return };
    let mut terminal = start(&scratch, "cat ask/a; cat ask/b; cat ask/a ask/b; echo done; false");
    terminal.see("ask/a");
    reply(&mut terminal, "r");
    terminal.see("content-a");
    terminal.see("ask/b");
    reply(&mut terminal, "no");
    terminal.see("content-a");
    terminal.see("done");
    terminal.end();
    let screen = terminal.screen();
    assert!(!screen.contains("content-b") && screen.contains("a person said no"), "{screen}");
}

#[test]
fn what_changes_is_asked_about_as_well() {
    let Some(scratch) = place_with(&[]) else { return };
    let mut terminal = start(&scratch, "mv file ask/c && echo moved; rm ask/a; echo removed:$?");
    terminal.see("wants to create");
    reply(&mut terminal, "y");
    terminal.see("moved");
    terminal.see("wants to delete");
    reply(&mut terminal, "rm -rf build");
    reply(&mut terminal, "n");
    terminal.see("removed:1");
    terminal.end();
    assert_eq!(scratch.read("ws/ask/c"), "inside\n");
    assert_eq!(scratch.read("ws/ask/a"), "content-a\n");
}

/// One prompt names both ends of a move, for programs with the library and without.
#[test]
fn a_move_is_one_question() {
    let Some(scratch) = given(&["script"], || arena_with(Linking::Static, place())) else { return };
    let mut terminal = start(&scratch, "mv ask/a ask/c; bin/attack rename ask/b ask/d");
    for (from, to, seen) in [("a", "c", ""), ("b", "d", "ok")] {
        terminal.see("wants to delete");
        terminal.see(&format!("ask/{from}\r\n  and with that to create\r\n    ask/{to}\r\n"));
        reply(&mut terminal, "y");
        terminal.see(seen);
    }
    assert_eq!(terminal.end(), Some(0));
    assert_eq!(terminal.screen().matches("wants to").count(), 2, "{}", terminal.screen());
    assert_eq!(scratch.read("ws/ask/c"), "content-a\n");
}

/// Nobody is prompted for deleting or moving a missing file, with the library and without. `rm -f` goes on, as it does
/// without prompts. A dangling symlink is not missing.
#[test]
fn what_is_missing_is_not_asked_about() {
    let tools = "rm -f ask/none && rm -rf ask/none && echo none; rmdir ask/none; mv ask/none ask/c; \
                 mv -T ask/none c; mv none ask/c; unlink ask/none; ";
    let calls = "for call in 'unlink ask/none' 'rmdir ask/none/' 'rename ask/none ask/c'; do \
                 bin/attack $call; done; ";
    for (linking, script) in [(Linking::Dynamic, tools), (Linking::Static, calls)] {
        let scratch = arena_with(linking, place());
        if !have("script") {
            return;
        }
        std::os::unix::fs::symlink("none", scratch.ws().join("ask/link")).expect("linked");
        let mut terminal =
            start(&scratch, &format!("{script} echo so far; bin/attack unlink ask/link"));
        terminal.see("so far");
        assert!(!terminal.screen().contains(QUESTION), "{}", terminal.screen());
        terminal.see("wants to delete");
        reply(&mut terminal, "n");
        terminal.see("EACCES");
        terminal.end();
        let screen = terminal.screen();
        let expected = if linking == Linking::Static { "ENOENT" } else { "No such file" };
        assert!(screen.matches(expected).count() >= 3, "{screen}");
        assert!(linking == Linking::Static || screen.contains("none\r\n"), "{screen}");
    }
}

/// A pattern that is spelled through a symlink prompts for moves, too, and once for each.
#[test]
fn a_spelling_by_a_link_is_asked_about() {
    let Some(scratch) = place_with(&[]) else { return };
    scratch.write("ws/jp-confine.toml", "[file_policy]\nprompt_paths = ['**/alias/*']\n");
    std::os::unix::fs::symlink("ask", scratch.ws().join("alias")).expect("linked");
    let mut terminal = start(&scratch, "mv alias/a alias/c; ln file alias/d; mv ask/b ask/e");
    for asked in ["alias/a\r\n  and with that to create\r\n    ask/c\r\n", "wants to create"] {
        terminal.see(asked);
        reply(&mut terminal, "y");
    }
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    assert_eq!(terminal.screen().matches("wants to").count(), 2, "{}", terminal.screen());
    assert_eq!(scratch.read("ws/ask/c"), "content-a\n");
    assert_eq!(scratch.read("ws/ask/d"), "inside\n");
}

/// One end prompts by its spelling, and the other by what it is. That is one prompt as well.
#[test]
fn ends_of_a_move_that_are_asked_about_for_different_reasons() {
    let scratch = place();
    let patterns = "[file_policy]\nprompt_paths = ['**/alias/*', '<workspace>/own/*']\n";
    scratch.write("ws/jp-confine.toml", patterns);
    scratch.write("ws/own/x", "own\n");
    std::os::unix::fs::symlink("ask", scratch.ws().join("alias")).expect("linked");
    let mut terminal = start(&scratch, "mv alias/a own/y; mv alias/b own/z");
    for answer in ["y\n", "n\n"] {
        terminal.see("wants to delete");
        terminal.see("via alias/");
        terminal.see("and with that to create");
        terminal.see(QUESTION);
        terminal.keys(answer);
    }
    assert_eq!(terminal.end(), Some(1), "{}", terminal.screen());
    assert_eq!(terminal.screen().matches("wants to").count(), 2, "{}", terminal.screen());
    assert_eq!(
        (scratch.read("ws/own/y"), scratch.read("ws/ask/b")),
        ("content-a\n".into(), "content-b\n".into())
    );
}

/// Both wait. One screen shows both requests, and one answer counts for both. Meanwhile other programs run.
#[test]
fn two_programs_are_asked_about_together() {
    let Some(scratch) = place_with(&[]) else { return };
    let script = "cat ask/a & cat ask/b & (sleep 2; echo others-run) & wait; echo end";
    let mut terminal = start(&scratch, script);
    terminal.see(QUESTION);
    let screen = terminal.screen();
    assert!(screen.contains("ask/a") && screen.contains("ask/b"), "{screen}");
    assert!(screen.contains("[e] each by itself"), "{screen}");
    terminal.see("others-run");
    terminal.keys("y\n");
    terminal.see("end");
    terminal.end();
    let screen = terminal.screen();
    assert!(screen.contains("content-a") && screen.contains("content-b"), "{screen}");
}

/// An answer for the whole run counts for all that wait for it, at this prompt or later.
#[test]
fn an_answer_for_the_run_settles_what_waits() {
    for (script, replies) in [
        ("cat ask/a & head ask/a & wait", &["e", "r"][..]),
        ("cat ask/a & sleep 1; head ask/a & wait", &["r"]),
    ] {
        let scratch = place();
        if !have("script") {
            return;
        }
        let mut terminal = start(&scratch, &format!("{script}; cat ask/a; echo end"));
        for (count, reply) in replies.iter().enumerate() {
            terminal.see(QUESTION);
            if count + 1 == replies.len() {
                std::thread::sleep(std::time::Duration::from_secs(2));
            }
            terminal.keys(&format!("{reply}\n"));
        }
        terminal.see("end");
        terminal.end();
        let screen = terminal.screen();
        assert_eq!(screen.matches("content-a").count(), 3, "{screen}");
        assert_eq!(screen.matches(QUESTION).count(), replies.len(), "{screen}");
    }
}

#[test]
fn who_waits_for_an_answer_can_be_killed() {
    let Some(scratch) = place_with(&[]) else { return };
    let script = "cat ask/a & sleep 0.5; kill -9 $!; wait $!; sleep 1; stty -a | grep -o ' icanon'; read x; echo got:$x";
    let mut terminal = start(&scratch, script);
    terminal.see(QUESTION);
    terminal.see("nobody waits for this any more");
    terminal.see(" icanon");
    terminal.keys("here\n");
    terminal.see("got:here");
    assert_eq!(terminal.end(), Some(0));
}

/// Where no rule reaches, only the prompt protects. Consent covers all that the prompt was about.
#[test]
fn consent_reaches_beyond_rules() {
    let Some(scratch) = place_with(&[]) else { return };
    let policy = scratch.expand("[file_policy]\nprompt_paths = ['$OUT/**']\n");
    std::fs::write(scratch.path("policy.toml"), policy).expect("a policy");
    let policy = scratch.path("policy.toml").display().to_string();
    let script = scratch.expand("echo new > $OUT/made; cat $OUT/made; rm $OUT/made; echo end:$?");
    let run = Run::sh(&scratch, &script).flags(&["-p", &policy]).mode(Mode::Confined);
    let mut terminal = Terminal::start(&run);
    for (wanted, seen) in [("create", ""), ("read", "new\r\n"), ("delete", "end:0")] {
        terminal.see(wanted);
        reply(&mut terminal, "y");
        terminal.see(seen);
    }
    terminal.end();
    assert!(!scratch.path("out/made").exists());
}

/// Keys that are typed for another job are no answer.
#[test]
fn a_question_waits_for_its_job() {
    let Some(scratch) = place_with(&["bash"]) else { return };
    let mut terminal = Terminal::shell(&scratch, Mode::Bare);
    let run = Run::sh(&scratch, "cat ask/a").mode(Mode::Confined);
    terminal.keys(&format!("{} &\n", quoted(&run)));
    terminal.see("a question waits");
    terminal.keys("read x; echo got:$x\n");
    terminal.keys("yes\n");
    terminal.see("got:yes");
    assert!(!terminal.screen().contains(QUESTION), "{}", terminal.screen());
    terminal.keys("fg\n");
    reply(&mut terminal, "y");
    terminal.see("content-a");
    terminal.keys("exit\n");
}

/// The prompt of a process that the program left running stands alone. The launcher says only after the answer what it
/// waits for.
#[test]
fn what_is_left_running_is_told_of_behind_its_question() {
    let Some(scratch) = place_with(&[]) else { return };
    let script = "sh -c 'cat ask/a; exec sleep 2.5' & sleep 0.5";
    let mut terminal = start(&scratch, script);
    terminal.see(QUESTION);
    thread::sleep(Duration::from_millis(2500));
    terminal.keys("y\n");
    terminal.see("waiting for what the program left running: ");
    assert!(terminal.screen().contains(&format!("{QUESTION}y")), "{}", terminal.screen());
    assert_eq!(terminal.end(), Some(0));
}

/// The library is not in these programs.
#[test]
fn static_programs_wait_too() {
    let Some(scratch) = given(&["script"], || arena_with(Linking::Static, place())) else { return };
    std::os::unix::fs::symlink("ask", scratch.ws().join("way")).expect("linked");
    let script = "bin/attack open way/a; bin/attack write ask/a";
    let mut terminal = start(&scratch, script);
    terminal.see("attack (");
    terminal.see("wants to read");
    terminal.see("via way/a");
    reply(&mut terminal, "y");
    terminal.see("ok content-a");
    terminal.see("wants to update");
    reply(&mut terminal, "n");
    terminal.see("EACCES");
    terminal.end();
}

/// Suggestions after a denial take no consent away, and the events tell who denied it.
#[test]
fn a_sensitive_path_is_warned_of_once() {
    let Some(scratch) = given(&["script"], Scratch::new) else { return };
    let policy = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\n";
    scratch.write("ws/jp-confine.toml", policy);
    scratch.write("ws/.env", "KEY=1\n");
    let run = Run::sh(&scratch, "cat .env; cat .env; echo x >> .env").mode(Mode::Confined);
    let mut terminal = Terminal::start(&run.flags(&["--events", "events"]));
    terminal.see("sensitive: `**/.env`");
    reply(&mut terminal, "y");
    terminal.see("KEY=1");
    terminal.see("KEY=1");
    reply(&mut terminal, "n");
    terminal.see("denied update");
    terminal.end();
    let events = scratch.read("ws/events");
    // The consent covers each program that reads the file.
    for (consent, count) in [("run", 2), ("refused", 1)] {
        let one = format!("\"consent\":\"{consent}\"");
        assert_eq!(events.matches(&one).count(), count, "{consent}: {events}");
    }
    assert_eq!(events.matches("\"sensitive_refused\"").count(), 1, "{events}");
}

// conformance: tiers-59
/// The answer for one name of the file counts for the other.
#[test]
fn a_sensitive_name_of_a_link_is_warned_of_once() {
    let Some(scratch) = given(&["script"], Scratch::new) else { return };
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = '.'\nread = true\n");
    scratch.write("ws/cfg/prod", "KEY=1\n");
    for name in [".env", ".env.local"] {
        std::os::unix::fs::symlink("cfg/prod", scratch.ws().join(name)).expect("linked");
    }
    let script = "cat cfg/prod; cat .env; cat .env .env.local; echo the end";
    let run = Run::sh(&scratch, script).mode(Mode::Confined);
    let mut terminal = Terminal::start(&run.flags(&["--events", "events"]));
    terminal.see("KEY=1");
    terminal.see("via .env");
    terminal.see("sensitive: `**/.env`");
    reply(&mut terminal, "y");
    terminal.see("KEY=1");
    terminal.see("KEY=1");
    terminal.see("KEY=1");
    terminal.see("the end");
    terminal.end();
    let events = scratch.read("ws/events");
    let consent = events.lines().find(|line| line.contains("\"consent\":\"run\""));
    let consent = consent.expect("a consent");
    assert!(consent.contains("/cfg/prod\"") && consent.contains("/.env\""), "{consent}");
}

/// A warning is for the whole run, so `r` is not offered with it.
#[test]
fn what_is_not_offered_is_no_answer() {
    let Some(scratch) = given(&["script"], Scratch::new) else { return };
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = '.'\nread = true\n");
    scratch.write("ws/.env", "KEY=1\n");
    let run = Run::sh(&scratch, "cat .env").mode(Mode::Confined);
    let mut terminal = Terminal::start(&run);
    terminal.see("sensitive: `**/.env`");
    reply(&mut terminal, "r");
    terminal.see("that is no answer here");
    reply(&mut terminal, "n");
    terminal.see("Permission denied");
    terminal.end();
}

#[test]
fn what_can_be_typed_is_told() {
    let Some(scratch) = place_with(&[]) else { return };
    let mut terminal = start(&scratch, "cat ask/a");
    reply(&mut terminal, "?");
    terminal.see("    d  yes, in this run, for all below ask");
    terminal.see("    s  no, once");
    reply(&mut terminal, "y");
    terminal.see("content-a");
    assert_eq!(terminal.end(), Some(0));
}

/// One yes for a whole directory. It does not reach sensitive files there, nor other directories.
#[test]
fn a_yes_may_be_for_all_below() {
    let Some(scratch) = place_with(&[]) else { return };
    scratch.write("ws/ask/.env", "KEY=1\n");
    scratch.write("ws/ask/deep/c", "content-c\n");
    scratch.write("ws/dir/inner", "content-d\n");
    scratch.write(
        "ws/jp-confine.toml",
        "[[access.fs]]\npath = '.'\nread = true\n\
         [file_policy]\nprompt_paths = ['<workspace>/ask/**', '<workspace>/dir/**']\n",
    );
    let mut terminal =
        start(&scratch, "cat ask/a; cat ask/b; cat ask/deep/c; cat dir/inner; cat ask/.env");
    reply(&mut terminal, "d");
    terminal.see("content-c");
    for _ in 0..2 {
        reply(&mut terminal, "n");
    }
    assert_eq!(terminal.end(), Some(1), "{}", terminal.screen());
    let screen = terminal.screen();
    assert!(!screen.contains("content-d") && !screen.contains("KEY=1"), "{screen}");
    assert_eq!(screen.matches("wants to").count(), 3, "{screen}");
}

/// A no for once leaves the next try to another prompt.
#[test]
fn a_no_may_be_for_once() {
    let Some(scratch) = place_with(&[]) else { return };
    let mut terminal = start(&scratch, "cat ask/a; cat ask/a; cat ask/a");
    reply(&mut terminal, "s");
    reply(&mut terminal, "y");
    terminal.see("content-a");
    reply(&mut terminal, "n");
    assert_eq!(terminal.end(), Some(1), "{}", terminal.screen());
}

/// A yes for good is written into the policy after the run, if the person still wants that.
#[test]
fn a_yes_may_be_for_good() {
    let Some(scratch) = given(&["script"], Scratch::new) else { return };
    let policy = "# mine\n[[access.fs]]\npath = '.'\nread = true\n";
    scratch.write("ws/jp-confine.toml", policy);
    scratch.write("ws/.env", "KEY=1\n");
    let written = format!("{policy}\n[[access.fs]]\npath = \".env\"\nread = true\n");
    for (answer, left) in [("n", policy), ("y", written.as_str())] {
        let mut terminal = start(&scratch, "cat .env");
        terminal.see("sensitive: `**/.env`");
        reply(&mut terminal, "a");
        terminal.see("KEY=1");
        terminal.see("+path = \".env\"");
        terminal.see("Write this? [y/N] ");
        terminal.keys(&format!("{answer}\n"));
        assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
        assert_eq!(scratch.read("ws/jp-confine.toml"), left);
    }
    let mut terminal = start(&scratch, "cat .env");
    terminal.see("KEY=1");
    assert_eq!(terminal.end(), Some(0));
    assert!(!terminal.screen().contains(QUESTION), "{}", terminal.screen());
}

/// The record says who consented. A program that reports as the library does is no person.
#[test]
fn nobody_consents_for_a_person() {
    let scratch = arena(Scratch::new());
    let told = |reason: &str| {
        let run = call(&scratch, Mode::Confined, &format!("--non-interactive -- i_tell {reason}"));
        answer(&run).to_owned()
    };
    assert_eq!(told("0"), "ok");
    for answer in ["7", "8", "16"] {
        assert_eq!(told(answer), "EINVAL", "{answer}");
    }
}

/// If the spelling of a new entry is denied to everybody, nobody is prompted for it, wherever it leads.
#[test]
fn a_spelling_that_is_denied_asks_nothing() {
    let Some(scratch) = place_with(&[]) else { return };
    std::os::unix::fs::symlink("ask", scratch.ws().join("way")).expect("linked");
    let patterns = "prompt_paths = ['<workspace>/ask/**']\ndeny_paths = ['**/way/*']\n";
    scratch.write("ws/jp-confine.toml", &format!("[file_policy]\n{patterns}"));
    let script =
        "mkdir way/c; echo x > way/d; ln -s x way/e; ln file way/f; mv file way/g; rm way/a";
    let mut terminal = start(&scratch, &format!("{script}; echo done"));
    terminal.see("done");
    terminal.end();
    assert!(!terminal.screen().contains(QUESTION), "{}", terminal.screen());
    let mut left: Vec<_> = std::fs::read_dir(scratch.ws().join("ask"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["a", "b"]);
}

/// If the terminal goes away, nobody is said to have answered.
#[test]
fn a_terminal_that_goes_away_says_nothing() {
    let Some(scratch) = place_with(&[]) else { return };
    let script = format!("trap '' HUP; {PRODUCT} -- cat ask/a 2>told; echo $? >status");
    let mut terminal = Terminal::start(&Run::sh(&scratch, &script).mode(Mode::Bare));
    terminal.see(QUESTION);
    drop(terminal);
    scratch.await_file("ws/status");
    let told = scratch.read("ws/told");
    assert!(told.contains("nobody consented") && !told.contains("said no"), "{told}");
}

/// If nobody saw a prompt, the report does not say that a person denied.
#[test]
fn nobody_is_asked_without_a_supervisor() {
    let Some(scratch) = place_with(&[]) else { return };
    let run = Run::sh(&scratch, "cat ask/a").mode(Mode::Confined).flags(&["--enforce=cooperative"]);
    let mut terminal = Terminal::start(&run);
    terminal.see("nobody is asked without a supervisor");
    assert_eq!(terminal.end(), Some(1));
}

/// Without a terminal, or with `--non-interactive`, the answer is no, and the report says why.
#[test]
fn nobody_to_ask() {
    let scratch = place();
    let run =
        Run::sh(&scratch, "cat ask/a").mode(Mode::Confined).flags(&["--non-interactive"]).run();
    run.assert_code(1).assert_stderr("nobody consented; --non-interactive keeps it");
    run.assert_stderr("prompt_paths");
    let events = scratch.path("events");
    let flags = ["--non-interactive", "--events", events.to_str().expect("UTF-8")];
    Run::sh(&scratch, "cat ask/a").mode(Mode::Confined).flags(&flags).run().assert_code(1);
    let events = scratch.read("events");
    assert!(events.contains("tier_prompt_refused") && !events.contains("\"refused\""), "{events}");
}
