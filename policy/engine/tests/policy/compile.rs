//! Spec §6: every row of the table, tombstones, and the content of errors.

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::canonical::ResolveError;
use jp_confine_engine::compile::compile;
use jp_confine_engine::compile_error::{CompileError, Problem};
use jp_confine_engine::lexical::LexicalError;
use jp_confine_engine::model::{FsRule, RuleSource};
use jp_confine_engine::slips::Slip;
use jp_confine_engine::warning::{DropReason, Warning, covered_baseline};

use crate::place::{Place, letters, rules};

/// The outcome in one line: the grants after the workspace's own and then the warnings, or the error.
fn outcome(place: &Place, rules: &str, approved: &str) -> String {
    match place.compile(rules, approved) {
        Ok(compiled) => {
            let grants = compiled.grants.iter().skip(1).map(|grant| shown(place, grant));
            let warnings = compiled.warnings.iter().map(|one| warning(place, one));
            grants.chain(warnings).collect::<Vec<_>>().join(" ")
        }
        Err(error) => format!("error: {}", problem(place, &error)),
    }
}

fn shown(place: &Place, grant: &Grant) -> String {
    let anchor = place.short(&grant.anchor);
    let caps = letters(grant.caps.iter());
    match &grant.kind {
        GrantKind::Plain => format!("{anchor}:{caps}"),
        GrantKind::External { lexical_path } => format!("{anchor}!{lexical_path}:{caps}"),
        GrantKind::Tombstone { lexical_path: None } => format!("{anchor}+{caps}"),
        GrantKind::Tombstone { lexical_path: Some(path) } => format!("{anchor}+{path}:{caps}"),
        other => format!("{other:?}"),
    }
}

fn warning(place: &Place, warning: &Warning) -> String {
    match warning {
        Warning::Dropped { why: DropReason::Missing, .. } => "(missing)".to_owned(),
        Warning::Dropped { why: DropReason::Unresolvable(_), .. } => "(unresolvable)".to_owned(),
        Warning::Dropped { why: DropReason::Unapproved { target }, .. } => {
            format!("(unapproved {})", place.short(target))
        }
        Warning::Dropped { why: DropReason::NotUtf8 { .. }, .. } => "(not UTF-8)".to_owned(),
        Warning::Dropped { why: DropReason::Retargeted { previous, target }, .. } => {
            format!("(retargeted {} {})", place.short(previous), place.short(target))
        }
        Warning::ContainsWorkspace { .. } => "(contains workspace)".to_owned(),
        Warning::CoversBaseline { .. } => "(covers baseline)".to_owned(),
        Warning::NotFollowed { .. } => "(not followed)".to_owned(),
        Warning::NamesSensitive { .. } => "(names sensitive)".to_owned(),
        Warning::NamesAutorun { .. } => "(names auto-run)".to_owned(),
        Warning::Lifted { .. } | Warning::LiftedOther { .. } => "(lifted)".to_owned(),
        Warning::LeftOut(_) => "(left out)".to_owned(),
        Warning::Slip { slip, .. } => match slip {
            Slip::Home => "(a home)".to_owned(),
            Slip::Pattern => "(a pattern)".to_owned(),
            Slip::Missing => "(no such name)".to_owned(),
            Slip::Repeated { .. } => "(repeated)".to_owned(),
        },
        Warning::NoHostAllowed { .. } => "(no host)".to_owned(),
    }
}

fn problem(place: &Place, error: &CompileError) -> String {
    match error.problem() {
        Problem::Form(LexicalError::Empty) => "empty".to_owned(),
        Problem::Form(LexicalError::Absolute) => "absolute".to_owned(),
        Problem::Form(LexicalError::Escape) => "escape".to_owned(),
        Problem::Form(LexicalError::Nul) => "nul".to_owned(),
        Problem::Unresolvable(ResolveError::TooManyLinks { .. }) => "loop".to_owned(),
        Problem::Unresolvable(_) => "unresolvable".to_owned(),
        Problem::Outside { target } => format!("outside {}", place.short(target)),
        Problem::ExternalInside { target } => format!("inside {}", place.short(target)),
        Problem::NotUtf8 { .. } => "not UTF-8".to_owned(),
        Problem::Pattern => "a pattern".to_owned(),
    }
}

