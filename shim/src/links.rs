//! Spellings that led through a link before: a hint which way to open them is worth trying first.
//! A wrong hint costs a system call and nothing else.

use core::sync::atomic::{AtomicU32, Ordering};

const SLOTS: usize = 64;

static SEEN: [AtomicU32; SLOTS] = [const { AtomicU32::new(0) }; SLOTS];

/// Notes that a link lies on the way of `path`.
pub(crate) fn expect(path: &[u8]) {
    let hash = hash(path);
    if let Some(slot) = slot(hash) {
        slot.store(hash, Ordering::Relaxed);
    }
}

/// Whether a link was on the way of `path` when it was last opened.
pub(crate) fn are_expected(path: &[u8]) -> bool {
    let hash = hash(path);
    slot(hash).is_some_and(|slot| slot.load(Ordering::Relaxed) == hash)
}

fn slot(hash: u32) -> Option<&'static AtomicU32> {
    SEEN.get(usize::try_from(hash).unwrap_or(0) % SLOTS)
}

/// Of the end of the path and its length: enough to tell the spellings of one program apart. Never
/// zero, which is what an empty slot holds.
fn hash(path: &[u8]) -> u32 {
    const END: usize = 16;
    let end = path.get(path.len().saturating_sub(END)..).unwrap_or(&[]);
    let seed = 0x811c_9dc5 ^ u32::try_from(path.len()).unwrap_or(0);
    let mix = |hash: u32, &byte: &u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    end.iter().fold(seed, mix) | 1
}
