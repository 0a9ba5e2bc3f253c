//! Prompts beside shells that hand the terminal on, and beside the prompts of other runs.

use std::thread;
use std::time::Duration;

use crate::cli_mounts::{approved, forked, say};
use crate::cli_prompts::{QUESTION, place, place_with, reply, start};
use crate::cli_prompts_keys::start_python;
use crate::layers_stress::{Linked, ground};
use crate::run::{Mode, Run, given, have, skip};
use crate::scratch::{SECRET, Scratch};
use crate::terminal::{Terminal, quoted};

const APPROVAL: &str = "Approve? [y/N] ";

/// Waits longer than the next step of a script takes to come.
fn a_person_thinks() {
    thread::sleep(Duration::from_millis(1200));
}

/// A person reads the prompt, and says yes.
fn agree(terminal: &mut Terminal) {
    terminal.see(QUESTION);
    a_person_thinks();
    terminal.keys("y\n");
}

/// A run that needs the approval.
fn reader(scratch: &Scratch) -> Run<'_> {
    Run::new(scratch, "cat", &["fork/inner"]).mode(Mode::Confined)
}

/// A background run that its shell has left behind, in a terminal that stays until the run has ended.
fn start_orphan(scratch: &Scratch, run: &Run<'_>) -> Terminal {
    let orphan = format!("(set -m; (sleep 0.3; {}; echo status:$?; : > end) &)", quoted(run));
    let script = format!("{orphan}; until [ -e end ]; do sleep 0.1; done");
    Terminal::start(&Run::new(scratch, "bash", &["-c", &script]).mode(Mode::Bare))
}

/// Prints whether the terminal takes lines, and shows them.
const MODES: &str = "stty -a < /dev/tty | grep -o -w -e '[-]*icanon' -e '[-]*echo' | tr '\\n' :";

/// In another PID namespace, the process group of the terminal has no number.
#[test]
fn who_cannot_see_the_terminals_job_asks_nothing() {
    let Some(scratch) = place_with(&["unshare", "sh"]) else { return };
    let own = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    let tried = Run::new(&scratch, "unshare", &[&own[..], &["true"]].concat()).mode(Mode::Bare);
    if tried.run().code() != 0 {
        return skip("no PID namespace can be made");
    }
    let script = format!("unshare {} {}; echo status:$?", own.join(" "), quoted(&reader(&scratch)));
    let mut terminal =
        Terminal::start(&Run::new(&scratch, "sh", &["-c", &script]).mode(Mode::Bare));
    assert_eq!(terminal.end(), Some(0));
    let screen = terminal.screen();
    assert!(screen.contains("status:1\r\n") && !screen.contains(QUESTION), "{screen}");
}

/// A shell whose job ends during a prompt wants the terminal back.
#[test]
fn a_shell_waits_for_a_question() {
    let Some(scratch) = place_with(&["bash"]) else { return };
    let mut terminal = Terminal::shell(&scratch, Mode::Confined);
    terminal.keys("(sleep 0.3; cat ask/a) & sleep 0.7; echo job-$((40+2))\n");
    agree(&mut terminal);
    terminal.see("content-a");
    terminal.keys(&format!("{MODES}\n"));
    terminal.see(":\r\n");
    terminal.see("icanon:echo:");
    terminal.keys("exit\n");
    assert_eq!(terminal.end(), Some(0));
    let screen = terminal.screen();
    assert!(screen.contains("job-42"), "{screen}");
    assert!(!screen.contains("not found") && !screen.contains("a person said no"), "{screen}");
    assert!(!screen.contains("-icanon") && !screen.contains("-echo:"), "{screen}");
}

