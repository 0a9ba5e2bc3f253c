//! Stores the approvals of one workspace in a file (spec §8.1).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use jp_confine_engine::approvals::{Approval, Approvals};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::config::outside_pattern;
use crate::error::Failure;
use crate::files;
use crate::host::context::Context;
use crate::host::data_dirs;
use crate::host::workspace::Workspace;
use crate::text::quote;

const FILE: &str = "approvals.json";

/// A process that changes the file holds the lock on this one.
const LOCK: &str = "approvals.lock";

/// The prefix of unfinished files. Each is locked by its writer.
const UNFINISHED: &str = ".tmp";

/// How often, and after how long, to retry the lock: two seconds in total, enough to write a small file.
const PATIENCE: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// The kind of approval. A link may have the name of an approved pattern, so each kind has its own names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ApprovalKind {
    /// The target of a rule's path, stored under that path in normal form.
    Mount,
    /// A pattern of one list, stored under the list's name and the pattern's text.
    Pattern,
}

/// A rule path or pattern with its approved target.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "Members")]
#[cfg_attr(test, schemars(!try_from))]
pub(crate) struct Binding {
    /// The key: a rule path, or the name of a pattern.
    pub(crate) rule_path: String,
    /// Absolute and canonical.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(crate) canonical_target: Utf8PathBuf,
    /// The time in RFC 3339 and UTC.
    pub(crate) approved_at: String,
    /// How many of the directories above the link `--mount` created for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    made_directories: Option<usize>,
    #[serde(flatten)]
    #[cfg_attr(test, schemars(skip))]
    others: Members,
}

/// The content of the file. Keys that this version does not know are kept.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Members")]
struct Content {
    /// The workspace that the approvals belong to. The directory's name is too short to tell all workspaces apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    mounts: Vec<Binding>,
    /// `None` in old files, where patterns are among the mounts.
    patterns: Option<Vec<Binding>>,
    #[serde(flatten)]
    others: Members,
}

/// An object of the file with its values as written, so that numbers of any size survive.
type Members = BTreeMap<String, Box<RawValue>>;

impl TryFrom<Members> for Binding {
    type Error = serde_json::Error;

    fn try_from(mut members: Members) -> Result<Self, Self::Error> {
        Ok(Self {
            rule_path: required(&mut members, "rule_path")?,
            canonical_target: required(&mut members, "canonical_target")?,
            approved_at: required(&mut members, "approved_at")?,
            made_directories: optional(&mut members, "made_directories")?,
            others: members,
        })
    }
}

impl TryFrom<Members> for Content {
    type Error = serde_json::Error;

    fn try_from(mut members: Members) -> Result<Self, Self::Error> {
        Ok(Self {
            workspace: optional(&mut members, "workspace")?,
            mounts: optional(&mut members, "mounts")?.unwrap_or_default(),
            patterns: optional(&mut members, "patterns")?,
            others: members,
        })
    }
}

/// Takes the value of `key` out of `members`.
fn required<T: DeserializeOwned>(
    members: &mut Members,
    key: &'static str,
) -> serde_json::Result<T> {
    optional(members, key)?.ok_or_else(|| serde_json::Error::missing_field(key))
}

/// As [`required`], but `None` if the value is missing or `null`.
fn optional<T: DeserializeOwned>(
    members: &mut Members,
    key: &str,
) -> serde_json::Result<Option<T>> {
    let value = members.remove(key);
    value.map_or(Ok(None), |value| serde_json::from_str(value.get()))
}

/// Changes of a file: the new approval for each name, or `None` if it is revoked.
type Changes = BTreeMap<(ApprovalKind, String), Option<Binding>>;

/// The approvals of a workspace: those in the file, and changes that are not saved yet.
#[derive(Debug)]
pub(crate) struct Store {
    /// `None` if the user has no data directory.
    dir: Option<PathBuf>,
    /// The workspace as the file names it.
    workspace: String,
    content: Content,
    changes: Changes,
    /// The approvals that published changes replaced, kept in case the changes are withdrawn.
    before: Changes,
    /// Why an existing file counts as empty.
    pub(crate) warning: Option<String>,
}

