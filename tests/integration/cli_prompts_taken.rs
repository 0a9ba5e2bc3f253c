//! What is typed at a question, where a program may take or discard it: what is left of a no is no yes.

use std::thread;
use std::time::Duration;

use crate::cli_mounts::{approved, forked};
use crate::cli_prompts::{QUESTION, place, start};
use crate::run::{Mode, Run, have};
use crate::scratch::Scratch;
use crate::terminal::{Terminal, quoted};

/// What stands before the word that a yes carries.
const WORD: &str = "end a yes with the word ";

/// The beginning of a program of which a child is in a session of its own by the time that `rest` runs.
fn beside(child: &str, rest: &str) -> String {
    format!(
        "
import array, fcntl, os, signal, termios, time
terminal = os.open('/dev/tty', os.O_RDWR | os.O_NONBLOCK)
typed = array.array('i', [0])
told, teller = os.pipe()
child = os.fork()
if child == 0:
    os.setsid()
    os.write(teller, b'x')
    while True:
        {child}
os.read(told, 1)
{rest}
"
    )
}

/// A program that reads the two files that are asked about.
const READING: &str = "
for name in 'ask/a', 'ask/b':
    try: print(open(name).read(), flush=True)
    except PermissionError: print('no', flush=True)
os.kill(child, signal.SIGKILL)
";

fn starts(program: &str) -> Option<(Scratch, Terminal)> {
    let scratch = place();
    if !have("script") || !have("python3") {
        return None;
    }
    scratch.write("ws/program.py", program);
    let terminal = start(&scratch, "python3 program.py; echo end");
    Some((scratch, terminal))
}

/// The word that the next question wants with a yes.
pub(crate) fn word(terminal: &mut Terminal) -> String {
    word_of(terminal, QUESTION)
}

/// The word of the next question, which ends with `offer`.
fn word_of(terminal: &mut Terminal, offer: &str) -> String {
    terminal.see(WORD);
    terminal.see(offer);
    let screen = terminal.screen();
    let (_, rest) = screen.rsplit_once(WORD).expect("it was seen");
    rest.chars().take_while(char::is_ascii_lowercase).collect()
}

/// In another session the terminal stops nobody. Of `never` the last letter would be left.
#[test]
fn what_a_program_leaves_of_a_no_is_no_yes() {
    let takes = "
        fcntl.ioctl(terminal, termios.FIONREAD, typed)
        if typed[0] > 2: os.read(terminal, typed[0] - 2)";
    let Some((_scratch, mut terminal)) = starts(&beside(takes.trim(), READING)) else { return };
    for _ in 0..2 {
        word(&mut terminal);
        terminal.keys("never\n");
        terminal.see("no\r\n");
    }
    terminal.see("end");
    assert_eq!(terminal.end(), Some(0));
    assert!(!terminal.screen().contains("content"), "{}", terminal.screen());
}

#[test]
fn a_yes_carries_the_word_where_a_program_may_take_it() {
    let Some((_scratch, mut terminal)) = starts(&beside("time.sleep(1)", READING)) else { return };
    word(&mut terminal);
    terminal.keys("y\n");
    terminal.see("no\r\n");
    let word = word(&mut terminal);
    terminal.keys(&format!("y {word}\n"));
    terminal.see("content-b");
    assert_eq!(terminal.end(), Some(0));
}

/// Whatever a program calls itself, and be it gone by the time that anybody looks.
#[test]
fn who_cannot_be_seen_may_take_it_too() {
    let name = "import ctypes; ctypes.CDLL(None).prctl(15, b'\\xff', 0, 0, 0); time.sleep(9)";
    let gone = "signal.signal(signal.SIGCHLD, signal.SIG_IGN); os._exit(0)";
    for child in [name, gone] {
        let Some((_scratch, mut terminal)) = starts(&beside(child, READING)) else { return };
        word(&mut terminal);
        terminal.keys("y\n");
        terminal.see("no\r\n");
        let word = word(&mut terminal);
        terminal.keys(&format!("y {word}\n"));
        terminal.see("content-b");
    }
}

/// Starts a program that asks two questions, types these keys at each, one after the other, and
/// has both refused.
fn refuses_both(program: &str, keys: &[&str]) {
    let Some((_scratch, mut terminal)) = starts(program) else { return };
    for _ in 0..2 {
        terminal.see(QUESTION);
        for key in keys {
            thread::sleep(Duration::from_millis(100));
            terminal.keys(key);
        }
        terminal.see("no\r\n");
    }
    assert_eq!(terminal.end(), Some(0));
    assert!(!terminal.screen().contains("content"), "{}", terminal.screen());
}

