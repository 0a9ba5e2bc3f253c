//! Which process gets the keys during a prompt in the terminal, and the state of the terminal afterwards.

use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::attack::{Linking, arena_with};
use crate::cli_prompts::{QUESTION, place, place_with, reply, start};
use crate::run::{Mode, Run, have};
use crate::scratch::Scratch;
use crate::terminal::{Terminal, quoted};

/// A confined run of a Python script in a terminal.
pub(crate) fn start_python(scratch: &Scratch, script: &str) -> Terminal {
    Terminal::start(&Run::new(scratch, "python3", &["-c", script]).mode(Mode::Confined))
}

/// If the supervisor is killed, only the front is left at the prompt.
#[test]
fn a_question_whose_supervisor_is_killed_leaves_the_terminal_as_it_was() {
    let Some(scratch) = place_with(&[]) else { return };
    let run = Run::sh(&scratch, "echo supervisor=$PPID=; cat ask/a").mode(Mode::Confined);
    let script = format!("{}; stty -a | grep -o ' icanon'; read x; echo got:$x", quoted(&run));
    let mut terminal = Terminal::start(&Run::sh(&scratch, &script).mode(Mode::Bare));
    terminal.see("supervisor=");
    terminal.see(QUESTION);
    let screen = terminal.screen();
    let supervisor = screen.split('=').nth(1).and_then(|number| number.parse().ok());
    let supervisor = Pid::from_raw(supervisor.expect("a number")).expect("a process");
    kill_process(supervisor, Signal::KILL).expect("killed");
    terminal.see("the supervisor was killed");
    terminal.see(" icanon");
    terminal.keys("here\n");
    terminal.see("got:here");
    assert_eq!(terminal.end(), Some(0));
}

/// If a signal ends the run, the processes that it leaves running get a no. A line of its own reports that.
#[test]
fn a_run_that_is_told_to_end_withdraws_its_questions() {
    let Some(scratch) = place_with(&[]) else { return };
    let run = Run::sh(&scratch, "cat ask/a & wait").mode(Mode::Confined);
    let quoted = quoted(
        &Run::sh(&scratch, &format!("echo front=$$=; exec {}", quoted(&run))).mode(Mode::Bare),
    );
    let script = format!("{quoted}; stty -a | grep -o ' icanon'; read x; echo got:$x");
    let mut terminal = Terminal::start(&Run::sh(&scratch, &script).mode(Mode::Bare));
    terminal.see(QUESTION);
    let screen = terminal.screen();
    let front = screen.split('=').nth(1).and_then(|number| number.parse().ok());
    let front = Pid::from_raw(front.expect("a number")).expect("a process");
    kill_process(front, Signal::TERM).expect("told");
    terminal.see("\r\n  (nobody waits for this any more)\r\n");
    terminal.see("cat: ask/a: Permission denied");
    terminal.see("the question was withdrawn unanswered");
    terminal.see(" icanon");
    terminal.keys("here\n");
    terminal.see("got:here");
    assert_eq!(terminal.end(), Some(0));
    assert!(!terminal.screen().contains("a person said no"), "{}", terminal.screen());
}

/// A shell that reads keys itself neither loses its terminal nor gets the answer.
#[test]
fn the_terminal_is_given_back() {
    let Some(scratch) = place_with(&["bash"]) else { return };
    let mut terminal = Terminal::shell(&scratch, Mode::Confined);
    terminal.keys("(sleep 0.3; cat ask/a) &\n");
    reply(&mut terminal, "y");
    terminal.see("content-a");
    terminal.keys("\necho answer:$((40+2))\n");
    terminal.see("answer:42");
    terminal.keys("stty -a | grep -o -e ' icanon'\n");
    terminal.see(" icanon");
    terminal.keys("exit\n");
    terminal.end();
    assert!(!terminal.screen().contains("y: command not found"), "{}", terminal.screen());
}

