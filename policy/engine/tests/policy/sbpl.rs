//! Compares profiles for macOS with the verdicts of the policy. Nothing here runs on macOS: an evaluator stands in.

use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::autorun::list::Place;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::image::Image;
use jp_confine_engine::sbpl::{Source, profile};
use jp_confine_engine::tier::Tier;
use jp_confine_engine::tiers::Tiers;
use proptest::prelude::*;

use crate::place::{file_policy as written, image_with};
use crate::sbpl_evaluator::{Matching, Profile};
use crate::tiers::{grants as usual_grants, places};

const WORKSPACE: &str = "/w";

/// A symlink to the workspace.
const SPELLED: &str = "/l/v";

/// The places that rules, patterns and paths begin at.
const BEGINS: [&str; 6] = ["/w", "/w/a", "/h", "/h/a", "/o", "/l"];

/// Names that paths are made of: some with a meaning in strings and expressions, some of auto-run files.
const NAMES: [&str; 18] = [
    "a", "b", "ab", "é", "a b", "q\"x", "b\\s", "a+b", "(a)", "a.b", "a\nb", "*", ".env", ".git",
    "hooks", "config", ".envrc", "x.sample",
];

/// What a pattern may have instead of a name.
const GLOBS: [&str; 12] =
    ["*", "?", "??", "**", "[ab]", "[!a]", "{a,b}", "a*", "*.b", "[é]", "[[]*", "{a,}b"];

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&NAMES[..])
}

fn path() -> impl Strategy<Value = String> {
    let names = prop::collection::vec(name(), 0..4);
    (prop::sample::select(&BEGINS[..]), names).prop_map(|(begin, names)| {
        names.iter().fold(begin.to_owned(), |path, name| path + "/" + name)
    })
}

fn pattern() -> impl Strategy<Value = String> {
    let begin = prop::sample::select(&["/w", "/h", "/o", "**", "<workspace>", "~"][..]);
    let part = prop_oneof![
        prop::sample::select(&GLOBS[..]),
        prop::sample::select(&["a", "b", "ab", ".env", "é", "a.b", ".envrc"][..]),
    ];
    (begin, prop::collection::vec(part, 1..4))
        .prop_map(|(begin, parts)| format!("{begin}/{}", parts.join("/")))
        .prop_filter("patterns", |text| jp_confine_engine::pattern::Pattern::check(text).is_ok())
}

fn patterns() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(pattern(), 0..3)
}

fn file_policy() -> impl Strategy<Value = FilePolicy> {
    let default = prop_oneof![
        3 => Just(None),
        1 => prop::sample::select(&Tier::ALL[..]).prop_map(Some),
    ];
    (default, patterns(), patterns(), patterns(), patterns()).prop_map(
        |(default, deny_paths, prompt_paths, read_paths, write_paths)| FilePolicy {
            default,
            deny_paths,
            prompt_paths,
            read_paths,
            write_paths,
        },
    )
}

/// Grants of all kinds, with the dropped targets of external rules among them.
fn grant() -> impl Strategy<Value = Grant> {
    let external = || "[ab]".prop_map(|lexical_path| GrantKind::External { lexical_path });
    let kind = prop_oneof![
        8 => Just(GrantKind::Plain),
        2 => external(),
        1 => Just(GrantKind::Tombstone { lexical_path: None }),
        1 => Just(GrantKind::Hidden),
        1 => Just(GrantKind::Control),
    ];
    let origin = prop_oneof![
        4 => Just(Origin::Rule { layer: "p".into(), index: 0, line: None, path: "a\n)".into() }),
        1 => Just(Origin::Flag { text: "-r".into() }),
        1 => Just(Origin::Baseline { entry: "/usr".into() }),
        1 => any::<bool>().prop_map(|named| {
            Origin::Profile { name: "p".into(), entry: "e".into(), named }
        }),
        1 => Just(Origin::Product { why: "temp".into() }),
    ];
    let exclusions = prop::collection::vec(
        prop::sample::select(&["a", "*/b", "a*", ".env", "a.b/*"][..]).prop_map(str::to_owned),
        0..2,
    );
    (path(), 0_u8..32, kind, origin, exclusions).prop_map(
        |(anchor, bits, kind, origin, exclusions)| {
            let caps = match kind {
                GrantKind::Tombstone { .. } | GrantKind::Hidden | GrantKind::Control => 0,
                _ => bits,
            };
            let caps = Capabilities::from_bits(caps);
            let grant = Grant::new(PathBuf::from(anchor), caps, kind, origin);
            Grant { carve_outs: exclusions, ..grant }
        },
    )
}

