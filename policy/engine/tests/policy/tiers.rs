//! Tiers and sensitive paths (spec §9, §10): what they leave of a grant, and what they grant.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::decide::{
    self, Denial, Destination, OpenRequest, OpenVerdict, Request, Verdict,
};
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::image::Image;
use jp_confine_engine::pattern::{Pattern, Places};
use jp_confine_engine::tier::{Restraint, Tier};
use jp_confine_engine::tiers::Tiers;
use jp_confine_engine::{Capabilities, existing};

use crate::place::{Place, file_policy, image_with};

static HOMES: LazyLock<Vec<PathBuf>> = LazyLock::new(|| vec!["/h".into()]);

pub(crate) fn places() -> Places<'static> {
    Places { home: Some(Path::new("/h")), protected: HOMES.as_slice(), workspace: Path::new("/w") }
}

pub(crate) fn rule(anchor: &str, caps: Capabilities, kind: GrantKind) -> Grant {
    let origin =
        Origin::Rule { layer: "test".into(), index: 0, line: None, path: anchor.to_owned() };
    Grant::new(PathBuf::from(anchor), caps, kind, origin)
}

/// The workspace `/w`, all granted, with `/w/ro` for reading. The hidden home `/h`, of which `/h/all` is granted.
/// `/usr` of the baseline, and `/tmp/run`, the program's own. The control files `/h/own` and `/w/own`.
pub(crate) fn grants() -> Vec<Grant> {
    let read = Capabilities::READ;
    let own = |anchor: &str| Origin::Product { why: anchor.to_owned() };
    let baseline = Origin::Baseline { entry: "/usr".to_owned() };
    let grant = |anchor: &str, caps, kind, origin| Grant::new(anchor.into(), caps, kind, origin);
    vec![
        rule("/w", Capabilities::ALL, GrantKind::Plain),
        rule("/w/ro", read, GrantKind::Plain),
        grant("/h", Capabilities::NONE, GrantKind::Hidden, own("home")),
        rule("/h/all", Capabilities::ALL, GrantKind::Plain),
        rule("/h/.ssh/config", read, GrantKind::Plain),
        rule("/h/.aws", read, GrantKind::Plain),
        grant("/usr", read.union(Capabilities::EXECUTE), GrantKind::Plain, baseline),
        grant("/tmp/run", Capabilities::ALL, GrantKind::Plain, own("temp")),
        grant("/h/own", Capabilities::NONE, GrantKind::Control, own("data")),
        grant("/w/own", Capabilities::NONE, GrantKind::Control, own("policy")),
    ]
}

pub(crate) struct Judge(pub(crate) Vec<u8>);

impl Judge {
    pub(crate) fn of(tiers: &str) -> Self {
        Self::restricted(tiers, "")
    }

    /// The user's `tiers`, with those of a file that anybody can commit.
    fn restricted(tiers: &str, theirs: &str) -> Self {
        let mut tiers = Tiers::new(&file_policy(tiers), Some(&[]), places()).expect("patterns");
        tiers.restrict(&file_policy(theirs), places(), |_, _, _| false).expect("patterns");
        Self(image_with(&grants(), Some(&tiers), Path::new("/w")))
    }

    fn image(&self) -> Image<'_> {
        Image::parse(&self.0).expect("an image")
    }

    pub(crate) fn says(&self, need: &str, path: &str) -> String {
        self.says_of(need, Request::canonical(path.as_bytes()))
    }

    fn says_of(&self, need: &str, request: Request<'_>) -> String {
        let need = match need {
            "read" => Capabilities::READ,
            "write" => Capabilities::UPDATE,
            "run" => Capabilities::EXECUTE,
            _ => unreachable!("{need}"),
        };
        word(decide::access(&self.image(), &request, need))
    }
}

fn word(verdict: Verdict) -> String {
    match verdict {
        Verdict::Allow => "allow".to_owned(),
        Verdict::Deny(Denial { ask, restraint, hidden, .. }) => {
            let kind = if ask { "ask" } else { "deny" };
            let why = restraint.map_or(String::new(), |why| format!(" {why:?}").to_lowercase());
            let hidden = if hidden { " hidden" } else { "" };
            format!("{kind}{why}{hidden}")
        }
    }
}

macro_rules! rows {
    ($($name:ident: $tiers:literal, $need:literal $path:literal => $expected:literal;)*) => {
        $(#[test]
        fn $name() {
            assert_eq!(Judge::of($tiers).says($need, $path), $expected);
        })*
    };
}

