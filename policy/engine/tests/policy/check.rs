//! Verdicts on tool input: spec §1 (precedence), §4, §5, §6.4 and §7.

use camino::Utf8PathBuf;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::canonical::{ResolveError, Root};
use jp_confine_engine::check::{CheckVerdict, Context, Reason};
use jp_confine_engine::model::CompiledAccess;
use jp_confine_engine::received::Received;
use jp_confine_engine::workspace::Workspace;
use jp_confine_engine::{Capabilities, Capability};

use crate::place::{Place, capability};

/// `allow PATH` with the canonical path, or the reason code.
fn verdict(place: &Place, rules: &str, approved: &str, call: &str) -> String {
    let policy = place.policy(rules, approved);
    let said = answer(place, &policy.context(), call);
    let received = received(place, rules, approved);
    assert_eq!(answer(place, &received.context(), call), said, "by a tool that received the rules");
    said
}

/// The workspace of a tool that received the rules from a host.
fn received(place: &Place, rules: &str, approved: &str) -> Workspace {
    let fs = place.compile(rules, approved).unwrap().rules;
    let root = Utf8PathBuf::from_path_buf(place.root.as_path().to_owned()).unwrap();
    Received { root, access: Some(CompiledAccess { fs }) }.open().unwrap()
}

fn answer(place: &Place, context: &Context<'_>, call: &str) -> String {
    let (letter, input) = call.split_once(' ').unwrap();
    let capability = capability(letter.chars().next().unwrap());
    let input = input.replace('@', place.path("").to_str().unwrap());
    let result = context.check(input.as_bytes(), capability);
    match (result.verdict, result.reason) {
        (CheckVerdict::Allow, None) => format!("allow {}", place.short(&result.resolved.unwrap())),
        (CheckVerdict::Deny, Some(reason)) => {
            serde_json::to_value(reason).unwrap().as_str().unwrap().to_owned()
        }
        other => panic!("{other:?}"),
    }
}

macro_rules! rows {
    ($($name:ident: $tree:literal, $rules:literal $(approved $approved:literal)?, $call:literal => $expected:literal;)*) => {$(
        #[test]
        fn $name() {
            let approved = concat!("", $($approved)?);
            assert_eq!(verdict(&Place::new($tree), $rules, approved, $call), $expected);
        }
    )*};
}

