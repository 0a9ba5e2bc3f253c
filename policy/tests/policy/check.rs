//! Verdicts on tool input: spec §1 (precedence), §4, §5, §6.4 and §7.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use camino::Utf8PathBuf;
use jp_confine_policy::Capabilities;
use jp_confine_policy::build::{Grant, GrantKind, Origin};
use jp_confine_policy::canonical::{ResolveError, Root};
use jp_confine_policy::check::{Context, Reason, Verdict};
use jp_confine_policy::file_policy::FilePolicy;
use jp_confine_policy::model::{CompiledAccess, TYPED};
use jp_confine_policy::pattern::Places;
use jp_confine_policy::received::Received;
use jp_confine_policy::tier::Tier;
use jp_confine_policy::tiers::Tiers;
use jp_confine_policy::workspace::Workspace;

use crate::place::{Place, capability, file_policy, image_with};

/// `allow PATH` with the canonical path, or the reason code.
fn verdict(place: &Place, rules: &str, approved: &str, call: &str) -> String {
    let policy = place.policy(rules, approved);
    let said = answer(place, &policy.context(), call);
    let received = received(place, rules, approved);
    assert_eq!(answer(place, &received.context(), call), said, "by a tool that received the rules");
    said
}

/// What a tool makes of the rules that a host compiled and sent.
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
        (Verdict::Allow, None) => format!("allow {}", place.short(&result.resolved.unwrap())),
        (Verdict::Deny, Some(reason)) => {
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
    undeclared_missing: "", "", "c new/a" => "allow w/new/a";
    undeclared_everything: "w/a", "", "x a" => "allow w/a";
    undeclared_escape: "o/a w/l=../o", "", "r l/a" => "escape";

    absolute_input: "w/a", "", "r @w/a" => "absolute_input";
    absolute_before_input_escape: "", "", "r /../x" => "absolute_input";
    input_escape: "o/", "", "r ../o" => "input_escape";
    input_escape_and_back: "w/a", "", "r ../w/a" => "input_escape";
    input_escape_before_resolution: "w/l=l", "", "r l/../../x" => "input_escape";
    input_parent_is_lexical: "o/d/ w/a w/l=../o/d", "", "r l/../a" => "allow w/a";
    resolution_before_denied: "w/l=l", "a:r", "r l" => "resolution_failed";
    below_file: "w/a", "", "r a/b" => "resolution_failed";
    slash_behind_a_file: "w/a", ".:rw", "u a/" => "resolution_failed";
    dot_behind_a_file: "w/a", ".:rw", "d a/." => "resolution_failed";
    slash_behind_a_link_to_a_file: "w/a w/l=a", ".:rw", "d l/" => "resolution_failed";
    slash_behind_a_directory: "w/d/", ".:rw", "d d/" => "allow w/d";
    slash_behind_nothing: "", ".:rw", "c new/" => "allow w/new";
    escape_before_denied: "o/a w/l=../o/a", "a:r", "x l" => "escape";

    granted: "w/a", ".:r", "r a" => "allow w/a";
    not_granted: "w/a", ".:r", "u a" => "denied";
    no_rule: "w/a w/b", "a:r", "r b" => "denied";
    same_for_missing_as_for_present: "", "a:r", "r b" => "denied";
    write_is_not_read: "w/a", ".:w", "r a" => "denied";
    write_is_not_execute: "w/a", ".:rw", "x a" => "denied";
    write_is_update: "w/a", ".:w", "u a" => "allow w/a";
    create_alone: "", ".:c", "u a" => "denied";
    component_aware: "w/src_generated/a", "src:r", "r src_generated/a" => "denied";
    rule_path_itself: "w/src/", "src:r", "r src" => "allow w/src";
    longest_wins: "w/src/a", ".:rw src:r", "u src/a" => "denied";
    longest_wins_whatever_the_order: "w/src/a", "src:r .:rw", "u src/a" => "denied";
    nothing_is_inherited: "w/src/a", ".:r src:w", "r src/a" => "denied";
    deeper_reopens: "w/src/g/a", ".:rw src:r src/g:rw", "u src/g/a" => "allow w/src/g/a";
    last_of_equals_denies: "w/a", "a:r a:", "r a" => "denied";
    last_of_equals_grants: "w/a", "a: a:r", "r a" => "allow w/a";
    equals_by_alias: "w/d/a w/l=d", "d:r l:", "r d/a" => "denied";
    route_breaks_no_ordinary_tie: "w/d/a w/l=d", "l:r d:", "r l/a" => "denied";
    deny_all_rule: "w/.env", ".:rw .env:", "r .env" => "denied";
    glob_is_literal: "w/a", "*:r", "r a" => "denied";

    inside_alias_does_not_dodge: "w/secret/a w/l=secret", ".:r secret:", "r l/a" => "denied";
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

    external: "o/a w/fork=../o", "fork!r" approved "fork=o", "r fork/a" => "allow o/a";
    external_root: "o/ w/fork=../o", "fork!r" approved "fork=o", "r fork" => "allow o";
    external_capability: "o/a w/fork=../o", "fork!r" approved "fork=o", "u fork/a" => "denied";
    external_new: "o/ w/fork=../o", "fork!rw" approved "fork=o", "c fork/new" => "allow o/new";
    external_file: "o/f o/g w/fork=../o/f", "fork!r" approved "fork=o/f", "r fork" => "allow o/f";
    external_does_not_cover_its_own_link: "o/ w/fork=../o", "fork!rw" approved "fork=o", "d fork" => "denied";
    external_opens_nothing_inside: "w/a o/ w/fork=../o", "fork!r" approved "fork=o", "r a" => "denied";
    external_around_the_workspace: "w/a o/a w/up=..", "up!r" approved "up=", "r up/w/a" => "denied";
    external_around_the_workspace_outside: "w/a o/a w/up=..", "up!r" approved "up=", "r up/o/a" => "allow o/a";
    external_around_leaves_undeclared_inside: "w/a w/up=..", ".:r up!u" approved "up=", "r up/w/a" => "allow w/a";
    external_around_is_not_entered_from_inside: "w/up=.. w/l=/proc/version", "up!r" approved "up=", "r l" => "escape";
    nested_escape: "o/s=../p p/a w/fork=../o", "fork!r" approved "fork=o", "r fork/s/a" => "nested_escape";
    nested_escape_by_alias: "o/s=../p p/a w/fork=../o w/l=fork", "fork!r" approved "fork=o", "r l/s/a" => "nested_escape";
    nested_back_inside: "o/s=../w/a w/a w/fork=../o", ".:r fork!u" approved "fork=o", "r fork/s" => "allow w/a";
    nested_back_inside_denied: "o/s=../w/a w/a w/fork=../o", "fork!r" approved "fork=o", "r fork/s" => "denied";
    nested_into_another_mount: "o/s=../p p/a w/one=../o w/two=../p", "one!r two!u" approved "one=o two=p", "r one/s/a" => "denied";
    nested_into_another_mount_granted: "o/s=../p p/a w/one=../o w/two=../p", "one!u two!r" approved "one=o two=p", "r one/s/a" => "allow p/a";
    external_deeper_rule: "o/d/a w/fork=../o", "fork!r fork/d!" approved "fork=o fork/d=o/d", "r fork/d/a" => "denied";
    external_deeper_rule_is_not_dodged: "o/d/a o/l=d w/fork=../o", "fork!r fork/d!" approved "fork=o fork/d=o/d", "r fork/l/a" => "denied";
    external_tie_by_route_first: "o/a w/one=../o w/two=../o", "one!r two!u" approved "one=o two=o", "r one/a" => "allow o/a";
    external_tie_by_route_second: "o/a w/one=../o w/two=../o", "one!r two!u" approved "one=o two=o", "r two/a" => "denied";
    external_tie_without_route_is_last: "o/a w/one=../o w/two=../o w/l=../o", "one!r two!u" approved "one=o two=o", "r l/a" => "denied";
    external_reached_by_another_link: "o/a w/one=../o w/l=../o", "one!r" approved "one=o", "r l/a" => "allow o/a";

    unapproved: "o/a w/fork=../o", ".:r fork!r", "r fork/a" => "escape";
    retargeted: "o/ p/a w/fork=../p", ".:r fork!r" approved "fork=o", "r fork/a" => "escape";
    all_dropped_is_deny_all: "w/a o/ w/fork=../o", "fork!r", "r a" => "denied";
    missing_target: "w/fork=../o", ".:rw fork!r", "c fork" => "escape";
    tombstone_at_its_path: "o/ w/fork=../o", ".:rw fork!r", "d fork" => "denied";
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

#[test]
fn a_mount_link_retargeted_during_the_run_is_denied() {
    let place = Place::new("o/a p/a w/fork=../o");
    let policy = place.policy("fork!r", "fork=o");
    std::fs::remove_file(place.path("w/fork")).unwrap();
    place.add("w/fork=../p");
    let result = policy.context().check(b"fork/a", capability('r'));
    assert_eq!(result.reason, Some(Reason::NestedEscape));
}

#[test]
fn a_workspace_opened_through_a_link_behaves_the_same() {
    let place = Place::new("w/a alias=w");
    let root = Root::open(&place.path("alias")).unwrap();
    let policy = place.policy(".:r", "");
    let context = Context::new(&root, &policy.grants, &policy.image);
    assert_eq!(context.check(b"a", capability('r')).verdict, Verdict::Allow);
}

#[test]
fn no_usable_policy_denies_before_anything_else() {
    let place = Place::new("w/a");
    let policy = place.policy("", "");
    for image in [&b""[..], &policy.image[..policy.image.len() - 1], b"not an image"] {
        let context = Context::new(&place.root, &policy.grants, image);
        for input in [&b"a"[..], b"/a", b"../a"] {
            let result = context.check(input, capability('r'));
            assert_eq!(result.verdict, Verdict::Deny);
            assert_eq!(result.reason, Some(Reason::PolicyUnavailable));
        }
    }
}

/// The tests may run as root, whom no directory refuses.
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

/// A baseline extends what programs reach, not what tool input may name.
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

/// What the product keeps there takes only changes away.
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
        r#"{"path":"./a","capability":"read","verdict":"allow","reason":null,"resolved":"@/w/a","rule":"rule `.` (rule 1)","granting":["."]}"#
    );
    assert_eq!(
        json('d'),
        r#"{"path":"./a","capability":"delete","verdict":"deny","reason":"denied","resolved":"@/w/a","rule":"rule `.` (rule 1)","granting":[]}"#
    );
}

