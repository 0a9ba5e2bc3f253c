//! Generates random policies with all kinds of rules, tiers and sensitive paths, on a few fixed directories.

use std::path::{Path, PathBuf};

use arbitrary::{Arbitrary, Result, Unstructured};
use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Beyond, Grant, GrantKind, ImageSpec, Origin, build};
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::pattern::Places;
use jp_confine_engine::tier::Tier;
use jp_confine_engine::tiers::Tiers;

/// Anchors of rules: in the workspace `/w`, outside, and in the home `/h`.
const ANCHORS: [&str; 14] = [
    "/w",
    "/w/p",
    "/w/p/a",
    "/w/p/a/d",
    "/w/ro",
    "/o",
    "/o/p",
    "/o/p/a",
    "/o/p/a/.env",
    "/p",
    "/tmp/run",
    "/h",
    "/h/all",
    "/h/all/a/d",
];

/// Patterns of tiers. Some match sensitive paths, or a directory and nothing in it.
const PATTERNS: [&str; 16] = [
    "**/*.pem",
    "**/k",
    "**/d/**",
    "/w/**",
    "/w/p/**",
    "/w/p/a",
    "/w/p/*",
    "/o/**",
    "/o/p/*",
    "/o/p/a/**",
    "/o/*",
    "/p/**",
    "/h/**",
    "/h/all/*/d",
    "/**/.env",
    "/tmp/run/*",
];

/// Exclusions of rules.
const EXCLUDED: [&str; 5] = ["k", "*/k", "a/*", "a", "*/*.pem"];

/// A policy with the anchors and patterns of this module.
#[derive(Debug)]
pub(crate) struct Tiered {
    grants: Vec<Grant>,
    own: FilePolicy,
    theirs: FilePolicy,
    with_sensitive: bool,
}

impl Arbitrary<'_> for Tiered {
    fn arbitrary(u: &mut Unstructured<'_>) -> Result<Self> {
        let grants = (0..u.int_in_range(1..=7)?).map(|_| grant(u)).collect::<Result<_>>()?;
        let (own, theirs) = (file_policy(u)?, file_policy(u)?);
        Ok(Self { grants, own, theirs, with_sensitive: u.arbitrary()? })
    }
}

fn file_policy(u: &mut Unstructured<'_>) -> Result<FilePolicy> {
    let mut policy = FilePolicy::default();
    if u.ratio(1, 3)? {
        policy.default = Some(*u.choose(&Tier::ALL)?);
    }
    for _ in 0..u.int_in_range(0..=3)? {
        let tier = *u.choose(&Tier::ALL)?;
        policy.list_mut(tier).push((*u.choose(&PATTERNS)?).to_owned());
    }
    Ok(policy)
}

fn grant(u: &mut Unstructured<'_>) -> Result<Grant> {
    let anchor = (*u.choose(&ANCHORS)?).to_owned();
    let product = || Origin::Product { why: anchor.clone() };
    let rule = || Origin::Rule { layer: "fuzz".into(), index: 0, line: None, path: anchor.clone() };
    let (kind, origin) = match u.int_in_range(0..=9)? {
        0..=2 => (GrantKind::Plain, rule()),
        3 => (GrantKind::Plain, Origin::Flag { text: "-w".to_owned() }),
        4 => {
            let entry = anchor.clone();
            (
                GrantKind::Plain,
                Origin::Profile { name: "mine".to_owned(), entry, named: u.arbitrary()? },
            )
        }
        5 => (GrantKind::Plain, Origin::Baseline { entry: anchor.clone() }),
        6 => (GrantKind::Plain, product()),
        7 => (GrantKind::Workspace, product()),
        8 => (GrantKind::Hidden, product()),
        _ => (GrantKind::Tombstone { lexical_path: None }, rule()),
    };
    let is_open = matches!(kind, GrantKind::Plain | GrantKind::Workspace);
    let caps = if u.ratio(2, 3)? { 31 } else { u.int_in_range(0..=31)? };
    let caps = if is_open { Capabilities::from_bits(caps) } else { Capabilities::NONE };
    let mut grant = Grant::new(PathBuf::from(anchor), caps, kind, origin);
    if u.ratio(1, 5)? {
        grant.carve_outs.push((*u.choose(&EXCLUDED)?).to_owned());
    }
    Ok(grant)
}

impl Tiered {
    /// The image of this policy.
    ///
    /// # Panics
    /// If an anchor is not canonical or a pattern is invalid. Those here are neither.
    pub(crate) fn image(&self) -> Vec<u8> {
        let (workspace, nowhere) = (Path::new("/w"), Path::new("/nowhere"));
        let homes = [PathBuf::from("/h")];
        let places = Places { home: Some(Path::new("/h")), protected: &homes, workspace };
        let sensitive: Option<&[String]> = self.with_sensitive.then_some(&[]);
        let mut tiers = Tiers::new(&self.own, sensitive, places).expect("patterns that stand");
        tiers.restrict(&self.theirs, places, |_, _, _| false).expect("patterns that stand");
        let spec = ImageSpec {
            grants: &self.grants,
            tiers: (!tiers.is_empty()).then_some(&tiers),
            beyond: Beyond::default(),
            workspace,
            volumes: &[],
            aliases: &[],
            views: &[],
            session: 7,
            shim_path: nowhere,
            events_path: nowhere,
            temp_dir: nowhere,
            shared_page: nowhere,
            json: b"{}",
        };
        build(&spec).expect("canonical anchors")
    }
}
