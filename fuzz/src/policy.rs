//! Random grants.

use std::path::{Path, PathBuf};

use arbitrary::{Arbitrary, Result, Unstructured};
use jp_confine_policy::Capabilities;
use jp_confine_policy::build::{Grant, GrantKind, ImageSpec, Origin, build};

use crate::tree::name;

/// Up to eight grants on the names of a tree and above it; anchors are relative.
#[derive(Debug)]
pub struct Grants(Vec<Grant>);

impl Arbitrary<'_> for Grants {
    fn arbitrary(u: &mut Unstructured<'_>) -> Result<Self> {
        let count = u.int_in_range(0..=8)?;
        Ok(Self((0..count).map(|_| grant(u)).collect::<Result<_>>()?))
    }
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

impl Grants {
    /// The image of these grants on anchors below `folder`. `alias` is a link known beforehand.
    ///
    /// # Panics
    /// Where an anchor is not canonical, which generated ones are.
    #[must_use]
    pub fn image(&self, folder: &Path, alias: Option<(PathBuf, PathBuf)>) -> Vec<u8> {
        let absolute = |grant: &Grant| {
            let anchor = match grant.anchor.as_os_str().is_empty() {
                true => folder.to_owned(),
                false => folder.join(&grant.anchor),
            };
            Grant { anchor, ..grant.clone() }
        };
        let grants: Vec<Grant> = self.0.iter().map(absolute).collect();
        let aliases: Vec<_> = alias.into_iter().collect();
        let nowhere = Path::new("/nowhere");
        let spec = ImageSpec {
            grants: &grants,
            tiers: None,
            workspace: folder,
            aliases: &aliases,
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