/// A signal handler that runs meanwhile, such as a shell's for a job that ends, is no answer. No such open ends by a
/// signal.
#[test]
fn a_question_outlasts_the_signals_of_who_waits() {
    let Some(scratch) = place_with(&[]) else { return };
    let script = "sleep 0.4 & while read -r line; do echo got $line; done < ask/a; echo end";
    let run = Run::new(&scratch, "sh", &["-c", script]).mode(Mode::Confined);
    let mut terminal = Terminal::start(&run);
    agree(&mut terminal);
    terminal.see("got content-a");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    assert!(!terminal.screen().contains("denial"), "{}", terminal.screen());
}

/// No signal ends such an open without the library either, even without `SA_RESTART`.
#[test]
fn no_signal_ends_an_open_that_is_asked_about() {
    let Some(scratch) = given(&["script"], || ground(place(), Linked::Statically)) else { return };
    let run = Run::new(&scratch, "./stress", &["signals", "ask/a", "fail"]).mode(Mode::Confined);
    let mut terminal = Terminal::start(&run);
    agree(&mut terminal);
    terminal.see("ok handled 1");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    assert_eq!(terminal.screen().matches(QUESTION).count(), 1, "{}", terminal.screen());
}

#[test]
fn a_script_with_jobs_waits_for_a_question() {
    let Some(scratch) = place_with(&["bash"]) else { return };
    let script = "set -m; cat ask/a & sleep 0.5; cat file; wait; echo end";
    let run = Run::new(&scratch, "bash", &["-c", script]).mode(Mode::Confined);
    let mut terminal = Terminal::start(&run);
    agree(&mut terminal);
    terminal.see("content-a");
    terminal.see("end");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    assert!(!terminal.screen().contains("a person said no"), "{}", terminal.screen());
}

/// A job may have ended while its shell gets no processor to take the terminal back. The terminal is then no other
/// job's.
#[test]
fn a_question_takes_the_terminal_from_a_job_that_has_ended() {
    let Some(scratch) = place_with(&["python3"]) else { return };
    let script = "
import os, signal
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    os._exit(0)
os.waitid(os.P_PID, job, os.WEXITED | os.WNOWAIT)
print(open('ask/a').read())
";
    let mut terminal = start_python(&scratch, script);
    agree(&mut terminal);
    terminal.see("content-a");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
}

/// The terminal does not stop a process that ignores the signal. If such a process moved a group to the foreground,
/// that group has the terminal after the answer.
#[test]
fn nobody_takes_the_terminal_from_a_question() {
    let Some(scratch) = place_with(&["python3"]) else { return };
    let script = "
import os, signal, subprocess, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
asker = subprocess.Popen(['cat', 'ask/a'])
thief = os.fork()
if thief == 0:
    time.sleep(0.7)
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    print('got', os.read(0, 100), flush=True)
    os._exit(0)
asker.wait()
os.waitpid(thief, 0)
";
    let mut terminal = start_python(&scratch, script);
    agree(&mut terminal);
    terminal.see("content-a");
    terminal.keys("later\n");
    terminal.see("got b'later");
    assert_eq!(terminal.end(), Some(0));
    assert_eq!(terminal.screen().matches("got b'").count(), 1, "{}", terminal.screen());
}

/// A program reads the modes during a prompt, and sets them again later.
#[test]
fn modes_of_a_question_are_fit_to_be_left() {
    let Some(scratch) = place_with(&[]) else { return };
    let script = "cat ask/a & sleep 0.5; modes=$(stty -g < /dev/tty); stty $modes < /dev/tty; wait";
    let mut terminal = start(&scratch, &format!("{script}; {MODES}"));
    agree(&mut terminal);
    terminal.see("content-a");
    terminal.see("icanon:echo:");
    assert_eq!(terminal.end(), Some(0));
    assert!(!terminal.screen().contains("-icanon"), "{}", terminal.screen());
}

/// Changes a terminal, by a program in the foreground, by one beside it, and by one behind it.
const CHANGES: &str = include_str!("../terminals/changes.py");

