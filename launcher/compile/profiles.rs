//! Resolves profiles to grants on canonical paths on this machine.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::canonical::{self, Op};

use crate::cli::Options;
use crate::compile::led_path::Led;
use crate::config::profile::Profile;
use crate::config::written_view::WrittenView;
use crate::host::context::Context;
use crate::host::data_dirs;

impl Profile {
    /// Creates the directories that the profile's tools create on first use, because a grant on something inside does
    /// not allow creating them. The mode is that required for `$XDG_CACHE_HOME`. If that fails, the tools lack the
    /// directory as before.
    pub(crate) fn make_folders(&self, context: &Context) {
        for path in self.make.iter().filter_map(|entry| expand(context, entry)) {
            let _ = data_dirs::make(&path);
        }
    }

    /// Resolves this profile on this machine. Denied paths in the hidden home look absent like the rest of it.
    pub(crate) fn resolve(&self, context: &Context, options: &Options) -> Resolved {
        let named = self.own && !options.profiles.is_empty();
        let mut resolved = Resolved { own: self.own, ..Resolved::default() };
        for (caps, entry) in &self.entries {
            let Some(path) = expand(context, entry) else { continue };
            let is_awaited = self.own || self.narrows(entry);
            let Some(anchor) = anchor(&path, *caps, is_awaited) else { continue };
            let at_home = context
                .canonical_home
                .as_ref()
                .is_some_and(|home| canonical::below(home, &anchor).is_some());
            let kind = if caps.is_empty() && !options.show_denied && at_home {
                GrantKind::Hidden
            } else {
                GrantKind::Plain
            };
            let is_led = anchor != path;
            if is_led {
                resolved.links.push((path.components().collect(), anchor.clone()));
            }
            let mut grant = Grant::new(anchor, *caps, kind, self.origin(entry, named));
            let except = self.except.iter().filter(|(path, _)| path == entry);
            grant.is_state = !self.own && caps.intersects(Capabilities::WRITE);
            grant.carve_outs = except.flat_map(|(_, patterns)| patterns.iter().cloned()).collect();
            if is_led && !caps.is_empty() {
                resolved.led.push(Led { grant: grant.clone(), spelled: path, view: None });
            }
            resolved.grants.push(grant);
        }
        resolved.links.retain(|(spelled, canonical)| spelled != canonical);
        resolved.views =
            self.views.iter().filter_map(|view| self.view(context, view, named)).collect();
        resolved
    }

    /// The view with absolute paths. `None` if one depends on an unknown variable or directory.
    fn view(
        &self,
        context: &Context,
        view: &WrittenView,
        named: bool,
    ) -> Option<(WrittenView, Origin)> {
        let expanded = view.with(|path| expand(context, path.to_str().ok_or(())?).ok_or(()));
        Some((expanded.ok()?, self.origin(&format!("view {view}"), named)))
    }

    /// The source of what `entry` grants. `named` if a person wrote the profile and named it.
    pub(super) fn origin(&self, entry: &str, named: bool) -> Origin {
        if self.name.is_empty() {
            return Origin::Baseline { entry: entry.to_owned() };
        }
        let (name, entry) = (self.name.clone(), entry.to_owned());
        Origin::Profile { name, entry, named }
    }
}

/// A profile resolved on this machine.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    /// Its grants, on canonical anchors.
    pub(crate) grants: Vec<Grant>,
    /// Whether a person wrote it.
    pub(crate) own: bool,
    /// Entries whose canonical path is not their spelling, as pairs. With them a program that uses `/bin` need not
    /// resolve it each time.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    /// The grants among them whose anchor is not the path that was written.
    pub(crate) led: Vec<Led>,
    /// Its views with absolute paths, and their sources.
    pub(crate) views: Vec<(WrittenView, Origin)>,
    /// The workspace's own caches.
    pub(crate) caches: Vec<OwnCache>,
}

/// A cache of a tool that is the workspace's own.
#[derive(Clone, Debug)]
pub(crate) struct OwnCache {
    pub(crate) view: WrittenView,
    pub(crate) origin: Origin,
    /// Directories below the user's cache, relative to it, that symlinks in this cache lead into.
    pub(crate) sources: Vec<PathBuf>,
}

