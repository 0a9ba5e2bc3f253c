//! Collects what a run used outside of the workspace under options and external rules.

use std::collections::BTreeMap;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{GrantKind, Origin};
use jp_confine_engine::decide::{self, Request};

use super::replay::ReplayStage;
use crate::compile::image;
use crate::error::Failure;
use crate::launch::outcome::Ran;
use crate::record::usage::Uses;

/// The sources of such grants, each with its number of uses.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    /// Command-line options. A policy file of a workspace cannot contain them.
    pub(crate) options: BTreeMap<String, u64>,
    /// External rules by their own paths, with the rights that were used.
    pub(crate) external: BTreeMap<String, (Capabilities, u64)>,
}

impl Outside {
    /// Collects them from the uses of a run.
    pub(crate) fn of(ran: &Ran, stage: &ReplayStage<'_>, uses: &Uses) -> Result<Self, Failure> {
        let image = image::parse_image(&ran.prepared.image)?;
        let mut outside = Self::default();
        for (one, count) in &uses.counts {
            for part in one.parts().filter(|part| stage.inside(part.path).is_none()) {
                let rule = decide::lookup(&image, &Request::canonical(part.path)).rule;
                let grant = rule.and_then(|rule| ran.prepared.grants.get(rule.index()));
                let Some(grant) = grant else { continue };
                if let Origin::Flag { text } = &grant.origin {
                    *outside.options.entry(text.clone()).or_default() += count;
                } else if let GrantKind::External { lexical_path } = &grant.kind {
                    let (caps, times) = outside.external.entry(lexical_path.clone()).or_default();
                    (*caps, *times) = (caps.union(part.caps), *times + count);
                }
            }
        }
        Ok(outside)
    }
}
