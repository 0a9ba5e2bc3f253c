//! A process's knowledge of its run: the policy image, the shared page, and their descriptors. Used by all hooks.
//!
//! The constructor sets it up, or the first hook that runs before it. Without a valid image, everything is denied (spec
//! §13).

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use jp_confine_engine::image::{Image, LEVELS};

use crate::errno::Errno;
use crate::handle::RunHandle;
use crate::sys;
use crate::sys::startup::Startup;

const UNSET: u8 = 0;
const WRITING: u8 = 1;
const READY: u8 = 2;
const BROKEN: u8 = 3;

struct Shared {
    phase: AtomicU8,
    /// Outermost run first.
    levels: [Level; LEVELS],
    count: AtomicUsize,
    generation_fd: AtomicI32,
    generation_inode: AtomicU64,
    generation: AtomicPtr<AtomicU64>,
}

/// The image of one run, and its descriptor.
struct Level {
    image: UnsafeCell<MaybeUninit<Image<'static>>>,
    /// Its form with folded names, for filesystems that ignore case.
    form: UnsafeCell<MaybeUninit<Image<'static>>>,
    fd: AtomicI32,
    inode: AtomicU64,
}

impl Level {
    const fn empty() -> Self {
        Self {
            image: UnsafeCell::new(MaybeUninit::uninit()),
            form: UnsafeCell::new(MaybeUninit::uninit()),
            fd: AtomicI32::new(-1),
            inode: AtomicU64::new(0),
        }
    }
}

// SAFETY: only the thread that moved `phase` from UNSET to WRITING writes each `image` and `form`, once. Others read
// them only after they have seen READY.
unsafe impl Sync for Shared {}

static SHARED: Shared = Shared {
    phase: AtomicU8::new(UNSET),
    levels: [const { Level::empty() }; LEVELS],
    count: AtomicUsize::new(0),
    generation_fd: AtomicI32::new(-1),
    generation_inode: AtomicU64::new(0),
    generation: AtomicPtr::new(core::ptr::null_mut()),
};

/// The policy of this run, nested in those of the runs around it.
///
/// # Errors
/// `EACCES`: without a policy, nothing is allowed.
pub(crate) fn image() -> Result<&'static Image<'static>, Errno> {
    if SHARED.phase.load(Ordering::Acquire) != READY {
        start(None)?;
    }
    innermost().ok_or(Errno::EACCES)
}

/// As [`image`], if it has been called. Needs little stack.
#[cfg(target_os = "linux")]
pub(crate) fn known_image() -> Option<&'static Image<'static>> {
    if SHARED.phase.load(Ordering::Acquire) == READY { innermost() } else { None }
}

fn innermost() -> Option<&'static Image<'static>> {
    let innermost = SHARED.count.load(Ordering::Relaxed).saturating_sub(1);
    SHARED.levels.get(innermost).map(written)
}

/// The image of a level that has been written.
fn written(level: &'static Level) -> &'static Image<'static> {
    // SAFETY: the caller took the level from the count of written ones, and no written level changes.
    let image = unsafe { &*level.image.get() };
    // SAFETY: as above.
    unsafe { image.assume_init_ref() }
}

/// Maps the image and the shared page, unless that was done. `startup` is the loader's data for the constructor.
///
/// # Errors
/// `EACCES` without a valid image.
#[cold]
pub(crate) fn start(startup: Option<Startup>) -> Result<(), Errno> {
    if SHARED.phase.load(Ordering::Acquire) != UNSET {
        return settled();
    }
    let handle = RunHandle::find(startup).ok_or(Errno::EACCES)?;
    let won = SHARED.phase.compare_exchange(UNSET, WRITING, Ordering::AcqRel, Ordering::Acquire);
    if won.is_ok() {
        let Ok(image) = load_levels(&handle) else {
            SHARED.phase.store(BROKEN, Ordering::Release);
            return Err(Errno::EACCES);
        };
        let outermost = image.outermost();
        if let Some((page, fd)) = sys::image::shared_page(outermost, handle.generation) {
            SHARED.generation.store(page.cast(), Ordering::Relaxed);
            SHARED.generation_fd.store(fd, Ordering::Relaxed);
            let inode = sys::fstat(fd).map_or(0, |stat| stat.st_ino);
            SHARED.generation_inode.store(inode, Ordering::Relaxed);
        }
        #[cfg(target_os = "linux")]
        show_judged(image);
        SHARED.phase.store(READY, Ordering::Release);
    }
    settled()
}

