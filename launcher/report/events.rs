//! Writes the events of `--events` that name rules and layers.

use jp_confine_engine::Capability;
use jp_confine_engine::tier::Restraint;
use serde_json::json;

use crate::advice::advisor::Advisor;
use crate::output::event_log::Log;
use crate::plan::holder::Holder;
use crate::record::command_line::CommandLine;
use crate::record::denial::{Denial, Reason};
use crate::record::errno;

impl Log {
    /// Logs a denied request, or one that a person consented to.
    pub(crate) fn denial(&self, denial: &Denial, advisor: Advisor<'_>) {
        let consent = match denial.reason {
            Reason::Once => Some("once"),
            Reason::ThisRun => Some("run"),
            Reason::Always => Some("always"),
            Reason::Refused => Some("refused"),
            _ => None,
        };
        let is_consent = denial.reason.is_consent();
        let mut missing: Vec<&str> = denial.missing.iter().map(Capability::as_str).collect();
        missing.extend(denial.reason.is_network().then_some("net"));
        let errno = errno::errno(denial);
        let arguments = CommandLine::arguments_of(denial);
        let [path, route] = [&denial.path, &denial.route].map(|path| advisor.named(path));
        self.write(&json!({
            "event": if is_consent { "prompt" } else { "denial" },
            "pid": denial.pid,
            "program": text(&denial.program),
            "call": text(&denial.call),
            "capability": missing,
            "path": text(&path),
            "route": text(if arguments.is_some() { &path } else { &route }),
            "arguments": arguments,
            "other_path": (!denial.other.is_empty()).then(|| text(&advisor.named(&denial.other))),
            "second_path": denial.second,
            "verdict": if is_consent { "allow" } else { "deny" },
            "consent": consent,
            "reason": (!is_consent).then(|| reason(denial)),
            "errno": (!is_consent).then_some(errno),
            "hidden": denial.hidden,
            "rule": advisor.rule(denial),
            "layer": denial.layer.as_str(),
        }));
    }

    /// Logs which layers hold a capability.
    pub(crate) fn layer(&self, holder: Holder) {
        self.write(&json!({
            "event": "layer",
            "capability": holder.capability.as_str(),
            "held_by": holder.layers(),
            "library": holder.library,
            "supervisor": holder.supervisor,
            "landlock": holder.landlock,
        }));
    }
}

/// Bytes as JSON text. Bytes that are not UTF-8 are replaced.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The reason codes of spec §5.3, and the product's own codes for denials that no rule decided.
pub(crate) fn reason(denial: &Denial) -> &'static str {
    match denial.reason {
        Reason::Rule | Reason::Once | Reason::ThisRun | Reason::Always | Reason::Refused => {
            match denial.restraint {
                Some(Restraint::Sensitive) => "sensitive_refused",
                Some(Restraint::Autorun) => "autorun_refused",
                Some(Restraint::Below) | None => "denied",
                Some(_) if denial.question => "tier_prompt_refused",
                Some(_) => "tier_deny",
            }
        }
        Reason::Namespace
        | Reason::OtherProcess
        | Reason::Command
        | Reason::SetId
        | Reason::Connect
        | Reason::Listen
        | Reason::Near
        | Reason::Peer
        | Reason::Resolve
        | Reason::Socket => "denied",
        Reason::Static => "static_program",
        Reason::Foreign => "foreign_program",
        Reason::Unreadable => "unreadable_program",
        Reason::Loader => "loader_not_in_baseline",
        Reason::MadeLater => "directory_made_in_run",
        Reason::LoaderWords => "loader_words",
        Reason::Shim => "shim_unreachable",
        Reason::Internal => "policy_unavailable",
    }
}