/// The supervisor does to a terminal for a program what the program would do.
#[test]
fn a_terminal_is_changed_as_bare() {
    if !have("script") || !have("python3") {
        return;
    }
    let [bare, confined] = [Mode::Bare, Mode::Confined].map(|mode| {
        let scratch = place();
        scratch.write("ws/changes.py", CHANGES);
        let mut terminal =
            Terminal::start(&Run::new(&scratch, "python3", &["changes.py"]).mode(mode));
        terminal.see("end");
        assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
        scratch.read("ws/told")
    });
    assert!(bare.contains("stopped by 22") && bare.contains("heard"), "{bare}");
    assert_eq!(bare, confined);
}

/// There is one prompt at a time, and each answer is for the prompt on the screen.
#[test]
fn runs_in_one_terminal_ask_one_after_the_other() {
    let Some(scratch) = place_with(&[]) else { return };
    let run = |file: &str| quoted(&Run::new(&scratch, "cat", &[file]).mode(Mode::Confined));
    let script = format!("{} & {}; wait; echo end", run("ask/a"), run("ask/b"));
    let mut terminal = Terminal::start(&Run::sh(&scratch, &script).mode(Mode::Bare));
    terminal.see(QUESTION);
    a_person_thinks();
    let screen = terminal.screen();
    assert_eq!(screen.matches(QUESTION).count(), 1, "{screen}");
    let (first, second) = if screen.contains("ask/a") { ("a", "b") } else { ("b", "a") };
    terminal.keys("y\n");
    terminal.see(&format!("content-{first}"));
    terminal.see(&format!("ask/{second}"));
    reply(&mut terminal, "");
    terminal.see("end");
    terminal.end();
    let screen = terminal.screen();
    assert!(!screen.contains(&format!("content-{second}")), "{screen}");
    assert!(!screen.contains("a question waits"), "{screen}");
}

/// Two runs with these `flags` that read `file`. Both have begun when the first shows the `question` that both have.
fn start_two(scratch: &Scratch, flags: &[&str], file: &str, question: &str) -> Terminal {
    let run = |line: &[&str]| {
        quoted(&Run::new(scratch, line[0], &line[1..]).mode(Mode::Confined).flags(flags))
    };
    let (one, other) = (run(&["cat", file]), run(&["sort", "-", file]));
    let mut terminal =
        Terminal::start(&Run::sh(scratch, &format!("{one} | {other}")).mode(Mode::Bare));
    terminal.see(question);
    a_person_thinks();
    assert_eq!(terminal.screen().matches(question).count(), 1, "{}", terminal.screen());
    terminal
}

#[test]
fn runs_that_begin_together_ask_one_after_the_other() {
    let Some(scratch) = given(&["script"], forked) else { return };
    let mut terminal = start_two(&scratch, &[], "fork/inner", APPROVAL);
    for answer in ["n\n", "n\n"] {
        terminal.keys(answer);
        terminal.see("\r\n");
        if terminal.screen().matches(APPROVAL).count() == 1 {
            terminal.see(APPROVAL);
        }
    }
    terminal.end();
    assert_eq!(terminal.screen().matches(APPROVAL).count(), 2, "{}", terminal.screen());
    assert!(!terminal.screen().contains(SECRET), "{}", terminal.screen());
}

/// A run that had to wait for another run's prompt uses the answer to that.
#[test]
fn what_is_approved_by_its_turn_a_run_does_not_ask_about() {
    let Some(scratch) = given(&["script"], forked) else { return };
    let mut terminal = start_two(&scratch, &[], "fork/inner", APPROVAL);
    terminal.keys("y\n");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    assert_eq!(terminal.screen().matches(SECRET).count(), 2, "{}", terminal.screen());
    assert_eq!(terminal.screen().matches(APPROVAL).count(), 1, "{}", terminal.screen());
}

/// So does a run at another terminal, even with its own prompt on the screen.
#[test]
fn what_is_approved_elsewhere_needs_no_answer() {
    let Some(scratch) = given(&["script"], forked) else { return };
    let run = reader(&scratch);
    let mut terminals = [Terminal::start(&run), Terminal::start(&run)];
    for terminal in &mut terminals {
        terminal.see(APPROVAL);
    }
    terminals[0].keys("y\n");
    terminals[1].see("no answer is needed");
    for terminal in &mut terminals {
        terminal.see(SECRET);
        assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    }
}

