//! Patterns with `**` between names, which have automata of their own. Together they must match what each matches
//! alone.

use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::image::Image;
use jp_confine_engine::pattern::Places;
use jp_confine_engine::tiers::{List, Tiers};

use crate::place::{image_with, try_image_with};

const READING: Capabilities = Capabilities::READ.union(Capabilities::EXECUTE);

const ORDINARY: [&str; 5] = [
    "**/secrets/**/*.pem",
    "**/config/**/*.key",
    "**/infra/**/*.tfvars",
    "**/deploy/**/*.yaml",
    "**/certs/**/*.crt",
];

/// Numbers that look random and are always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }

    fn any<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn name(&mut self) -> String {
        (0..=self.below(2)).map(|_| self.any(&["a", "b", "c"])).collect()
    }

    /// A pattern that mostly has `**` between names.
    fn pattern(&mut self) -> String {
        let begin = self.any(&["**/", "/", "/**/", "/*/", "/a/b/", "/{a,b}/", "/a/?/"]);
        let middle = self.any(&["/**/", "/**/", "/**/", "*/**/", "/*/", "/**/c/**/"]);
        let end = self.any(&["", "", "*", "/**", "{,/b}", "[!a]"]);
        format!("{begin}{}{middle}{}{end}", self.name(), self.name())
    }

    fn path(&mut self) -> PathBuf {
        let begin = Path::new(self.any(&["/", "/a/b", "/a"])).to_owned();
        (0..=self.below(5)).fold(begin, |path, _| path.join(self.name()))
    }
}

fn rule(anchor: &str) -> Grant {
    let origin = Origin::Rule { layer: "test".into(), index: 0, line: None, path: anchor.into() };
    Grant::new(anchor.into(), Capabilities::ALL, GrantKind::Plain, origin)
}

fn tiers(deny: Vec<String>, read: Vec<String>, sensitive: &[String]) -> Tiers {
    let policy = FilePolicy { deny_paths: deny, read_paths: read, ..FilePolicy::default() };
    let places = Places::without_home(Path::new("/w"));
    Tiers::new(&policy, Some(sensitive), places).expect("patterns")
}

fn denying(patterns: &[&str]) -> Vec<u8> {
    let tiers = tiers(patterns.iter().map(|&text| text.to_owned()).collect(), vec![], &[]);
    image_with(&[rule("/"), rule("/w/deep")], Some(&tiers), Path::new("/w"))
}

fn request(path: &str) -> Request<'_> {
    Request::canonical(path.as_bytes())
}

/// The capabilities that patterns leave, asked one by one. `None` if a prompt is needed.
fn expected(tiers: &Tiers, path: &Path) -> Option<Capabilities> {
    let matching: Vec<&str> = tiers.matching(path, path).map(|(list, _)| list.field()).collect();
    match () {
        () if matching.contains(&"deny_paths") => Some(Capabilities::NONE),
        () if matching.contains(&List::Sensitive.field()) => None,
        () if matching.contains(&"read_paths") => Some(READING),
        () => Some(Capabilities::ALL),
    }
}

#[test]
fn many_automata_say_what_the_patterns_say() {
    let mut numbers = Numbers(1);
    for count in [1, 2, 5, 40] {
        let mut patterns = |count| (0..count).map(|_| numbers.pattern()).collect::<Vec<_>>();
        let tiers = tiers(patterns(count), patterns(count / 2), &patterns(count / 3));
        let grants = [rule("/"), rule("/a/b"), rule("/b")];
        let image = image_with(&grants, Some(&tiers), Path::new("/w"));
        let image = Image::parse(&image).expect("an image");
        let paths: Vec<PathBuf> = (0..80).map(|_| numbers.path()).collect();
        for path in &paths {
            let bytes = path.to_str().expect("UTF-8");
            let found = decide::lookup(&image, &request(bytes));
            let expected = expected(&tiers, path);
            assert_eq!(found.caps, expected.unwrap_or_default(), "{count}: {bytes}: {found:?}");
            assert_eq!(found.asks.is_empty(), expected.is_some(), "{count}: {bytes}: {found:?}");
            for above in path.ancestors().skip(1) {
                let above = above.to_str().expect("UTF-8");
                let may = decide::may_grant_below(&image, above.as_bytes(), READING);
                assert!(may || !found.caps.contains(READING), "{count}: {above}: {bytes}");
                let withheld = decide::lookup(&image, &request(above)).withheld_below;
                assert!(withheld || found.caps == Capabilities::ALL || !found.asks.is_empty());
            }
        }
    }
}

