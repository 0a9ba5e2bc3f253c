//! The words of a denial, for tools and the people behind them.

use std::format;
use std::string::{String, ToString as _};

use super::denial::{Detail, Reason};
use super::result::CheckResult;
use super::wanted::{keys, keys_of_external};
use crate::capability::Capability;

impl CheckResult {
    /// The denial in words: the capability, the target, the paths that do grant the capability, and how to get it.
    /// Empty if the verdict is not a denial.
    #[must_use]
    pub fn message(&self) -> String {
        let Some(reason) = self.reason else { return String::new() };
        let Self { capability, detail, .. } = self;
        let target = if self.target.is_empty() { "the path" } else { &self.target };
        let why = detail.as_ref().map_or_else(|| why(reason).to_string(), Detail::why);
        let mut text = format!("cannot {capability} {target}: {why}.");
        if matches!(reason, Reason::Denied | Reason::Escape | Reason::NestedEscape) {
            text.push(' ');
            text.push_str(&self.granting_words());
        }
        text.push(' ');
        match detail {
            Some(detail) => text.push_str(&detail.remedy()),
            None => text.push_str(&self.remedy(reason)),
        }
        text
    }

    fn granting_words(&self) -> String {
        let capability = self.capability;
        if self.granting.is_empty() {
            return format!("Nothing grants {capability}.");
        }
        // In quotes, because the root is `.` and the sentence ends with a period of its own.
        format!("{capability} is granted on: `{}`.", self.granting.join("`, `"))
    }

    fn remedy(&self, reason: Reason) -> String {
        let flag = flag(self.capability);
        let asked = self.asked();
        match reason {
            Reason::Denied => {
                format!("To allow it, ask the user for {}.", self.wanted.words(asked, flag))
            }
            Reason::Escape => format!(
                "To allow it, ask the user for an `access.fs` rule on the link with {}, and to \
                 approve its target.",
                keys_of_external(asked)
            ),
            Reason::NestedEscape => format!(
                "To allow it, ask the user for a second link in the workspace that leads there, \
                 with a rule of its own: {}.",
                keys_of_external(asked)
            ),
            Reason::TierDeny => {
                "No rule and no flag outweighs it; ask the user whether the pattern is meant so."
                    .to_string()
            }
            Reason::TierPromptRefused | Reason::AutorunRefused => "Ask the user.".to_string(),
            // Names the requested capability alone, because every other one there has a prompt of its own.
            Reason::SensitiveRefused if self.wanted.can_be_on_path() => format!(
                "Ask the user; a rule that names this very path, with {}, allows it for good.",
                keys(asked)
            ),
            Reason::SensitiveRefused => {
                format!("Ask the user; the flag `{flag}` with this very path allows it.")
            }
            Reason::AbsoluteInput | Reason::InputEscape => {
                "Use a path relative to the workspace root that stays below it.".to_string()
            }
            Reason::ResolutionFailed => "Check the path and the links on it.".to_string(),
            Reason::PermissionDenied => {
                "The system's own permissions are in the way; ask the user.".to_string()
            }
            Reason::PolicyUnavailable => {
                "Everything is denied until the user repairs the policy.".to_string()
            }
        }
    }
}

pub(crate) const fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::AbsoluteInput => "absolute paths are not permitted",
        Reason::InputEscape => "it leaves the workspace through `..`",
        Reason::Escape => "it leads outside the workspace",
        Reason::NestedEscape => "it leaves the external folder that was approved",
        Reason::Denied => "the policy does not grant it",
        Reason::TierDeny => "a pattern of `file_policy` withholds it",
        Reason::TierPromptRefused => "`file_policy` wants a person to consent",
        Reason::SensitiveRefused => "it is a sensitive path, and no rule names it",
        Reason::AutorunRefused => "it is an auto-run file, and no rule names it",
        Reason::ResolutionFailed => "the path cannot be resolved",
        Reason::PermissionDenied => "a part of the path may not be looked at",
        Reason::PolicyUnavailable => "there is no usable policy",
    }
}

pub(crate) const fn flag(capability: Capability) -> &'static str {
    match capability {
        Capability::Read => "--read PATH",
        Capability::Create | Capability::Update | Capability::Delete => "--write PATH",
        Capability::Execute => "--exec PATH",
    }
}
