//! Tests that allowed calls get the kernel's own answer.

use std::fmt::Write as _;
use std::time::Duration;

use rustix::fs::UTIME_OMIT;

use super::{HERE, address, agree, c, call, said};

const PATHS: [&str; 33] = [
    "f",
    "d",
    "l",
    "dangling",
    "dangling-slash",
    "loop",
    "ld",
    "ld/g",
    "ld/up",
    "al",
    "none",
    "none/x",
    "f/x",
    "f/",
    "d/",
    "ld/",
    "lds",
    "l/",
    "./f",
    "d/../f",
    "ld/../f",
    "",
    ".",
    "..",
    "d/.",
    "d//e///",
    "new",
    "ld/new",
    "new/",
    "/",
    "/proc/self/status",
    "/dev/null",
    "input",
];

/// Those of them where nothing may be created.
const OUTSIDE: [&str; 4] = ["/", "..", "/dev/null", "/proc/self/status"];

/// Describes a descriptor, and closes it.
pub(super) fn described(outcome: Result<i64, i32>) -> String {
    let Ok(fd) = outcome else { return said(outcome) };
    let number = usize::try_from(fd).expect("a descriptor");
    // The lowest free number is always the same here, so a leaked descriptor shifts it.
    let next = call(libc::SYS_dup, &[0]).expect("a descriptor");
    let _ = call(libc::SYS_close, &[usize::try_from(next).expect("a descriptor")]);
    let lowest = if fd < next { "lowest" } else { "not the lowest" };
    // A pinned object is opened anew, which cannot be done with `O_NOFOLLOW`.
    let flags =
        call(libc::SYS_fcntl, &[number, 3]).map(|flags| flags & !i64::from(libc::O_NOFOLLOW));
    let flags = said(flags);
    let closes = said(call(libc::SYS_fcntl, &[number, 1]));
    let place = std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap_or_default();
    let place = place.to_string_lossy().into_owned();
    let place = if place.starts_with("/proc/") { "/proc/…".to_owned() } else { place };
    let place = if place.contains("/#") { "unnamed".to_owned() } else { place };
    let _ = call(libc::SYS_close, &[number]);
    format!("{lowest} {flags} {closes} {place}")
}

fn word(flags: i32) -> usize {
    usize::try_from(flags).expect("positive")
}

#[test]
fn open_with_every_flag() {
    const FLAGS: [i32; 20] = [
        libc::O_RDONLY,
        libc::O_RDONLY | libc::O_CLOEXEC,
        libc::O_WRONLY,
        libc::O_RDWR | libc::O_APPEND,
        libc::O_RDONLY | libc::O_DIRECTORY,
        libc::O_RDONLY | libc::O_NOFOLLOW,
        libc::O_PATH,
        libc::O_PATH | libc::O_NOFOLLOW,
        libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC,
        libc::O_PATH | libc::O_CREAT | libc::O_EXCL,
        libc::O_TMPFILE | libc::O_RDWR,
        libc::O_TMPFILE | libc::O_RDONLY,
        libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY,
        libc::O_CREAT | libc::O_DIRECTORY,
        libc::O_CREAT | libc::O_NOFOLLOW | libc::O_WRONLY,
        libc::O_CREAT | libc::O_RDWR,
        libc::O_RDONLY | libc::O_TRUNC | libc::O_NONBLOCK,
        libc::O_CREAT | libc::O_TRUNC | libc::O_WRONLY | libc::O_CLOEXEC,
        libc::O_RDONLY | libc::O_NOATIME | libc::O_SYNC,
        3,
    ];
    for flags in FLAGS {
        agree(|| {
            let mut text = String::new();
            let writes = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_TMPFILE;
            let reads = flags & writes & !libc::O_DIRECTORY == 0;
            let outside: &[&str] = if flags & libc::O_EXCL == 0 { &["/", ".."] } else { &OUTSIDE };
            for path in PATHS.iter().filter(|path| reads || !outside.contains(path)) {
                let name = c(path);
                let outcome = call(libc::SYS_open, &[address(&name), word(flags), 0o640]);
                let _ = writeln!(text, "{flags:o} {path}: {}", described(outcome));
            }
            text
        });
    }
}

