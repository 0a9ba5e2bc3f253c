//! The notation of patterns (spec §9): what each matches, alone and in the table of all.

use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::GrantKind;
use jp_confine_engine::decide::{self, Request};
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::image::Image;
use jp_confine_engine::pattern::{Pattern, PatternError, Places};
use jp_confine_engine::tiers::Tiers;
use proptest::prelude::*;

use crate::place::{file_policy, image_with, try_image_with};
use crate::tiers::{Judge, grants, places, rule};

/// An empty alternative counts as one.
#[test]
fn an_empty_alternative_counts() {
    let judge = Judge::of("deny=**/key{,.pub} prompt=/w/{a/,}q deny=/w/d{/**,} deny=/w/{,x}e");
    for path in ["/w/key", "/w/key.pub", "/w/s/key", "/w/d", "/w/d/f", "/w/e", "/w/xe/f"] {
        assert_eq!(judge.says("read", path), "deny deny", "{path}");
    }
    for path in ["/w/q", "/w/a/q", "/w/q/f"] {
        assert_eq!(judge.says("read", path), "ask prompt", "{path}");
    }
    for path in ["/w/key.", "/w/.pub", "/w/aq", "/w/dd", "/w/ye"] {
        assert_eq!(judge.says("read", path), "allow", "{path}");
    }
    let added = ["**/s{.old,}".to_owned(), "**/t{,,}".to_owned(), "**/u{}".to_owned()];
    let tiers = Tiers::new(&file_policy(""), Some(&added), places()).expect("patterns");
    for name in ["s", "s.old", "t", "u"] {
        assert!(tiers.is_sensitive(&Path::new("/w").join(name)), "{name}");
        assert!(!tiers.is_sensitive(&Path::new("/w").join(name).with_extension("x")), "{name}");
    }
}

/// A pattern `dir/**` that restricts also covers `dir`, and `dir` covers everything below, in braces as well (R19).
#[test]
fn braces_close_directories_as_names_do() {
    for text in [
        "<workspace>/{s/**,i/**}",
        "<workspace>/{s,i}/**",
        "<workspace>/{s,i}",
        "<workspace>/{s/**,i}",
        "<workspace>/{,s/,i/}{s,i}",
        "<workspace>/{{s/**,x},i/**}",
        "<workspace>/{s{/**,},i{/**}}",
        "<workspace>/{s,[[],i}",
    ] {
        let pattern = Pattern::new(text, places(), true).expect(text);
        for path in ["/w/s", "/w/s/f", "/w/i", "/w/i/a/f"] {
            assert!(pattern.matches(Path::new(path)), "{text}: {path}");
        }
        for path in ["/w", "/w/si", "/w/a/s"] {
            assert!(!pattern.matches(Path::new(path)), "{text}: {path}");
        }
        let judge = Judge::of(&format!("deny={text}"));
        assert_eq!(judge.says("read", "/w/i"), "deny deny", "{text}");
        assert_eq!(judge.says("read", "/w/s/f"), "deny deny", "{text}");
    }
    let says = |text: &str, path: &str| {
        let opening = Pattern::new(text, places(), false).expect(text);
        assert!(!opening.matches(Path::new(path)), "{text}");
        Pattern::new(text, places(), true).expect(text).matches(Path::new(path))
    };
    assert!(says("/w/s{ub/**,x}", "/w/sub") && says("/w/s{ub/**,x}", "/w/sx/f"));
    assert!(!says("/w/{s?,[ab]}", "/w/s1/f"), "as of each alone");
    assert!(!says("/w/{[/**,}],a}", "/w/"), "in a class it is characters");
}

/// A pattern written for a path matches that path, whatever its name.
#[test]
fn every_path_has_a_pattern() {
    for name in [
        "[",
        "]",
        "{",
        "}",
        "!",
        "^",
        "\\",
        "[]",
        "[!]",
        "[^a]",
        "]]",
        "\\]",
        "[\\]",
        "{1..3}",
        "{,}",
        "[[:alpha:]]",
        "*",
        "**",
        "?",
        "a\nb",
        "-",
        ",",
        "é]",
        "..a",
        "~",
        "[.",
        "a[*]\\*",
    ] {
        let path = Path::new("/w").join(name);
        let text = Pattern::literal(&path).expect(name);
        assert_eq!(Pattern::check(&text), Ok(()), "{text}");
        for restricts in [false, true] {
            let pattern = Pattern::new(&text, places(), restricts).expect(name);
            assert!(pattern.matches(&path), "{text}");
            assert!(!pattern.matches(Path::new("/w/a")), "{text}");
            assert_eq!(pattern.stem(), path, "{text}");
        }
        let policy = FilePolicy { deny_paths: vec![text], ..FilePolicy::default() };
        let tiers = Tiers::new(&policy, None, places()).expect(name);
        let judge = Judge(image_with(&grants(), Some(&tiers), Path::new("/w")));
        assert_eq!(judge.says("read", path.to_str().expect("UTF-8")), "deny deny", "{name}");
        assert_eq!(judge.says("read", "/w/a"), "allow", "{name}");
    }
    assert_eq!(Pattern::literal(Path::new(&format!("/w/{}", "[".repeat(4000)))), None);
}

