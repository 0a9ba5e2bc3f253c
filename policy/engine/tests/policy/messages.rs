//! Messages about denials: the request, the reason, and the rule that would allow it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::check::{CheckVerdict, Context, Reason};
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::model::TYPED;
use jp_confine_engine::pattern::Places;
use jp_confine_engine::tier::Tier;
use jp_confine_engine::tiers::Tiers;

use crate::place::{Place, capability, file_policy, image_with};

fn message(tree: &str, rules: &str, approved: &str, call: (&str, char)) -> String {
    let place = Place::new(tree);
    let policy = place.policy(rules, approved);
    let result = policy.context().check(call.0.as_bytes(), capability(call.1));
    place.anonymous(&result.message())
}

// conformance: 076-8, 076-85, 076-139, 076-150
// conformance: d11-143
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

/// Suggested rules: their capabilities, their place, and the list after following the suggestion. The list must allow
/// the request, and everything that was allowed before.
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

/// A flag does not follow a symlink that may change. Its target is not named here.
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

/// The first rule ends the grant that holds without rules.
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

/// Rules from options are in no file that could be changed.
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

// conformance: d11-144
#[test]
fn message_about_sensitive_paths() {
    let place = Place::new("w/.env w/fork=../o o/.env");
    let grants = place.compile(".:rx fork!r", "fork=o").unwrap().grants;
    let places = Places::without_home(place.root.as_path());
    let tiers = Tiers::new(&FilePolicy::default(), Some(&[]), places).unwrap();
    let image = image_with(&grants, Some(&tiers), place.root.as_path());
    let context = Context::new(&place.root, &grants, &image);
    let message = |path: &[u8]| context.check(path, capability('r')).message();
    assert_eq!(
        message(b".env"),
        "cannot read .env: it is a sensitive path, and no rule names it. Ask the user; a rule that \
         names this very path, with `read = true`, allows it for good."
    );
    assert!(
        message(b"fork/.env").ends_with("the flag `--read PATH` with this very path allows it.")
    );
}

// conformance: 076-140
/// Running a sensitive file gets no prompt where no rule reaches: consent does not widen what the kernel enforces.
#[test]
fn nobody_is_asked_to_run_what_is_sensitive_outside_of_all_rules() {
    let place = Place::new("o/.env");
    let places = Places::without_home(place.root.as_path());
    let tiers = Tiers::new(&file_policy("default=write"), Some(&[]), places).unwrap();
    let image = image_with(&[], Some(&tiers), place.root.as_path());
    let context = Context::new(&place.root, &[], &image);
    let check = |letter| context.check_canonical(&place.path("o/.env"), capability(letter));
    for letter in ['r', 'u', 'c'] {
        let asked = check(letter);
        let expected = (CheckVerdict::Prompt, Some(Reason::SensitiveRefused));
        assert_eq!((asked.verdict, asked.reason), expected, "{letter}");
    }
    let refused = check('x');
    assert_eq!((refused.verdict, refused.reason), (CheckVerdict::Deny, Some(Reason::Denied)));
    let message = refused.message();
    assert!(message.ends_with("ask the user for the flag `--exec PATH`."), "{message}");
}

/// The message suggests no rule that would not count.
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

/// A path with replaced letters would be another path.
#[test]
fn text_names_no_other_path() {
    let place = Place::new("w/a\u{fffd}");
    std::os::unix::fs::symlink(OsStr::from_bytes(b"b\xff"), place.path("w/l")).unwrap();
    let policy = place.policy(".:r", "");
    for input in [&b"a\xff"[..], b"l"] {
        let result = policy.context().check(input, capability('r'));
        assert!(result.is_allowed() && serde_json::to_string(&result).is_err());
        let told = result.in_utf8();
        assert_eq!(
            (told.verdict, told.reason),
            (CheckVerdict::Deny, Some(Reason::ResolutionFailed))
        );
        assert_eq!(told.resolved, None);
        assert!(told.message().contains("not UTF-8"), "{}", told.message());
    }
    assert!(policy.context().check("a\u{fffd}".as_bytes(), capability('r')).in_utf8().is_allowed());
}

// conformance: d43-16, d43-118
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

/// If a tier also withholds the path, the message does not suggest that a rule is enough.
#[test]
fn message_about_what_tiers_withhold() {
    let place = Place::new("w/a/k w/d/k w/src/");
    let check = |rules: &str, policy: FilePolicy, call: &str| {
        let (letter, path) = call.split_at(2);
        let grants = place.compile(rules, "").unwrap().for_service().grants;
        let places = Places::without_home(place.root.as_path());
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
    // There is also no prompt for paths that nobody may touch.
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

#[test]
fn message_of_a_rule_that_leads_nowhere() {
    for (tree, input) in [("w/l=../gone", "l/a"), ("w/l=../gone", "l")] {
        let said = message(tree, "l!r", "", (input, 'r'));
        assert!(said.contains("the symlink of ") && said.contains("leads nowhere"), "{said}");
        assert!(said.contains("create the target of that symlink"), "{said}");
    }
}

// conformance: tiers-62
/// Somebody denied the name, whatever the system says about it.
#[test]
fn a_denied_name_is_denied_before_it_is_resolved() {
    let place = Place::new("w/file w/loop=loop");
    let places = Places::without_home(place.root.as_path());
    let tiers = Tiers::new(&file_policy("deny=**/kept/**"), None, places).unwrap();
    let grants = place.compile(".:r", "").unwrap().grants;
    let image = image_with(&grants, Some(&tiers), place.root.as_path());
    let context = Context::new(&place.root, &grants, &image).naming(&tiers);
    for (input, reason) in [
        ("file/kept/a", Reason::TierDeny),
        ("loop/kept/a", Reason::TierDeny),
        ("file/a", Reason::ResolutionFailed),
        ("loop/a", Reason::ResolutionFailed),
    ] {
        let result = context.check(input.as_bytes(), capability('r'));
        assert_eq!((result.verdict, result.reason), (CheckVerdict::Deny, Some(reason)), "{input}");
    }
}