#[test]
fn openat_relative_to_descriptors() {
    agree(|| {
        let mut text = String::new();
        let dir = std::fs::File::open("d").expect("open");
        let file = std::fs::File::open("f").expect("open");
        let fds = [
            std::os::fd::AsRawFd::as_raw_fd(&dir),
            std::os::fd::AsRawFd::as_raw_fd(&file),
            -1,
            999,
        ];
        for fd in fds {
            for path in ["g", "../f", "up", "none", "", "/dev/null", "e/new"] {
                let name = c(path);
                let fd = (fd as isize).cast_unsigned();
                let outcome = call(libc::SYS_openat, &[fd, address(&name), word(libc::O_RDONLY)]);
                let _ = writeln!(text, "{path}: {}", described(outcome));
            }
        }
        for wrong in [0, 1, usize::MAX, 0xffff_8000_0000_0000] {
            let _ = writeln!(text, "{}", said(call(libc::SYS_openat, &[HERE, wrong, 0])));
        }
        let long = c(&"a/".repeat(3000));
        let _ = writeln!(text, "{}", said(call(libc::SYS_openat, &[HERE, address(&long), 0])));
        let long = c(&"a".repeat(300));
        let _ = writeln!(text, "{}", said(call(libc::SYS_openat, &[HERE, address(&long), 0])));
        text
    });
}

#[test]
fn openat2_with_every_resolve_flag() {
    agree(|| {
        let mut text = String::new();
        let dir = std::fs::File::open("d").expect("open");
        let dir = std::os::fd::AsRawFd::as_raw_fd(&dir).unsigned_abs() as usize;
        let flags = [libc::O_RDONLY, libc::O_CREAT | libc::O_RDWR];
        let flags = [&flags[..], &[libc::O_CREAT | libc::O_EXCL]].concat();
        let paths = [
            "g",
            "up",
            "../f",
            "none",
            "e/../g",
            "new",
            "/proc/self/status",
            "g/",
            "new/",
            "e",
            "e/.",
            "../ld/up",
            "../dangling",
            "../dangling/",
            "../dangling-slash",
            "../loop",
            "nowhere/x",
            "there",
        ];
        std::os::unix::fs::symlink("e/beyond", "d/there").expect("linked");
        for resolve in [0_u64, 1, 2, 4, 8, 16, 0x20, 0x40] {
            for flags in &flags {
                if resolve == 0x20 && flags & libc::O_CREAT == 0 {
                    // The result depends on the kernel's cache.
                    continue;
                }
                for path in paths {
                    if path.starts_with("/proc") && (resolve == 2 || flags & libc::O_EXCL != 0) {
                        // Nothing may be created there, and the kernel's `self` is the process that asks.
                        continue;
                    }
                    for made in ["none", "d/e/beyond", "d/l"] {
                        let _ = std::fs::remove_file(made);
                    }
                    let name = c(path);
                    let mode = if flags & libc::O_CREAT == 0 { 0 } else { 0o600 };
                    let how = [u64::from(flags.unsigned_abs()), mode, resolve];
                    let how = how.as_ptr().expose_provenance();
                    let opened = || call(libc::SYS_openat2, &[dir, address(&name), how, 24]);
                    // Any rename on the machine meanwhile makes a `..` unsure (openat2(2), EAGAIN).
                    let is_unsure =
                        |outcome: &_| *outcome == Err(libc::EAGAIN) && resolve & 0x18 != 0;
                    let mut outcomes = std::iter::repeat_with(opened);
                    let outcome = outcomes.find(|outcome| !is_unsure(outcome)).expect("some time");
                    let _ = writeln!(text, "{resolve} {flags:o} {path}: {}", described(outcome));
                }
            }
        }
        let name = c("g");
        for (how, size) in [
            ([0, 0, 0, 0], 32),
            ([0, 0, 0, 1], 32),
            ([0, 0, 0, 0], 16),
            ([0, 0o600, 0, 0], 24),
            ([u64::MAX, 0, 0, 0], 24),
            ([1 << 30, 0, 0, 0], 24),
            ([0, 0, 0, 0], 5000),
        ] {
            let how: [u64; 4] = how;
            let at = how.as_ptr().expose_provenance();
            let outcome = call(libc::SYS_openat2, &[dir, address(&name), at, size]);
            let _ = writeln!(text, "{how:?} {size}: {}", described(outcome));
        }
        text
    });
}