/// A process that reads keys in another thread and by another descriptor does not get the answer.
#[test]
fn an_answer_is_for_nobody_else() {
    let Some(scratch) = place_with(&["python3"]) else { return };
    let script = "
import os, threading, time
terminal = os.open('/dev/tty', os.O_RDONLY)
steal = lambda: print('stolen', os.read(terminal, 100), flush=True)
threading.Thread(target=steal, daemon=True).start()
time.sleep(0.2)
print(open('ask/a').read(), flush=True)
";
    let mut terminal = start_python(&scratch, script);
    terminal.see(QUESTION);
    // The process that asks is stopped, because it reads. A person takes a while.
    thread::sleep(Duration::from_millis(1500));
    terminal.keys("y\n");
    terminal.see("content-a");
    terminal.end();
    let screen = terminal.screen();
    assert!(["stolen", "nobody waits"].iter().all(|word| !screen.contains(word)), "{screen}");
}

/// A process that waits for keys in other calls than `read(2)` does not get it either.
#[test]
fn an_answer_is_for_nobody_who_reads_in_other_ways() {
    let Some(scratch) = place_with(&["python3"]) else { return };
    for reads in ["os.splice(0, pipe, 100)", "os.preadv(0, [bytearray(100)], -1)"] {
        let script = format!(
            "
import os, threading, time
_, pipe = os.pipe()
steal = lambda: print('stolen', {reads}, flush=True)
threading.Thread(target=steal, daemon=True).start()
time.sleep(0.2)
print(open('ask/a').read(), flush=True)
os._exit(0)
"
        );
        let mut terminal = start_python(&scratch, &script);
        reply(&mut terminal, "y");
        terminal.see("content-a");
        terminal.end();
        let screen = terminal.screen();
        assert!(!screen.contains("stolen") && !screen.contains("Error"), "{screen}");
    }
}

/// A traced process cannot be held.
#[test]
fn an_answer_is_for_nobody_who_is_traced() {
    let Some(scratch) = place_with(&["strace"]) else { return };
    let asker = "until grep -q 'read(0' trace; do sleep 0.05; done; cat ask/a";
    let script = format!("touch trace; ({asker}) & strace -o trace cat; wait");
    let mut terminal = start(&scratch, &script);
    reply(&mut terminal, "y");
    terminal.see("content-a");
    // The process goes on reading.
    terminal.keys("here\n");
    terminal.see("here\r\nhere\r\n");
    terminal.keys("\x04");
    assert_eq!(terminal.end(), Some(0));
}

/// The terminal stops no process of another session that waits for keys, and then reads them.
#[test]
fn an_answer_is_for_no_server_of_the_terminal() {
    let Some(scratch) = place_with(&["python3"]) else { return };
    let script = "
import os, select, signal, time
server = os.fork()
if server == 0:
    os.setsid()
    keys = select.poll()
    keys.register(0, select.POLLIN)
    keys.poll()
    print('stolen', os.read(0, 100), flush=True)
time.sleep(0.2)
print(open('ask/a').read(), flush=True)
os.kill(server, signal.SIGKILL)
";
    let mut terminal = start_python(&scratch, script);
    terminal.see(QUESTION);
    // Enough keys that a server would certainly get some of them.
    terminal.keys(&("x\x7f".repeat(100) + "y\n"));
    terminal.see("content-a");
    terminal.end();
    assert!(!terminal.screen().contains("stolen"), "{}", terminal.screen());
}

/// The terminal does not stop a server either that begins to read during the prompt.
#[test]
fn an_answer_is_for_no_server_that_begins_to_read() {
    let Some(scratch) = place_with(&["python3"]) else { return };
    let script = "
import os, signal, time
server = os.fork()
if server == 0:
    os.setsid()
    time.sleep(1)
    print('reads', flush=True)
    print('stolen', os.read(0, 100), flush=True)
print(open('ask/a').read(), flush=True)
os.kill(server, signal.SIGKILL)
";
    let mut terminal = start_python(&scratch, script);
    terminal.see(QUESTION);
    terminal.see("reads");
    // A person takes a while.
    thread::sleep(Duration::from_millis(500));
    terminal.keys("y\n");
    terminal.see("content-a");
    terminal.end();
    assert!(!terminal.screen().contains("stolen"), "{}", terminal.screen());
}

