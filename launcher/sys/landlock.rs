//! Turns rules into a Landlock ruleset, and confines a thread to it.

use std::ffi::c_int;
use std::fs::File;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::{io, ptr};

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _,
};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::last_error;
use crate::sys::landlock_bounds::{Bounds, LandlockRule};
use crate::sys::open_canonical;

/// `LANDLOCK_CREATE_RULESET_VERSION` (`linux/landlock.h`).
const VERSION: c_int = 1;

/// The version of Landlock that the kernel offers. Zero if it offers none.
pub(crate) fn version() -> i32 {
    // SAFETY: no structure is passed, as the request for the version demands.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<()>(), 0_usize, VERSION)
    };
    i32::try_from(version).unwrap_or(0).max(0)
}

/// The ruleset for `bounds`. Rules on objects that are gone are left out.
pub(crate) fn ruleset(bounds: &Bounds) -> io::Result<OwnedFd> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(bounds.handled())
        .map_err(io::Error::other)?;
    if bounds.scopes() {
        ruleset = ruleset.scope(bounds.scoped()).map_err(io::Error::other)?;
    }
    if !bounds.handled_ports().is_empty() {
        ruleset = ruleset.handle_access(bounds.handled_ports()).map_err(io::Error::other)?;
    }
    // On an object other than a directory, a rule's rights are reduced to those that apply to it.
    let created = ruleset.create().map_err(io::Error::other)?;
    let mut created = created.set_compatibility(CompatLevel::BestEffort);
    for rule in &bounds.rules {
        if let Some(place) = pin(rule)? {
            let beneath = PathBeneath::new(place, rule.rights);
            created = created.add_rule(beneath).map_err(io::Error::other)?;
        }
    }
    Option::<OwnedFd>::from(created).ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// The rules of [`ruleset`] as the kernel gets them: on objects that are there, with the rights that apply to them.
pub(crate) fn applied(bounds: &Bounds) -> io::Result<Vec<LandlockRule>> {
    let mut applied = Vec::new();
    for rule in &bounds.rules {
        let Some(place) = pin(rule)? else { continue };
        let is_directory = File::from(place).metadata()?.is_dir();
        let rights = if is_directory { rule.rights } else { rule.rights & of_file() };
        applied.push(LandlockRule { path: rule.path.clone(), rights });
    }
    Ok(applied)
}

/// The rights that apply to other objects than directories.
fn of_file() -> BitFlags<AccessFs> {
    AccessFs::from_file(ABI::V7)
}

/// Confines the calling thread, and all that it starts, to the ruleset for good.
///
/// It makes a system call only, so it may run between `vfork` and exec.
pub(crate) fn restrict(ruleset: BorrowedFd<'_>) -> Result<(), Errno> {
    let fd = ruleset.as_raw_fd();
    // SAFETY: a descriptor and no flags.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, fd, 0) };
    if answer == 0 {
        return Ok(());
    }
    Err(last_error())
}

/// Pins the object of a rule. `None` if it is gone, or none of the rule's rights apply to what is there now.
fn pin(rule: &LandlockRule) -> io::Result<Option<OwnedFd>> {
    let only_directories = (rule.rights & of_file()).is_empty();
    let kind = if only_directories { OFlags::DIRECTORY } else { OFlags::empty() };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC | kind;
    match open_canonical::open_canonical(&rule.path, flags) {
        Ok(place) => Ok(Some(place)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use landlock::Access as _;

    use super::*;

    /// A symlink that replaced a directory after the plan was made leads out of it.
    #[test]
    fn no_rule_stands_behind_a_link() {
        let dir = tempfile::tempdir().expect("a folder");
        let place = dir.path().canonicalize().expect("a folder");
        fs::create_dir_all(place.join("other/inner")).expect("a folder");
        symlink("other", place.join("link")).expect("a link");
        let rule = |path: &str| LandlockRule {
            path: place.join(path),
            rights: AccessFs::from_all(ABI::V1),
        };
        assert!(pin(&rule("other/inner")).expect("asked").is_some());
        assert!(pin(&rule("link/inner")).expect("asked").is_none());
    }
}
