//! Mounts: directories outside the workspace, linked into it and granted on the command line (spec §8.3, §8.4).
//!
//! Everything is checked before anything changes: [`PlannedMounts::check`] looks, [`PlannedMounts::confirm`] asks,
//! [`PlannedMounts::link`] acts. The rules hold for one run. The link and its approval stay.

mod consent;
pub(crate) mod ends;
mod links;
mod rules;
pub(crate) mod unused;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::{fmt, io};

use camino::{Utf8Path, Utf8PathBuf};
use jp_confine_engine::canonical::{Op, Root};
use jp_confine_engine::model::FsRule;

use self::ends::LookupBase;
use self::links::LinkEntry;
pub(crate) use self::links::Links;
use crate::cli::Options;
use crate::cli::mount::{MountOption, Unmount};
use crate::config::layers::Layers;
use crate::config::scope::Scope;
use crate::error::Failure;
use crate::external::approvals::store::{ApprovalKind, Store};
use crate::host::context::Context;
use crate::host::invocation::CommandHint;
use crate::host::workspace::Workspace;
use crate::output::event_log::Log;
use crate::text::quote;

/// The command line's request about mounts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MountRequest<'a> {
    pub(crate) context: &'a Context,
    pub(crate) workspace: &'a Workspace,
    pub(crate) root: &'a Root,
    pub(crate) options: &'a Options,
    /// The log that records answers.
    pub(crate) log: Option<&'a Log>,
}

/// A request that was found to be possible.
#[derive(Debug, Default)]
pub(crate) struct PlannedMounts {
    /// Names whose rules, links and approvals go, in normal form.
    gone: BTreeSet<Utf8PathBuf>,
    /// The links among them that lead outside, and how many directories above were created for each.
    unlinked: Vec<(Utf8PathBuf, usize)>,
    mounted: Vec<Mounted>,
}

/// One mount.
#[derive(Debug)]
struct Mounted {
    typed: MountOption,
    /// The rule path, in normal form.
    name: Utf8PathBuf,
    /// Canonical and outside the workspace.
    target: Utf8PathBuf,
    /// Whether the link exists already.
    linked: bool,
    /// Whether the target was approved before.
    approved: bool,
    /// The other target that was approved before.
    previous: Option<Utf8PathBuf>,
}

impl PlannedMounts {
    /// Checks the whole request, and changes nothing. `scopes` are those of the run and of every tool.
    pub(crate) fn check(
        asked: &MountRequest<'_>,
        layers: &Layers,
        scopes: &[Scope],
        store: &Store,
    ) -> Result<Self, Failure> {
        let MountRequest { context, workspace, root, options, .. } = *asked;
        if options.mounts.is_empty() && options.no_mounts.is_empty() {
            return Ok(Self::default());
        }
        let place = LookupBase { context, root };
        let here = &workspace.here;
        let known = names(scopes, store);
        let checker = Checker { place, here, links: Links::of(root)?, known };
        let mut mounts = Self::default();
        for unmount in &options.no_mounts {
            mounts.gone.extend(checker.gone(unmount, store)?);
        }
        for name in &mounts.gone {
            if checker.leads_outside(name) {
                mounts.unlinked.push((name.clone(), store.made_for(name)));
            }
        }
        for mount in &options.mounts {
            check_tool(mount, options.tool.as_deref(), layers)?;
            let mounted = checker.mounted(mount, &mounts, store).map_err(|why| why.about(mount))?;
            mounts.mounted.push(mounted);
        }
        Ok(mounts)
    }

