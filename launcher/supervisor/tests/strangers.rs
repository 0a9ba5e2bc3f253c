//! Tests a caller that became another user without executing anything. Only itself can see its entries in `/proc`.

use std::fmt::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

use super::caller::{become_stranger, is_root};
use super::programs::{run, script};
use super::resolve::by_absolute_links;
use super::{HERE, address, agree, c, call, said};

/// As [`agree`], for calls by such a caller in a directory where everybody may do everything.
fn agree_with_stranger(body: impl Fn() -> String) {
    if !is_root() {
        return;
    }
    agree(|| {
        let open = c("open");
        call(libc::SYS_mkdir, &[address(&open), 0]).expect("made");
        call(libc::SYS_chmod, &[address(&open), 0o777]).expect("set");
        let here = std::env::current_dir().expect("there");
        std::os::unix::fs::symlink(here.join("open"), "way").expect("linked");
        become_stranger();
        body()
    });
}

/// Uses names in this directory in many ways.
fn work_in(directory: &str) -> String {
    let names = ["new", "sub", "other", "third", "socket"];
    let paths = names.map(|name| format!("{directory}/{name}"));
    let [new, sub, other, third, _] = paths.each_ref().map(|path| c(path));
    let [new, sub, other, third] = [&new, &sub, &other, &third].map(address);
    let create = usize::try_from(libc::O_CREAT | libc::O_RDWR).expect("positive");
    let made = call(libc::SYS_open, &[new, create, 0o600]);
    if let Ok(fd) = made {
        let _ = call(libc::SYS_close, &[usize::try_from(fd).expect("positive")]);
    }
    let mut text = format!("{}\n", said(made.map(|_| 0)));
    for outcome in [
        call(libc::SYS_chmod, &[new, 0o640]),
        call(libc::SYS_truncate, &[new, 7]),
        call(libc::SYS_utimensat, &[HERE, new, 0, 0]),
        call(libc::SYS_mkdir, &[sub, 0o700]),
        call(libc::SYS_rmdir, &[sub]),
        call(libc::SYS_link, &[new, other]),
        call(libc::SYS_rename, &[other, third]),
        call(libc::SYS_unlink, &[third]),
        call(libc::SYS_unlink, &[new]),
    ] {
        let _ = writeln!(text, "{}", said(outcome));
    }
    let socket = &paths[4];
    let listener = UnixListener::bind(socket);
    let errors = [
        listener.as_ref().err().and_then(std::io::Error::raw_os_error),
        UnixStream::connect(socket).err().and_then(|error| error.raw_os_error()),
    ];
    let _ = std::fs::remove_file(socket);
    let messages = UnixDatagram::bind(socket);
    let sent = UnixDatagram::unbound().and_then(|from| from.send_to(b"a", socket));
    let _ = std::fs::remove_file(socket);
    let _ = writeln!(text, "{errors:?} {} {:?}", messages.is_ok(), sent.ok());
    text
}

#[test]
fn paths_by_absolute_links_and_the_names_of_itself() {
    agree_with_stranger(|| {
        let held = std::fs::File::open("open").expect("open");
        let (own, fd) = (std::process::id(), held.as_raw_fd());
        let here = std::env::current_dir().expect("there").display().to_string();
        [
            "open".to_owned(),
            "way".to_owned(),
            "/proc/self/cwd/open".to_owned(),
            "/proc/thread-self/cwd/way".to_owned(),
            format!("/proc/self/task/{own}/cwd/open"),
            format!("/proc/{own}/cwd/open"),
            format!("/proc/self/root{here}/open"),
            format!("/proc/self/fd/{fd}"),
            format!("/proc/{own}/fd/{fd}"),
            format!("/dev/fd/{fd}"),
            // It sees no more of other processes than before.
            "/proc/1/cwd/tmp".to_owned(),
        ]
        .map(|directory| work_in(&directory))
        .concat()
    });
}

#[test]
fn resolve_flags() {
    agree_with_stranger(by_absolute_links);
}

#[test]
fn programs_with_an_interpreter() {
    agree_with_stranger(|| {
        script("open/s".as_ref(), "#!/bin/sh\necho script $0 $1\n");
        script("open/nested".as_ref(), "#!open/s\n");
        ["/bin/echo", "open/s", "open/nested", "way/s"].map(run).concat()
    });
}
