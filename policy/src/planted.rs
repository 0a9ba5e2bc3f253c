//! What others leave where everybody may leave something (`fs.protected_*`, `proc_sys_fs(5)`). The kernel sees to it
//! for what it opens itself, by the directory that this is in; who acts on what is held asks here.

/// The sticky bit of a directory (`inode(7)`).
const STICKY: u32 = 0o1000;
const BY_GROUP: u32 = 0o020;
const BY_ALL: u32 = 0o002;

/// Something that is in a directory.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// Whose it is.
    pub owner: u32,
    /// The mode of the directory (`st_mode`).
    pub directory_mode: u32,
    /// Whose that is.
    pub directory_owner: u32,
}

impl Left {
    /// Whether it is kept for its owner where the setting has this `level`: with 1 in a sticky directory that everybody
    /// may write to, with more in one that a group may, too. What its host left there is for all.
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
