//! Asks the system, with the user's own rights, whether a denied request would have worked without jp-confine. Used for
//! suggestions, and by the block at the end of a run, which does not count the others (spec §18).

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use jp_confine_engine::Capabilities;
use rustix::fs::{Access, AtFlags, CWD, Mode, accessat};
use rustix::io::Errno;
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, capabilities};

use crate::advice::advisor::Advisor;
use crate::advice::move_into_directory::ends;
use crate::record::denial::Denial;
use crate::sys::path::path_of;

/// The suggestion for a request that the system denies, too.
pub(super) const DENIED: &str = "no option and no rule helps: the system denies it to you, too";

/// Calls that open the file they name. Others that only read need less than permission to read.
const OPENING: [&[u8]; 4] = [b"open", b"fopen", b"freopen", b"scandir"];

/// Calls that execute the file they name. Others that need the right to execute only read it.
const STARTING: [&[u8]; 4] = [b"exec", b"fexecve", b"posix_spawn", b"pidfd_spawn"];

/// Name prefix of the calls on message queues. These belong to the kernel and need no file.
const QUEUES: &[u8] = b"mq_";

/// The system's current answer.
pub(super) fn rights(place: &Path, access: Access) -> Result<(), Errno> {
    accessat(CWD, place, access, AtFlags::EACCESS)
}

impl Advisor<'_> {
    /// Whether the system would have denied the request, too. Looks at the disk.
    pub(crate) fn is_denied_by_system(&self, denial: &Denial) -> bool {
        if !denial.reason.is_policy() || denial.call.starts_with(QUEUES) {
            return false;
        }
        let path = path_of(&denial.path);
        let lacks = |capabilities| denial.missing.intersects(capabilities);
        let is_of = |calls: &[&[u8]]| calls.iter().any(|call| denial.call.starts_with(call));
        match ends(denial) {
            Some([_, new]) if is_of(&[b"link"]) => return self.keeps_entry(new),
            Some(ends) => return ends.into_iter().any(|end| self.keeps_entry(end)),
            None if lacks(Capabilities::CREATE.union(Capabilities::DELETE)) => {
                return self.keeps_entry(path);
            }
            None => {}
        }
        let access = match () {
            () if lacks(Capabilities::UPDATE) => Access::WRITE_OK,
            () if lacks(Capabilities::READ) && is_of(&OPENING) => Access::READ_OK,
            () if lacks(Capabilities::EXECUTE) && is_of(&STARTING) => Access::EXEC_OK,
            () => Access::EXISTS,
        };
        match (self.rights)(path, access) {
            // The owner may change the mode and other attributes, whatever the mode is.
            Err(Errno::ACCESS) if lacks(Capabilities::UPDATE) && !is_of(&OPENING) => {
                !path.symlink_metadata().is_ok_and(|found| is_own(&found))
            }
            Err(Errno::NOENT) if lacks(Capabilities::UPDATE) => self.keeps_entry(path),
            answer => is_denied(answer),
        }
    }

    /// Whether the user may neither create nor delete the entry at `path`: its directory may not be changed, or is
    /// sticky and the entry is somebody else's (`unlink(2)`).
    fn keeps_entry(&self, path: &Path) -> bool {
        let change = |place| (self.rights)(place, Access::WRITE_OK | Access::EXEC_OK);
        let mut above = path.ancestors().skip(1).map(change);
        if above.find(|answer| *answer != Err(Errno::NOENT)).is_some_and(is_denied) {
            return true;
        }
        let around = path.parent().and_then(|directory| directory.metadata().ok());
        let (Some(around), Ok(found)) = (around, path.symlink_metadata()) else { return false };
        let is_sticky = Mode::from_raw_mode(around.mode()).contains(Mode::SVTX);
        is_sticky && !is_own(&found) && !is_own(&around) && !owns_all()
    }
}

/// Whether deleting the directory fails, since it is not empty (`rmdir(2)`). Programs try that to delete it only if it
/// is. Looks at the disk.
pub(crate) fn is_full(denial: &Denial) -> bool {
    let holds_any = |path: &Path| path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    denial.reason.is_policy()
        && denial.missing == Capabilities::DELETE
        && denial.other.is_empty()
        && holds_any(path_of(&denial.path))
}

fn is_denied(answer: Result<(), Errno>) -> bool {
    matches!(answer, Err(Errno::ACCESS | Errno::PERM | Errno::ROFS))
}

fn is_own(found: &Metadata) -> bool {
    found.uid() == geteuid().as_raw()
}

/// Whether the user counts as the owner of all files.
fn owns_all() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::FOWNER))
}