fn message(tree: &str, rules: &str, approved: &str, call: (&str, char)) -> String {
    let place = Place::new(tree);
    let policy = place.policy(rules, approved);
    let result = policy.context().check(call.0.as_bytes(), capability(call.1));
    place.anonymous(&result.message())
}

#[test]
fn message_of_a_denial() {
    assert_eq!(
        message("w/d/a w/l=d", ".:r src:rw", "", ("l/a", 'u')),
        "cannot update d/a (through l/a): the policy does not grant it. update is granted on: \
         `src`. To allow it, ask the user for an `access.fs` rule on this path with `read = true` \
         and `update = true`, or for the flag `--write PATH`."
    );
}

#[test]
fn message_of_a_denial_where_nothing_grants() {
    assert_eq!(
        message("w/a", ".:r", "", ("a", 'x')),
        "cannot execute a: the policy does not grant it. Nothing grants execute. To allow it, \
         ask the user for an `access.fs` rule on this path with `read = true` and `execute = \
         true`, or for the flag `--exec PATH`."
    );
}

/// What a rule to be added has to grant beside what is asked, where it belongs, and the rules with it: they allow
/// what was asked for, and all that was allowed before.
#[test]
fn rules_that_are_advised_suffice_and_take_nothing_away() {
    for (rules, call, advised, followed) in [
        (
            ".:r",
            "u d/a",
            "an `access.fs` rule on this path with `read = true` and `update = true`",
            ".:r d/a:ru",
        ),
        (
            ".:rx",
            "c d/new",
            "on this path with `read = true`, `create = true` and `execute = true`",
            ".:rx d/new:rxc",
        ),
        (".:rcu", "d d/a", "on this path with `read = true` and `write = true`", ".:rcu d/a:rw"),
        ("src:r", "r d/a", "an `access.fs` rule on this path with `read = true`", "src:r d/a:r"),
        (".:r d:rx", "u d", "`update = true` in the `access.fs` rule on this path", ".:r d:rxu"),
        (".:r d:rx", "u l", "`update = true` in the `access.fs` rule on this path", ".:r d:rxu"),
        (".:r d/a:", "r d/a", "`read = true` in the `access.fs` rule on this path", ".:r d/a:r"),
        (
            ".:r",
            "d ld/l",
            "on the directory that it is in with `read = true` and `delete = true`",
            ".:r ld:rd",
        ),
        (
            ".:r ld:rx",
            "d ld/l",
            "`delete = true` in the `access.fs` rule on the directory that it is in",
            ".:r ld:rxd",
        ),
        (
            ".:r",
            "d fork",
            "`delete = true` in the `access.fs` rule on the directory that it is in",
            ".:rd",
        ),
        (
            ".:r fork!r",
            "u fork/a",
            "`update = true` in the `access.fs` rule on `fork`",
            ".:r fork!ru",
        ),
        (
            ".:r fork!r",
            "c fork/d/new",
            "`create = true` in the `access.fs` rule on `fork`",
            ".:r fork!rc",
        ),
        (
            ".:r fork!r",
            "d fork/l",
            "`delete = true` in the `access.fs` rule on `fork`",
            ".:r fork!rd",
        ),
        (
            ".:r fork!r two!rx",
            "u two/a",
            "`update = true` in the `access.fs` rule on `two`",
            ".:r fork!r two!rxu",
        ),
    ] {
        let place = Place::new("w/d/a w/l=d w/ld/l=../d/a w/fork=../o w/two=../o o/a o/l=a");
        let approved = "fork=o two=o";
        let allowed = |rules: &str, call: &str| {
            let (letter, input) = call.split_at(2);
            let policy = place.policy(rules, approved);
            let asked = capability(letter.chars().next().unwrap());
            policy.context().check(input.as_bytes(), asked)
        };
        let message = allowed(rules, call).message();
        assert!(
            message.contains(&format!("{advised}, or for the flag")),
            "{rules}, {call}: {message}"
        );
        assert!(allowed(followed, call).is_allowed(), "{followed}, {call}");
        for letter in "rcudx".chars() {
            let call = format!("{letter} {}", &call[2..]);
            let is_kept =
                !allowed(rules, &call).is_allowed() || allowed(followed, &call).is_allowed();
            assert!(is_kept, "{followed}, {call}");
        }
    }
}

