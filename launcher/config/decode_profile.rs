//! Decodes profiles and the baseline: tables of ready-made grants.

use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use super::decode::{Decoded, Decoder};
use super::document::Node;
use super::placed::{NamedValues, Placed, in_order};
use crate::config::profile::{Profile, Seeds};
use crate::config::profile_keys::KEYS;
use crate::config::written_view::WrittenView;

/// `[profiles.NAME]`. A path is absolute, or begins with `~` or `${NAME:-DEFAULT}`.
#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Profile"))]
#[serde(deny_unknown_fields, default)]
pub(super) struct ProfileTable {
    /// Paths to read.
    read: Vec<Placed<String>>,
    /// Paths to read and execute.
    exec: Vec<Placed<String>>,
    /// Paths to read, and to change if they exist.
    update: Vec<Placed<String>>,
    /// Paths to read, create, update and delete.
    write: Vec<Placed<String>>,
    /// Paths to deny, whatever is granted above them.
    deny: Vec<Placed<String>>,
    /// Exceptions from the grant on a path. `*` stays within a name.
    except: NamedValues<Placed<Vec<String>>>,
    /// Directories that a run creates before it begins.
    make: Vec<Placed<String>>,
    /// Such directories in the workspace, by name, if the run may create them.
    builds: Vec<String>,
    /// Programs that select the profile.
    programs: Vec<String>,
    /// Further profiles.
    includes: Vec<String>,
    /// Programs that name the first path get the second.
    view: NamedValues<Placed<String>>,
    /// Programs that name the path get this cache of the workspace's own.
    cache: NamedValues<Placed<String>>,
    /// Variables that name such a cache.
    variables: NamedValues<Placed<String>>,
    /// The first contents of such a cache.
    seeds: NamedValues<SeedsTable>,
}

/// `[profiles.NAME.seeds.CACHE]`. Patterns are paths below `from`. `**` stands for any directories.
#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Seeds"))]
#[serde(deny_unknown_fields, default)]
struct SeedsTable {
    /// Your own directory.
    from: Option<Placed<String>>,
    /// Files that never change: the cache gets symlinks to them.
    link: Vec<String>,
    /// Files that tools update: the cache gets copies.
    copy: Vec<String>,
    /// Left out of both.
    skip: Vec<String>,
}

impl Decoder<'_> {
    /// Decodes a table of ready-made grants (see [`Profile`]).
    pub(super) fn profile(&mut self, name: &str, node: &Node<'_>) -> Decoded<Profile> {
        if name == "none" {
            return Err(Box::new(
                self.at(node.span(), "a profile cannot be named `none`")
                    .help("`--profile none` stands for no profile at all"),
            ));
        }
        let table: ProfileTable = self.read(node)?;
        let ProfileTable { read, exec, update, write, deny, builds, programs, includes, .. } =
            table;
        let lists = KEYS.into_iter().zip([read, exec, update, write, deny]);
        let mut entries: Vec<_> = lists
            .flat_map(|((_, caps), list)| list.into_iter().map(move |it| (caps, it)))
            .collect();
        entries.sort_by_key(|(_, path)| path.span().start);
        let mut profile =
            Profile { name: name.to_owned(), builds, programs, includes, ..Profile::default() };
        for (caps, path) in entries {
            profile.entries.push((caps, self.path(path)?));
        }
        for path in table.make {
            profile.make.push(self.path(path)?);
        }
        for (path, patterns) in in_order(table.except) {
            profile.except.push((path.into_value(), self.exceptions(patterns)?));
        }
        for (from, to) in in_order(table.view) {
            profile.views.push(self.view(&from, &to)?);
        }
        for (from, cache) in in_order(table.cache) {
            profile.caches.push((self.path(from)?, self.own_directory(&cache)?));
        }
        for (variable, cache) in in_order(table.variables) {
            profile.variables.push((variable.into_value(), self.own_directory(&cache)?));
        }
        for (cache, seeds) in in_order(table.seeds) {
            profile.seeds.push(self.seeds(&cache, seeds)?);
        }
        Ok(profile)
    }

    /// Decodes the exceptions from one entry: patterns relative to it, each of which leaves out everything below, too.
    fn exceptions(&self, patterns: Placed<Vec<String>>) -> Decoded<Vec<String>> {
        if patterns.value().iter().any(|pattern| pattern.contains("**")) {
            return Err(Box::new(
                self.at(patterns.span(), "`**` in what a profile leaves out")
                    .label("would be no more than `*`, which stays within a name")
                    .help("write `*` for each name on the way; what is below is left out, too"),
            ));
        }
        Ok(patterns.into_value())
    }

    /// Decodes an entry of a profile: a path that is absolute, or begins with `~` or `${`.
    fn path(&self, path: Placed<String>) -> Decoded<String> {
        self.check_path(path.value(), path.span())?;
        Ok(path.into_value())
    }

    /// Decodes one view. Its paths are written like entries, and the second may end in a mode.
    fn view(&self, from: &Placed<String>, to: &Placed<String>) -> Decoded<WrittenView> {
        let view = WrittenView::of(from.value().as_bytes(), to.value().as_bytes());
        let view = view.map_err(|error| {
            let error = self.at(from.span(), error.to_string()).label("a view");
            Box::new(error.help("write it as \"FROM\" = \"TO\""))
        })?;
        self.check_path(from.value(), from.span())?;
        self.check_path(to.value(), to.span())?;
        Ok(view)
    }

    /// Decodes the name of a directory of the workspace's own caches: a relative path without `.` and `..`.
    fn own_directory(&self, name: &Placed<String>) -> Decoded<PathBuf> {
        let (name, span) = (name.value(), name.span());
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
    fn seeds(&self, cache: &Placed<String>, table: SeedsTable) -> Decoded<Seeds> {
        let from = table.from.map_or(Ok(String::new()), |from| self.path(from))?;
        let SeedsTable { link: links, copy: copies, skip: skips, .. } = table;
        Ok(Seeds { cache: self.own_directory(cache)?, from, links, copies, skips })
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