/// Of what was typed to a question nothing is discarded before it is read.
#[test]
fn what_is_typed_is_not_discarded() {
    let program = "
import os, signal, termios, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
terminal = os.open('/dev/tty', os.O_RDWR)
child = os.fork()
if child == 0:
    while True:
        termios.tcflush(terminal, termios.TCIFLUSH)
        time.sleep(0.02)
"
    .to_owned()
        + READING;
    refuses_both(&program, &["n", "eve", "r\n"]);
}

/// A call reads on whatever becomes of its descriptor.
#[test]
fn who_reads_is_held_whatever_its_descriptor_is_of() {
    let program = "
import os, signal, threading, time
told, teller = os.pipe()
child = os.fork()
if child == 0:
    terminal = os.open('/dev/tty', os.O_RDWR)
    threading.Thread(target=lambda: os.read(terminal, 4)).start()
    time.sleep(0.3)
    null = os.open('/dev/null', os.O_RDWR)
    for one in terminal, 0, 1, 2: os.dup2(null, one)
    os.write(teller, b'x')
    time.sleep(60)
os.read(told, 1)
"
    .to_owned()
        + READING;
    refuses_both(&program, &["never\n"]);
}

/// Whom somebody traces can only be stopped, unless it blocks that.
#[test]
fn a_yes_carries_the_word_where_a_reader_cannot_be_stopped() {
    let program = "
import ctypes, os, signal, time
told, teller = os.pipe()
child = os.fork()
if child == 0:
    terminal = os.open('/dev/tty', os.O_RDWR)
    reader = os.fork()
    if reader == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTIN})
        ctypes.CDLL(None).ptrace(0, 0, 0, 0)
        os.write(teller, b'x')
        os.read(terminal, 4)
        os._exit(0)
    time.sleep(60)
os.read(told, 1)
time.sleep(0.3)
"
    .to_owned()
        + READING;
    let Some((_scratch, mut terminal)) = starts(&program) else { return };
    word(&mut terminal);
    terminal.keys("never\n");
    terminal.see("no\r\n");
    assert!(!terminal.screen().contains("content"), "{}", terminal.screen());
}

/// Once somebody leaves the terminal while a question stands it is put again, with a word.
#[test]
fn a_question_hears_of_who_leaves_the_terminal() {
    for leave in ["os.setsid()", "fcntl.ioctl(terminal, termios.TIOCNOTTY)"] {
        let program = format!(
            "
import fcntl, os, signal, termios, time
terminal = os.open('/dev/tty', os.O_RDWR)
child = os.fork()
if child == 0:
    while not os.path.exists('asked'): time.sleep(0.01)
    {leave}
    time.sleep(60)
{READING}"
        );
        let Some((scratch, mut terminal)) = starts(&program) else { return };
        terminal.see(QUESTION);
        assert!(!terminal.screen().contains(WORD), "{}", terminal.screen());
        scratch.write("ws/asked", "");
        let first = word(&mut terminal);
        terminal.keys(&format!("y {first}\n"));
        terminal.see("content-a");
        word(&mut terminal);
        terminal.keys("y\n");
        terminal.see("no\r\n");
        assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    }
}

/// What holds back what is shown, which no key undoes, holds back no question.
#[test]
fn a_question_is_shown() {
    let program = "
import os, signal, termios
child = os.fork() or os._exit(0)
termios.tcflow(0, termios.TCOOFF)
"
    .to_owned()
        + READING;
    let Some((_scratch, mut terminal)) = starts(&program) else { return };
    terminal.see(QUESTION);
    terminal.keys("y\n");
    terminal.see("content-a");
    terminal.see(QUESTION);
    terminal.keys("n\n");
    terminal.see("end");
    assert_eq!(terminal.end(), Some(0));
}

/// What an earlier run left behind takes no part in an approval.
#[test]
fn what_another_run_left_behind_approves_nothing() {
    let scratch = forked();
    if !have("script") || !have("python3") {
        return;
    }
    let program = beside("time.sleep(1)", "open('ready', 'w')");
    let options = ["--non-interactive", "-q", "-w", "ready"];
    let earlier =
        Run::new(&scratch, "python3", &["-c", &program]).mode(Mode::Confined).flags(&options);
    let run = Run::new(&scratch, "cat", &["fork/inner"]).mode(Mode::Confined);
    let script = format!(
        "{} & until [ -e ready ]; do sleep 0.05; done; {run}; {run}; kill %1",
        quoted(&earlier),
        run = quoted(&run)
    );
    let mut terminal = Terminal::start(&Run::sh(&scratch, &script).mode(Mode::Bare));
    word_of(&mut terminal, "[y/N] ");
    terminal.keys("y\n");
    let word = word_of(&mut terminal, "[y/N] ");
    assert_eq!(approved(&scratch), "", "{}", terminal.screen());
    terminal.keys(&format!("y {word}\n"));
    terminal.end();
    assert_eq!(approved(&scratch), "fork=dir", "{}", terminal.screen());
}
