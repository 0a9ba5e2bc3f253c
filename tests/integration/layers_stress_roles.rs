//! The processes of a run, and what happens when one is killed, stopped, or asked to end.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group,
    prlimit, waitpid,
};

use crate::attack::arena;
use crate::layers::Holder;
use crate::run::{Mode, PRODUCT, Run, ends, given, have, skip, wait};
use crate::scratch::Scratch;
use crate::terminal::{Terminal, quoted};

/// Anything that takes longer than this hangs.
const LIMIT: Duration = Duration::from_secs(20);

/// A program with a child, a daemon, and a process that left through a parent that ended.
const FAMILY: &str =
    "sleep 300 & setsid sleep 300 & (setsid sleep 300 &); echo up; sleep 300; echo on";

/// A run and its processes.
struct Family {
    front: Child,
    /// The lines of standard error.
    errors: Receiver<String>,
    supervisor: Pid,
    members: Vec<Pid>,
}

impl Family {
    /// Starts it, if the tested layers include a supervisor.
    fn start(scratch: &Scratch, script: &str, members: usize) -> Option<Self> {
        if matches!(Holder::under_test(), Holder::Library) {
            skip("the library alone has no supervisor");
            return None;
        }
        let run = Run::sh(scratch, script).mode(Mode::Confined);
        let mut command = run.command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut front = command.spawn().expect("started");
        let errors = lines(front.stderr.take().expect("piped"));
        let mut line = String::new();
        let mut output = BufReader::new(front.stdout.take().expect("piped"));
        output.read_line(&mut line).expect("a line");
        assert_eq!(line, "up\n");
        let supervisor = children(front.id()).first().copied().expect("a supervisor");
        let all = || descendants(supervisor);
        let end = Instant::now() + LIMIT;
        while all().len() < members && Instant::now() < end {
            thread::sleep(Duration::from_millis(10));
        }
        let members = all().into_iter().filter_map(number).collect();
        Some(Self { front, errors, supervisor: number(supervisor).expect("a pid"), members })
    }

    fn signal(&self, signal: Signal) {
        let front = number(self.front.id()).expect("a pid");
        kill_process(front, signal).expect("sent");
    }

    /// Waits until standard error has a line with this text.
    fn await_line(&self, text: &str) {
        while !self.errors.recv_timeout(LIMIT).expect(text).contains(text) {}
    }

    /// Waits for the end, and checks that no process is left. Returns the exit status and the rest of standard error.
    fn end(mut self) -> (i32, String) {
        let status = wait(&mut self.front, LIMIT, "the run");
        let is_left = |pid: &&Pid| !ends(**pid, LIMIT);
        assert_eq!(self.members.iter().find(is_left), None, "a process of the run is left");
        (status.code().unwrap_or(-1), self.errors.iter().collect())
    }
}

/// Reads lines in another thread.
fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (to, lines) = channel();
    thread::spawn(move || {
        let lines = BufReader::new(from).lines().map_while(Result::ok);
        lines.for_each(|line| drop(to.send(line + "\n")));
    });
    lines
}

fn number(pid: u32) -> Option<Pid> {
    Pid::from_raw(pid.cast_signed())
}

fn is_running(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !matches!(rest.trim().as_bytes(), [b'Z' | b'X', ..]))
}

