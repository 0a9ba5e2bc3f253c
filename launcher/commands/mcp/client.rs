//! Asks the person behind the client, by elicitation.

use std::cell::RefCell;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use jp_confine_vfs::person::{Answer, Person, Question};
use rmcp::RoleServer;
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, EnumSchema,
};
use rmcp::service::{ElicitationMode, RequestContext};

use super::NAME;
use super::call::WayBack;
use crate::commands::question;
use crate::output;
use crate::output::event_log::Log;

/// How often to check whether the client still waits.
const TICK: Duration = Duration::from_millis(50);

/// The longest question, in bytes: as much as is asked at a terminal.
const LONGEST: usize = 20 * 24 * 80;

const NO: &str = "no";
const ONCE: &str = "yes, once";
const SESSION: &str = "yes, in this session";

/// The person behind the client of the current call.
#[derive(Debug)]
pub(super) struct Client<'a> {
    current: &'a RefCell<Option<WayBack>>,
    /// The log for answers.
    log: Option<&'a Log>,
}

impl<'a> Client<'a> {
    pub(super) const fn new(current: &'a RefCell<Option<WayBack>>, log: Option<&'a Log>) -> Self {
        Self { current, log }
    }

    /// The answer to all the questions, if there is one.
    fn answer(&self, questions: &[Question], gone: &mut dyn FnMut() -> bool) -> Option<Answer> {
        let message = message(questions);
        if message.len() > LONGEST {
            output::warning("the agent wants more than can be asked about: denied");
            return None;
        }
        let answer = self.current.borrow().as_ref()?.ask(message);
        loop {
            match answer.recv_timeout(TICK) {
                Ok(answer) => return Some(answer),
                Err(RecvTimeoutError::Timeout) if !gone() => {}
                Err(_) => return None,
            }
        }
    }
}

impl Person for Client<'_> {
    /// Whether the client offers forms.
    fn is_there(&self) -> bool {
        self.current.borrow().as_ref().is_some_and(|way| {
            way.context().peer.supported_elicitation_modes().contains(&ElicitationMode::Form)
        })
    }

    fn ask(&mut self, questions: &[Question], gone: &mut dyn FnMut() -> bool) -> Answer {
        let answer = self.answer(questions, gone).unwrap_or(Answer::No);
        if let Some(log) = self.log {
            for question in questions {
                log.answer(NAME, question, answer);
            }
        }
        answer
    }
}

/// The questions in full: nobody consents to something that was not shown.
fn message(questions: &[Question]) -> String {
    let lines = questions.iter().flat_map(|question| question::lines("the agent", question));
    lines.map(|(indent, text)| format!("{indent}{text}")).collect::<Vec<_>>().join("\n")
}

/// Sends a question to the client. All but a clear yes is a no.
pub(super) async fn elicit(context: &RequestContext<RoleServer>, message: String) -> Answer {
    let answers = [NO, ONCE, SESSION].map(str::to_owned).into();
    let answers = EnumSchema::builder(answers).title("Allow it?").build();
    let form = ElicitationSchema::builder().required_enum_schema("answer", answers).build();
    let Ok(requested_schema) = form else { return Answer::No };
    let params =
        ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    match context.peer.create_elicitation(params).await {
        Ok(ElicitResult { action: ElicitationAction::Accept, content: Some(filled), .. }) => {
            match filled["answer"].as_str() {
                Some(ONCE) => Answer::Once,
                Some(SESSION) => Answer::Session,
                _ => Answer::No,
            }
        }
        _ => Answer::No,
    }
}