impl Resolved {
    /// Whether it grants something by a profile that a person wrote and named.
    pub(crate) fn is_meant(&self) -> bool {
        let is_named = |grant: &Grant| matches!(grant.origin, Origin::Profile { named: true, .. });
        self.grants.iter().any(|grant| is_named(grant) && !grant.caps.is_empty())
    }
}

/// The absolute path of `entry`. `None` if it depends on an unknown variable or directory.
pub(crate) fn expand(context: &Context, entry: &str) -> Option<PathBuf> {
    let path = if let Some(rest) = entry.strip_prefix("${") {
        let (reference, rest) = rest.split_at_checked(closing_brace(rest)?)?;
        let rest = rest.get(1..)?;
        let (name, fallback) = match reference.split_once(":-") {
            Some((name, fallback)) => (name, Some(fallback)),
            None => (reference, None),
        };
        let base = match context.variable(OsStr::new(name)) {
            Some(value) => PathBuf::from(value),
            None => expand(context, fallback?)?,
        };
        base.join(rest.trim_start_matches('/'))
    } else if let Some(rest) = entry.strip_prefix('~') {
        context.homes.user.as_ref()?.join(rest.trim_start_matches('/'))
    } else {
        PathBuf::from(entry)
    };
    path.is_absolute().then_some(path)
}

/// The place of the brace that ends a reference, whose default may contain another one.
fn closing_brace(text: &str) -> Option<usize> {
    let mut open = 0;
    text.bytes().position(|byte| {
        open += i32::from(byte == b'{') - i32::from(byte == b'}');
        open < 0
    })
}