impl Store {
    /// Reads the approvals of `workspace`. A missing file counts as empty. An unusable one also does, with a warning.
    pub(crate) fn open(context: &Context, workspace: &Workspace) -> Self {
        let dir = workspace.data_dir(context);
        let workspace = workspace.label();
        let read = |dir: &Path| read(dir, &workspace);
        let read = dir.as_deref().map_or_else(|| Ok(Content::default()), read);
        let (found, warning) = match read {
            Ok(found) => (found.parted(), None),
            Err(why) => {
                let file = dir.as_deref().unwrap_or(Path::new("")).join(FILE);
                let file = quote::path(&file.to_string_lossy());
                (Content::default(), Some(format!("{file} {why}: nothing counts as approved")))
            }
        };
        Self {
            dir,
            workspace,
            content: found,
            changes: Changes::new(),
            before: Changes::new(),
            warning,
        }
    }

    /// The approvals of a kind, in the file's order.
    pub(crate) fn entries(&self, kind: ApprovalKind) -> &[Binding] {
        self.content.of(kind)
    }

    /// The approval for `name`.
    pub(crate) fn get(&self, kind: ApprovalKind, name: &str) -> Option<&Binding> {
        self.content.get(kind, name)
    }

    /// Approves `target`, absolute and canonical, for `name`, and replaces any earlier approval. Nothing is written
    /// before [`Self::save`].
    pub(crate) fn approve(&mut self, kind: ApprovalKind, name: &Utf8Path, target: &Utf8Path) {
        if self.look(kind, name.as_str(), target.as_std_path()) != Approval::Approved {
            self.change(kind, name.as_str(), Some(Binding::now(name, target)));
        }
    }

    /// The same for a mount in this process alone.
    pub(crate) fn approve_unsaved(&mut self, name: &Utf8Path, target: &Utf8Path) {
        self.content.set(ApprovalKind::Mount, name.as_str(), Some(Binding::now(name, target)));
    }

    /// Whether `name` is approved for its current `target`.
    pub(crate) fn look(&self, kind: ApprovalKind, name: &str, target: &Path) -> Approval {
        match self.get(kind, name) {
            None => Approval::Unknown,
            Some(entry) if target.as_os_str() == entry.canonical_target.as_str() => {
                Approval::Approved
            }
            Some(entry) => Approval::Retargeted {
                previous: entry.canonical_target.clone().into_std_path_buf(),
            },
        }
    }

    /// Revokes the approval for `name`. Nothing is written before [`Self::save`].
    pub(crate) fn revoke(&mut self, kind: ApprovalKind, name: &Utf8Path) {
        self.change(kind, name.as_str(), None);
    }

    /// Whether the file approves it by now. If so, that counts here as well.
    pub(crate) fn finds_approved(
        &mut self,
        kind: ApprovalKind,
        name: &Utf8Path,
        target: &Utf8Path,
    ) -> bool {
        let found = self.dir.as_deref().and_then(|dir| read(dir, &self.workspace).ok());
        let found = found.and_then(|found| found.parted().get(kind, name.as_str()).cloned());
        let Some(entry) = found.filter(|entry| entry.canonical_target == target) else {
            return false;
        };
        self.content.set(kind, name.as_str(), Some(entry));
        self.changes.remove(&(kind, name.to_string()));
        true
    }

    /// Limits a new approval of the mount `name` to this store's lifetime. It is not saved, and not left in the file.
    pub(crate) fn keep_to_this_run(&mut self, name: &Utf8Path) {
        self.changes.insert((ApprovalKind::Mount, name.to_string()), None);
    }

    /// How many of the directories above the link `name` were created for it, as far as known.
    pub(crate) fn made_for(&self, name: &Utf8Path) -> usize {
        self.get(ApprovalKind::Mount, name.as_str())
            .and_then(|it| it.made_directories)
            .unwrap_or_default()
    }

    /// Notes how many directories were `made` for the link `name`, if its approval will be saved. Directories above
    /// them that were created for other links count as well, even if those links are gone by then.
    pub(crate) fn note_made(&mut self, name: &Utf8Path, made: usize) {
        let change = self.changes.get(&(ApprovalKind::Mount, name.to_string()));
        let Some(Some(mut entry)) = change.cloned() else { return };
        let of_others = self.content.made_directories();
        let own = entry.directories().take(made).map(Utf8PathBuf::from);
        entry.share(&of_others.into_iter().chain(own).collect());
        self.change(ApprovalKind::Mount, name.as_str(), Some(entry));
    }

