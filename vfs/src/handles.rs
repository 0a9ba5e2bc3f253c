//! Tools that live longer than one call, several at once, each known by a handle (spec §14.9).
//!
//! A thread serves each tool. This module keeps the tool's status and the next input for it:
//!
//! - A running tool takes any input as data.
//! - A waiting tool takes the input as the answer to its question.
//! - A stopped tool takes no input.
//!
//! Dropping the handles, at the end of a turn, aborts the tools that are left.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::message::{Contents, State, ToolError};
use crate::session::{Conversation, Ending, Next};

/// The name of a tool's handle. No two tools that exist at the same time share one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HandleId(String);

impl fmt::Display for HandleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why an operation on a handle failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandleError {
    /// No tool has this name, or no longer.
    #[error("there is no tool `{0}`")]
    Unknown(String),
    /// The tool has stopped.
    #[error("the tool `{0}` has stopped, and takes nothing more")]
    Stopped(HandleId),
}

/// The status of a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// It runs, or waits for the answer to its question.
    Active(State),
    /// It has stopped, with this result.
    Stopped(Contents),
    /// It failed, or ended in another way.
    Failed(ToolError),
}

/// All tools of a turn.
#[derive(Debug)]
pub struct Handles<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    active: BTreeMap<HandleId, Handle<'scope>>,
    last: u64,
}

#[derive(Debug)]
struct Handle<'scope> {
    shared: Arc<Shared>,
    /// `None` if the thread could not be started.
    thread: Option<ScopedJoinHandle<'scope, ()>>,
}

/// State shared by a tool's thread and its handle.
#[derive(Debug)]
struct Shared {
    tool: Mutex<Tool>,
    changed: Condvar,
}

#[derive(Debug)]
struct Tool {
    status: Status,
    /// The tool has not reported a status since it was started or given input.
    is_busy: bool,
    /// Input that the tool has not received yet, the oldest first.
    input: VecDeque<Value>,
    aborted: bool,
}

impl<'scope, 'env> Handles<'scope, 'env> {
    /// Creates an empty set. The tools' threads will belong to `scope`.
    #[must_use]
    pub const fn new(scope: &'scope Scope<'scope, 'env>) -> Self {
        Self { scope, active: BTreeMap::new(), last: 0 }
    }

    /// Starts a tool. `run` must run a [`Session`](crate::session::Session) with the conversation and the interruption
    /// that it receives. If no thread can be started, the tool has failed.
    pub fn spawn(
        &mut self,
        run: impl FnOnce(&mut dyn Conversation, &dyn Fn() -> bool) -> io::Result<Ending> + Send + 'scope,
    ) -> HandleId {
        self.last += 1;
        let id = HandleId(format!("tool_{}", self.last));
        let running = Status::Active(State::Running { content: Contents::default() });
        let tool = Tool { status: running, is_busy: true, input: VecDeque::new(), aborted: false };
        let shared = Arc::new(Shared { tool: Mutex::new(tool), changed: Condvar::new() });
        let of_thread = Arc::clone(&shared);
        let thread = Builder::new().spawn_scoped(self.scope, move || {
            let is_aborted = || of_thread.tool().aborted;
            let ending = run(&mut Applied(Arc::clone(&of_thread)), &is_aborted);
            of_thread.say(status_of(ending));
        });
        let failed = |error: &io::Error| Status::Failed(ToolError::new(error.to_string()));
        let thread = thread.inspect_err(|error| shared.say(failed(error))).ok();
        self.active.insert(id.clone(), Handle { shared, thread });
        id
    }

    /// The tool's status.
    ///
    /// # Errors
    /// [`HandleError::Unknown`].
    pub fn fetch(&self, id: &str) -> Result<Status, HandleError> {
        Ok(self.handle(id)?.shared.tool().status.clone())
    }