/// Each start builds the table, and each process maps it.
#[test]
fn a_hundred_of_them_are_one_small_table() {
    assert!(denying(&ORDINARY).len() < 1 << 14);
    let patterns: Vec<String> = (0..100).map(|n| format!("**/dir{n}/**/*.x{}", n % 9)).collect();
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let image = denying(&patterns);
    assert!(image.len() < 1 << 19, "{}", image.len());
    let image = Image::parse(&image).expect("an image");
    let caps = |path| decide::lookup(&image, &request(path)).caps;
    assert_eq!(caps("/w/dir99/a/b.x0"), Capabilities::NONE);
    assert_eq!(caps("/w/deep/dir99/dir98/b.x8"), Capabilities::NONE);
    assert_eq!(caps("/w/dir99/b.x1"), Capabilities::ALL);
}

#[test]
fn what_is_too_much_apart_as_well_is_refused_with_a_way_out() {
    let pattern = format!("**/x/**/*a{}", "?".repeat(30));
    let refused = try_image_with(&[], Some(&tiers(vec![pattern], vec![], &[])), Path::new("/w"));
    let told = refused.expect_err("too much").to_string();
    assert!(
        told.contains("file_policy") && told.contains("`<workspace>/folder/**/*.pem`"),
        "{told}"
    );
}

#[test]
fn a_folder_does_not_leave_a_pattern_with_an_automaton_of_its_own_behind() {
    let image = denying(&ORDINARY);
    let image = Image::parse(&image).expect("an image");
    for (from, to, goes) in [
        ("/w/secrets/a", "/w/secrets/b", true),
        ("/w/secrets/a", "/w/secrets/b/c", true),
        ("/w/secrets/a", "/w/a", false),
        ("/w/secrets", "/w/a", false),
        ("/w/secrets/a", "/w/config/a", false),
        ("/w/certs/a", "/w/deep/certs/b", true),
        ("/w/certs/a", "/w/deep/b", false),
        ("/w/secrets/config/a", "/w/config/secrets/a", true),
        ("/w/a", "/w/b", true),
        ("/w/secrets/config/a", "/w/config/a", false),
    ] {
        let verdict = decide::relocate(&image, &request(from), &request(to));
        assert_eq!(verdict == Verdict::Allow, goes, "{from} to {to}: {verdict:?}");
    }
}

/// Where tiers do not decide, everything would be granted.
#[test]
fn a_folder_does_not_go_to_where_no_tier_is_asked() {
    let own = Origin::Product { why: "temp".to_owned() };
    let own = Grant::new("/tmp/run".into(), Capabilities::ALL, GrantKind::Plain, own);
    let tiers = tiers(ORDINARY.map(str::to_owned).to_vec(), vec![], &[]);
    let image = image_with(&[rule("/w"), own], Some(&tiers), Path::new("/w"));
    let image = Image::parse(&image).expect("an image");
    let relocate = |from, to| decide::relocate(&image, &request(from), &request(to));
    assert_ne!(relocate("/w/secrets/a", "/tmp/run/secrets/a"), Verdict::Allow);
    assert_ne!(relocate("/w/a", "/tmp/run/a"), Verdict::Allow);
    assert_eq!(relocate("/tmp/run/a", "/w/a"), Verdict::Allow);
}

#[test]
fn where_all_is_denied_nothing_is_granted_below() {
    let image = denying(&["/w/no/**", "**/a/**/b", "**/c/**/d"]);
    let image = Image::parse(&image).expect("an image");
    let may = |path: &str| decide::may_grant_below(&image, path.as_bytes(), READING);
    assert!(may("/w") && may("/w/a") && may("/w/deep/c"));
    assert!(!may("/w/no") && !may("/w/no/a") && !may("/w/no/a/b"));
}