    fn change(&mut self, kind: ApprovalKind, name: &str, entry: Option<Binding>) {
        self.content.set(kind, name, entry.clone());
        self.changes.insert((kind, name.to_owned()), entry);
    }

    /// Applies the changes to the file as it is by now, since others may have changed it. An unusable file is renamed
    /// and kept.
    pub(crate) fn save(&mut self) -> Result<(), Failure> {
        self.publish()?;
        self.changes.clear();
        self.before.clear();
        Ok(())
    }

    /// As [`Self::save`], so that others see the changes. Dropping the store withdraws them unless they were saved.
    pub(crate) fn publish(&mut self) -> Result<(), Failure> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let before = self.write(|content| content.apply(self.changes.clone()))?;
        for (key, entry) in before {
            self.before.entry(key).or_insert(entry);
        }
        Ok(())
    }

    /// Withdraws the published changes, except those that others have changed since.
    fn withdraw(&mut self) -> Result<(), Failure> {
        let mut before = std::mem::take(&mut self.before);
        if before.is_empty() {
            return Ok(());
        }
        let published = &self.changes;
        self.write(|content| {
            before.retain(|key, _| {
                let own = published.get(key).and_then(Option::as_ref);
                content.get(key.0, &key.1).map(Binding::stamp) == own.map(Binding::stamp)
            });
            content.apply(before);
        })
    }

    fn write<T>(&self, change: impl FnOnce(&mut Content) -> T) -> Result<T, Failure> {
        let Some(dir) = &self.dir else {
            return Err(Failure::advised(
                "approvals cannot be kept: it is not known where the user's data lives",
                "set HOME or XDG_DATA_HOME",
            ));
        };
        write(dir, &self.workspace, change).map_err(|error| {
            let file = quote::path(&dir.join(FILE).to_string_lossy());
            Failure::own(format!("{file} cannot be written: {error}"))
        })
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // On failure an approval stays, but a person gave it.
        let _ = self.withdraw();
    }
}

impl Approvals for Store {
    fn lookup(&self, rule_path: &str, target: &Path) -> Approval {
        self.look(ApprovalKind::Mount, rule_path, target)
    }
}

impl Binding {
    fn now(rule_path: &Utf8Path, target: &Utf8Path) -> Self {
        Self {
            rule_path: rule_path.to_string(),
            canonical_target: target.to_owned(),
            approved_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            made_directories: None,
            others: Members::new(),
        }
    }

    /// The directories above the link, innermost first.
    fn directories(&self) -> impl Iterator<Item = &Utf8Path> {
        Utf8Path::new(&self.rule_path).ancestors().skip(1)
    }

    /// Also counts directories `made` for other links above this one. They are deleted with the last link.
    fn share(&mut self, made: &BTreeSet<Utf8PathBuf>) {
        let own = self.directories().take_while(|directory| made.contains(*directory)).count();
        self.made_directories = Some(own).filter(|own| *own > 0);
    }

    /// Tells it from others under the same name.
    fn stamp(&self) -> (&Utf8Path, &str) {
        (&self.canonical_target, &self.approved_at)
    }
}

impl Content {
    fn of(&self, kind: ApprovalKind) -> &[Binding] {
        match kind {
            ApprovalKind::Mount => &self.mounts,
            ApprovalKind::Pattern => self.patterns.as_deref().unwrap_or_default(),
        }
    }

    fn get(&self, kind: ApprovalKind, name: &str) -> Option<&Binding> {
        self.of(kind).iter().find(|entry| entry.rule_path == name)
    }

    /// Applies these changes. Returns the changes that undo them.
    fn apply(&mut self, changes: Changes) -> Changes {
        let mut made = self.made_directories();
        let change = |((kind, name), entry): ((ApprovalKind, String), Option<Binding>)| {
            let before = self.get(kind, &name).cloned();
            self.set(kind, &name, entry);
            ((kind, name), before)
        };
        let before = changes.into_iter().map(change).collect();
        made.append(&mut self.made_directories());
        self.mounts.iter_mut().for_each(|entry| entry.share(&made));
        before
    }

    /// The directories that were created for links, as far as known.
    fn made_directories(&self) -> BTreeSet<Utf8PathBuf> {
        let of = |entry: &Binding| -> Vec<Utf8PathBuf> {
            let made = entry.made_directories.unwrap_or_default();
            entry.directories().take(made).map(Utf8PathBuf::from).collect()
        };
        self.mounts.iter().flat_map(of).collect()
    }