    /// Gives `input` to the tool: data while it runs, the answer while it waits.
    ///
    /// # Errors
    /// [`HandleError`]: the tool does not exist, or has stopped.
    pub fn apply(&self, id: &str, input: Value) -> Result<(), HandleError> {
        let mut tool = self.handle(id)?.shared.tool();
        match tool.status {
            Status::Active(_) => {
                tool.status = Status::Active(State::Running { content: Contents::default() });
                tool.is_busy = true;
                tool.input.push_back(input);
                Ok(())
            }
            Status::Stopped(_) | Status::Failed(_) => {
                Err(HandleError::Stopped(HandleId(id.to_owned())))
            }
        }
    }

    /// Waits while the tool is busy, but at most `longest`. Returns the status then.
    ///
    /// # Errors
    /// [`HandleError::Unknown`].
    pub fn wait(&self, id: &str, longest: Duration) -> Result<Status, HandleError> {
        let shared = &self.handle(id)?.shared;
        let waited = shared.changed.wait_timeout_while(shared.tool(), longest, |tool| tool.is_busy);
        let (tool, _) = waited.unwrap_or_else(PoisonError::into_inner);
        Ok(tool.status.clone())
    }

    /// Ends the tool, whatever it is doing, and forgets it.
    ///
    /// # Errors
    /// [`HandleError::Unknown`].
    pub fn abort(&mut self, id: &str) -> Result<(), HandleError> {
        let id = HandleId(id.to_owned());
        let handle = self.active.remove(&id).ok_or(HandleError::Unknown(id.0))?;
        handle.end();
        Ok(())
    }

    /// Ends all remaining tools, as at the end of a turn. Returns how many were still active.
    pub fn abort_all(&mut self) -> usize {
        let left = std::mem::take(&mut self.active);
        for handle in left.values() {
            handle.shared.tool().aborted = true;
        }
        left.into_values().map(Handle::end).filter(|was_active| *was_active).count()
    }

    fn handle(&self, id: &str) -> Result<&Handle<'scope>, HandleError> {
        let found = self.active.iter().find(|(known, _)| known.0 == id);
        found.map(|(_, handle)| handle).ok_or_else(|| HandleError::Unknown(id.to_owned()))
    }
}

impl Drop for Handles<'_, '_> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

impl Handle<'_> {
    /// Ends the tool. Returns whether it was still active.
    fn end(self) -> bool {
        let was_active = {
            let mut tool = self.shared.tool();
            tool.aborted = true;
            matches!(tool.status, Status::Active(_))
        };
        // A thread that panicked has ended, too.
        let _ = self.thread.map(ScopedJoinHandle::join);
        was_active
    }
}

impl Shared {
    fn tool(&self) -> MutexGuard<'_, Tool> {
        self.tool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, status: Status) {
        let mut tool = self.tool();
        tool.status = status;
        tool.is_busy = false;
        self.changed.notify_all();
    }
}

fn status_of(ending: io::Result<Ending>) -> Status {
    let why = match ending {
        Ok(Ending::Result(contents)) => return Status::Stopped(contents),
        Ok(Ending::Failed(error)) => return Status::Failed(error),
        Ok(Ending::Died { stderr, .. }) => format!("it ended without a result: {stderr}"),
        Ok(Ending::Hung) => "it said nothing for too long".to_owned(),
        Ok(Ending::Unanswered(_)) => "nobody answered its question".to_owned(),
        Ok(Ending::Cancelled) => "it was called off".to_owned(),
        Err(error) => error.to_string(),
    };
    Status::Failed(ToolError::new(why))
}

/// Passes the input for a tool's handle to the tool's session.
#[derive(Debug)]
struct Applied(Arc<Shared>);

impl Applied {
    fn said(&self, state: State) -> Next {
        self.0.say(Status::Active(state));
        Next::Later
    }
}

impl Conversation for Applied {
    fn running(&mut self, content: &Contents) -> Next {
        self.said(State::Running { content: content.clone() })
    }

    fn waiting(&mut self, content: &Contents, question: &Value) -> Next {
        self.said(State::Waiting { content: content.clone(), question: question.clone() })
    }

    fn later(&mut self) -> Option<Value> {
        self.0.tool().input.pop_front()
    }
}
