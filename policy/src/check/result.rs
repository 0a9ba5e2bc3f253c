//! What `check` answers: the verdict, what it is of, and what messages say of it.

use std::boxed::Box;
use std::path::PathBuf;
use std::string::String;
use std::vec::Vec;

use serde::Serialize;

use crate::capability::{Capabilities, Capability};
use crate::denial::{Detail, Reason};
use crate::image::RuleId;
use crate::wanted::Wanted;

/// Whether a request may go ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may.
    Allow,
    /// If a person, being asked, consents.
    Prompt,
    /// It may not.
    Deny,
}

/// The verdict on one input and capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    /// The input as given; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// What was asked for.
    pub capability: Capability,
    /// The answer.
    pub verdict: Verdict,
    /// Why not, or why not without consent; `None` when allowed.
    pub reason: Option<Reason>,
    /// Where the input leads, absolute and canonical, if that could be said. Serialising fails for what is not
    /// UTF-8, see [`Self::in_utf8`].
    pub resolved: Option<PathBuf>,
    /// Who declared the rule that decided; of a tier that withholds what the rule grants, or opens what no rule
    /// reaches, its pattern, its list or its default.
    pub rule: Option<String>,
    /// The place among the grants of the one that wins the path.
    #[serde(skip)]
    pub rule_id: Option<RuleId>,
    /// The paths whose rules effectively grant the capability, workspace-relative where they can
    /// be; the root is `.`.
    pub granting: Vec<String>,
    /// The place in the workspace that the input names or leads to, for messages.
    #[serde(skip)]
    pub(crate) target: String,
    /// Nothing that anybody wrote is about it.
    #[serde(skip)]
    pub(crate) uncovered: bool,
    /// More than the reason says, for messages.
    #[serde(skip)]
    pub(crate) detail: Option<Detail>,
    /// What it takes beside the capability, for messages.
    #[serde(skip)]
    pub(crate) beside: Option<Capability>,
    /// Which rule would allow it, for messages.
    #[serde(skip)]
    pub(crate) wanted: Wanted,
}

impl CheckResult {
    /// A refusal of `path`, as given, until somebody allows it.
    pub(crate) fn new(path: String, capability: Capability) -> Self {
        Self {
            target: path.clone(),
            path,
            capability,
            verdict: Verdict::Deny,
            reason: None,
            resolved: None,
            rule: None,
            rule_id: None,
            granting: Vec::new(),
            uncovered: false,
            detail: None,
            beside: None,
            wanted: Wanted::default(),
        }
    }

    /// The same, which advises to grant `other` as well: for who may need the one or the other, and is not to be told
    /// which.
    #[must_use]
    pub fn advising(self, other: Capability) -> Self {
        Self { beside: Some(other), ..self }
    }

    /// All that it takes.
    pub(crate) fn asked(&self) -> Capabilities {
        let beside = self.beside.map_or(Capabilities::NONE, Capabilities::from);
        beside.union(self.capability.into())
    }

    pub(crate) fn concluded(mut self, judgement: Result<(), Reason>) -> Self {
        self.verdict = match judgement {
            Ok(()) => Verdict::Allow,
            Err(Reason::TierPromptRefused | Reason::SensitiveRefused | Reason::AutorunRefused) => {
                Verdict::Prompt
            }
            Err(_) => Verdict::Deny,
        };
        self.reason = judgement.err();
        self
    }

    /// The same for who takes text alone, as JSON is: where the input leads to a path that is not UTF-8, that
    /// is not said, and it may not be used, because with other letters in it, it would be another path.
    #[must_use]
    pub fn in_utf8(mut self) -> Self {
        if self.resolved.as_ref().is_none_or(|path| path.to_str().is_some()) {
            return self;
        }
        self.resolved = None;
        if self.verdict == Verdict::Deny {
            return self;
        }
        self.detail = Some(Detail::NotUtf8);
        self.concluded(Err(Reason::ResolutionFailed))
    }

    /// Whether the request may go ahead.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.verdict == Verdict::Allow
    }
}

/// A refused access; it displays as the message for the person or model that asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message())]
pub struct FsAccessError(Box<CheckResult>);

impl FsAccessError {
    pub(crate) fn new(result: CheckResult) -> Self {
        Self(Box::new(result))
    }

    /// The verdict behind the message.
    #[must_use]
    pub fn result(&self) -> &CheckResult {
        &self.0
    }
}