fn children(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn descendants(pid: u32) -> Vec<u32> {
    children(pid).into_iter().flat_map(|child| [vec![child], descendants(child)].concat()).collect()
}

#[test]
fn a_killed_supervisor_ends_the_run() {
    let scratch = Scratch::new();
    let Some(family) = Family::start(&scratch, FAMILY, 5) else { return };
    assert!(family.members.len() >= 5, "{:?}", family.members);
    kill_process(family.supervisor, Signal::KILL).expect("killed");
    let (status, said) = family.end();
    assert_eq!(status, 125, "{said}");
    assert!(said.contains("the supervisor was killed"), "{said}");
}

/// Each process of the chain is gone before the next look at all running processes.
#[test]
fn a_killed_supervisor_ends_a_chain_of_processes() {
    let scratch = arena(Scratch::new());
    let script = "bin/attack chain 20000 write_excl ended & echo up; sleep 300";
    let Some(family) = Family::start(&scratch, script, 2) else { return };
    kill_process(family.supervisor, Signal::KILL).expect("killed");
    let (status, said) = family.end();
    assert_eq!(status, 125, "{said}");
    assert!(!scratch.ws().join("ended").exists(), "{said}");
}

/// The moment does not matter: the program may have begun, and nobody may know it yet.
#[test]
fn a_supervisor_that_is_killed_at_the_start_leaves_nobody() {
    if matches!(Holder::under_test(), Holder::Library) {
        return skip("the library alone has no supervisor");
    }
    let scratch = Scratch::new();
    for step in 0..60 {
        let mut command = Run::sh(&scratch, "sleep 300").mode(Mode::Confined).command();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let mut front = command.spawn().expect("started");
        let end = Instant::now() + LIMIT;
        let supervisor = loop {
            if let Some(&pid) = children(front.id()).first() {
                break pid;
            }
            assert!(Instant::now() < end, "there is no supervisor");
        };
        thread::sleep(Duration::from_micros(step * 250));
        kill_process(number(supervisor).expect("a pid"), Signal::KILL).expect("killed");
        let status = wait(&mut front, LIMIT, "the run");
        // Any process that is left holds the other end.
        let mut errors = front.stderr.take().expect("piped");
        let mut ready = [PollFd::new(&errors, PollFlags::HUP)];
        let patience = Timespec { tv_sec: 20, tv_nsec: 0 };
        assert_eq!(poll(&mut ready, Some(&patience)), Ok(1), "somebody is left");
        let said = std::io::read_to_string(&mut errors).expect("read");
        assert_eq!(status.code(), Some(125), "{said}");
        assert!(said.contains("the supervisor was killed"), "{said}");
    }
}

/// The program has begun by the time that the supervisor finds that it cannot go on.
#[test]
fn a_supervisor_that_cannot_go_on_leaves_nobody() {
    if matches!(Holder::under_test(), Holder::Library) {
        return skip("the library alone has no supervisor");
    }
    let scratch = arena(Scratch::new());
    let attack = scratch.path("ws/bin/attack");
    let attack = attack.to_str().expect("UTF-8");
    let (number, error) = (libc::SYS_setpgid.to_string(), libc::EPERM.to_string());
    let line = ["fault", &number, &error, "exec", PRODUCT, "--", "sleep", "300"];
    let outcome = Run::new(&scratch, attack, &line).mode(Mode::Bare).limit(LIMIT).run();
    assert_eq!(outcome.code(), 125, "{outcome}");
    outcome.assert_stderr("the supervisor cannot go on, and so the run was ended: ");
}

#[test]
fn what_was_refused_is_told_where_the_supervisor_is_killed() {
    let scratch = Scratch::new();
    scratch.write("out/secret", "told\n");
    let secret = scratch.out().join("secret");
    let script = format!("cat {}; echo up; sleep 300; echo on", secret.display());
    let Some(family) = Family::start(&scratch, &script, 2) else { return };
    kill_process(family.supervisor, Signal::KILL).expect("killed");
    let (_, said) = family.end();
    assert!(said.contains(&format!("denied read {}", secret.display())), "{said}");
    assert!(said.contains("the supervisor was killed"), "{said}");
}

/// The limit may have killed it.
#[test]
fn a_killed_supervisor_whose_time_is_limited() {
    let scratch = Scratch::new();
    let Some(family) = Family::start(&scratch, FAMILY, 5) else { return };
    let limit = Rlimit { current: Some(70), maximum: Some(70) };
    prlimit(number(family.front.id()), Resource::Cpu, limit).expect("limited");
    kill_process(family.supervisor, Signal::KILL).expect("killed");
    let (status, said) = family.end();
    assert_eq!(status, 125, "{said}");
    assert!(said.contains("its processor time was limited to 70 s (`ulimit -t`)"), "{said}");
}

#[test]
fn a_killed_front_ends_the_run() {
    let scratch = Scratch::new();
    let Some(family) = Family::start(&scratch, FAMILY, 5) else { return };
    family.signal(Signal::KILL);
    assert_eq!(family.end().0, -1);
}

/// A signal to the front goes to the program, which handles it as it likes.
#[test]
fn signals_to_the_front_are_the_programs() {
    for (signal, name) in [(Signal::TERM, "TERM"), (Signal::HUP, "HUP"), (Signal::USR1, "USR1")] {
        let scratch = Scratch::new();
        let script = format!("trap 'exit 7' {name}; echo up; while :; do sleep 0.05; done");
        let Some(family) = Family::start(&scratch, &script, 1) else { return };
        family.signal(signal);
        assert_eq!(family.end().0, 7, "{name}");
    }
}

/// The run waits for processes that the program left. A signal that ends processes then ends the run.
#[test]
fn waiting_for_what_is_left_can_be_ended() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let scratch = Scratch::new();
        let script = "setsid sleep 300 & (setsid sleep 300 &); echo up; exit 3";
        let Some(family) = Family::start(&scratch, script, 2) else { return };
        family.await_line("waiting for what the program left running: ");
        assert!(family.members.iter().copied().any(is_running), "nobody is waited for");
        family.signal(signal);
        assert_eq!(family.end().0, 3);
    }
}

