//! Generates random policies.

use std::path::{Path, PathBuf};

use arbitrary::{Arbitrary, Result, Unstructured};
use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Beyond, Grant, GrantKind, ImageSpec, Origin, build};
use jp_confine_engine::commands::{CommandRule, Listed};
use jp_confine_engine::env::{Env, EnvRule};
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::pattern::Places;
use jp_confine_engine::tier::Tier;
use jp_confine_engine::tiers::Tiers;

use crate::tree::name;

/// Patterns of tiers, with the names of a tree in `/w`.
const PATTERNS: [&str; 10] = [
    "/w/a/**",
    "**/b",
    "/w/*/c",
    "**/a*",
    "/w/{a,ab}/**",
    "/w/?",
    "/**",
    "/w/**/c/[!a]",
    "**/a/**/b",
    "/w/*/**/c{,/b}",
];

/// Words for rules about variables and programs.
const WORDS: [&str; 6] = ["/w/a", "a", "b", "/w/a/b", "ab", ""];

/// Up to eight grants on the names of a tree and above it, with relative anchors. Also tiers, and rules about variables
/// and programs.
#[derive(Debug)]
pub(crate) struct Policy {
    grants: Vec<Grant>,
    tiers: FilePolicy,
    env: Vec<EnvRule>,
    commands: Option<Vec<Listed>>,
}

impl Arbitrary<'_> for Policy {
    fn arbitrary(u: &mut Unstructured<'_>) -> Result<Self> {
        let count = u.int_in_range(0..=8)?;
        let grants = (0..count).map(|_| grant(u)).collect::<Result<_>>()?;
        let mut tiers = FilePolicy::default();
        if u.ratio(1, 3)? {
            tiers.default =
                *u.choose(&[None, Some(Tier::Deny), Some(Tier::Prompt), Some(Tier::Read)])?;
            for _ in 0..u.int_in_range(0..=3)? {
                let tier = *u.choose(&Tier::ALL)?;
                tiers.list_mut(tier).push((*u.choose(&PATTERNS)?).to_owned());
            }
        }
        let env = (0..u.int_in_range(0..=2)?).map(|_| variable(u)).collect::<Result<_>>()?;
        let limited = u.ratio(1, 3)?;
        let commands = (0..u.int_in_range(0..=2)?).map(|_| program(u)).collect::<Result<_>>()?;
        Ok(Self { grants, tiers, env, commands: limited.then_some(commands) })
    }
}

fn word(u: &mut Unstructured<'_>) -> Result<String> {
    u.choose(&WORDS).map(|word| (*word).to_owned())
}

fn variable(u: &mut Unstructured<'_>) -> Result<EnvRule> {
    let name = if u.ratio(1, 2)? { "a*" } else { "/w/a" };
    Ok(EnvRule { name: name.to_owned(), read: u.arbitrary()?, ..EnvRule::default() })
}

fn program(u: &mut Unstructured<'_>) -> Result<Listed> {
    let mut rule = CommandRule { envs: vec!["a*".to_owned()], ..CommandRule::default() };
    if u.arbitrary()? {
        let words = (0..u.int_in_range(0..=2)?).map(|_| word(u)).collect::<Result<_>>()?;
        rule.args = Some(vec![words, vec!["**".to_owned()]]);
    }
    Ok(Listed { key: word(u)?, program: word(u)?.into(), rule })
}

fn grant(u: &mut Unstructured<'_>) -> Result<Grant> {
    let anchor = if u.ratio(1, 6)? { String::new() } else { name(u)? };
    let kind = match u.int_in_range(0..=9)? {
        0..=4 => GrantKind::Plain,
        5 => GrantKind::External { lexical_path: name(u)? },
        6 => GrantKind::Tombstone { lexical_path: None },
        7 => GrantKind::Tombstone { lexical_path: Some(name(u)?) },
        8 => GrantKind::Hidden,
        _ => GrantKind::Control,
    };
    let caps = Capabilities::from_bits(u.int_in_range(0..=31)?);
    let origin = Origin::Product { why: String::new() };
    let mut grant = Grant::new(PathBuf::from(anchor), caps, kind, origin);
    if u.ratio(1, 4)? {
        grant.carve_outs.push(String::from(*u.choose(&["a", "*/b", "*", "a*", "b/*/c", "*a*b"])?));
    }
    Ok(grant)
}

impl Policy {
    /// The image of this policy, with its anchors below `folder`. `alias` is a symlink known beforehand.
    ///
    /// # Panics
    /// If an anchor is not canonical. Generated ones are.
    pub(crate) fn image(&self, folder: &Path, alias: Option<(PathBuf, PathBuf)>) -> Vec<u8> {
        let absolute = |grant: &Grant| {
            let anchor = match grant.anchor.as_os_str().is_empty() {
                true => folder.to_owned(),
                false => folder.join(&grant.anchor),
            };
            Grant { anchor, ..grant.clone() }
        };
        let grants: Vec<Grant> = self.grants.iter().map(absolute).collect();
        let aliases: Vec<_> = alias.into_iter().collect();
        let nowhere = Path::new("/nowhere");
        let places = Places::without_home(folder);
        let tiers = Tiers::new(&self.tiers, None, places).expect("generated patterns stand");
        let env = Env::new(&self.env).expect("generated names stand");
        let spec = ImageSpec {
            grants: &grants,
            tiers: (!tiers.is_empty()).then_some(&tiers),
            beyond: Beyond { env: Some(&env), commands: self.commands.as_deref() },
            workspace: folder,
            volumes: &[],
            aliases: &aliases,
            views: &[],
            session: 7,
            shim_path: nowhere,
            events_path: nowhere,
            temp_dir: nowhere,
            shared_page: nowhere,
            json: b"{}",
        };
        build(&spec).expect("generated anchors are canonical")
    }
}