    /// Whether nothing is requested.
    pub(crate) fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.mounted.is_empty()
    }

    /// Whether a rule is on a name that goes.
    pub(crate) fn takes(&self, rule: &FsRule) -> bool {
        rule.external() && rule.lexical_path().is_ok_and(|path| self.gone.contains(&path))
    }

    /// What happens to links and approvals, in a line each. Empty if all is as it should be.
    pub(crate) fn steps(&self) -> String {
        let approved = |mounted: &Mounted| if mounted.approved { "" } else { ", approved" };
        let added = self.mounted.iter().filter(|one| !(one.linked && one.approved)).map(|one| {
            let [name, target] = [&one.name, &one.target].map(|path| quote::path(path.as_str()));
            format!("symlink {name} → {target}{}\n", approved(one))
        });
        let gone = self.gone.iter().map(|name| {
            let is_link = self.unlinked.iter().any(|(link, _)| link == name);
            let link = if is_link { "symlink and approval" } else { "approval" };
            format!("without the {link} of {}\n", quote::path(name.as_str()))
        });
        gone.chain(added).collect()
    }

    /// The canonical places that mounts lead to.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &Utf8Path> {
        self.mounted.iter().map(|mounted| mounted.target.as_path())
    }

    /// Deletes and creates the links. Dropping the result instead of keeping it undoes all. Notes in `store` which
    /// directories belong to the links.
    pub(crate) fn link(&self, root: &Root, store: &mut Store) -> Result<Links, Failure> {
        let mut links = Links::of(root)?;
        for (name, directories) in &self.unlinked {
            links.remove(name, *directories).map_err(|error| {
                let name = quote::path(name.as_str());
                Failure::own(format!("--no-mount {name}: the link cannot be removed: {error}"))
            })?;
        }
        for mounted in self.unlinked_yet() {
            let made = links.make(&mounted.name, &mounted.target);
            let made = made.map_err(|error| Why::of_name(&error).about(&mounted.typed))?;
            store.note_made(&mounted.name, made);
        }
        Ok(links)
    }

    /// Updates `store`: approves the typed mounts, and revokes those that go.
    pub(crate) fn approve(&self, store: &mut Store) {
        for name in &self.gone {
            store.revoke(ApprovalKind::Mount, name);
        }
        for mounted in &self.mounted {
            store.approve(ApprovalKind::Mount, &mounted.name, &mounted.target);
        }
    }

    /// Notes on mounts that a query about the policy cannot show, because only a run creates links.
    pub(crate) fn missing_links(&self) -> impl Iterator<Item = String> {
        self.unlinked_yet().map(|mounted| {
            format!(
                "--mount {}: there is no link yet, and only a run makes it; what is told of it here \
                 no run has",
                mounted.typed
            )
        })
    }

    fn unlinked_yet(&self) -> impl Iterator<Item = &Mounted> {
        self.mounted.iter().filter(|mounted| !mounted.linked)
    }
}

/// The options for the same mounts in a run that starts in the workspace root.
pub(crate) fn from_root(
    place: LookupBase<'_>,
    mounts: &[MountOption],
) -> Result<Vec<OsString>, Failure> {
    let mut words = Vec::new();
    for mount in mounts {
        let name = place.name(&mount.name).map_err(|why| Why::from(why).about(mount))?;
        let target = place.target(&mount.path).map_err(|why| Why::from(why).about(mount))?;
        let (tool, path) = (mount.tool.clone(), target.into());
        let same = MountOption { tool, name: name.into(), path, writable: mount.writable };
        words.extend(["--mount".into(), same.word()]);
    }
    Ok(words)
}

/// A mount must be for the tool that runs. Tools that do not run here are not confined (spec §2.6).
fn check_tool(mount: &MountOption, running: Option<&str>, layers: &Layers) -> Result<(), Failure> {
    if let Some(tool) = &mount.tool
        && Some(tool.as_str()) != running
    {
        let running = running.map_or("no tool".to_owned(), |tool| format!("the tool {tool}"));
        return Err(Failure::advised(
            format!("--mount {mount} is for the tool {tool}, and this run is for {running}"),
            format!("run it with --tool {}", quote::quoted(tool.as_bytes())),
        ));
    }
    if let Some(tool) = running
        && !layers.runs_here(tool)
    {
        return Err(Failure::own(format!(
            "--mount {mount} cannot hold: the tool {tool} does not run here"
        )));
    }
    Ok(())
}

/// Checks the words of the command line one by one.
struct Checker<'a> {
    place: LookupBase<'a>,
    here: &'a CommandHint,
    links: Links,
    /// The names of all known mounts, of any tool.
    known: BTreeSet<Utf8PathBuf>,
}