#[test]
fn a_stopped_front_goes_on() {
    let scratch = Scratch::new();
    let script = "echo up; sleep 0.5; mkdir made; exit 5";
    let Some(family) = Family::start(&scratch, script, 1) else { return };
    family.signal(Signal::STOP);
    scratch.await_file("ws/made");
    family.signal(Signal::CONT);
    assert_eq!(family.end().0, 5);
}

#[test]
fn leftovers_are_ended_on_request() {
    if Holder::under_test() == Holder::Library {
        return skip("the library alone has no supervisor");
    }
    let scratch = Scratch::new();
    let script = "sleep 300 & setsid sleep 300 & (setsid sleep 300 &); exit 3";
    let run = Run::sh(&scratch, script).mode(Mode::Confined).flags(&["--kill-leftovers"]);
    let outcome = run.limit(LIMIT).run();
    outcome.assert_code(3).assert_stderr("the program left running, and this was ended: ");
}

/// Nobody could end them, if there is no terminal.
#[test]
fn leftovers_without_a_terminal_have_ten_seconds() {
    if Holder::under_test() == Holder::Library {
        return skip("the library alone has no supervisor");
    }
    for (flags, waits) in [(&[][..], false), (&["--wait-leftovers"][..], true)] {
        let scratch = Scratch::new();
        let script = "setsid sh -c 'sleep 13; echo x >late' & exit 3";
        let outcome =
            Run::sh(&scratch, script).mode(Mode::Confined).flags(flags).limit(LIMIT).run();
        outcome.assert_code(3).assert_stderr("waiting for what the program left running: ");
        assert_eq!(scratch.path("ws/late").exists(), waits, "{outcome}");
        assert_ne!(outcome.stderr.contains("it is ended after 10 s"), waits, "{outcome}");
    }
}

/// The first thread of a process may have ended while others go on.
#[test]
fn leftovers_without_a_first_thread_are_ended() {
    if Holder::under_test() == Holder::Library || !have("python3") {
        return skip("the library alone has no supervisor");
    }
    let scratch = Scratch::new();
    let begin = "threading.Thread(target=time.sleep, args=(300,)).start()";
    let end = format!("ctypes.CDLL(None).syscall({}, 0)", libc::SYS_exit);
    let script = format!(
        "python3 -c 'import ctypes, threading, time; {begin}; print(1, flush=True); {end}' >out & \
         until [ -s out ]; do sleep 0.1; done; sleep 0.5; exit 3"
    );
    let run = Run::sh(&scratch, &script).mode(Mode::Confined).flags(&["--kill-leftovers"]);
    let outcome = run.limit(LIMIT).run();
    outcome.assert_code(3).assert_stderr("the program left running, and this was ended: python3");
}

/// In a terminal, ^C ends the wait for a daemon that does not get it.
#[test]
fn a_key_ends_the_wait_for_a_daemon() {
    if !have("script") || !have("bash") || Holder::under_test() == Holder::Library {
        return;
    }
    let scratch = Scratch::new();
    let run = Run::sh(&scratch, "setsid sleep 300 & exit 3").mode(Mode::Confined);
    let mut terminal = Terminal::shell(&scratch, Mode::Bare);
    terminal.keys(&format!("{}\n", quoted(&run)));
    terminal.see("waiting for what the program left running: ");
    terminal.keys("\x03");
    terminal.see("> ");
    terminal.keys("echo ended:$?\n");
    terminal.see("ended:3");
    terminal.keys("exit\n");
    terminal.end();
}

/// ^Z at the moment when the program starts: nobody waits for a process that was stopped before it ran.
#[test]
#[expect(clippy::zombie_processes, reason = "`next_state` collects them")]
fn a_run_stops_while_it_starts() {
    let scratch = Scratch::new();
    // A shell may itself wait in `vfork(2)` for a stopped process.
    let run = Run::new(&scratch, "sleep", &["0.05"]).mode(Mode::Confined);
    for step in 0..80 {
        let child = run.command().process_group(0).stdin(Stdio::null()).spawn().expect("a run");
        thread::sleep(Duration::from_micros(250 * step));
        let group = Pid::from_child(&child);
        kill_process_group(group, Signal::TSTP).expect("a group");
        assert!(next_state(group).stopped(), "after {step} steps");
        kill_process_group(group, Signal::CONT).expect("a group");
        assert!(next_state(group).exited(), "after {step} steps");
    }
}