#[test]
fn a_workspace_of_any_name_is_a_place() {
    for name in ["/w/[1]*{a,b}?", "/w/[", "/w/]é[!x]", "/w/\\", "/w/{1..3}", "/w/[[:alpha:]]"] {
        let places = Places { workspace: Path::new(name), ..places() };
        let pattern = Pattern::new("<workspace>/s/**", places, true).expect(name);
        assert_eq!(pattern.stem(), Path::new(name).join("s"));
        assert!(pattern.matches(&Path::new(name).join("s/f")), "{name}");
        assert!(!pattern.matches(Path::new("/w/1a/s/f")), "{name}");
    }
}

/// A `**` between slashes goes across names. In a class it is two stars.
#[test]
fn stars_across_names() {
    for (text, matches, matches_not) in [
        ("/w/{a/**,b/**}", "/w/b/x/y", "/w/c/x"),
        ("/w/{**/a,b}", "/w/x/y/a", "/w/x/b"),
        ("/w/{x,y}/{a/**/c,b}", "/w/y/a/c", "/w/y/a/b"),
        ("/w/[**]", "/w/*", "/w/a"),
        ("/w/[*]*[*]", "/w/*a*", "/w/a"),
        ("/w/*[!x]*", "/w/a", "/w/x"),
        ("**/**/a", "/w/x/a", "/w/b"),
    ] {
        let pattern = Pattern::new(text, places(), false).expect(text);
        assert!(pattern.matches(Path::new(matches)), "{text}: {matches}");
        assert!(!pattern.matches(Path::new(matches_not)), "{text}: {matches_not}");
    }
}

// conformance: tiers-20
#[test]
fn wrong_patterns_are_refused() {
    let check = |text: &str| Pattern::new(text, places(), true).expect_err(text);
    for text in ["src/**", "./src", "", "*.key", "<work>/x"] {
        assert_eq!(check(text), PatternError::Relative, "{text}");
    }
    // Each would deny less than it seems to.
    for text in [
        "**.pem",
        "**{a,b}",
        "<workspace>/**.pem",
        "<workspace>/src**",
        "/w/s**/c.pem",
        "/w/**s/c.pem",
        "/w/***",
        "/w/[!a]**",
        "/w/{a,**}",
        "/w/{a,**}/x",
        "/w/{**}/x",
        "/w/{a/**,b}/x",
        "/w/{a/**,b}.pem",
        "/w/{{a/**,b},c}/x",
        "/w/[[]**",
    ] {
        assert_eq!(check(text), PatternError::Stars, "{text}");
    }
    assert_eq!(check("~other/x"), PatternError::OtherHome);
    // In other globs each of these has a meaning.
    for text in [
        "/w/[[:alpha:]]*",
        "/w/[_[:digit:]]",
        "/w/[![:space:]]",
        "/w/[[=e=]]",
        "/w/a{1..3}",
        "/w/{x,{a..z}}",
        "/w/\\*",
        "/w/a\\ b",
        "/w/[\\]]",
        "/w/[a\\-z]",
        "/w/[\\w]",
    ] {
        assert_eq!(check(text), PatternError::Foreign, "{text}");
    }
    for text in
        ["/w/[\\]", "/w/[!\\]x", "/w/[[:]", "/w/[:x:]", "/w/a..b", "/w/{a..b,c}", "/w/[{]1..3[}]"]
    {
        assert_eq!(Pattern::check(text), Ok(()), "{text}");
    }
    assert_eq!(
        check(&format!("/{}a{}", "{".repeat(99999), "}".repeat(99999))),
        PatternError::TooLong
    );
    for text in [
        "/w/s/",
        "**/s/",
        "~/",
        "/w//k",
        "/w/./k",
        "**/x/../k",
        "/w/{a,}/k",
        "/w/{}/k",
        "/w/{a,}",
        "/w/{a/,b}",
        "/w/{a,{b,}}/k",
        "/w/{a/}/k",
    ] {
        assert_eq!(check(text), PatternError::Unclean, "{text}");
    }
    for text in ["/w/[a", "/w/{a", "/w/[z-a]"] {
        assert!(matches!(check(text), PatternError::Syntax(_)), "{text}");
    }
    let homeless = Places { home: None, ..places() };
    let denied = Tiers::new(&file_policy("deny=~/x"), None, homeless);
    assert_eq!(denied.expect_err("a hole").problem, PatternError::NoHome);
    let dropped = Tiers::new(&file_policy("read=~/x"), None, homeless).expect("only less").dropped;
    assert_eq!(dropped.len(), 1);
}