/// A flag is not taken by way of a link that may be another by then; where it leads is nobody's business here.
#[test]
fn behind_a_link_the_flag_is_for_what_it_leads_to() {
    let place = Place::new("w/fork=../o o/a");
    let mut grants = place.compile(".:r fork!r", "fork=o").unwrap().grants;
    let refused = place.policy_of(grants.clone()).context().check(b"fork/a", capability('u'));
    let advised = "or for the flag `--write PATH` on what the link leads to.";
    assert!(refused.message().ends_with(advised), "{}", refused.message());
    let flag = Origin::Flag { text: "--write o/a".to_owned() };
    let caps = Capabilities::READ.union(Capabilities::WRITE);
    grants.push(Grant::new(place.path("o/a"), caps, GrantKind::Plain, flag));
    assert!(place.policy_of(grants).context().check(b"fork/a", capability('u')).is_allowed());
}

/// The first rule takes away what holds without any.
#[test]
fn where_nothing_is_declared_two_rules_are_advised() {
    let place = Place::new("w/a w/b");
    let grants = place.compile("", "").unwrap().for_service().grants;
    let policy = place.policy_of(grants);
    let message = |path: &[u8]| policy.context().check(path, capability('u')).message();
    let both = "for `access.fs` rules: on `.` with `read = true`, and on this path with `read = true` and `update = true`, with which sensitive files such as `.env` are no longer open, or for the flag `--write PATH`";
    assert!(message(b"a").contains(both), "{}", message(b"a"));
    let one = "for an `access.fs` rule on this path with `read = true` and `update = true`, or";
    assert!(message(b".").contains(one), "{}", message(b"."));
    let followed = place.policy(".:r a:ru", "");
    for (path, letter) in [("a", 'u'), ("a", 'r'), ("b", 'r')] {
        assert!(followed.context().check(path.as_bytes(), capability(letter)).is_allowed());
    }
}

