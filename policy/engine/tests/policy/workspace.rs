//! Opens workspaces from policies as written.

use std::path::Path;

use jp_confine_engine::Capability;
use jp_confine_engine::approvals::ApprovedTargets;
use jp_confine_engine::check::Reason;
use jp_confine_engine::control::Homes;
use jp_confine_engine::model::Policy;
use jp_confine_engine::received::Received;
use jp_confine_engine::workspace::{OpenError, Workspace};

use crate::place::{Place, capability};

fn open(place: &Place, policy: &str, approved: &str) -> Result<Workspace, OpenError> {
    let policy: Policy = serde_json::from_str(policy).unwrap();
    Workspace::open(place.root.as_path(), &policy, &place.approvals(approved))
}

#[test]
fn a_policy_as_written_decides() {
    let place = Place::new("w/a w/fork=../o o/a");
    let policy = r#"{"access": {"fs": [
        {"path": ".", "read": true},
        {"path": "fork", "external": true, "read": true, "write": true}]}}"#;
    let workspace = open(&place, policy, "fork=o").unwrap();
    let context = workspace.context();
    assert_eq!(context.check(b"a", Capability::Read).into_path().unwrap(), *place.path("w/a"));
    assert_eq!(
        context.check(b"fork/a", Capability::Update).into_path().unwrap(),
        *place.path("o/a")
    );
    assert!(context.check(b"a", Capability::Update).into_path().is_err());

    let unapproved = open(&place, policy, "").unwrap();
    assert_eq!(unapproved.warnings().len(), 1);
    let refused = unapproved.context().check(b"fork/a", Capability::Read).into_path().unwrap_err();
    assert_eq!(refused.result().reason, Some(Reason::Escape));
}

#[test]
fn nothing_opens_under_a_policy_that_cannot_stand() {
    let place = Place::new("w/out=../o o/");
    let absolute = r#"{"access": {"fs": [{"path": "/etc", "read": true}]}}"#;
    let error = open(&place, absolute, "").unwrap_err();
    assert!(matches!(error, OpenError::Rule(_)));
    assert!(error.to_string().contains("`/etc` is absolute"), "{error}");
    let missing = place.path("nothing");
    let error = Workspace::open(&missing, &Policy::default(), &place.approvals("")).unwrap_err();
    assert!(matches!(error, OpenError::Root(_)));
}

#[test]
fn the_policy_file_is_never_writable() {
    let place = Place::new("w/jp-confine.toml=policy/real w/policy/real");
    let workspace = open(&place, "{}", "").unwrap();
    let context = workspace.context();
    assert!(context.check(b"jp-confine.toml", Capability::Read).into_path().is_ok());
    for letter in ['u', 'd', 'c'] {
        for name in ["jp-confine.toml", "policy/real"] {
            assert!(
                !context.check(name.as_bytes(), capability(letter)).is_allowed(),
                "{letter} {name}"
            );
        }
    }
}