#[test]
fn entries_are_made_and_removed() {
    let dir = usize::try_from(libc::AT_REMOVEDIR).expect("positive");
    agree(|| {
        let mut text = String::new();
        for path in PATHS.iter().filter(|path| !OUTSIDE.contains(path)) {
            let name = c(path);
            let at = address(&name);
            let target = c("anywhere");
            let others = ["d/..", "d/.", "/"].map(c);
            let [above, itself, root] = others.each_ref().map(address);
            let calls = [
                ("unlink", call(libc::SYS_unlink, &[at])),
                ("rmdir", call(libc::SYS_unlinkat, &[HERE, at, dir])),
                ("mkdir", call(libc::SYS_mkdir, &[at, 0o777])),
                ("mkdirat", call(libc::SYS_mkdirat, &[HERE, at, 0o1750])),
                ("rmdir", call(libc::SYS_rmdir, &[at])),
                ("symlink", call(libc::SYS_symlink, &[address(&target), at])),
                ("unlinkat", call(libc::SYS_unlinkat, &[HERE, at, 0])),
                ("mknod", call(libc::SYS_mknod, &[at, 0o100_666, 0])),
                ("mknodat", call(libc::SYS_mknodat, &[HERE, at, 0o10_666, 0])),
                ("unlinkat", call(libc::SYS_unlinkat, &[HERE, at, 7])),
                ("above", call(libc::SYS_unlinkat, &[HERE, above, dir])),
                ("itself", call(libc::SYS_unlinkat, &[HERE, itself, dir])),
                ("root", call(libc::SYS_unlinkat, &[HERE, root, dir])),
                ("unlink", call(libc::SYS_unlink, &[above])),
            ];
            for (what, outcome) in calls {
                let _ = writeln!(text, "{what} {path}: {}", said(outcome));
            }
        }
        text
    });
}

#[test]
fn entries_are_renamed_and_linked() {
    let paths = [
        "f", "d", "l", "ld", "dangling", "none", "empty", "full", "d/", "new/", ".", "none/x",
        "d/e/in",
    ];
    agree(|| {
        let mut text = String::new();
        for from in paths {
            for to in paths {
                let (old, new) = (c(from), c(to));
                let (old, new) = (address(&old), address(&new));
                let pair = [HERE, old, HERE, new];
                let with = |flags| [HERE, old, HERE, new, flags];
                let calls = [
                    ("link", call(libc::SYS_link, &[old, new])),
                    ("linkat", call(libc::SYS_linkat, &with(0x400))),
                    ("unlink", call(libc::SYS_unlink, &[new])),
                    ("noreplace", call(libc::SYS_renameat2, &with(1))),
                    ("exchange", call(libc::SYS_renameat2, &with(2))),
                    ("wrong", call(libc::SYS_renameat2, &with(3))),
                    ("rename", call(libc::SYS_rename, &[old, new])),
                    ("renameat", call(libc::SYS_renameat, &pair)),
                ];
                for (what, outcome) in calls {
                    let _ = writeln!(text, "{what} {from} {to}: {}", said(outcome));
                }
            }
        }
        text
    });
}