/// What options say there is no rule for in any file.
#[test]
fn no_rule_is_advised_where_none_would_count() {
    let place = Place::new("w/fork=../o o/a w/a");
    let typed = |grant: Grant| {
        let origin =
            Origin::Rule { layer: TYPED.into(), index: 0, line: None, path: "fork".into() };
        Grant { origin, ..grant }
    };
    let grants = place.compile(".:r fork!r", "fork=o").unwrap().grants;
    let grants = grants.into_iter().map(|grant| match grant.kind {
        GrantKind::External { .. } => typed(grant),
        _ => grant,
    });
    let mounted = place.policy_of(grants.collect());
    let refused = mounted.context().check(b"fork/a", capability('u')).message();
    assert!(
        refused.ends_with("To allow it, ask the user for the flag `--write PATH`."),
        "{refused}"
    );

    let mut grants = place.compile(".:rw", "").unwrap().grants;
    let origin = Origin::Product { why: "own".to_owned() };
    grants.push(Grant::new(place.path("w/a"), Capabilities::NONE, GrantKind::Control, origin));
    let own = place.policy_of(grants);
    assert_eq!(
        own.context().check(b"a", capability('u')).message(),
        "cannot update a: nobody may change it. update is granted on: `.`. No rule and no flag \
         allows that."
    );
    assert!(own.context().check(b"a", capability('x')).message().contains("and `execute = true`"));
}

