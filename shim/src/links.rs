//! Remembers spellings that led through a symlink, as a hint which method to try first. A wrong hint costs one system
//! call and nothing else. Used by `hooks::open`.

use core::sync::atomic::{AtomicU32, Ordering};

const SLOTS: usize = 64;

static SEEN: [AtomicU32; SLOTS] = [const { AtomicU32::new(0) }; SLOTS];

/// Notes that a symlink is on the way of `path`.
pub(crate) fn expect(path: &[u8]) {
    let hash = hash(path);
    if let Some(slot) = slot(hash) {
        slot.store(hash, Ordering::Relaxed);
    }
}

/// Whether a symlink was on the way of `path` when it was last opened.
pub(crate) fn are_expected(path: &[u8]) -> bool {
    let hash = hash(path);
    slot(hash).is_some_and(|slot| slot.load(Ordering::Relaxed) == hash)
}

fn slot(hash: u32) -> Option<&'static AtomicU32> {
    SEEN.get(usize::try_from(hash).unwrap_or(0) % SLOTS)
}

/// A hash of the path's end and length, enough to tell one program's spellings apart. Never zero, the value of an empty
/// slot.
fn hash(path: &[u8]) -> u32 {
    let end = path.last_chunk().map_or(0, |end| u64::from_le_bytes(*end));
    let mixed = (end ^ path.len() as u64).wrapping_mul(0x9fb2_1c65_1e98_df25);
    u32::try_from(mixed >> 32).unwrap_or(0) | 1
}
