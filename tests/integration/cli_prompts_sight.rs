//! A person sees what they are asked: a prompt fits the screen, and is shown again once it is out of sight.

use std::thread;
use std::time::Duration;

use crate::cli_mounts::forked;
use crate::cli_prompts::{QUESTION, place_with, reply, start};
use crate::cli_status::product;
use crate::run::{Mode, Run, given};
use crate::scratch::Scratch;
use crate::terminal::{Terminal, quoted};

const WORD: &str = "end a yes with the word ";

/// A run that writes sixty lines during a prompt, once there is a file `next`.
fn start_beside_a_writer(scratch: &Scratch) -> Terminal {
    let lines = "i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo line-$i; done";
    start(scratch, &format!("cat ask/a & until [ -e next ]; do sleep 0.05; done; {lines}; wait"))
}

#[test]
fn what_scrolled_away_is_asked_again() {
    let Some(scratch) = place_with(&[]) else { return };
    let mut terminal = start_beside_a_writer(&scratch);
    terminal.see(QUESTION);
    scratch.write("ws/next", "");
    terminal.see("line-60");
    terminal.see("    ask/a");
    terminal.see(QUESTION);
    // It is not shown a third time.
    thread::sleep(Duration::from_millis(4500));
    terminal.keys("y\n");
    terminal.see("content-a");
    assert_eq!(terminal.end(), Some(0));
    let screen = terminal.screen();
    assert!(screen.matches(QUESTION).count() == 2 && !screen.contains(WORD), "{screen}");
}

#[test]
fn what_is_in_sight_is_asked_once() {
    let Some(scratch) = place_with(&[]) else { return };
    let mut terminal = start_beside_a_writer(&scratch);
    terminal.see(QUESTION);
    // The echo of typed keys does not count as output.
    terminal.keys("nx\x7f");
    thread::sleep(Duration::from_millis(4500));
    terminal.keys("\x7fy\n");
    terminal.see("content-a");
    scratch.write("ws/next", "");
    assert_eq!(terminal.end(), Some(0));
    let screen = terminal.screen();
    assert!(screen.matches(QUESTION).count() == 1 && !screen.contains(WORD), "{screen}");
}

/// The end of a line that was begun before does not answer a prompt that is shown again.
#[test]
fn what_was_begun_out_of_sight_is_no_answer() {
    let Some(scratch) = place_with(&[]) else { return };
    let mut terminal = start_beside_a_writer(&scratch);
    terminal.see(QUESTION);
    scratch.write("ws/next", "");
    terminal.see("line-60");
    terminal.keys("never");
    terminal.see(WORD);
    reply(&mut terminal, "y");
    terminal.end();
    let screen = terminal.screen();
    assert!(screen.matches(QUESTION).count() == 2 && !screen.contains("content-a"), "{screen}");
}

/// Three requests, of which a screen of nine rows shows two.
fn several(scratch: &Scratch, script: &str, rows: u16) -> Terminal {
    let script = format!("{script} cat ask/a & cat ask/a & cat ask/a & wait; echo end");
    Terminal::start_sized(&Run::sh(scratch, &script).mode(Mode::Confined), rows, 101)
}

/// A smaller screen shows fewer requests, and the answer covers no more.
#[test]
fn what_a_smaller_screen_has_no_room_for_is_asked_later() {
    let Some(scratch) = place_with(&[]) else { return };
    let mut terminal = several(&scratch, "", 33);
    terminal.see("[e] each by itself");
    terminal.see(QUESTION);
    terminal.resize(9, 101);
    terminal.see("(one more question waits)");
    terminal.see(QUESTION);
    // One change of the size causes one prompt.
    thread::sleep(Duration::from_millis(500));
    terminal.keys("y\n");
    reply(&mut terminal, "n");
    terminal.see("end\r");
    terminal.end();
    let screen = terminal.screen();
    assert_eq!(screen.matches("content-a").count(), 2, "{screen}");
    assert_eq!(screen.matches(QUESTION).count(), 3, "{screen}");
}