#[test]
fn message_about_sensitive_paths() {
    let place = Place::new("w/.env w/fork=../o o/.env");
    let grants = place.compile(".:rx fork!r", "fork=o").unwrap().grants;
    let places = Places { home: None, workspace: place.root.as_path() };
    let tiers = Tiers::new(&FilePolicy::default(), Some(&[]), places).unwrap();
    let image = image_with(&grants, Some(&tiers), place.root.as_path());
    let context = Context::new(&place.root, &grants, &image);
    let message = |path: &[u8]| context.check(path, capability('r')).message();
    assert_eq!(
        message(b".env"),
        "cannot read .env: it is a sensitive path, and no rule names it. Ask the user; a rule that \
         names this very path, with `read = true` and `execute = true`, allows it for good."
    );
    assert!(
        message(b"fork/.env").ends_with("the flag `--read PATH` with this very path allows it.")
    );
}

/// To run what is sensitive is nobody's question where no rule reaches: no consent widens what the kernel was told.
#[test]
fn nobody_is_asked_to_run_what_is_sensitive_outside_of_all_rules() {
    let place = Place::new("o/.env");
    let places = Places { home: None, workspace: place.root.as_path() };
    let tiers = Tiers::new(&file_policy("default=write"), Some(&[]), places).unwrap();
    let image = image_with(&[], Some(&tiers), place.root.as_path());
    let context = Context::new(&place.root, &[], &image);
    let check = |letter| context.check_canonical(&place.path("o/.env"), capability(letter));
    for letter in ['r', 'u', 'c'] {
        let asked = check(letter);
        let expected = (Verdict::Prompt, Some(Reason::SensitiveRefused));
        assert_eq!((asked.verdict, asked.reason), expected, "{letter}");
    }
    let refused = check('x');
    assert_eq!((refused.verdict, refused.reason), (Verdict::Deny, Some(Reason::Denied)));
    let message = refused.message();
    assert!(message.ends_with("ask the user for the flag `--exec PATH`."), "{message}");
}

