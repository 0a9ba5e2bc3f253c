//! Writes the event log of `--events FILE`: one JSON object a line for each event, as it happens.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use camino::Utf8Path;
use jp_confine_vfs::person::{Answer, Question};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::error::Failure;
use crate::files::{self, WritePlace};
use crate::output;
use crate::record::event::{
    Consent, Event, EventLine, HeldCapability, LayerName, Outcome, PromptEvent, ReasonCode,
    RequestEvent, RunEnd, RunStart, VERSION,
};
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
    /// The run, in hexadecimal digits. It tells the runs of one file apart.
    run: String,
    written: Mutex<Written>,
}

/// The fate of the events so far.
#[derive(Debug, Default)]
struct Written {
    denials: u64,
    /// Number of events that could not be written.
    lost_events: u64,
    /// The last reason for that.
    error: Option<io::Error>,
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
            return Self::of(file.into(), path.to_owned(), false);
        }
        let opened = WritePlace::of(cwd, path)
            .and_then(|place| Ok((place.append()?, place.path().to_owned())));
        let (file, path) = opened.map_err(|why| why.failure("--events", path))?;
        Self::of(file, path, true)
    }

    fn of(file: File, path: PathBuf, named: bool) -> Result<Self, Failure> {
        let mut drawn = [0; 16];
        getrandom(&mut drawn, GetRandomFlags::empty())
            .map_err(|error| Failure::own(format!("no random number for --events: {error}")))?;
        let run = format!("{:032x}", u128::from_ne_bytes(drawn));
        Ok(Self { file, path, named, run, written: Mutex::default() })
    }

    /// The canonical path of the log, which no program may change. `None` for a descriptor that this process was given.
    pub(crate) fn kept(&self) -> Option<&Path> {
        self.named.then_some(&self.path)
    }

    /// The first event of a run. The log adds its own version to `start`.
    pub(crate) fn start(&self, start: RunStart) {
        let jp_confine = env!("CARGO_PKG_VERSION").to_owned();
        let pid = std::process::id();
        self.write(Event::Start(RunStart { version: VERSION, jp_confine, pid, ..start }));
    }

    /// The last event of a run.
    pub(crate) fn end(&self, status: u8) {
        let Written { denials, lost_events, .. } = *self.written();
        self.write(Event::End(RunEnd { status, denials, lost_events }));
    }

    /// A person's answer before the run: whether `name` may lead to `target`. `name` is the rule's path or the pattern
    /// that the approval is stored under.
    pub(crate) fn approval(&self, name: &Utf8Path, target: &Utf8Path, yes: bool) {
        self.write(Event::Prompt(PromptEvent::Approval {
            approval: name.to_string(),
            target: target.to_string(),
            verdict: if yes { Outcome::Allow } else { Outcome::Deny },
        }));
    }

    /// A request of `tool` that the file service denied.
    pub(crate) fn refusal(&self, tool: &str, refusal: &ServiceDenial) {
        self.write(Event::Denial(Box::new(RequestEvent {
            tool: Some(tool.to_owned()),
            layer: LayerName::Service,
            call: Some(refusal.method.clone()),
            path: refusal.about.clone(),
            arguments: refusal.arguments.clone(),
            reason: Some(ReasonCode::Denied),
            message: Some(refusal.message.clone()),
            ..RequestEvent::default()
        })));
    }

    /// A person's answer to a prompt about a request of `tool` to the file service.
    pub(crate) fn answer(&self, tool: &str, question: &Question, answer: Answer) {
        let consent = match answer {
            Answer::Once => Consent::Once,
            Answer::Session => Consent::Run,
            Answer::No => Consent::Refused,
        };
        let allowed = consent != Consent::Refused;
        self.write(Event::Prompt(PromptEvent::Request(Box::new(RequestEvent {
            tool: Some(tool.to_owned()),
            layer: LayerName::Service,
            capability: vec![question.action.clone()],
            path: without_passwords(&question.what),
            route: question.written.clone(),
            verdict: if allowed { Outcome::Allow } else { Outcome::Deny },
            consent: Some(consent),
            reason: (!allowed).then_some(ReasonCode::Denied),
            rule: Some(without_passwords(&question.reason).into()),
            ..RequestEvent::default()
        }))));
    }

    /// A warning for people.
    pub(crate) fn warning(&self, text: &str) {
        self.write(Event::Warning { message: text.to_owned() });
    }

    /// Which layers judge connections.
    pub(crate) fn network(&self, held_by: &str) {
        self.write(Event::Layer(HeldCapability {
            capability: "net".to_owned(),
            held_by: held_by.to_owned(),
            library: None,
            supervisor: None,
            landlock: None,
        }));
    }

    /// Writes one line in one write. An error, such as a full disk, must not end the run.
    pub(crate) fn write(&self, event: Event) {
        let is_denial = matches!(event, Event::Denial(_));
        let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
        let line = serde_json::to_string(&EventLine { run: &self.run, time, event });
        let outcome = line.map_err(io::Error::from).and_then(|line| {
            (&self.file).write_all(format!("{}\n", quote::plain_json(&line)).as_bytes())
        });
        let mut written = self.written();
        match outcome {
            Ok(()) => written.denials += u64::from(is_denial),
            Err(error) => {
                written.lost_events += 1;
                written.error = Some(error);
            }
        }
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Log {
    /// Warns at the end if events are missing.
    fn drop(&mut self) {
        let written = self.written.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Written { lost_events: count, error: Some(why), .. } = written {
            let (path, noun) =
                (quote::place(&self.path), if *count == 1 { "event" } else { "events" });
            output::warning(&format!("{count} {noun} could not be written to {path}: {why}"));
        }
    }
}