rows! {
    undeclared_inside: "w/a", "", "r a" => "allow w/a";
    undeclared_root: "", "", "r ." => "allow w";
    // conformance: 076-77
    undeclared_missing: "", "", "c new/a" => "allow w/new/a";
    // conformance: 076-11
    undeclared_everything: "w/a", "", "x a" => "allow w/a";
    // conformance: 076-83, 076-137, 076-144
    // conformance: d43-31, d43-43, d43-244
    undeclared_escape: "o/a w/l=../o", "", "r l/a" => "escape";

    // conformance: 076-78, 076-79
    // conformance: d43-2, d43-13, d43-21, d43-28, d43-243, d43-245
    absolute_input: "w/a", "", "r @w/a" => "absolute_input";
    // conformance: 076-137
    // conformance: d43-24
    absolute_before_input_escape: "", "", "r /../x" => "absolute_input";
    // conformance: 076-81, 076-137
    // conformance: d43-13, d43-22, d43-244
    input_escape: "o/", "", "r ../o" => "input_escape";
    // conformance: d43-22
    input_escape_and_back: "w/a", "", "r ../w/a" => "input_escape";
    // conformance: d43-2, d43-24, d43-26, d43-243
    input_escape_before_resolution: "w/l=l", "", "r l/../../x" => "input_escape";
    // conformance: 076-80
    // conformance: d43-23, d43-26
    input_parent_is_lexical: "o/d/ w/a w/l=../o/d", "", "r l/../a" => "allow w/a";
    // conformance: 076-142, tiers-61
    resolution_before_denied: "w/l=l", "a:r", "r l" => "resolution_failed";
    below_file: "w/a", "", "r a/b" => "resolution_failed";
    slash_behind_a_file: "w/a", ".:rw", "u a/" => "resolution_failed";
    dot_behind_a_file: "w/a", ".:rw", "d a/." => "resolution_failed";
    slash_behind_a_link_to_a_file: "w/a w/l=a", ".:rw", "d l/" => "resolution_failed";
    slash_behind_a_directory: "w/d/", ".:rw", "d d/" => "allow w/d";
    slash_behind_nothing: "", ".:rw", "c new/" => "allow w/new";
    escape_before_denied: "o/a w/l=../o/a", "a:r", "x l" => "escape";

    // conformance: 076-3
    granted: "w/a", ".:r", "r a" => "allow w/a";
    // conformance: 076-137
    not_granted: "w/a", ".:r", "u a" => "denied";
    // conformance: 076-64
    no_rule: "w/a w/b", "a:r", "r b" => "denied";
    same_for_missing_as_for_present: "", "a:r", "r b" => "denied";
    write_is_not_read: "w/a", ".:w", "r a" => "denied";
    write_is_not_execute: "w/a", ".:rw", "x a" => "denied";
    write_is_update: "w/a", ".:w", "u a" => "allow w/a";
    // conformance: 076-48
    create_alone: "", ".:c", "u a" => "denied";
    // conformance: 076-37
    component_aware: "w/src_generated/a", "src:r", "r src_generated/a" => "denied";
    // conformance: 076-33
    rule_path_itself: "w/src/", "src:r", "r src" => "allow w/src";
    // conformance: 076-25, 076-29, 076-59
    longest_wins: "w/src/a", ".:rw src:r", "u src/a" => "denied";
    // conformance: 076-59
    longest_wins_whatever_the_order: "w/src/a", "src:r .:rw", "u src/a" => "denied";
    // conformance: 076-30, 076-65, 076-158
    nothing_is_inherited: "w/src/a", ".:r src:w", "r src/a" => "denied";
    // conformance: 076-86
    deeper_reopens: "w/src/g/a", ".:rw src:r src/g:rw", "u src/g/a" => "allow w/src/g/a";
    // conformance: 076-31, 076-32
    last_of_equals_denies: "w/a", "a:r a:", "r a" => "denied";
    // conformance: 076-31, 076-32
    last_of_equals_grants: "w/a", "a: a:r", "r a" => "allow w/a";
    equals_by_alias: "w/d/a w/l=d", "d:r l:", "r d/a" => "denied";
    route_breaks_no_ordinary_tie: "w/d/a w/l=d", "l:r d:", "r l/a" => "denied";
    // conformance: 076-38
    deny_all_rule: "w/.env", ".:rw .env:", "r .env" => "denied";
    // conformance: 076-35
    glob_is_literal: "w/a", "*:r", "r a" => "denied";

    // conformance: 076-76
    // conformance: d43-233, d43-242
    inside_alias_does_not_dodge: "w/secret/a w/l=secret", ".:r secret:", "r l/a" => "denied";
    // conformance: 076-74
    // conformance: d43-233
    rule_on_alias_holds_for_target: "w/secret/a w/l=secret", ".:r l:", "r secret/a" => "denied";
    alias_of_granted: "w/d/a w/l=d", "d:r", "r l/a" => "allow w/d/a";
    workspace_link_alias: "w/d/a w/up=../w", ".:r", "r up/d/a" => "allow w/d/a";
    dangling_out: "o/ w/l=../o/new", ".:rw", "c l" => "escape";
    dangling_in: "w/d/ w/l=d/new", ".:rw", "c l" => "allow w/d/new";
    dangling_in_denied: "w/d/ w/l=d/new", ".:rw d:r", "c l" => "denied";
    dangling_unbounded: "w/l=no/../../o", ".:rw", "c l" => "resolution_failed";
    delete_is_about_the_entry: "o/a w/l=../o/a", ".:d", "d l" => "allow w/l";
    delete_of_dangling: "w/l=../o/new", ".:d", "d l" => "allow w/l";
    delete_of_alias_is_judged_where_it_stands: "w/d/ w/e/l=../d", ".: e:d", "d e/l" => "allow w/e/l";
    delete_through_a_parent_link: "o/a w/l=../o", ".:d", "d l/a" => "escape";

    // conformance: d43-3, d43-12, d43-31, d43-36, d43-43, d43-65, d43-66, d43-113, d43-197, d43-234
    external: "o/a w/fork=../o", "fork!r" approved "fork=o", "r fork/a" => "allow o/a";
    // conformance: d43-111
    external_root: "o/ w/fork=../o", "fork!r" approved "fork=o", "r fork" => "allow o";
    // conformance: d43-37, d43-45
    external_capability: "o/a w/fork=../o", "fork!r" approved "fork=o", "u fork/a" => "denied";
    // conformance: d43-15
    external_new: "o/ w/fork=../o", "fork!rw" approved "fork=o", "c fork/new" => "allow o/new";
    external_file: "o/f o/g w/fork=../o/f", "fork!r" approved "fork=o/f", "r fork" => "allow o/f";
    // conformance: d43-20, d43-45
    external_alone_is_no_capability: "o/a w/fork=../o", "fork!" approved "fork=o", "r fork/a" => "denied";
    // conformance: d43-42
    external_opens_no_other_link: "o/a p/a w/fork=../o w/l=../p", ".:r fork!r" approved "fork=o", "r l/a" => "escape";
    external_does_not_cover_its_own_link: "o/ w/fork=../o", "fork!rw" approved "fork=o", "d fork" => "denied";
    external_opens_nothing_inside: "w/a o/ w/fork=../o", "fork!r" approved "fork=o", "r a" => "denied";
    external_around_the_workspace: "w/a o/a w/up=..", "up!r" approved "up=", "r up/w/a" => "denied";
    external_around_the_workspace_outside: "w/a o/a w/up=..", "up!r" approved "up=", "r up/o/a" => "allow o/a";
    external_around_leaves_undeclared_inside: "w/a w/up=..", ".:r up!u" approved "up=", "r up/w/a" => "allow w/a";
    external_around_is_not_entered_from_inside: "w/up=.. w/l=/proc/version", "up!r" approved "up=", "r l" => "escape";
    // conformance: d43-13, d43-44, d43-64, d43-110, d43-111, d43-114, d43-234, d43-247
    nested_escape: "o/s=../p p/a w/fork=../o", "fork!r" approved "fork=o", "r fork/s/a" => "nested_escape";
    // conformance: d43-112
    nested_escape_by_alias: "o/s=../p p/a w/fork=../o w/l=fork", "fork!r" approved "fork=o", "r l/s/a" => "nested_escape";
    nested_back_inside: "o/s=../w/a w/a w/fork=../o", ".:r fork!u" approved "fork=o", "r fork/s" => "allow w/a";
    nested_back_inside_denied: "o/s=../w/a w/a w/fork=../o", "fork!r" approved "fork=o", "r fork/s" => "denied";
    nested_into_another_mount: "o/s=../p p/a w/one=../o w/two=../p", "one!r two!u" approved "one=o two=p", "r one/s/a" => "denied";
    // conformance: d43-119
    nested_into_another_mount_granted: "o/s=../p p/a w/one=../o w/two=../p", "one!u two!r" approved "one=o two=p", "r one/s/a" => "allow p/a";
    // conformance: d43-63
    external_deeper_rule: "o/d/a w/fork=../o", "fork!r fork/d!" approved "fork=o fork/d=o/d", "r fork/d/a" => "denied";
    // conformance: d43-63
    external_deeper_rule_is_not_dodged: "o/d/a o/l=d w/fork=../o", "fork!r fork/d!" approved "fork=o fork/d=o/d", "r fork/l/a" => "denied";
    external_tie_by_route_first: "o/a w/one=../o w/two=../o", "one!r two!u" approved "one=o two=o", "r one/a" => "allow o/a";
    external_tie_by_route_second: "o/a w/one=../o w/two=../o", "one!r two!u" approved "one=o two=o", "r two/a" => "denied";
    external_tie_without_route_is_last: "o/a w/one=../o w/two=../o w/l=../o", "one!r two!u" approved "one=o two=o", "r l/a" => "denied";
    external_reached_by_another_link: "o/a w/one=../o w/l=../o", "one!r" approved "one=o", "r l/a" => "allow o/a";

    // conformance: d43-60, d43-66, d43-94, d43-216
    unapproved: "o/a w/fork=../o", ".:r fork!r", "r fork/a" => "escape";
    // conformance: d43-88, d43-235
    retargeted: "o/ p/a w/fork=../p", ".:r fork!r" approved "fork=o", "r fork/a" => "escape";
    // conformance: d43-94, d43-241
    all_dropped_is_deny_all: "w/a o/ w/fork=../o", "fork!r", "r a" => "denied";
    // conformance: d43-17, d43-62
    missing_target: "w/fork=../o", ".:rw fork!r", "c fork" => "escape";
    // conformance: d43-60
    tombstone_at_its_path: "o/ w/fork=../o", ".:rw fork!r", "d fork" => "denied";
    // conformance: d43-62
    tombstone_at_missing_path: "", ".:rw fork!r", "c fork/a" => "denied";
    tombstone_below_a_mount: "o/s/a w/fork=../o", "fork!r fork/s!" approved "fork=o", "r fork/s/a" => "denied";
    tombstone_leaves_the_rest: "o/s/a o/a w/fork=../o", "fork!r fork/s!" approved "fork=o", "r fork/a" => "allow o/a";
    tombstone_at_the_target_of_a_link: "o/s/a o/l=s w/fork=../o", "fork!r fork/s!" approved "fork=o", "r fork/l/a" => "denied";
    tombstone_shares_its_target_with_a_mount: "o/a w/one=../o w/two=../o", "one!r two!r" approved "one=o", "r one/a" => "allow o/a";
    tombstone_shares_its_target_and_denies: "o/a w/one=../o w/two=../o", "one!r two!r" approved "one=o", "r two/a" => "denied";
    tombstone_before_shares_its_target_with_a_mount: "o/a w/one=../o w/two=../o", "two!r one!r" approved "one=o", "r one/a" => "allow o/a";
    tombstone_before_shares_its_target_and_denies: "o/a w/one=../o w/two=../o", "two!r one!r" approved "one=o", "r two/a" => "denied";
    tombstone_between_mounts: "o/a w/one=../o w/two=../o w/three=../o", "one!r two!r three!u" approved "one=o three=o", "r one/a" => "allow o/a";
    tombstone_last_wins_without_a_route: "o/a w/one=../o w/two=../o w/l=../o", "one!r two!r" approved "one=o", "r l/a" => "denied";
    tombstone_below_an_alias: "w/real/fork=../../o o/ w/l=real", ".:rw l/fork!r", "d real/fork" => "denied";
}

