//! Tests calls that wait for others, and callers that stop waiting.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::{Ground, address, agree, c, call, said};

const READ: usize = 0;
const WRITE: usize = 1;

/// From `linux/fcntl.h` and `asm-generic/fcntl.h`.
const F_SETSIG: usize = 10;
const F_SETLEASE: usize = 1024;

#[test]
fn both_ends_of_a_fifo() {
    agree(|| {
        let name = c("fifo");
        let thread = std::thread::spawn(|| {
            let name = c("fifo");
            call(libc::SYS_open, &[address(&name), WRITE]).map(|_| 0)
        });
        let read = call(libc::SYS_open, &[address(&name), READ]).map(|_| 0);
        format!("{} {}", said(read), said(thread.join().expect("joined")))
    });
}

#[test]
fn a_fifo_without_waiting() {
    agree(|| {
        let name = c("fifo");
        let nonblocking = usize::try_from(libc::O_NONBLOCK).expect("positive");
        let write = call(libc::SYS_open, &[address(&name), WRITE | nonblocking]);
        let read = call(libc::SYS_open, &[address(&name), READ | nonblocking]).map(|_| 0);
        format!("{} {}", said(write), said(read))
    });
}

/// Many waiting calls do not keep others from being answered.
#[test]
fn one_waiter_stalls_no_other() {
    let ground = Ground::new(&[]);
    let (text, _) = ground.trapped(|| {
        let waiters: Vec<_> = (0..20)
            .map(|_| {
                std::thread::spawn(|| {
                    let name = c("fifo");
                    call(libc::SYS_open, &[address(&name), READ]).map(|_| 0)
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(50));
        let file = c("f");
        let opened = said(call(libc::SYS_open, &[address(&file), READ]).map(|_| 0));
        let fifo = c("fifo");
        let _ = call(libc::SYS_open, &[address(&fifo), WRITE]);
        let done =
            waiters.into_iter().filter_map(|waiter| waiter.join().expect("joined").ok()).count();
        format!("{opened} {done}")
    });
    assert_eq!(text, "0 20");
}

/// A signal reaches a waiting caller. The handler's flags decide whether the call begins again.
#[test]
fn signals_interrupt() {
    for restart in [false, true] {
        let ground = Ground::new(&[]);
        let (text, _) = ground.trapped(move || {
            crate::sys::trapped::handle_alarm(restart);
            crate::sys::trapped::alarm_in(Duration::from_millis(100));
            let writer = restart.then(|| {
                std::thread::spawn(|| {
                    std::thread::sleep(Duration::from_millis(400));
                    let name = c("fifo");
                    let _ = call(libc::SYS_open, &[address(&name), WRITE]);
                })
            });
            let name = c("fifo");
            let outcome = call(libc::SYS_open, &[address(&name), READ]).map(|_| 0);
            drop(writer.map(std::thread::JoinHandle::join));
            said(outcome)
        });
        let expected = if restart { "0".to_owned() } else { said(Err(libc::EINTR)) };
        assert_eq!(text, expected);
    }
}

/// Waiting for a lease on a file (`fcntl(2)`) can be interrupted like any other wait.
#[test]
fn signals_interrupt_who_waits_for_a_lease() {
    let ground = Ground::new(&[]);
    let (text, _) = ground.trapped(|| {
        crate::sys::trapped::handle_alarm(false);
        let (file, flags) = (c("f"), usize::try_from(libc::O_RDWR).expect("positive"));
        let fd = call(libc::SYS_open, &[address(&file), flags]).expect("open");
        let control = |command: usize, value: i32| {
            let arguments = [fd, command.try_into().expect("small"), value.into()];
            call(
                libc::SYS_fcntl,
                &arguments.map(|one: i64| usize::try_from(one).expect("positive")),
            )
        };
        // The signal that announces a waiting call must not end the process.
        let leased = control(F_SETSIG, libc::SIGWINCH).and(control(F_SETLEASE, libc::F_WRLCK));
        crate::sys::trapped::alarm_in(Duration::from_millis(100));
        let opened = call(libc::SYS_open, &[address(&file), flags]).map(|_| 0);
        let truncated = || {
            crate::sys::trapped::alarm_in(Duration::from_millis(100));
            call(libc::SYS_truncate, &[address(&file), 1])
        };
        format!("{} {} {}", said(leased), said(opened), said(truncated()))
    });
    let interrupted = said(Err(libc::EINTR));
    assert_eq!(text, format!("0 {interrupted} {interrupted}"));
}

/// A waiting caller may be killed.
#[test]
fn a_killed_waiter_is_gone() {
    let ground = Ground::new(&[]);
    let text = ground.trapped_while(
        || {
            std::thread::spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                let own = Pid::from_raw(std::process::id().cast_signed()).expect("a process");
                let _ = kill_process(own, Signal::KILL);
            });
            let name = c("fifo");
            said(call(libc::SYS_open, &[address(&name), READ]))
        },
        |_| {},
    );
    assert_eq!(text, "");
}

/// During a storm of signals a name is still created only once.
#[test]
fn signals_make_no_false_answers() {
    let ground = Ground::new(&[]);
    let (text, _) = ground.trapped(|| {
        crate::sys::trapped::handle_alarm(true);
        crate::sys::trapped::alarm_every(Duration::from_micros(200));
        let flags =
            usize::try_from(libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY).expect("positive");
        let wrong = (0..1500)
            .filter(|at| {
                let name = c(&format!("new{at}"));
                match call(libc::SYS_open, &[address(&name), flags, 0o600]) {
                    Ok(fd) => {
                        let _ = call(libc::SYS_close, &[usize::try_from(fd).expect("open")]);
                        false
                    }
                    Err(_) => true,
                }
            })
            .count();
        wrong.to_string()
    });
    assert_eq!(text, "0");
}

/// Even after callers are killed in the middle of calls, the supervisor answers others.
#[test]
fn killed_callers() {
    let ground = Ground::new(&[]);
    let (text, _) = ground.trapped(|| {
        for _ in 0..60 {
            crate::sys::trapped::killed_while(Duration::from_millis(3), || {
                let name = c("f");
                let _ = call(libc::SYS_chmod, &[address(&name), 0o644]);
            });
        }
        let name = c("f");
        said(call(libc::SYS_chmod, &[address(&name), 0o600]))
    });
    assert_eq!(text, "0");
}

/// If the path changes meanwhile, the caller gets one of the two files, judged.
#[test]
fn a_path_that_changes_meanwhile() {
    use jp_confine_engine::Capabilities;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

    let ground = Ground::new(&[("d", Capabilities::NONE)]);
    let (text, _) = ground.trapped(|| {
        let path: Arc<[AtomicU8; 4]> = Arc::new([b'.', b'/', b'f', 0].map(AtomicU8::new));
        let stop = Arc::new(AtomicBool::new(false));
        let (theirs, told) = (Arc::clone(&path), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                for byte in [b'd', b'f'] {
                    theirs[2].store(byte, Ordering::Relaxed);
                }
            }
        });
        let mut reached = 0;
        for _ in 0..3000 {
            let at = path.as_ptr().expose_provenance();
            if let Ok(fd) = call(libc::SYS_open, &[at, READ]) {
                let place = std::fs::read_link(format!("/proc/self/fd/{fd}")).expect("a place");
                reached += usize::from(place.ends_with("d"));
                let _ = call(libc::SYS_close, &[usize::try_from(fd).expect("open")]);
            }
        }
        stop.store(true, Ordering::Relaxed);
        let _ = thread.join();
        reached.to_string()
    });
    assert_eq!(text, "0");
}