rows! {
    // conformance: tiers-38
    without_patterns_grants_stand: "", "write" "/w/f" => "allow";
    // conformance: tiers-13
    deny_outweighs_a_grant: "deny=/w/s/**", "read" "/w/s/f" => "deny deny";
    deny_covers_the_folder_itself: "deny=/w/s/**", "read" "/w/s" => "deny deny";
    deny_stops_at_the_component: "deny=/w/s/**", "read" "/w/st" => "allow";
    // conformance: tiers-5, tiers-15
    prompt_asks_to_read: "prompt=/w/s/**", "read" "/w/s/f" => "ask prompt";
    // conformance: tiers-15
    prompt_asks_to_write: "prompt=/w/s/**", "write" "/w/s/f" => "ask prompt";
    prompt_does_not_ask_for_what_is_not_granted: "prompt=/w/ro/**", "write" "/w/ro/f" => "deny";
    // conformance: tiers-16
    read_lets_read: "read=/w/s/**", "read" "/w/s/f" => "allow";
    read_lets_execute: "read=/w/s/**", "run" "/w/s/f" => "allow";
    // conformance: tiers-73
    read_denies_writing: "read=/w/s/**", "write" "/w/s/f" => "deny read";
    read_does_not_cover_the_folder_itself: "read=/w/s/**", "write" "/w/s" => "allow";
    write_gives_nothing_inside: "write=/w/ro/**", "write" "/w/ro/f" => "deny";
    // conformance: tiers-14, tiers-21
    deny_before_prompt: "deny=/w/s/* prompt=/w/**", "read" "/w/s/f" => "deny deny";
    // conformance: tiers-21, tiers-23
    prompt_before_read: "prompt=/w/s/* read=/w/**", "read" "/w/s/f" => "ask prompt";
    // conformance: tiers-21, tiers-23
    read_before_write: "read=/w/s/* write=/w/**", "write" "/w/s/f" => "deny read";
    a_name_denies_what_is_below: "deny=/w/s", "read" "/w/s/a/f" => "deny deny";
    a_name_asks_about_what_is_below: "prompt=/w/s", "read" "/w/s/a/f" => "ask prompt";
    a_name_is_no_beginning: "deny=/w/s", "read" "/w/st" => "allow";
    a_name_opens_itself_alone: "read=/o/s", "read" "/o/s/f" => "deny";
    a_name_after_a_star_means_itself: "deny=/w/*/s", "read" "/w/a/s/f" => "allow";
    // conformance: tiers-18
    a_star_stays_in_its_component: "deny=/w/*.key", "read" "/w/a/b.key" => "allow";
    // conformance: tiers-18
    a_star_matches_in_its_component: "deny=/w/*.key", "read" "/w/b.key" => "deny deny";
    a_question_mark_is_no_separator: "deny=/w?f", "read" "/w/f" => "allow";
    a_class_is_no_separator: "deny=/w[!a]f", "read" "/w/f" => "allow";
    a_class_matches: "deny=/w/[!b]f", "read" "/w/af" => "deny deny";
    alternatives: "deny=/w/{a,b}/*", "read" "/w/b/f" => "deny deny";
    // conformance: tiers-19
    two_stars_anywhere: "deny=**/.netrc", "read" "/w/a/b/.netrc" => "deny deny";
    // conformance: tiers-19
    two_stars_in_between: "deny=/w/**/x", "read" "/w/a/b/x" => "deny deny";
    two_stars_are_none_too: "deny=/w/**/x", "read" "/w/x" => "deny deny";
    // conformance: tiers-8, tiers-9, tiers-63
    default_denies_what_no_pattern_matches: "default=deny", "read" "/w/f" => "deny default";
    // conformance: tiers-8
    default_yields_to_patterns: "default=deny write=/w/**", "write" "/w/f" => "allow";
    // conformance: tiers-11
    default_read: "default=read", "write" "/w/f" => "deny default";
    // conformance: tiers-10
    default_prompt: "default=prompt", "read" "/w/f" => "ask default";
    // conformance: tiers-12
    default_write: "default=write", "write" "/o/f" => "allow";
    default_spares_the_baseline: "default=deny", "run" "/usr/bin/cat" => "allow";
    patterns_do_not_spare_the_baseline: "deny=/usr/**", "run" "/usr/bin/cat" => "deny deny";
    nothing_takes_the_private_folder: "default=deny deny=/tmp/**", "write" "/tmp/run/f" => "allow";
    nobody_opens_what_decides: "write=/h/** default=write", "write" "/h/own/f" => "deny";
    nobody_asks_for_what_decides: "prompt=/h/**", "write" "/h/own" => "deny";
    what_decides_may_be_read: "write=/h/**", "read" "/h/own/f" => "allow";
    what_decides_inside_stays: "write=/w/**", "write" "/w/own" => "deny";
    // conformance: tiers-16
    outside_read_opens: "read=/o/**", "read" "/o/f" => "allow";
    outside_read_opens_no_writing: "read=/o/**", "write" "/o/f" => "deny read";
    // conformance: tiers-17
    outside_write_opens: "write=/o/**", "write" "/o/f" => "allow";
    outside_prompt_asks: "prompt=/o/**", "write" "/o/f" => "ask prompt";
    outside_nobody_is_asked_to_execute: "prompt=/o/**", "run" "/o/f" => "deny";
    // conformance: tiers-11
    outside_default_opens: "default=read", "read" "/o/f" => "allow";
    outside_without_default_is_denied: "read=/o/**", "read" "/p/f" => "deny";
    what_is_opened_at_home_is_not_hidden: "read=/h/n/**", "read" "/h/n/f" => "allow";
    what_is_not_stays_hidden: "read=/h/n/**", "read" "/h/m/f" => "deny hidden";
    // conformance: tiers-30
    tilde_is_the_home: "deny=~/all/k", "read" "/h/all/k" => "deny deny";
    // conformance: tiers-29
    workspace_is_a_place: "deny=<workspace>/k", "read" "/w/k" => "deny deny";
    sensitive_asks: "", "read" "/w/.env" => "ask sensitive";
    sensitive_asks_by_suffix: "", "read" "/w/a/.env.local" => "ask sensitive";
    sensitive_is_a_whole_name: "", "read" "/w/x.env" => "allow";
    sensitive_named_by_a_rule_is_granted: "", "read" "/h/.ssh/config" => "allow";
    sensitive_below_a_broader_rule_asks: "", "read" "/h/.aws/credentials" => "ask sensitive";
    sensitive_does_not_outweigh_deny: "deny=**/.env", "read" "/w/.env" => "deny deny";
    sensitive_spares_the_baseline: "", "read" "/usr/.env" => "allow";
    sensitive_where_a_pattern_opens_asks: "read=/h/**", "read" "/h/.gnupg/k" => "ask sensitive";
    sensitive_where_the_default_opens_asks: "default=read", "read" "/o/.env" => "ask sensitive";
    sensitive_named_by_a_pattern_is_opened: "read=~/.gnupg/**", "read" "/h/.gnupg/k" => "allow";
    sensitive_named_beside_another_pattern_is_opened:
        "read=~/** read=~/.kube/config", "read" "/h/.kube/config" => "allow";
    sensitive_opened_for_reading_is_not_for_writing:
        "read=/h/**", "write" "/h/.gnupg/k" => "deny read";
    sensitive_with_read: "read=/w/**", "write" "/w/.env" => "deny read";
}

// conformance: tiers-2, tiers-3, tiers-4, tiers-24, tiers-25, tiers-26, tiers-27, tiers-28
/// The schema that the issue about `file_policy` shows.
#[test]
fn examples_of_the_schema() {
    let judge = Judge::of(
        "default=deny deny=/etc/** deny=**/.ssh/** prompt=<workspace>/secrets/** \
         read=~/Documents/notes/** write=<workspace>/**",
    );
    for (need, path, expected) in [
        ("read", "/etc/hosts", "deny deny"),
        ("read", "/h/.ssh/config", "deny deny"),
        ("read", "/w/a/.ssh/k", "deny deny"),
        ("read", "/w/secrets/k", "ask prompt"),
        ("write", "/w/secrets/k", "ask prompt"),
        ("read", "/h/Documents/notes/a", "allow"),
        ("write", "/h/Documents/notes/a", "deny read"),
        ("read", "/h/Documents/a", "deny default hidden"),
        ("read", "/w/src/a", "allow"),
        ("write", "/w/src/a", "allow"),
        ("read", "/o/a", "deny default"),
    ] {
        assert_eq!(judge.says(need, path), expected, "{need} {path}");
    }
}

