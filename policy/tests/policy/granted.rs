//! Leave to use a path, by the policy or by consent; and workspaces that are not on disk.

use jp_confine_policy::Capability;
use jp_confine_policy::approvals::ApprovedTargets;
use jp_confine_policy::model::Policy;
use jp_confine_policy::workspace::Workspace;

use crate::place::Place;

const POLICY: &str = r#"{"access": {"fs": [
    {"path": "open", "read": true, "write": true},
    {"path": "open/closed"},
    {"path": "moved", "delete": true}]},
    "file_policy": {"prompt_paths": ["<workspace>/open/ask/**"]}}"#;

fn policy() -> Policy {
    serde_json::from_str(POLICY).unwrap()
}

#[test]
fn consent_opens_what_nothing_closes() {
    let place = Place::new("w/open/closed/ w/open/ask/file w/other/file");
    let workspace =
        Workspace::open(&place.path("w"), &policy(), &ApprovedTargets::default()).unwrap();
    let imagined = Workspace::imagined(&policy()).unwrap();
    for context in [workspace.context(), imagined.context()] {
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
                context.leave(path.as_bytes(), Capability::Read).is_some(),
                granted,
                "{path}"
            );
        }
    }
}

#[test]
fn what_is_moved_keeps_its_rights_at_most() {
    let workspace = Workspace::imagined(&policy()).unwrap();
    let context = workspace.context();
    let to_delete =
        |path: &str| context.check_to_use(path.as_bytes(), Capability::Delete).consented().unwrap();
    let to_create =
        |path: &str| context.check_to_use(path.as_bytes(), Capability::Create).consented().unwrap();
    assert!(context.keeps_rights(&to_delete("open/a"), &to_create("open/b")));
    assert!(context.keeps_rights(&to_delete("open/a"), &to_create("other")));
    assert!(!context.keeps_rights(&to_delete("moved/a"), &to_create("open/b")));
    assert!(!context.keeps_rights(&to_delete("other"), &to_create("open/b")));
}

#[test]
fn renames_act_on_what_was_held() {
    let place = Place::new("w/open/a w/open/b w/open/ask/");
    let workspace =
        Workspace::open(&place.path("w"), &policy(), &ApprovedTargets::default()).unwrap();
    let context = workspace.context();
    let leave = |path: &str, capability| context.leave(path.as_bytes(), capability).unwrap();
    let from = leave("open/a", Capability::Delete).pin().unwrap();
    let taken = leave("open/b", Capability::Create).pin().unwrap();
    assert_eq!(from.rename_to(&taken).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    from.rename_to(&leave("open/b", Capability::Update).pin_entry().unwrap()).unwrap();
    assert!(!place.path("w/open/a").exists() && place.path("w/open/b").exists());
    let reading = leave("open/b", Capability::Read).pin().unwrap();
    assert!(reading.rename_to(&taken).is_err());
}

/// Only what may lead to something is looked through.
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
        let workspace = Workspace::imagined(&serde_json::from_str(policy).unwrap()).unwrap();
        let leads = |path: &&&str| workspace.context().passage(path.as_bytes()).is_some();
        assert_eq!(open.iter().filter(|path| !leads(path)).count(), 0, "{policy}");
        assert_eq!(closed.iter().filter(leads).count(), 0, "{policy}");
    }
}
