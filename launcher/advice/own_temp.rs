//! Finds files that the command line names in `/tmp`, where a run has a directory of its own. Used by `commands::run`
//! after a run: some of them the run did not see, and others are lost with that directory.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::canonical::{self, Op};
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::{Image, RuleId, Text};
use jp_confine_engine::{Capabilities, views};

use crate::record::denial::{Denial, Layer, Reason};
use crate::text::quote;

/// Files in the place of a run's own directory for temporary files.
#[derive(Debug, Default)]
pub(crate) struct NamedFiles {
    /// Files of the machine, which the run did not find.
    unseen: BTreeSet<PathBuf>,
    /// Files of the run by the names that it knew them by.
    lost: BTreeSet<PathBuf>,
}

impl NamedFiles {
    /// The files that `arguments` name from the directory `cwd`. Looks at the disk, so the directory must still exist.
    pub(crate) fn find(image: &Image<'_>, cwd: &Path, arguments: &[OsString]) -> Self {
        let mut found = Self::default();
        let words = arguments
            .iter()
            .flat_map(|argument| argument.as_bytes().split(|&byte| ends_word(byte)));
        for word in words.filter(|word| word.contains(&b'/')) {
            let Ok(there) =
                canonical::resolve(cwd, Path::new(OsStr::from_bytes(word)), Op::Content)
            else {
                continue;
            };
            let path = there.path.as_os_str().as_bytes();
            let Some(led) = views::to_backing(image, path) else { continue };
            if led.target != image.text(Text::TempDir) || led.end == path.len() {
                continue;
            }
            if Path::new(OsStr::from_bytes(&led.apply(path))).symlink_metadata().is_ok() {
                found.lost.insert(there.path);
            } else if there.exists {
                found.unseen.insert(there.path);
            }
        }
        let named = found.lost.clone();
        let is_within = |path: &Path| path.ancestors().skip(1).any(|above| named.contains(above));
        found.lost.retain(|path| !is_within(path));
        found
    }

    /// The files that the run did not find, as denials for the program `name`. None if the program ended well.
    pub(crate) fn denials(&self, image: &Image<'_>, name: &OsStr, status: u8) -> Vec<Denial> {
        if status == 0 {
            return Vec::new();
        }
        let denial = |path: &PathBuf| {
            let path = path.as_os_str().as_bytes();
            let verdict = decide::access(image, &Request::canonical(path), Capabilities::READ);
            let Verdict::Deny(denied) = verdict else { return None };
            let by = (std::process::id(), name.as_bytes().to_owned());
            Some(Denial {
                rule: denied.rule.map(RuleId::index),
                missing: denied.missing,
                question: denied.ask,
                restraint: denied.restraint,
                layer: Layer::Launcher,
                ..Denial::by_supervisor(Reason::Rule, path, by, b"open")
            })
        };
        self.unseen.iter().filter_map(denial).collect()
    }

    /// A remark about the files that are lost, if there are some.
    pub(crate) fn lost(&self) -> Option<String> {
        let first = quote::place(self.lost.first()?);
        let options: Vec<_> = self.lost.iter().map(|path| ("-w", path.clone())).collect();
        let (files, them) = match self.lost.len() {
            1 => (format!("{first} is"), "it"),
            count => (format!("{first} and {} more are", count - 1), "them"),
        };
        let options = quote::words(&options);
        Some(format!("{files} deleted with the run's own directory; to keep {them}: {options}"))
    }
}

/// Whether a byte ends a path in an option, a list or the text of a script.
fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"'\"`=:;,<>|&(){}$".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_options_lists_and_scripts() {
        for text in ["--out=/tmp/x", "cat </tmp/x;ls", "'/tmp/x'", "/a:/tmp/x", "$(cat /tmp/x)"] {
            let mut words = text.as_bytes().split(|&byte| ends_word(byte));
            assert!(words.any(|word| word == b"/tmp/x"), "{text}");
        }
    }
}
