//! Turns rules into a Landlock ruleset, and confines a thread to it.

use std::ffi::c_int;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::{io, ptr};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, Scope,
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
        .handle_access(AccessFs::from_all(bounds.version))
        .map_err(io::Error::other)?;
    if bounds.scopes() {
        let scopes = Scope::Signal | Scope::AbstractUnixSocket;
        ruleset = ruleset.scope(scopes).map_err(io::Error::other)?;
    }
    if bounds.judges_network && bounds.version >= ABI::V4 {
        // No rule allows any port.
        let ports = AccessNet::from_all(bounds.version);
        ruleset = ruleset.handle_access(ports).map_err(io::Error::other)?;
    }
    // On an object other than a directory, a rule's rights are reduced to those that apply to it.
    let created = ruleset.create().map_err(io::Error::other)?;
    let mut created = created.set_compatibility(CompatLevel::BestEffort);
    for rule in &bounds.rules {
        if let Some(beneath) = hold(rule)? {
            created = created.add_rule(beneath).map_err(io::Error::other)?;
        }
    }
    Option::<OwnedFd>::from(created).ok_or_else(|| io::ErrorKind::Unsupported.into())
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
fn hold(rule: &LandlockRule) -> io::Result<Option<PathBeneath<OwnedFd>>> {
    let only_directories = (rule.rights & AccessFs::from_file(ABI::V7)).is_empty();
    let kind = if only_directories { OFlags::DIRECTORY } else { OFlags::empty() };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC | kind;
    match open_canonical::open_canonical(&rule.path, flags) {
        Ok(place) => Ok(Some(PathBeneath::new(place, rule.rights))),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

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
        assert!(hold(&rule("other/inner")).expect("asked").is_some());
        assert!(hold(&rule("link/inner")).expect("asked").is_none());
    }
}