#[test]
fn a_thousand_patterns_are_one_small_table() {
    let names = (0..300).flat_map(|n| {
        [format!("deny=**/name{n}/**"), format!("deny=/w/n{n}*"), format!("prompt=**/*in{n}*")]
    });
    let judge = Judge::of(&names.collect::<Vec<_>>().join(" "));
    assert!(judge.0.len() < 1 << 20, "{}", judge.0.len());
    assert_eq!(judge.says("read", "/w/a/name299/f"), "deny deny");
    assert_eq!(judge.says("read", "/w/n299f"), "deny deny");
    assert_eq!(judge.says("read", "/w/a/in7in299.k"), "ask prompt");
    assert_eq!(judge.says("read", "/w/a/in7/b"), "allow");
    assert_eq!(judge.says("read", "/w/a/name300/f"), "allow");
}

#[test]
fn what_would_need_an_endless_table_is_refused() {
    let text = format!("deny=**/*a{}", "?".repeat(30));
    let tiers = Tiers::new(&file_policy(&text), None, places()).expect("a pattern");
    assert!(try_image_with(&[], Some(&tiers), Path::new("/w")).is_err());
}

/// A class matches within a name. An explanation must not match more than the verdict.
#[test]
fn a_pattern_by_itself_keeps_to_names() {
    let matches = |text: &str, path: &str| {
        Pattern::new(text, places(), true).expect(text).matches(Path::new(path))
    };
    assert!(matches("/w/src/*[!a-z]*", "/w/src/a_b"));
    assert!(!matches("/w/src/*[!a-z]*", "/w/src/tls/notes"));
    assert!(!matches("/w/a[+-9]b", "/w/a/b"));
}

fn pattern() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[ab]{1,2}",
        Just("*".to_owned()),
        Just("**".to_owned()),
        "a[*]",
        "[?]b",
        "\\[!a\\]",
        "[ab]\\[!c\\][ab*]"
    ];
    prop::collection::vec(part, 1..4).prop_map(|parts| format!("/{}", parts.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // conformance: tiers-6
    /// The table matches what the patterns match one by one.
    #[test]
    fn the_table_is_the_patterns(
        denied in prop::collection::vec(pattern(), 0..3),
        read in prop::collection::vec(pattern(), 0..3),
        path in prop::collection::vec("[abc]{1,2}", 0..4),
    ) {
        let path = format!("/{}", path.join("/"));
        let policy = FilePolicy { deny_paths: denied, read_paths: read, ..FilePolicy::default() };
        let tiers = Tiers::new(&policy, None, places()).expect("patterns");
        let lists: Vec<_> = tiers.matching(Path::new(&path), Path::new(&path)).map(|(list, _)| list.field()).collect();
        let grants = [rule("/", Capabilities::ALL, GrantKind::Plain)];
        let image = image_with(&grants, Some(&tiers), Path::new("/w"));
        let image = Image::parse(&image).expect("an image");
        let found = decide::lookup(&image, &Request::canonical(path.as_bytes()));
        let expected = if lists.contains(&"deny_paths") {
            Capabilities::NONE
        } else if lists.contains(&"read_paths") {
            Capabilities::READ.union(Capabilities::EXECUTE)
        } else {
            Capabilities::ALL
        };
        prop_assert_eq!(found.caps, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For a path with nothing below it, the patterns that match it suffice for the verdict.
    #[test]
    fn the_patterns_at_a_place_are_all_that_count_there(
        denied in prop::collection::vec(pattern(), 0..3),
        asked in prop::collection::vec(pattern(), 0..3),
        path in prop::collection::vec("[abc]{1,2}", 0..4),
    ) {
        let path = format!("/{}", path.join("/"));
        let policy =
            FilePolicy { deny_paths: denied, prompt_paths: asked, ..FilePolicy::default() };
        let all = Tiers::new(&policy, None, places()).expect("patterns");
        let some = all.at(&[Path::new(&path)]);
        let grants = [rule("/", Capabilities::ALL, GrantKind::Plain)];
        let judge = |tiers| Judge(image_with(&grants, Some(tiers), Path::new("/w")));
        prop_assert_eq!(judge(&all).says("read", &path), judge(&some).says("read", &path));
        prop_assert_eq!(judge(&all).says("write", &path), judge(&some).says("write", &path));
    }
}
