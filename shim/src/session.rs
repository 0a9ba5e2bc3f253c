//! What a process knows of its run: the policy image, the shared page, and where they came from.
//!
//! Set up in the constructor, or by the first hook that runs before it. A process without a valid
//! image denies everything (spec §13).

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, AtomicU64, Ordering};

use jp_confine_policy::image::Image;

use crate::errno::Errno;
use crate::handle::Handle;
use crate::sys;
use crate::sys::startup::Startup;

const UNSET: u8 = 0;
const WRITING: u8 = 1;
const READY: u8 = 2;
const BROKEN: u8 = 3;

struct Shared {
    phase: AtomicU8,
    image: UnsafeCell<MaybeUninit<Image<'static>>>,
    image_fd: AtomicI32,
    image_inode: AtomicU64,
    generation_fd: AtomicI32,
    generation_inode: AtomicU64,
    generation: AtomicPtr<AtomicU64>,
}

// SAFETY: `image` is written once, by whoever moved `phase` from UNSET to WRITING, and read only
// after READY was seen.
unsafe impl Sync for Shared {}

static SHARED: Shared = Shared {
    phase: AtomicU8::new(UNSET),
    image: UnsafeCell::new(MaybeUninit::uninit()),
    image_fd: AtomicI32::new(-1),
    image_inode: AtomicU64::new(0),
    generation_fd: AtomicI32::new(-1),
    generation_inode: AtomicU64::new(0),
    generation: AtomicPtr::new(core::ptr::null_mut()),
};

/// The policy of this run.
///
/// # Errors
/// `EACCES`: without a policy nothing is allowed.
pub(crate) fn image() -> Result<&'static Image<'static>, Errno> {
    if SHARED.phase.load(Ordering::Acquire) != READY {
        start(None)?;
    }
    // SAFETY: READY is stored after the image was written, and it never changes again.
    let image = unsafe { &*SHARED.image.get() };
    // SAFETY: as above.
    Ok(unsafe { image.assume_init_ref() })
}

/// Maps the image and the shared page, unless that was done. `startup` is what the loader gave to
/// the constructor.
///
/// # Errors
/// `EACCES` where there is no valid image.
#[cold]
pub(crate) fn start(startup: Option<Startup>) -> Result<(), Errno> {
    if SHARED.phase.load(Ordering::Acquire) != UNSET {
        return settled();
    }
    let Some(handle) = Handle::find(startup) else {
        return Err(give_up());
    };
    let Ok((image, inode)) = load(handle.image) else {
        return Err(give_up());
    };
    let won = SHARED.phase.compare_exchange(UNSET, WRITING, Ordering::AcqRel, Ordering::Acquire);
    if won.is_ok() {
        // SAFETY: only the winner of the exchange writes, and nobody reads before READY.
        unsafe { SHARED.image.get().write(MaybeUninit::new(image)) };
        SHARED.image_fd.store(handle.image, Ordering::Relaxed);
        SHARED.image_inode.store(inode, Ordering::Relaxed);
        if let Some((page, fd)) = sys::image::shared_page(&image, handle.generation) {
            SHARED.generation.store(page.cast(), Ordering::Relaxed);
            SHARED.generation_fd.store(fd, Ordering::Relaxed);
            let inode = sys::fstat(fd).map_or(0, |stat| stat.st_ino);
            SHARED.generation_inode.store(inode, Ordering::Relaxed);
        }
        #[cfg(target_os = "linux")]
        sys::show_judged(image.session(), image.behind().supervisor);
        SHARED.phase.store(READY, Ordering::Release);
    }
    settled()
}

/// Whether the session is set up. Where another thread is just doing that there is nothing to wait
/// for safely: the call is denied.
fn settled() -> Result<(), Errno> {
    if SHARED.phase.load(Ordering::Acquire) == READY { Ok(()) } else { Err(Errno::EACCES) }
}

fn give_up() -> Errno {
    let _ = SHARED.phase.compare_exchange(UNSET, BROKEN, Ordering::AcqRel, Ordering::Acquire);
    Errno::EACCES
}

/// The counter that every mediated rename of a directory moves, for whoever caches paths.
pub(crate) fn generation() -> Option<&'static AtomicU64> {
    let page = SHARED.generation.load(Ordering::Relaxed);
    // SAFETY: either null or the start of a mapped page that is never unmapped.
    unsafe { page.as_ref() }
}

/// The number of the image's descriptor, and whether it still is the image.
pub(crate) fn image_descriptor() -> (c_int, bool) {
    let fd = SHARED.image_fd.load(Ordering::Relaxed);
    let inode = SHARED.image_inode.load(Ordering::Relaxed);
    let intact = sys::fstat(fd).is_ok_and(|stat| stat.st_ino == inode && stat.st_nlink == 0)
        && sys::image::is_unchangeable(fd);
    (fd, intact)
}

/// The number of the shared page's descriptor, if it still is the page.
pub(crate) fn generation_descriptor() -> Option<c_int> {
    let fd = SHARED.generation_fd.load(Ordering::Relaxed);
    let inode = SHARED.generation_inode.load(Ordering::Relaxed);
    let is_page =
        fd >= 0 && sys::fstat(fd).is_ok_and(|stat| stat.st_ino == inode && stat.st_nlink == 0);
    is_page.then_some(fd)
}

fn load(fd: c_int) -> Result<(Image<'static>, u64), Errno> {
    if !sys::image::is_unchangeable(fd) {
        return Err(Errno::EACCES);
    }
    let stat = sys::fstat(fd)?;
    let length = usize::try_from(stat.st_size).map_err(|_| Errno::EACCES)?;
    let mapping = sys::map(fd, length, libc::PROT_READ)?;
    // SAFETY: the mapping is `length` bytes, never unmapped, and nobody can change it.
    let bytes = unsafe { core::slice::from_raw_parts(mapping, length) };
    let image = Image::parse(bytes).map_err(|_| Errno::EACCES)?;
    Ok((image, stat.st_ino))
}
