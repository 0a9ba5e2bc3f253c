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
    let end = path.last_chunk().map_or(0, |end| u64::from_le_bytes(*end));
    let mixed = (end ^ path.len() as u64).wrapping_mul(0x9fb2_1c65_1e98_df25);
    u32::try_from(mixed >> 32).unwrap_or(0) | 1
}
