//! The variables that make dyld load the library into a program (dyld(1)).

/// The variable that lists the libraries to preload.
pub(crate) const PRELOAD: &[u8] = b"DYLD_INSERT_LIBRARIES=";

/// Whether `byte` separates entries of that list.
pub(crate) const fn separates(byte: u8) -> bool {
    byte == b':'
}

/// Variables that make dyld write files or load other system libraries than those that the hooks replace. No hook sees
/// dyld.
pub(crate) const BYPASSES: [&[u8]; 6] = [
    b"DYLD_PRINT_TO_FILE=",
    b"DYLD_ROOT_PATH=",
    b"DYLD_IMAGE_SUFFIX=",
    b"DYLD_SHARED_REGION=",
    b"DYLD_SHARED_CACHE_DIR=",
    b"DYLD_FORCE_FLAT_NAMESPACE=",
];

/// Their first letters.
pub(crate) const BYPASS_INITIALS: &[u8] = b"D";

/// Variables that list directories in which the loader searches libraries.
pub(crate) const LIBRARY_PATHS: [&[u8]; 4] = [
    b"DYLD_LIBRARY_PATH=",
    b"DYLD_FRAMEWORK_PATH=",
    b"DYLD_FALLBACK_LIBRARY_PATH=",
    b"DYLD_FALLBACK_FRAMEWORK_PATH=",
];
