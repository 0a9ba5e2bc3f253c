//! Defines the events of a run, a line of JSON each. `output::event_log` writes them.

use jp_confine_engine::rule_name::RuleName;
use serde::{Deserialize, Serialize};

/// The version of the lines. A change that takes away or changes a field raises it.
pub(crate) const VERSION: u32 = 1;

/// One line of the log.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(title = "Events of a run of jp-confine"))]
pub(crate) struct EventLine<'a> {
    /// The run: 32 hexadecimal digits, the same in all of its lines.
    pub(crate) run: &'a str,
    /// When the line was written: RFC 3339, in UTC, with milliseconds.
    pub(crate) time: String,
    #[serde(flatten)]
    pub(crate) event: &'a Event,
}

/// An event.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event {
    /// The first line of a run.
    Start(RunStart),
    /// Which layers hold a capability.
    Layer(HeldCapability),
    /// A warning for people.
    Warning {
        /// In words.
        message: String,
    },
    /// A denied request.
    Denial(Box<RequestEvent>),
    /// A person's answer.
    Prompt(PromptEvent),
    /// The last line of a run.
    End(RunEnd),
}

impl Event {
    /// Its kind, as the line has it.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Start(_) => "start",
            Self::Layer(_) => "layer",
            Self::Warning { .. } => "warning",
            Self::Denial(_) => "denial",
            Self::Prompt(_) => "prompt",
            Self::End(_) => "end",
        }
    }

    /// Whether a person who looks for trouble wants to see it.
    pub(crate) const fn is_notable(&self) -> bool {
        matches!(self, Self::Warning { .. } | Self::Denial(_))
    }
}

/// The beginning of a run.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunStart {
    /// The version of these lines. Readers ignore fields that they do not know.
    pub(crate) version: u32,
    /// The version of jp-confine.
    pub(crate) jp_confine: String,
    /// The process of jp-confine.
    pub(crate) pid: u32,
    /// The program as it was typed, without its arguments: they may hold secrets.
    pub(crate) program: String,
    /// The directory in which it starts.
    pub(crate) directory: String,
    /// The root of the workspace.
    pub(crate) workspace: String,
    /// The value of `--tool`.
    pub(crate) tool: Option<String>,
    /// The value of `--enforce`: `cooperative`, `layered` or `strict`.
    pub(crate) enforce: &'static str,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunEnd {
    /// The exit status of jp-confine.
    pub(crate) status: u8,
    /// How many denials this log has of the run.
    pub(crate) denials: u64,
    /// How many events could not be written.
    pub(crate) lost_events: u64,
}

/// The layers that hold a capability.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HeldCapability {
    /// A capability, or `net`.
    pub(crate) capability: String,
    /// The layers in words.
    pub(crate) held_by: String,
    /// Whether the preload library decides in the process. `null` for `net`.
    pub(crate) library: Option<bool>,
    /// Whether the supervisor judges calls that the library did not make. `null` for `net`.
    pub(crate) supervisor: Option<bool>,
    /// Landlock's part. `null` for `net`.
    pub(crate) landlock: Option<LandlockPart>,
}

/// Landlock's part in holding a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum LandlockPart {
    /// It takes no part.
    Absent,
    /// It limits access, but allows more or less than the policy.
    Bound,
    /// It allows exactly what the policy allows.
    Exact,
}

/// A prompt, and the answer of a person.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum PromptEvent {
    /// Before the run, about a path that leads out of the workspace.
    Approval {
        /// The path of the rule, or the pattern.
        approval: String,
        /// Where it leads.
        target: String,
        /// `allow` or `deny`.
        verdict: Outcome,
    },
    /// During the run, about a request.
    Request(Box<RequestEvent>),
}

/// A request that was denied, or that a person was asked about.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RequestEvent {
    /// The process. `null` for a request to the file service.
    pub(crate) pid: Option<u32>,
    /// The program of the process. `null` for a request to the file service.
    pub(crate) program: Option<String>,
    /// The tool that made the request to the file service.
    pub(crate) tool: Option<String>,
    /// The layer that decided.
    pub(crate) layer: LayerName,
    /// The call, or the method of the file service.
    pub(crate) call: Option<String>,
    /// The capabilities that were missing, or `net`.
    pub(crate) capability: Vec<String>,
    /// The canonical path, or what else the request is about.
    pub(crate) path: String,
    /// The path as the program spelled it.
    pub(crate) route: Option<String>,
    /// The arguments of a program that was not started.
    pub(crate) arguments: Option<Vec<String>>,
    /// The other path of a call that names two.
    pub(crate) other_path: Option<String>,
    /// Whether `path` is the second path of the call.
    pub(crate) second_path: bool,
    /// `deny`, or `allow` if a person consented.
    pub(crate) verdict: Outcome,
    /// A person's answer.
    pub(crate) consent: Option<Consent>,
    /// Why it was denied. `null` if a person consented.
    pub(crate) reason: Option<ReasonCode>,
    /// The error that the program got, as `errno(3)` names it.
    pub(crate) errno: Option<&'static str>,
    /// Whether the answer was as for a missing file.
    pub(crate) hidden: bool,
    /// The rule that decided. `null` if none is about it.
    pub(crate) rule: Option<RuleName>,
    /// The message that a tool got.
    pub(crate) message: Option<String>,
}

/// The fate of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Allow,
    #[default]
    Deny,
}

/// A person's answer during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Consent {
    /// This time.
    Once,
    /// For the rest of the run.
    Run,
    /// For the rest of the run, and in the policy afterwards.
    Always,
    /// No.
    Refused,
}

/// The layer that decided about a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum LayerName {
    /// The preload library.
    #[default]
    Library,
    /// The supervisor, for a call that the library did not make.
    Supervisor,
    /// The launcher, for the program that was typed.
    Launcher,
    /// The file service.
    Service,
}

/// Why a request was denied: the reasons of `check`, and the product's own for denials that no rule decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReasonCode {
    /// No rule grants it.
    #[default]
    Denied,
    /// A list of `file_policy` denies it.
    TierDeny,
    /// A list of `file_policy` asks a person, who did not consent.
    TierPromptRefused,
    /// A sensitive file, and nobody consented.
    SensitiveRefused,
    /// An auto-run file, and nobody consented.
    AutorunRefused,
    /// A static program, where no other layer would hold it.
    StaticProgram,
    /// A program of another architecture.
    ForeignProgram,
    /// A program that its user may start but not read.
    UnreadableProgram,
    /// A program whose loader is not one of the system's.
    LoaderNotInBaseline,
    /// A program in a directory that the run created.
    DirectoryMadeInRun,
    /// A loader with arguments by which it may start a program that cannot be judged.
    LoaderWords,
    /// The preload library is out of reach.
    LibraryUnreachable,
    /// The policy cannot be read.
    PolicyUnavailable,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_event_is_the_one_in_its_line() {
        let held = HeldCapability {
            capability: "net".to_owned(),
            held_by: String::new(),
            library: None,
            supervisor: None,
            landlock: None,
        };
        let events = [
            Event::Start(RunStart::default()),
            Event::Layer(held),
            Event::Warning { message: String::new() },
            Event::Denial(Box::default()),
            Event::Prompt(PromptEvent::Request(Box::default())),
            Event::End(RunEnd { status: 0, denials: 0, lost_events: 0 }),
        ];
        for event in events {
            let line = serde_json::to_value(&event).expect("JSON");
            assert_eq!(line["event"], event.name(), "{line}");
        }
    }
}
