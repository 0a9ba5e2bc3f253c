//! Decides which caches the tools of a run have: the workspace's own, the user's, or none (spec §12.2). Used by
//! `builtin_grants`.
//!
//! What a run writes into the user's own caches would run unconfined later.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::canonical::{self, Op};

use crate::cli::{CacheMode, Options};
use crate::compile::led_path::Led;
use crate::compile::profiles::{OwnCache, Resolved, expand};
use crate::compile::purpose::Stage;
use crate::compile::seeding;
use crate::config::environment::EnvOption;
use crate::config::profile::{Profile, Seeds};
use crate::config::written_view::WrittenView;
use crate::host::cache_dirs;
use crate::host::context::{Context, HANDLES};
use crate::host::workspace::Workspace;
use crate::text::quote;

/// What happens to directories of caches that do not exist.
#[derive(Debug, Default)]
enum Making {
    /// They are created in this directory, because a program is about to run.
    Missing(OwnedFd),
    /// They are not used: the run around this one does not let it create any.
    Nothing,
    /// They are used, for a query.
    #[default]
    Asked,
}

/// The caches of a run.
#[derive(Debug, Default)]
pub(crate) struct Caches {
    /// The canonical directory for the workspace's own caches, if they are used.
    pub(super) directory: Option<PathBuf>,
    workspace: PathBuf,
    /// The user's own caches are used.
    are_shared: bool,
    making: Making,
    pub(crate) warning: Option<String>,
    /// Variables that name caches.
    pub(crate) variables: Vec<(String, PathBuf)>,
    /// Keeps `cache clear` away until the run ends.
    lock: Option<File>,
}

impl Caches {
    /// The caches that the options select. If a program is about to run, creates the directory for them. Without that
    /// directory there are no caches.
    pub(crate) fn of(
        context: &Context,
        workspace: &Workspace,
        options: &Options,
        stage: Stage<'_>,
    ) -> Self {
        let mode = options.caches.unwrap_or_default();
        let mut caches = Self {
            workspace: workspace.root.clone(),
            are_shared: mode == CacheMode::Shared,
            making: match stage {
                Stage::Run(_) if context.variable(HANDLES.as_ref()).is_some() => Making::Nothing,
                _ => Making::Asked,
            },
            ..Self::default()
        };
        if caches.are_shared {
            let warning = "--cache shared: the program may change the user's own caches, from which other programs run";
            caches.warning = Some(warning.to_owned());
        }
        let own = (mode == CacheMode::Own).then(|| cache_dirs::of(context, workspace)).flatten();
        let Some(directory) = own else { return caches };
        if matches!((&caches.making, stage), (Making::Asked, Stage::Run(_))) {
            match cache_dirs::begin_use(&directory, workspace) {
                Ok((opened, lock)) => {
                    (caches.making, caches.lock) = (Making::Missing(opened), Some(lock));
                }
                Err(error) => {
                    let directory = quote::place(&directory);
                    caches.warning = Some(format!("{directory}: {error}, so tools have no caches"));
                    return caches;
                }
            }
        }
        let found = canonical::resolve(Path::new("/"), &directory, Op::Content);
        Self { directory: found.ok().map(|found| found.path), ..caches }
    }

