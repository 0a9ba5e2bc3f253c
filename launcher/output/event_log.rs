//! Writes the event log of `--events`: one JSON object a line for each event, as it happens.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use camino::Utf8Path;
use jp_confine_vfs::person::{Answer, Question};
use rustix::rand::{GetRandomFlags, getrandom};

use super::event_sink::EventSink;
use super::event_target::EventTarget;
use crate::error::Failure;
use crate::files::{Unsafe, WritePlace};
use crate::output;
use crate::record::event::{
    Consent, Event, EventLine, HeldCapability, LayerName, Outcome, PromptEvent, ReasonCode,
    RequestEvent, RunEnd, RunStart, VERSION,
};
use crate::record::service_refusals::{ServiceDenial, without_passwords};
use crate::sys::streams;
use crate::text::quote;

/// How long the end of a run waits for a slow reader of events.
const PATIENCE: Duration = Duration::from_millis(300);

/// How long one look during a run waits for it, if events wait to be sent.
const GLANCE: Duration = Duration::from_millis(5);

/// An open event log.
#[derive(Debug)]
pub(crate) struct Log {
    /// Where it is, for people.
    shown: String,
    /// The canonical path of its file or socket.
    kept: Option<PathBuf>,
    /// The run, in hexadecimal digits. It tells the runs of one log apart.
    run: String,
    sink: Mutex<EventSink>,
}

impl Log {
    /// Opens `target`. A file is a regular one or a device. It is opened for appending, and created if need be. On a
    /// socket somebody must listen. No symlink is followed that a run could have created, and opening does not wait for
    /// a pipe. Programs do not inherit a descriptor, unless it is a standard stream.
    pub(crate) fn open(cwd: &Path, target: &EventTarget) -> Result<Self, Failure> {
        let (sink, kept) = match target {
            EventTarget::File(path) => to_file(cwd, path),
            EventTarget::Socket(path) => to_socket(cwd, path),
            EventTarget::Descriptor(number) => streams::take(*number)
                .and_then(EventSink::to_given)
                .map(|sink| (sink, None))
                .map_err(|error| Failure::own(format!("--events {target}: {error}"))),
        }?;
        let mut drawn = [0; 16];
        getrandom(&mut drawn, GetRandomFlags::empty())
            .map_err(|error| Failure::own(format!("no random number for --events: {error}")))?;
        let run = format!("{:032x}", u128::from_ne_bytes(drawn));
        Ok(Self { shown: target.to_string(), kept, run, sink: Mutex::new(sink) })
    }

    /// The canonical path of the log, which no program may change, connect to or replace. `None` for a descriptor that
    /// this process was given.
    pub(crate) fn kept(&self) -> Option<&Path> {
        self.kept.as_deref()
    }

    /// The first event of a run. The log adds its own version to `start`.
    pub(crate) fn start(&self, start: RunStart) {
        let jp_confine = env!("CARGO_PKG_VERSION").to_owned();
        let pid = std::process::id();
        self.write(&Event::Start(RunStart { version: VERSION, jp_confine, pid, ..start }));
    }

    /// The last event of a run. It follows all others, or is lost like them.
    pub(crate) fn end(&self, status: u8) {
        let until = Instant::now() + PATIENCE;
        let mut sink = self.sink();
        sink.deliver(until);
        let (denials, lost_events) = (sink.denials, sink.lost);
        self.send(&mut sink, &Event::End(RunEnd { status, denials, lost_events }));
        sink.deliver(until);
    }

    /// Sends events that wait for a slow reader. Called now and then during a run.
    pub(crate) fn deliver(&self) {
        self.sink().deliver(Instant::now() + GLANCE);
    }

    /// A person's answer before the run: whether `name` may lead to `target`. `name` is the rule's path or the pattern
    /// that the approval is stored under.
    pub(crate) fn approval(&self, name: &Utf8Path, target: &Utf8Path, yes: bool) {
        self.write(&Event::Prompt(PromptEvent::Approval {
            approval: name.to_string(),
            target: target.to_string(),
            verdict: if yes { Outcome::Allow } else { Outcome::Deny },
        }));
    }

    /// A request of `tool` that the file service denied.
    pub(crate) fn refusal(&self, tool: &str, refusal: &ServiceDenial) {
        self.write(&Event::Denial(Box::new(RequestEvent {
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
        self.write(&Event::Prompt(PromptEvent::Request(Box::new(RequestEvent {
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
        self.write(&Event::Warning { message: text.to_owned() });
    }

    /// Which layers judge connections.
    pub(crate) fn network(&self, held_by: &str) {
        self.write(&Event::Layer(HeldCapability {
            capability: "net".to_owned(),
            held_by: held_by.to_owned(),
            library: None,
            supervisor: None,
            landlock: None,
        }));
    }

    /// Sends one event. An error, such as a full disk, must not end the run.
    pub(crate) fn write(&self, event: &Event) {
        self.send(&mut self.sink(), event);
    }

    fn send(&self, sink: &mut EventSink, event: &Event) {
        let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
        match serde_json::to_string(&EventLine { run: &self.run, time, event }) {
            Ok(line) => {
                let bytes = sink.format().bytes(&quote::plain_json(&line), event, &self.run);
                sink.add(bytes, matches!(event, Event::Denial(_)));
            }
            Err(_) => sink.lost += 1,
        }
    }

    fn sink(&self) -> MutexGuard<'_, EventSink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn to_file(cwd: &Path, path: &Path) -> Result<(EventSink, Option<PathBuf>), Failure> {
    let opened = WritePlace::of(cwd, path).and_then(|place| {
        Ok((EventSink::to_file(place.append()?)?, Some(place.path().to_owned())))
    });
    opened.map_err(|why| why.failure("--events", path))
}

fn to_socket(cwd: &Path, path: &Path) -> Result<(EventSink, Option<PathBuf>), Failure> {
    let opened = WritePlace::of_standing(cwd, path).and_then(|place| {
        let path = place.path().to_owned();
        Ok((EventSink::to_socket(place)?, Some(path)))
    });
    opened.map_err(|why| match why {
        Unsafe::Error(error) => Failure::advised(
            format!("--events unix:{}: {error}", quote::place(path)),
            "start the collector, or name the socket on which it listens: --events unix:SOCKET",
        ),
        Unsafe::Symlink { .. } => why.failure("--events", path),
    })
}

impl Drop for Log {
    /// Warns at the end if events are missing.
    fn drop(&mut self) {
        let sink = self.sink.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((count, why)) = sink.give_up() {
            let noun = if count == 1 { "event" } else { "events" };
            output::warning(&format!(
                "{count} {noun} could not be written to {}: {why}",
                self.shown
            ));
        }
    }
}