// conformance: 076-6, 076-60, 076-61, 076-62, 076-63
/// The examples of RFD 076: `r` and `u` are what the rules allow at each path.
#[test]
fn examples_of_the_longest_match() {
    for (rules, path, expected) in [
        (".:rw src:r src/generated:rw", "README.md", "ru"),
        (".:rw src:r src/generated:rw", "src/lib.rs", "r"),
        (".:rw src:r src/generated:rw", "src/generated/schema.rs", "ru"),
        (".:rw src:r src/generated:rw", "tests/main.rs", "ru"),
        (".:r .config/jp/tools:rw", "src/lib.rs", "r"),
        (".:r .config/jp/tools:rw", ".config/jp/tools/x", "ru"),
        (".:r .config/jp/tools:rw .env:", ".env", ""),
    ] {
        let place = Place::new("");
        let allowed = |letter: &char| {
            verdict(&place, rules, "", &format!("{letter} {path}")).starts_with("allow")
        };
        let seen: String = ['r', 'u'].iter().filter(|letter| allowed(letter)).collect();
        assert_eq!(seen, expected, "{rules} {path}");
    }
}

// conformance: d43-217
#[test]
fn a_mount_link_retargeted_during_the_run_is_denied() {
    let place = Place::new("o/a p/a w/fork=../o");
    let policy = place.policy("fork!r", "fork=o");
    std::fs::remove_file(place.path("w/fork")).unwrap();
    place.add("w/fork=../p");
    let result = policy.context().check(b"fork/a", capability('r'));
    assert_eq!(result.reason, Some(Reason::NestedEscape));
}

