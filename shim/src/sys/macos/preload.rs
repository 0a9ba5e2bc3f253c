//! How a program is told to load the shim (dyld(1)).

/// The variable that lists what to preload.
pub(crate) const PRELOAD: &[u8] = b"DYLD_INSERT_LIBRARIES=";

/// What separates its entries.
pub(crate) const fn separates(byte: u8) -> bool {
    byte == b':'
}

/// Variables by which dyld, which no hook sees, would write files or take other system libraries
/// than those that the hooks stand in front of.
pub(crate) const BYPASSES: [&[u8]; 6] = [
    b"DYLD_PRINT_TO_FILE=",
    b"DYLD_ROOT_PATH=",
    b"DYLD_IMAGE_SUFFIX=",
    b"DYLD_SHARED_REGION=",
    b"DYLD_SHARED_CACHE_DIR=",
    b"DYLD_FORCE_FLAT_NAMESPACE=",
];

/// What they begin with.
pub(crate) const BYPASS_INITIALS: &[u8] = b"D";

/// Variables that list directories in which the loader looks for libraries.
pub(crate) const LIBRARY_PATHS: [&[u8]; 4] = [
    b"DYLD_LIBRARY_PATH=",
    b"DYLD_FRAMEWORK_PATH=",
    b"DYLD_FALLBACK_LIBRARY_PATH=",
    b"DYLD_FALLBACK_FRAMEWORK_PATH=",
];
