//! The answer to a prompt counts for the processes that the prompt names.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use crate::cli_prompts::{QUESTION, place_with, reply, start};
use crate::cli_prompts_keys::start_python;
use crate::run::{Mode, Run};
use crate::terminal::{Terminal, quoted};

/// Waits until later processes wait, too.
fn all_have_come() {
    thread::sleep(Duration::from_millis(2500));
}

/// Shell code that waits for a file of that name.
fn until(name: &str) -> String {
    format!("until [ -e {name} ]; do sleep 0.1; done")
}

/// The process numbers on a screen.
fn named(screen: &str) -> Vec<&str> {
    let words = screen.match_indices(") wants to").filter_map(|(at, _)| screen.get(..at));
    words.filter_map(|before| Some(before.rsplit_once('(')?.1)).collect()
}

/// A prompt names each process that has come before it, such as during another prompt.
#[test]
fn each_process_that_waits_is_named() {
    let Some(scratch) = place_with(&[]) else { return };
    let several = "cat ask/a & cat ask/a & cat ask/a & wait; echo end";
    let mut terminal = start(&scratch, &format!("cat ask/b & {}; {several}", until("next")));
    terminal.see(QUESTION);
    scratch.write("ws/next", "");
    all_have_come();
    terminal.keys("n\n");
    terminal.see(QUESTION);
    let screen = terminal.screen();
    let pids: HashSet<&str> = named(&screen).into_iter().collect();
    assert_eq!(pids.len(), 4, "{screen}");
    terminal.keys("y\n");
    terminal.see("end\r");
    terminal.end();
    assert_eq!(terminal.screen().matches("content-a").count(), 3, "{}", terminal.screen());
    assert_eq!(terminal.screen().matches(QUESTION).count(), 2, "{}", terminal.screen());
}

/// If the screen has no room for some of them, the next prompt names these.
#[test]
fn each_process_that_is_asked_about_is_seen() {
    let Some(scratch) = place_with(&[]) else { return };
    let several = "cat ask/a & cat ask/a & cat ask/a & wait; echo end";
    let script = format!("cat ask/b & {}; {several}", until("next"));
    let run = Run::sh(&scratch, &script).mode(Mode::Confined);
    let mut terminal = Terminal::start_sized(&run, 9, 101);
    terminal.see(QUESTION);
    scratch.write("ws/next", "");
    all_have_come();
    terminal.keys("n\n");
    terminal.see("(one more question waits)");
    for _ in 0..2 {
        reply(&mut terminal, "y");
    }
    terminal.see("end\r");
    terminal.end();
    let screen = terminal.screen();
    let counts: Vec<usize> = screen.split(QUESTION).map(|asked| named(asked).len()).collect();
    assert_eq!(counts, [1, 2, 1, 0], "{screen}");
    assert_eq!(screen.matches("content-a").count(), 3, "{screen}");
}

/// Another process of the same program with the same request is not covered by the answer.
#[test]
fn who_comes_to_a_question_waits_for_the_next() {
    let Some(scratch) = place_with(&[]) else { return };
    let script = format!("cat ask/a & {}; cat ask/a; echo status:$?", until("next"));
    let mut terminal = start(&scratch, &script);
    terminal.see(QUESTION);
    scratch.write("ws/next", "");
    all_have_come();
    terminal.keys("y\n");
    terminal.see("content-a");
    reply(&mut terminal, "n");
    terminal.see("status:1");
    terminal.end();
    let screen = terminal.screen();
    let pids = named(&screen);
    assert!(pids.len() == 2 && pids[0] != pids[1], "{screen}");
    assert_eq!(screen.matches("content-a").count(), 1, "{screen}");
}

/// If a prompt's process was killed, no other process gets the answer.
#[test]
fn a_question_ends_with_its_process() {
    let Some(scratch) = place_with(&[]) else { return };
    let (next, end) = (until("next"), until("end"));
    let script =
        format!("cat ask/a & one=$!; {next}; ({end}; kill -9 $one) & cat ask/a; echo status:$?");
    let mut terminal = start(&scratch, &script);
    terminal.see(QUESTION);
    scratch.write("ws/next", "");
    all_have_come();
    scratch.write("ws/end", "");
    terminal.see("nobody waits for this any more");
    terminal.see("wants to read");
    reply(&mut terminal, "n");
    terminal.see("status:1");
    terminal.end();
    assert!(!terminal.screen().contains("content-a"), "{}", terminal.screen());
}

/// Threads of the named process share its answer.
#[test]
fn threads_share_a_question() {
    let Some(scratch) = place_with(&["python3"]) else { return };
    let script = "
import os, threading, time
def look(later):
    while later and not os.path.exists('next'):
        time.sleep(0.1)
    print(open('ask/a').read(), flush=True)
threads = [threading.Thread(target=look, args=(number > 0,)) for number in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print('end')
";
    let mut terminal = start_python(&scratch, script);
    terminal.see(QUESTION);
    scratch.write("ws/next", "");
    all_have_come();
    terminal.keys("y\n");
    terminal.see("end\r");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    let screen = terminal.screen();
    assert_eq!(screen.matches("content-a").count(), 3, "{screen}");
    assert_eq!(screen.matches(QUESTION).count(), 1, "{screen}");
}

/// An interrupt goes to the jobs of all named processes.
#[test]
fn an_interrupt_reaches_whoever_is_named() {
    let Some(scratch) = place_with(&["python3"]) else { return };
    let script = "
import os, signal, subprocess, time
signal.signal(signal.SIGINT, lambda *_: None)
first = subprocess.Popen(['cat', 'ask/b'])
while not os.path.exists('next'):
    time.sleep(0.1)
job = 'trap \"echo $0-heard\" INT; cat ask/a; :'
jobs = [subprocess.Popen(['sh', '-c', job, name], process_group=0) for name in ('one', 'other')]
for process in [first, *jobs]:
    process.wait()
print('end')
";
    let mut terminal = start_python(&scratch, script);
    terminal.see(QUESTION);
    scratch.write("ws/next", "");
    all_have_come();
    terminal.keys("n\n");
    terminal.see(QUESTION);
    terminal.keys("\x03");
    terminal.see("end\r");
    terminal.end();
    let screen = terminal.screen();
    assert!(screen.contains("one-heard\r") && screen.contains("other-heard\r"), "{screen}");
    assert!(!screen.contains("content-a"), "{screen}");
}

/// A process that ended while the prompt waited for its job is not named.
#[test]
fn who_has_ended_is_not_named() {
    let Some(scratch) = place_with(&["bash"]) else { return };
    let mut terminal = Terminal::shell(&scratch, Mode::Bare);
    let script = "cat ask/a & echo $! > one; cat ask/b & wait";
    let run = Run::sh(&scratch, script).mode(Mode::Confined);
    terminal.keys(&format!("{} &\n", quoted(&run)));
    terminal.see("a question waits");
    all_have_come();
    terminal.keys("kill -9 $(cat one); echo killed-$((40+2))\n");
    terminal.see("killed-42");
    terminal.keys("fg\n");
    terminal.see(QUESTION);
    let screen = terminal.screen();
    assert!(named(&screen).len() == 1 && screen.contains("    ask/b\r\n"), "{screen}");
    terminal.keys("y\n");
    terminal.see("content-b");
    terminal.keys("exit\n");
}
