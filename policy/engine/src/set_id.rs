//! Keeps runs from setting set-user-ID and set-group-ID bits, whatever is granted (spec §5.2, R32). The preload library
//! and the supervisor ask here before they change a mode.
//!
//! A file with such a bit runs with the rights of its owner or group for any user, long after the run.

/// Set-user-ID and set-group-ID (`chmod(2)`).
pub const BITS: u32 = 0o6000;

/// The kind of the object in a mode (`inode(7)`), and the value for a directory.
const KIND: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;

/// The extended attribute that gives a program capabilities (`capabilities(7)`). It is as strong as a set-user-ID bit.
pub const CAPABILITY_ATTRIBUTE: &[u8] = b"security.capability";

/// The mode that a new object gets instead of `mode`.
#[must_use]
pub const fn of_new(mode: u32) -> u32 {
    mode & !BITS
}

/// Whether an object of mode `present`, its kind included, may get `wanted`.
///
/// A directory may keep the bits that it has from its parent or from before the run. A file may not: the kernel clears
/// them when a program writes to the file, and keeping them would give them back.
#[must_use]
pub const fn may_become(present: u32, wanted: u32) -> bool {
    let kept = if present & KIND == DIRECTORY { present & BITS } else { 0 };
    wanted & BITS & !kept == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_new_has_the_bits() {
        assert_eq!(of_new(0o7755), 0o1755);
        assert_eq!(of_new(0o102_755), 0o100_755);
    }

    #[test]
    fn only_a_directory_keeps_what_it_has() {
        for (present, wanted, expected) in [
            (0o100_755, 0o755, true),
            (0o100_755, 0o1755, true),
            (0o100_755, 0o4755, false),
            (0o100_755, 0o2755, false),
            (0o104_755, 0o4755, false),
            (0o104_755, 0o755, true),
            (0o042_755, 0o2775, true),
            (0o042_755, 0o755, true),
            (0o042_755, 0o6755, false),
            (0o040_755, 0o2755, false),
        ] {
            assert_eq!(may_become(present, wanted), expected, "{present:o} {wanted:o}");
        }
    }
}
