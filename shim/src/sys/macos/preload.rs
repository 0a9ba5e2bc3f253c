//! dyld's variables that concern the library (dyld(1)). Used by `exec::environment`.

/// The variable that lists libraries to preload.
pub(crate) const PRELOAD: &[u8] = b"DYLD_INSERT_LIBRARIES=";

/// Whether a byte separates its entries.
pub(crate) const fn separates(byte: u8) -> bool {
    byte == b':'
}

/// Variables that make dyld write files, or use other system libraries than those with hooked functions. No hook sees
/// that.
pub(crate) const BYPASSES: [&[u8]; 6] = [
    b"DYLD_PRINT_TO_FILE=",
    b"DYLD_ROOT_PATH=",
    b"DYLD_IMAGE_SUFFIX=",
    b"DYLD_SHARED_REGION=",
    b"DYLD_SHARED_CACHE_DIR=",
    b"DYLD_FORCE_FLAT_NAMESPACE=",
];

/// The initial letters of these variables.
pub(crate) const BYPASS_INITIALS: &[u8] = b"D";

/// Variables that list directories where the loader looks for libraries.
pub(crate) const LIBRARY_PATHS: [&[u8]; 4] = [
    b"DYLD_LIBRARY_PATH=",
    b"DYLD_FRAMEWORK_PATH=",
    b"DYLD_FALLBACK_LIBRARY_PATH=",
    b"DYLD_FALLBACK_FRAMEWORK_PATH=",
];
