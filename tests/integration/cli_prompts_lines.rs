//! Programs may change how a terminal reads lines. This does not affect a person's answers.

use crate::cli_mounts::{approved, forked};
use crate::cli_prompts::{QUESTION, place_with, reply, start};
use crate::cli_prompts_taken::{word, word_of};
use crate::run::{Mode, Run, given};
use crate::scratch::Scratch;
use crate::terminal::{Terminal, quoted};

const APPROVAL: &str = "Approve? [y/N] ";

/// With these modes, a character of a terminal's reports erases the line, and a person's no reprints it.
const FORGED: &str = "stty iuclc iexten kill 1 rprnt n";

/// A script that ends with a run that needs an approval.
fn start_after(scratch: &Scratch, script: &str, then: &str) -> Terminal {
    let run = quoted(&Run::new(scratch, "cat", &["fork/inner"]).mode(Mode::Confined));
    Terminal::start(&Run::sh(scratch, &format!("{script}; {run}; {then}")).mode(Mode::Bare))
}

/// A terminal's report about itself is no answer, even if a person then presses Enter or says no. `ESC [ 6 n` asks for
/// the position of the cursor.
#[test]
fn a_terminal_does_not_answer_a_question() {
    let Some(scratch) = place_with(&["stty"]) else { return };
    let script = format!("{FORGED}; cat ask/a; cat ask/b; stty -a; echo end; exit 3");
    let mut terminal = start(&scratch, &script);
    for answer in ["\x1b[5;1R\n", "\x1b[5;1Rn\n"] {
        terminal.see(QUESTION);
        terminal.keys(answer);
    }
    // The terminal is as it was.
    terminal.see("kill = 1;");
    terminal.see("rprnt = n;");
    terminal.see("end");
    assert_eq!(terminal.end(), Some(3));
    let screen = terminal.screen();
    assert!(!screen.contains("content") && screen.contains("a person said no"), "{screen}");
}

/// Reports on a click or on another window, which a program requested, are no answer either. A no would count for the
/// whole run.
#[test]
fn what_a_terminal_reports_is_no_answer() {
    let Some(scratch) = place_with(&[]) else { return };
    let mut terminal = start(&scratch, "cat ask/a; echo end");
    for line in ["\x1b[<0;10;5M\x1b[<0;10;5m\n", "\x1b[O\x1b[Iy\n", "\x1b[M !!n\n"] {
        terminal.see(QUESTION);
        terminal.keys(line);
    }
    let word = word(&mut terminal);
    terminal.keys(&format!("y {word}\n"));
    terminal.see("content-a");
    terminal.see("end");
    assert_eq!(terminal.end(), Some(0));
}

/// Reports of a terminal are no answer before a run either.
#[test]
fn what_a_terminal_reports_approves_nothing_and_refuses_nothing() {
    let Some(scratch) = given(&["script"], forked) else { return };
    let mut terminal = start_after(&scratch, ":", "echo end");
    terminal.see(APPROVAL);
    terminal.keys("\x1b[<64;10;5My\n");
    let word = word_of(&mut terminal, APPROVAL);
    assert_eq!(approved(&scratch), "", "{}", terminal.screen());
    terminal.keys(&format!("y {word}\n"));
    terminal.see("end");
    terminal.end();
    assert_ne!(approved(&scratch), "", "{}", terminal.screen());
}

/// They are none where a run is about to begin: an earlier run may have left the terminal in such modes.
#[test]
fn a_terminal_approves_nothing() {
    let Some(scratch) = given(&["script", "stty"], forked) else { return };
    for answer in ["\x1b[?1;2$y\n", "\x1b[?1;2$yn\n"] {
        let mut terminal = start_after(&scratch, "stty iexten kill '$' rprnt n", "stty -a");
        terminal.see(APPROVAL);
        terminal.keys(answer);
        terminal.see("kill = $;");
        terminal.end();
        assert_eq!(approved(&scratch), "", "{}", terminal.screen());
    }
}

/// An interrupt leaves the terminal as it was.
#[test]
fn an_interrupted_approval_leaves_the_terminal_as_it_was() {
    let Some(scratch) = given(&["script", "stty"], forked) else { return };
    let mut terminal = start_after(&scratch, "trap : INT; stty kill '$'", "stty -a");
    terminal.see(APPROVAL);
    terminal.keys("\x03");
    terminal.see("kill = $;");
    terminal.end();
    assert_eq!(approved(&scratch), "", "{}", terminal.screen());
}

/// A person's usual keys still work, unless text contains them.
#[test]
fn a_person_corrects_an_answer_with_their_own_key() {
    let Some(scratch) = place_with(&["stty"]) else { return };
    let mut terminal = start(&scratch, "stty erase ^H kill n; cat ask/a; stty -a");
    terminal.see(QUESTION);
    terminal.keys("n\x08y\n");
    terminal.see("content-a");
    terminal.see("erase = ^H; kill = n;");
    assert_eq!(terminal.end(), Some(0));
}

/// A key that a person knows for taking an answer back does not correct the answer.
#[test]
fn a_key_that_ends_an_answer_corrects_none() {
    let Some(scratch) = place_with(&["stty"]) else { return };
    for (modes, key) in [
        ("erase ^U", "\x15"),
        ("intr ^A erase ^C", "\x03"),
        ("eof ^A erase ^D", "\x04"),
        ("susp ^A erase ^Z", "\x1a"),
        ("quit ^A eof ^\\\\", "\x1c"),
    ] {
        let mut terminal = start(&scratch, &format!("stty {modes}; cat ask/a; echo ended"));
        terminal.see(QUESTION);
        terminal.keys(&format!("yn{key}"));
        terminal.keys("\n");
        terminal.see("ended");
        terminal.end();
        assert!(!terminal.screen().contains("content"), "{modes}: {}", terminal.screen());
    }
}

/// If a program keeps a terminal to itself (`TIOCEXCL`), only the superuser may open it.
#[test]
fn no_program_keeps_a_question_from_the_terminal() {
    let Some(scratch) = place_with(&["python3", "setpriv"]) else { return };
    let script = "
import fcntl, termios
fcntl.ioctl(0, termios.TIOCEXCL)
print(open('ask/a').read(), flush=True)
";
    let run = Run::new(&scratch, "python3", &["-c", script]).mode(Mode::Confined);
    let is_root = rustix::process::geteuid().is_root();
    let who = if is_root { "setpriv --bounding-set=-sys_admin" } else { "env" };
    // The second run finds the terminal in that state.
    let script = format!("{who} {0} && {who} {0}", quoted(&run));
    let mut terminal = Terminal::start(&Run::sh(&scratch, &script).mode(Mode::Bare));
    for _ in 0..2 {
        reply(&mut terminal, "y");
        terminal.see("content-a");
    }
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
}
