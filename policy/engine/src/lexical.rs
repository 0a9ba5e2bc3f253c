//! Normalises tool inputs and rule paths lexically (spec §3). No I/O.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::string::{String, ToString as _};
use std::vec::Vec;

/// Why an input is denied without a look at the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LexicalError {
    /// The empty string. The root is written `.`.
    #[error("the path is empty")]
    Empty,
    /// Absolute. Only workspace-relative paths are accepted.
    #[error("absolute paths are not permitted")]
    Absolute,
    /// `..` leads above the workspace root.
    #[error("the path escapes the workspace through `..`")]
    Escape,
    /// Contains a NUL byte, which no file name does.
    #[error("the path contains a NUL byte")]
    Nul,
}

/// The normal form of a workspace-relative path: no `.`, `..` or empty component. The root is the empty path. Names may
/// contain any bytes but NUL, and `* ? [ ~ $` mean themselves.
///
/// # Errors
/// [`LexicalError`]. If several apply, absolute comes before escape.
pub fn normalise(input: &[u8]) -> Result<PathBuf, LexicalError> {
    let needs_none = |name: &[u8]| !matches!(name, b"" | b"." | b"..");
    if input.split(|&byte| byte == b'/').all(needs_none) && !input.contains(&0) {
        return Ok(PathBuf::from(OsStr::from_bytes(input)));
    }
    let names = components(input)?;
    Ok(PathBuf::from(OsString::from_vec(names.join(&b'/'))))
}

/// The normal form of an absolute path: no `.`, `..` or empty component. The root is its own parent.
pub(crate) fn normalise_absolute(path: &Path) -> PathBuf {
    let mut normal = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            Component::ParentDir => drop(normal.pop()),
            _ => {}
        }
    }
    normal
}

/// Whether `input` ends so that the kernel accepts only a directory, `path_resolution(7)`. Matching ignores that.
pub(crate) fn demands_directory(input: &[u8]) -> bool {
    input.ends_with(b"/") || input.ends_with(b"/.")
}

fn components(input: &[u8]) -> Result<Vec<&[u8]>, LexicalError> {
    match input.first() {
        None => return Err(LexicalError::Empty),
        Some(b'/') => return Err(LexicalError::Absolute),
        Some(_) => {}
    }
    let mut names: Vec<&[u8]> = Vec::new();
    for name in input.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => drop(names.pop().ok_or(LexicalError::Escape)?),
            _ => names.push(name),
        }
    }
    if input.contains(&0) {
        return Err(LexicalError::Nul);
    }
    Ok(names)
}

/// A workspace-relative path as messages show it.
pub(crate) fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() { ".".to_string() } else { path.to_string_lossy().into_owned() }
}

pub(crate) fn bytes(path: &Path) -> &[u8] {
    use std::os::unix::ffi::OsStrExt as _;
    path.as_os_str().as_bytes()
}
