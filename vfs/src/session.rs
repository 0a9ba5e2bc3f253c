//! One tool, from start to end: its lines, its time, its process group (spec §14.1, §14.2, §14.5).

mod channel;
mod conversation;

use std::io::{self, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::group::Group;
use crate::message::{self, Contents, Id, Incoming, Init, Malformed, Request, State, ToolError};
use crate::service::{Caller, Service};

use channel::Channel;

pub use conversation::{Conversation, Next, OneShot};

/// How long it is waited before the tool is looked at again.
const TICK: Duration = Duration::from_millis(50);

/// How patient the host is.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For how long a tool may say nothing, while no request of its is being answered.
    pub idle: Duration,
    /// For how long a tool that is to end may go on, and then again before it is killed.
    pub grace: Duration,
}

impl Default for Limits {
    /// Those of spec §14.5: a minute, and five seconds.
    fn default() -> Self {
        Self { idle: Duration::from_secs(60), grace: Duration::from_secs(5) }
    }
}

/// How a tool ended. Whatever it was, nothing of its process group is left.
#[derive(Debug)]
pub enum Ending {
    /// With a result.
    Result(Contents),
    /// With an error of its own telling.
    Failed(ToolError),
    /// Without either.
    Died {
        /// How its process ended.
        status: ExitStatus,
        /// The end of what it wrote to its standard error.
        stderr: String,
    },
    /// It said nothing for too long.
    Hung,
    /// It waited for an answer that nobody has.
    Unanswered(Value),
    /// The host's user called it off.
    Cancelled,
}

/// Who takes part in a session beside the tool.
pub struct Session<'s, 'a> {
    /// Answers the requests.
    pub service: &'s mut Service<'a>,
    /// Answers what the tool asks as it goes on.
    pub conversation: &'s mut dyn Conversation,
    /// Gets what the tool writes to its standard error.
    pub diagnostics: &'s mut dyn Write,
    /// Whether the user has called it off.
    pub interrupted: &'s dyn Fn() -> bool,
    /// How long to wait for what.
    pub limits: Limits,
}

impl std::fmt::Debug for Session<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Session<'_, '_> {
    /// Starts the tool, in a process group of its own, and serves it until it ends. Confining it is for
    /// `command` to do.
    ///
    /// # Errors
    /// Where it cannot be started, or its pipes fail.
    pub fn run(mut self, command: &mut Command, init: &Init) -> io::Result<Ending> {
        // A file's bytes can take six characters each, and the path needs room.
        let longest = usize::try_from(self.service.limit()).unwrap_or(usize::MAX);
        let longest = longest.saturating_mul(6).saturating_add(1 << 20);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut tool = Group::start(command)?;
        let mut channel = Channel::new(tool.process(), longest)?;
        channel.send(message::notification("init", init));
        let ending = self.serve(&tool, &mut channel)?;
        let mut drain = || channel.drain(self.diagnostics);
        let status = tool.end(self.limits.grace, &mut drain)?;
        Ok(ending.unwrap_or_else(|| Ending::Died { status, stderr: channel.last_words() }))
    }

    /// Serves the tool until it is to end; `None` where it did so by itself.
    fn serve(&mut self, tool: &Group, channel: &mut Channel) -> io::Result<Option<Ending>> {
        let mut last = Instant::now();
        // Whether the last line was a message. What is none, and the answer to it, is no sign of life.
        let mut is_message = true;
        let mut turn = Turn::Tools;
        loop {
            if (self.interrupted)() {
                channel.send(message::notification("cancel", &json!({})));
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
            if turn != Turn::Tools
                && let Some(input) = self.conversation.later()
            {
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

    /// Takes one line; the ending, if it is that.
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
            // There is no request that it could be about.
            Ok(Incoming::Cancel | Incoming::Other) => {}
            Err(Malformed { id, fault }) => channel.send(message::reply(id.as_ref(), Err(&fault))),
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
        channel.send(message::reply(Some(&request.id), answer.as_deref()));
    }

    fn go_on(&mut self, state: State, channel: &mut Channel, turn: &mut Turn) -> Option<Ending> {
        let (next, question) = match state {
            State::Stopped { result } => return Some(Ending::Result(result)),
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
                channel.send(message::notification("cancel", &json!({})));
                return Some(Ending::Unanswered(question));
            }
        };
        None
    }
}

/// Who is to say something next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// The tool, and within its time.
    Tools,
    /// The host; for the tool no time passes.
    Hosts,
    /// The tool within its time, unless the host has something.
    Either,
}

fn apply(input: &Value) -> Vec<u8> {
    message::notification("apply", &json!({ "input": input }))
}

/// The tool, while one of its requests is answered.
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

/// What a tool is told before a person is asked. An id is written as it was.
#[derive(Serialize)]
struct Pending<'p> {
    request_id: &'p Id,
    reason: &'p str,
}

impl Caller for InSession<'_> {
    fn is_gone(&mut self) -> bool {
        // A failing pipe is noticed by whoever reads from it next.
        let _ = self.channel.turn(Duration::ZERO, self.diagnostics);
        self.gone |= self.channel.take_cancel() || (self.interrupted)();
        self.gone
    }

    fn told_to_wait(&mut self, reason: &str) {
        self.channel
            .send(message::notification("pending", &Pending { request_id: self.id, reason }));
    }
}
