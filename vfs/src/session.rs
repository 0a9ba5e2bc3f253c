//! Runs one tool from start to end: its lines, its time, its process group (spec §14.1, §14.2, §14.5).

mod channel;
mod conversation;

use std::io::{self, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::group::Group;
use crate::incoming::{self, Id, Incoming, Malformed, Request};
use crate::message::{self, Contents, Init, State, ToolError};
use crate::service::{Caller, Service};

use channel::Channel;

pub use conversation::{Conversation, Next, OneShot};

/// The longest wait between two checks of the tool.
const TICK: Duration = Duration::from_millis(50);

/// Time limits of a session.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long a tool may stay silent while none of its requests is being answered.
    pub idle: Duration,
    /// How long a tool that should end may go on. The same time passes again before it is killed.
    pub grace: Duration,
}

impl Default for Limits {
    /// The limits of spec §14.5: a minute, and five seconds.
    fn default() -> Self {
        Self { idle: Duration::from_secs(60), grace: Duration::from_secs(5) }
    }
}

/// How a tool ended. In every case its whole process group is gone.
#[derive(Debug)]
pub enum Ending {
    /// With a result.
    Result(Contents),
    /// With an error that it reported.
    Failed(ToolError),
    /// Without a result or an error.
    Died {
        /// How its process ended.
        status: ExitStatus,
        /// The end of its standard error.
        stderr: String,
    },
    /// It was silent for too long.
    Hung,
    /// It waited for an answer that nobody has.
    Unanswered(Value),
    /// The host's user cancelled it.
    Cancelled,
}

/// The parties to a session besides the tool.
pub struct Session<'s, 'a> {
    /// Serves the requests.
    pub service: &'s mut Service<'a>,
    /// Supplies further input and answers the tool's questions.
    pub conversation: &'s mut dyn Conversation,
    /// Receives the tool's standard error.
    pub diagnostics: &'s mut dyn Write,
    /// Whether the user has cancelled the call.
    pub interrupted: &'s dyn Fn() -> bool,
    /// The time limits.
    pub limits: Limits,
}

impl std::fmt::Debug for Session<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Session<'_, '_> {
    /// Starts the tool in a process group of its own and serves it until it ends. `command` must confine it.
    ///
    /// # Errors
    /// Where it cannot be started, or its pipes fail.
    pub fn run(mut self, command: &mut Command, init: &Init) -> io::Result<Ending> {
        let longest = incoming::longest_line(self.service.limit());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut tool = Group::start(command)?;
        let mut channel = Channel::new(tool.process(), longest)?;
        channel.send(message::notification("init", init));
        let ending = self.serve(&tool, &mut channel)?;
        let mut drain = || channel.drain(self.diagnostics);
        let status = tool.end(self.limits.grace, &mut drain)?;
        Ok(ending.unwrap_or_else(|| Ending::Died { status, stderr: channel.last_words() }))
    }

    /// Serves the tool until it should end. Returns `None` if it ended by itself.
    fn serve(&mut self, tool: &Group, channel: &mut Channel) -> io::Result<Option<Ending>> {
        let mut last = Instant::now();
        // Whether the last line was a message. Other lines and the replies to them do not count as activity.
        let mut is_message = true;
        let mut turn = Turn::Tools;
        loop {
            if (self.interrupted)() {
                channel.send(message::cancel());
                return Ok(Some(Ending::Cancelled));
            }
            if let Some(line) = channel.next_line() {
                is_message = line.is_ok();
                if let Some(ending) = self.take(line, channel, &mut turn) {
                    return Ok(Some(ending));
                }
                if is_message {
                    last = Instant::now();
                }
                continue;
            }
            if let Some(input) = self.conversation.later() {
                channel.send(apply(&input));
                (turn, last) = (Turn::Tools, Instant::now());
            }
            if channel.is_closed() {
                return Ok(None);
            }
            let exited = tool.has_exited()?;
            let progress =
                channel.turn(if exited { Duration::ZERO } else { TICK }, self.diagnostics)?;
            if progress.written && is_message {
                last = Instant::now();
            } else if exited && !progress.written && !progress.read {
                return Ok(None);
            } else if turn != Turn::Hosts && last.elapsed() > self.limits.idle {
                return Ok(Some(Ending::Hung));
            }
        }
    }