// conformance: d43-117, d43-217
/// Who needs the target gives it a symlink and a rule of its own.
#[test]
fn nobody_is_asked_about_a_nested_escape() {
    let place = Place::new("o/s=../p p/a w/fork=../o");
    let grants = place.compile("fork!r", "fork=o").unwrap().for_service().grants;
    let policy = place.policy_of(grants);
    let result = policy.context().check(b"fork/s/a", capability('r'));
    assert_eq!(result.reason, Some(Reason::NestedEscape));
    assert!(!result.is_open_to_consent());
}

#[test]
fn a_workspace_opened_through_a_link_behaves_the_same() {
    let place = Place::new("w/a alias=w");
    let root = Root::open(&place.path("alias")).unwrap();
    let policy = place.policy(".:r", "");
    let context = Context::new(&root, &policy.grants, &policy.image);
    assert_eq!(context.check(b"a", capability('r')).verdict, CheckVerdict::Allow);
}

#[test]
fn no_usable_policy_denies_before_anything_else() {
    let place = Place::new("w/a");
    let policy = place.policy("", "");
    for image in [&b""[..], &policy.image[..policy.image.len() - 1], b"not an image"] {
        let context = Context::new(&place.root, &policy.grants, image);
        for input in [&b"a"[..], b"/a", b"../a"] {
            let result = context.check(input, capability('r'));
            assert_eq!(result.verdict, CheckVerdict::Deny);
            assert_eq!(result.reason, Some(Reason::PolicyUnavailable));
        }
    }
}

