//! Remembers paths between calls, without a lock.
//!
//! A remembered path is valid as long as nobody in the run renamed any directory ([`session::generation`]) and its key
//! still fits. Only the process that owns the memory stores paths: a `vfork` child shares the memory, but neither the
//! working directory nor the descriptors.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::{session, sys};

const WORD: usize = 8;
/// Longest remembered path, in words.
const WORDS: usize = 32;

/// The conditions for a remembered path to be valid, besides the generation.
pub(crate) type Key = [u64; 2];

/// One remembered path.
pub(crate) struct CachedPath {
    /// Odd during a write.
    version: AtomicU32,
    /// The [`stamp`] of the generation in which the path was read; zero for none.
    generation: AtomicU64,
    key: [AtomicU64; 2],
    len: AtomicUsize,
    words: [AtomicU64; WORDS],
}

/// How many `vfork` children may have another directory than the shared memory remembers.
static SUSPENDED: AtomicU32 = AtomicU32::new(0);

/// Stops remembering until [`resume`], because a child that shares the memory changes its directory.
pub(crate) fn suspend() {
    SUSPENDED.fetch_add(1, Ordering::AcqRel);
}

/// Ends the effect of [`suspend`]. The child has its own memory now, or is gone.
#[cfg(target_os = "linux")]
pub(crate) fn resume() {
    SUSPENDED.fetch_sub(1, Ordering::AcqRel);
}

impl CachedPath {
    pub(crate) const fn new() -> Self {
        Self {
            version: AtomicU32::new(0),
            generation: AtomicU64::new(0),
            key: [const { AtomicU64::new(0) }; 2],
            len: AtomicUsize::new(0),
            words: [const { AtomicU64::new(0) }; WORDS],
        }
    }

    /// Forgets the path. A concurrent store will notice.
    pub(crate) fn forget(&self) {
        self.version.fetch_add(2, Ordering::AcqRel);
        self.generation.store(0, Ordering::Release);
    }

    /// Stores the remembered path in `to`, or the one that `ask` finds.
    ///
    /// # Errors
    /// Those of `ask`.
    pub(crate) fn read(
        &self,
        key: Key,
        to: &mut PathBuffer,
        ask: impl FnOnce(&mut PathBuffer) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let Some(now) = now() else { return ask(to) };
        let version = self.version.load(Ordering::Acquire);
        if self.recall(version, now, key, to) {
            return Ok(());
        }
        ask(to)?;
        self.store(version, now, key, to.as_bytes());
        Ok(())
    }

    /// Remembers the path of `key` in the generation `since`, which [`now`] returned.
    #[cfg(target_os = "linux")]
    pub(crate) fn keep(&self, key: Key, path: &[u8], since: u64) {
        self.store(self.version.load(Ordering::Acquire), since, key, path);
    }

    fn recall(&self, version: u32, now: u64, key: Key, to: &mut PathBuffer) -> bool {
        if version & 1 == 1 || !self.fits(now, key) {
            return false;
        }
        let len = self.len.load(Ordering::Relaxed).min(WORDS.saturating_mul(WORD));
        let copied = to.fill(|room, _| {
            for (index, word) in self.words.iter().take(len.div_ceil(WORD)).enumerate() {
                let at = room.wrapping_add(index.wrapping_mul(WORD)).cast::<[u8; WORD]>();
                // SAFETY: the buffer is larger than all words together.
                unsafe { at.write(word.load(Ordering::Relaxed).to_le_bytes()) };
            }
            Ok(len)
        });
        if copied.is_err() {
            return false;
        }
        fence(Ordering::Acquire);
        self.version.load(Ordering::Relaxed) == version && self.fits(now, key)
    }

    fn fits(&self, now: u64, [first, second]: Key) -> bool {
        let [has_first, has_second] = &self.key;
        self.generation.load(Ordering::Acquire) == now
            && has_first.load(Ordering::Relaxed) == first
            && has_second.load(Ordering::Relaxed) == second
    }

    fn store(&self, version: u32, now: u64, [first, second]: Key, path: &[u8]) {
        if path.len() > WORDS.saturating_mul(WORD) || version & 1 == 1 || !owns_memory() {
            return;
        }
        let writing = version.wrapping_add(1);
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        if self.version.compare_exchange(version, writing, acquire, relaxed).is_err() {
            return;
        }
        for (word, part) in self.words.iter().zip(path.chunks(WORD)) {
            let mut bytes = [0_u8; WORD];
            for (to, &from) in bytes.iter_mut().zip(part) {
                *to = from;
            }
            word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
        let [has_first, has_second] = &self.key;
        has_first.store(first, Ordering::Relaxed);
        has_second.store(second, Ordering::Relaxed);
        self.len.store(path.len(), Ordering::Relaxed);
        self.generation.store(now, Ordering::Relaxed);
        if self.version.fetch_add(1, Ordering::AcqRel) != writing {
            self.generation.store(0, Ordering::Release);
        }
    }
}

/// The process that owns this memory. If fork(2) is hooked, its child adopts its copy; other children remember nothing.
/// In memory shared with a `vfork` child, this is the parent.
#[cfg_attr(target_os = "linux", unsafe(link_section = ".data"))] // see `sys::calls::COOKIE`
static OWNER: AtomicI32 = AtomicI32::new(0);

/// Makes the calling process the owner of its memory. Called when the library is loaded, and in a new process that has
/// a copy.
pub(crate) fn adopt() {
    OWNER.store(sys::getpid(), Ordering::Relaxed);
}

/// The highest generation that this process has seen. Every program of the run can write the page, so a lower number is
/// forged.
static HIGHEST: AtomicU64 = AtomicU64::new(0);

/// The current generation, in the form that is stored with a path: never zero. `None` while nothing may be stored or
/// recalled.
pub(crate) fn now() -> Option<u64> {
    let generation = session::generation()?.load(Ordering::Acquire);
    if SUSPENDED.load(Ordering::Acquire) > 0 {
        return None;
    }
    let highest = HIGHEST.load(Ordering::Acquire);
    if generation > highest {
        HIGHEST.fetch_max(generation, Ordering::AcqRel);
    }
    (generation >= highest).then(|| generation.wrapping_mul(2) | 1)
}

/// Begins a new generation in every process of the run. Returns whether there is a shared page for that.
pub(crate) fn begin_generation() -> bool {
    let Some(generation) = session::generation() else { return false };
    let before = generation.fetch_add(1, Ordering::AcqRel);
    HIGHEST.fetch_max(before.saturating_add(1), Ordering::AcqRel);
    true
}

/// False in a `vfork` child, which runs in its parent's memory.
pub(crate) fn owns_memory() -> bool {
    OWNER.load(Ordering::Relaxed) == sys::getpid()
}
