//! What others left where everybody may leave something (`fs.protected_regular`, `fs.protected_fifos`,
//! `proc_sys_fs(5)`). An open that would have made a file finds it there; the kernel sees to it by the directory, but
//! for what is held, which has none.

use core::ffi::CStr;

use jp_confine_policy::image::Image;

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::far::Far;
use crate::path::Spelling;
use crate::resolve::{self, LINK_BUDGET};
use crate::sys;

/// Whether an open that would have made the object that `spelling` leads to may open it, be it another's.
///
/// # Errors
/// `EACCES` where it may not, or that cannot be told.
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
    let writers = directory.st_mode & (libc::S_IWOTH | libc::S_IWGRP);
    if directory.st_mode & libc::S_ISVTX == 0 || writers == 0 || directory.st_uid == file.st_uid {
        return Ok(());
    }
    let by_others = match level(setting) {
        b'0' => 0,
        b'1' => libc::S_IWOTH,
        _ => libc::S_IWOTH | libc::S_IWGRP,
    };
    if writers & by_others == 0 { Ok(()) } else { Err(Errno::EACCES) }
}

/// The directory by whose entry the object is reached; nothing where a link of `/proc` stands for it.
fn directory_of(image: &Image<'_>, spelling: &mut Spelling) -> Result<Option<libc::stat>, Errno> {
    let mut target = Far::<PathBuffer>::blank()?;
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

/// The digit of a setting; where it cannot be read, that of most machines.
fn level(setting: &CStr) -> u8 {
    let mut text = [b'1'];
    let file = sys::open_canonical(setting, libc::O_RDONLY | libc::O_CLOEXEC);
    let _ = file.and_then(|file| sys::read(file.raw(), &mut text));
    text[0]
}
