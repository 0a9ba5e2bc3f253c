//! Tests that denied calls fail as with the preload library, and are recorded.

use std::fmt::Write as _;

use jp_confine_engine::Capabilities;
use jp_confine_engine::report_protocol::MAX_RECORD_BYTES;

use super::{Ground, HERE, address, c, call, every_number, said, serve, shown};
use crate::record::denial::Layer;

fn open(path: &str, flags: i32) -> String {
    let name = c(path);
    let flags = usize::try_from(flags).expect("positive");
    said(call(libc::SYS_open, &[address(&name), flags, 0o600]).map(|_| 0))
}

const NEW: i32 = libc::O_CREAT | libc::O_WRONLY;

/// Each is denied with `EACCES` and leaves one record that names the call, the missing right, and the path.
#[test]
fn every_capability() {
    let none = Capabilities::NONE;
    let ground =
        Ground::new(&[("d", none), ("full", Capabilities::READ), ("empty", Capabilities::CREATE)]);
    let (text, denials) = ground.trapped(|| {
        let two = |number, a: &str, b: &str| {
            let (a, b) = (c(a), c(b));
            said(call(number, &[address(&a), address(&b)]))
        };
        let one = |number, a: &str, more: usize| {
            let a = c(a);
            said(call(number, &[address(&a), more]))
        };
        let outcomes = [
            open("d/g", libc::O_RDONLY),
            open("ld/g", libc::O_RDONLY),
            open("full/x", libc::O_WRONLY),
            open("full/x", libc::O_RDONLY | libc::O_TRUNC),
            open("full/new", NEW),
            open("full/new/er", NEW),
            open("d/none/x", libc::O_RDONLY),
            one(libc::SYS_unlink, "full/x", 0),
            one(libc::SYS_rmdir, "d/e", 0),
            one(libc::SYS_mkdir, "full/sub", 0o700),
            one(libc::SYS_chmod, "full/x", 0o600),
            one(libc::SYS_truncate, "full/x", 0),
            one(libc::SYS_utime, "full/x", 0),
            two(libc::SYS_rename, "f", "full/f"),
            two(libc::SYS_rename, "full/x", "x"),
            two(libc::SYS_link, "full/x", "x"),
            two(libc::SYS_symlink, "x", "full/s"),
            one(libc::SYS_execve, "d/g", 0),
        ];
        outcomes.join("\n")
    });
    assert!(text.lines().all(|line| line.contains("code: 13,")), "{text}");
    let expected = [
        "open read: @/d/g",
        "open read: @/d/g",
        "open update: @/full/x",
        "open update: @/full/x",
        "open create: @/full/new",
        "open create: @/full/new/er",
        "open read: @/d/none/x",
        "unlink delete: @/full/x",
        "rmdir delete: @/d/e",
        "mkdir 0700 create: @/full/sub",
        "chmod update: @/full/x",
        "truncate update: @/full/x",
        "utime update: @/full/x",
        "rename create: @/full/f",
        "rename delete: @/full/x",
        "link create, update, delete, execute: @/full/x",
        "symlink create: @/full/s",
        "execve execute: @/d/g",
    ];
    let root = ground.path("");
    let shown: Vec<String> = shown(&denials)
        .iter()
        .map(|line| line.replace(root.to_str().expect("text"), "@"))
        .collect();
    assert_eq!(shown, expected);
    assert!(denials.iter().all(|denial| denial.layer == Layer::Supervisor && denial.pid > 1));
    let program = std::env::current_exe().expect("a program");
    assert!(denials.iter().all(|denial| denial.program == program.as_os_str().as_encoded_bytes()));
}

/// The kernel tells new from existing.
#[test]
fn only_new_and_only_existing() {
    let update = Capabilities::READ.union(Capabilities::UPDATE);
    let ground = Ground::new(&[("full", Capabilities::CREATE), ("d", update)]);
    let (text, _) = ground.trapped(|| {
        let mut text = String::new();
        for path in ["full/x", "full/new", "d/g", "d/new"] {
            let _ = writeln!(text, "{path} {}", open(path, NEW));
        }
        text
    });
    let answers: Vec<bool> = text.lines().map(|line| line.ends_with(" 0")).collect();
    assert_eq!(answers, [false, true, true, false], "{text}");
}

/// Data of other processes stays hidden, whatever the policy grants in `/proc`.
#[test]
fn secrets_of_the_supervisor() {
    let mut ground = Ground::new(&[]);
    ground.grant(std::path::Path::new("/proc"), Capabilities::ALL);
    let own = std::process::id();
    let (text, _) = ground.trapped(|| {
        let mut text = String::new();
        for name in ["mem", "environ", "maps", "ns/net", "fd/0", "root/etc/passwd"] {
            let _ = writeln!(text, "{}", open(&format!("/proc/{own}/{name}"), libc::O_RDONLY));
        }
        text
    });
    assert!(text.lines().all(|line| line != "0"), "{text}");
}