/// The tests may run as root, for whom the system denies no directory.
#[test]
fn a_refusal_by_the_system_has_its_own_reason() {
    let refused = |kind: std::io::ErrorKind| {
        let path = std::path::PathBuf::from("/a");
        Reason::from(ResolveError::Io { path, error: kind.into() })
    };
    assert_eq!(refused(std::io::ErrorKind::PermissionDenied), Reason::PermissionDenied);
    assert_eq!(refused(std::io::ErrorKind::InvalidFilename), Reason::ResolutionFailed);
}

#[test]
fn malformed_input_is_refused() {
    let place = Place::new("");
    let policy = place.policy("", "");
    for input in [&b""[..], b"a\0b"] {
        let result = policy.context().check(input, capability('r'));
        assert_eq!(result.reason, Some(Reason::ResolutionFailed));
    }
}

/// A baseline extends the reach of programs, not of tool input.
#[test]
fn only_flags_and_mounts_reach_outside() {
    let place = Place::new("o/a w/l=../o");
    let check = |origin: Origin, caps| {
        let mut grants = place.compile(".:r", "").unwrap().grants;
        grants.push(Grant::new(place.path("o"), caps, GrantKind::Plain, origin));
        place.policy_of(grants).context().check(b"l/a", capability('r')).reason
    };
    let baseline = Origin::Baseline { entry: "o".to_owned() };
    let flag = Origin::Flag { text: "--read o".to_owned() };
    assert_eq!(check(baseline, Capabilities::READ), Some(Reason::Escape));
    assert_eq!(check(flag.clone(), Capabilities::READ), None);
    assert_eq!(check(flag.clone(), Capabilities::UPDATE), Some(Reason::Denied));
    assert_eq!(check(flag, Capabilities::NONE), Some(Reason::Escape));
}

