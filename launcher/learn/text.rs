//! Formats names and paths for the output of `learn`.

use crate::learn::tree::can_be_written;
use crate::sys::path::path_of;
use crate::text::quote;

/// The longest part of `path` that a policy file can name.
pub(crate) fn readable(path: &[u8]) -> &[u8] {
    let whole = |end: usize| path.get(..end).filter(|start| can_be_written(start));
    if whole(path.len()).is_some() {
        return path;
    }
    let mut slashes = path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
    slashes.find_map(|(end, _)| whole(end)).unwrap_or_default()
}

/// A path in the workspace, for people.
pub(crate) fn shown(path: &[u8]) -> String {
    if path.is_empty() { ".".to_owned() } else { quote::printable(path) }
}

/// The last component of a program's path.
pub(crate) fn short(program: &[u8]) -> String {
    let name = path_of(program).file_name();
    name.map_or_else(|| "?".to_owned(), |name| quote::path(&name.to_string_lossy()))
}
