//! Finds the mounts of the kernel's own file systems, and the usual place of each. `compile::second_mounts` applies the
//! policy of the usual place to all of them. The supervisor uses it, too.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::ParsedMounts;
use super::copies::joined;

/// Types of the kernel's own file systems, with the usual place of each, which policies name.
const PLACES: [(&[u8], &str); 20] = [
    (b"proc", "/proc"),
    (b"sysfs", "/sys"),
    (b"debugfs", "/sys/kernel/debug"),
    (b"tracefs", "/sys/kernel/tracing"),
    (b"securityfs", "/sys/kernel/security"),
    (b"configfs", "/sys/kernel/config"),
    (b"bpf", "/sys/fs/bpf"),
    (b"cgroup", "/sys/fs/cgroup"),
    (b"cgroup2", "/sys/fs/cgroup"),
    (b"pstore", "/sys/fs/pstore"),
    (b"resctrl", "/sys/fs/resctrl"),
    (b"selinuxfs", "/sys/fs/selinux"),
    (b"smackfs", "/sys/fs/smackfs"),
    (b"fusectl", "/sys/fs/fuse/connections"),
    (b"efivarfs", "/sys/firmware/efi/efivars"),
    (b"binfmt_misc", "/proc/sys/fs/binfmt_misc"),
    (b"nfsd", "/proc/fs/nfsd"),
    (b"devtmpfs", "/dev"),
    (b"devpts", "/dev/pts"),
    (b"mqueue", "/dev/mqueue"),
];

/// The type of file system that shows processes.
const PROCESSES: &[u8] = b"proc";

/// A mount of one of the kernel's own file systems at an unusual place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelMount {
    /// Where it is.
    pub(crate) at: PathBuf,
    /// The usual path of the same object, which policies name.
    pub(crate) usual: PathBuf,
    /// It shows processes.
    pub(crate) has_processes: bool,
    /// It shows the same file system as `/proc`.
    pub(crate) is_bound: bool,
}

impl KernelMount {
    /// Whether it numbers processes as `/proc` does. Looks at the disk.
    pub(crate) fn numbers_alike(&self) -> bool {
        // Each lists the numbers of a process from its own namespace inwards.
        let numbers = |proc: &Path| {
            let status = fs::read_to_string(proc.join("self/status")).ok()?;
            status.lines().find(|line| line.starts_with("NSpid:")).map(str::to_owned)
        };
        let proc = Path::new("/proc");
        // A mount of a part of a procfs has no `self`.
        let is_whole = self.usual == proc;
        self.is_bound || is_whole && numbers(&self.at).is_some_and(|it| Some(it) == numbers(proc))
    }
}

/// The innermost of the `mounts` that a canonical path is in, and the usual path of the same object.
pub(crate) fn usual_path<'m>(
    mounts: impl IntoIterator<Item = &'m KernelMount>,
    path: &[u8],
) -> Option<(&'m KernelMount, Vec<u8>)> {
    let below = |mount: &'m KernelMount| {
        let rest = path.strip_prefix(mount.at.as_os_str().as_bytes())?;
        matches!(rest, [] | [b'/', ..]).then_some((mount, rest))
    };
    let (mount, rest) = mounts.into_iter().filter_map(below).min_by_key(|(_, rest)| rest.len())?;
    Some((mount, [mount.usual.as_os_str().as_bytes(), rest].concat()))
}

/// Whether a file system of that type is the kernel's own. `nsfs` counts, too: it shows namespaces, not directories.
pub(super) fn is_kernel(kind: &[u8]) -> bool {
    kind == b"nsfs" || PLACES.iter().any(|(known, _)| *known == kind)
}

impl ParsedMounts<'_> {
    /// The mounts of the kernel's own file systems at unusual places.
    pub(crate) fn of_kernel(&self) -> Vec<KernelMount> {
        // A container's `/dev` is of an ordinary type.
        let devices = self.holder(Path::new("/dev")).filter(|it| it.place() == Path::new("/dev"));
        let devices = devices.map(|it| (it.device, it.root().to_owned()));
        let processes = self.holder(Path::new("/proc")).map(|it| it.device);
        let mut found = Vec::new();
        for mount in &self.all {
            let place = PLACES.iter().find(|(kind, _)| *kind == mount.kind);
            let usual = if let Some((_, place)) = place {
                let below = mount.root().strip_prefix("/").unwrap_or(Path::new(""));
                joined(Path::new(place), below)
            } else if let Some((device, root)) = &devices
                && mount.device == *device
                && let Ok(below) = mount.root().strip_prefix(root)
            {
                joined(Path::new("/dev"), below)
            } else {
                continue;
            };
            if mount.place() == usual {
                continue;
            }
            let at = mount.place().to_owned();
            let is_bound = Some(mount.device) == processes;
            found.push(KernelMount { at, usual, has_processes: mount.kind == PROCESSES, is_bound });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::mount_table::MountTable;

    fn found(lines: &str) -> Vec<(String, String)> {
        let table = MountTable { text: lines.as_bytes().to_owned() };
        let text = |path: &Path| path.display().to_string();
        let mounts = table.mounts().of_kernel();
        mounts.iter().map(|mount| (text(&mount.at), text(&mount.usual))).collect()
    }

    #[test]
    fn they_are_known_by_their_type() {
        let lines = "\
1 0 8:1 / / rw - ext4 a rw
2 1 0:5 / /proc rw - proc proc rw
3 1 0:6 / /sys rw - sysfs sysfs rw
4 1 0:7 / /dev rw - tmpfs tmpfs rw
5 1 0:8 / /w/proc rw - proc proc rw
6 1 0:5 /12/ns /w/p rw - proc proc rw
7 1 0:9 / /w/d rw - devtmpfs udev rw
8 1 0:7 /null /w/null rw - tmpfs tmpfs rw
9 1 0:4 net:[402] /run/netns/x rw - nsfs nsfs rw
";
        let expected = [
            ("/w/proc", "/proc"),
            ("/w/p", "/proc/12/ns"),
            ("/w/d", "/dev"),
            ("/w/null", "/dev/null"),
        ];
        let expected = expected.map(|(at, usual)| (at.to_owned(), usual.to_owned()));
        assert_eq!(found(lines), expected);
    }
}
