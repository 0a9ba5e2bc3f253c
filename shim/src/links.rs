//! Remembers spellings that contained a symlink when last opened: a hint for which way of opening to try first. A wrong
//! hint only costs a system call.

use core::sync::atomic::{AtomicU32, Ordering};

const SLOTS: usize = 64;

static SEEN: [AtomicU32; SLOTS] = [const { AtomicU32::new(0) }; SLOTS];

/// Notes that `path` contains a symlink.
pub(crate) fn expect(path: &[u8]) {
    let hash = hash(path);
    if let Some(slot) = slot(hash) {
        slot.store(hash, Ordering::Relaxed);
    }
}

/// Whether `path` contained a symlink when it was last opened.
pub(crate) fn are_expected(path: &[u8]) -> bool {
    let hash = hash(path);
    slot(hash).is_some_and(|slot| slot.load(Ordering::Relaxed) == hash)
}

fn slot(hash: u32) -> Option<&'static AtomicU32> {
    SEEN.get(usize::try_from(hash).unwrap_or(0) % SLOTS)
}

/// Hashes the end and the length of the path, which is enough to tell one program's spellings apart. Never zero, which
/// marks an empty slot.
fn hash(path: &[u8]) -> u32 {
    let end = path.last_chunk().map_or(0, |end| u64::from_le_bytes(*end));
    let mixed = (end ^ path.len() as u64).wrapping_mul(0x9fb2_1c65_1e98_df25);
    u32::try_from(mixed >> 32).unwrap_or(0) | 1
}
