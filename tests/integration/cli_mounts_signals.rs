//! Signals while mounts are created or taken back. Afterwards symlink and approval both exist, or neither does (spec
//! §8.3, §8.4).

use std::fs::{self, File};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::cli_mounts::{approved, link, say};
use crate::cli_status::product;
use crate::policy_externals::store;
use crate::run::{Mode, Run, have};
use crate::scratch::Scratch;
use crate::terminal::{Terminal, quoted};

const MOUNT: [&str; 2] = ["--mount", "fork=../out/dir"];

/// A workspace that has another mount.
fn place() -> Option<Scratch> {
    let scratch = have("script").then(Scratch::new)?;
    say(&scratch, "--mount other=../out/dir -- true").assert_ok();
    Some(scratch)
}

/// Starts `line` in a terminal, where a person says yes if it `asks`. Sends the `signal` as soon as the symlink `fork`
/// exists, or no longer does. By then the launcher waits for the store. Returns the exit status.
fn interrupt(scratch: &Scratch, line: &[&str], asks: bool, signal: Signal, linked: bool) -> i32 {
    let lock = File::open(store(scratch).with_extension("lock")).expect("a lock");
    lock.lock().expect("locked");
    let script = format!("echo $$ > pid; exec {}", quoted(&product(scratch, line)));
    let mut terminal = Terminal::start(&Run::sh(scratch, &script).mode(Mode::Bare));
    if asks {
        terminal.see("[y/N] ");
        terminal.keys("y\n");
        await_link(scratch, true);
    }
    await_link(scratch, linked);
    let pid = scratch.read("ws/pid").trim().parse().ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a pid"), signal).expect("a run");
    thread::sleep(Duration::from_millis(50));
    drop(lock);
    terminal.end().expect("a status")
}

fn await_link(scratch: &Scratch, linked: bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while link(scratch, "fork").is_some() != linked {
        assert!(Instant::now() < end, "the link is not as expected");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_signal_finds_link_and_approval_or_neither() {
    let Some(scratch) = place() else { return };
    let program = ["--", "touch", "ran"];
    for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
        let died = 128 + signal.as_raw();
        let made = [&MOUNT[..], &program].concat();
        assert_eq!(interrupt(&scratch, &made, true, signal, true), died);
        assert_eq!(link(&scratch, "fork").as_deref(), Some("dir"));
        assert_eq!(approved(&scratch), "other=dir fork=dir");
        let removed = [&["--no-mount=fork"][..], &program].concat();
        assert_eq!(interrupt(&scratch, &removed, false, signal, false), died);
        assert_eq!((link(&scratch, "fork"), approved(&scratch)), (None, "other=dir".to_owned()));
    }
    assert!(!scratch.path("ws/ran").exists());
    let store = store(&scratch);
    let kept = fs::read_dir(store.parent().expect("a folder")).expect("listed");
    assert_eq!(kept.count(), 3, "the approvals and their lock, and the last run");
}

/// If a run fails, its approval is taken back, even if a signal interrupts that.
#[test]
fn a_signal_finds_what_fails_taken_back() {
    let Some(scratch) = place() else { return };
    let line = [&MOUNT[..], &["--profile", "no-such-profile", "--", "true"]].concat();
    assert_eq!(interrupt(&scratch, &line, true, Signal::TERM, false), 128 + Signal::TERM.as_raw());
    assert_eq!(approved(&scratch), "other=dir");
}