macro_rules! rows {
    ($($name:ident: $tree:literal, $rules:literal $(approved $approved:literal)? => $expected:literal;)*) => {$(
        #[test]
        fn $name() {
            let approved = concat!("", $($approved)?);
            assert_eq!(outcome(&Place::new($tree), $rules, approved), $expected);
        }
    )*};
}

rows! {
    // conformance: 076-70
    // conformance: d43-220
    absolute: "", "/etc:r" => "error: absolute";
    // conformance: d43-220
    absolute_external: "", "/etc!r" => "error: absolute";
    // conformance: 076-69
    escape: "o/", "../o:r" => "error: escape";
    escape_and_back_in: "", "../w/src:r" => "error: escape";
    escape_external: "o/", "../o!r" => "error: escape";
    empty_path: "", ":r" => "error: empty";

    // conformance: d43-18
    ordinary: "w/src/", "src:r" => "w/src:r";
    // conformance: 076-38
    ordinary_file: "w/.env", ".env:" => "w/.env:-";
    // conformance: 076-34
    ordinary_root: "", ".:rw" => "w:rcud";
    ordinary_missing: "", "new/dir:rc" => "w/new/dir:rc";
    ordinary_spelled_oddly: "w/src/", "./a/../src//:r" => "w/src:r";
    ordinary_glob_is_literal: "w/a", "*:r" => "w/*:r (a pattern)";
    ordinary_glob_that_is_there: "w/[id].tsx", "[id].tsx:" => "w/[id].tsx:-";
    // conformance: 076-36
    ordinary_glob_that_denies: "w/a.key", "*.key:" => "error: a pattern";
    ordinary_glob_in_the_middle: "w/src/a", "src/{a,b}/c:rc" => "w/src/{a,b}/c:rc (a pattern)";
    ordinary_bracket_alone: "", "a[b:rc" => "w/a[b:rc";
    ordinary_home: "", "~/notes:rc" => "w/~/notes:rc (a home)";
    ordinary_home_that_is_there: "w/~/notes", "~/notes:r" => "w/~/notes:r";
    ordinary_name_with_a_tilde: "", "~notes:rc" => "w/~notes:rc";
    ordinary_denied_and_missing: "", "secert:" => "w/secert:- (no such name)";
    ordinary_missing_to_read: "w/src/", "src/mian.rs:r" => "w/src/mian.rs:r (no such name)";
    // conformance: 076-66, 076-67
    // conformance: d43-46
    ordinary_through_inside_link: "w/real/ w/l=real", "l:r" => "w/real:r";
    // conformance: 076-67
    // conformance: d43-53
    ordinary_below_inside_link: "w/real/d/ w/l=real", "l/d:r" => "w/real/d:r";
    // conformance: 076-67
    ordinary_missing_below_inside_link: "w/real/ w/l=real", "l/new:r" => "w/real/new:r (no such name)";
    ordinary_out_and_back: "o/back=@/w/src w/src/ w/l=../o/back", "l:r" => "w/src:r";
    // conformance: 076-71
    // conformance: d43-33, d43-36, d43-46, d43-48, d43-56
    ordinary_outside: "o/ w/l=../o", "l:r" => "error: outside o";
    ordinary_below_outside_link: "o/d/ w/l=../o", "l/d:r" => "error: outside o/d";
    ordinary_outside_by_name_alike: "ww/ w/l=../ww", "l:r" => "error: outside ww";
    ordinary_dangling_outside: "o/ w/l=../o/new", "l:r" => "error: outside o/new";
    ordinary_dangling_inside: "w/l=new", "l:r" => "w/new:r (no such name)";
    ordinary_loop: "w/l=l", "l:r" => "error: loop";
    ordinary_below_file: "w/a", "a/b:r" => "error: unresolvable";

    // conformance: d43-40, d43-227
    external_root: "", ".!r" => "error: inside w";
    // conformance: d43-38, d43-54, d43-163, d43-246
    external_plain_directory: "w/d/", "d!r" => "error: inside w/d";
    // conformance: d43-38
    external_inside_link: "w/d/ w/l=d", "l!r" => "error: inside w/d";
    external_link_to_root: "w/l=../w", "l!r" => "error: inside w";
    // conformance: d43-38
    external_back_inside: "w/d/ o/back=@/w/d w/l=../o/back", "l!r" => "error: inside w/d";
    // conformance: d43-61, d43-157, d43-163, d43-165
    external_missing: "", "fork!r" => "w/fork+- (missing)";
    // conformance: d43-17, d43-61, d43-165, d43-247
    external_dangling: "w/fork=../o", "fork!r" => "w/fork+- o+fork:- (missing)";
    external_dangling_inside: "w/fork=no", "fork!r" => "w/fork+- w/no+- (missing)";
    // conformance: d43-61
    external_loop: "w/fork=fork", "fork!r" => "w/fork+- (unresolvable)";
    external_below_file: "w/a", "a/b!r" => "w/a/b+- (unresolvable)";
    // conformance: d43-5, d43-18, d43-34, d43-39, d43-57, d43-78, d43-246
    external_approved: "o/ w/fork=../o", "fork!rw" approved "fork=o" => "o!fork:rcud";
    external_approved_file: "o/f w/fork=../o/f", "fork!r" approved "fork=o/f" => "o/f!fork:r";
    // conformance: d43-49
    external_approved_spelled_oddly: "o/ w/fork=../o", "./a/../fork/!r" approved "fork=o" => "o!fork:r";
    // conformance: d43-39, d43-53
    external_below_a_link: "o/d/ w/fork=../o", "fork/d!r" approved "fork/d=o/d" => "o/d!fork/d:r";
    // conformance: d43-57, d43-59, d43-75, d43-235
    external_unknown: "o/ w/fork=../o", "fork!r" => "w/fork+- o+fork:- (unapproved o)";
    // conformance: d43-75
    external_approved_under_another_name: "o/ w/fork=../o", "fork!r" approved "other=o" => "w/fork+- o+fork:- (unapproved o)";
    // conformance: d43-76, d43-235
    external_retargeted: "o/ p/ w/fork=../p", "fork!r" approved "fork=o" => "w/fork+- p+fork:- (retargeted o p)";
    external_approval_of_the_parent_is_none: "o/d/ w/fork=../o/d", "fork!r" approved "fork=o" => "w/fork+- o/d+fork:- (retargeted o o/d)";
    external_around_the_workspace: "w/up=..", "up!r" approved "up=" => "!up:r (contains workspace)";

    dropped_below_an_alias: "w/real/fork=../../o o/ w/l=real", "l/fork!r" => "w/l/fork+- w/real/fork+- o+l/fork:- (unapproved o)";
    order_is_kept: "w/a w/b", "b:r a: b:w" => "w/b:r w/a:- w/b:cud";
    one_bad_rule_refuses_all: "o/ w/l=../o", ".:r l:r" => "error: outside o";
}

