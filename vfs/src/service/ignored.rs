//! What a search passes over because files in the project say so, as ripgrep does: `.gitignore`, `.ignore`
//! and `.rgignore`, and what a repository excludes for itself.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::Service;
use super::fs::below;

/// The files that say so, the most decisive first.
const FILES: [&str; 4] = [".rgignore", ".ignore", ".gitignore", ".git/info/exclude"];

/// So many bytes count of the files of a directory and those above it: patterns take hundreds of times the room when
/// they are ready.
const MOST: usize = 256 << 10;

/// What the files of a directory say, and those of the directories above it.
#[derive(Debug)]
pub(super) struct Ignored {
    above: Option<Rc<Self>>,
    /// In the order of [`FILES`].
    said: [Option<Gitignore>; FILES.len()],
    /// How many bytes they and those above have.
    length: usize,
}

impl Ignored {
    /// Whether what is at `path` below the directory is passed over.
    pub(super) fn covers(self: &Rc<Self>, path: &str, is_dir: bool) -> bool {
        let place = place(path);
        for kind in 0..FILES.len() {
            let mut level = Some(self);
            while let Some(ignored) = level {
                let said = ignored.said.get(kind).and_then(Option::as_ref);
                match said.map_or(Match::None, |said| said.matched(&place, is_dir)) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => level = ignored.above.as_ref(),
                }
            }
        }
        false
    }
}

impl Service<'_> {
    /// What is passed over in the directory at `path`, where `above` is what is above it. Files that may
    /// not be read say nothing, nor do those that are too long.
    pub(super) fn ignored_in(&self, path: &str, above: Option<&Rc<Ignored>>) -> Rc<Ignored> {
        let mut length = above.map_or(0, |above| above.length);
        let said = FILES.map(|name| {
            let file = below(path, name);
            let (granted, _) = self.readable(&file)?;
            let contents = self.contents(&granted, &file).ok()?;
            length = length.checked_add(contents.len()).filter(|length| *length <= MOST)?;
            let mut builder = GitignoreBuilder::new(place(path));
            for line in String::from_utf8_lossy(&contents).lines() {
                // As ripgrep does, a line that is no pattern is passed over.
                let _ = builder.add_line(None, line);
            }
            builder.build().ok()
        });
        match above {
            Some(above) if said.iter().all(Option::is_none) => Rc::clone(above),
            above => Rc::new(Ignored { above: above.cloned(), said, length }),
        }
    }

    /// The same of the directories above `path`, from the root of the workspace on.
    pub(super) fn ignored_above(&self, path: &str) -> Rc<Ignored> {
        let mut dir = ".".to_owned();
        let mut ignored = self.ignored_in(&dir, None);
        let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        let (_, above) = names.split_last().unwrap_or((&"", &[]));
        for name in above {
            dir = below(&dir, name);
            ignored = self.ignored_in(&dir, Some(&ignored));
        }
        ignored
    }
}

/// A path of the project as one that begins at its root.
fn place(path: &str) -> PathBuf {
    Path::new("/").join(path.trim_start_matches("./")).components().collect()
}
