//! Landlock: rules in, a ruleset out, and a thread that is held to it.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::ptr;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use super::last_error;
use crate::plan::bounds::{Bounds, Rule};

/// `LANDLOCK_CREATE_RULESET_VERSION` (`linux/landlock.h`).
const VERSION: c_int = 1;

/// The version of Landlock that the kernel offers; zero where it offers none.
pub(crate) fn version() -> i32 {
    // SAFETY: no structure is passed, as asking for the version demands.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<()>(), 0_usize, VERSION)
    };
    i32::try_from(version).unwrap_or(0).max(0)
}

/// The ruleset that `bounds` describe. What does not exist any more is left out.
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
        // With no rule for any port.
        let ports = AccessNet::from_all(bounds.version);
        ruleset = ruleset.handle_access(ports).map_err(io::Error::other)?;
    }
    let mut created = ruleset.create().map_err(io::Error::other)?;
    for rule in &bounds.rules {
        if let Some((place, rights)) = hold(rule)? {
            created =
                created.add_rule(PathBeneath::new(place, rights)).map_err(io::Error::other)?;
        }
    }
    Option::<OwnedFd>::from(created).ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// Holds the calling thread, and what it starts, to the ruleset, for good.
///
/// A system call only: it may run between `vfork` and exec.
pub(crate) fn restrict(ruleset: BorrowedFd<'_>) -> Result<(), Errno> {
    let fd = ruleset.as_raw_fd();
    // SAFETY: a descriptor and no flags.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, fd, 0) };
    if answer == 0 {
        return Ok(());
    }
    Err(last_error())
}

/// What a rule stands on, and the rights that can be had on an object of its kind.
fn hold(rule: &Rule) -> io::Result<Option<(OwnedFd, BitFlags<AccessFs>)>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = match openat(CWD, &rule.path, flags, Mode::empty()) {
        Ok(place) => place,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let rights = match FileType::from_raw_mode(fstat(&place)?.st_mode) {
        FileType::Directory => rule.rights,
        FileType::Symlink => return Ok(None),
        _ => rule.rights & AccessFs::from_file(ABI::V7),
    };
    Ok((!rights.is_empty()).then_some((place, rights)))
}