/// A file that anybody can commit restricts, and grants nothing, not even after a prompt.
#[test]
fn what_anybody_can_commit_only_restricts() {
    for (own, theirs, need, path, expected) in [
        ("", "deny=/w/s", "read", "/w/s", "deny deny"),
        ("", "prompt=/w/s", "read", "/w/s", "ask prompt"),
        ("", "prompt=/usr/**", "read", "/usr/f", "ask prompt"),
        ("", "prompt=/** prompt=/o/f", "read", "/o/f", "deny"),
        ("", "default=prompt", "read", "/o/f", "deny"),
        ("", "default=prompt", "read", "/w/f", "ask default"),
        ("", "default=prompt", "run", "/usr/f", "allow"),
        ("", "default=prompt write=/w/s", "write", "/w/s", "allow"),
        ("", "prompt=/h/**", "read", "/h/f", "deny hidden"),
        ("", "prompt=/h/**", "write", "/h/own", "deny"),
        ("read=/w/**", "prompt=/w/**", "write", "/w/f", "deny read"),
        ("read=/o/**", "prompt=/o/**", "read", "/o/f", "ask prompt"),
        ("read=/o/**", "prompt=/o/**", "write", "/o/f", "deny read"),
        ("default=read", "default=prompt", "read", "/o/f", "ask default"),
        ("default=read", "default=prompt", "write", "/o/f", "deny default"),
        ("default=read", "default=deny", "read", "/o/f", "deny default"),
        ("default=deny", "default=prompt", "read", "/w/f", "deny default"),
        ("prompt=/o/**", "deny=/o/k", "read", "/o/f", "ask prompt"),
        ("", "read=**/f", "write", "/w/f", "deny read"),
        ("", "read=**/f", "read", "/w/f", "allow"),
        ("", "read=**/f", "read", "/o/f", "deny"),
        ("", "write=**/f", "write", "/w/ro/f", "deny"),
        ("", "read=**/f prompt=/w/f", "read", "/w/f", "ask prompt"),
        ("", "read=**/f prompt=/w/f", "write", "/w/f", "deny read"),
        ("", "read=/w/** prompt=/w/f", "read", "/w/f", "ask prompt"),
        ("", "read=/w/** prompt=/w/f", "write", "/w/f", "deny read"),
        ("", "default=prompt read=**/f", "read", "/w/f", "ask default"),
        ("", "default=prompt read=**/f", "write", "/w/f", "deny read"),
        ("", "default=prompt read=**/f", "write", "/w/g", "ask default"),
        ("write=/w/**", "default=prompt read=**/f", "write", "/w/f", "deny read"),
        ("default=read", "default=prompt read=/w/f", "write", "/w/f", "deny read"),
        ("prompt=/w/**", "read=**/f", "write", "/w/f", "ask prompt"),
        ("write=/o/**", "read=/o/f", "write", "/o/f", "deny read"),
        ("write=/o/**", "read=/o/f", "read", "/o/f", "allow"),
        ("default=write", "read=/w/f", "write", "/w/f", "deny read"),
        ("default=write", "read=/w/f", "write", "/w/g", "allow"),
        ("default=write", "read=/o/f", "write", "/o/f", "deny read"),
        ("default=prompt", "read=/w/f", "read", "/w/f", "ask default"),
        ("default=prompt", "read=/o/f", "read", "/o/f", "ask default"),
        ("default=prompt", "read=/w/f", "write", "/w/f", "deny read"),
        ("default=prompt", "read=/w/f", "write", "/w/g", "ask default"),
        ("default=prompt", "read=/o/f", "write", "/o/f", "deny read"),
        ("default=prompt", "read=/o/f", "write", "/o/g", "ask default"),
        ("default=prompt", "read=/o/f", "run", "/o/f", "deny"),
        ("default=deny", "read=/w/f", "read", "/w/f", "deny default"),
        ("default=deny", "read=/o/f", "read", "/o/f", "deny default"),
    ] {
        let said = Judge::restricted(own, theirs).says(need, path);
        assert_eq!(said, expected, "{need} {path}, `{own}` restricted by `{theirs}`");
    }
}

#[test]
fn what_would_open_more_than_the_workspace_is_left_out() {
    let left_out = |own: &str, theirs: &str| {
        let theirs = file_policy(theirs);
        let mut tiers = Tiers::new(&file_policy(own), None, places()).expect("patterns");
        tiers.restrict(&theirs, places(), |_, _, _| false).expect("patterns").len()
    };
    assert_eq!(left_out("", "read=/w/a write=<workspace>/b/**"), 0);
    assert_eq!(left_out("", "read=/o/a write=** read=/w* write=/{w,o}/f read=~/x"), 5);
    assert_eq!(left_out("default=deny", "read=/w/a"), 1);
}

/// Several sections of such files count like one with all their keys.
#[test]
fn what_is_committed_in_sections_counts_as_one() {
    let judged = |own: &str, sections: [&str; 2]| {
        let mut tiers = Tiers::new(&file_policy(own), None, places()).expect("patterns");
        for section in sections.map(file_policy) {
            tiers.restrict(&section, places(), |_, _, _| false).expect("patterns");
        }
        let judge = Judge(image_with(&grants(), Some(&tiers), Path::new("/w")));
        ["/w/s", "/w/f"].map(|path| judge.says("write", path))
    };
    for sections in [
        ["default=deny", "write=/w/s"],
        ["write=/w/s", "default=deny"],
        ["default=deny", "default=deny write=/w/s"],
        ["default=deny write=/w/s", "deny=/w/k"],
    ] {
        assert_eq!(judged("", sections), ["allow", "deny default"], "{sections:?}");
        assert_eq!(judged("default=write", sections), ["deny default"; 2], "{sections:?}");
    }
}