/// Sixty-four threads at a time, and two thousand short processes.
#[test]
fn a_crowd() {
    let ground = Ground::new(&[]);
    let (text, _) = ground.trapped(|| {
        let flags =
            usize::try_from(libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY).expect("positive");
        let make = move |name: String| {
            let name = c(&name);
            let made = call(libc::SYS_open, &[address(&name), flags, 0o600])?;
            call(libc::SYS_close, &[usize::try_from(made).expect("open")])?;
            call(libc::SYS_unlink, &[address(&name)])
        };
        let threads: Vec<_> = (0..64)
            .map(|thread| {
                std::thread::spawn(move || {
                    (0..50).filter(|at| make(format!("{thread}-{at}")).is_err()).count()
                })
            })
            .collect();
        let wrong: usize = threads.into_iter().map(|thread| thread.join().expect("joined")).sum();
        let unsuccessful = (0..2000)
            .filter(|at| !crate::sys::trapped::succeeds(|| make(format!("p{at}")).is_ok()))
            .count();
        format!("{wrong} {unsuccessful}")
    });
    assert_eq!(text, "0 0");
}

/// `/dev/tty` is the caller's terminal.
#[test]
fn the_controlling_terminal() {
    agree(|| {
        let tty = c("/dev/tty");
        let none = call(libc::SYS_open, &[address(&tty), 2]).map(|_| 0);
        let both = usize::try_from(libc::O_RDWR | libc::O_NOCTTY).expect("positive");
        let multiplexer = c("/dev/ptmx");
        let Ok(master) = call(libc::SYS_open, &[address(&multiplexer), both]) else {
            return format!("{} no terminals", said(none));
        };
        let master = usize::try_from(master).expect("open");
        let unlock = 0_i32;
        let unlock_at = (&raw const unlock).expose_provenance();
        let _ = call(libc::SYS_ioctl, &[master, 0x4004_5431, unlock_at]);
        let mut number = 0_i32;
        let number_at = (&raw mut number).expose_provenance();
        let _ = call(libc::SYS_ioctl, &[master, 0x8004_5430, number_at]);
        let _ = call(libc::SYS_setsid, &[]);
        let slave = c(&format!("/dev/pts/{number}"));
        let slave = call(libc::SYS_open, &[address(&slave), both]).expect("a terminal");
        let slave = usize::try_from(slave).expect("open");
        let _ = call(libc::SYS_ioctl, &[slave, 0x540e, 0]);
        let opened = call(libc::SYS_open, &[address(&tty), 2]);
        let text = b"hello\n";
        let written = opened.and_then(|fd| {
            let at = text.as_ptr().expose_provenance();
            call(libc::SYS_write, &[usize::try_from(fd).expect("open"), at, text.len()])
        });
        let mut read = [0_u8; 5];
        let read_at = read.as_mut_ptr().expose_provenance();
        let _ = call(libc::SYS_read, &[master, read_at, read.len()]);
        format!("{} {} {}", said(none), said(written), String::from_utf8_lossy(&read))
    });
}

/// A caller that does not own `/dev/tty` gets that error first (`O_NOATIME`, `open(2)`), with or without a terminal.
#[test]
fn another_s_device() {
    agree(|| {
        const NOBODY: usize = 65534;
        let _ = call(libc::SYS_setsid, &[]);
        let _ = call(libc::SYS_setresuid, &[NOBODY, NOBODY, NOBODY]);
        let tty = c("/dev/tty");
        let open = |flags: i32| {
            let flags = usize::try_from(flags).expect("positive");
            said(call(libc::SYS_open, &[address(&tty), flags]).map(|_| 0))
        };
        format!("{} {}", open(libc::O_NOATIME), open(libc::O_RDONLY))
    });
}
