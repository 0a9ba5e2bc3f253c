//! Rules that are dropped as long as nobody approved where their links lead: approving allows what they were dropped
//! for, or has to come before what does.

use jp_confine_policy::build::{Grant, GrantKind};
use jp_confine_policy::decide::Verdict;

use super::{Advice, Advisor, First, Means, Trial, options_of};
use crate::asked::Asked;
use crate::events::Denial;
use crate::prepare;

impl Advisor<'_> {
    /// What to approve for `asked` to be allowed, if that is what lacks.
    pub(super) fn approval(&self, denial: &Denial, asked: Asked<'_>) -> Option<Advice> {
        self.approval_alone(denial, asked).or_else(|| self.approval_first(asked))
    }

    /// The rule that would allow `asked` if it were approved; and options that would, if it grants more.
    fn approval_alone(&self, denial: &Denial, asked: Asked<'_>) -> Option<Advice> {
        let decided = self.decider(denial)?;
        let approved = self.unapproved.iter().find(|grant| grant.origin == decided.origin)?;
        let grants = self.grants_with(&[approved]);
        let image = Trial::of(Advisor { grants: &grants, ..*self }, Means::Options).image(asked);
        let image = image.ok()?;
        if asked.judge(&prepare::parse_image(&image).ok()?) != Verdict::Allow {
            return None;
        }
        let is_wider = !approved.caps.difference(denial.missing).is_empty();
        let narrower = is_wider.then(|| Trial::of(*self, Means::Options).solve(asked).ok());
        let options = narrower.flatten().iter().flatten().flat_map(options_of).collect();
        Some(Advice::Approve { rule: link_of(approved)?.to_owned(), options })
    }

    /// What allows `asked` once rules are approved that were dropped at one of its ends or at both, where nothing does
    /// before.
    fn approval_first(&self, asked: Asked<'_>) -> Option<Advice> {
        let dropped: Vec<&Grant> =
            self.unapproved.iter().filter(|rule| self.is_dropped_for(rule, asked)).collect();
        if dropped.is_empty() || Trial::of(*self, Means::Options).solve(asked).is_ok() {
            return None;
        }
        let each = dropped.iter().map(std::slice::from_ref);
        each.chain([dropped.as_slice()]).find_map(|some| self.once_approved(some, asked))
    }

    /// Whether what stands for a dropped `rule` is on the way to something that is `asked` about.
    fn is_dropped_for(&self, rule: &Grant, asked: Asked<'_>) -> bool {
        let mut standing = self.grants.iter().filter(|grant| grant.origin == rule.origin);
        standing.any(|grant| asked.paths().any(|path| path.starts_with(&grant.anchor)))
    }

    /// What allows `asked` once these rules are approved.
    fn once_approved(&self, approved: &[&Grant], asked: Asked<'_>) -> Option<Advice> {
        let grants = self.grants_with(approved);
        let advisor = Advisor { grants: &grants, ..*self };
        match advisor.advise_requests(&[asked]).pop()? {
            Advice::Grant { first: None, options, written, question } => {
                let links = approved.iter().filter_map(|rule| link_of(rule));
                let first = First::Approve(links.map(str::to_owned).collect());
                Some(Advice::Withheld { first, options, written, question })
            }
            _ => None,
        }
    }

    /// The policy with these rules approved.
    fn grants_with(&self, approved: &[&Grant]) -> Vec<Grant> {
        let is_dropped = |grant: &Grant| approved.iter().any(|rule| rule.origin == grant.origin);
        let others = self.grants.iter().filter(|grant| !is_dropped(grant));
        others.chain(approved.iter().copied()).cloned().collect()
    }
}

/// The link that a rule leads out of the workspace by.
fn link_of(rule: &Grant) -> Option<&str> {
    match &rule.kind {
        GrantKind::External { lexical_path } => Some(lexical_path),
        _ => None,
    }
}
