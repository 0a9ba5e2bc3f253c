//! Ways to processes outside the run that use no file: abstract sockets, and what one process of a user may do to
//! another.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_setfd};

use macro_rules_attribute::apply;

use crate::layers::{Holder, row};
use crate::layers_stress::{BOTH, Linked, assert_says, ground};
use crate::run::{Mode, Run, skip};
use crate::scratch::Scratch;

/// No rule can name a server without a path (spec §12.1). Programs reach only those of the run.
#[apply(row!)]
fn abstract_sockets() {
    if Holder::under_test() == Holder::Library {
        return skip("the library is not in programs like these");
    }
    // Programs of other tests may have inherited the listener of an earlier turn.
    let outside = format!("jp-confine-outside-{}-{:?}", std::process::id(), Holder::under_test());
    let place = SocketAddr::from_abstract_name(&outside).expect("a name");
    let listener = UnixListener::bind_addr(&place).expect("a listener");
    listener.set_nonblocking(true).expect("a flag");
    let messages = format!("{outside}-messages");
    let place = SocketAddr::from_abstract_name(&messages).expect("a name");
    let _receiver = UnixDatagram::bind_addr(&place).expect("a receiver");
    for (without, linked) in ["", "landlock:5"].into_iter().flat_map(|it| BOTH.map(|one| (it, one)))
    {
        if !without.is_empty() && Holder::under_test() == Holder::Strict {
            continue;
        }
        let scratch = ground(Scratch::new(), linked);
        let line = format!("abstract {outside} {messages} {outside}-own {outside}-none");
        let line: Vec<&str> = line.split(' ').collect();
        let run = Run::new(&scratch, "./stress", &line).env("JP_CONFINE_WITHOUT", without);
        let outcome = run.flags(&["-v"]).mode(Mode::under_test()).run();
        let refused = "outside EACCES sent EACCES own ok nobody ECONNREFUSED\n";
        assert_eq!(outcome.stdout, refused, "{linked:?} without {without}: {outcome}");
        outcome.assert_stderr(&format!("denied net @{outside} by stress"));
        outcome.assert_stderr(&format!("denied net @{messages} by stress"));
        // Nothing is connected even while the supervisor checks who listens: another thread could write meanwhile.
        assert!(listener.accept().is_err(), "connected, {linked:?} without {without}: {outcome}");
        // Nothing is connected either if the run inherits the listening socket.
        fcntl_setfd(&listener, FdFlags::empty()).expect("a flag");
        let run = Run::new(&scratch, "./stress", &line).env("JP_CONFINE_WITHOUT", without);
        let handed = run.mode(Mode::under_test()).run();
        fcntl_setfd(&listener, FdFlags::CLOEXEC).expect("a flag");
        assert_eq!(handed.stdout, refused, "{linked:?} without {without}: {handed}");
    }
}

/// Landlock isolates processes outside. Where there is no Landlock, the filter does.
#[apply(row!)]
fn other_processes_of_the_user() {
    if Holder::under_test() == Holder::Library {
        return skip("the library is not in programs like these");
    }
    let mut outsider = Command::new("sleep");
    let mut outsider = outsider.arg("60").process_group(0).spawn().expect("a process");
    for (without, strict) in [("", true), ("landlock", false)] {
        if Holder::under_test() == Holder::Strict && !strict {
            continue;
        }
        let scratch = ground(Scratch::new(), Linked::Statically);
        let run = Run::new(&scratch, "./stress", &["reach", &outsider.id().to_string()]);
        let run = run.flags(&["-v"]);
        let outcome = run.env("JP_CONFINE_WITHOUT", without).run();
        let refused = "descriptor EPERM read EPERM write EPERM limits EPERM priority EPERM group EPERM \
            processors EPERM pages EPERM join EPERM own ok ok ok ok ok trace EPERM\n";
        let as_refused = outcome.stdout == refused;
        if !as_refused {
            let _ = outsider.kill();
        }
        assert!(as_refused, "without {without}: {outcome}");
        outcome.assert_stderr(&format!("denied prlimit64 /proc/{}", outsider.id()));
        if !without.is_empty() {
            outcome.assert_stderr(&format!("denied process_vm_readv /proc/{}", outsider.id()));
        }
    }
    let _ = outsider.kill();
    let _ = outsider.wait();
}

/// Through its session's group, a process sets the priority of all others in the session (`sched(7)`).
#[apply(row!)]
fn priorities_of_the_session() {
    const GROUP: &str = "/proc/self/autogroup";
    if !Path::new(GROUP).exists() {
        return skip("the kernel has no such groups");
    }
    for linked in BOTH {
        if Holder::under_test() != Holder::Library || linked == Linked::Dynamically {
            assert_says(linked, &format!("write-to {GROUP}"), "EACCES");
        }
    }
}

/// The capabilities by which root sets the clock and reads all memory, whatever paths are granted.
#[apply(row!)]
fn capabilities_of_root() {
    const SYS_RAWIO: u32 = 17;
    const SYS_ADMIN: u32 = 21;
    const SYS_TIME: u32 = 25;
    const SYSLOG: u32 = 34;
    if Holder::under_test() == Holder::Library {
        return skip("the library alone withholds no capabilities");
    }
    let are_there = |status: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix("CapBnd:")).expect("a set");
        let bounding = u64::from_str_radix(line.trim(), 16).expect("bits");
        [SYS_RAWIO, SYS_ADMIN, SYS_TIME, SYSLOG].map(|capability| bounding >> capability & 1 == 1)
    };
    let own = std::fs::read_to_string("/proc/self/status").expect("a status");
    if !rustix::process::geteuid().is_root() || !are_there(&own).contains(&true) {
        return skip("only root has them");
    }
    let run = Run::sh(&Scratch::new(), "cat /proc/self/status").run();
    assert_eq!(are_there(&run.stdout), [false; 4], "{run}");
}