#[test]
fn consent_gives_what_was_asked_for_and_no_more() {
    let judge = Judge::of("prompt=/w/** deny=/w/k");
    let said =
        |need, path: &str| judge.says_of(need, Request::canonical(path.as_bytes()).consented());
    assert_eq!(said("read", "/w/f"), "allow");
    assert_eq!(said("read", "/w/ro/f"), "allow");
    assert_eq!(said("write", "/w/ro/f"), "deny");
    assert_eq!(said("read", "/w/k"), "deny deny");
    let judge = Judge::restricted("default=prompt", "read=**/f");
    let said =
        |need, path: &str| judge.says_of(need, Request::canonical(path.as_bytes()).consented());
    for path in ["/w/f", "/o/f"] {
        assert_eq!(said("read", path), "allow");
        assert_eq!(said("write", path), "deny read");
    }
}

/// Consent to opening for writing extends to the rest of `update`, and grants nothing that no rule grants.
#[test]
fn who_writes_already_is_not_asked_again() {
    let judge = Judge::of("prompt=/w/** deny=/w/k");
    let said = |need, path: &str, is_writable| {
        let request = Request::canonical(path.as_bytes());
        decide::opened(&judge.image(), &request, need, || is_writable) == Verdict::Allow
    };
    assert!(said(Capabilities::UPDATE, "/w/f", true));
    assert!(!said(Capabilities::UPDATE, "/w/f", false));
    assert!(!said(Capabilities::READ, "/w/f", true));
    assert!(!said(Capabilities::UPDATE, "/w/k", true));
    assert!(!said(Capabilities::UPDATE, "/w/ro/f", true));
}

#[test]
fn a_spelling_restricts_and_opens_nothing() {
    let judge = Judge::of("deny=/w/link/** write=/w/open/**");
    let said = |need, path: &str, route: &str| {
        judge.says_of(need, Request::by_route(path.as_bytes(), route.as_bytes()))
    };
    assert_eq!(said("read", "/w/d/f", "/w/link/f"), "deny deny");
    assert_eq!(said("read", "/w/d/f", "/w/d/f"), "allow");
    assert_eq!(said("write", "/o/f", "/w/open/f"), "deny");
    for (tiers, expected) in [
        ("prompt=/w/link/**", "deny"),
        ("prompt=/w/link/** default=deny", "deny default"),
        ("prompt=/w/link/** deny=/w/link/k", "deny deny"),
        ("prompt=/w/link/** read=/o/**", "ask prompt"),
        ("prompt=/w/link/** default=prompt", "ask prompt"),
    ] {
        let request = Request::by_route(b"/o/f", b"/w/link/k");
        assert_eq!(Judge::of(tiers).says_of("read", request), expected, "{tiers}");
    }
}

/// No prompt is needed if a rule's anchor is the target of the name, or the rule names the name itself.
#[test]
fn a_sensitive_spelling_asks_where_only_a_broader_rule_covers_it() {
    for (tiers, need, path, route, expected) in [
        ("", "read", "/w/cfg/prod", "/w/.env", "ask sensitive"),
        ("", "write", "/w/cfg/prod", "/w/.env", "ask sensitive"),
        ("", "read", "/w/cfg/prod", "/w/x.env", "allow"),
        ("", "read", "/w/cfg/prod", "/w/cfg/prod", "allow"),
        ("", "read", "/w/ro/f", "/h/.gnupg/k", "ask sensitive"),
        ("", "read", "/w/ro", "/w/.env", "allow"),
        ("", "read", "/w/ro/f", "/h/.gnupg/f", "allow"),
        ("", "read", "/w/ro/d/f", "/h/.gnupg/d/f", "allow"),
        ("", "read", "/w/ro/f", "/w/.env", "ask sensitive"),
        ("", "read", "/w/f", "/h/.ssh/config", "allow"),
        ("", "read", "/usr/f", "/w/.env", "allow"),
        ("", "write", "/tmp/run/f", "/w/.env", "allow"),
        ("", "write", "/w/ro/f", "/w/.env", "deny"),
        ("", "read", "/o/f", "/w/.env", "deny"),
        ("read=/o/**", "read", "/o/f", "/w/.env", "ask sensitive"),
        ("read=/o/**", "run", "/o/f", "/w/.env", "deny read"),
        ("default=read", "read", "/o/f", "/w/.env", "ask sensitive"),
        ("deny=/w/cfg", "read", "/w/cfg/prod", "/w/.env", "deny deny"),
        ("prompt=/w/cfg", "read", "/w/cfg/prod", "/w/.env", "ask prompt"),
        ("deny=/w/.env", "read", "/w/cfg/prod", "/w/.env", "deny deny"),
    ] {
        let request = Request::by_route(path.as_bytes(), route.as_bytes());
        let said = Judge::of(tiers).says_of(need, request);
        assert_eq!(said, expected, "{need} {path} by {route}, `{tiers}`");
    }
    let request = Request::by_route(b"/w/cfg/prod", b"/w/.env").consented();
    assert_eq!(Judge::of("").says_of("read", request), "allow");
}

/// If nothing is declared, sensitive names in the workspace need no prompt, wherever they lead.
#[test]
fn a_sensitive_spelling_in_an_open_workspace_asks_nobody() {
    let open = Origin::Product { why: "no access.fs".to_owned() };
    let flag = Origin::Flag { text: "-r /o".to_owned() };
    let grants = [
        Grant::new("/w".into(), Capabilities::ALL, GrantKind::Workspace, open),
        Grant::new("/o".into(), Capabilities::READ, GrantKind::Plain, flag),
    ];
    let tiers = Tiers::new(&file_policy(""), Some(&[]), places()).expect("patterns");
    let judge = Judge(image_with(&grants, Some(&tiers), Path::new("/w")));
    let by = |route: &str| judge.says_of("read", Request::by_route(b"/o/f", route.as_bytes()));
    assert_eq!(["/w/.env", "/o/.env"].map(by), ["allow", "ask sensitive"]);
}

