//! Protects callers from symlinks and files that other users left in shared directories (`fs.protected_*`,
//! `proc_sys_fs(5)`). The kernel does this by the directory that they are in, but only when it resolves a path itself,
//! not for pinned objects. Used by the supervisor.

use jp_confine_engine::planted::Left;
use rustix::fs::{FileType, Stat};

/// The machine's settings of `fs.protected_*`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Protection {
    pub(crate) links: u32,
    pub(crate) regular: u32,
    pub(crate) fifos: u32,
}

/// The mode and the owner of the directory that an object is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Directory {
    mode: u32,
    owner: u32,
}

impl From<Stat> for Directory {
    fn from(stat: Stat) -> Self {
        Self { mode: stat.st_mode, owner: stat.st_uid }
    }
}

impl Directory {
    fn with(self, left: &Stat) -> Left {
        Left { owner: left.st_uid, directory_mode: self.mode, directory_owner: self.owner }
    }
}

impl Protection {
    /// Whether a symlink at the end of a path is followed only for its owner.
    pub(crate) fn keeps_link(self, link: &Stat, directory: Directory) -> bool {
        directory.with(link).is_kept(self.links.min(1))
    }

    /// Whether an open with `O_CREAT` opens the existing file only for its owner.
    pub(crate) fn keeps_file(self, file: &Stat, directory: Directory) -> bool {
        let level = match FileType::from_raw_mode(file.st_mode) {
            FileType::RegularFile => self.regular,
            FileType::Fifo => self.fifos,
            _ => 0,
        };
        directory.with(file).is_kept(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: u32 = 2;
    const STRANGER: u32 = 3;

    fn stat(mode: u32, owner: u32) -> Stat {
        let mut stat = rustix::fs::stat("/").expect("the root");
        stat.st_mode = mode;
        stat.st_uid = owner;
        stat
    }

    #[test]
    fn what_a_stranger_left_is_kept() {
        let keeps = |level, kind: u32, mode, owner| {
            let protection = Protection { links: 0, regular: level, fifos: level };
            let directory = stat(libc::S_IFDIR | mode, HOST).into();
            protection.keeps_file(&stat(kind | 0o666, owner), directory)
        };
        for kind in [libc::S_IFREG, libc::S_IFIFO] {
            assert!(keeps(1, kind, 0o1777, STRANGER) && !keeps(0, kind, 0o1777, STRANGER));
            assert!(keeps(2, kind, 0o1775, STRANGER) && !keeps(1, kind, 0o1775, STRANGER));
            assert!(!keeps(2, kind, 0o1777, HOST));
            assert!(!keeps(2, kind, 0o1755, STRANGER) && !keeps(2, kind, 0o777, STRANGER));
        }
        assert!(!keeps(2, libc::S_IFCHR, 0o1777, STRANGER));
        let fifos = Protection { links: 0, regular: 0, fifos: 1 };
        assert!(!fifos.keeps_file(&stat(libc::S_IFREG, STRANGER), stat(0o1777, HOST).into()));
    }

    #[test]
    fn links_that_a_stranger_left_are_kept() {
        let keeps = |links, mode, owner| {
            let protection = Protection { links, regular: 0, fifos: 0 };
            protection.keeps_link(&stat(libc::S_IFLNK, owner), stat(mode, HOST).into())
        };
        assert!(keeps(1, 0o1777, STRANGER) && !keeps(0, 0o1777, STRANGER));
        assert!(!keeps(1, 0o1777, HOST) && !keeps(1, 0o777, STRANGER));
        assert!(!keeps(1, 0o1775, STRANGER));
    }
}
