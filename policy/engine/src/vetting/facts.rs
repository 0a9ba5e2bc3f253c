//! What is known about the place of a configuration that is judged.

use std::fmt;
use std::string::String;

/// The known facts about the repository whose configuration is written.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The directory of the file, canonical.
    pub directory: &'a [u8],
    /// The workspace, canonical.
    pub workspace: &'a [u8],
    /// Whether the run cannot change, without consent, the files in a directory that git obeys or the directory that
    /// the name leads to.
    pub is_out_of_reach: &'a dyn Fn(&[u8]) -> bool,
    /// Whether the run itself added a remote of this name to this file.
    pub is_own_remote: &'a dyn Fn(&[u8]) -> bool,
}

impl fmt::Debug for Facts<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |path| String::from_utf8_lossy(path);
        let (directory, workspace) = (text(self.directory), text(self.workspace));
        let mut facts = formatter.debug_struct("Facts");
        facts.field("directory", &directory).field("workspace", &workspace).finish_non_exhaustive()
    }
}