/// A pattern does not follow a symlink that leads out of the workspace, or that programs may create: one of them may
/// have (`docs/decisions/0028-planted-links.md`).
#[test]
fn patterns_do_not_follow_links_that_could_be_planted() {
    let place = Place::new("w/ext=../o w/fork=../p o/a p/in=../o");
    let read = r#"[{"path": ".", "read": true}]"#;
    let opened = |list: &str, of: &str, fs: &str| {
        let text =
            format!(r#"{{"access": {{"fs": {fs}}}, "file_policy": {{"{list}": ["{of}/**"]}}}}"#);
        open(&place, &text, "fork=p").unwrap()
    };
    let allows = |workspace: &Workspace, name: &str, letter| {
        workspace.context().check(name.as_bytes(), capability(letter)).is_allowed()
    };
    for (list, letter) in [("read_paths", 'r'), ("write_paths", 'u')] {
        for fs in [read, "[]", r#"[{"path": ".", "read": true, "write": true}]"#] {
            let planted = opened(list, "<workspace>/ext", fs);
            assert!(!allows(&planted, "ext/a", letter), "{list} {fs}");
            let told: Vec<_> = planted.warnings().iter().map(ToString::to_string).collect();
            assert!(told.len() == 1 && told[0].contains("/ext is a link"), "{told:?}");
            let named = opened(list, place.path("o").to_str().unwrap(), fs);
            assert!(allows(&named, "ext/a", letter), "{list} {fs}");
            assert!(named.warnings().is_empty());
        }
    }
    for (capability, followed) in [("read", true), ("write", false)] {
        let fs = format!(r#"[{{"path": "fork", "external": true, "{capability}": true}}]"#);
        let outside = opened("write_paths", place.path("p/in").to_str().unwrap(), &fs);
        assert_eq!(allows(&outside, "ext/a", 'u'), followed, "{capability}");
    }
}

/// This holds whatever rules say, and whether or not the files exist (spec §8.1).
#[test]
fn what_a_user_configured_and_approved_is_never_writable() {
    for (folder, _) in Homes::of_environment().folders() {
        let above = folder.ancestors().skip(1).find(|dir| dir.is_dir()).unwrap();
        let below = folder.strip_prefix(above.canonicalize().unwrap()).unwrap_or(&folder);
        for policy in ["{}", r#"{"access": {"fs": [{"path": ".", "read": true, "write": true}]}}"#]
        {
            let policy: Policy = serde_json::from_str(policy).unwrap();
            let approvals = ApprovedTargets::default();
            let workspace = Workspace::open(above, &policy, &approvals).unwrap();
            let told = |name: &Path, letter| {
                let name = name.as_os_str().as_encoded_bytes();
                workspace.context().check(name, capability(letter)).reason
            };
            assert_eq!(told(&below.with_extension("other"), 'c'), None);
            for letter in ['c', 'u', 'd'] {
                assert_eq!(told(below, letter), Some(Reason::Denied), "{letter} {folder:?}");
                assert_eq!(told(&below.join("x"), letter), Some(Reason::Denied), "{letter}");
            }
            assert_eq!(told(&below.join("x"), 'r'), None);
        }
    }
}

fn received(place: &Place, rule: &str) -> Result<Workspace, OpenError> {
    let rule: serde_json::Value = serde_json::from_str(rule).unwrap();
    let json = serde_json::json!({"root": place.path("w"), "access": {"fs": [rule]}});
    serde_json::from_value::<Received>(json).unwrap().open()
}

// conformance: 076-2, 076-87, 076-127, 076-128, 076-129, 076-144
/// The context of a tool, as RFD 076 has it. The action does not matter.
#[test]
fn a_context_without_rules_leaves_the_workspace_open() {
    let place = Place::new("w/a w/out=../o o/a");
    for (access, update) in [
        (r#""action": "run""#, None),
        (r#""action": "run", "access": null"#, None),
        (r#""action": "format_arguments", "access": {}"#, None),
        (r#""action": "run", "access": {"fs": [], "net": [], "env": []}"#, None),
        (
            r#""action": "run", "access": {"fs": [{"lexical_path": "", "read": true}]}"#,
            Some(Reason::Denied),
        ),
        (
            r#""action": "format_arguments", "access": {"fs": [{"lexical_path": "", "read": true}]}"#,
            Some(Reason::Denied),
        ),
    ] {
        let root = place.path("w").display().to_string();
        let context = format!(r#"{{"root": "{root}", {access}, "other": 1}}"#);
        let workspace = serde_json::from_str::<Received>(&context).unwrap().open().unwrap();
        let reason = |path: &str, letter| {
            workspace.context().check(path.as_bytes(), capability(letter)).reason
        };
        assert_eq!(reason("a", 'r'), None, "{access}");
        assert_eq!(reason("a", 'u'), update, "{access}");
        assert_eq!(reason("out/a", 'r'), Some(Reason::Escape), "{access}");
    }
}

#[test]
fn rules_of_another_form_than_hosts_send_are_refused() {
    let place = Place::new("w/fork=../o o/a");
    for path in ["/etc", "..", "a/../.."] {
        let rule = format!(r#"{{"lexical_path": "{path}", "read": true}}"#);
        let error = received(&place, &rule).unwrap_err();
        assert!(matches!(error, OpenError::Rule(_)), "{path}: {error}");
    }
    let relative = r#"{"lexical_path": "fork", "external": true, "approved_target": "o"}"#;
    assert!(matches!(received(&place, relative).unwrap_err(), OpenError::Image(_)));
}

#[test]
fn an_external_rule_without_a_target_denies() {
    let place = Place::new("w/fork=../o w/a o/a");
    let rule = r#"{"lexical_path": "fork", "external": true, "read": true}"#;
    let workspace = received(&place, rule).unwrap();
    let reason = |name: &str| {
        workspace
            .context()
            .check(name.as_bytes(), Capability::Read)
            .into_path()
            .unwrap_err()
            .result()
            .reason
    };
    assert_eq!(reason("fork/a"), Some(Reason::Escape));
    assert_eq!(reason("a"), Some(Reason::Denied));
}

#[test]
fn a_workspace_serves_several_threads() {
    const fn assert_shared<T: Send + Sync>() {}
    assert_shared::<Workspace>();
    assert_shared::<jp_confine_engine::authorize::Authorizer>();
}