/// The end of a child, or its next stop.
fn next_state(child: Pid) -> WaitStatus {
    next(child, WaitOptions::UNTRACED)
}

/// The end of a child, or its next continuation.
fn next_going_on(child: Pid) -> WaitStatus {
    next(child, WaitOptions::CONTINUED)
}

fn next(child: Pid, change: WaitOptions) -> WaitStatus {
    let (to, answers) = channel();
    thread::spawn(move || to.send(waitpid(Some(child), change)));
    let changed = answers.recv_timeout(LIMIT).unwrap_or_else(|_| {
        let _ = kill_process_group(child, Signal::KILL);
        panic!("the run hangs");
    });
    changed.expect("a child").expect("a change").1
}

/// If all of a job was stopped, a shell that fetches it finds it going on.
#[test]
fn a_job_that_was_stopped_whole_is_fetched_once() {
    let Some(scratch) = given(&["script", "bash"], Scratch::new) else { return };
    let waits = "until [ -e go ]; do sleep 0.05; done; echo ended-$((40+2))";
    let run = Run::sh(&scratch, waits).mode(Mode::Confined);
    let mut terminal = Terminal::shell(&scratch, Mode::Bare);
    terminal.keys(&format!("{} &\n", quoted(&run)));
    thread::sleep(Duration::from_millis(600));
    terminal.keys("kill -STOP %1; sleep 0.3; jobs\n");
    terminal.see("Stopped");
    terminal.keys("fg\n");
    thread::sleep(Duration::from_millis(300));
    terminal.keys("echo shell-$((1+1)); exit\n");
    thread::sleep(Duration::from_millis(700));
    scratch.write("ws/go", "");
    terminal.see("shell-2");
    terminal.end();
    let screen = terminal.screen();
    assert!(screen.find("ended-42") < screen.find("shell-2"), "{screen}");
    assert!(screen.contains("ended-42"), "{screen}");
}

/// A signal that continues only the program continues the run. If a person stops the run, it stays stopped.
#[test]
fn a_run_goes_on_with_its_program() {
    let scratch = Scratch::new();
    let script = "(sleep 0.3; kill -CONT $$) & kill -STOP $$; echo woke";
    Run::sh(&scratch, script)
        .mode(Mode::Confined)
        .limit(LIMIT)
        .run()
        .assert_ok()
        .assert_stdout("woke");
    let (front, program) = start_named(&scratch);
    for _ in 0..3 {
        kill_process(program, Signal::STOP).expect("a program");
        assert!(next_state(front).stopped());
        kill_process(program, Signal::CONT).expect("a program");
        assert!(next_going_on(front).continued());
    }
    kill_process_group(front, Signal::TSTP).expect("a group");
    assert!(next_state(front).stopped());
    thread::sleep(Duration::from_millis(400));
    let options = WaitOptions::NOHANG | WaitOptions::CONTINUED;
    assert!(waitpid(Some(front), options).expect("a child").is_none(), "nobody continued it");
    kill_process_group(front, Signal::CONT).expect("a group");
    assert!(next_going_on(front).continued());
    kill_process(program, Signal::TERM).expect("a program");
    assert_eq!(next_state(front).exit_status(), Some(143));
}

/// If the program is killed while it is stopped, the run ends.
#[test]
fn a_stopped_run_ends_with_its_program() {
    let scratch = Scratch::new();
    let (front, program) = start_named(&scratch);
    kill_process(program, Signal::STOP).expect("a program");
    assert!(next_state(front).stopped());
    kill_process(program, Signal::KILL).expect("a program");
    assert_eq!(next_state(front).exit_status(), Some(137));
}

/// A run in a process group of its own, and its program.
#[expect(clippy::zombie_processes, reason = "`next_state` collects them")]
fn start_named(scratch: &Scratch) -> (Pid, Pid) {
    let run = Run::sh(scratch, "echo $$ > name; mv name pid; exec sleep 300").mode(Mode::Confined);
    let front = run.command().process_group(0).stdin(Stdio::null()).spawn().expect("a run");
    (Pid::from_child(&front), named(scratch, "ws/pid"))
}

/// The process whose number a program of the run writes into that file.
fn named(scratch: &Scratch, file: &str) -> Pid {
    scratch.await_file(file);
    scratch.read(file).trim().parse().ok().and_then(number).expect("a pid")
}

