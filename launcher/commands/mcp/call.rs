//! A call of a tool, on its way from the client to the service and back.

use std::sync::mpsc;

use jp_confine_vfs::Fault;
use jp_confine_vfs::incoming::Request;
use jp_confine_vfs::person::Answer;
use jp_confine_vfs::service::Caller;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::value::RawValue;
use tokio::sync::mpsc::UnboundedSender;

/// A call that waits for the service.
pub(super) struct Call {
    pub(super) request: Request,
    pub(super) way: WayBack,
}

/// What the service says about a call.
#[derive(Debug)]
pub(super) enum Said {
    /// A person has to answer this first.
    Question(String, mpsc::Sender<Answer>),
    /// The last word.
    Answer(Result<Box<RawValue>, Fault>),
}

/// The way back to the client.
#[derive(Debug, Clone)]
pub(super) struct WayBack {
    context: RequestContext<RoleServer>,
    said: UnboundedSender<Said>,
}

impl WayBack {
    pub(super) const fn new(
        context: RequestContext<RoleServer>,
        said: UnboundedSender<Said>,
    ) -> Self {
        Self { context, said }
    }

    /// The request as the client sent it.
    pub(super) const fn context(&self) -> &RequestContext<RoleServer> {
        &self.context
    }

    /// Says the last word. Nobody may be left to hear it.
    pub(super) fn answer(&self, answer: Result<Box<RawValue>, Fault>) {
        let _ = self.said.send(Said::Answer(answer));
    }

    /// Asks the person behind the client. The answer arrives, or its sender is dropped.
    pub(super) fn ask(&self, question: String) -> mpsc::Receiver<Answer> {
        let (sender, receiver) = mpsc::channel();
        let _ = self.said.send(Said::Question(question, sender));
        receiver
    }
}

impl Caller for WayBack {
    fn is_gone(&mut self) -> bool {
        self.context.ct.is_cancelled() || self.said.is_closed()
    }

    // The elicitation itself tells.
    fn told_to_wait(&mut self, _: &str) {}
}
