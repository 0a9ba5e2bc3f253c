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
use crate::{memory, sys};

/// The variable that names the two descriptors, as `IMAGE:GENERATION`.
pub(crate) const VARIABLE: &[u8] = b"JP_CONFINE=";

/// The seals without which a memfd could still be changed.
const SEALS: c_int =
    libc::F_SEAL_SEAL | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE;

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
    generation: AtomicPtr::new(core::ptr::null_mut()),
};

/// The policy of this run.
///
/// # Errors
/// `EACCES`: without a policy nothing is allowed.
pub(crate) fn image() -> Result<Image<'static>, Errno> {
    match SHARED.phase.load(Ordering::Acquire) {
        READY => {
            // SAFETY: READY is stored after the image was written, and it never changes again.
            let image = unsafe { &*SHARED.image.get() };
            // SAFETY: as above.
            Ok(unsafe { image.assume_init() })
        }
        BROKEN => Err(Errno::EACCES),
        _ => start(),
    }
}

/// Maps the image and the shared page, unless that was done.
///
/// # Errors
/// `EACCES` where there is no valid image.
#[cold]
pub(crate) fn start() -> Result<Image<'static>, Errno> {
    let Some(handle) = Handle::find() else {
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
        SHARED.generation_fd.store(handle.generation, Ordering::Relaxed);
        if let Ok(page) = sys::map(handle.generation, 4096, libc::PROT_READ | libc::PROT_WRITE) {
            SHARED.generation.store(page.cast(), Ordering::Relaxed);
        }
        memory::remember_heap();
        SHARED.phase.store(READY, Ordering::Release);
    }
    Ok(image)
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
        && sys::fcntl(fd, libc::F_GET_SEALS, 0).is_ok_and(|seals| seals & SEALS == SEALS);
    (fd, intact)
}

/// The number of the shared page's descriptor; it may have been closed.
pub(crate) fn generation_descriptor() -> c_int {
    SHARED.generation_fd.load(Ordering::Relaxed)
}

fn load(fd: c_int) -> Result<(Image<'static>, u64), Errno> {
    let seals = sys::fcntl(fd, libc::F_GET_SEALS, 0)?;
    if seals & SEALS != SEALS {
        return Err(Errno::EACCES);
    }
    let stat = sys::fstat(fd)?;
    let length = usize::try_from(stat.st_size).map_err(|_| Errno::EACCES)?;
    let start = sys::map(fd, length, libc::PROT_READ)?;
    // SAFETY: the mapping is `length` bytes, never unmapped, and its seals keep it from changing.
    let bytes = unsafe { core::slice::from_raw_parts(start, length) };
    let image = Image::parse(bytes).map_err(|_| Errno::EACCES)?;
    Ok((image, stat.st_ino))
}

/// The two descriptors that the launcher, or a parent's exec, left open.
#[derive(Clone, Copy)]
struct Handle {
    image: c_int,
    generation: c_int,
}

impl Handle {
    /// Reads the variable out of the environment block that the kernel keeps, which is there
    /// before libc is initialised and whatever the program did to `environ`.
    fn find() -> Option<Self> {
        let file =
            sys::openat(libc::AT_FDCWD, c"/proc/self/environ", libc::O_RDONLY | libc::O_CLOEXEC, 0)
                .ok()?;
        let mut buffer = [0_u8; 2048];
        let mut search = Search::new();
        loop {
            let count = sys::read(file.raw(), &mut buffer).ok()?;
            if count == 0 {
                return None;
            }
            for &byte in buffer.get(..count)? {
                if search.feed(byte) {
                    return Self::parse(search.value());
                }
            }
        }
    }

    fn parse(value: &[u8]) -> Option<Self> {
        let colon = value.iter().position(|&byte| byte == b':')?;
        Some(Self {
            image: number(value.get(..colon)?)?,
            generation: number(value.get(colon.saturating_add(1)..)?)?,
        })
    }
}

fn number(digits: &[u8]) -> Option<c_int> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}

/// Finds the variable in a stream of `NAME=VALUE` strings.
struct Search {
    /// How much of the name has matched; `None` once the current string is another variable.
    matched: Option<usize>,
    value: [u8; 32],
    len: usize,
}

impl Search {
    const fn new() -> Self {
        Self { matched: Some(0), value: [0; 32], len: 0 }
    }

    /// Takes the next byte; true once the value is complete.
    fn feed(&mut self, byte: u8) -> bool {
        let complete = byte == 0 && self.matched == Some(VARIABLE.len());
        match self.matched {
            _ if complete => {}
            _ if byte == 0 => self.matched = Some(0),
            Some(at) if at == VARIABLE.len() => {
                if let Some(slot) = self.value.get_mut(self.len) {
                    *slot = byte;
                }
                self.len = self.len.saturating_add(1);
            }
            Some(at) => {
                let fits = VARIABLE.get(at) == Some(&byte);
                self.matched = fits.then_some(at.saturating_add(1));
            }
            None => {}
        }
        complete
    }

    fn value(&self) -> &[u8] {
        self.value.get(..self.len).unwrap_or(&[])
    }
}
