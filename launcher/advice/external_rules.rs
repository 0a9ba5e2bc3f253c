//! Handles rules on links that lead out of the workspace. If one is approved, another rule on the same link can grant
//! more of its target without a new prompt.

use std::os::unix::ffi::OsStrExt as _;

use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::decide::{Request, lookup};

use crate::advice::advisor::Advisor;
use crate::advice::options::granted;
use crate::advice::request::Step;
use crate::compile::image;

impl Advisor<'_> {
    /// The link of the approved rule that decides about the step, if one more rule on it would count at its place.
    /// Rules outweigh ready-made grants, and options outweigh rules.
    pub(super) fn link_to(&self, step: &Step) -> Option<String> {
        let at = self.grants.iter().filter(|grant| grant.anchor == step.place);
        let at: Vec<Grant> = at.cloned().collect();
        let is_outweighed = at.iter().any(|grant| match grant.origin {
            Origin::Rule { line, .. } => line.is_none(),
            Origin::Baseline { .. } | Origin::Profile { .. } => false,
            _ => true,
        });
        let image = image::image_over(&at, None, &[&step.place], self.workspace).ok()?;
        let image = image::parse_image(&image).ok()?;
        let [place, route] = [&step.place, &step.route].map(|it| it.as_os_str().as_bytes());
        let decider = lookup(&image, &Request::by_route(place, route));
        // The additional rule would also decide for a program that uses none of the links.
        let last = lookup(&image, &Request::canonical(place));
        let takes_away =
            decider.rule != last.rule && !step.held.union(step.missing).contains(last.caps);
        let rule = at.get(usize::try_from(decider.rule?.raw()).ok()?)?;
        match &rule.kind {
            GrantKind::External { lexical_path } if !is_outweighed && !takes_away => {
                Some(lexical_path.clone())
            }
            _ => None,
        }
    }

    /// The step as a rule: on that link, or else on its place.
    pub(super) fn by_link(&self, step: &Step) -> Grant {
        let external = |lexical_path| GrantKind::External { lexical_path };
        let kind = self.link_to(step).map_or(GrantKind::Plain, external);
        Grant { kind, ..granted(step) }
    }
}