    /// Replaces the entry for `name` with `entry`, or appends it.
    fn set(&mut self, kind: ApprovalKind, name: &str, entry: Option<Binding>) {
        let entries = match kind {
            ApprovalKind::Mount => &mut self.mounts,
            ApprovalKind::Pattern => self.patterns.get_or_insert_default(),
        };
        let place = entries.iter().position(|known| known.rule_path == name);
        match (place, entry) {
            (Some(place), Some(entry)) => entries[place] = entry,
            (Some(place), None) => drop(entries.remove(place)),
            (None, Some(entry)) => entries.push(entry),
            (None, None) => {}
        }
    }

    /// Moves patterns out of the mounts, if they were stored together. A mount with the name of a pattern must then be
    /// approved again.
    fn parted(mut self) -> Self {
        if self.patterns.is_none() {
            let is_pattern = |entry: &mut Binding| outside_pattern::is_name(&entry.rule_path);
            self.patterns = Some(self.mounts.extract_if(.., is_pattern).collect());
        }
        self
    }
}

/// The content of the file in `dir` for `workspace`, or the reason why it is unusable.
fn read(dir: &Path, workspace: &str) -> Result<Content, String> {
    let text = match files::read_own(&dir.join(FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::default()),
        Err(error) => return Err(format!("cannot be read ({error})")),
    };
    let content: Content =
        serde_json::from_slice(&text).map_err(|error| format!("is malformed ({error})"))?;
    if let Some(other) = content.workspace.as_deref().filter(|of| *of != workspace) {
        return Err(format!("is of another workspace, {other}"));
    }
    for kind in [ApprovalKind::Mount, ApprovalKind::Pattern] {
        let mut seen = BTreeSet::new();
        if let Some(twice) = content.of(kind).iter().find(|entry| !seen.insert(&entry.rule_path)) {
            return Err(format!("is malformed ({} is in it twice)", twice.rule_path));
        }
    }
    Ok(content)
}

/// Applies `change` to the file of `workspace` in `dir` and returns its result. Readers never see a half-written file.
fn write<T>(dir: &Path, workspace: &str, change: impl FnOnce(&mut Content) -> T) -> io::Result<T> {
    data_dirs::make(dir)?;
    let lock = open_lock(&dir.join(LOCK))?;
    wait_for(&lock, PATIENCE)?;
    let mut content = match read(dir, workspace) {
        Ok(content) => content,
        Err(_) => keep_aside(dir).map(|()| Content::default())?,
    }
    .parted();
    content.workspace = Some(workspace.to_owned());
    let outcome = change(&mut content);
    sweep(dir);
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(dir)?;
    // On a file system without locks, nobody sweeps.
    let _ = file.as_file().try_lock();
    serde_json::to_writer_pretty(&mut file, &content)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(dir.join(FILE))?;
    Ok(outcome)
}

/// Opens the lock file. Creates it if it is missing.
fn open_lock(file: &Path) -> io::Result<File> {
    let lock = files::open_lock(file, true)?;
    let mode = files::LOCK_MODE.as_raw_mode();
    if lock.metadata()?.mode() & 0o7777 != mode {
        // Older versions let any user read it. On a file system without modes it is still locked.
        let _ = lock.set_permissions(Permissions::from_mode(mode));
    }
    Ok(lock)
}

/// Locks `lock`, or goes on without it after this many `attempts`. A root program that may read the directory could
/// hold it for ever. Then the last writer wins.
fn wait_for(lock: &File, attempts: u32) -> io::Result<()> {
    for _ in 0..attempts {
        match lock.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(())
}

/// Deletes unfinished files in `dir` whose writers ended early.
fn sweep(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_left = || files::open_own(&entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if entry.file_name().as_bytes().starts_with(UNFINISHED.as_bytes()) && is_left() {
            // Another process may have deleted it by now.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Gives the file in `dir` an unused name.
fn keep_aside(dir: &Path) -> io::Result<()> {
    let file = dir.join(FILE);
    for number in 1.. {
        let aside = dir.join(format!("{FILE}.unusable-{number}"));
        match renameat_with(CWD, &file, CWD, &aside, RenameFlags::NOREPLACE) {
            Err(rustix::io::Errno::EXIST) => {}
            outcome => return Ok(outcome?),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
