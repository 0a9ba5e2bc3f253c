//! The variables that make the loader load the library into a program (ld.so(8)).

/// The variable that lists the libraries to preload.
pub(crate) const PRELOAD: &[u8] = b"LD_PRELOAD=";

/// Whether `byte` separates entries of `LD_PRELOAD` (ld.so(8)). musl also accepts other white space, which glibc takes
/// as part of a name.
pub(crate) const fn separates(byte: u8) -> bool {
    matches!(byte, b':' | b' ')
}

/// Variables that make the loader or libc's start-up code run code before the library or write files (ld.so(8)). No
/// hook sees these two.
pub(crate) const BYPASSES: [&[u8]; 5] =
    [b"LD_AUDIT=", b"LD_DEBUG_OUTPUT=", b"LD_PROFILE=", b"LD_PROFILE_OUTPUT=", b"GMON_OUT_PREFIX="];

/// Their first letters.
pub(crate) const BYPASS_INITIALS: &[u8] = b"LG";

/// Variables that list directories in which the loader searches libraries.
pub(crate) const LIBRARY_PATHS: [&[u8]; 1] = [b"LD_LIBRARY_PATH="];
