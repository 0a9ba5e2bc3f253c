//! What is the machine's and has no path of its own: the kernel's log and its events, and consoles.

use crate::attack::{answer, arena, attacks, call};
use crate::layers::Holder;
use crate::run::{Mode, skip};
use crate::scratch::Scratch;

attacks! {
    log_all: "", "klog 3" => "EPERM";
    log_size: "", "klog 10" => "EPERM";
    log_unread: "", "klog 9" => "EPERM";
    log_level: "", "klog 7" => "EPERM";
    log_all_by_number: "", "syslog 3" => "EPERM";
    log_size_by_number: "", "syslog 10" => "EPERM";
    log_whatever_is_granted: "", "-r /dev -- klog 10" => "EPERM";
}

/// Ordinary users may listen to those of devices, and the kernel lets them say nothing.
#[test]
fn root_hears_and_tells_nothing_as_the_kernel() {
    if Holder::under_test() == Holder::Library || !rustix::process::geteuid().is_root() {
        return skip("only the filter sees sockets, and only root could speak");
    }
    for protocol in [libc::NETLINK_KOBJECT_UEVENT, libc::NETLINK_CONNECTOR] {
        let scratch = arena(Scratch::new());
        let confined = call(&scratch, Mode::under_test(), &format!("events {protocol}"));
        assert_eq!(answer(&confined), "EPERM", "{confined}");
        confined.assert_stderr("as it touches the machine");
    }
    let scratch = arena(Scratch::new());
    let routes = call(&scratch, Mode::under_test(), &format!("events {}", libc::NETLINK_ROUTE));
    assert_eq!(answer(&routes), "ok", "{routes}");
}

/// Whether the terminal is a console is looked at by nobody: bare, this one says that it is none.
#[test]
fn no_console_gets_keys_or_modes() {
    if Holder::under_test() == Holder::Library {
        return skip("only the filter sees commands");
    }
    for command in ["4b47", "4b49", "4b63", "4b3a", "4b72", "4bfb", "5606", "560b", "541d"] {
        let scratch = arena(Scratch::new());
        let confined = call(&scratch, Mode::under_test(), &format!("ioctl /dev/ptmx {command}"));
        assert_eq!(answer(&confined), "EPERM", "{command}: {confined}");
    }
    let scratch = arena(Scratch::new());
    let told = call(&scratch, Mode::under_test(), "ioctl /dev/ptmx 4b46");
    assert_eq!(answer(&told), "errno 25", "only asked: {told}");
}