/// A request that has no room is not asked about, and nobody is said to have said no.
#[test]
fn a_screen_without_room_for_a_question_has_none() {
    let Some(scratch) = place_with(&[]) else { return };
    let run = || Run::sh(&scratch, "cat ask/a; echo end:$?").mode(Mode::Confined);
    let mut terminal = Terminal::start_sized(&run(), 2, 80);
    terminal.see("this terminal is too small for a question\r\n");
    terminal.see("Permission denied");
    terminal.see("end:1");
    terminal.end();
    let screen = terminal.screen();
    assert!(!screen.contains(QUESTION) && !screen.contains("a person said no"), "{screen}");
}

/// If a screen becomes too small for a prompt, the prompt is withdrawn.
#[test]
fn a_question_that_the_screen_has_no_room_for_any_more_is_taken_back() {
    let Some(scratch) = place_with(&[]) else { return };
    let mut terminal = start(&scratch, "cat ask/a; echo end:$?");
    terminal.see(QUESTION);
    terminal.resize(2, 80);
    terminal.see("this terminal is too small for a question\r\n");
    terminal.see("end:1");
    terminal.end();
}

/// A process that has its answer goes on at once, before the prompts for the others.
#[test]
fn each_by_itself_is_told_at_once() {
    let Some(scratch) = place_with(&[]) else { return };
    let mut terminal = several(&scratch, "", 33);
    terminal.see("[e] each by itself");
    reply(&mut terminal, "e");
    for others in ["(2 more questions wait)", "(one more question waits)", "wants to"] {
        terminal.see(others);
        reply(&mut terminal, "y");
        terminal.see("content-a");
    }
    terminal.see("end\r");
    terminal.end();
    assert_eq!(terminal.screen().matches("wait)").count(), 1, "{}", terminal.screen());
}

/// An interrupt answers all the remaining requests.
#[test]
fn an_interrupt_at_one_by_itself_is_a_no_to_all() {
    let Some(scratch) = place_with(&[]) else { return };
    let mut terminal = several(&scratch, "trap : INT;", 33);
    for answer in ["e\n", "y\n", "\x03"] {
        terminal.see(QUESTION);
        terminal.keys(answer);
    }
    terminal.see("2 denials");
    terminal.end();
    assert_eq!(terminal.screen().matches(QUESTION).count(), 3, "{}", terminal.screen());
}

/// The owner of a screen sets its size, and no program of a run does. Each program may size its own terminals.
#[test]
fn no_program_says_how_much_is_seen() {
    let Some(scratch) = place_with(&["stty"]) else { return };
    let own = "script -q -c 'stty rows 41 cols 43; stty size' /dev/null < /dev/null;";
    let mut terminal = several(&scratch, &format!("{own} stty rows 60 cols 500; stty size;"), 9);
    terminal.see("41 43");
    terminal.see("Operation not permitted");
    terminal.see("9 101");
    terminal.see("(one more question waits)");
    for _ in 0..2 {
        reply(&mut terminal, "y");
    }
    terminal.see("end\r");
    terminal.see("did not matter");
    terminal.end();
}

/// Text that a program shows below the cursor is no part of a prompt.
#[test]
fn a_question_stands_on_a_clear_screen() {
    let Some(scratch) = place_with(&[]) else { return };
    for (kind, clearing) in [("xterm", "\r\n\x1b[J"), ("dumb", "\r\n")] {
        let run = Run::sh(&scratch, "cat ask/a").mode(Mode::Confined).env("TERM", kind);
        let mut terminal = Terminal::start(&run);
        terminal.see(&format!("{clearing}jp-confine: cat ("));
        terminal.keys("n\n");
        terminal.end();
        assert_eq!(kind == "xterm", terminal.screen().contains("\x1b[J"), "{}", terminal.screen());
    }
}

/// Before a run, other jobs of the same shell write.
#[test]
fn what_scrolled_away_before_the_run_is_asked_again() {
    let Some(scratch) = given(&["script"], forked) else { return };
    let line = quoted(&product(&scratch, &["--", "cat", "fork/inner"]));
    let script = format!("(sleep 1.5; echo another job) & {line}");
    let mut terminal = Terminal::start(&Run::sh(&scratch, &script).mode(Mode::Bare));
    terminal.see("Approve? [y/N] ");
    terminal.see("another job");
    terminal.keys("nev");
    terminal.see(WORD);
    terminal.see("Approve? [y/N] ");
    terminal.keys("y\n");
    assert_eq!(terminal.end(), Some(1));
    let screen = terminal.screen();
    assert_eq!(screen.matches("[y/N]").count(), 2, "{screen}");
}