fn bases() -> impl Strategy<Value = Vec<(Place, PathBuf)>> {
    let all = [
        (Place::Top, "/w"),
        (Place::Top, "/w/a"),
        (Place::Repository, "/o/.git"),
        (Place::Hooks, "/w/hooks"),
        (Place::Included, "/w/config"),
        (Place::Home, "/h"),
    ];
    let all = all.map(|(place, path)| (place, PathBuf::from(path)));
    prop::sample::subsequence(all.to_vec(), 0..=6)
}

/// Some grants, the first of which stands on the workspace, as one always does.
fn grants() -> impl Strategy<Value = Vec<Grant>> {
    prop::collection::vec(grant(), 0..7).prop_map(|grants| {
        let origin = Origin::Product { why: "declared".into() };
        let sentinel =
            Grant::new(WORKSPACE.into(), Capabilities::NONE, GrantKind::Sentinel, origin);
        [sentinel].into_iter().chain(grants).collect()
    })
}

/// A policy, and its profile.
struct Printed {
    image: Vec<u8>,
    text: String,
    profile: Profile,
}

impl Printed {
    fn of(grants: &[Grant], tiers: &Tiers) -> Self {
        let bytes =
            image_with(grants, Some(tiers).filter(|it| !it.is_empty()), Path::new(WORKSPACE));
        let image = Image::parse(&bytes).expect("an image");
        let text = profile(&Source {
            grants,
            image: &image,
            tiers,
            workspace: Path::new(WORKSPACE),
            spelled: Some(Path::new(SPELLED)),
            has_network: false,
        });
        let profile = Profile::parse(&text);
        Self { image: bytes, text, profile }
    }

    /// Each operation on the path: its name, whether the profile allows it, and whether the policy does.
    fn verdicts(&self, path: &str, how: Matching) -> Vec<(&'static str, bool, bool)> {
        let image = Image::parse(&self.image).expect("an image");
        let canonical = match path.strip_prefix(SPELLED) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{WORKSPACE}{rest}"),
            _ => path.to_owned(),
        };
        let request = Request::canonical(canonical.as_bytes());
        let may = |need| decide::access(&image, &request, need) == Verdict::Allow;
        let changes = [Capabilities::CREATE, Capabilities::UPDATE, Capabilities::DELETE];
        let allowed = [
            ("file-read-data", may(Capabilities::READ)),
            ("file-read-xattr", may(Capabilities::READ)),
            ("file-read-metadata", decide::metadata(&image, &request) == Verdict::Allow),
            ("file-write-data", changes.into_iter().any(may)),
            ("file-write-create", changes.into_iter().any(may)),
            ("process-exec", may(Capabilities::EXECUTE)),
            ("file-map-executable", may(Capabilities::EXECUTE)),
        ];
        let verdict = |(operation, policy)| {
            (operation, self.profile.allows(operation, path.as_bytes(), how), policy)
        };
        allowed.map(verdict).to_vec()
    }
}

/// The paths to ask about: generated ones, those of the grants, and the same by the other spelling.
fn asked(grants: &[Grant], paths: Vec<String>, below: &str) -> Vec<String> {
    let anchors = grants.iter().map(|grant| grant.anchor.display().to_string());
    let named: Vec<String> = anchors.chain(paths).collect();
    let deeper: Vec<String> = named.iter().map(|path| format!("{path}/{below}")).collect();
    let all = || named.iter().chain(&deeper);
    let spelled = all().filter_map(|path| Some(SPELLED.to_owned() + path.strip_prefix(WORKSPACE)?));
    all().cloned().chain(spelled).collect()
}