/// The canonical path of an entry. If it `is_awaited`, the entry counts before it exists. `/proc/self` is not resolved,
/// because it means another process.
pub(crate) fn anchor(path: &Path, caps: Capabilities, is_awaited: bool) -> Option<PathBuf> {
    if path.starts_with("/proc/self") {
        return Some(path.to_owned());
    }
    let found = canonical::resolve(Path::new("/"), path, Op::Content).ok();
    if found.as_ref().is_some_and(|found| found.exists) {
        return found.map(|found| found.path);
    }
    let is_service = caps.contains(Capabilities::UPDATE) && !caps.contains(Capabilities::CREATE);
    if is_service || is_awaited && caps.is_empty() {
        // A program may ask for a service that does not run, wherever that would be. A path that a person denies may be
        // created later, together with its directory.
        return found.map(|found| found.path);
    }
    let entry = canonical::resolve(Path::new("/"), path, Op::Entry);
    let dangles = entry.is_ok_and(|entry| entry.exists);
    if dangles || !(is_awaited || caps.is_empty() || caps.contains(Capabilities::CREATE)) {
        return None;
    }
    // A run may create the missing entry. If it is awaited, the run may also create the directories above it.
    let reach = if is_awaited { usize::MAX } else { 1 };
    let place = |dir: &Path| Some(canonical::existing(dir)?.join(path.strip_prefix(dir).ok()?));
    path.ancestors().skip(1).take(reach).find_map(place)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::built_in::BuiltIn;
    use crate::config::profiles::BUILT_IN;

    fn home(dir: &tempfile::TempDir) -> Context {
        let path = dir.path().canonicalize().expect("canonical");
        let mut context = Context::bare(&path);
        context.homes.user = Some(path.clone());
        Context { canonical_home: Some(path), ..context }
    }

    #[test]
    fn entries_are_expanded_where_the_machine_knows() {
        let mut context = Context::bare(Path::new("/cwd"));
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(expand(&context, "/etc"), path("/etc"));
        assert_eq!(expand(&context, "~/x"), None);
        assert_eq!(expand(&context, "${CARGO_HOME:-~/.cargo}/bin"), None);
        context.homes.user = path("/home/u");
        assert_eq!(expand(&context, "~/x"), path("/home/u/x"));
        assert_eq!(expand(&context, "${CARGO_HOME:-~/.cargo}/bin"), path("/home/u/.cargo/bin"));
        assert_eq!(expand(&context, "${CARGO_HOME}/bin"), None);
        assert_eq!(expand(&context, "${A:-${B:-~/b}/a}/x"), path("/home/u/b/a/x"));
        assert_eq!(expand(&context, "${A:-${B:-~/b}/a"), None);
        context.environment = vec![("CARGO_HOME".into(), "/c".into())];
        assert_eq!(expand(&context, "${CARGO_HOME:-~/.cargo}/bin"), path("/c/bin"));
        context.environment = vec![("CARGO_HOME".into(), "relative".into())];
        assert_eq!(expand(&context, "${CARGO_HOME:-~/.cargo}/bin"), None);
    }

    /// Built-in tables name paths that nobody may have. A person means the paths in their profile, and a run may create
    /// them.
    #[test]
    fn what_a_person_names_is_granted_before_it_exists() {
        let dir = tempfile::tempdir().expect("a directory");
        let entry = (Capabilities::READ.union(Capabilities::EXECUTE), "~/new/tool".to_owned());
        let of = |own| {
            let profile = Profile { own, entries: vec![entry.clone()], ..Profile::default() };
            profile.resolve(&home(&dir), &Options::default()).grants
        };
        let anchor = dir.path().canonicalize().expect("canonical").join("new/tool");
        assert!(matches!(of(true).as_slice(), [grant] if grant.anchor == anchor));
        assert!(of(false).is_empty());
    }

    /// A built-in table.
    fn table(name: &str) -> Profile {
        BuiltIn::named(name).expect("a table")
    }

    /// The grants of a built-in table in a home directory, by path. `None` if it names no such path.
    fn granted(
        profile: &Profile,
        dir: &tempfile::TempDir,
    ) -> impl Fn(&str) -> Option<Grant> + use<> {
        let grants = profile.resolve(&home(dir), &Options::default()).grants;
        let root = dir.path().canonicalize().expect("canonical");
        move |path| grants.iter().find(|grant| grant.anchor == root.join(path)).cloned()
    }

    /// Other programs, which are not confined, run the files in these places.
    #[test]
    fn built_in_tables_let_a_run_write_only_to_own_caches() {
        for (name, _) in BUILT_IN {
            let table = table(name);
            let is_written =
                |(caps, _): &&(Capabilities, String)| caps.intersects(Capabilities::WRITE);
            assert_eq!(table.entries.iter().find(is_written), None, "{name}");
            assert!(table.make.is_empty(), "{name}");
        }
    }

    /// Of the user's own caches, `bin` contains programs that start in other workspaces.
    #[test]
    fn what_narrows_a_shared_cache_counts_before_it_exists() {
        let dir = tempfile::tempdir().expect("a directory");
        let of = granted(&table("rust").sharing_caches(), &dir);
        assert!(of(".cargo").is_some_and(|grant| grant.caps == Capabilities::ALL));
        let narrow = of(".cargo/bin").expect("named");
        assert_eq!(narrow.caps, Capabilities::READ.union(Capabilities::EXECUTE));
        assert!(of(".rustup").is_none(), "what is not there is not granted");
    }

    #[test]
    fn credentials_are_denied_before_they_exist() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(dir.path().join(".cargo/bin")).expect("a directory");
        let of = granted(&table("rust"), &dir);
        let credentials = of(".cargo/credentials.toml").expect("named");
        assert!(credentials.caps.is_empty() && credentials.kind == GrantKind::Hidden);
        assert!(of(".cargo/bin").is_some_and(|bin| bin.caps.contains(Capabilities::EXECUTE)));
        assert!(of(".cargo/config.toml").is_none(), "what is not there is not granted for reading");
        for (name, secret) in [("node", ".npmrc"), ("go", ".netrc"), ("python", ".pypirc")] {
            let secret = granted(&table(name), &dir)(secret);
            assert!(secret.is_some_and(|grant| grant.caps.is_empty()), "{name}");
        }
    }

    #[test]
    fn the_baseline_leaves_secrets_out() {
        let baseline = Profile::baseline().expect("a right table");
        let grants = baseline.resolve(&Context::bare(Path::new("/")), &Options::default()).grants;
        let etc = grants.iter().find(|grant| grant.anchor == Path::new("/etc")).expect("/etc");
        assert_eq!(etc.carve_outs, ["shadow*", "gshadow*", "sudoers*", "ssh/*_key"]);
        assert!(grants.iter().any(|grant| grant.anchor == Path::new("/proc/self")));
    }
}
