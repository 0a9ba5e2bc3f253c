//! Rules on links that lead out of the workspace: where one is approved, another one on the same link grants more of
//! what that leads to, and nobody is asked again.

use std::path::Path;

use jp_confine_policy::build::{Grant, GrantKind, Origin};

use super::{Advisor, granted};
use crate::asked::Step;

impl Advisor<'_> {
    /// The link of an approved rule that leads to `place`, if one more on it would count there. Ready-made grants
    /// yield to rules, and options outweigh them.
    pub(super) fn link_to(&self, place: &Path) -> Option<&str> {
        let at = || self.grants.iter().filter(|grant| grant.anchor == place);
        let is_outweighed = at().any(|grant| match grant.origin {
            Origin::Rule { line, .. } => line.is_none(),
            Origin::Baseline { .. } | Origin::Profile { .. } => false,
            _ => true,
        });
        let mut link = at().filter_map(|grant| match &grant.kind {
            GrantKind::External { lexical_path } => Some(lexical_path.as_str()),
            _ => None,
        });
        link.next_back().filter(|_| !is_outweighed)
    }

    /// The step as a rule: on that link, or else on its place.
    pub(super) fn by_link(&self, step: &Step) -> Grant {
        let link = self.link_to(&step.place);
        let external = |link: &str| GrantKind::External { lexical_path: link.to_owned() };
        Grant { kind: link.map_or(GrantKind::Plain, external), ..granted(step) }
    }
}