/// Like patterns in a home that is a symlink: both names are names of the granted file.
#[test]
fn a_pattern_that_names_what_is_sensitive_by_a_link_opens_it() {
    let place = Place::new("w/real/f w/.env=real/f");
    let [link, file, other] =
        ["w/.env", "w/real/f", "w/real/.env"].map(|path| place.path(path).display().to_string());
    for (tiers, expected) in [
        (format!("read={link}"), ["allow", "allow"]),
        (format!("read={file}"), ["allow", "ask sensitive"]),
        (format!("read={other}"), ["deny", "deny"]),
    ] {
        let tiers = Tiers::new(&file_policy(&tiers), Some(&[]), places()).expect("patterns");
        let judge = Judge(image_with(&[], Some(&tiers), Path::new("/w")));
        let by = |route: &String| {
            judge.says_of("read", Request::by_route(file.as_bytes(), route.as_bytes()))
        };
        assert_eq!([by(&file), by(&link)], expected);
    }
}

#[test]
fn a_pattern_by_way_of_a_link_speaks_of_the_place_it_leads_to() {
    let place = Place::new("w/real/f w/link=real");
    let text = format!("{}/**", place.path("w/link").display());
    let pattern = Pattern::new(&text, places(), true).expect("a pattern");
    for name in ["w/real/f", "w/link/f", "w/real"] {
        assert!(pattern.matches(&place.path(name)), "{name}");
    }
    assert!(!pattern.matches(&place.path("w")));
    assert_eq!(pattern.stem(), place.path("w/real"));
}

#[test]
fn a_pattern_by_way_of_a_distrusted_link_opens_its_spelling_and_limits_the_place_it_leads_to() {
    let place = Place::new("w/real/f w/link=real");
    let text = |tier: &str| format!("{tier}={}/**", place.path("w/link").display());
    for (tier, granted, need, expected) in [
        ("read", true, "write", "deny read"),
        ("read", true, "read", "allow"),
        ("read", false, "read", "deny"),
        ("write", true, "write", "allow"),
        ("write", false, "write", "deny"),
    ] {
        let mut tiers = Tiers::new(&file_policy(&text(tier)), None, places()).expect("patterns");
        assert_eq!(tiers.distrust(|_| true).len(), 1);
        let whole = place.path("w").display().to_string();
        let grants = [rule(&whole, Capabilities::ALL, GrantKind::Plain)];
        let grants = if granted { &grants[..] } else { &[] };
        let judge = Judge(image_with(grants, Some(&tiers), Path::new("/w")));
        let file = place.path("w/real/f").display().to_string();
        assert_eq!(judge.says(need, &file), expected, "{tier} {need}, granted: {granted}");
    }
}

#[test]
fn opening_asks_for_both_cases_or_none() {
    let judge = Judge::of("prompt=/w/p/** read=/w/r/**");
    let open = |path: &str, create, consented| {
        let request = Request::canonical(path.as_bytes());
        let request = if consented { request.consented() } else { request };
        let how = OpenRequest { read: true, write: true, create, ..OpenRequest::default() };
        decide::open(&judge.image(), &request, how)
    };
    let OpenVerdict::Deny(denial) = open("/w/p/f", true, false) else { panic!("not asked") };
    assert!(denial.ask && denial.restraint == Some(Restraint::Prompt));
    assert!(denial.missing.contains(Capabilities::READ.union(Capabilities::CREATE)));
    assert_eq!(open("/w/p/f", true, true), OpenVerdict::Allow);
    let OpenVerdict::Deny(denial) = open("/w/r/f", true, true) else { panic!("not denied") };
    assert!(!denial.ask);
}

// conformance: tiers-50
#[test]
fn what_is_asked_for_stays_so_wherever_it_goes() {
    let judge = Judge::of("prompt=/w/p/** deny=/w/k");
    let image = judge.image();
    let request = |path: &'static str| Request::canonical(path.as_bytes());
    let link = |old, new| word(decide::link(&image, &request(old), &request(new)));
    assert_eq!(link("/w/p/a", "/w/b"), "deny prompt");
    assert_eq!(link("/w/a", "/w/p/b"), "ask prompt");
    assert_eq!(link("/w/p/a", "/w/p/b"), "ask prompt");
    assert_eq!(link("/w/k", "/w/p/b"), "deny deny");
    let rename =
        |from, to| word(decide::rename(&image, &request(from), &request(to), Destination::Missing));
    assert_eq!(rename("/w/a", "/w/p/b"), "ask prompt");
    assert_eq!(rename("/w/p/a", "/w/b"), "deny prompt");
    assert_eq!(rename("/w/k", "/w/b"), "deny deny");
}

/// A missing file needs no prompt. A program that may not remove or see it does not learn that it is missing.
#[test]
fn what_is_missing_is_told_where_it_is_asked_about() {
    let judge = Judge::of("prompt=/w/p/** prompt=/h/asked/** deny=/w/k/**");
    let image = judge.image();
    for (path, expected) in [
        ("/w/p/f", Some(true)),
        ("/w/k/f", Some(false)),
        ("/w/ro/f", Some(false)),
        ("/h/f", Some(false)),
        ("/w/f", None),
    ] {
        let request = Request::canonical(path.as_bytes());
        let told = match decide::remove(&image, &request) {
            Verdict::Allow => None,
            Verdict::Deny(denial) => Some(existing::is_told_missing(&image, &request, &denial)),
        };
        assert_eq!(told, expected, "{path}");
    }
    let [asked, denied, free] = ["/w/p/f", "/w/k/f", "/w/f"].map(str::as_bytes);
    let [asked, denied, free] = [asked, denied, free].map(Request::canonical);
    for (from, to, expected) in [
        (&asked, &free, true),
        (&asked, &denied, true),
        (&free, &asked, true),
        (&free, &denied, false),
        (&denied, &asked, false),
    ] {
        let verdict = decide::rename(&image, from, to, Destination::Missing);
        let Verdict::Deny(denial) = verdict else { panic!("{from:?} {to:?}") };
        let told = existing::is_told_missing(&image, from, &denial);
        assert_eq!(told, expected, "{from:?} {to:?}");
    }
}

#[test]
fn a_folder_does_not_leave_its_pattern_behind() {
    let judge = Judge::of("deny=/w/*/key deny=**/.netrc");
    let image = judge.image();
    let relocate = |from: &str, to: &str| {
        let (from, to) = (Request::canonical(from.as_bytes()), Request::canonical(to.as_bytes()));
        word(decide::relocate(&image, &from, &to))
    };
    assert_eq!(relocate("/w/a", "/w/b"), "allow");
    assert_eq!(relocate("/w/a", "/w/c/d"), "deny");
    assert_eq!(relocate("/w/c/d", "/w/e/f"), "allow");
    assert_eq!(relocate("/w/.n", "/w/.net"), "allow");
    assert_eq!(relocate("/w/c/d", "/tmp/run/d"), "deny");
    assert_eq!(relocate("/tmp/run/d", "/w/c/d"), "allow");
}

