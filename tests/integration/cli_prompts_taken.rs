//! Keys that are typed at a prompt, where a program may take or discard them: the rest of a no is no yes.

use std::thread;
use std::time::Duration;

use crate::cli_mounts::{approved, forked};
use crate::cli_prompts::{QUESTION, place, place_with, reply, start};
use crate::layers_stress::{Linked, ground};
use crate::run::{Mode, Run, given, have};
use crate::scratch::Scratch;
use crate::terminal::{Terminal, quoted};

/// The text before the word that a yes needs.
const WORD: &str = "end a yes with the word ";

/// The beginning of a program. A child of it is in a session of its own by the time that `rest` runs.
fn beside(child: &str, rest: &str) -> String {
    format!(
        "
import array, fcntl, os, select, signal, termios, time
terminal = os.open('/dev/tty', os.O_RDWR | os.O_NONBLOCK)
blocking = os.open('/dev/tty', os.O_RDWR)
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

/// A program that reads the two files that prompt.
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

/// The word that the next prompt needs with a yes.
pub(crate) fn word(terminal: &mut Terminal) -> String {
    word_of(terminal, QUESTION)
}

/// The word of the next prompt, which ends with `offer`.
pub(crate) fn word_of(terminal: &mut Terminal, offer: &str) -> String {
    terminal.see(WORD);
    terminal.see(offer);
    let screen = terminal.screen();
    let (_, rest) = screen.rsplit_once(WORD).expect("it was seen");
    rest.chars().take_while(char::is_ascii_lowercase).collect()
}

/// Starts a program whose child does this in a session of its own, where the terminal stops nobody. Both requests must
/// be denied: of `never` only the last letter would be left.
fn refuses_beside(child: &str) {
    refuses_both(&beside(child, READING), &["never\n"]);
}

#[test]
fn who_looks_for_keys_takes_none() {
    let takes = "
        fcntl.ioctl(terminal, termios.FIONREAD, typed)
        if typed[0] > 2: os.read(terminal, typed[0] - 2)";
    refuses_beside(takes.trim());
    refuses_beside("select.select([terminal], [], []); os.read(terminal, 4)");
}

#[test]
fn who_waits_for_keys_takes_none() {
    refuses_beside("os.read(blocking, 4)");
}

/// A process that begins to read during the prompt takes no keys either.
#[test]
fn who_leaves_the_terminal_takes_none() {
    for leave in ["os.setsid()", "fcntl.ioctl(terminal, termios.TIOCNOTTY)"] {
        let program = format!(
            "
import fcntl, os, signal, termios, time
terminal = os.open('/dev/tty', os.O_RDWR)
child = os.fork()
if child == 0:
    while not os.path.exists('asked'): time.sleep(0.01)
    {leave}
    open('left', 'w')
    while True: os.read(terminal, 4)
{READING}"
        );
        let Some((scratch, mut terminal)) = starts(&program) else { return };
        terminal.see(QUESTION);
        scratch.write("ws/asked", "");
        scratch.await_file("ws/left");
        thread::sleep(Duration::from_millis(100));
        terminal.keys("never\n");
        terminal.see("no\r\n");
        assert!(!terminal.screen().contains("content-a"), "{}", terminal.screen());
    }
}

/// A daemon that does not read makes no difference.
#[test]
fn a_yes_carries_no_word_for_who_reads_nothing() {
    let Some((_scratch, mut terminal)) = starts(&beside("time.sleep(1)", READING)) else { return };
    reply(&mut terminal, "y");
    terminal.see("content-a");
    reply(&mut terminal, "n");
    terminal.see("no\r\n");
    assert_eq!(terminal.end(), Some(0));
    assert!(!terminal.screen().contains(WORD), "{}", terminal.screen());
}

/// Processes of other runs are not held.
#[test]
fn a_yes_carries_the_word_where_another_run_reads() {
    let Some(scratch) = place_with(&["python3"]) else { return };
    scratch.write(
        "ws/program.py",
        "import os, time\nos.read(os.open('/dev/tty', os.O_RDWR), 4)\ntime.sleep(2)",
    );
    let reader = Run::new(&scratch, "python3", &["program.py"]).mode(Mode::Confined);
    let asker = Run::sh(&scratch, "cat ask/a || echo no; cat ask/b").mode(Mode::Confined);
    let script = format!("{} | {{ sleep 0.5; {}; }}", quoted(&reader), quoted(&asker));
    let mut terminal = Terminal::start(&Run::sh(&scratch, &script).mode(Mode::Bare));
    word(&mut terminal);
    terminal.keys("never\n");
    terminal.see("no\r\n");
    // The other run has read what it wanted.
    reply(&mut terminal, "y");
    terminal.see("content-b");
    terminal.end();
    assert!(!terminal.screen().contains("content-a"), "{}", terminal.screen());
}

/// Starts a program that prompts twice, types these keys one after the other at each prompt, and asserts that both are
/// denied.
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

/// When a prompt is over, another one follows. The end of the text typed at the first does not answer the second.
#[test]
fn what_is_being_typed_is_no_answer_to_the_next_question() {
    let program = "
import os, signal, subprocess, time
first = subprocess.Popen(['cat', 'ask/a'])
while not os.path.exists('typed'): time.sleep(0.01)
first.kill()
first.wait()
try: print(open('ask/b').read(), flush=True)
except PermissionError: print('no', flush=True)
";
    let Some((scratch, mut terminal)) = starts(program) else { return };
    terminal.see(QUESTION);
    terminal.keys("nev");
    scratch.write("ws/typed", "");
    terminal.see("nobody waits for this");
    thread::sleep(Duration::from_millis(200));
    terminal.keys("e");
    word(&mut terminal);
    terminal.keys("r\n");
    terminal.see("no\r\n");
    assert_eq!(terminal.end(), Some(0));
    assert!(!terminal.screen().contains("content"), "{}", terminal.screen());
}

/// Nothing that was typed at a prompt is discarded before it is read.
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

/// A process that was allowed to discard keys earlier, and got no processor until the prompt, discards none either.
#[test]
fn what_is_typed_is_not_discarded_late() {
    let Some(scratch) = given(&["script"], || ground(place(), Linked::Statically)) else { return };
    let run = Run::new(&scratch, "./stress", &["starved", "ask/a", "3"]).mode(Mode::Confined);
    let mut terminal = Terminal::start(&run);
    terminal.see(QUESTION);
    terminal.keys("neve");
    thread::sleep(Duration::from_secs(4));
    terminal.keys("r\n");
    terminal.see(": EACCES");
    terminal.end();
}

/// A call goes on reading, whatever happens to its descriptor.
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

/// A traced process can only be stopped, unless it blocks the signal. It takes four letters. If the rest is a whole
/// word that means yes, that is none either.
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
    for line in ["never", "not run", "and yes"] {
        let Some((_scratch, mut terminal)) = starts(&program) else { return };
        word(&mut terminal);
        terminal.keys(&format!("{line}\n"));
        terminal.see("no\r\n");
        assert!(!terminal.screen().contains("content"), "{line}: {}", terminal.screen());
    }
}

/// A program may hold back the output so that no key undoes it. The prompt is shown nevertheless.
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
    reply(&mut terminal, "y");
    terminal.see("content-a");
    reply(&mut terminal, "n");
    terminal.see("end");
    assert_eq!(terminal.end(), Some(0));
}

/// Processes that an earlier run left behind take no part in an approval.
#[test]
fn what_another_run_left_behind_approves_nothing() {
    let Some(scratch) = given(&["script", "python3"], forked) else { return };
    let program =
        beside("os.read(blocking, 4); time.sleep(9)", "time.sleep(0.3); open('ready', 'w')");
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
    // The process takes four of these keys.
    terminal.keys("nnnyy\n");
    terminal.see("[y/N] ");
    assert_eq!(approved(&scratch), "", "{}", terminal.screen());
    terminal.keys("y\n");
    terminal.end();
    assert_eq!(approved(&scratch), "fork=dir", "{}", terminal.screen());
}