/// No rule is asked for where it would not count.
#[test]
fn message_about_what_the_user_denied() {
    let place = Place::new("w/d/e/a w/fork=../o o/d/a");
    let denied = |origin: Origin, anchor: &str, input: &str| {
        let mut grants = place.compile(".:r", "").unwrap().grants;
        grants.push(Grant::new(place.path(anchor), Capabilities::NONE, GrantKind::Plain, origin));
        place.policy_of(grants).context().check(input.as_bytes(), capability('r')).message()
    };
    let flag = Origin::Flag { text: "--deny d".to_owned() };
    let profile = Origin::Profile { name: "own".to_owned(), entry: "d".to_owned(), named: true };
    for origin in [flag, profile] {
        assert_eq!(
            denied(origin, "w/d", "d/e/a"),
            "cannot read d/e/a: the user denied it. read is granted on: `.`. No rule outweighs that; ask \
             the user whether it is meant so."
        );
    }
    let mut grants = place.compile(".:r fork!r", "fork=o").unwrap().grants;
    let outside = Origin::Flag { text: "--deny o/d".to_owned() };
    grants.push(Grant::new(place.path("o/d"), Capabilities::NONE, GrantKind::Plain, outside));
    let refused = place.policy_of(grants).context().check(b"fork/d/a", capability('r')).message();
    assert!(refused.contains("cannot read fork/d/a: the user denied it."), "{refused}");
    let rule = Origin::Rule { layer: "f".into(), index: 0, line: None, path: "d".to_owned() };
    assert!(
        denied(rule, "w/d", "d/e/a").contains("To allow it, ask the user for an `access.fs` rule")
    );
}

#[test]
fn message_about_what_stays_although_deletion_is_granted() {
    assert_eq!(
        message("w/d/e/", ".:rw d/e:r", "", ("d", 'd')),
        "cannot delete d: `e` (rule `d/e` (rule 1)) must stay in it. delete is granted on: `.`. Delete \
         the rest of what is in it, or ask the user to let that be deleted too."
    );
    assert_eq!(
        message("w/d/e/", ".:r d/e:r", "", ("d", 'd')),
        "cannot delete d: the policy does not grant it, and `e` (rule `d/e` (rule 1)) must stay in it. \
         Nothing grants delete. Ask the user to let both be deleted."
    );
    assert_eq!(message("w/d/e/", ".:rw d/e:rw", "", ("d", 'd')), "", "followed");
    let ruled = message("w/d/e/", ".:r d/e:rw", "", ("d", 'd'));
    assert!(ruled.contains("the policy does not grant it"), "{ruled}");
}

#[test]
fn message_about_an_empty_path() {
    assert_eq!(
        message("", "", "", ("", 'r')),
        "cannot read the path: it is empty. The root of the workspace is written `.`."
    );
}

/// Letters in the place of what is not UTF-8 are those of another path.
#[test]
fn text_names_no_other_path() {
    let place = Place::new("w/a\u{fffd}");
    std::os::unix::fs::symlink(OsStr::from_bytes(b"b\xff"), place.path("w/l")).unwrap();
    let policy = place.policy(".:r", "");
    for input in [&b"a\xff"[..], b"l"] {
        let result = policy.context().check(input, capability('r'));
        assert!(result.is_allowed() && serde_json::to_string(&result).is_err());
        let told = result.in_utf8();
        assert_eq!((told.verdict, told.reason), (Verdict::Deny, Some(Reason::ResolutionFailed)));
        assert_eq!(told.resolved, None);
        assert!(told.message().contains("not UTF-8"), "{}", told.message());
    }
    assert!(policy.context().check("a\u{fffd}".as_bytes(), capability('r')).in_utf8().is_allowed());
}

