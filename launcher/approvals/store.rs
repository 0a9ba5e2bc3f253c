//! The file of approvals of one workspace (spec §8.1).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use jp_confine_policy::approvals::{Approval, Approvals};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tempfile::NamedTempFile;

use crate::context::Context;
use crate::failure::Failure;
use crate::report;
use crate::workspace::Workspace;

const FILE: &str = "approvals.json";

/// Whoever changes the file holds the lock on this one.
const LOCK: &str = "approvals.lock";

/// A rule path with the target that was approved for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Approved {
    /// Relative to the workspace, in normal form.
    pub(crate) rule_path: String,
    /// Absolute and canonical.
    pub(crate) canonical_target: Utf8PathBuf,
    /// When, in RFC 3339 and UTC.
    pub(crate) approved_at: String,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// What the file holds; keys that this version does not know are kept.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Content {
    #[serde(default)]
    mounts: Vec<Approved>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// The approvals of a workspace: those of the file, with changes that are not saved yet.
#[derive(Debug)]
pub(crate) struct Store {
    /// `None` where the user has no place for data.
    dir: Option<PathBuf>,
    content: Content,
    /// `None`: revoked.
    changes: BTreeMap<String, Option<Approved>>,
    /// Why the file counts as empty although there is one.
    pub(crate) warning: Option<String>,
}

impl Store {
    /// Reads the approvals of `workspace`. A missing file is an empty one; so is one that cannot be
    /// used, with a warning.
    pub(crate) fn open(context: &Context, workspace: &Workspace) -> Self {
        let dir = workspace.data_dir(context);
        let read = dir.as_deref().map_or_else(|| Ok(Content::default()), read);
        let (content, warning) = match read {
            Ok(content) => (content, None),
            Err(why) => {
                let file = dir.as_deref().unwrap_or(Path::new("")).join(FILE);
                let file = report::path(&file.to_string_lossy());
                (Content::default(), Some(format!("{file} {why}: nothing counts as approved")))
            }
        };
        Self { dir, content, changes: BTreeMap::new(), warning }
    }

    /// What is approved, in the order of the file.
    pub(crate) fn entries(&self) -> &[Approved] {
        &self.content.mounts
    }

    /// What is approved for `rule_path`, which is in normal form.
    pub(crate) fn get(&self, rule_path: &str) -> Option<&Approved> {
        self.content.mounts.iter().find(|entry| entry.rule_path == rule_path)
    }

    /// Approves `target`, absolute and canonical, for `rule_path`, in normal form, instead of what was
    /// approved for it. Nothing is written before [`Self::save`].
    pub(crate) fn approve(&mut self, rule_path: &Utf8Path, target: &Utf8Path) {
        if !self.has(rule_path, target) {
            self.change(rule_path.as_str(), Some(Approved::now(rule_path, target)));
        }
    }

    /// Whether exactly `target` is approved for `rule_path`.
    pub(crate) fn has(&self, rule_path: &Utf8Path, target: &Utf8Path) -> bool {
        self.lookup(rule_path.as_str(), target.as_std_path()) == Approval::Approved
    }

    /// Takes back what is approved for `rule_path`. Nothing is written before [`Self::save`].
    pub(crate) fn revoke(&mut self, rule_path: &Utf8Path) {
        self.change(rule_path.as_str(), None);
    }

    fn change(&mut self, rule_path: &str, entry: Option<Approved>) {
        self.content.set(rule_path, entry.clone());
        self.changes.insert(rule_path.to_owned(), entry);
    }

    /// Writes the changes into the file as it is by now, which others may have changed as well. A file
    /// that cannot be used is kept beside it.
    pub(crate) fn save(&mut self) -> Result<(), Failure> {
        let changes = std::mem::take(&mut self.changes);
        if changes.is_empty() {
            return Ok(());
        }
        let Some(dir) = &self.dir else {
            return Err(Failure::advised(
                "approvals cannot be kept: it is not known where the user's data lives",
                "set HOME or XDG_DATA_HOME",
            ));
        };
        write(dir, changes).map_err(|error| {
            let file = report::path(&dir.join(FILE).to_string_lossy());
            Failure::own(format!("{file} cannot be written: {error}"))
        })
    }
}

impl Approvals for Store {
    fn lookup(&self, rule_path: &str, target: &Path) -> Approval {
        match self.get(rule_path) {
            None => Approval::Unknown,
            Some(entry) if target.as_os_str() == entry.canonical_target.as_str() => {
                Approval::Approved
            }
            Some(entry) => Approval::Retargeted {
                previous: entry.canonical_target.clone().into_std_path_buf(),
            },
        }
    }
}