/// Both would create the same symlink.
#[test]
fn runs_that_mount_the_same_ask_once() {
    let Some(scratch) = given(&["script"], Scratch::new) else { return };
    let mount = ["--mount", "a/fork=../out/dir"];
    let mut terminal = start_two(&scratch, &mount, "a/fork/inner", "Mount it? [y/N] ");
    terminal.keys("y\n");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    assert_eq!(terminal.screen().matches(SECRET).count(), 2, "{}", terminal.screen());
    assert_eq!(terminal.screen().matches("Mount it?").count(), 1, "{}", terminal.screen());
    assert_eq!(approved(&scratch), "a/fork=dir");
    say(&scratch, "--no-mount a/fork -- true").assert_ok();
    assert!(!scratch.path("ws/a").exists());
}

/// An approval waits like any program that reads the terminal.
#[test]
fn an_approval_in_the_background_waits_for_the_foreground() {
    let Some(scratch) = given(&["script", "bash"], forked) else { return };
    let run = reader(&scratch);
    let mut terminal = Terminal::shell(&scratch, Mode::Bare);
    terminal.keys(&format!("{} &\n", quoted(&run)));
    a_person_thinks();
    terminal.keys("\n");
    terminal.see("Stopped");
    terminal.keys("fg\n");
    terminal.see(APPROVAL);
    terminal.keys("y\n");
    terminal.see(SECRET);
    terminal.keys("exit\n");
}

/// Nobody could continue the group that a shell left behind.
#[test]
fn an_approval_is_not_waited_for_where_nobody_would_continue() {
    let Some(scratch) = given(&["script", "bash"], forked) else { return };
    let mut terminal = start_orphan(&scratch, &reader(&scratch));
    terminal.see("approvals approve");
    terminal.see("status:1");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
}

/// A prompt of a program in such a group does not wait either.
#[test]
fn a_question_is_not_waited_for_where_nobody_would_continue() {
    let Some(scratch) = place_with(&["bash"]) else { return };
    let mut terminal = start_orphan(
        &scratch,
        &Run::new(&scratch, "sh", &["-c", "cat ask/a"]).mode(Mode::Confined),
    );
    terminal.see("ask/a");
    terminal.see("status:1");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    assert!(!terminal.screen().contains("a question waits"), "{}", terminal.screen());
}

/// If the terminal has gone, a run does not wait in its background, even if it ignores the hangup.
#[test]
fn an_approval_is_not_waited_for_where_the_terminal_has_gone() {
    let Some(scratch) = given(&["script"], forked) else { return };
    let run = quoted(&reader(&scratch));
    let script = format!("trap '' HUP; {run} 2> said; echo status:$? > end; mv end ended");
    let mut terminal = Terminal::start(&Run::sh(&scratch, &script).mode(Mode::Bare));
    terminal.see(APPROVAL);
    drop(terminal);
    scratch.await_file("ws/ended");
    assert_eq!(scratch.read("ws/ended"), "status:1\n");
    let said = scratch.read("ws/said");
    assert!(said.contains("approvals approve"), "{said}");
}

/// After a stop, typed keys answer only a prompt that is on the screen again.
#[test]
fn an_approval_is_asked_for_again_after_a_stop() {
    let Some(scratch) = given(&["script", "bash"], forked) else { return };
    let run = reader(&scratch);
    let mut terminal = Terminal::shell(&scratch, Mode::Bare);
    terminal.keys(&format!("{}\n", quoted(&run)));
    terminal.see(APPROVAL);
    for _ in 0..2 {
        terminal.keys("\x1a");
        terminal.see("Stopped");
        terminal.keys("echo not:$((40+2))\n");
        terminal.see("not:42");
        terminal.keys("fg\n");
        terminal.see("fork → ");
        terminal.see(APPROVAL);
    }
    terminal.keys("y\n");
    terminal.see(SECRET);
    terminal.keys("exit\n");
}

