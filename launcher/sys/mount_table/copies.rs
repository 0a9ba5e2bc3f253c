//! Finds the other places at which an object is mounted. Used by `compile::second_mounts`.

use std::path::{Path, PathBuf};

use jp_confine_engine::canonical;

use super::line::Mount;
use super::{Copy, ParsedMounts};

impl ParsedMounts<'_> {
    /// Finds the other places of the object at the canonical `path`, and of its parts. They are in other mounts of its
    /// file system, or of the file systems that are mounted in it.
    pub(crate) fn copies(&self, path: &Path) -> Vec<Copy> {
        let mut found = Vec::new();
        if self.repeated.is_empty() {
            return found;
        }
        if let Some(holder) = self.holder(path) {
            self.add_copies(path, holder, &mut found);
        }
        let repeated = self.all.iter().filter(|it| self.repeated.contains(&it.device));
        for inner in repeated.filter(|it| canonical::strictly_below(path, it.place()).is_some()) {
            self.add_copies(inner.place(), inner, &mut found);
        }
        // A denial holds for everything below it anyway.
        found.retain(|copy| canonical::below(path, &copy.at).is_none());
        found
    }

    fn add_copies(&self, path: &Path, holder: &Mount<'_>, to: &mut Vec<Copy>) {
        if !self.repeated.contains(&holder.device) {
            return;
        }
        let Some(below) = canonical::below(holder.place(), path) else { return };
        let object = joined(holder.root(), below);
        let others = self.all.iter().filter(|it| it.device == holder.device && it.id != holder.id);
        for mount in others {
            let copy = if let Some(below) = canonical::below(mount.root(), &object) {
                Copy { at: joined(mount.place(), below), of: path.to_owned() }
            } else if let Some(below) = canonical::below(&object, mount.root()) {
                Copy { at: mount.place().to_owned(), of: joined(path, below) }
            } else {
                continue;
            };
            let is_seen = self.holder(&copy.at).is_some_and(|top| top.id == mount.id);
            if is_seen && !to.contains(&copy) {
                to.push(copy);
            }
        }
    }
}

/// Joins two paths. If `below` is empty, no slash is added.
pub(super) fn joined(path: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { path.to_owned() } else { path.join(below) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::mount_table::MountTable;

    fn copies(lines: &str, path: &str) -> Vec<(String, String)> {
        let table = MountTable { text: lines.as_bytes().to_owned() };
        let text = |path: &Path| path.display().to_string();
        let found = table.mounts().copies(Path::new(path));
        found.iter().map(|copy| (text(&copy.at), text(&copy.of))).collect()
    }

    fn pair(at: &str, of: &str) -> (String, String) {
        (at.to_owned(), of.to_owned())
    }

    const ROOT: &str = "1 0 8:1 / / rw - ext4 a rw\n";

    #[test]
    fn the_same_directory_is_found() {
        let lines = format!("{ROOT}2 1 8:1 /w/secret /w/alias rw - ext4 a rw\n");
        assert_eq!(copies(&lines, "/w/secret"), [pair("/w/alias", "/w/secret")]);
        assert_eq!(copies(&lines, "/w/secret/k"), [pair("/w/alias/k", "/w/secret/k")]);
        assert_eq!(copies(&lines, "/w/alias"), [pair("/w/secret", "/w/alias")]);
        assert_eq!(copies(&lines, "/w/other"), []);
    }

    #[test]
    fn a_mount_above_it_and_one_below_it_are_found() {
        let above = format!("{ROOT}2 1 8:1 /w /srv/all rw - ext4 a rw\n");
        assert_eq!(copies(&above, "/w/secret"), [pair("/srv/all/secret", "/w/secret")]);
        let below = format!("{ROOT}2 1 8:1 /w/secret/deep /w/alias rw - ext4 a rw\n");
        assert_eq!(copies(&below, "/w/secret"), [pair("/w/alias", "/w/secret/deep")]);
    }

    #[test]
    fn a_subvolume_is_found_by_its_name_in_the_file_system() {
        let lines = "1 0 0:30 /@ / rw - btrfs a rw\n2 1 0:30 /@home /home rw - btrfs a rw\n\
                     3 1 0:30 / /mnt rw - btrfs a rw\n";
        assert_eq!(copies(lines, "/home/u/.ssh"), [pair("/mnt/@home/u/.ssh", "/home/u/.ssh")]);
    }

    #[test]
    fn what_is_mounted_in_it_is_found_elsewhere() {
        let lines = format!(
            "{ROOT}2 1 8:2 / /w/secret/disk rw - ext4 b rw\n3 1 8:2 /keys /w/keys rw - ext4 b rw\n"
        );
        assert_eq!(copies(&lines, "/w/secret"), [pair("/w/keys", "/w/secret/disk/keys")]);
    }

    #[test]
    fn a_copy_that_something_covers_is_none() {
        let lines = format!(
            "{ROOT}2 1 8:1 /w/secret /w/alias rw - ext4 a rw\n3 2 8:9 / /w/alias rw - ext4 b rw\n"
        );
        assert_eq!(copies(&lines, "/w/secret"), []);
    }
}
