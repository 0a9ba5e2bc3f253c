//! Reads which file systems are mounted where (`proc_pid_mountinfo(5)`). Used by `compile`, which applies the same
//! policy to an object wherever it is mounted.

mod copies;
pub(crate) mod elsewhere;
pub(crate) mod kernel;
mod line;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use jp_confine_engine::canonical;

pub(crate) use self::kernel::KernelMount;
use self::line::Mount;

/// More bytes than the table has on most machines.
const USUAL: usize = 16 * 1024;

/// The mounts that this process sees, as the kernel lists them.
#[derive(Debug, Default)]
pub(crate) struct MountTable {
    text: Vec<u8>,
}

/// Another place at which a mount shows an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    /// Where the mount shows it.
    pub(crate) at: PathBuf,
    /// The path that was asked about, or one below it if the mount shows only a part.
    pub(crate) of: PathBuf,
}

impl MountTable {
    /// Reads the table. It is empty if `/proc` is missing: then no mounts are known.
    pub(crate) fn read() -> Self {
        let read = || {
            let mut text = Vec::with_capacity(USUAL);
            File::open("/proc/self/mountinfo")?.read_to_end(&mut text)?;
            io::Result::Ok(Self { text })
        };
        read().unwrap_or_default()
    }

    /// Parses the mounts.
    pub(crate) fn mounts(&self) -> ParsedMounts<'_> {
        ParsedMounts::of(&self.text)
    }
}

/// The parsed mounts of a table.
#[derive(Debug)]
pub(crate) struct ParsedMounts<'t> {
    all: Vec<Mount<'t>>,
    /// Devices of ordinary file systems that are mounted more than once.
    repeated: HashSet<u64>,
}

impl<'t> ParsedMounts<'t> {
    fn of(text: &'t [u8]) -> Self {
        let lines = text.split(|&byte| byte == b'\n');
        let all: Vec<Mount<'t>> = lines.filter_map(Mount::parse).collect();
        let mut known = HashSet::with_capacity(all.len());
        let ordinary = all.iter().filter(|mount| !kernel::is_kernel(mount.kind));
        let devices = ordinary.map(|mount| mount.device);
        let repeated = devices.filter(|device| !known.insert(*device)).collect();
        Self { all, repeated }
    }

    /// Where ordinary file systems are mounted.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Path> {
        let ordinary = self.all.iter().filter(|mount| !kernel::is_kernel(mount.kind));
        ordinary.map(Mount::place)
    }

    /// The mount that the canonical `path` is in, found as the kernel does, from the root.
    fn holder(&self, path: &Path) -> Option<&Mount<'t>> {
        let mut current = self.all.iter().find(|mount| mount.place() == Path::new("/"))?;
        // Each step leads to a mount on the current one.
        for _ in 0..self.all.len() {
            let next = self.all.iter().filter(|mount| {
                mount.parent == current.id
                    && mount.id != current.id
                    && canonical::below(mount.place(), path).is_some()
                    && canonical::below(current.place(), mount.place()).is_some()
            });
            match next.min_by_key(|mount| mount.place().as_os_str().len()) {
                Some(mount) => current = mount,
                None => return Some(current),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str, path: &str) -> Option<(u64, PathBuf)> {
        let mounts = ParsedMounts::of(text.as_bytes());
        mounts.holder(Path::new(path)).map(|it| (it.id, it.place().to_owned()))
    }

    #[test]
    fn the_mount_on_top_holds_a_path() {
        let text = "\
1 0 8:1 / / rw - ext4 /dev/sda rw
2 1 8:2 / /srv rw - ext4 /dev/sdb rw
3 2 8:3 / /srv rw - ext4 /dev/sdc rw
4 2 8:4 / /srv/below rw - ext4 /dev/sdd rw
5 3 8:5 / /srv/a\\040b rw - ext4 /dev/sde rw
";
        assert_eq!(place(text, "/srvx"), Some((1, "/".into())));
        assert_eq!(place(text, "/srv/below/x"), Some((3, "/srv".into())), "it is covered");
        assert_eq!(place(text, "/srv/a b/x"), Some((5, "/srv/a b".into())));
        assert_eq!(place("", "/"), None);
    }

    #[test]
    fn many_mounts_are_read_quickly() {
        use std::fmt::Write as _;
        let mut text = String::from("1 0 8:1 / / rw - ext4 /dev/sda rw\n");
        for number in 2..5000 {
            let _ = writeln!(text, "{number} 1 0:{number} / /srv/{number} rw - tmpfs none rw");
        }
        let began = std::time::Instant::now();
        let mounts = ParsedMounts::of(text.as_bytes());
        assert_eq!(mounts.all.len(), 4999);
        assert!(mounts.repeated.is_empty() && mounts.copies(Path::new("/srv/7/x")).is_empty());
        assert!(began.elapsed().as_millis() < 200, "{:?}", began.elapsed());
    }
}
