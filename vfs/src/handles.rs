//! Tools that live longer than one call, several at once, each known by a handle (spec §14.9).
//!
//! Every tool has a thread, which serves it; here is what that has come to, and what is to go to the tool
//! next. A tool that runs takes whatever is applied as data, one that waits takes it as the answer to its
//! question, and one that has stopped takes nothing more. Handles that are left over when they are dropped,
//! at the end of a turn, are aborted.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::message::{Contents, State};
use crate::session::{Conversation, Ending, Next};

/// How a handle's tool is called; no two that are there at the same time are called the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HandleId(String);

impl fmt::Display for HandleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why nothing can be done with a handle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandleError {
    /// There is none of that name, or not any more.
    #[error("there is no tool `{0}`")]
    Unknown(String),
    /// It has not said where it is since it was started, or given something.
    #[error("the tool `{0}` is busy; wait until it says where it is")]
    Busy(HandleId),
    /// It has stopped.
    #[error("the tool `{0}` has stopped, and takes nothing more")]
    Stopped(HandleId),
}

/// Where a tool is.
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// It runs, or waits for the answer to its question.
    Active(State),
    /// It is done, with this result.
    Stopped(Contents),
    /// It ended in another way, in words.
    Failed(String),
}

/// The tools that are there.
#[derive(Debug)]
pub struct Handles<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    active: BTreeMap<HandleId, Handle<'scope>>,
    last: u64,
}

#[derive(Debug)]
struct Handle<'scope> {
    shared: Arc<Shared>,
    /// None where there could be none.
    thread: Option<ScopedJoinHandle<'scope, ()>>,
}

/// What a tool's thread and its handle share.
#[derive(Debug)]
struct Shared {
    tool: Mutex<Tool>,
    changed: Condvar,
}

#[derive(Debug)]
struct Tool {
    status: Status,
    /// It has not said where it is since it was started, or given something.
    is_busy: bool,
    /// What was applied and is not with the tool yet.
    input: Option<Value>,
    aborted: bool,
}

impl<'scope, 'env> Handles<'scope, 'env> {
    /// No tools yet; their threads will be of `scope`.
    #[must_use]
    pub const fn new(scope: &'scope Scope<'scope, 'env>) -> Self {
        Self { scope, active: BTreeMap::new(), last: 0 }
    }

    /// Starts a tool. `run` is to run a [`Session`](crate::session::Session) with the conversation and the
    /// interruption that it is given. Where there can be no thread for it, the tool has failed.
    pub fn spawn(
        &mut self,
        run: impl FnOnce(&mut dyn Conversation, &dyn Fn() -> bool) -> io::Result<Ending> + Send + 'scope,
    ) -> HandleId {
        self.last += 1;
        let id = HandleId(format!("tool_{}", self.last));
        let running = Status::Active(State::Running { content: Contents::default() });
        let tool = Tool { status: running, is_busy: true, input: None, aborted: false };
        let shared = Arc::new(Shared { tool: Mutex::new(tool), changed: Condvar::new() });
        let of_thread = Arc::clone(&shared);
        let thread = Builder::new().spawn_scoped(self.scope, move || {
            let is_aborted = || of_thread.tool().aborted;
            let ending = run(&mut Applied(Arc::clone(&of_thread)), &is_aborted);
            of_thread.say(status_of(ending));
        });
        let thread = thread.inspect_err(|error| shared.say(Status::Failed(error.to_string()))).ok();
        self.active.insert(id.clone(), Handle { shared, thread });
        id
    }

    /// Where the tool is.
    ///
    /// # Errors
    /// [`HandleError::Unknown`].
    pub fn fetch(&self, id: &str) -> Result<Status, HandleError> {
        Ok(self.handle(id)?.shared.tool().status.clone())
    }

    /// Gives `input` to the tool: data while it runs, the answer while it waits.
    ///
    /// # Errors
    /// [`HandleError`]: there is no such tool, it is busy, or it has stopped.
    pub fn apply(&self, id: &str, input: Value) -> Result<(), HandleError> {
        let mut tool = self.handle(id)?.shared.tool();
        match tool.status {
            Status::Active(_) if tool.is_busy => Err(HandleError::Busy(HandleId(id.to_owned()))),
            Status::Active(_) => {
                tool.status = Status::Active(State::Running { content: Contents::default() });
                (tool.input, tool.is_busy) = (Some(input), true);
                Ok(())
            }
            Status::Stopped(_) | Status::Failed(_) => {
                Err(HandleError::Stopped(HandleId(id.to_owned())))
            }
        }
    }

    /// Waits while the tool is busy, but no longer than `longest`; where it is then.
    ///
    /// # Errors
    /// [`HandleError::Unknown`].
    pub fn wait(&self, id: &str, longest: Duration) -> Result<Status, HandleError> {
        let shared = &self.handle(id)?.shared;
        let waited = shared.changed.wait_timeout_while(shared.tool(), longest, |tool| tool.is_busy);
        let (tool, _) = waited.unwrap_or_else(PoisonError::into_inner);
        Ok(tool.status.clone())
    }

    /// Ends the tool, whatever it does, and forgets it.
    ///
    /// # Errors
    /// [`HandleError::Unknown`].
    pub fn abort(&mut self, id: &str) -> Result<(), HandleError> {
        let id = HandleId(id.to_owned());
        let handle = self.active.remove(&id).ok_or(HandleError::Unknown(id.0))?;
        handle.end();
        Ok(())
    }

    /// Ends what is left, as at the end of a turn; how many were not done.
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
    /// Whether it was still active.
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
    Status::Failed(match ending {
        Ok(Ending::Result(contents)) => return Status::Stopped(contents),
        Ok(Ending::Failed(error)) => error.message,
        Ok(Ending::Died { stderr, .. }) => format!("it ended without a result: {stderr}"),
        Ok(Ending::Hung) => "it said nothing for too long".to_owned(),
        Ok(Ending::Unanswered(_)) => "nobody answered its question".to_owned(),
        Ok(Ending::Cancelled) => "it was called off".to_owned(),
        Err(error) => error.to_string(),
    })
}

/// What was applied to a tool's handle, for its session.
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
        self.0.tool().input.take()
    }
}
