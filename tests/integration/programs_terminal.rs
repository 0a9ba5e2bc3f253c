//! Programs that own a terminal: editors, pagers, shells with job control.

use crate::run::{Mode, Run, given, have};
use crate::scratch::{SECRET, Scratch};
use crate::terminal::{Terminal, quoted};

fn shell(scratch: &Scratch) -> Terminal {
    Terminal::shell(scratch, Mode::under_test())
}

/// In the same terminal, a program cannot read a forbidden file.
fn assert_confined(terminal: &mut Terminal, scratch: &Scratch) {
    terminal.keys(&scratch.expand("cat $OUT/secret; echo tried:$?\n"));
    terminal.see("tried:1");
    assert!(!terminal.screen().contains(SECRET), "{}", terminal.screen());
}

/// Lets the shell and its child take their places before a key becomes a signal.
fn settle() {
    std::thread::sleep(std::time::Duration::from_millis(300));
}

#[test]
fn window_size() {
    let Some(scratch) = given(&["script", "stty", "bash"], Scratch::new) else { return };
    let mut terminal = shell(&scratch);
    terminal.keys("stty size\n");
    terminal.see("33 101");
    terminal.keys("trap 'stty size' WINCH; echo rea''dy\n");
    terminal.see("ready");
    settle();
    terminal.resize(22, 77);
    terminal.keys("true\n");
    terminal.see("22 77");
    assert_confined(&mut terminal, &scratch);
    terminal.keys("exit 7\n");
    assert_eq!(terminal.end(), Some(7));
}

#[test]
fn interrupt_and_job_control() {
    let Some(scratch) = given(&["script", "bash"], Scratch::new) else { return };
    let mut terminal = shell(&scratch);
    terminal.keys("sh -c 'echo up; sleep 60'\n");
    terminal.see("up\r\n");
    settle();
    terminal.keys("\x03");
    terminal.see("> ");
    terminal.keys("echo ended:$?\n");
    terminal.see("ended:130");
    terminal.keys("sh -c 'echo off; exec sleep 61'\n");
    terminal.see("off\r\n");
    settle();
    terminal.keys("\x1a");
    terminal.see("Stopped");
    terminal.keys("jobs; fg\n");
    terminal.see("exec sleep 61");
    settle();
    terminal.keys("\x03");
    terminal.see("> ");
    terminal.keys("echo back:$?\n");
    terminal.see("back:130");
    assert_confined(&mut terminal, &scratch);
    terminal.keys("exit\n");
    terminal.end();
}

/// ^Z stops the whole run and gives the terminal back to the shell that started it.
#[test]
fn the_run_itself_is_a_job() {
    let Some(scratch) = given(&["script", "bash"], Scratch::new) else { return };
    let run = scratch.expand("echo up; cat $OUT/secret; sleep 62; echo down");
    let mut terminal = Terminal::shell(&scratch, Mode::Bare);
    terminal.keys(&format!("{}\n", quoted(&Run::sh(&scratch, &run))));
    terminal.see("up\r\n");
    settle();
    terminal.keys("\x1a");
    terminal.see("Stopped");
    terminal.keys("jobs\n");
    terminal.see("Stopped");
    terminal.keys("fg\n");
    settle();
    terminal.keys("\x03");
    terminal.see("> ");
    terminal.keys("echo back:$?\n");
    terminal.see("back:130");
    assert!(!terminal.screen().contains(SECRET), "{}", terminal.screen());
    terminal.keys("exit\n");
    terminal.end();
}

/// A shell would go on with its script if the run ended by itself. So the run must end by the signal.
#[test]
fn a_key_ends_the_script_that_runs_it() {
    let Some(scratch) = given(&["script", "bash"], Scratch::new) else { return };
    let run = scratch.expand("echo up; cat $OUT/secret; exec sleep 60");
    scratch.write("ws/script", &format!("{}\necho next\n", quoted(&Run::sh(&scratch, &run))));
    let mut terminal = Terminal::start(&Run::new(&scratch, "bash", &["script"]).mode(Mode::Bare));
    terminal.see("up\r\n");
    settle();
    terminal.keys("\x03");
    terminal.end();
    let screen = terminal.screen();
    assert!(!screen.contains("next") && !screen.contains(SECRET), "{screen}");
}

#[test]
fn less() {
    let Some(scratch) = given(&["script", "less"], Scratch::new) else { return };
    let text: String = (1..=200).fold(String::new(), |text, n| format!("{text}line {n}\n"));
    scratch.write("ws/long", &text);
    let mut terminal = shell(&scratch);
    terminal.keys(&scratch.expand("less long; echo ended:$?; less $OUT/secret; echo tried:$?\n"));
    terminal.see("line 20");
    terminal.keys("G");
    terminal.see("line 200");
    terminal.keys("q");
    terminal.see("ended:0");
    terminal.see("tried:1");
    assert!(!terminal.screen().contains(SECRET), "{}", terminal.screen());
    terminal.keys("exit\n");
    terminal.end();
}

#[test]
fn vim() {
    let Some(scratch) = given(&["script", "vim"], Scratch::new) else { return };
    let mut terminal = shell(&scratch);
    terminal.keys("vim -u NONE file\n");
    terminal.see("inside");
    terminal.keys("oedited\x1b:wq\n");
    terminal.see("> ");
    assert_confined(&mut terminal, &scratch);
    terminal.keys("exit\n");
    terminal.end();
    assert_eq!(scratch.read("ws/file"), "inside\nedited\n");
}

#[test]
fn vim_as_a_script() {
    let Some(scratch) = given(&["vim"], Scratch::new) else { return };
    let script = "set -e
        vim -u NONE -es -c '%s/inside/changed/' -c wq file
        grep changed file
        ! vim -u NONE -es -c 'w! '$OUT/target -c q file
        vim -u NONE -es -c 'r '$OUT/secret -c 'w got' -c 'q!' file || true";
    let before = scratch.forbidden();
    let outcome = Run::sh(&scratch, &scratch.expand(script)).run();
    outcome.assert_ok().assert_stdout("changed").assert_no_secret();
    before.assert_same(&scratch.forbidden());
    scratch.assert_nothing_leaked();
}

/// A person who types a program consents to executing it, and to no more. A program that reads it prompts.
#[test]
fn what_is_typed_is_started_without_a_question() {
    let scratch = Scratch::new();
    let policy = "[file_policy]\nprompt_paths = ['<workspace>/ask/**']\n";
    scratch.write("ws/jp-confine.toml", policy);
    if !have("script") {
        return;
    }
    let script = scratch.copy_program(std::path::Path::new("/bin/true"), "ws/ask/script");
    std::fs::write(script, "#!/bin/sh\necho ran\n").expect("a script");
    let typed = Run::new(&scratch, "ask/script", &[]).mode(Mode::under_test());
    let mut terminal = Terminal::start(&typed);
    terminal.see("wants to read");
    terminal.see("[N] no  [?] help: ");
    terminal.keys("y\n");
    terminal.see("ran");
    assert_eq!(terminal.end(), Some(0));
    assert!(!terminal.screen().contains("wants to execute"), "{}", terminal.screen());
}
