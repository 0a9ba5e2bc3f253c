//! Describes what Landlock allows in a run, and translates capabilities into Landlock's rights.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use landlock::{ABI, Access as _, AccessFs, AccessNet, BitFlags, Scope, make_bitflags};

/// The newest version of Landlock whose rights jp-confine knows.
const NEWEST: ABI = ABI::V7;

/// The first version with rules for ports.
pub(crate) const NETWORK: i32 = ABI::V4 as i32;

/// Rights that apply to a file itself, not to the directory that it is in.
const OF_FILES: BitFlags<AccessFs> =
    make_bitflags!(AccessFs::{ReadFile | Execute | WriteFile | Truncate | IoctlDev});

/// The outermost bounds of a run, which hold for all its processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The version of Landlock to use.
    pub(crate) version: ABI,
    /// The rights that are allowed. All others are denied.
    pub(crate) rules: Vec<LandlockRule>,
    /// Whether the supervisor judges connections, so that programs make none themselves.
    pub(crate) judges_network: bool,
}

impl Bounds {
    /// The rights that are denied where no rule allows them.
    pub(crate) fn handled(&self) -> BitFlags<AccessFs> {
        AccessFs::from_all(self.version)
    }

    /// What is denied of the network. No rule allows any port.
    pub(crate) fn handled_ports(&self) -> BitFlags<AccessNet> {
        let known = self.judges_network.then(|| AccessNet::from_all(self.version));
        known.unwrap_or_default()
    }

    /// What reaches no process outside the run: signals and abstract sockets, if the version can deny them.
    pub(crate) fn scoped(&self) -> BitFlags<Scope> {
        Scope::from_all(self.version)
    }

    /// Whether signals and abstract sockets reach no process outside the run.
    pub(crate) fn scopes(&self) -> bool {
        !self.scoped().is_empty()
    }

    /// The places that programs may start from. Looks at the disk.
    pub(crate) fn starts(&self) -> Vec<StartPlace> {
        let rules = self.rules.iter().filter(|rule| rule.rights.contains(AccessFs::Execute));
        rules.filter_map(|rule| StartPlace::of(&rule.path)).collect()
    }
}

/// An object that Landlock allows programs to start from, with everything below it.
#[derive(Clone, Debug)]
pub(crate) struct StartPlace {
    path: PathBuf,
    /// Its device and inode number.
    id: (u64, u64),
}

impl StartPlace {
    fn of(path: &Path) -> Option<Self> {
        id_of(path).map(|id| Self { path: path.to_owned(), id })
    }

    /// Whether the program is there. False if another object has the path now. Looks at the disk.
    pub(crate) fn holds(&self, program: &Path) -> bool {
        program.starts_with(&self.path) && id_of(&self.path) == Some(self.id)
    }
}

fn id_of(path: &Path) -> Option<(u64, u64)> {
    path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// Rights on an object and everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LandlockRule {
    /// The canonical path of the object.
    pub(crate) path: PathBuf,
    /// The rights that it allows. On other objects than directories, rights of directories are left out.
    pub(crate) rights: BitFlags<AccessFs>,
}

impl LandlockRule {
    /// The file may be read.
    pub(crate) fn reading(path: &Path) -> Self {
        Self { path: path.to_owned(), rights: AccessFs::ReadFile.into() }
    }

    /// The file may be written to.
    pub(crate) fn writing(path: &Path) -> Self {
        Self { path: path.to_owned(), rights: AccessFs::WriteFile.into() }
    }
}

/// The version to use if the kernel offers `offered`. `None` for zero.
pub(crate) fn version(offered: i32) -> Option<ABI> {
    (offered > 0).then(|| ABI::from(offered).min(NEWEST))
}

/// The fewest rights that cover `caps`, with two exceptions. Only the supervisor creates devices, and the entry of the
/// anchor itself belongs to the directory above it.
pub(crate) fn rights(caps: Capabilities, version: ABI) -> BitFlags<AccessFs> {
    let mut rights = BitFlags::empty();
    let mut add = |wanted: Capabilities, means: BitFlags<AccessFs>| {
        if caps.intersects(wanted) {
            rights |= means;
        }
    };
    add(Capabilities::READ, make_bitflags!(AccessFs::{ReadFile | ReadDir}));
    // The kernel reads a file that it executes with the rights of the caller.
    add(Capabilities::EXECUTE, make_bitflags!(AccessFs::{Execute | ReadFile}));
    add(Capabilities::UPDATE, make_bitflags!(AccessFs::{WriteFile | Truncate}));
    add(
        Capabilities::CREATE,
        make_bitflags!(AccessFs::{MakeReg | MakeDir | MakeSym | MakeFifo | MakeSock}),
    );
    // A program that creates a file gets it open in the mode that it asked for. Landlock checks when the file exists
    // already, so without these rights it would deny the open and leave the file.
    add(Capabilities::CREATE, make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate}));
    add(Capabilities::DELETE, make_bitflags!(AccessFs::{RemoveFile | RemoveDir}));
    add(Capabilities::CREATE.union(Capabilities::DELETE), AccessFs::Refer.into());
    // An open that neither reads nor writes needs no right, and yet can send commands to a device.
    add(Capabilities::READ.union(Capabilities::UPDATE), AccessFs::IoctlDev.into());
    rights & AccessFs::from_all(version)
}

/// The capabilities that the [`rights`] for `caps` allow in addition.
pub(crate) fn implied(caps: Capabilities) -> Capabilities {
    let both = Capabilities::READ.union(Capabilities::UPDATE);
    Capabilities::NONE
        .with_if(caps.contains(Capabilities::CREATE), both)
        .with_if(caps.contains(Capabilities::EXECUTE), Capabilities::READ)
}

/// The rights that a directory needs if its files get theirs one by one.
pub(crate) fn without_files(rights: BitFlags<AccessFs>) -> BitFlags<AccessFs> {
    rights & !OF_FILES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_versions_know_fewer_rights() {
        let all = |version| rights(Capabilities::ALL, version);
        assert!(!all(ABI::V1).contains(AccessFs::Refer));
        assert!(all(ABI::V2).contains(AccessFs::Refer));
        assert!(!all(ABI::V2).contains(AccessFs::Truncate));
        assert!(all(ABI::V3).contains(AccessFs::Truncate));
        assert!(!all(ABI::V4).contains(AccessFs::IoctlDev));
        assert!(all(ABI::V5).contains(AccessFs::IoctlDev));
        assert_eq!(version(0), None);
        assert_eq!(version(1000), Some(NEWEST));
    }

    #[test]
    fn devices_cannot_be_made() {
        let all = rights(Capabilities::ALL, NEWEST);
        assert!(!all.intersects(make_bitflags!(AccessFs::{MakeChar | MakeBlock})));
    }

    #[test]
    fn each_capability_has_rights_of_its_own() {
        let of = |caps| rights(caps, NEWEST);
        assert!(of(Capabilities::NONE).is_empty());
        assert!(!of(Capabilities::READ).intersects(AccessFs::from_write(ABI::V4)));
        assert!(!of(Capabilities::UPDATE).intersects(AccessFs::from_read(ABI::V4)));
        assert!(!of(Capabilities::UPDATE).contains(AccessFs::MakeReg));
        assert!(of(Capabilities::CREATE).contains(AccessFs::WriteFile));
        assert!(!of(Capabilities::DELETE).contains(AccessFs::WriteFile));
        assert_eq!(of(Capabilities::EXECUTE), AccessFs::Execute | AccessFs::ReadFile);
    }
}