#[test]
fn attributes_are_set() {
    let paths: Vec<&str> = PATHS
        .into_iter()
        .filter(|path| !["/", "..", "/dev/null", "input"].contains(path))
        .collect();
    agree(|| {
        let mut text = String::new();
        let times: [i64; 4] = [1000, 5, 2000, 6];
        let times = times.as_ptr().expose_provenance();
        let omitted: [i64; 4] = [0, UTIME_OMIT, 0, UTIME_OMIT];
        let omitted = omitted.as_ptr().expose_provenance();
        let name = c("user.x");
        let (name, value) = (address(&name), address(&name));
        let of_file = c("security.capability");
        let of_file = address(&of_file);
        let mut room = [0_u8; 8];
        let room = room.as_mut_ptr().expose_provenance();
        let none = usize::MAX >> 32;
        for path in &paths {
            let text_of = c(path);
            let at = address(&text_of);
            let calls = [
                ("truncate", call(libc::SYS_truncate, &[at, 3])),
                ("chmod", call(libc::SYS_chmod, &[at, 0o751])),
                ("fchmodat2", call(452, &[HERE, at, 0o750, 0x100])),
                ("chown", call(libc::SYS_chown, &[at, none, none])),
                ("lchown", call(libc::SYS_lchown, &[at, none, none])),
                ("fchownat", call(libc::SYS_fchownat, &[HERE, at, none, none, 0x100])),
                ("fchownat", call(libc::SYS_fchownat, &[HERE, at, none, none, 0x4000])),
                ("utime", call(libc::SYS_utime, &[at, times])),
                ("utimes", call(libc::SYS_utimes, &[at, times])),
                ("utimensat", call(libc::SYS_utimensat, &[HERE, at, 0, 0x100])),
                ("utimensat", call(libc::SYS_utimensat, &[HERE, at, times, 0x200])),
                ("utimensat", call(libc::SYS_utimensat, &[HERE, at, omitted, 0])),
                ("futimesat", call(libc::SYS_futimesat, &[HERE, at, times])),
                ("setxattr", call(libc::SYS_setxattr, &[at, name, value, 3, 0])),
                ("setxattr", call(libc::SYS_setxattr, &[at, name, value, 3, 1])),
                ("lsetxattr", call(libc::SYS_lsetxattr, &[at, name, value, 70000, 0])),
                ("getxattr", call(libc::SYS_getxattr, &[at, name, room, 8])),
                ("getxattr", call(libc::SYS_getxattr, &[at, name, room, 2])),
                ("getxattr", call(libc::SYS_getxattr, &[at, name, 0, 0])),
                ("getxattr", call(libc::SYS_getxattr, &[at, name, 8, 8])),
                ("getxattr", call(libc::SYS_getxattr, &[at, of_file, room, 8])),
                ("lgetxattr", call(libc::SYS_lgetxattr, &[at, name, room, 100_000])),
                ("lgetxattr", call(libc::SYS_lgetxattr, &[at, at, room, 8])),
                ("removexattr", call(libc::SYS_removexattr, &[at, name])),
                ("lremovexattr", call(libc::SYS_lremovexattr, &[at, at])),
            ];
            for (what, outcome) in calls {
                let _ = writeln!(text, "{what} {path}: {}", said(outcome));
            }
            let modified = std::fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
            let set =
                modified.is_ok_and(|time| time < std::time::UNIX_EPOCH + Duration::from_secs(9999));
            let _ = writeln!(text, "{path}: {set}");
        }
        text
    });
}