#[test]
fn message_about_an_external_path_keeps_its_place_secret() {
    let denied = message("o/a w/fork=../o", "fork!r", "fork=o", ("fork/a", 'd'));
    assert!(denied.starts_with("cannot delete fork/a: the policy does not grant it."), "{denied}");
    let nested = message("o/s=../p p/a w/fork=../o", "fork!r", "fork=o", ("fork/s/a", 'r'));
    assert_eq!(
        nested,
        "cannot read fork/s/a: it leaves the external folder that was approved. read is granted \
         on: `fork`. To allow it, ask the user for a second link in the workspace that leads there, \
         with a rule of its own: `external = true` and `read = true`."
    );
    assert!(!denied.contains('@') && !nested.contains('@'));
}

#[test]
fn allowed_has_no_message() {
    assert_eq!(message("w/a", ".:r", "", ("a", 'r')), "");
}

#[test]
fn typed_checks_return_the_path_to_use() {
    let place = Place::new("w/d/a w/l=d");
    let policy = place.policy("d:rw", "");
    let context = policy.context();
    let canonical = place.path("w/d/a");
    assert_eq!(context.check_read("l/a".into()).unwrap(), *canonical);
    assert_eq!(context.check_update("l/a".into()).unwrap(), *canonical);
    assert_eq!(context.check_create("l/b".into()).unwrap(), *place.path("w/d/b"));
    assert_eq!(context.check_delete("l/a".into()).unwrap(), *canonical);
    let error = context.check_execute("l/a".into()).unwrap_err();
    assert_eq!(error.result().reason, Some(Reason::Denied));
    assert_eq!(error.to_string(), error.result().message());
}

/// Where a tier withholds it as well, no rule is asked for as if it were enough.
#[test]
fn message_about_what_tiers_withhold() {
    let place = Place::new("w/a/k w/d/k w/src/");
    let check = |rules: &str, policy: FilePolicy, call: &str| {
        let (letter, path) = call.split_at(2);
        let grants = place.compile(rules, "").unwrap().for_service().grants;
        let places = Places { home: None, workspace: place.root.as_path() };
        let tiers = Tiers::new(&policy, None, places).unwrap();
        let image = image_with(&grants, Some(&tiers), place.root.as_path());
        let context = Context::new(&place.root, &grants, &image).naming(&tiers);
        context.check(path.as_bytes(), capability(letter.chars().next().unwrap()))
    };
    let list = |text: &str| vec![text.to_owned()];
    let denies = FilePolicy { deny_paths: list("**/k"), ..FilePolicy::default() };
    let asks = FilePolicy { prompt_paths: list("**/k"), ..FilePolicy::default() };
    let reads = FilePolicy { read_paths: list("**/k"), ..FilePolicy::default() };
    for (policy, call, by) in [
        (&denies, "r d/k", "deny_paths"),
        (&asks, "r d/k", "prompt_paths"),
        (&reads, "u d/k", "read_paths"),
    ] {
        let refused = check("src:r", policy.clone(), call).message();
        let both =
            format!("the policy does not grant it, and `**/k` of {by} withholds it as well.");
        assert!(refused.contains(&both), "{refused}");
        assert!(refused.ends_with("ask the user whether both are meant so."), "{refused}");
        assert!(!check("src:r d/k:ru", policy.clone(), call).is_allowed(), "{call}");
    }
    // Nor is a person asked about what nobody may touch.
    assert!(!check("", denies, "u d/k").is_open_to_consent());
    assert!(check("src:r", reads, "r d/k").message().contains("an `access.fs` rule on this path"));

    let nothing = FilePolicy { default: Some(Tier::Deny), ..FilePolicy::default() };
    for (call, field, opened) in [
        ("r d/k", "read_paths", FilePolicy { read_paths: list("**/k"), ..nothing.clone() }),
        ("u d/k", "write_paths", FilePolicy { write_paths: list("**/k"), ..nothing.clone() }),
    ] {
        let refused = check(".:rw", nothing.clone(), call).message();
        assert!(refused.contains("the `default` of `file_policy` withholds it."), "{refused}");
        let advice = format!("outweighs it; ask the user for a pattern of `{field}`.");
        assert!(refused.ends_with(&advice), "{refused}");
        assert!(check(".:rw", opened, call).is_allowed(), "{call}");
    }
}