/// Patterns below the new place that are not below the old may withhold more, and must not grant more.
#[test]
fn a_folder_goes_where_patterns_say_more_about_it() {
    for (tiers, from, to, expected) in [
        ("prompt=/w/p/** deny=**/*.pem", "/w/a", "/w/p/a", "allow"),
        ("prompt=/w/p/** deny=**/*.pem", "/w/p/a", "/w/a", "deny"),
        ("prompt=/w/p/** prompt=**/*.pem", "/w/a", "/w/p/a", "allow"),
        ("deny=/w/p/** deny=**/*.pem", "/w/a", "/w/p/a", "allow"),
        ("read=/w/p/** deny=**/*.pem", "/w/a", "/w/p/a", "allow"),
        ("read=/w/p/** prompt=**/*.pem", "/w/p/a", "/w/a", "deny"),
        ("write=/w/p/** deny=**/*.pem", "/w/a", "/w/p/a", "allow"),
        ("write=/w/p/** deny=**/*.pem", "/w/p/a", "/w/a", "allow"),
        ("write=/o/p/** deny=**/*.pem", "/w/a", "/o/p/a", "allow"),
        // Where no rule reaches, nobody executes sensitive files. Below `/w` it takes consent.
        ("write=/o/p/** deny=**/*.pem", "/o/p/a", "/w/a", "deny"),
        ("write=/o/p/** deny=**/*.pem", "/w/ro/a", "/o/p/a", "deny"),
        ("write=/o/p/*.c deny=**/*.pem", "/w/a", "/o/p/a", "allow"),
        ("prompt=/w/p/** deny=/w/a/*.pem", "/w/a", "/w/p/a", "deny"),
        ("prompt=/w/p/**/*.k deny=/w/a/*.k", "/w/a", "/w/p/a", "deny"),
        ("deny=/w/p/**/*.k prompt=/w/a/*.k", "/w/a", "/w/p/a", "allow"),
    ] {
        let (judge, from, to) = (Judge::of(tiers), from.as_bytes(), to.as_bytes());
        let (from, to) = (Request::canonical(from), Request::canonical(to));
        let verdict = word(decide::relocate(&judge.image(), &from, &to));
        let kind = verdict.split(' ').next();
        assert_eq!(kind, Some(expected), "{tiers} {from:?} {to:?}: {verdict}");
    }
}

/// Only options declare anything, and a profile denies one name in each directory.
fn open_workspace() -> Vec<Grant> {
    let product = |why: &str| Origin::Product { why: why.to_owned() };
    let grant =
        |anchor: &str, kind, origin| Grant::new(anchor.into(), Capabilities::ALL, kind, origin);
    let flag = || Origin::Flag { text: "-w".to_owned() };
    let profile = Origin::Profile { name: "mine".to_owned(), entry: "/p".to_owned(), named: true };
    let mut kept = grant("/p", GrantKind::Plain, profile);
    kept.carve_outs.push("*/k".to_owned());
    vec![
        grant("/w", GrantKind::Workspace, product("no access.fs")),
        grant("/w/p/a/d", GrantKind::Plain, flag()),
        grant("/o", GrantKind::Plain, flag()),
        grant("/tmp/run", GrantKind::Plain, product("temp")),
        kept,
    ]
}

/// No allowed move of a directory gives anything in it more rights, or the same with less of a prompt.
#[test]
fn no_name_gains_by_the_move_of_a_folder() {
    let lists = [
        "",
        "deny=**/*.pem",
        "prompt=**/k",
        "read=/w/p/**",
        "write=/o/**",
        "prompt=/o/p/*",
        "write=/o/** prompt=**/k",
        "read=/w/p/** deny=**/*.pem",
    ];
    let defaults = ["", "default=deny", "default=prompt", "default=read", "default=write"];
    let policies =
        lists.iter().flat_map(|list| defaults.map(|default| format!("{list} {default}")));
    let mut moved = 0;
    for written in policies {
        let tiers = Tiers::new(&file_policy(&written), Some(&[]), places()).expect("patterns");
        for grants in [grants(), open_workspace()] {
            let image = image_with(&grants, Some(&tiers), Path::new("/w"));
            moved += moves_without_gain(&Image::parse(&image).expect("an image"), &written);
        }
    }
    assert!(moved > 500, "{moved} moves");
}

/// The number of directories that may move to the place of another.
fn moves_without_gain(image: &Image<'_>, written: &str) -> usize {
    let places = ["/w/a", "/w/p", "/w/p/a", "/w/ro/a", "/o/a", "/o/p/a", "/p/a", "/tmp/run/a"];
    let names = ["", "/k", "/x", "/.env", "/a.pem", "/d/k", "/d/a.pem", "/d/x"];
    let needs = [Capabilities::READ, Capabilities::UPDATE, Capabilities::EXECUTE];
    let rank = |path: &str, need| match decide::access(
        image,
        &Request::canonical(path.as_bytes()),
        need,
    ) {
        Verdict::Allow => 2,
        Verdict::Deny(denial) => u8::from(denial.ask),
    };
    let goes = |(from, to): &(&str, &str)| {
        let [old, new] = [from.as_bytes(), to.as_bytes()].map(Request::canonical);
        from != to
            && decide::relocate(image, &old, &new) == Verdict::Allow
            && decide::rename(image, &old, &new, Destination::Missing) == Verdict::Allow
    };
    let pairs = places.iter().flat_map(|from| places.map(|to| (*from, to)));
    let moves: Vec<(&str, &str)> = pairs.filter(goes).collect();
    for (from, to) in &moves {
        for (name, need) in names.iter().flat_map(|name| needs.map(|need| (name, need))) {
            let [before, after] = [from, to].map(|end| rank(&format!("{end}{name}"), need));
            assert!(after <= before, "{written}: {need} {from} {to} {name}");
        }
    }
    moves.len()
}