impl Approved {
    fn now(rule_path: &Utf8Path, target: &Utf8Path) -> Self {
        Self {
            rule_path: rule_path.to_string(),
            canonical_target: target.to_owned(),
            approved_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            others: Map::new(),
        }
    }
}

impl Content {
    /// Puts `entry` in the place of the one for `rule_path`, or behind all others.
    fn set(&mut self, rule_path: &str, entry: Option<Approved>) {
        let place = self.mounts.iter().position(|known| known.rule_path == rule_path);
        match (place, entry) {
            (Some(place), Some(entry)) => self.mounts[place] = entry,
            (Some(place), None) => drop(self.mounts.remove(place)),
            (None, Some(entry)) => self.mounts.push(entry),
            (None, None) => {}
        }
    }
}

/// What the file in `dir` holds, or why it cannot be used.
fn read(dir: &Path) -> Result<Content, String> {
    let text = match fs::read(dir.join(FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::default()),
        Err(error) => return Err(format!("cannot be read ({error})")),
    };
    let content: Content =
        serde_json::from_slice(&text).map_err(|error| format!("is malformed ({error})"))?;
    let mut seen = BTreeSet::new();
    match content.mounts.iter().find(|entry| !seen.insert(&entry.rule_path)) {
        Some(twice) => Err(format!("is malformed ({} is in it twice)", twice.rule_path)),
        None => Ok(content),
    }
}

/// Applies `changes` to the file in `dir`, which is never seen half written.
fn write(dir: &Path, changes: BTreeMap<String, Option<Approved>>) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let lock = File::options().create(true).append(true).open(dir.join(LOCK))?;
    lock.lock()?;
    let mut content = match read(dir) {
        Ok(content) => content,
        Err(_) => keep_aside(dir).map(|()| Content::default())?,
    };
    for (rule_path, entry) in changes {
        content.set(&rule_path, entry);
    }
    let mut file = NamedTempFile::new_in(dir)?;
    serde_json::to_writer_pretty(&mut file, &content)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(dir.join(FILE))?;
    Ok(())
}

