//! The data behind `jp-confine explain` (spec §18).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::check::{CheckVerdict, Context};
use jp_confine_engine::explain::{Candidate, Explanation, explain};
use jp_confine_engine::pattern::Places;
use jp_confine_engine::tiers::Tiers;
use jp_confine_engine::{Capabilities, Capability};

use crate::place::{Place, Policy, capability, file_policy, image_with, letters};

fn allowed(explanation: &Explanation) -> String {
    let judgements = explanation.capabilities.iter();
    letters(judgements.filter(|one| one.verdict == CheckVerdict::Allow).map(|one| one.capability))
}

fn of(policy: &Policy<'_>, path: &str) -> Explanation {
    explain(&policy.context(), &Tiers::default(), policy.place.root.as_path(), Path::new(path))
}

#[test]
fn candidates_run_from_the_weakest_to_the_winner() {
    let place = Place::new("w/src/a");
    let policy = place.policy("src:r .:rw src/b:", "");
    let found = of(&policy, "src/a");
    let rules: Vec<_> = found.candidates.iter().map(|one| (&*one.rule, one.wins)).collect();
    assert_eq!(
        rules,
        [
            ("access.fs is declared, and no rule covers this", false),
            ("rule `.` (rule 1)", false),
            ("rule `src` (rule 1)", true),
        ]
    );
    assert_eq!(allowed(&found), "r");
    assert!(found.exists);
    assert!(
        found.capabilities.iter().all(|one| one.rule.as_deref() == Some("rule `src` (rule 1)"))
    );
}

#[test]
fn absolute_paths_are_judged_as_system_calls() {
    let place = Place::new("o/a w/l=../o");
    let mut grants = place.compile(".:r", "").unwrap().grants;
    let origin = Origin::Baseline { entry: "/o".to_owned() };
    grants.push(Grant::new(place.path("o"), Capabilities::READ, GrantKind::Plain, origin));
    let policy = place.policy_of(grants);
    for path in [place.path("o/a").to_str().unwrap(), "l/a", "../o/a"] {
        let found = of(&policy, path);
        assert_eq!(allowed(&found), "r", "{path}");
        assert_eq!(&*found.candidates.last().unwrap().rule, "baseline /o");
    }
}

#[test]
fn links_are_shown_in_order() {
    let place = Place::new("w/d/a w/l=k w/k=d");
    let found = of(&place.policy("", ""), "l/a");
    let steps: Vec<_> = found
        .steps
        .iter()
        .map(|step| place.anonymous(&format!("{}={}", step.link, step.text)))
        .collect();
    assert_eq!(steps, ["@/w/l=k", "@/w/k=d"]);
    assert_eq!(place.anonymous(&found.resolved.unwrap()), "@/w/d/a");
}

#[test]
fn deletion_is_judged_on_the_link_itself() {
    let place = Place::new("w/d/ w/l=d");
    let found = of(&place.policy(".:d d:r", ""), "l");
    assert_eq!(allowed(&found), "rd");
    let on: Vec<_> =
        found.capabilities.iter().map(|one| place.anonymous(one.on.as_ref().unwrap())).collect();
    assert_eq!(on, ["@/w/d", "@/w/d", "@/w/d", "@/w/l", "@/w/d"]);
}

/// At a symlink other grants decide than at its target, even if that does not exist.
#[test]
fn a_link_has_candidates_of_its_own() {
    let place = Place::new("w/d/f w/l=d w/file=d/f w/loop=loop w/dangling=d/none");
    let policy = place.policy(".:d d:r", "");
    let winner = |candidates: &[Candidate]| {
        let mut winners = candidates.iter().filter(|one| one.wins);
        winners.next().map(|one| one.rule.clone())
    };
    for (path, of_target) in [("l", 1), ("file", 1), ("dangling", 1), ("loop", 0)] {
        let found = of(&policy, path);
        let target = (of_target == 1).then(|| "rule `d` (rule 1)".into());
        assert_eq!(winner(&found.candidates), target, "{path}");
        let entry = found.entry.unwrap_or_else(|| panic!("{path}"));
        assert_eq!(place.anonymous(&entry.path), format!("@/w/{path}"));
        assert_eq!(winner(&entry.candidates), found.capabilities[3].rule, "{path}");
        assert_eq!(winner(&entry.candidates).as_deref(), Some("rule `.` (rule 1)"), "{path}");
    }
    for path in ["d", "d/f", "l/f", "d/none", "loop/"] {
        assert_eq!(of(&policy, path).entry, None, "{path}");
    }
}

#[test]
fn a_directory_stays_with_what_is_in_it() {
    let found = of(&Place::new("w/d/e/").policy(".:rw d/e:r", ""), "d");
    assert_eq!(allowed(&found), "rcu");
    let rule = found.capabilities[3].rule.as_deref();
    assert_eq!(rule, Some("`e` (rule `d/e` (rule 1)) must stay in it"));
}

