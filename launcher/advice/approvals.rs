//! Suggests approving rules that are dropped until somebody approves the targets of their links. The approval allows
//! the request, or has to come before another step that does.

use std::path::Path;

use jp_confine_engine::build::{Grant, GrantKind};

use super::{Means, Trial};
use crate::advice::advisor::{Advice, Advisor, First, Written};
use crate::advice::options::options_of;
use crate::advice::request::Asked;
use crate::record::denial::Denial;

impl Advisor<'_> {
    /// The approval that `asked` needs, if it lacks one.
    pub(super) fn approval(&self, denial: &Denial, asked: Asked<'_>) -> Option<Advice> {
        self.approval_alone(denial, asked).or_else(|| self.approval_first(asked))
    }

    /// The rule that would allow `asked` if it were approved. If the rule grants more than that, also narrower options.
    fn approval_alone(&self, denial: &Denial, asked: Asked<'_>) -> Option<Advice> {
        let decided = self.decider(denial)?;
        let approved = self.unapproved.iter().find(|grant| grant.origin == decided.origin)?;
        let grants = self.grants_with(&[approved]);
        let advisor = Advisor { grants: &grants, ..*self };
        if !Trial::of(advisor, Means::Options).allows(&[asked]) {
            return None;
        }
        let is_wider = !approved.caps.difference(denial.missing).is_empty();
        let narrower = is_wider.then(|| Trial::of(*self, Means::Options).solve(asked).ok());
        let options = narrower.flatten().iter().flatten().flat_map(options_of).collect();
        Some(Advice::Approve { rules: vec![link_of(approved)?.to_owned()], options })
    }

    /// The suggestion that allows `asked` once the rules dropped at its ends are approved. Only if nothing suffices
    /// before that, or nothing that can be written to files.
    fn approval_first(&self, asked: Asked<'_>) -> Option<Advice> {
        let dropped: Vec<&Grant> =
            self.unapproved.iter().filter(|rule| self.is_dropped_for(rule, asked)).collect();
        if dropped.is_empty() {
            return None;
        }
        let mut sets = dropped.iter().map(std::slice::from_ref).chain([dropped.as_slice()]);
        match self.advise_requests(&[asked]).pop()? {
            Advice::Grant { first, options, written, question: None }
                if written == Written::default() =>
            {
                let (written, approvals) = sets.find_map(|some| self.written_once(some, asked))?;
                Some(Advice::Grant { first, options, written, question: Some(approvals) })
            }
            Advice::Grant { options, .. } if !options.is_empty() => None,
            _ => sets.find_map(|some| self.once_approved(some, asked)),
        }
    }

    /// Whether a dropped `rule` has a stand-in on the way to a path of `asked`, or in a directory that moves.
    fn is_dropped_for(&self, rule: &Grant, asked: Asked<'_>) -> bool {
        let moves = matches!(asked, Asked::Rename { .. });
        let concerns = |path: &Path, anchor: &Path| {
            path.starts_with(anchor) || moves && anchor.starts_with(path)
        };
        let mut standing = self.grants.iter().filter(|grant| grant.origin == rule.origin);
        standing.any(|grant| asked.paths().any(|path| concerns(path, &grant.anchor)))
    }

    /// The suggestion that allows `asked` once these rules are approved. Often nothing more is needed.
    fn once_approved(&self, approved: &[&Grant], asked: Asked<'_>) -> Option<Advice> {
        let grants = self.grants_with(approved);
        let advisor = Advisor { grants: &grants, ..*self };
        if Trial::of(advisor, Means::Options).allows(&[asked]) {
            return Some(Advice::Approve { rules: links_of(approved), options: Vec::new() });
        }
        match advisor.advise_requests(&[asked]).pop()? {
            Advice::Grant { first: None, options, written, question } => {
                let first = First::Approve(links_of(approved));
                Some(Advice::Withheld { first, options, written, question })
            }
            _ => None,
        }
    }

    /// The additions to files for `asked` once these rules are approved, and a sentence that asks for the approvals.
    fn written_once(&self, approved: &[&Grant], asked: Asked<'_>) -> Option<(Written, String)> {
        let grants = self.grants_with(approved);
        let advice = Advisor { grants: &grants, ..*self }.advise_requests(&[asked]).pop()?;
        let Advice::Grant { first: None, written, question: None, .. } = advice else {
            return None;
        };
        let approvals = self.here.approvals(&links_of(approved));
        (written != Written::default())
            .then(|| (written, format!("what is added to files counts after: {approvals}")))
    }

    /// The policy as if these rules were approved.
    fn grants_with(&self, approved: &[&Grant]) -> Vec<Grant> {
        let is_dropped = |grant: &Grant| approved.iter().any(|rule| rule.origin == grant.origin);
        let others = self.grants.iter().filter(|grant| !is_dropped(grant));
        others.chain(approved.iter().copied()).cloned().collect()
    }
}

/// The links by which the rules lead out of the workspace.
fn links_of(rules: &[&Grant]) -> Vec<String> {
    rules.iter().filter_map(|rule| link_of(rule)).map(str::to_owned).collect()
}

/// The link by which the rule leads out of the workspace.
fn link_of(rule: &Grant) -> Option<&str> {
    match &rule.kind {
        GrantKind::External { lexical_path } => Some(lexical_path),
        _ => None,
    }
}
