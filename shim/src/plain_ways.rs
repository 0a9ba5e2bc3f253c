//! Remembers the directories on whose way the kernel met no symlink. A name that is missing there leads through no view,
//! unless it is a symlink itself. Used by `views`.
//!
//! A memory lasts until somebody in the run creates or renames a symlink, or anything else ([`path_cache`]).

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::buffer::PathBuffer;
use crate::memory::Text;
use crate::{path_cache, working_directory};

const SLOTS: usize = 64;

static PLAIN: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];

/// The directory of a name, as a program spelled it in one generation: a hash, or zero for the directory that the name
/// is relative to.
#[derive(Clone, Copy)]
pub(crate) struct SpelledDirectory(u64);

impl SpelledDirectory {
    /// The directory of the last name in `path`. `None` if that is no ordinary name, or if nothing tells when the
    /// directory means another one.
    #[inline(never)] // keeps its stack use from adding up with that of the call
    pub(crate) fn of(dirfd: c_int, path: Text) -> Option<Self> {
        let now = path_cache::now()?;
        let mut text = PathBuffer::new();
        path.copy_to(&mut text).ok()?;
        let text = text.as_bytes();
        let name_at =
            text.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at.wrapping_add(1));
        let (directory, name) = text.split_at_checked(name_at)?;
        match (directory.first(), name) {
            (_, b"" | b"." | b"..") => None,
            (None, _) => Some(Self(0)),
            (Some(b'/'), _) => Some(Self(hash(directory, now))),
            (Some(_), _) if dirfd == libc::AT_FDCWD => {
                Some(Self(hash(directory, now ^ working_directory::changes() << 32)))
            }
            (Some(_), _) => None,
        }
    }

    /// Whether no symlink was on the way to it.
    pub(crate) fn is_plain(self) -> bool {
        self.0 == 0 || self.slot().is_some_and(|slot| slot.load(Ordering::Relaxed) == self.0)
    }

    /// Remembers that no symlink was on the way to it.
    pub(crate) fn remember(self) {
        if let Some(slot) = self.slot() {
            slot.store(self.0, Ordering::Relaxed);
        }
    }

    fn slot(self) -> Option<&'static AtomicU64> {
        PLAIN.get(usize::try_from(self.0 >> 32).unwrap_or(0) % SLOTS)
    }
}

/// A hash of the text, never zero. Tells 2^63 texts apart.
fn hash(text: &[u8], seed: u64) -> u64 {
    let mix = |hash: u64, part: &[u8]| {
        let mut word = [0; 8];
        word.iter_mut().zip(part).for_each(|(to, &from)| *to = from);
        (hash.rotate_left(29) ^ u64::from_le_bytes(word)).wrapping_mul(0x9fb2_1c65_1e98_df25)
    };
    let (words, rest) = text.as_chunks::<8>();
    let whole = words.iter().fold(seed, |hash, word| mix(hash, word));
    mix(mix(whole, rest), &text.len().to_le_bytes()) | 1
}