    /// The part of a profile that counts.
    pub(crate) fn counting<'p>(&self, profile: &'p Profile) -> Cow<'p, Profile> {
        if self.are_shared { Cow::Owned(profile.sharing_caches()) } else { Cow::Borrowed(profile) }
    }

    /// Adds what `profile` has of the workspace's own caches to its `resolved` grants. If a program is about to run, creates
    /// and fills the directories. Leaves out those that cannot be created.
    pub(crate) fn add(
        &mut self,
        context: &Context,
        options: &Options,
        profile: &Profile,
        resolved: &mut Resolved,
    ) {
        let Some(directory) = self.directory.clone() else { return };
        let origin =
            |entry: &str| profile.origin(entry, profile.own && !options.profiles.is_empty());
        let mut sources: Vec<(&Path, PathBuf)> = Vec::new();
        for seeds in &profile.seeds {
            let Some(written) = expand(context, &seeds.from) else { continue };
            let Some(from) = canonical::existing(&written) else { continue };
            let origin = origin(&format!("seeds {}", seeds.from));
            let grants = grants(&from, seeds, &origin);
            let below = |grant: &Grant| grant.anchor.strip_prefix(&from).ok().map(Path::to_owned);
            let found = grants.iter().filter_map(below);
            sources.extend(found.map(|source| (seeds.cache.as_path(), source)));
            if from != written {
                let led = |grant: &Grant| Led {
                    grant: grant.clone(),
                    spelled: written.clone(),
                    view: None,
                };
                resolved.led.extend(grants.iter().map(led));
            }
            resolved.grants.extend(grants);
            if let Making::Missing(own) = &self.making
                && let Ok(cache) = cache_dirs::make_below(own, &seeds.cache)
            {
                let record = format!("seeds-{}", seeds.cache.to_string_lossy().replace('/', "-"));
                // A tool without its seeds fetches them.
                let _ = seeding::seed(&from, cache, &directory.join(record), seeds);
            }
        }
        let own = cache_dirs::filled(&directory);
        for (from, name) in &profile.caches {
            let Some(from_path) = expand(context, from).filter(|_| self.has(name)) else {
                continue;
            };
            let view = WrittenView { from: from_path, to: own.join(name), writable: true };
            let origin = origin(&format!("cache {from}"));
            let own = sources.iter().filter(|(cache, _)| cache == name);
            let sources = own.map(|(_, source)| source.clone()).collect();
            resolved.caches.push(OwnCache { view, origin, sources });
        }
        for (name, cache) in &profile.variables {
            if !self.is_chosen(context, options, name) && self.has(cache) {
                self.variables.push((name.clone(), own.join(cache)));
            }
        }
    }

    /// The grant on all caches of the workspace, if `tables` or variables name one.
    pub(crate) fn grant(&self, tables: &[Resolved]) -> Option<Grant> {
        let are_used =
            !self.variables.is_empty() || tables.iter().any(|table| !table.caches.is_empty());
        let own = cache_dirs::filled(self.directory.as_ref().filter(|_| are_used)?);
        let origin = Origin::Product { why: "the workspace's own caches".to_owned() };
        Some(Grant::new(own, Capabilities::ALL, GrantKind::Plain, origin))
    }

    /// Whether this cache can be used. Creates its directory if a program is about to run.
    fn has(&self, cache: &Path) -> bool {
        match &self.making {
            Making::Missing(own) => {
                self.is_there(cache) || cache_dirs::make_below(own, cache).is_ok()
            }
            Making::Nothing => self.is_there(cache),
            Making::Asked => true,
        }
    }

    /// Whether the directory of this cache exists, and no symlink leads there: a run may have left one.
    fn is_there(&self, cache: &Path) -> bool {
        let Some(directory) = &self.directory else { return false };
        let place = cache_dirs::filled(directory).join(cache);
        let is_directory = canonical::look(&place).is_ok_and(|found| found.is_dir());
        is_directory && canonical::existing(&place) == Some(place)
    }

    /// Whether the user chose the value of this variable for the run, or the environment names a directory in the
    /// workspace.
    fn is_chosen(&self, context: &Context, options: &Options, name: &str) -> bool {
        let mut typed = options.env.iter().filter_map(EnvOption::assignment);
        let path = context.variable(OsStr::new(name)).map(Path::new);
        let found = path.map(|path| canonical::resolve(&context.cwd, path, Op::Content));
        let is_inside = |path: &Path| canonical::below(&self.workspace, path).is_some();
        typed.any(|(known, _)| known == name)
            || found.is_some_and(|found| found.is_ok_and(|found| is_inside(&found.path)))
    }
}

/// The grants on the directories of the user's that symlinks lead into. A directory that is itself reached by a symlink
/// is left out, as in `seeding`.
fn grants(from: &Path, seeds: &Seeds, origin: &Origin) -> Vec<Grant> {
    let caps = Capabilities::READ.union(Capabilities::EXECUTE);
    let paths = seeds.sources().into_iter().map(|source| from.join(source).components().collect());
    let real = paths.filter(|path: &PathBuf| canonical::existing(path).as_ref() == Some(path));
    real.map(|path| Grant::new(path, caps, GrantKind::Plain, origin.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::built_in::BuiltIn;

    #[test]
    fn tools_have_the_workspaces_own_caches() {
        let dir = tempfile::tempdir().expect("a directory");
        let home = dir.path().canonicalize().expect("canonical");
        let mut context = Context::bare(&home);
        context.homes.user = Some(home.clone());
        let (workspace, options) = (Workspace::bare(Path::new("/srv/ws")), Options::default());
        let mut caches = Caches::of(&context, &workspace, &options, Stage::Question);
        for (name, cache, own) in [
            ("node", ".npm", "npm"),
            ("node", ".local/share/pnpm", "pnpm/home"),
            ("java", ".m2", "maven"),
            ("python", ".cache/pip", "pip"),
            ("rust", ".cargo", "cargo"),
            ("c", ".cache/ccache", "ccache"),
        ] {
            let profile = BuiltIn::named(name).expect("a table");
            let mut resolved = Resolved::default();
            caches.add(&context, &options, &profile, &mut resolved);
            let is_it = |found: &&OwnCache| found.view.from == home.join(cache);
            let view = &resolved.caches.iter().find(is_it).expect(cache).view;
            let directory = home.join(".cache/jp-confine").join(workspace.cache_id());
            let expected = cache_dirs::filled(&directory).join(own);
            assert!(view.writable && view.to == expected, "{view}");
        }
    }
}
