//! Writes the events of `--events` that name rules and layers.

use jp_confine_engine::tier::Restraint;

use crate::advice::advisor::Advisor;
use crate::output::event_log::Log;
use crate::plan::holder::Holder;
use crate::record::command_line::CommandLine;
use crate::record::denial::{Denial, Reason};
use crate::record::errno;
use crate::record::event::{
    Consent, Event, HeldCapability, Outcome, PromptEvent, ReasonCode, RequestEvent,
};

impl Log {
    /// Logs a denied request, or one that a person consented to.
    pub(crate) fn denial(&self, denial: &Denial, advisor: Advisor<'_>) {
        let is_consent = denial.reason.is_consent();
        let mut missing: Vec<String> = denial.missing.iter().map(|it| it.to_string()).collect();
        missing.extend(denial.reason.is_network().then(|| "net".to_owned()));
        let arguments = CommandLine::arguments_of(denial);
        let [path, route] = [&denial.path, &denial.route].map(|path| advisor.named(path));
        let request = Box::new(RequestEvent {
            pid: Some(denial.pid),
            program: Some(text(&denial.program)),
            tool: None,
            layer: denial.layer.name(),
            call: Some(text(&denial.call)),
            capability: missing,
            path: text(&path),
            route: Some(text(if arguments.is_some() { &path } else { &route })),
            arguments,
            other_path: (!denial.other.is_empty()).then(|| text(&advisor.named(&denial.other))),
            second_path: denial.second,
            verdict: if is_consent { Outcome::Allow } else { Outcome::Deny },
            consent: match denial.reason {
                Reason::Once => Some(Consent::Once),
                Reason::ThisRun => Some(Consent::Run),
                Reason::Always => Some(Consent::Always),
                Reason::Refused => Some(Consent::Refused),
                _ => None,
            },
            reason: (!is_consent).then(|| reason(denial)),
            errno: (!is_consent).then(|| errno::errno(denial)),
            hidden: denial.hidden,
            rule: advisor.rule(denial),
            message: None,
        });
        self.write(&if is_consent {
            Event::Prompt(PromptEvent::Request(request))
        } else {
            Event::Denial(request)
        });
    }

    /// Logs which layers hold a capability.
    pub(crate) fn layer(&self, holder: Holder) {
        self.write(&Event::Layer(HeldCapability {
            capability: holder.capability.to_string(),
            held_by: holder.layers(),
            library: Some(holder.library),
            supervisor: Some(holder.supervisor),
            landlock: Some(holder.landlock),
        }));
    }
}

/// Bytes as JSON text. Bytes that are not UTF-8 are replaced.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The reason codes of spec §5.3, and the product's own codes for denials that no rule decided.
pub(crate) fn reason(denial: &Denial) -> ReasonCode {
    match denial.reason {
        Reason::Rule | Reason::Once | Reason::ThisRun | Reason::Always | Reason::Refused => {
            match denial.restraint {
                Some(Restraint::Sensitive) => ReasonCode::SensitiveRefused,
                Some(Restraint::Autorun) => ReasonCode::AutorunRefused,
                Some(Restraint::Below) | None => ReasonCode::Denied,
                Some(_) if denial.question => ReasonCode::TierPromptRefused,
                Some(_) => ReasonCode::TierDeny,
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
        | Reason::Socket => ReasonCode::Denied,
        Reason::Static => ReasonCode::StaticProgram,
        Reason::Foreign => ReasonCode::ForeignProgram,
        Reason::Unreadable => ReasonCode::UnreadableProgram,
        Reason::Loader => ReasonCode::LoaderNotInBaseline,
        Reason::MadeLater => ReasonCode::DirectoryMadeInRun,
        Reason::LoaderWords => ReasonCode::LoaderWords,
        Reason::Shim => ReasonCode::LibraryUnreachable,
        Reason::Internal => ReasonCode::PolicyUnavailable,
    }
}
