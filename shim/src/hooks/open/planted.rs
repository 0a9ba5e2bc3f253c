//! Protects against files that others left in directories where everybody may create files (`fs.protected_regular`,
//! `fs.protected_fifos`, `proc_sys_fs(5)`). An open that would have created a file may find theirs. The kernel checks
//! that by the directory, but an open through a pinned object has none, so this module checks instead.

use core::ffi::CStr;

use jp_confine_engine::image::Image;
use jp_confine_engine::planted::Left;

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::mmap_box::MmapBox;
use crate::path::Spelling;
use crate::resolve::{self, LINK_BUDGET};
use crate::sys;

/// The level that denies the most.
const STRICTEST: u32 = 2;

/// Checks an existing object that the open would otherwise have created, and that may be another user's.
///
/// # Errors
/// `EACCES` if the open is not allowed or the check fails.
#[inline(never)]
pub(super) fn check(
    image: &Image<'_>,
    spelling: &mut Spelling,
    held: &sys::Fd,
) -> Result<(), Errno> {
    let file = sys::fstat(held.raw())?;
    let setting = match file.st_mode & libc::S_IFMT {
        libc::S_IFREG => c"/proc/sys/fs/protected_regular",
        libc::S_IFIFO => c"/proc/sys/fs/protected_fifos",
        _ => return Ok(()),
    };
    if file.st_uid == sys::process::effective_user()? {
        return Ok(());
    }
    let Some(directory) = directory_of(image, spelling)? else { return Ok(()) };
    let left = Left {
        owner: file.st_uid,
        directory_mode: directory.st_mode,
        directory_owner: directory.st_uid,
    };
    // Reads the setting only if it may matter.
    let is_kept = left.is_kept(STRICTEST) && left.is_kept(level(setting));
    if is_kept { Err(Errno::EACCES) } else { Ok(()) }
}

/// The directory whose entry leads to the object. `None` for a link in `/proc`.
fn directory_of(image: &Image<'_>, spelling: &mut Spelling) -> Result<Option<libc::stat>, Errno> {
    let mut target = MmapBox::<PathBuffer>::blank()?;
    for _ in 0..LINK_BUDGET {
        let Some(entry) = resolve::entry(image, spelling)? else { return Ok(None) };
        if entry.path().starts_with(b"/proc/") {
            return Ok(None);
        }
        let link =
            target.fill(|bytes, room| sys::readlinkat(entry.dirfd(), entry.name(), bytes, room));
        if link.is_err() {
            return sys::fstat(entry.dirfd()).map(Some);
        }
        spelling.follow(target.as_bytes())?;
    }
    Err(Errno::EACCES)
}

/// The level of a setting, a single digit. If it cannot be read, the level of most machines.
fn level(setting: &CStr) -> u32 {
    let mut text = [b'1'];
    let file = sys::open_canonical(setting, libc::O_RDONLY | libc::O_CLOEXEC);
    let _ = file.and_then(|file| sys::read(file.raw(), &mut text));
    u32::from(text[0].wrapping_sub(b'0'))
}