/// A pattern below a directory does not move along, so the directory must stay. Exceptions: the pattern covers other
/// places too, or nobody may delete the directory anyway.
#[test]
fn patterns_below_keep_a_directory_in_its_place() {
    let place = Place::new("w/sub/t/x w/other/ w/l=sub");
    let deny = "`<workspace>/sub/t/x` of deny_paths";
    for (rules, written, path, expected) in [
        (".:rwx", "deny=<workspace>/sub/t/x", "sub", Some(deny)),
        (".:rwx", "deny=<workspace>/sub/t/x", "sub/t", Some(deny)),
        (".:rwx", "prompt=<workspace>/sub/**", "sub", Some("`<workspace>/sub/**` of prompt_paths")),
        (".:rwx", "deny=<workspace>/sub/t/x", "other", None),
        (".:rwx", "deny=<workspace>/sub/t/x", "sub/t/x", None),
        (".:rwx", "deny=<workspace>/sub/t/x", "l", None),
        (".:rwx", "deny=**/x", "sub", None),
        (".:rwx sub/t:r", "deny=<workspace>/sub/t/x", "sub", None),
        (".:rx", "deny=<workspace>/sub/t/x", "sub", None),
    ] {
        let grants = place.compile(rules, "").unwrap().grants;
        let tiers = tiers(&place, written);
        let image = image_with(&grants, Some(&tiers), place.root.as_path());
        let context = Context::new(&place.root, &grants, &image);
        let found = explain(&context, &tiers, place.root.as_path(), Path::new(path));
        let kept_by: Vec<&str> = found.kept_by.iter().map(String::as_str).collect();
        assert_eq!(kept_by, expected.into_iter().collect::<Vec<_>>(), "{rules} {written} {path}");
    }
}

#[test]
fn what_cannot_be_resolved_is_denied_and_said() {
    let place = Place::new("w/l=l");
    let found = of(&place.policy("", ""), "l/a");
    assert_eq!(allowed(&found), "-");
    assert_eq!(place.anonymous(&found.error.unwrap()), "too many symbolic links at @/w/l");
    assert_eq!((found.resolved, found.exists, found.candidates.len()), (None, false, 0));
}

/// The same as `check` and the kernel say.
#[test]
fn nothing_may_be_done_to_a_file_as_a_directory() {
    let place = Place::new("w/d/ w/f w/l=f");
    let policy = place.policy(".:rwx", "");
    for (path, may) in [("f", "rcudx"), ("f/", "-"), ("f/.", "-"), ("l/", "-"), ("d/", "rcudx")] {
        assert_eq!(allowed(&of(&policy, path)), may, "{path}");
    }
}

#[test]
fn hidden_areas_are_marked_for_reads_only() {
    let place = Place::new("o/a");
    let mut grants = place.compile("", "").unwrap().grants;
    let origin = Origin::Product { why: "home".to_owned() };
    grants.push(Grant::new(place.path("o"), Capabilities::NONE, GrantKind::Hidden, origin));
    let found = of(&place.policy_of(grants), "../o/a");
    let hidden = found.capabilities.iter().filter(|one| one.hidden).map(|one| one.capability);
    assert_eq!(letters(hidden), "rx");
    assert_eq!(allowed(&found), "-");
}

/// For a control entry, a rule decides about everything except changes.
#[test]
fn a_control_entry_is_named_for_changes_alone() {
    let place = Place::new("w/own w/a");
    let control = Grant::new(
        place.path("w/own"),
        Capabilities::NONE,
        GrantKind::Control,
        Origin::Product { why: "own".to_owned() },
    );
    for (rules, by_rule) in [
        ("a:r", "access.fs is declared, and no rule covers this"),
        (".:rw", "rule `.` (rule 1)"),
        (".:rw own:", "rule `own` (rule 1)"),
    ] {
        let mut grants = place.compile(rules, "").unwrap().grants;
        grants.push(control.clone());
        let policy = place.policy_of(grants);
        let found = of(&policy, "own");
        let named = found.capabilities.iter().map(|one| one.rule.as_deref().unwrap());
        assert_eq!(named.collect::<Vec<_>>(), [by_rule, "own", "own", "own", by_rule], "{rules}");
        for (letter, rule) in [('r', by_rule), ('u', "own")] {
            let checked = policy.context().check(b"own", capability(letter));
            assert_eq!(checked.rule.as_deref(), Some(rule), "{rules}");
        }
    }
}