    /// Handles one line. Returns the ending if the line ends the session.
    fn take(
        &mut self,
        line: Result<Incoming, Malformed>,
        channel: &mut Channel,
        turn: &mut Turn,
    ) -> Option<Ending> {
        match line {
            Ok(Incoming::Request(request)) => self.answer(&request, channel),
            Ok(Incoming::Result(contents)) => return Some(Ending::Result(contents)),
            Ok(Incoming::Error(error)) => return Some(Ending::Failed(error)),
            Ok(Incoming::State(state)) => return self.go_on(state, channel, turn),
            // No request is pending that it could cancel.
            Ok(Incoming::Cancel | Incoming::Other) => {}
            Err(Malformed { id, fault }) => channel.send(incoming::reply(id.as_ref(), Err(&fault))),
        }
        None
    }

    fn answer(&mut self, request: &Request, channel: &mut Channel) {
        let mut caller = InSession {
            channel,
            id: &request.id,
            diagnostics: self.diagnostics,
            interrupted: self.interrupted,
            gone: false,
        };
        let mut answer = self.service.answer(request, &mut caller);
        if caller.gone {
            answer = Err(Fault::cancelled());
        }
        channel.send(incoming::reply(Some(&request.id), answer.as_deref()));
    }

    fn go_on(&mut self, state: State, channel: &mut Channel, turn: &mut Turn) -> Option<Ending> {
        let (next, question) = match state {
            State::Stopped { result: Ok(contents) } => return Some(Ending::Result(contents)),
            State::Stopped { result: Err(error) } => return Some(Ending::Failed(error)),
            State::Running { content } => (self.conversation.running(&content), None),
            State::Waiting { content, question } => {
                (self.conversation.waiting(&content, &question), Some(question))
            }
        };
        *turn = match (next, question) {
            (Next::Apply(input), _) => {
                channel.send(apply(&input));
                Turn::Tools
            }
            (Next::Later, _) => Turn::Hosts,
            (Next::Nothing, None) => Turn::Either,
            (Next::Nothing, Some(question)) => {
                channel.send(message::cancel());
                return Some(Ending::Unanswered(question));
            }
        };
        None
    }
}

/// The side that should speak next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// The tool, within its time limit.
    Tools,
    /// The host. The tool's time does not run.
    Hosts,
    /// The tool within its time limit, unless the host has input for it.
    Either,
}

fn apply(input: &Value) -> Vec<u8> {
    message::notification("apply", &json!({ "input": input }))
}

/// The tool while one of its requests is being answered.
struct InSession<'c> {
    channel: &'c mut Channel,
    id: &'c Id,
    diagnostics: &'c mut dyn Write,
    interrupted: &'c dyn Fn() -> bool,
    gone: bool,
}

impl std::fmt::Debug for InSession<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InSession").field("id", self.id).finish_non_exhaustive()
    }
}

/// Tells the tool that a person is being asked. The id is kept as it was written.
#[derive(Serialize)]
struct Pending<'p> {
    request_id: &'p Id,
    reason: &'p str,
}

impl Caller for InSession<'_> {
    fn is_gone(&mut self) -> bool {
        // If a pipe fails, the next read of it reports that.
        let _ = self.channel.turn(Duration::ZERO, self.diagnostics);
        self.gone |= self.channel.take_cancel() || (self.interrupted)();
        self.gone
    }

    fn told_to_wait(&mut self, reason: &str) {
        self.channel
            .send(message::notification("pending", &Pending { request_id: self.id, reason }));
    }
}
