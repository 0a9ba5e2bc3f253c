//! The loader's variables that concern the library (ld.so(8)). Used by `exec::environment`.

/// The variable that lists libraries to preload.
pub(crate) const PRELOAD: &[u8] = b"LD_PRELOAD=";

/// Whether a byte separates entries of `LD_PRELOAD` (ld.so(8)). musl also accepts other white space, which glibc takes
/// as part of the name.
pub(crate) const fn separates(byte: u8) -> bool {
    matches!(byte, b':' | b' ')
}

/// Variables that make the loader or libc's start-up code run code before the library, or write files (ld.so(8)). No
/// hook sees that.
pub(crate) const BYPASSES: [&[u8]; 5] =
    [b"LD_AUDIT=", b"LD_DEBUG_OUTPUT=", b"LD_PROFILE=", b"LD_PROFILE_OUTPUT=", b"GMON_OUT_PREFIX="];

/// The initial letters of these variables.
pub(crate) const BYPASS_INITIALS: &[u8] = b"LG";

/// Variables that list directories where the loader looks for libraries.
pub(crate) const LIBRARY_PATHS: [&[u8]; 1] = [b"LD_LIBRARY_PATH="];