/// After the prompt, a process outside the foreground group goes on as before.
#[test]
fn a_parent_that_waits_for_keys_goes_on() {
    let Some(scratch) = place_with(&["python3"]) else { return };
    let script = "
import os, select, signal, subprocess, threading
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
terminal = os.open('/dev/tty', os.O_RDWR)
keys = select.poll()
keys.register(terminal, select.POLLPRI)
threading.Thread(target=keys.poll, daemon=True).start()
child = subprocess.Popen(['cat', 'ask/a'], process_group=0)
os.tcsetpgrp(terminal, child.pid)
child.wait()
os.tcsetpgrp(terminal, os.getpgrp())
print('the parent goes on', flush=True)
";
    let mut terminal = start_python(&scratch, script);
    reply(&mut terminal, "y");
    terminal.see("content-a");
    terminal.see("the parent goes on");
    assert_eq!(terminal.end(), Some(0));
}

/// Shells show stopped jobs, and take the terminal from them. So nobody sees the stop of a process that reads a pipe or
/// keys.
#[test]
fn nobody_sees_a_stop_for_a_question() {
    let Some(scratch) = place_with(&["python3"]) else { return };
    let script = "
import os, signal, subprocess
signal.signal(signal.SIGINT, lambda *_: None)
terminal = open('/dev/tty')
children = [subprocess.Popen('cat', stdin=terminal), subprocess.Popen('cat', stdin=subprocess.PIPE)]
children.append(subprocess.Popen(['cat', 'ask/a']))
for _ in range(3):
    _, status = os.waitpid(-1, os.WUNTRACED)
    print('stopped' if os.WIFSTOPPED(status) else 'ended', os.WTERMSIG(status), flush=True)
";
    let mut terminal = start_python(&scratch, script);
    terminal.see(QUESTION);
    terminal.keys("\x03");
    for _ in 0..3 {
        terminal.see("ended 2");
    }
    terminal.end();
    assert!(!terminal.screen().contains("stopped"), "{}", terminal.screen());
}

/// ^Z is no answer. The job stops as it would without a prompt, and prompts again when it goes on.
#[test]
fn a_question_stops_with_its_job() {
    let Some(scratch) = place_with(&["bash"]) else { return };
    let mut terminal = Terminal::shell(&scratch, Mode::Confined);
    terminal.keys("cat ask/a\n");
    terminal.see(QUESTION);
    terminal.keys("\x1a");
    terminal.see("Stopped");
    terminal.keys("echo not:$((40+2))\n");
    terminal.see("not:42");
    terminal.keys("fg\n");
    reply(&mut terminal, "y");
    terminal.see("content-a");
    terminal.keys("exit\n");
    terminal.end();
}

#[test]
fn an_interrupt_is_a_no_and_reaches_the_program() {
    let Some(scratch) = place_with(&[]) else { return };
    let mut terminal = start(&scratch, "cat ask/a; echo not reached");
    terminal.see(QUESTION);
    terminal.keys("\x03");
    assert_eq!(terminal.end(), Some(130));
    let screen = terminal.screen();
    assert!(!screen.contains("content-a") && !screen.contains("not reached\r"), "{screen}");
}

/// Python looks for signals where a call was interrupted, and nowhere else.
#[test]
fn an_interrupt_is_told_as_one() {
    let Some(scratch) = place_with(&["python3"]) else { return };
    let mut terminal = start(&scratch, "python3 -c \"open('ask/a')\"");
    terminal.see(QUESTION);
    terminal.keys("\x03");
    terminal.see("\r\nKeyboardInterrupt\r\n");
    assert_eq!(terminal.end(), Some(130));
    let screen = terminal.screen();
    assert!(!screen.contains("Error") && screen.contains("a person said no"), "{screen}");
}