#[test]
fn descriptors_are_changed() {
    agree(|| {
        let mut text = String::new();
        let open = |path: &str, flags: i32| {
            let name = c(path);
            call(libc::SYS_open, &[address(&name), word(flags)]).expect("open")
        };
        let mut pipe = [0_i32; 2];
        let pipe_at = pipe.as_mut_ptr().expose_provenance();
        call(libc::SYS_pipe2, &[pipe_at, 0]).expect("a pipe");
        let fds = [
            open("f", libc::O_RDONLY),
            open("d", libc::O_RDONLY),
            open("f", libc::O_PATH),
            open("l", libc::O_PATH | libc::O_NOFOLLOW),
            i64::from(pipe[0]),
            999,
            -1,
        ];
        let times: [i64; 4] = [1000, 5, 2000, 6];
        let times = times.as_ptr().expose_provenance();
        let name = c("user.x");
        let name = address(&name);
        let empty = c("");
        let empty = address(&empty);
        let none = usize::MAX >> 32;
        for (number, fd) in fds.into_iter().enumerate() {
            let fd = usize::try_from(fd & 0xffff_ffff).expect("a word");
            let new = c(&format!("linked{number}"));
            let calls = [
                ("fchmod", call(libc::SYS_fchmod, &[fd, 0o711])),
                ("fchown", call(libc::SYS_fchown, &[fd, none, none])),
                ("futimens", call(libc::SYS_utimensat, &[fd, 0, times, 0])),
                ("futimens", call(libc::SYS_utimensat, &[fd, 0, times, 0x100])),
                ("utimensat", call(libc::SYS_utimensat, &[fd, empty, times, 0x1000])),
                ("fchownat", call(libc::SYS_fchownat, &[fd, empty, none, none, 0x1000])),
                ("fchmodat2", call(452, &[fd, empty, 0o700, 0x1000])),
                ("fsetxattr", call(libc::SYS_fsetxattr, &[fd, name, name, 3, 0])),
                ("fremovexattr", call(libc::SYS_fremovexattr, &[fd, name])),
                ("linkat", call(libc::SYS_linkat, &[fd, empty, HERE, address(&new), 0x1000])),
            ];
            for (what, outcome) in calls {
                let _ = writeln!(text, "{what} {number}: {}", said(outcome));
            }
        }
        text
    });
}

#[test]
fn files_are_watched() {
    agree(|| {
        let mut text = String::new();
        let queue = call(libc::SYS_inotify_init1, &[0]).expect("a queue");
        let queue = usize::try_from(queue).expect("a descriptor");
        for (path, mask) in [("f", 0xfff), ("d", 0x100), ("l", 0x0200_0fff), ("none", 2), ("f", 0)]
        {
            let name = c(path);
            let outcome = call(libc::SYS_inotify_add_watch, &[queue, address(&name), mask]);
            let _ = writeln!(text, "{path}: {}", said(outcome));
        }
        let name = c("f");
        let _ =
            writeln!(text, "{}", said(call(libc::SYS_inotify_add_watch, &[0, address(&name), 2])));
        text
    });
}

/// The kernel reserves the descriptor first. So a call that fails for lack of one has created and truncated nothing.
#[test]
fn a_full_table_is_full() {
    agree(|| {
        let flags = |flags: i32| usize::try_from(flags).expect("positive");
        let limit = |most: u64| {
            let limit = [most; 2];
            let at = limit.as_ptr().expose_provenance();
            call(libc::SYS_prlimit64, &[0, 7, at, 0]).expect("set");
        };
        let (file, new) = (c("f"), c("new"));
        let open = || call(libc::SYS_open, &[address(&file), 0]);
        let first = open().ok().and_then(|first| u64::try_from(first).ok()).expect("a descriptor");
        limit(first + 10);
        let mut text = format!("{:?}", (0..20).find_map(|_| open().err()));
        let make = || {
            let how = flags(libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY);
            call(libc::SYS_open, &[address(&new), how, 0o600])
        };
        let (here, queue) = (c("."), c("jp-confine-no-room"));
        let (queued, unnamed) =
            (flags(libc::O_CREAT | libc::O_RDWR), flags(libc::O_TMPFILE | libc::O_RDWR));
        let how: [u64; 3] = [0o102, 0o600, 0];
        let at_how = how.as_ptr().expose_provenance();
        for outcome in [
            make(),
            call(libc::SYS_open, &[address(&file), flags(libc::O_WRONLY | libc::O_TRUNC)]),
            call(libc::SYS_open, &[address(&here), unnamed, 0o600]),
            call(libc::SYS_openat2, &[HERE, address(&new), at_how, 24]),
            call(libc::SYS_mq_open, &[address(&queue), queued, 0o600, 0]),
        ] {
            let _ = writeln!(text, "{}", said(outcome));
        }
        limit(first + 1);
        let _ = writeln!(text, "lowered: {}", said(make()));
        call(libc::SYS_close, &[usize::try_from(first).expect("a descriptor")]).expect("closed");
        let _ = writeln!(text, "below: {}", make().is_ok());
        text
    });
}
