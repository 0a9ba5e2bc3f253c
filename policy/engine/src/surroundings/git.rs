//! Reads from git's own files where git keeps things, as far as auto-run files depend on it ([`super`]).

use std::fs;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;

/// The canonical directory of a repository whose `.git` is a file or a symlink.
pub(super) fn directory(name: &Path) -> Option<PathBuf> {
    if name.is_dir() {
        return name.canonicalize().ok();
    }
    let text = fs::read_to_string(name).ok()?;
    let path = text.strip_prefix("gitdir:")?.trim();
    name.parent()?.join(path).canonicalize().ok()
}

/// The directory with the configuration and the hooks of a repository's `directory`.
pub(super) fn common_directory(directory: &Path) -> PathBuf {
    let named = fs::read_to_string(directory.join("commondir")).ok();
    let common = named.and_then(|text| directory.join(text.trim()).canonicalize().ok());
    common.unwrap_or_else(|| directory.into())
}

/// The paths in a configuration that git obeys.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// `core.hooksPath`.
    pub(super) hooks: Vec<String>,
    /// `include.path` and `includeIf.….path`.
    pub(super) included: Vec<String>,
}

impl Named {
    /// Reads text in the form that git writes. Values that continue on another line are left out.
    pub(super) fn of(text: &str) -> Self {
        let mut named = Self::default();
        let mut section = String::new();
        for line in text.lines().map(str::trim) {
            let line = match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                Some((name, rest)) => {
                    let name = name.split([' ', '\t', '.']).next().unwrap_or_default();
                    section = name.to_ascii_lowercase();
                    rest.trim()
                }
                None => line,
            };
            let Some((key, value)) = line.split_once('=') else { continue };
            let key = key.trim().to_ascii_lowercase();
            match (section.as_str(), key.as_str()) {
                ("core", "hookspath") => named.hooks.push(plain(value)),
                ("include" | "includeif", "path") => named.included.push(plain(value)),
                _ => {}
            }
        }
        named
    }
}

/// A value without quotes and comments.
fn plain(value: &str) -> String {
    let mut plain = String::new();
    let (mut quoted, mut characters) = (false, value.trim().chars());
    while let Some(character) = characters.next() {
        match character {
            '"' => quoted = !quoted,
            '\\' => plain.extend(characters.next()),
            '#' | ';' if !quoted => break,
            other => plain.push(other),
        }
    }
    plain.trim_end().into()
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;

    #[test]
    fn what_is_named_is_found_as_git_does() {
        let text = "[user]\n\tname = x\n[core]\n\tbare = false\n\thooksPath = .husky/_ # set\n\
                    [Include]\npath = \"../my config\"\n[includeIf \"gitdir:~/x/\"] path=a\\\\b\n[http]\npath = no\n";
        let found = Named::of(text);
        assert_eq!(found.hooks, vec![String::from(".husky/_")]);
        assert_eq!(found.included, vec![String::from("../my config"), String::from("a\\b")]);
        assert_eq!(Named::of("hookspath = x\n[core \"y\"]\nhookspath"), Named::default());
    }
}
