//! Finds the files that a search skips because ignore files say so, as ripgrep does: `.gitignore`, `.ignore`,
//! `.rgignore` and a repository's own exclude file. Used by `walk`.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::Service;
use super::fs::below;

/// The ignore files, highest precedence first.
const FILES: [&str; 4] = [".rgignore", ".ignore", ".gitignore", ".git/info/exclude"];

/// The most bytes of ignore files that count, for a directory and those above it together. Compiled patterns take
/// hundreds of times as much memory.
const MOST: usize = 256 << 10;

/// The ignore files of a directory and of those above it.
#[derive(Debug)]
pub(super) struct Ignored {
    above: Option<Rc<Self>>,
    /// In the order of [`FILES`].
    said: [Option<Gitignore>; FILES.len()],
    /// Total size in bytes of these files and those above.
    length: usize,
}

impl Ignored {
    /// Whether a search skips the object at `path` below the directory.
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
    /// The ignore files that apply in the directory at `path`; `above` are those above it. Ignore files that may not be
    /// read or are too long have no effect.
    pub(super) fn ignored_in(&self, path: &str, above: Option<&Rc<Ignored>>) -> Rc<Ignored> {
        let mut length = above.map_or(0, |above| above.length);
        let said = FILES.map(|name| {
            let file = below(path, name);
            let (granted, _) = self.readable(&file)?;
            let contents = self.contents(&granted, &file).ok()?;
            length = length.checked_add(contents.len()).filter(|length| *length <= MOST)?;
            let mut builder = GitignoreBuilder::new(place(path));
            for line in String::from_utf8_lossy(&contents).lines() {
                // A line that is not a pattern is ignored, as in ripgrep.
                let _ = builder.add_line(None, line);
            }
            builder.build().ok()
        });
        match above {
            Some(above) if said.iter().all(Option::is_none) => Rc::clone(above),
            above => Rc::new(Ignored { above: above.cloned(), said, length }),
        }
    }

    /// The ignore files that apply above `path`, from the workspace's root down.
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

/// Turns a project path into an absolute one, with the project's root as `/`.
fn place(path: &str) -> PathBuf {
    Path::new("/").join(path.trim_start_matches("./")).components().collect()
}
