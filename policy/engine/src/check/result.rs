//! The result of `check`: the verdict, its subject, and details for messages.

use std::boxed::Box;
use std::path::PathBuf;
use std::string::String;
use std::vec::Vec;

use serde::Serialize;

use crate::capability::{Capabilities, Capability};
use crate::check::denial::{Detail, Reason};
use crate::check::wanted::Wanted;
use crate::layout::RuleId;
use crate::rule_name::RuleName;

/// Whether a request may go ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// It may go ahead.
    Allow,
    /// It may if a person consents to a prompt.
    Prompt,
    /// It may not go ahead.
    Deny,
}

/// The verdict on one input and capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckResult {
    /// The input as given. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// The requested capability.
    pub capability: Capability,
    /// The answer.
    pub verdict: CheckVerdict,
    /// Why it is denied, or needs consent. `None` if allowed.
    pub reason: Option<Reason>,
    /// Where the input leads, absolute and canonical, if it could be resolved. Serialising fails if it is not UTF-8,
    /// see [`Self::in_utf8`].
    pub resolved: Option<PathBuf>,
    /// The source of the rule that decided. If a tier withholds the rule's grant, or grants where no rule reaches: the
    /// tier's pattern, its list or its default.
    pub rule: Option<RuleName>,
    /// The place of the winning grant among the grants.
    #[serde(skip)]
    pub rule_id: Option<RuleId>,
    /// The paths whose rules effectively grant the capability, workspace-relative if possible. The root is `.`.
    pub granting: Vec<String>,
    /// The place in the workspace that the input names or leads to, for messages.
    #[serde(skip)]
    pub(crate) target: String,
    /// No rule and no pattern that anybody wrote is about it.
    #[serde(skip)]
    pub(crate) uncovered: bool,
    /// Details beyond the reason, for messages.
    #[serde(skip)]
    pub(crate) detail: Option<Detail>,
    /// Another capability to ask for besides this one, for messages.
    #[serde(skip)]
    pub(crate) beside: Option<Capability>,
    /// The rule that would allow it, for messages.
    #[serde(skip)]
    pub(crate) wanted: Wanted,
}

impl CheckResult {
    /// A denial of `path`, as given, until a judgement allows it.
    pub(crate) fn new(path: String, capability: Capability) -> Self {
        Self {
            target: path.clone(),
            path,
            capability,
            verdict: CheckVerdict::Deny,
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

    /// The same, with a suggestion to grant `other` as well. For callers that may need either one, and must not learn
    /// which.
    #[must_use]
    pub fn also_suggest(self, other: Capability) -> Self {
        Self { beside: Some(other), ..self }
    }

    /// All capabilities to ask for.
    pub(crate) fn asked(&self) -> Capabilities {
        let beside = self.beside.map_or(Capabilities::NONE, Capabilities::from);
        beside.union(self.capability.into())
    }

    pub(crate) fn concluded(mut self, judgement: Result<(), Reason>) -> Self {
        self.verdict = match judgement {
            Ok(()) => CheckVerdict::Allow,
            Err(Reason::TierPromptRefused | Reason::SensitiveRefused | Reason::AutorunRefused) => {
                CheckVerdict::Prompt
            }
            Err(_) => CheckVerdict::Deny,
        };
        self.reason = judgement.err();
        self
    }

    /// Prepares the result for callers that only accept text, such as JSON. If the input leads to a path that is not
    /// UTF-8, the result omits that path and denies its use. With replaced letters it would be another path.
    #[must_use]
    pub fn in_utf8(mut self) -> Self {
        if self.resolved.as_ref().is_none_or(|path| path.to_str().is_some()) {
            return self;
        }
        self.resolved = None;
        if self.verdict == CheckVerdict::Deny {
            return self;
        }
        self.detail = Some(Detail::NotUtf8);
        self.concluded(Err(Reason::ResolutionFailed))
    }

    /// The canonical path to use.
    ///
    /// # Errors
    /// [`FsAccessError`] if it may not be used.
    pub fn into_path(mut self) -> Result<PathBuf, FsAccessError> {
        let path = if self.is_allowed() { self.resolved.take() } else { None };
        path.ok_or_else(|| FsAccessError::new(self))
    }

    /// Whether the request may go ahead.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.verdict == CheckVerdict::Allow
    }
}

/// A denied access. It displays as the message for the person or model that asked.
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
