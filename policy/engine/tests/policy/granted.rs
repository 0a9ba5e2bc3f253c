//! Permission to use a path, by the policy or by consent, and workspaces that are not on disk.

use std::io::ErrorKind;

use jp_confine_engine::Capability;
use jp_confine_engine::approvals::ApprovedTargets;
use jp_confine_engine::model::Policy;
use jp_confine_engine::moves::{Movable, Way};
use jp_confine_engine::moves_alone::RenameKind;
use jp_confine_engine::workspace::Workspace;

use crate::place::Place;

fn alone(movable: Movable) -> RenameKind {
    RenameKind::Alone(Way { movable, tries: true })
}

const POLICY: &str = r#"{"access": {"fs": [
    {"path": "open", "read": true, "write": true},
    {"path": "open/closed"},
    {"path": "moved", "delete": true}]},
    "file_policy": {
        "prompt_paths": ["<workspace>/open/ask/**"], "deny_paths": ["<workspace>/open/*/.env"]}}"#;

fn policy() -> Policy {
    serde_json::from_str(POLICY).unwrap()
}

#[test]
fn consent_opens_what_nothing_closes() {
    let place = Place::new("w/open/closed/ w/open/ask/file w/other/file");
    let workspace =
        Workspace::open(&place.path("w"), &policy(), &ApprovedTargets::default()).unwrap();
    let without_directory = Workspace::without_directory(&policy()).unwrap();
    for context in [workspace.context(), without_directory.context()] {
        for (path, granted, open) in [
            ("open/file", true, false),
            ("open/ask/file", false, true),
            ("other/file", false, true),
            ("open/closed/file", false, false),
            ("moved/file", false, false),
            ("../file", false, false),
            ("/file", false, false),
        ] {
            let check = || context.check_to_use(path.as_bytes(), Capability::Read);
            assert_eq!(check().is_open_to_consent(), open, "{path}");
            assert_eq!(check().granted().is_ok(), granted, "{path}");
            assert_eq!(check().consented().is_ok(), granted || open, "{path}");
            assert_eq!(
                context.grant(path.as_bytes(), Capability::Read).is_some(),
                granted,
                "{path}"
            );
        }
    }
}

#[test]
fn what_is_moved_keeps_its_rights_at_most() {
    let workspace = Workspace::without_directory(&policy()).unwrap();
    let context = workspace.context();
    let to_delete =
        |path: &str| context.check_to_use(path.as_bytes(), Capability::Delete).consented().unwrap();
    let to_create =
        |path: &str| context.check_to_use(path.as_bytes(), Capability::Create).consented().unwrap();
    for (from, to, expected) in [
        ("open/a", "open/b", Some(RenameKind::Whole)),
        // The denial in `open/a` would not hold at `other`. Nothing may be created beside the new name.
        (
            "open/a",
            "other",
            Some(RenameKind::Alone(Way { movable: Movable::NoDirectory, tries: false })),
        ),
        ("moved/a", "open/b", None),
        ("other", "open/b", None),
        ("open/plain", "open/b/c", Some(alone(Movable::NoDirectory))),
        ("open/b/c", "open/plain", Some(RenameKind::Whole)),
    ] {
        assert_eq!(context.rename_kind(&to_delete(from), &to_create(to)), expected, "{from} {to}");
    }
}

#[test]
fn renames_act_on_what_was_held() {
    for kind in [alone(Movable::NoDirectory), alone(Movable::NoSymlink), RenameKind::Whole] {
        let place = Place::new("w/open/a w/open/b w/open/ask/");
        let workspace =
            Workspace::open(&place.path("w"), &policy(), &ApprovedTargets::default()).unwrap();
        let context = workspace.context();
        let grant = |path: &str, capability| context.grant(path.as_bytes(), capability).unwrap();
        let from = grant("open/a", Capability::Delete).pin().unwrap();
        let taken = grant("open/b", Capability::Create).pin().unwrap();
        let error = from.rename_to(&taken, kind).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert!(place.path("w/open/a").exists());
        from.rename_to(&grant("open/b", Capability::Update).pin_entry().unwrap(), kind).unwrap();
        assert!(!place.path("w/open/a").exists() && place.path("w/open/b").exists());
        let reading = grant("open/b", Capability::Read).pin().unwrap();
        assert!(reading.rename_to(&taken, kind).is_err());
    }
}

/// The kind of entry that was there when it was judged does not matter.
#[test]
fn a_directory_does_not_go_alone() {
    let place = Place::new("w/open/dir/file w/open/file w/open/empty/ w/open/link=file");
    let workspace =
        Workspace::open(&place.path("w"), &policy(), &ApprovedTargets::default()).unwrap();
    let context = workspace.context();
    let rename = |from: &str, to: &str, capability| {
        let grant = |path: &str, capability| context.grant(path.as_bytes(), capability).unwrap();
        let to = grant(to, capability).pin_entry().unwrap();
        let from = grant(from, Capability::Delete).pin().unwrap();
        from.rename_to(&to, alone(Movable::NoDirectory)).map_err(|error| error.kind())
    };
    let (new, replaced) = (Capability::Create, Capability::Update);
    for (to, how) in [("new", new), ("new", replaced), ("file", replaced), ("empty", replaced)] {
        let moved = rename("open/dir", &format!("open/{to}"), how);
        assert_eq!(moved, Err(ErrorKind::IsADirectory), "{to}");
    }
    assert_eq!(rename("open/file", "open/empty", replaced), Err(ErrorKind::IsADirectory));
    assert!(place.path("w/open/dir/file").exists() && place.path("w/open/file").is_file());
    assert!(!place.path("w/open/new").exists() && place.path("w/open/empty").is_dir());
    rename("open/link", "open/new", new).unwrap();
    assert!(place.path("w/open/new").is_symlink() && !place.path("w/open/link").exists());
    assert_eq!(rename("open/link", "open/file", replaced), Err(ErrorKind::NotFound));
    assert!(place.path("w/open/file").exists());
}

/// Only directories that may lead to a granted path are searched.
#[test]
fn a_way_leads_to_what_may_be_read() {
    for (policy, open, closed) in [
        (r#"{"access": {"fs": [{"path": "a/b/c", "read": true}]}}"#, &[".", "a/b"][..], &["b"][..]),
        (r#"{"access": {"fs": [{"path": "jp-confine.toml", "read": true}]}}"#, &["."], &["a"]),
        (
            r#"{"file_policy": {"default": "deny", "read_paths": ["<workspace>/*/b/**"]}}"#,
            &[".", "a", "a/b/c"],
            &["a/c", "b/a"],
        ),
        (
            r#"{"file_policy": {"deny_paths": ["<workspace>/*", "<workspace>/c/**"]}}"#,
            &["a", "a/b"],
            &["c", "c/d"],
        ),
        (
            r#"{"access": {"fs": [{"path": ".", "read": true}, {"path": "a"}]}}"#,
            &["."],
            &["a", "../a"],
        ),
    ] {
        let workspace =
            Workspace::without_directory(&serde_json::from_str(policy).unwrap()).unwrap();
        let leads = |path: &&&str| workspace.context().grant_traversal(path.as_bytes()).is_some();
        assert_eq!(open.iter().filter(|path| !leads(path)).count(), 0, "{policy}");
        assert_eq!(closed.iter().filter(leads).count(), 0, "{policy}");
    }
}
