//! Writes the event log of `--events FILE`: one JSON object a line for each event, as it happens.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use camino::Utf8Path;
use jp_confine_vfs::person::{Answer, Question};
use serde_json::{Value, json};

use crate::error::Failure;
use crate::files::{self, WritePlace};
use crate::output;
use crate::record::service_refusals::{ServiceDenial, without_passwords};
use crate::sys::streams;
use crate::text::quote;

/// An open event log.
#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    /// Where it is: canonical, or as typed if it is a descriptor that this process was given.
    path: PathBuf,
    /// Whether it was opened by its path.
    named: bool,
    /// Number of events that could not be written, and the last error.
    lost: Mutex<Option<(u64, io::Error)>>,
}

impl Log {
    /// Opens `path` for appending, and creates it if need be. It is a regular file, a device, or a descriptor that this
    /// process was given, such as `/dev/stderr`. No symlink is followed that a run could have created, and opening does
    /// not wait for a pipe.
    pub(crate) fn open(cwd: &Path, path: &Path) -> Result<Self, Failure> {
        let shown = quote::place(path);
        if let Some(number) = files::given(path) {
            let file = streams::duplicate(number);
            let file = file.map_err(|error| Failure::own(format!("--events {shown}: {error}")))?;
            return Ok(Self {
                file: file.into(),
                path: path.to_owned(),
                named: false,
                lost: Mutex::default(),
            });
        }
        let opened = WritePlace::of(cwd, path)
            .and_then(|place| Ok((place.append()?, place.path().to_owned())));
        let (file, path) = opened.map_err(|why| why.failure("--events", path))?;
        Ok(Self { file, path, named: true, lost: Mutex::default() })
    }

    /// The canonical path of the log, which no program may change. `None` for a descriptor that this process was given.
    pub(crate) fn kept(&self) -> Option<&Path> {
        self.named.then_some(&self.path)
    }

    /// A person's answer before the run: whether `name` may lead to `target`. `name` is the rule's path or the pattern
    /// that the approval is stored under.
    pub(crate) fn approval(&self, name: &Utf8Path, target: &Utf8Path, yes: bool) {
        self.write(&json!({
            "event": "prompt",
            "approval": name,
            "target": target,
            "verdict": if yes { "allow" } else { "deny" },
        }));
    }

    /// A request of `tool` that the file service denied.
    pub(crate) fn refusal(&self, tool: &str, refusal: &ServiceDenial) {
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

    /// A person's answer to a prompt about a request of `tool` to the file service.
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

    /// A warning for people.
    pub(crate) fn warning(&self, text: &str) {
        self.write(&json!({ "event": "warning", "message": text }));
    }

    /// Which layers judge connections.
    pub(crate) fn network(&self, held_by: &str) {
        self.write(&json!({ "event": "layer", "capability": "net", "held_by": held_by }));
    }

    /// Writes one line in one write. An error, such as a full disk, must not end the run.
    pub(crate) fn write(&self, event: &Value) {
        let written = (&self.file)
            .write_all(format!("{}\n", quote::plain_json(&event.to_string())).as_bytes());
        if let (Err(error), Ok(mut lost)) = (written, self.lost.lock()) {
            let before = lost.as_ref().map_or(0, |(count, _)| *count);
            *lost = Some((before + 1, error));
        }
    }
}

impl Drop for Log {
    /// Warns at the end if events are missing.
    fn drop(&mut self) {
        if let Ok(Some((count, why))) = self.lost.get_mut() {
            let (path, noun) =
                (quote::place(&self.path), if *count == 1 { "event" } else { "events" });
            output::warning(&format!("{count} {noun} could not be written to {path}: {why}"));
        }
    }
}
