//! Parts of the machine that have no path: the kernel's log, its events, consoles. Also the files of `/etc` that only
//! root may read.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use macro_rules_attribute::apply;

use crate::attack::{answer, arena, attacks, call};
use crate::layers::{Holder, row};
use crate::run::{Mode, Run, skip};
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

/// The test only opens it: a read would wait for the next message.
#[apply(row!)]
fn the_log_is_no_file_either() {
    if fs::File::open("/proc/kmsg").is_err() {
        return skip("the kernel denies it to this user");
    }
    for name in ["/proc/kmsg", "/proc/self/../kmsg", "/proc/thread-self/root/proc/kmsg"] {
        for shell in ["sh", "busybox sh"] {
            let scratch = arena(Scratch::new());
            let script = format!("{shell} -c 'exec 3<{name} && echo opened'");
            let run = Run::sh(&scratch, &script).run();
            assert_eq!(run.stdout, "", "{script}: {run}");
        }
    }
}

/// Ordinary users may listen to the events of devices, but the kernel does not let them send any.
#[apply(row!)]
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

/// Nothing checks whether the terminal is a console. Bare, this terminal answers that it is none.
#[apply(row!)]
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

/// A directory of settings in `/etc`, removed when dropped.
struct Settings(PathBuf);

impl Settings {
    fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("jp-confine-test-").tempdir_in("/etc");
        let path = dir.expect("a directory").keep();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        Self(path)
    }

    fn with(&self, name: &str, mode: u32) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(&path, "settings\n").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        path
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[apply(row!)]
fn root_reads_of_etc_what_others_may() {
    if !rustix::process::geteuid().is_root() {
        return skip("to others the kernel denies it");
    }
    let settings = Settings::new();
    let shown = settings.with("shown.conf", 0o644);
    let deep = settings.with("a/b/shown.conf", 0o604);
    let closed = settings.with("closed/file", 0o644);
    fs::set_permissions(settings.0.join("closed"), fs::Permissions::from_mode(0o700))
        .expect("a mode");
    let secrets = [
        settings.with("keytab", 0o600),
        settings.with("of-a-group", 0o640),
        settings.with("a/b/c/deep", 0o600),
        settings.with("write-only-to-others", 0o602),
        closed,
    ];
    let scratch = arena(Scratch::new());
    let read = |path: &Path, flags: &str| {
        let line = format!("{flags}open {}", path.display());
        answer(&call(&scratch, Mode::under_test(), &line)).to_owned()
    };
    for path in &secrets {
        assert_eq!(read(path, ""), "EACCES", "{}", path.display());
    }
    for path in [&shown, &deep] {
        assert_eq!(read(path, ""), "ok settings", "{}", path.display());
    }
    assert_eq!(read(&secrets[0], &format!("-r {} -- ", secrets[0].display())), "ok settings");
    let list = Run::sh(&scratch, &format!("ls {}", settings.0.display())).run();
    list.assert_ok();
}

/// The launcher keeps its findings for later runs of the same user. No run may change that file.
#[apply(row!)]
fn what_is_kept_of_it_is_out_of_reach() {
    if Mode::under_test() == Mode::Bare {
        return skip("nothing is kept of bare runs");
    }
    if !rustix::process::geteuid().is_root() {
        return skip("only root has it");
    }
    let scratch = arena(Scratch::new());
    let (tmp, kept) = (scratch.path("tmp"), scratch.path("tmp/jp-confine-0/private-settings"));
    let [tmp, kept_text] = [&tmp, &kept].map(|path| path.to_str().expect("UTF-8"));
    for script in [
        "rm -f KEPT; echo x >KEPT",
        "mv TMP/jp-confine-0 TMP/other && mkdir TMP/jp-confine-0 && echo x >KEPT",
        "ln -sf /etc/passwd KEPT",
    ] {
        Run::sh(&scratch, "true").run();
        let was_there = kept.exists();
        let script = script.replace("KEPT", kept_text).replace("TMP", tmp);
        let run = Run::sh(&scratch, &script).flags(&["-w", tmp]).run();
        assert_ne!(run.status.code(), Some(0), "{run}");
        assert!(!scratch.path("tmp/other").exists(), "{run}");
        // The launcher itself writes the file anew after something in `/etc` changed, as another row does.
        match fs::read_to_string(&kept) {
            Ok(text) => assert!(text.starts_with("jp-confine private settings"), "{text}\n{run}"),
            Err(_) => assert!(!was_there, "{run}"),
        }
    }
}