fn granting(tree: &str, rules: &str, approved: &str, letter: char) -> Vec<String> {
    let place = Place::new(tree);
    place.policy(rules, approved).context().check(b"nothing", capability(letter)).granting
}

// conformance: 076-138, 076-145
// conformance: d43-95
#[test]
fn granting_names_what_effectively_grants() {
    let empty: [&str; 0] = [];
    assert_eq!(granting("", "", "", 'x'), ["."]);
    assert_eq!(granting("", ".:r src:rw", "", 'r'), [".", "src"]);
    assert_eq!(granting("", ".:r src:rw", "", 'u'), ["src"]);
    assert_eq!(granting("", ".:r", "", 'x'), empty);
    assert_eq!(granting("", "src:r src:rw", "", 'r'), ["src"], "same path: the last");
    assert_eq!(granting("", "src:r src:", "", 'r'), empty, "shadowed");
    assert_eq!(granting("", ".:r src:", "", 'r'), ["."], "a deeper denial hides nothing");
    assert_eq!(granting("w/d/ w/l=d", "l:r", "", 'r'), ["d"]);
    assert_eq!(granting("o/ w/fork=../o", "fork!r", "fork=o", 'r'), ["fork"]);
    assert_eq!(granting("o/ w/fork=../o", "fork!r", "", 'r'), empty);
    let two = granting("o/ w/one=../o w/two=../o", "one!r two!r", "one=o two=o", 'r');
    assert_eq!(two, ["one", "two"]);
}

/// A control entry only withholds changes.
#[test]
fn granting_names_rules_on_what_is_kept() {
    let place = Place::new("w/own");
    let mut grants = place.compile("own:rw", "").unwrap().grants;
    let origin = Origin::Product { why: "own".to_owned() };
    grants.push(Grant::new(place.path("w/own"), Capabilities::NONE, GrantKind::Control, origin));
    let policy = place.policy_of(grants);
    let granting = |letter| policy.context().check(b"nothing", capability(letter)).granting;
    assert_eq!(granting('r'), ["own"]);
    assert_eq!(granting('u'), [""; 0]);
}

// conformance: 076-138
#[test]
fn results_as_json() {
    let place = Place::new("w/a");
    let policy = place.policy(".:r", "");
    let json = |letter| {
        let result = policy.context().check(b"./a", capability(letter));
        place.anonymous(&serde_json::to_string(&result).unwrap())
    };
    assert_eq!(
        json('r'),
        r#"{"path":"./a","capability":"read","verdict":"allow","reason":null,"resolved":"@/w/a","rule":{"text":"rule `.` (rule 1)","file":null,"line":null},"granting":["."]}"#
    );
    assert_eq!(
        json('d'),
        r#"{"path":"./a","capability":"delete","verdict":"deny","reason":"denied","resolved":"@/w/a","rule":{"text":"rule `.` (rule 1)","file":null,"line":null},"granting":[]}"#
    );
}

// conformance: 076-143
// conformance: d43-27
#[test]
fn typed_checks_return_the_path_to_use() {
    let place = Place::new("w/d/a w/l=d");
    let policy = place.policy("d:rw", "");
    let context = policy.context();
    let canonical = place.path("w/d/a");
    assert_eq!(context.check(b"l/a", Capability::Read).into_path().unwrap(), *canonical);
    assert_eq!(context.check(b"l/a", Capability::Update).into_path().unwrap(), *canonical);
    assert_eq!(
        context.check(b"l/b", Capability::Create).into_path().unwrap(),
        *place.path("w/d/b")
    );
    assert_eq!(context.check(b"l/a", Capability::Delete).into_path().unwrap(), *canonical);
    let error = context.check(b"l/a", Capability::Execute).into_path().unwrap_err();
    assert_eq!(error.result().reason, Some(Reason::Denied));
    assert_eq!(error.to_string(), error.result().message());
}
