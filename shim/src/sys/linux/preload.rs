//! How a program is told to load the shim (ld.so(8)).

/// The variable that lists what to preload.
pub(crate) const PRELOAD: &[u8] = b"LD_PRELOAD=";

/// What separates the entries of `LD_PRELOAD` (ld.so(8)). musl takes other white space too, glibc
/// takes that for a part of the name.
pub(crate) const fn separates(byte: u8) -> bool {
    matches!(byte, b':' | b' ')
}

/// Variables by which the loader or libc's start-up code, which no hook sees, would run code before
/// the shim or write files (ld.so(8)).
pub(crate) const BYPASSES: [&[u8]; 5] =
    [b"LD_AUDIT=", b"LD_DEBUG_OUTPUT=", b"LD_PROFILE=", b"LD_PROFILE_OUTPUT=", b"GMON_OUT_PREFIX="];

/// What they begin with.
pub(crate) const BYPASS_INITIALS: &[u8] = b"LG";

/// Variables that list directories in which the loader looks for libraries.
pub(crate) const LIBRARY_PATHS: [&[u8]; 1] = [b"LD_LIBRARY_PATH="];