/// A pattern may grant a directory's name alone, and a rule everything below.
#[test]
fn a_folder_that_is_open_by_name_alone_does_not_go_where_more_is_granted() {
    for (tiers, from, to, expected) in [
        ("write=/o/t", "/o/t", "/w/n", "deny"),
        ("write=/o/*", "/o/t", "/w/n", "deny"),
        ("write=/h/docs", "/h/docs", "/w/n", "deny"),
        ("write=/o/t write=/o/u", "/o/t", "/o/u", "allow"),
        // Nothing is granted below either, but the next run may grant it.
        ("write=/o/t write=/o/u deny=/o/t/d/k", "/o/t", "/o/u", "deny"),
        ("write=/o/t write=/o/u deny=/o/t/d/**", "/o/t", "/o/u", "deny"),
        ("write=/o/t write=/o/u deny=/o/u/d/k", "/o/t", "/o/u", "allow"),
        ("write=/o/t write=/o/u deny=/o/*/d/k", "/o/t", "/o/u", "allow"),
        ("write=/o/t write=/o/u deny=**/k", "/o/t", "/o/u", "allow"),
        // Where no rule reaches, nobody executes sensitive files. Below `/w` it takes consent.
        ("write=/o/t default=read", "/o/t", "/w/n", "deny"),
        ("write=/o/t default=write", "/o/t", "/w/n", "deny"),
        ("write=/o/t default=read", "/o/t", "/o/n", "allow"),
        ("write=/w/t default=prompt", "/w/t", "/usr/n", "deny"),
        ("write=/o/t", "/w/n", "/o/t", "allow"),
        ("write=/o/t write=**/logs/*", "/w/n", "/o/t", "allow"),
        ("write=/o/t write=**/logs/*", "/w/ro/n", "/o/t", "deny"),
    ] {
        let (judge, from, to) = (Judge::of(tiers), from.as_bytes(), to.as_bytes());
        let (from, to) = (Request::canonical(from), Request::canonical(to));
        let verdict = word(decide::relocate(&judge.image(), &from, &to));
        let kind = verdict.split(' ').next();
        assert_eq!(kind, Some(expected), "{tiers}: {verdict}");
    }
}

/// The result is what a grant at the directory can change. It is empty if a pattern withholds what is in it.
#[test]
fn what_lacks_for_a_folder_to_go_is_what_it_would_have_there() {
    for (tiers, from, to, expected) in [
        ("write=/o/t", "/o/t", "/w/n", "read, create, update, delete, execute"),
        ("write=/o/p/** deny=**/*.pem", "/o/p/a", "/w/a", "execute"),
        ("write=/o/t write=**/logs/*", "/w/ro/n", "/o/t", "create, update, delete, execute"),
        ("write=/o/t", "/w/n", "/o/t", "nothing"),
        ("deny=**/k", "/w/a", "/tmp/run/a", "nothing"),
    ] {
        let (judge, from, to) = (Judge::of(tiers), from.as_bytes(), to.as_bytes());
        let (from, to) = (Request::canonical(from), Request::canonical(to));
        let lacking = decide::lacking_to_relocate(&judge.image(), &from, &to);
        assert_eq!(lacking.to_string(), expected, "{tiers}");
    }
}

#[test]
fn a_folder_does_not_leave_what_is_sensitive_behind() {
    let home = [rule("/h", Capabilities::ALL, GrantKind::Plain)];
    let tiers = Tiers::new(&file_policy(""), Some(&[]), places()).expect("patterns");
    let image = image_with(&home, Some(&tiers), Path::new("/w"));
    let image = Image::parse(&image).expect("an image");
    let relocate = |from: &str, to: &str| {
        let (from, to) = (Request::canonical(from.as_bytes()), Request::canonical(to.as_bytes()));
        word(decide::relocate(&image, &from, &to))
    };
    assert_eq!(relocate("/h/.config", "/h/c"), "deny");
    assert_eq!(relocate("/h/a", "/h/b/a"), "allow");
    assert_eq!(relocate("/h/.config/a", "/h/.config/b"), "allow");
}

/// Sensitive files need no prompt in an open workspace, or where a profile grants them. Below other rules they do.
#[test]
fn a_folder_does_not_leave_the_question_about_what_is_sensitive_behind() {
    let flag = Origin::Flag { text: "-w".to_owned() };
    let open = Origin::Product { why: "no access.fs".to_owned() };
    let profile = |named| Origin::Profile { name: "p".to_owned(), entry: "~/p".to_owned(), named };
    let grant =
        |anchor: &str, kind, origin| Grant::new(anchor.into(), Capabilities::ALL, kind, origin);
    let grants = [
        grant("/w", GrantKind::Workspace, open),
        grant("/o", GrantKind::Plain, flag.clone()),
        grant("/p", GrantKind::Plain, flag),
        grant("/h/.cargo", GrantKind::Plain, profile(false)),
        grant("/h/docs", GrantKind::Plain, profile(true)),
    ];
    for (sensitive, from, to, expected) in [
        (true, "/o/d", "/w/d", "deny"),
        (true, "/o/d", "/h/.cargo/d", "deny"),
        (true, "/o/d", "/p/d", "allow"),
        (true, "/w/d", "/o/d", "allow"),
        (true, "/w/d", "/h/.cargo/d", "allow"),
        (true, "/h/.cargo/d", "/w/d", "allow"),
        (true, "/h/docs/d", "/w/d", "deny"),
        (true, "/h/docs/d", "/h/.cargo/d", "deny"),
        (true, "/h/docs/d", "/o/d", "allow"),
        (true, "/o/d", "/h/docs/d", "allow"),
        (true, "/h/.cargo/d", "/h/docs/d", "allow"),
        (false, "/o/d", "/w/d", "allow"),
    ] {
        let sensitive = sensitive.then_some(&[][..]);
        let tiers = Tiers::new(&file_policy("prompt=**/asked"), sensitive, places());
        let image = image_with(&grants, Some(&tiers.expect("patterns")), Path::new("/w"));
        let image = Image::parse(&image).expect("an image");
        let ends = [from, to].map(|path| Request::canonical(path.as_bytes()));
        let said = word(decide::relocate(&image, &ends[0], &ends[1]));
        assert_eq!(said, expected, "{from} {to}");
    }
}

