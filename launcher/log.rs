//! `--events FILE`: what happens, one JSON object a line, as it happens.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use camino::Utf8Path;
use jp_confine_policy::Capability;
use jp_confine_policy::tier::Restraint;
use jp_confine_vfs::person::{Answer, Question};
use serde_json::{Value, json};

use crate::advice::Advisor;
use crate::command_line::CommandLine;
use crate::context::Context;
use crate::events::{Denial, Reason};
use crate::failure::Failure;
use crate::host_files::{self, Place};
use crate::plan::holder::Holder;
use crate::refused_calls;
use crate::report;
use crate::sys::streams;
use crate::vfs::refusals::{Refusal, without_passwords};

/// An open event log.
#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    /// Where it is: canonical, or as it was typed for what this process was given.
    path: PathBuf,
    /// Whether it was opened by its name.
    named: bool,
    /// How many events could not be written, and why the last could not.
    lost: Mutex<Option<(u64, io::Error)>>,
}

impl Log {
    /// Opens `path` for appending, and makes it if need be: a regular file, a device, or what this process was given, as
    /// `/dev/stderr`. No symlink is followed that a run could have made, and no pipe is waited for.
    pub(crate) fn open(context: &Context, path: &Path) -> Result<Self, Failure> {
        let shown = report::place(path);
        if let Some(number) = host_files::given(path) {
            let file = streams::duplicate(number);
            let file = file.map_err(|error| Failure::own(format!("--events {shown}: {error}")))?;
            return Ok(Self {
                file: file.into(),
                path: path.to_owned(),
                named: false,
                lost: Mutex::default(),
            });
        }
        let opened = Place::of(&context.cwd, path)
            .and_then(|place| Ok((place.append()?, place.path().to_owned())));
        let (file, path) = opened.map_err(|why| why.failure("--events", path))?;
        Ok(Self { file, path, named: true, lost: Mutex::default() })
    }

    /// The path that no program may change anything at, canonical, unless it is what this process was given.
    pub(crate) fn kept(&self) -> Option<&Path> {
        self.named.then_some(&self.path)
    }

    /// A refused request, or one that a person consented to.
    pub(crate) fn denial(&self, denial: &Denial, advisor: Advisor<'_>) {
        let consent = match denial.reason {
            Reason::Once => Some("once"),
            Reason::ThisRun => Some("run"),
            Reason::Refused => Some("refused"),
            _ => None,
        };
        let is_consent = denial.reason.is_consent();
        let mut missing: Vec<&str> = denial.missing.iter().map(Capability::as_str).collect();
        missing.extend(denial.reason.is_network().then_some("net"));
        let errno = refused_calls::errno(denial);
        let arguments = CommandLine::arguments_of(denial);
        self.write(&json!({
            "event": if is_consent { "prompt" } else { "denial" },
            "pid": denial.pid,
            "program": text(&denial.program),
            "call": text(&denial.call),
            "capability": missing,
            "path": text(&denial.path),
            "route": text(if arguments.is_some() { &denial.path } else { &denial.route }),
            "arguments": arguments,
            "other_path": (!denial.other.is_empty()).then(|| text(&denial.other)),
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

    /// What a person said before the run to what the rule or pattern `name`, as it is approved under,
    /// leads to.
    pub(crate) fn approval(&self, name: &Utf8Path, target: &Utf8Path, yes: bool) {
        self.write(&json!({
            "event": "prompt",
            "approval": name,
            "target": target,
            "verdict": if yes { "allow" } else { "deny" },
        }));
    }

    /// A request of the tool `tool` that the file service refused.
    pub(crate) fn refusal(&self, tool: &str, refusal: &Refusal) {
        self.write(&json!({
            "event": "denial",
            "tool": tool,
            "call": refusal.method,
            "path": refusal.about,
            "arguments": refusal.arguments,
            "verdict": "deny",
            "reason": "denied",
            "message": refusal.message,
            "layer": "service",
        }));
    }

    /// What a person said to what the tool `tool` asked of the file service.
    pub(crate) fn answer(&self, tool: &str, question: &Question, answer: Answer) {
        let consent = match answer {
            Answer::Once => Some("once"),
            Answer::Session => Some("run"),
            Answer::No => None,
        };
        self.write(&json!({
            "event": "prompt",
            "tool": tool,
            "capability": [question.action],
            "path": without_passwords(&question.what),
            "verdict": if consent.is_some() { "allow" } else { "deny" },
            "consent": consent,
            "rule": without_passwords(&question.reason),
            "layer": "service",
        }));
    }

    /// Something that a person should know.
    pub(crate) fn warning(&self, text: &str) {
        self.write(&json!({ "event": "warning", "message": text }));
    }

    /// Which layer holds a capability, and how firmly.
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

    /// Which layers judge connections.
    pub(crate) fn network(&self, held_by: &str) {
        self.write(&json!({ "event": "layer", "capability": "net", "held_by": held_by }));
    }

    /// One line in one write. A full disk must not end the run.
    fn write(&self, event: &Value) {
        let written = (&self.file)
            .write_all(format!("{}\n", report::plain_json(&event.to_string())).as_bytes());
        if let (Err(error), Ok(mut lost)) = (written, self.lost.lock()) {
            let before = lost.as_ref().map_or(0, |(count, _)| *count);
            *lost = Some((before + 1, error));
        }
    }
}

impl Drop for Log {
    /// Whoever asked for the events hears, at the end, that some are missing.
    fn drop(&mut self) {
        if let Ok(Some((count, why))) = self.lost.get_mut() {
            let (path, noun) =
                (report::place(&self.path), if *count == 1 { "event" } else { "events" });
            report::warning(&format!("{count} {noun} could not be written to {path}: {why}"));
        }
    }
}

/// Bytes as JSON can carry them; those that are not UTF-8 are replaced.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The reason codes of spec §5.3, and the product's own for what no rule decided.
pub(crate) fn reason(denial: &Denial) -> &'static str {
    match denial.reason {
        Reason::Rule | Reason::Once | Reason::ThisRun | Reason::Refused => match denial.restraint {
            Some(Restraint::Sensitive) => "sensitive_refused",
            Some(Restraint::Autorun) => "autorun_refused",
            Some(Restraint::Below) | None => "denied",
            Some(_) if denial.question => "tier_prompt_refused",
            Some(_) => "tier_deny",
        },
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
