//! Judges files that others left in directories where everybody may write (`fs.protected_*`, `proc_sys_fs(5)`). The
//! kernel checks files that it opens itself, by their directory. Code that acts on a descriptor asks here.

/// The sticky bit of a directory (`inode(7)`).
const STICKY: u32 = 0o1000;
const BY_GROUP: u32 = 0o020;
const BY_ALL: u32 = 0o002;

/// A file in a directory.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// Its owner.
    pub owner: u32,
    /// The mode of the directory (`st_mode`).
    pub directory_mode: u32,
    /// The owner of the directory.
    pub directory_owner: u32,
}

impl Left {
    /// Whether the file is reserved for its owner if the setting has this `level`. Level 1 covers sticky directories
    /// that everybody may write to. Higher levels also cover those that a group may write to. A file of the directory's
    /// owner is for everybody.
    #[must_use]
    pub const fn is_kept(self, level: u32) -> bool {
        let writers = match level {
            0 => 0,
            1 => BY_ALL,
            _ => BY_ALL | BY_GROUP,
        };
        self.directory_mode & STICKY != 0
            && self.directory_mode & writers != 0
            && self.owner != self.directory_owner
    }
}