/// In the form that suggestions use, so that the path cannot be confused with another.
#[test]
fn bytes_that_are_no_text_are_shown_as_numbers() {
    let place = Place::new("");
    let policy = place.policy_of(place.compile("", "").unwrap().grants);
    let path = Path::new(OsStr::from_bytes(b"a\xff/b"));
    let found = explain(&policy.context(), &Tiers::default(), place.root.as_path(), path);
    assert_eq!(found.path, "a\\xff/b");
    assert!(found.resolved.is_some_and(|resolved| resolved.ends_with("/a\\xff/b")));
}

#[test]
fn exclusions_are_part_of_the_story() {
    let place = Place::new("w/shadow w/passwd");
    let mut grants = place.compile("", "").unwrap().grants;
    grants[0].carve_outs.push("shadow*".to_owned());
    let policy = place.policy_of(grants);
    let found = of(&policy, "shadow");
    assert_eq!(allowed(&found), "-");
    assert!(found.candidates[0].wins && found.candidates[0].grants.is_empty());
    assert_eq!(found.candidates[0].except, ["shadow*"]);
    assert_eq!(allowed(&of(&policy, "passwd")), "rcudx");
}

/// The tiers of [`file_policy`]. `@` stands for the scratch directory.
fn tiers(place: &Place, text: &str) -> Tiers {
    let policy = file_policy(&text.replace('@', place.path("").to_str().unwrap()));
    let places = Places::without_home(place.root.as_path());
    Tiers::new(&policy, None, places).unwrap()
}

/// Where no grant reaches, a tier may grant, and then it decides (spec §9.6). `check` says so too, although it knows no
/// patterns.
#[test]
fn what_a_tier_opens_is_by_its_word() {
    let place = Place::new("o/a h/a");
    let mut grants = place.compile(".:r", "").unwrap().grants;
    let home = Origin::Product { why: "home".to_owned() };
    grants.push(Grant::new(place.path("h"), Capabilities::NONE, GrantKind::Hidden, home));
    for (written, path, opened, winner, checked) in [
        ("read=@o/**", "o/a", "rx", "@/o: `@/o/**` of read_paths", "read_paths of file_policy"),
        ("read=@h/*", "h/a", "rx", "@/h: `@/h/*` of read_paths", "read_paths of file_policy"),
        ("write=@h/*", "h/a", "rcudx", "@/h: `@/h/*` of write_paths", "write_paths of file_policy"),
        ("default=read", "o/a", "rx", "/: default of file_policy", "default of file_policy"),
        ("default=read", "h/a", "rx", "/: default of file_policy", "default of file_policy"),
        (
            "prompt=@h/*",
            "h/a",
            "rcud",
            "@/h: `@/h/*` of prompt_paths",
            "prompt_paths of file_policy",
        ),
        ("write=@w/**", "w/a", "r", "@/w: rule `.` (rule 1)", "rule `.` (rule 1)"),
    ] {
        let tiers = tiers(&place, written);
        let image = image_with(&grants, Some(&tiers), place.root.as_path());
        let context = Context::new(&place.root, &grants, &image);
        let path = place.path(path);
        let found = explain(&context, &tiers, place.root.as_path(), &path);
        let winners: Vec<_> = found.candidates.iter().filter(|one| one.wins).collect();
        let [wins] = winners[..] else { panic!("{written}: {winners:?}") };
        assert_eq!(
            place.anonymous(&format!("{}: {}", wins.anchor, wins.rule)),
            winner,
            "{written}"
        );
        assert_eq!(letters(wins.grants.iter().copied()), opened, "{written}");
        assert_eq!(found.capabilities[0].rule.as_ref(), Some(&wins.rule), "{written}");
        let result = context.check_canonical(&path, Capability::Read);
        assert_eq!(result.rule.as_deref(), Some(checked), "{written}");
    }
}

#[test]
fn a_way_that_goes_back_up_is_nothing_to_patterns() {
    let place = Place::new("w/src/deep/in/a w/src/main.rs");
    let grants = place.compile(".:rwx", "").unwrap().grants;
    let tiers = tiers(&place, "deny=<workspace>/src/deep");
    let image = image_with(&grants, Some(&tiers), place.root.as_path());
    let context = Context::new(&place.root, &grants, &image);
    let of = |path| explain(&context, &tiers, place.root.as_path(), Path::new(path));
    for path in ["src/deep/../main.rs", "src/deep/in/../../main.rs", "./src//deep/.././main.rs"] {
        assert_eq!(allowed(&of(path)), "rcudx", "{path}");
    }
    assert_eq!(allowed(&of("src/deep/../deep/in")), "-");
}

#[test]
fn serialises() {
    let place = Place::new("w/a");
    let json = serde_json::to_value(of(&place.policy(".:r", ""), "a")).unwrap();
    assert_eq!(json["capabilities"][0]["capability"], "read");
    assert_eq!(json["capabilities"][0]["verdict"], "allow");
    assert_eq!(json["candidates"][1]["kind"], "plain");
    assert_eq!(json["candidates"][1]["wins"], true);
}