/// The caller's own process is itself under every name.
#[test]
fn own_process() {
    let ground = Ground::new(&[]);
    let (text, denials) = ground.trapped(|| {
        let pid = std::process::id();
        let mut text = String::new();
        for path in
            ["/proc/self", "/proc/thread-self", &format!("/proc/{pid}"), "/proc/mounts/../self"]
        {
            let _ = writeln!(text, "{}", open(&format!("{path}/comm"), libc::O_WRONLY));
        }
        let own = std::fs::read_to_string("/proc/self/status").expect("read");
        let _ = writeln!(text, "{}", i32::from(!own.contains(&format!("Pid:\t{pid}\n"))));
        text
    });
    let answers: Vec<bool> = text.lines().map(|line| line == "0").collect();
    assert_eq!(answers, [true, true, true, false, true], "{text} {:?}", shown(&denials));
}

/// However often a program is denied, denials that do not fit are counted.
#[test]
fn full_record() {
    let ground = Ground::new(&[]);
    let (record, supervisor) = ground.supervisor(false);
    record.as_file().set_len(MAX_RECORD_BYTES + 1).expect("long");
    let refuse = || said(call(libc::SYS_chroot, &[address(&c("d"))]));
    let text = ground.enter(
        &every_number(),
        |listener, _| serve(&supervisor, listener),
        || [refuse(), refuse(), refuse()].join("\n"),
    );
    assert!(text.lines().all(|line| line.contains("code: 1,")), "{text}");
    let length = record.as_file().metadata().expect("there").len();
    assert_eq!((supervisor.unrecorded(), length), (3, MAX_RECORD_BYTES + 1));
}

/// Devices are denied as by the kernel, and reported. The whiteout of overlay filesystems is no device.
#[test]
fn devices() {
    let ground = Ground::new(&[]);
    let (text, denials) = ground.trapped(|| {
        let made = |name: &str, mode: u32, device: usize| {
            let name = c(name);
            said(call(libc::SYS_mknod, &[address(&name), mode as usize, device]))
        };
        let null = 0x103;
        let outcomes = [
            made("null", libc::S_IFCHR | 0o600, null),
            made("d/block", libc::S_IFBLK | 0o600, 0),
            made("whiteout", libc::S_IFCHR | 0o600, 0),
        ];
        outcomes.join("\n")
    });
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[..2].iter().all(|line| line.contains("code: 1,")), "{text}");
    assert_eq!(lines[2], "0");
    let told: Vec<bool> = [("null", 0), ("d/block", 1)]
        .iter()
        .map(|&(name, at)| {
            shown(&denials)[at].ends_with(&format!("{}", ground.path(name).display()))
        })
        .collect();
    assert_eq!((denials.len(), told), (2, vec![true, true]), "{:?}", shown(&denials));
}

/// Calls that no program may make are reported like all other denials.
#[test]
fn refused_whole() {
    let ground = Ground::new(&[]);
    let (text, denials) = ground.trapped(|| {
        let (d, kind) = (c("d"), c("tmpfs"));
        let own = usize::try_from(std::process::id()).expect("a number");
        let calls: [(i64, &[usize]); 10] = [
            (libc::SYS_mount, &[address(&kind), address(&d), address(&kind)]),
            (libc::SYS_chroot, &[address(&d)]),
            (libc::SYS_move_mount, &[0, 0, HERE, address(&d)]),
            (libc::SYS_acct, &[0]),
            (libc::SYS_fsopen, &[address(&kind)]),
            (libc::SYS_ptrace, &[libc::PTRACE_ATTACH as usize, own]),
            (libc::SYS_process_madvise, &[0]),
            (libc::SYS_bpf, &[0]),
            (libc::SYS_perf_event_open, &[0, usize::MAX, 0]),
            (libc::SYS_perf_event_open, &[0, 0, 0, 0, 4]),
        ];
        calls.map(|(number, arguments)| said(call(number, arguments))).join("\n")
    });
    assert!(text.lines().all(|line| line.contains("code: 1,")), "{text}");
    let root = ground.path("");
    let own = denials.first().map_or(0, |denial| denial.pid);
    let shown: Vec<String> = shown(&denials)
        .iter()
        .map(|line| line.replace(root.to_str().expect("text"), "@"))
        .map(|line| line.replace(&own.to_string(), "PID"))
        .collect();
    let expected = [
        "mount nothing: @/d",
        "chroot nothing: @/d",
        "move_mount nothing: @/d",
        "acct nothing: /",
        "fsopen nothing: /",
        "ptrace nothing: /proc/PID",
        "process_madvise nothing: /proc",
        "bpf nothing: /",
        "perf_event_open nothing: /proc",
        "perf_event_open nothing: /proc",
    ];
    assert_eq!(shown, expected);
}