/// A profile that a person wrote and named needs prompts like a rule. A `default` does not apply to it.
#[test]
fn what_is_sensitive_is_asked_about_where_a_profile_was_named() {
    for (named, anchor, path, default, expected) in [
        (true, "/h/docs", "/h/docs/.env", "", "ask sensitive"),
        (true, "/h/docs", "/h/docs/f", "", "allow"),
        (true, "/h/docs/.env", "/h/docs/.env", "", "allow"),
        (true, "/w/d", "/w/d/.env", "", "allow"),
        (true, "/h/docs", "/h/docs/f", "default=deny", "allow"),
        (true, "/h/docs", "/h/docs/.env", "default=deny", "ask sensitive"),
        (true, "/h/docs", "/h/docs/f", "default=prompt", "allow"),
        (false, "/h/docs", "/h/docs/.env", "", "allow"),
    ] {
        let origin = Origin::Profile { name: "p".to_owned(), entry: anchor.to_owned(), named };
        let open = Origin::Product { why: "no access.fs".to_owned() };
        let grants = [
            Grant::new("/w".into(), Capabilities::ALL, GrantKind::Workspace, open),
            Grant::new(anchor.into(), Capabilities::ALL, GrantKind::Plain, origin),
        ];
        let tiers = Tiers::new(&file_policy(default), Some(&[]), places()).expect("patterns");
        let image = image_with(&grants, Some(&tiers), Path::new("/w"));
        let image = Image::parse(&image).expect("an image");
        let request = Request::canonical(path.as_bytes());
        let said = word(decide::access(&image, &request, Capabilities::READ));
        assert_eq!(said, expected, "{named} {path} {default}");
    }
}

/// The account's home is one, whatever the environment says.
#[test]
fn what_is_sensitive_is_so_in_every_home() {
    let homes = ["/h".into(), "/a".into()];
    let tiers = |protected| {
        let places = Places { protected, ..places() };
        Tiers::new(&file_policy(""), Some(&[]), places).expect("patterns")
    };
    let [both, none] = [&homes[..], &[]].map(tiers);
    let said = |tiers: &Tiers, path: &str| tiers.is_sensitive(Path::new(path));
    assert!(said(&both, "/h/.ssh/k") && said(&both, "/a/.ssh/k") && said(&both, "/a/x/.env"));
    assert!(!said(&both, "/b/.ssh/k"));
    assert!(!said(&none, "/h/.ssh/k") && said(&none, "/h/.env"));
}

#[test]
fn a_walk_beneath_knows_of_patterns() {
    let beneath = |tiers, directory: &[u8]| {
        decide::grants_beneath(&Judge::of(tiers).image(), directory, Capabilities::READ)
    };
    assert!(!beneath("deny=/w/d/key", b"/w/d"));
    assert!(!beneath("", b"/w/d"), "what is sensitive may be anywhere in it");
    assert!(beneath("deny=/w/d/key", b"/usr"));
}

/// Nobody could approve the target.
#[test]
fn what_a_workspace_file_has_in_an_unknown_home_is_left_out() {
    let homeless = Places { home: None, ..places() };
    let mut tiers = Tiers::default();
    let theirs = file_policy("read=~/x write=~/y read=/o/z");
    let refused = tiers.restrict(&theirs, homeless, |_, _, _| false).expect("patterns");
    assert_eq!(refused, [(Tier::Read, "/o/z")]);
    let dropped = tiers.dropped.iter().map(ToString::to_string);
    let why = "`~` is not known, because HOME is not set to an absolute path";
    assert_eq!(
        dropped.collect::<Vec<_>>(),
        [
            format!("`~/x` cannot be one of `read_paths`: {why}"),
            format!("`~/y` cannot be one of `write_paths`: {why}"),
        ]
    );
}

// conformance: tiers-33, tiers-34, tiers-35, tiers-36, tiers-37, tiers-38
#[test]
fn overlays_replace_what_they_say_and_add_denials() {
    let below = file_policy("deny=/a prompt=/b read=/c default=deny");
    let merged = below.overlaid(&file_policy("deny=/d prompt=/e default=read"));
    assert_eq!(merged, file_policy("deny=/a deny=/d prompt=/e read=/c default=read"));
    assert!(FilePolicy::default().is_empty() && !merged.is_empty());
    let denying = file_policy("default=deny");
    assert_eq!(file_policy("default=write read=/c").overlaid(&denying).default, Some(Tier::Deny));
    assert_eq!(denying.clone().overlaid(&FilePolicy::default()), denying);
}

// conformance: tiers-22
#[test]
fn the_narrowest_pattern_is_reported() {
    let tiers =
        Tiers::new(&file_policy("deny=/w/** deny=/w/s/* deny=**/k"), None, places()).expect("ok");
    let reported = |path: &str| {
        let found = tiers.reported(Restraint::Deny, Path::new(path), Path::new(path));
        found.map(|pattern| pattern.text.as_str())
    };
    assert_eq!(reported("/w/s/k"), Some("/w/s/*"));
    assert_eq!(reported("/w/k"), Some("/w/**"));
    assert_eq!(reported("/o/k"), Some("**/k"));
    let place = Path::new("/w/s/k");
    let (rest, found) = tiers.without(Restraint::Deny, place, place);
    let named = ["/w/s/*", "/w/**", "**/k"].map(|pattern| format!("`{pattern}` of deny_paths"));
    assert_eq!(found, named);
    assert!(rest.reported(Restraint::Deny, place, place).is_none());
}

/// The spelling of an entry is judged before its target is known. Grants of rules at the target do not matter to the
/// patterns.
#[test]
fn the_spelling_of_an_entry_restricts_whatever_is_granted_there() {
    let judge = Judge::of("deny=**/no/* prompt=**/asked/*");
    let spelled = |path: &str| {
        let denied = decide::spelled(&judge.image(), path.as_bytes(), decide::remove);
        word(denied.map_or(Verdict::Allow, Verdict::Deny))
    };
    for (path, expected) in [
        ("/w/no/f", "deny deny"),
        ("/w/ro/no/f", "deny deny"),
        ("/nowhere/no/f", "deny deny"),
        ("/w/asked/f", "ask prompt"),
        ("/w/ro/asked/f", "ask prompt"),
        ("/w/ro/f", "allow"),
        ("/w/.env", "allow"),
        ("/tmp/run/no/f", "allow"),
    ] {
        assert_eq!(spelled(path), expected, "{path}");
    }
}