// conformance: 076-11
// conformance: d43-166
#[test]
fn undeclared_is_the_whole_workspace() {
    let place = Place::new("");
    let compiled = place.compile("", "").unwrap();
    assert_eq!(compiled.grants.len(), 1);
    assert_eq!(compiled.grants[0].kind, GrantKind::Workspace);
    assert_eq!(letters(compiled.grants[0].caps.iter()), "rcudx");
    assert_eq!(place.short(&compiled.grants[0].anchor), "w");
    assert!(compiled.rules.is_empty());
}

// conformance: 076-64
// conformance: d43-167
#[test]
fn declared_is_denied_where_no_rule_is() {
    for declared in ["src:r", "fork!r"] {
        let place = Place::new("w/src/");
        let compiled = place.compile(declared, "").unwrap();
        assert_eq!(compiled.grants[0].kind, GrantKind::Sentinel);
        assert_eq!(letters(compiled.grants[0].caps.iter()), "-");
        assert_eq!(place.short(&compiled.grants[0].anchor), "w");
    }
}

#[test]
fn declared_with_nothing_left_is_not_undeclared() {
    let place = Place::new("");
    let compiled = compile(&place.root, Some(&[]), &place.approvals("")).unwrap();
    assert_eq!(compiled.grants[0].kind, GrantKind::Sentinel);
    assert_eq!(wire(&compiled.rules), ["/false/null/null"]);
}