/// An interrupt ends the call, with the library and without. A program that tries again is denied at once.
#[test]
fn an_interrupted_call_ends_by_that() {
    if !have("script") {
        return;
    }
    for linking in [Linking::Dynamic, Linking::Static] {
        let scratch = arena_with(linking, place());
        for key in ["\x03", "n\n"] {
            let mut terminal = start(&scratch, "trap : INT; bin/attack open_interrupted ask/a");
            terminal.see(QUESTION);
            terminal.keys(key);
            terminal.see(&format!("first open: {}", if key == "n\n" { "EACCES" } else { "EINTR" }));
            terminal.see("second open: EACCES");
            terminal.end();
        }
    }
}

/// A process that ignores the interrupt gets a no. A shell without jobs starts such processes with `&`.
#[test]
fn an_interrupt_that_is_ignored_is_a_no() {
    let Some(scratch) = place_with(&[]) else { return };
    let mut terminal = start(&scratch, "trap : INT; cat ask/a & wait; wait; echo end");
    terminal.see(QUESTION);
    terminal.keys("\x03");
    terminal.see("cat: ask/a: Permission denied");
    terminal.see("end");
    terminal.end();
}

/// If the terminal makes no signals of keys, an interrupt is for the process that asks.
#[test]
fn an_interrupt_spares_who_reads_keys_as_keys() {
    let Some(scratch) = place_with(&[]) else { return };
    let inner = "trap : INT; cat ask/a; echo reached:$?";
    let run = Run::new(&scratch, "script", &["-q", "-c", inner, "/dev/null"]);
    let mut terminal = Terminal::start(&run.mode(Mode::Confined));
    terminal.see(QUESTION);
    terminal.keys("\x03");
    terminal.see("reached:130");
    terminal.end();
}

/// A terminal tells the job in the foreground that its size changed. During a prompt that job is not the run's.
#[test]
fn programs_hear_of_another_size_after_a_question() {
    let Some(scratch) = place_with(&["python3"]) else { return };
    let script = "
import signal
signal.signal(signal.SIGWINCH, lambda *_: print('another size', flush=True))
print(open('ask/a').read(), flush=True)
print('end', flush=True)
";
    let mut terminal = start_python(&scratch, script);
    terminal.see(QUESTION);
    terminal.resize(20, 60);
    reply(&mut terminal, "y");
    terminal.see("another size");
    terminal.end();
}

/// A shell keeps an interrupt from its background processes. If it ends by the interrupt itself, nobody is prompted on
/// behalf of the others.
#[test]
fn an_interrupt_that_ends_the_program_withdraws_its_questions() {
    let Some(scratch) = place_with(&[]) else { return };
    let script = "cat ask/a & sleep 0.7; cat ask/b & sleep 0.7; cat ask/a & wait; echo not reached";
    let run = Run::sh(&scratch, script).mode(Mode::Confined);
    let script = format!("trap : INT; {}; read x; echo got:$x", quoted(&run));
    let mut terminal = Terminal::start(&Run::sh(&scratch, &script).mode(Mode::Bare));
    terminal.see(QUESTION);
    // The others come meanwhile, and wait for this prompt. They may have come before.
    thread::sleep(Duration::from_secs(1));
    terminal.keys("\x03");
    terminal.see("the question was withdrawn unanswered");
    terminal.keys("here\n");
    terminal.see("got:here");
    // The shell around it gets the key, too, and ends.
    assert_eq!(terminal.end(), Some(130));
    let screen = terminal.screen();
    assert!(!screen.contains("content") && !screen.contains("not reached\r"), "{screen}");
}

/// If the program goes on, the others prompt as before.
#[test]
fn an_interrupt_that_is_handled_withdraws_nothing() {
    let Some(scratch) = place_with(&[]) else { return };
    let script = "trap 'echo handled' INT; cat ask/a; cat ask/b & wait";
    let mut terminal = start(&scratch, script);
    terminal.see(QUESTION);
    terminal.keys("\x03");
    terminal.see("handled");
    reply(&mut terminal, "y");
    terminal.see("content-b");
    assert_eq!(terminal.end(), Some(130));
}