/// `*` may be empty, and so may the name before the root's slash: `**/*/*` matches `/w`.
#[test]
fn a_first_name_that_may_be_empty_is_the_root_s() {
    let tiers = Tiers::new(&written("prompt=**/*/*"), Some(&[]), places()).expect("patterns");
    for (_, profile, policy) in Printed::of(&usual_grants(), &tiers).verdicts("/w", Matching::Bytes)
    {
        assert!(policy || !profile);
    }
}

/// A policy of which each denial in the profile matters, and paths that show it.
#[test]
fn each_denial_of_a_profile_is_noticed_if_it_is_missing() {
    let policy = written(
        "deny=/w/no/* prompt=/w/ask read=/w/look/** write=/o/** deny=/o/no read=/o/look/**",
    );
    let bases = vec![(Place::Top, "/w".into()), (Place::Top, "/o".into())];
    let tiers = Tiers::new(&policy, Some(&[]), places()).expect("patterns");
    let tiers = tiers.guarding(bases, &[], &["/w/.mcp.json".into()], places()).expect("patterns");
    let mut grants = usual_grants();
    grants[0].carve_outs = vec!["*.old".into()];
    let printed = Printed::of(&grants, &tiers);
    let names = "f no/f ask look/f a.old .env .envrc .git/hooks/f ro/f ro/.env own all/f all/.env \
                 all/.envrc .ssh/config .ssh/id .aws/credentials run/.env";
    let begins = ["/w", "/h", "/o", "/tmp", SPELLED];
    let below = |begin: &&str| names.split(' ').map(|name| format!("{begin}/{name}")).collect();
    let paths: Vec<String> = begins.iter().flat_map::<Vec<_>, _>(below).collect();
    let is_wide = |profile: Profile| {
        let changed = Printed { image: printed.image.clone(), text: String::new(), profile };
        paths.iter().any(|path| {
            let verdicts = changed.verdicts(path, Matching::Bytes);
            verdicts.iter().any(|(_, profile, policy)| *profile && !policy)
        })
    };
    assert!(!is_wide(Profile::parse(&printed.text)));
    let denials: Vec<_> =
        printed.text.match_indices("\n(deny file").map(|(at, _)| at + 1).collect();
    assert!(denials.len() > 10, "{}", printed.text);
    for at in denials {
        let rest = &printed.text[at..];
        let ends = |at: &(usize, &str)| !rest[at.0 + 1..].starts_with(' ');
        let (length, _) = rest.match_indices('\n').find(ends).expect("an end");
        let denial = &rest[..length];
        let text = [&printed.text[..at], &rest[length..]].concat();
        assert!(is_wide(Profile::parse(&text)), "{denial}\n{}", printed.text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    // conformance: 076-154
    #[test]
    fn a_profile_allows_nothing_that_the_policy_denies(
        grants in grants(),
        own in file_policy(),
        theirs in file_policy(),
        (bases, autorun, released) in (bases(), patterns(), patterns()),
        paths in prop::collection::vec(path(), 8),
        below in name(),
        how in prop::sample::select(&[Matching::Bytes, Matching::Characters][..]),
    ) {
        let mut tiers = Tiers::new(&own, Some(&[]), places()).expect("patterns");
        tiers.restrict(&theirs, places(), |_, _, _| false).expect("patterns");
        let tiers = tiers.guarding(bases, &autorun, &released, places()).expect("patterns");
        let printed = Printed::of(&grants, &tiers);
        for path in asked(&grants, paths, below) {
            for (operation, profile, policy) in printed.verdicts(&path, how) {
                prop_assert!(policy || !profile, "{} {:?}\n{}", operation, path, printed.text);
            }
        }
    }

    /// Without patterns, it denies nothing else either.
    #[test]
    fn a_profile_of_rules_alone_is_exact(
        grants in grants(),
        paths in prop::collection::vec(path(), 8),
        below in name(),
    ) {
        let printed = Printed::of(&grants, &Tiers::default());
        for path in asked(&grants, paths, below) {
            for (operation, profile, policy) in printed.verdicts(&path, Matching::Bytes) {
                prop_assert_eq!(profile, policy, "{} {:?}\n{}", operation, path, printed.text);
            }
        }
    }
}