/// The fields `lexical_path/external/approved_target/read` of each rule.
fn wire(rules: &[jp_confine_engine::model::CompiledRule]) -> Vec<String> {
    let shown = |rule| {
        let json: serde_json::Value = serde_json::to_value(rule).unwrap();
        let path = json["lexical_path"].as_str().unwrap().to_owned();
        format!("{path}/{}/{}/{}", json["external"], json["approved_target"], json["read"])
    };
    rules.iter().map(shown).collect()
}

fn wire_of(tree: &str, rules: &str, approved: &str) -> Vec<String> {
    let place = Place::new(tree);
    let rules = wire(&place.compile(rules, approved).unwrap().rules);
    rules.iter().map(|rule| place.anonymous(rule)).collect()
}

// conformance: 076-68, 076-147
// conformance: d43-52, d43-55
#[test]
fn tools_get_canonical_paths_and_an_empty_root() {
    assert_eq!(
        wire_of("w/real/ w/l=real", ".:r l:w", ""),
        ["/false/null/true", "real/false/null/null"]
    );
}

// conformance: d43-4, d43-50, d43-51, d43-58
#[test]
fn tools_get_external_rules_by_spelling_and_target() {
    assert_eq!(wire_of("o/ w/fork=../o", "./fork!r", "fork=o"), [r#"fork/true/"@/o"/true"#]);
}

// conformance: d43-52, d43-93
#[test]
fn tools_get_a_denial_for_a_dropped_rule() {
    assert_eq!(
        wire_of("o/ w/fork=../o", ".:r fork!r", ""),
        ["/false/null/true", "fork/false/null/null"]
    );
}

// conformance: d43-93, d43-241
#[test]
fn tools_never_get_an_empty_list_for_a_declared_policy() {
    assert_eq!(
        wire_of("o/ w/fork=../o", "fork!r", ""),
        ["fork/false/null/null", "/false/null/null"]
    );
}

fn error_of(tree: &str, rule: FsRule) -> (CompileError, Place) {
    let place = Place::new(tree);
    let source = RuleSource { layer: "p.toml".into(), index: 2, line: Some(9) };
    let rules = [rule.with_source(source)];
    let error = compile(&place.root, Some(&rules), &place.approvals("")).unwrap_err();
    (error, place)
}

// conformance: 076-72
#[test]
fn an_error_names_the_rule_the_field_the_value_and_what_would_be_right() {
    let (error, _) = error_of("", FsRule::new("/etc"));
    assert_eq!(error.to_string(), "access.fs rule 3 of p.toml (line 9): path `/etc` is absolute");
    assert_eq!((error.field(), error.path()), ("path", "/etc"));
    assert_eq!((error.rule().index, error.rule().line), (2, Some(9)));
    assert!(error.help().contains("relative to the workspace root"));
}

// conformance: d43-41
#[test]
fn an_error_about_external_points_at_that_key() {
    let (error, place) = error_of("w/d/", FsRule::new("d").with_external(true));
    assert_eq!((error.field(), error.path()), ("external", "d"));
    assert_eq!(
        place.anonymous(&error.to_string()),
        "access.fs rule 3 of p.toml (line 9): path `d` is marked `external = true` but stays \
         inside the workspace, at @/w/d"
    );
    assert!(error.help().contains("symbolic link"));
}

#[test]
fn an_error_about_an_escape_advises_external() {
    let (error, place) = error_of("o/ w/l=../o", FsRule::new("l"));
    assert_eq!(
        place.anonymous(&error.to_string()),
        "access.fs rule 3 of p.toml (line 9): path `l` leads outside the workspace, to @/o"
    );
    assert!(error.help().contains("`external = true`"));
}

#[test]
fn nul_in_a_path_is_refused() {
    let (error, _) = error_of("", FsRule::new("a\0b"));
    assert!(matches!(error.problem(), Problem::Form(LexicalError::Nul)));
}

#[test]
fn a_target_that_json_cannot_carry_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = Place::new("");
    let name = std::ffi::OsStr::from_bytes(b"\xff");
    for folder in ["w", "o"] {
        std::fs::create_dir_all(place.path(folder).join(name)).unwrap();
    }
    std::os::unix::fs::symlink(name, place.path("w/in")).unwrap();
    std::os::unix::fs::symlink(place.path("o").join(name), place.path("w/out")).unwrap();
    assert_eq!(outcome(&place, "in:r", ""), "error: not UTF-8");
    let mut approvals = place.approvals("");
    let dropped = compile(&place.root, Some(&rules("out!r")), &approvals).unwrap();
    let told = dropped.warnings[0].to_string();
    assert!(told.contains("which is not UTF-8: rename that"), "{told}");
    assert!(dropped.warnings[0].approvable().is_none() && dropped.unapproved.is_empty());
    approvals.approve("out", place.path("o").join(name));
    let error = compile(&place.root, Some(&rules("out!r")), &approvals).unwrap_err();
    assert!(matches!(error.problem(), Problem::NotUtf8 { .. }));
}

#[test]
fn warnings_name_the_rule_and_the_reason() {
    let place = Place::new("o/ w/fork=../o");
    let compiled = place.compile("fork!r", "").unwrap();
    assert_eq!(
        place.anonymous(&compiled.warnings[0].to_string()),
        "access.fs rule 1: `fork` leads to @/o, which is not approved; it is denied instead"
    );
    assert_eq!(compiled.warnings[0].approvable(), Some("fork"));
}

/// The warnings about `fork`, which leads to the unapproved `target`. The baseline grants `usr` except `usr/local`.
fn covered(target: &str) -> Vec<String> {
    let place = Place::new("usr/lib/ usr/local/ other/");
    place.add(&format!("w/fork={}", place.path(target).display()));
    let baseline = |path: &str, caps| {
        let origin = Origin::Baseline { entry: format!("/{path}") };
        Grant::new(place.path(path), caps, GrantKind::Plain, origin)
    };
    let mut grants = vec![
        baseline("usr", Capabilities::READ.union(Capabilities::EXECUTE)),
        baseline("usr/local", Capabilities::NONE),
    ];
    grants.extend(place.compile(".:r fork!r", "").unwrap().grants);
    covered_baseline(&grants).iter().map(|one| place.anonymous(&one.to_string())).collect()
}

#[test]
fn a_dropped_rule_on_the_baseline_is_pointed_out() {
    assert_eq!(
        covered("usr"),
        [
            "access.fs rule 1: `fork` is denied, and with it @/usr, which the baseline grants to every \
          program (`/usr`): programs may fail to start; remove the rule, or lead its link elsewhere"
        ]
    );
    assert!(covered("usr/lib")[0].contains("@/usr/lib, which the baseline grants"));
}

/// Above the baseline nothing is lost, because the longer anchor wins.
#[test]
fn a_dropped_rule_elsewhere_takes_nothing_from_the_baseline() {
    for elsewhere in ["", "other", "usr/local"] {
        assert!(covered(elsewhere).is_empty(), "{elsewhere}");
    }
}
