//! Hook for inotify(7). Events name the entries of a directory and report uses of a file, so watching counts as
//! reading.

use core::ffi::{c_char, c_int};

use jp_confine_engine::Capabilities;

use crate::errno::{Errno, Reply};
use crate::fd_paths::DescriptorLink;
use crate::hooks::object;
use crate::sys::{self, word};

/// Watches the object that was judged.
fn watch(fd: c_int, path: *const c_char, mask: u32) -> Result<c_int, Errno> {
    let stop = if mask & libc::IN_DONT_FOLLOW == 0 { 0 } else { libc::O_NOFOLLOW };
    let read = Capabilities::READ;
    let object = object::at_path(c"inotify_add_watch", libc::AT_FDCWD, path, stop, read)?;
    let link = DescriptorLink::new(object.raw());
    // The kernel must follow the descriptor's link. Its target may be a symlink itself.
    let mask = (mask & !libc::IN_DONT_FOLLOW) as usize;
    let path = link.as_c_str().as_ptr().expose_provenance();
    let watch = sys::judged(libc::SYS_inotify_add_watch, [word(fd), path, mask, 0, 0])?;
    c_int::try_from(watch).map_err(|_| Errno::EINVAL)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn inotify_add_watch(fd: c_int, path: *const c_char, mask: u32) -> c_int {
    watch(fd, path, mask).reply()
}