/// Gives the file in `dir` another name, one that nothing has.
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
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A workspace and a home for data, both in a directory of their own.
    struct Place {
        context: Context,
        workspace: Workspace,
        dir: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a directory");
            let mut context = Context::bare(dir.path());
            context.data_home = Some(dir.path().join("data"));
            let workspace = Workspace { root: dir.path().join("ws"), spelled: None };
            Self { context, workspace, dir }
        }

        fn open(&self) -> Store {
            Store::open(&self.context, &self.workspace)
        }

        /// The place of the file.
        fn file(&self) -> PathBuf {
            self.workspace.data_dir(&self.context).expect("a home for data").join(FILE)
        }

        fn write(&self, text: &str) {
            fs::create_dir_all(self.file().parent().expect("a parent")).expect("made");
            fs::write(self.file(), text).expect("written");
        }

        fn approve(&self, rule_path: &str, target: &str) {
            let mut store = self.open();
            store.approve(rule_path.into(), target.into());
            store.save().expect("saved");
        }

        /// `name=target` of each entry.
        fn kept(&self) -> String {
            let store = self.open();
            let shown =
                |entry: &Approved| format!("{}={}", entry.rule_path, entry.canonical_target);
            store.entries().iter().map(shown).collect::<Vec<_>>().join(" ")
        }
    }

    #[test]
    fn a_missing_file_is_an_empty_one() {
        let store = Place::new().open();
        assert_eq!((store.entries(), &store.warning), (&[][..], &None));
        assert_eq!(store.lookup("fork", Path::new("/a")), Approval::Unknown);
    }

    #[test]
    fn what_was_approved_is_found_again_exactly() {
        let place = Place::new();
        place.approve("fork", "/a");
        let store = place.open();
        assert_eq!(store.lookup("fork", Path::new("/a")), Approval::Approved);
        let previous = || PathBuf::from("/a");
        for other in ["/a/", "/a/b", "/", "/A"] {
            let found = store.lookup("fork", Path::new(other));
            assert_eq!(found, Approval::Retargeted { previous: previous() }, "{other}");
        }
        for other in ["./fork", "fork/", "for", "fork/a", ""] {
            assert_eq!(store.lookup(other, Path::new("/a")), Approval::Unknown, "{other}");
        }
    }

    #[test]
    fn one_entry_for_each_path() {
        let place = Place::new();
        place.approve("fork", "/a");
        place.approve("other", "/o");
        place.approve("fork", "/b");
        assert_eq!(place.kept(), "fork=/b other=/o");
        let mut store = place.open();
        store.revoke("fork".into());
        store.revoke("unknown".into());
        store.save().expect("saved");
        assert_eq!(place.kept(), "other=/o");
    }

    #[test]
    fn the_file_is_as_documented() {
        let place = Place::new();
        place.approve("fork", "/a");
        let text = fs::read_to_string(place.file()).expect("text");
        let json: Value = serde_json::from_str(&text).expect("JSON");
        let time = json["mounts"][0]["approved_at"].as_str().expect("a time");
        assert!(humantime::parse_rfc3339(time).is_ok() && time.ends_with('Z'), "{time}");
        let entry = serde_json::json!({
            "rule_path": "fork", "canonical_target": "/a", "approved_at": time
        });
        assert_eq!(json, serde_json::json!({ "mounts": [entry] }));
        let mode = fs::metadata(place.file()).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let dir = fs::metadata(place.file().parent().expect("a parent")).expect("a directory");
        assert_eq!(dir.permissions().mode() & 0o777, 0o700);
        let names = fs::read_dir(place.file().parent().expect("a parent")).expect("listed");
        assert_eq!(names.count(), 2, "only the file and its lock");
        drop(place.dir);
    }

    #[test]
    fn to_approve_again_changes_nothing() {
        let place = Place::new();
        place.write(r#"{"mounts":[{"rule_path":"f","canonical_target":"/a","approved_at":"x"}]}"#);
        place.approve("f", "/a");
        assert_eq!(place.open().entries()[0].approved_at, "x");
    }

    #[test]
    fn unknown_keys_are_kept() {
        let place = Place::new();
        place.write(
            r#"{"plugins":[{"a":1}],"mounts":[
                {"rule_path":"f","canonical_target":"/a","approved_at":"x","expires":7}]}"#,
        );
        place.approve("g", "/b");
        let text = fs::read_to_string(place.file()).expect("text");
        let json: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(json["plugins"][0]["a"], 1);
        assert_eq!(json["mounts"][0]["expires"], 7);
        assert_eq!(json["mounts"][1]["rule_path"], "g");
    }

    #[test]
    fn a_file_without_mounts_has_none() {
        let place = Place::new();
        place.write(r#"{"plugins":[]}"#);
        assert_eq!((place.kept(), place.open().warning), (String::new(), None));
    }

    #[test]
    fn what_cannot_be_used_is_empty_and_kept_aside() {
        let entry = r#"{"rule_path":"f","canonical_target":"/a","approved_at":"x"}"#;
        let twice = format!(r#"{{"mounts":[{entry},{entry}]}}"#);
        for text in ["", "{", "[]", r#"{"mounts":{}}"#, r#"{"mounts":[{"rule_path":"f"}]}"#, &twice]
        {
            let place = Place::new();
            place.write(text);
            let mut store = place.open();
            assert!(store.entries().is_empty(), "{text}");
            assert!(store.warning.as_ref().is_some_and(|why| why.contains(FILE)), "{text}");
            store.save().expect("nothing to do");
            assert_eq!(fs::read_to_string(place.file()).expect("text"), text);
            store.approve("fork".into(), "/a".into());
            store.save().expect("saved");
            assert_eq!(place.kept(), "fork=/a", "{text}");
            let aside = place.file().with_file_name(format!("{FILE}.unusable-1"));
            assert_eq!(fs::read_to_string(aside).expect("text"), text);
        }
    }

    #[test]
    fn nothing_that_was_kept_aside_is_lost() {
        let place = Place::new();
        for (number, text) in [(1, "one"), (2, "two")] {
            place.write(text);
            place.approve("fork", "/a");
            let aside = place.file().with_file_name(format!("{FILE}.unusable-{number}"));
            assert_eq!(fs::read_to_string(aside).expect("text"), text);
        }
    }

    #[test]
    fn writers_at_the_same_time_lose_nothing() {
        let place = Place::new();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let place = &place;
                scope.spawn(move || place.approve(&format!("fork{writer}"), "/a"));
            }
        });
        assert_eq!(place.open().entries().len(), 8);
    }

    #[test]
    fn what_others_changed_meanwhile_stays() {
        let place = Place::new();
        place.approve("gone", "/g");
        let mut store = place.open();
        store.approve("mine".into(), "/m".into());
        let mut other = place.open();
        other.revoke("gone".into());
        other.approve("theirs".into(), "/t".into());
        other.save().expect("saved");
        store.save().expect("saved");
        assert_eq!(place.kept(), "theirs=/t mine=/m");
    }

    #[test]
    fn without_a_home_nothing_is_kept() {
        let mut place = Place::new();
        place.context.data_home = None;
        let mut store = place.open();
        store.approve("fork".into(), "/a".into());
        assert!(store.save().is_err());
    }
}