/// A shell at a terminal, with a run of `script` in it that prints `up` and that ^Z then stops.
fn stopped_job(scratch: &Scratch, script: &str) -> Terminal {
    let mut terminal = Terminal::shell(scratch, Mode::Bare);
    terminal.keys(&format!("{}\n", quoted(&Run::sh(scratch, script).mode(Mode::Confined))));
    terminal.see("up\r\n");
    thread::sleep(Duration::from_millis(300));
    terminal.keys("\x1a");
    terminal.see("Stopped");
    terminal
}

/// A program without the library stops and goes on with the keys of its terminal, also while one of its calls waits.
#[test]
fn a_waiting_call_stops_and_goes_on() {
    if !have("script") || !have("bash") || Holder::under_test() == Holder::Library {
        return;
    }
    let scratch = Scratch::new();
    let mut terminal = stopped_job(&scratch, "mkfifo fifo; echo up; cat < fifo; echo got:$?");
    terminal.keys("fg\n");
    thread::sleep(Duration::from_millis(300));
    terminal.keys("\x1a");
    terminal.see("Stopped");
    terminal.keys("bg; echo text > fifo; wait\n");
    terminal.see("got:0");
    terminal.keys("exit\n");
    terminal.end();
}

/// The processes that the program left running are the job then, and stop and go on as one.
#[test]
fn a_key_stops_the_wait_for_what_is_left() {
    if !have("script") || !have("bash") || Holder::under_test() == Holder::Library {
        return;
    }
    let scratch = Scratch::new();
    let script = "(sleep 2; echo down-$((40+2))) & sleep 3 & echo up";
    let mut terminal = stopped_job(&scratch, script);
    for _ in 0..2 {
        terminal.keys("echo not:$((40+2))\n");
        terminal.see("not:42");
        terminal.keys("fg\n");
        thread::sleep(Duration::from_millis(300));
        terminal.keys("\x1a");
        terminal.see("Stopped");
    }
    terminal.keys("fg\n");
    terminal.see("down-42");
    terminal.see("> ");
    terminal.keys("echo ended:$?\n");
    terminal.see("ended:0");
    terminal.keys("exit\n");
    terminal.end();
}

/// A stopped job ends with the shell that could have continued it.
#[test]
fn a_stopped_run_ends_with_its_shell() {
    if !have("script") || !have("bash") {
        return;
    }
    let left = "sleep 300 & echo $! > pid; echo up";
    let scripts = ["echo $$ > pid; echo up; sleep 300", left];
    let counted = if Holder::under_test() == Holder::Library { 1 } else { 2 };
    for script in &scripts[..counted] {
        let scratch = Scratch::new();
        let mut terminal = stopped_job(&scratch, script);
        terminal.keys("kill -KILL $$\n");
        let program = scratch.read("ws/pid").trim().parse().ok().and_then(number).expect("a pid");
        assert!(ends(program, LIMIT), "the stopped program is left: {script}");
    }
}

/// The program's modes stay, unless it died. The shell then sees an exit status, where bare it would restore the modes.
#[test]
fn a_terminal_has_its_modes_after_a_program_that_died() {
    let Some(scratch) = given(&["script", "bash", "stty"], Scratch::new) else { return };
    let run = |script: &str| quoted(&Run::sh(&scratch, script).mode(Mode::Confined));
    // The line editor sets modes of its own, so the modes are read before it is there.
    let shown = "echo modes:$(stty -a | grep -o -w -e '[-]*opost' -e '[-]*isig'); stty sane";
    let mut terminal = Terminal::shell(&scratch, Mode::Bare);
    terminal.keys(&format!("{}; {shown}\n", run("stty raw")));
    terminal.see("modes:-opost -isig");
    terminal.keys(&format!("{}; {shown}\n", run("stty raw; kill -SEGV $$")));
    terminal.see("modes:opost isig");
    if Holder::under_test() != Holder::Library {
        let script = "stty raw; echo $PPID > name; mv name parent; sleep 300";
        terminal.keys(&format!("{}; {shown}\n", run(script)));
        kill_process(named(&scratch, "ws/parent"), Signal::KILL).expect("a supervisor");
        terminal.see("modes:opost isig");
    }
    // In a pipeline the modes may be another program's.
    terminal.keys(&format!("{} | cat; {shown}\n", run("stty raw; kill -SEGV $$")));
    terminal.see("modes:-opost -isig");
    terminal.keys("exit\n");
    terminal.end();
}
