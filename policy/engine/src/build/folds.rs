//! Writes the second form of an image, in which all names are folded, for file systems that ignore case.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;

use super::ImageSpec;
use crate::build::bytes::intern;
use crate::build_error::BuildError;
use crate::capability::Capabilities;
use crate::fold_table::{FoldTable, Volume};
use crate::grant::{Grant, GrantKind};
use crate::volume::{self, Fold};

/// The data of an image's second form besides the folded policy: see [`crate::volume`].
pub(super) struct Ground<'a> {
    /// The policy as written.
    pub(super) exact: &'a ImageSpec<'a>,
    folds: FoldTable,
}

impl Ground<'_> {
    /// The volumes in the form of an image. Their paths go into its `bytes`.
    pub(super) fn volumes(
        &self,
        bytes: &mut Vec<u8>,
    ) -> Result<Vec<volume::ImageVolume>, BuildError> {
        let volume = |volume: &Volume| {
            let root = intern(bytes, volume.root.as_os_str().as_bytes())?;
            Ok(volume::ImageVolume { root, aliased: u32::from(volume.aliased).into() })
        };
        self.exact.volumes.iter().map(volume).collect()
    }

    /// The folded forms of characters, and their texts.
    pub(super) fn folds(&self) -> (&[Fold], &[u8]) {
        (&self.folds.table, &self.folds.texts)
    }
}

/// The image of the policy with all names folded. Empty if case is ignored nowhere.
pub(super) fn form(exact: &ImageSpec<'_>) -> Result<Vec<u8>, BuildError> {
    if exact.volumes.is_empty() {
        return Ok(Vec::new());
    }
    let ground = Ground { exact, folds: FoldTable::new() };
    let grants = grants(&ground.folds, exact);
    let tiers = exact.tiers.map(|tiers| tiers.folded(&ground.folds, exact.volumes));
    let tiers = tiers.transpose().map_err(|_| BuildError::TooIntricate)?;
    let spec = ImageSpec { tiers: tiers.as_ref(), ..ImageSpec::to_ask(&grants, exact.workspace) };
    super::image(&spec, &[], Some(&ground))
}

/// The anchor of rules that concern no volume. No folded name has such letters.
const ELSEWHERE: &str = "/ELSEWHERE";

/// The grants with their names folded. If names become equal, each grants only what all grant.
fn grants(folds: &FoldTable, exact: &ImageSpec<'_>) -> Vec<Grant> {
    let is_about = |grant: &Grant, volume: &Volume| {
        grant.anchor.starts_with(&volume.root) || volume.root.starts_with(&grant.anchor)
    };
    let folded = |grant: &Grant| {
        let is_about = exact.volumes.iter().any(|volume| is_about(grant, volume));
        if is_about { folds.path(&grant.anchor) } else { PathBuf::from(ELSEWHERE) }
    };
    // Of grants on the very same path the last wins.
    let mut winners: HashMap<&Path, &Grant> = HashMap::new();
    let declared = exact.grants.iter().filter(|grant| grant.kind != GrantKind::Control);
    winners.extend(declared.map(|grant| (grant.anchor.as_path(), grant)));
    let mut common: HashMap<PathBuf, (Capabilities, Vec<String>)> = HashMap::new();
    for grant in winners.into_values() {
        let carve_outs = grant.carve_outs.iter().map(|text| folds.folded_text(text));
        let all = (Capabilities::ALL, Vec::new());
        let (caps, excluded) = common.entry(folded(grant)).or_insert(all);
        *caps = caps.intersection(grant.caps);
        excluded.extend(carve_outs);
    }
    let fold = |grant: &Grant| {
        let anchor = folded(grant);
        let none = (Capabilities::NONE, Vec::new());
        let (caps, carve_outs) = common.get(&anchor).cloned().unwrap_or(none);
        Grant { anchor, caps, carve_outs, ..grant.clone() }
    };
    exact.grants.iter().map(fold).collect()
}
