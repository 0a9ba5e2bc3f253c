//! Decodes profiles and the baseline: tables of ready-made grants.

use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use toml::Spanned;

use super::decode::{Decoded, Decoder};
use super::document::{Node, TableEntry};
use crate::config::profile::{Profile, Seeds};
use crate::config::profile_keys::KEYS;
use crate::config::written_view::WrittenView;

const PROFILE_KEYS: [&str; 14] = [
    "read",
    "exec",
    "update",
    "write",
    "deny",
    "except",
    "make",
    "builds",
    "programs",
    "includes",
    "view",
    "cache",
    "variables",
    "seeds",
];

const SEED_KEYS: [&str; 4] = ["from", "link", "copy", "skip"];

impl Decoder<'_> {
    /// Decodes a table of ready-made grants (see [`Profile`]).
    pub(super) fn profile(&mut self, name: &str, node: &Node<'_>) -> Decoded<Profile> {
        if name == "none" {
            return Err(Box::new(
                self.at(node.span(), "a profile cannot be named `none`")
                    .help("`--profile none` stands for no profile at all"),
            ));
        }
        let mut profile = Profile { name: name.to_owned(), ..Profile::default() };
        for entry in self.table(node)? {
            if let Some(&(_, caps)) = KEYS.iter().find(|(key, _)| *key == entry.name()) {
                let paths = self.paths(entry.value)?;
                profile.entries.extend(paths.into_iter().map(|path| (caps, path)));
                continue;
            }
            match entry.name() {
                "make" => profile.make = self.paths(entry.value)?,
                "builds" => profile.builds = self.read(entry.value)?,
                "programs" => profile.programs = self.read(entry.value)?,
                "includes" => profile.includes = self.read(entry.value)?,
                "except" => {
                    for inner in self.table(entry.value)? {
                        let patterns = self.exceptions(inner.value)?;
                        profile.except.push((inner.name().to_owned(), patterns));
                    }
                }
                "view" => {
                    for inner in self.table(entry.value)? {
                        profile.views.push(self.view(inner)?);
                    }
                }
                "cache" => {
                    for inner in self.table(entry.value)? {
                        self.check_path(inner.name(), inner.key.span())?;
                        let name: String = self.read(inner.value)?;
                        let name = self.own_directory(&name, inner.value.span())?;
                        profile.caches.push((inner.name().to_owned(), name));
                    }
                }
                "variables" => {
                    for inner in self.table(entry.value)? {
                        let name: String = self.read(inner.value)?;
                        let name = self.own_directory(&name, inner.value.span())?;
                        profile.variables.push((inner.name().to_owned(), name));
                    }
                }
                "seeds" => {
                    for inner in self.table(entry.value)? {
                        profile.seeds.push(self.seeds(inner)?);
                    }
                }
                _ => return self.unknown(entry, &PROFILE_KEYS),
            }
        }
        Ok(profile)
    }

    /// Decodes the exceptions from one entry: patterns relative to it, each of which leaves out everything below, too.
    fn exceptions(&self, node: &Node<'_>) -> Decoded<Vec<String>> {
        let patterns: Vec<String> = self.read(node)?;
        if patterns.iter().any(|pattern| pattern.contains("**")) {
            return Err(Box::new(
                self.at(node.span(), "`**` in what a profile leaves out")
                    .label("would be no more than `*`, which stays within a name")
                    .help("write `*` for each name on the way; what is below is left out, too"),
            ));
        }
        Ok(patterns)
    }

    /// Decodes a list of profile entries, each absolute or beginning with `~` or `${`.
    fn paths(&self, node: &Node<'_>) -> Decoded<Vec<String>> {
        let paths: Vec<Spanned<String>> = self.read(node)?;
        paths.iter().try_for_each(|item| self.check_path(item.get_ref(), item.span()))?;
        Ok(paths.into_iter().map(Spanned::into_inner).collect())
    }

    /// Decodes one view. Its paths are written like entries, and the second may end in a mode.
    fn view(&self, entry: TableEntry<'_, '_>) -> Decoded<WrittenView> {
        let (from, to): (_, String) = (entry.name(), self.read(entry.value)?);
        let view = WrittenView::of(from.as_bytes(), to.as_bytes()).map_err(|error| {
            let error = self.at(entry.key.span(), error.to_string()).label("a view");
            Box::new(error.help("write it as \"FROM\" = \"TO\""))
        })?;
        self.check_path(from, entry.key.span())?;
        self.check_path(&to, entry.value.span())?;
        Ok(view)
    }

    /// Decodes the name of a directory of the workspace's own caches: a relative path without `.` and `..`.
    fn own_directory(&self, name: &str, span: Range<usize>) -> Decoded<PathBuf> {
        let is_plain = |part| matches!(part, Component::Normal(_));
        if name.is_empty() || !Path::new(name).components().all(is_plain) {
            return Err(Box::new(
                self.at(span, "not the name of a cache")
                    .label("absolute, empty, or with `..`")
                    .help("a relative path, which is a directory of the workspace's own caches"),
            ));
        }
        Ok(name.into())
    }

    /// Decodes what one cache has from the user's.
    fn seeds(&mut self, entry: TableEntry<'_, '_>) -> Decoded<Seeds> {
        let cache = self.own_directory(entry.name(), entry.key.span())?;
        let mut seeds = Seeds { cache, ..Seeds::default() };
        for inner in self.table(entry.value)? {
            match inner.name() {
                "from" => {
                    seeds.from = self.read(inner.value)?;
                    self.check_path(&seeds.from, inner.value.span())?;
                }
                "link" => seeds.links = self.read(inner.value)?,
                "copy" => seeds.copies = self.read(inner.value)?,
                "skip" => seeds.skips = self.read(inner.value)?,
                _ => return self.unknown(inner, &SEED_KEYS),
            }
        }
        Ok(seeds)
    }

    fn check_path(&self, path: &str, span: Range<usize>) -> Decoded<()> {
        let home = path == "~" || path.starts_with("~/");
        let variable = path.strip_prefix("${").is_some_and(|rest| rest.contains('}'));
        let dotted = Path::new(path).components().any(|part| part.as_os_str() == "..");
        if (path.starts_with('/') || home || variable) && !dotted {
            return Ok(());
        }
        Err(Box::new(
            self.at(span, "not a path that a profile can grant")
                .label("relative, or with `..`")
                .help("begin it with `/`, `~/` or `${NAME:-DEFAULT}`, without `..`"),
        ))
    }
}
