//! Tests the content of the approvals file, whichever process wrote it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use super::*;

/// A workspace and a data directory in a temporary directory.
struct Place {
    context: Context,
    workspace: Workspace,
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let mut context = Context::bare(dir.path());
        context.homes.data = Some(dir.path().join("data"));
        let workspace = Workspace::bare(&dir.path().join("ws"));
        Self { context, workspace, dir }
    }

    fn open(&self) -> Store {
        Store::open(&self.context, &self.workspace)
    }

    /// The path of the file.
    fn file(&self) -> PathBuf {
        self.workspace.data_dir(&self.context).expect("a home for data").join(FILE)
    }

    fn write(&self, text: &str) {
        fs::create_dir_all(self.file().parent().expect("a parent")).expect("made");
        fs::write(self.file(), text).expect("written");
    }

    fn approve(&self, rule_path: &str, target: &str) {
        let mut store = self.open();
        store.approve(ApprovalKind::Mount, rule_path.into(), target.into());
        store.save().expect("saved");
    }

    /// `name=target` of each entry.
    fn kept(&self) -> String {
        let store = self.open();
        let shown = |entry: &Binding| format!("{}={}", entry.rule_path, entry.canonical_target);
        store.entries(ApprovalKind::Mount).iter().map(shown).collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn a_missing_file_is_an_empty_one() {
    let store = Place::new().open();
    assert_eq!((store.entries(ApprovalKind::Mount).len(), &store.warning), (0, &None));
    assert_eq!(store.lookup("fork", Path::new("/a")), Approval::Unknown);
}

#[test]
fn what_writers_left_is_removed() {
    let place = Place::new();
    place.approve("fork", "/a");
    let dir = place.file().with_file_name("");
    for name in [".tmpLeft", ".tmpOpen", ".other"] {
        fs::write(dir.join(name), "").expect("written");
    }
    let open = File::open(dir.join(".tmpOpen")).expect("there");
    open.lock().expect("locked");
    place.approve("fork", "/b");
    let mut names: Vec<_> =
        fs::read_dir(&dir).expect("listed").map(|entry| entry.expect("one").file_name()).collect();
    names.sort();
    assert_eq!(names, [".other", ".tmpOpen", "approvals.json", "approvals.lock"]);
}

// conformance: d43-72
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

// conformance: d43-87, d43-103
#[test]
fn one_entry_for_each_path() {
    let place = Place::new();
    place.approve("fork", "/a");
    place.approve("other", "/o");
    place.approve("fork", "/b");
    assert_eq!(place.kept(), "fork=/b other=/o");
    let mut store = place.open();
    store.revoke(ApprovalKind::Mount, "fork".into());
    store.revoke(ApprovalKind::Mount, "unknown".into());
    store.save().expect("saved");
    assert_eq!(place.kept(), "other=/o");
}

// conformance: d43-107, d43-248
/// A reader that has the old file open still reads all of it.
#[test]
fn a_reader_has_the_old_file_or_the_new_one() {
    let place = Place::new();
    place.approve("fork", "/a");
    let before = fs::read_to_string(place.file()).expect("text");
    let mut open = File::open(place.file()).expect("there");
    place.approve("other", "/b");
    let mut read = String::new();
    std::io::Read::read_to_string(&mut open, &mut read).expect("text");
    assert_eq!(read, before);
    assert_eq!(place.kept(), "fork=/a other=/b");
}

// conformance: d43-100, d43-101, d43-102, d43-104
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
    let workspace = place.workspace.root.to_str().expect("UTF-8");
    assert_eq!(
        json,
        serde_json::json!({ "workspace": workspace, "mounts": [entry], "patterns": [] })
    );
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
    assert_eq!(place.open().entries(ApprovalKind::Mount)[0].approved_at, "x");
}

// conformance: d43-105, d43-232
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