/// Maps the images of all levels. Returns the innermost.
fn load_levels(handle: &RunHandle) -> Result<&'static Image<'static>, Errno> {
    let mut outer = None;
    for (level, &fd) in SHARED.levels.iter().zip(handle.images()) {
        let loaded = load(fd);
        #[cfg(target_os = "linux")]
        let loaded = if outer.is_none() { loaded.or_else(|_| load_again(fd)) } else { loaded };
        let (image, inode) = loaded?;
        let image = outer.map_or(image, |outer| image.inside(outer));
        let image = match image.form().map_err(|_| Errno::EACCES)? {
            Some(form) => image.keeping(keep_form(level, &form)),
            None => image,
        };
        // SAFETY: only the winner of the exchange writes, and nobody reads before READY.
        unsafe { level.image.get().write(MaybeUninit::new(image)) };
        level.fd.store(fd, Ordering::Relaxed);
        level.inode.store(inode, Ordering::Relaxed);
        outer = Some(written(level));
    }
    SHARED.count.store(handle.images().len(), Ordering::Relaxed);
    outer.ok_or(Errno::EACCES)
}

/// Stores a level's image with folded names.
#[cold]
#[inline(never)]
fn keep_form(level: &'static Level, form: &Image<'static>) -> &'static Image<'static> {
    // SAFETY: as for the image itself. Only the winner of the exchange writes, and nobody reads before READY.
    let place = unsafe { &mut *level.form.get() };
    place.write(*form)
}

/// Makes judged calls carry the number of the supervised run. Among nested runs, at most one is supervised.
#[cfg(target_os = "linux")]
fn show_judged(image: &Image<'_>) {
    let supervised = image.levels().find(|image| image.behind().supervisor).unwrap_or(image);
    let behind = supervised.behind();
    sys::show_judged(supervised.session(), behind.supervisor, behind.rejudges);
}

/// Whether the session is set up. While another thread sets it up, there is no safe way to wait, so the call is denied.
fn settled() -> Result<(), Errno> {
    if SHARED.phase.load(Ordering::Acquire) == READY { Ok(()) } else { Err(Errno::EACCES) }
}

/// Gives up if the session was not set up, so that the program cannot provide an image later. Called only after the
/// constructor: a hook that runs earlier may have no `/proc` to find the descriptors.
pub(crate) fn give_up() {
    let _ = SHARED.phase.compare_exchange(UNSET, BROKEN, Ordering::AcqRel, Ordering::Acquire);
}

/// The counter that each mediated rename of a directory increments, for caches of paths.
pub(crate) fn generation() -> Option<&'static AtomicU64> {
    let page = SHARED.generation.load(Ordering::Relaxed);
    // SAFETY: the pointer is null, or the start of a mapped page that is never unmapped.
    unsafe { page.as_ref() }
}

/// An image, its descriptor number, and whether that descriptor is still the image.
pub(crate) struct Loaded {
    pub(crate) image: &'static Image<'static>,
    pub(crate) fd: c_int,
    pub(crate) intact: bool,
}

/// The images of this run and those around it, outermost first.
pub(crate) fn images() -> impl Iterator<Item = Loaded> {
    let count = SHARED.count.load(Ordering::Relaxed);
    SHARED.levels.iter().take(count).map(|level| {
        let fd = level.fd.load(Ordering::Relaxed);
        let inode = level.inode.load(Ordering::Relaxed);
        let intact = sys::fstat(fd).is_ok_and(|stat| stat.st_ino == inode && stat.st_nlink == 0)
            && sys::image::is_unchangeable(fd);
        Loaded { image: written(level), fd, intact }
    })
}

/// The shared page's descriptor number, if it is still the page.
pub(crate) fn generation_descriptor() -> Option<c_int> {
    let fd = SHARED.generation_fd.load(Ordering::Relaxed);
    let inode = SHARED.generation_inode.load(Ordering::Relaxed);
    let is_page =
        fd >= 0 && sys::fstat(fd).is_ok_and(|stat| stat.st_ino == inode && stat.st_nlink == 0);
    is_page.then_some(fd)
}

/// As [`load`], for the outermost image after a program without the library closed it and started this one. The
/// supervisor hands it out again.
#[cfg(target_os = "linux")]
#[cold]
fn load_again(fd: c_int) -> Result<(Image<'static>, u64), Errno> {
    if sys::fstat(fd).is_ok() {
        return Err(Errno::EACCES);
    }
    let file = sys::ask_for_image()?;
    sys::process::duplicate(file.raw(), fd)?;
    load(fd)
}

fn load(fd: c_int) -> Result<(Image<'static>, u64), Errno> {
    if !sys::image::is_unchangeable(fd) {
        return Err(Errno::EACCES);
    }
    let stat = sys::fstat(fd)?;
    let length = usize::try_from(stat.st_size).map_err(|_| Errno::EACCES)?;
    let mapping = sys::map(fd, length, libc::PROT_READ)?;
    // SAFETY: the mapping is `length` bytes long and never unmapped, and nobody can change it.
    let bytes = unsafe { core::slice::from_raw_parts(mapping, length) };
    let image = Image::parse(bytes).map_err(|_| Errno::EACCES)?;
    Ok((image, stat.st_ino))
}