impl Checker<'_> {
    /// The names that a `--no-mount` removes.
    fn gone(&self, unmount: &Unmount, store: &Store) -> Result<BTreeSet<Utf8PathBuf>, Failure> {
        let Unmount::Named(typed) = unmount else { return Ok(self.known.clone()) };
        let option = format!("--no-mount {}", quote::path(typed));
        let name =
            self.place.name(typed).map_err(|why| Failure::own(format!("{option}: {why}")))?;
        if self.known.contains(&name) {
            return Ok(BTreeSet::from([name]));
        }
        let mounted: Vec<String> =
            self.known.iter().map(|name| quote::path(&self.typed(name))).collect();
        let there_are = match (&store.warning, mounted.as_slice()) {
            (Some(warning), _) => warning.clone(),
            (None, []) => "nothing is mounted in this workspace".to_owned(),
            (None, mounted) => format!("mounted are: {}", mounted.join(", ")),
        };
        Err(Failure::advised(format!("{option}: there is no such mount"), there_are))
    }

    /// The `name` as it would be typed here.
    fn typed(&self, name: &Utf8Path) -> String {
        self.here.name(name.as_str()).unwrap_or_else(|| name.to_string())
    }

    /// Whether `name` is a symlink that does not lead inside. One that does serves another purpose.
    fn leads_outside(&self, name: &Utf8Path) -> bool {
        // The name in an approval may be anything, because people can edit the file.
        let entry = self.links.entry(name).unwrap_or(LinkEntry::Missing);
        let root = self.place.root;
        let found = root.resolve(name.as_std_path(), Op::Content);
        let inside = found.is_ok_and(|found| found.exists && root.contains(&found.path));
        entry == LinkEntry::Link && !inside
    }

    fn mounted(
        &self,
        mount: &MountOption,
        mounts: &PlannedMounts,
        store: &Store,
    ) -> Result<Mounted, Why> {
        let name = self.place.name(&mount.name)?;
        let target = self.place.target(&mount.path)?;
        let twice = mounts.mounted.iter().find(|other| other.name == name);
        if twice.is_some_and(|other| other.target != target) {
            return Err(Why::from(format!("{} is mounted twice", quote::path(name.as_str()))));
        }
        let entry = if mounts.unlinked.iter().any(|(gone, _)| *gone == name) {
            LinkEntry::Missing
        } else {
            self.links.entry(&name).map_err(|error| Why::of_name(&error))?
        };
        let linked = match entry {
            LinkEntry::Missing => twice.is_some(),
            LinkEntry::Link => self.has_target(&name, &target)?,
            LinkEntry::Other => return Err(Why::from(format!("{name} exists and is no link"))),
        };
        let before = store
            .get(ApprovalKind::Mount, name.as_str())
            .map(|entry| entry.canonical_target.clone());
        let approved = before.as_ref() == Some(&target);
        let previous = before.filter(|_| !approved);
        Ok(Mounted { typed: mount.clone(), name, target, linked, approved, previous })
    }

    /// Whether the link `name` leads to `target`. Fails if it leads elsewhere.
    fn has_target(&self, name: &Utf8Path, target: &Utf8Path) -> Result<bool, Why> {
        let shown = quote::path(name.as_str());
        let found = self.place.root.resolve(name.as_std_path(), Op::Content);
        let found = found.map_err(|error| Why::from(format!("{shown} is there: {error}")))?;
        if found.exists && found.path.as_os_str() == target.as_str() {
            return Ok(true);
        }
        let found = quote::path(&found.path.to_string_lossy());
        let way_out = if self.known.contains(name) {
            let word = quote::operand(self.typed(name).as_bytes());
            format!("--no-mount {word} removes it, in the same command too")
        } else {
            "remove it, or choose another name".to_owned()
        };
        Err(Why { what: format!("{shown} is there, and leads to {found}"), way_out: Some(way_out) })
    }
}

/// Why a mount is impossible, and what to do instead.
#[derive(Debug)]
struct Why {
    what: String,
    way_out: Option<String>,
}

impl Why {
    /// Explains an error on the way to a name.
    fn of_name(error: &io::Error) -> Self {
        let is_link = error.raw_os_error() == Some(libc::ELOOP);
        if is_link || error.kind() == io::ErrorKind::NotADirectory {
            return Self {
                what: "a directory on the way to NAME is a link, or no directory".to_owned(),
                way_out: Some("name a place with only directories above it".to_owned()),
            };
        }
        Self::from(format!("the link cannot be made: {error}"))
    }

    fn about(self, mount: &MountOption) -> Failure {
        let message = format!("--mount {mount}: {}", self.what);
        Failure::Own { message, advice: self.way_out }
    }
}

impl From<String> for Why {
    fn from(what: String) -> Self {
        Self { what, way_out: None }
    }
}

/// The mount as typed, without the default mode.
impl fmt::Display for MountOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(tool) = &self.tool {
            write!(f, "{tool}:")?;
        }
        let (name, path) = (quote::path(&self.name), quote::path(&self.path.to_string_lossy()));
        write!(f, "{name}={path}{}", if self.writable { ":rw" } else { "" })
    }
}

/// The names of external rules, including those of tools, and of approved mounts. In normal form.
pub(crate) fn names(scopes: &[Scope], store: &Store) -> BTreeSet<Utf8PathBuf> {
    let rules = scopes.iter().flat_map(|scope| &scope.rules);
    let approved = store.entries(ApprovalKind::Mount).iter().map(|entry| (&entry.rule_path).into());
    rules.filter_map(|rule| rule.lexical_path().ok()).chain(approved).collect()
}