/// If it was answered meanwhile, there is no prompt again.
#[test]
fn what_is_approved_during_a_stop_is_not_asked_for_again() {
    let Some(scratch) = given(&["script", "bash"], forked) else { return };
    let run = reader(&scratch);
    let mut terminal = Terminal::shell(&scratch, Mode::Bare);
    terminal.keys(&format!("{}\n", quoted(&run)));
    terminal.see(APPROVAL);
    terminal.keys("\x1a");
    terminal.see("Stopped");
    say(&scratch, "approvals approve fork").assert_ok();
    terminal.keys("fg\n");
    terminal.see(SECRET);
    terminal.keys("exit\n");
    let screen = terminal.screen();
    assert_eq!(screen.matches(APPROVAL).count(), 1, "{screen}");
    assert!(!screen.contains("no answer is needed"), "{screen}");
}

/// If a key between the call and its prompt stops the job, the next keys are for the shell.
#[test]
fn nobody_is_asked_about_a_job_that_was_just_stopped() {
    let Some(scratch) = place_with(&["bash"]) else { return };
    let mut terminal = Terminal::shell(&scratch, Mode::Confined);
    terminal.keys("sh -c 'echo go-$((40+2)); exec cat ask/a'\n");
    terminal.see("go-42");
    thread::sleep(Duration::from_millis(20));
    terminal.keys("\x1a");
    terminal.see("Stopped");
    thread::sleep(Duration::from_millis(100));
    terminal.keys("echo not:$((40+2))\n");
    terminal.see("not:42");
    terminal.keys("fg\n");
    reply(&mut terminal, "y");
    terminal.see("content-a");
    terminal.keys("exit\n");
}

/// The processes that the program left running are the job then. The prompt is about that job.
#[test]
fn what_is_left_stops_at_a_question() {
    let Some(scratch) = place_with(&["bash"]) else { return };
    let run = Run::sh(&scratch, "cat ask/a & sleep 1 & :").mode(Mode::Confined);
    let mut terminal = Terminal::shell(&scratch, Mode::Bare);
    terminal.keys(&format!("{}\n", quoted(&run)));
    for _ in 0..2 {
        terminal.see(QUESTION);
        terminal.keys("\x1a");
        terminal.see("Stopped");
        terminal.keys("echo not:$((40+2))\n");
        terminal.see("not:42");
        terminal.keys("fg\n");
    }
    agree(&mut terminal);
    terminal.see("content-a");
    terminal.see("> ");
    terminal.keys("exit\n");
}

/// The report on processes that end with the program has a line of its own, below the prompt of one of them.
#[test]
fn what_is_ended_leaves_its_question_first() {
    let Some(scratch) = place_with(&[]) else { return };
    let run = Run::sh(&scratch, "cat ask/a & sleep 2").mode(Mode::Confined);
    let mut terminal = Terminal::start(&run.flags(&["--kill-leftovers"]));
    terminal.see(QUESTION);
    terminal.see("(nobody waits for this any more)");
    terminal.see("the program left running, and this was ended: cat");
    terminal.end();
}

/// A prompt that stopped with its job keeps no other run from prompting.
#[test]
fn a_stopped_run_does_not_keep_its_turn() {
    let Some(scratch) = given(&["script", "bash"], forked) else { return };
    let run = quoted(&reader(&scratch));
    let mut terminal = Terminal::shell(&scratch, Mode::Bare);
    terminal.keys(&format!("{run}\n"));
    terminal.see(APPROVAL);
    terminal.keys("\x1a");
    terminal.see("Stopped");
    terminal.keys(&format!("{run}\n"));
    terminal.see(APPROVAL);
    terminal.keys("y\n");
    terminal.see(SECRET);
    terminal.keys("kill %1; fg\nexit\n");
}