// conformance: d43-232
/// Numbers are not rounded.
#[test]
fn unknown_values_are_kept_as_they_are_written() {
    let place = Place::new();
    let numbers = "[123456789012345678901234567890, 1.10, 1e400]";
    let entry = format!(
        r#"{{"rule_path":"f","canonical_target":"/a","approved_at":"x","numbers":{numbers}}}"#
    );
    place.write(&format!(r#"{{"numbers":{numbers},"mounts":[{entry}]}}"#));
    place.approve("g", "/b");
    assert_eq!(place.kept(), "f=/a g=/b");
    let text = fs::read_to_string(place.file()).expect("text");
    assert_eq!(text.matches(numbers).count(), 2, "{text}");
}

#[test]
fn a_file_without_mounts_has_none() {
    let place = Place::new();
    place.write(r#"{"plugins":[]}"#);
    assert_eq!((place.kept(), place.open().warning.clone()), (String::new(), None));
}

// conformance: d43-108
#[test]
fn what_cannot_be_used_is_empty_and_kept_aside() {
    let entry = r#"{"rule_path":"f","canonical_target":"/a","approved_at":"x"}"#;
    let twice = format!(r#"{{"mounts":[{entry},{entry}]}}"#);
    for text in ["", "{", "[]", r#"{"mounts":{}}"#, r#"{"mounts":[{"rule_path":"f"}]}"#, &twice] {
        let place = Place::new();
        place.write(text);
        let mut store = place.open();
        assert!(store.entries(ApprovalKind::Mount).is_empty(), "{text}");
        assert!(store.warning.as_ref().is_some_and(|why| why.contains(FILE)), "{text}");
        store.save().expect("nothing to do");
        assert_eq!(fs::read_to_string(place.file()).expect("text"), text);
        store.approve(ApprovalKind::Mount, "fork".into(), "/a".into());
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

// conformance: d43-109
#[test]
fn writers_at_the_same_time_lose_nothing() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let place = &place;
            scope.spawn(move || place.approve(&format!("fork{writer}"), "/a"));
        }
    });
    assert_eq!(place.open().entries(ApprovalKind::Mount).len(), 8);
}

#[test]
fn nobody_waits_for_ever() {
    let place = Place::new();
    place.approve("fork", "/a");
    let lock = || open_lock(&place.file().with_file_name(LOCK)).expect("a lock");
    let held = lock();
    held.lock().expect("locked");
    wait_for(&lock(), 2).expect("gone on");
}

#[test]
fn the_lock_is_for_writers_only() {
    let place = Place::new();
    place.approve("fork", "/a");
    let lock = place.file().with_file_name(LOCK);
    let mode = || fs::metadata(&lock).expect("a lock").permissions().mode() & 0o7777;
    assert_eq!(mode(), 0o200);
    for before in [0o644, 0o600, 0o222, 0o4200] {
        fs::set_permissions(&lock, Permissions::from_mode(before)).expect("changed");
        place.approve("fork", &format!("/{before:o}"));
        assert_eq!((mode(), place.kept()), (0o200, format!("fork=/{before:o}")));
    }
}

#[test]
fn a_link_is_no_lock() {
    let place = Place::new();
    place.approve("fork", "/a");
    let (lock, other) = (place.file().with_file_name(LOCK), place.dir.path().join("other"));
    fs::write(&other, "").expect("written");
    fs::set_permissions(&other, Permissions::from_mode(0o644)).expect("changed");
    fs::remove_file(&lock).expect("removed");
    std::os::unix::fs::symlink(&other, &lock).expect("linked");
    assert!(open_lock(&lock).is_err());
    let mode = fs::metadata(&other).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
}

#[test]
fn what_is_for_one_run_is_not_saved() {
    let place = Place::new();
    place.approve("fork", "/old");
    let mut store = place.open();
    store.approve(ApprovalKind::Mount, "fork".into(), "/a".into());
    store.approve(ApprovalKind::Mount, "other".into(), "/o".into());
    store.keep_to_this_run("fork".into());
    assert_eq!(store.lookup("fork", Path::new("/a")), Approval::Approved);
    store.save().expect("saved");
    assert_eq!(place.kept(), "other=/o");
}

// conformance: d43-109
#[test]
fn what_others_changed_meanwhile_stays() {
    let place = Place::new();
    place.approve("gone", "/g");
    let mut store = place.open();
    store.approve(ApprovalKind::Mount, "mine".into(), "/m".into());
    let mut other = place.open();
    other.revoke(ApprovalKind::Mount, "gone".into());
    other.approve(ApprovalKind::Mount, "theirs".into(), "/t".into());
    other.save().expect("saved");
    store.save().expect("saved");
    assert_eq!(place.kept(), "theirs=/t mine=/m");
}

/// Published changes are withdrawn, except those that others have changed.
#[test]
fn what_is_published_stays_where_it_is_saved() {
    let place = Place::new();
    place.approve("fork", "/old");
    let published = || {
        let mut store = place.open();
        store.approve(ApprovalKind::Mount, "fork".into(), "/a".into());
        store.approve(ApprovalKind::Mount, "new".into(), "/n".into());
        store.publish().expect("published");
        assert_eq!(place.kept(), "fork=/a new=/n");
        store
    };
    drop(published());
    assert_eq!(place.kept(), "fork=/old");
    let store = published();
    place.approve("fork", "/theirs");
    drop(store);
    assert_eq!(place.kept(), "fork=/theirs");
    published().save().expect("saved");
    assert_eq!(place.kept(), "fork=/a new=/n");
}

/// The directories belong to both links. It does not matter which of them created the directories, is known first, or
/// goes first.
#[test]
fn directories_are_those_of_all_links_in_them() {
    let mounted = |store: &mut Store, name: &str, made| {
        store.approve(ApprovalKind::Mount, name.into(), "/t".into());
        store.note_made(name.into(), made);
    };
    for (of_a, of_b) in [(2, 0), (0, 2), (2, 1)] {
        for name in ["d/x/a", "d/x/b"] {
            let place = Place::new();
            let (mut a, mut b) = (place.open(), place.open());
            mounted(&mut a, "d/x/a", of_a);
            mounted(&mut b, "d/x/b", of_b);
            a.save().expect("saved");
            b.publish().expect("published");
            let mut gone = place.open();
            let made = |store: &Store| ["d/x/a", "d/x/b"].map(|name| store.made_for(name.into()));
            assert_eq!(made(&gone), [2, 2], "{of_a} {of_b}");
            gone.revoke(ApprovalKind::Mount, name.into());
            gone.save().expect("saved");
            assert_eq!(made(&place.open()).iter().sum::<usize>(), 2, "{of_a} {of_b}");
        }
    }
    // Directories that were not created for links belong to none.
    let place = Place::new();
    place.approve("d/a", "/t");
    let mut store = place.open();
    mounted(&mut store, "d/e/b", 1);
    store.save().expect("saved");
    let store = place.open();
    assert_eq!((store.made_for("d/a".into()), store.made_for("d/e/b".into())), (0, 1));
}

#[test]
fn what_is_approved_by_now_is_found() {
    let place = Place::new();
    let mut store = place.open();
    let mut finds =
        |target: &str| store.finds_approved(ApprovalKind::Mount, "fork".into(), target.into());
    assert!(!finds("/a"));
    place.approve("fork", "/a");
    assert!(finds("/a") && !finds("/b"));
    assert_eq!(store.lookup("fork", Path::new("/a")), Approval::Approved);
}

#[test]
fn without_a_home_nothing_is_kept() {
    let mut place = Place::new();
    place.context.homes.data = None;
    let mut store = place.open();
    store.approve(ApprovalKind::Mount, "fork".into(), "/a".into());
    assert!(store.save().is_err());
}

// conformance: d43-97
/// Two workspaces with the same directory name do not share approvals.
#[test]
fn approvals_are_of_one_workspace() {
    let place = Place::new();
    place.approve("fork", "/a");
    let kept = fs::read_to_string(place.file()).expect("read");
    place.write(&kept.replace("/ws\"", "/other\""));
    assert_eq!(place.kept(), "");
    let warning = place.open().warning.clone().expect("a warning");
    assert!(warning.contains("is of another workspace"), "{warning}");
    place.approve("fork", "/b");
    assert_eq!(place.kept(), "fork=/b");
    let aside = place.file().with_file_name("approvals.json.unusable-1");
    assert!(fs::read_to_string(aside).expect("kept aside").contains("/other\""));
}

/// An approval of one kind never counts for the other, whatever its name.
#[test]
fn mounts_and_patterns_have_names_of_their_own() {
    let (place, name) = (Place::new(), "read_paths /a/**");
    for (kind, other) in
        [(ApprovalKind::Mount, ApprovalKind::Pattern), (ApprovalKind::Pattern, ApprovalKind::Mount)]
    {
        let mut store = place.open();
        store.revoke(other, name.into());
        store.approve(kind, name.into(), "/a".into());
        store.save().expect("saved");
        assert_eq!(place.open().look(other, name, Path::new("/a")), Approval::Unknown);
    }
    assert_eq!(place.open().look(ApprovalKind::Pattern, name, Path::new("/a")), Approval::Approved);
}

/// Old files store both kinds together.
#[test]
fn patterns_among_mounts_are_patterns() {
    let place = Place::new();
    let entry =
        |name| format!(r#"{{"rule_path":"{name}","canonical_target":"/a","approved_at":"x"}}"#);
    let names = ["f", "read_paths /a/**", "read_paths a"].map(entry);
    place.write(&format!(r#"{{"mounts":[{}]}}"#, names.join(",")));
    assert_eq!(place.kept(), "f=/a read_paths a=/a");
    assert_eq!(place.open().entries(ApprovalKind::Pattern)[0].rule_path, "read_paths /a/**");
    place.approve("g", "/b");
    assert_eq!(place.kept(), "f=/a read_paths a=/a g=/b");
    assert_eq!(place.open().entries(ApprovalKind::Pattern)[0].approved_at, "x");
}
