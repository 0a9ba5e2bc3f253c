//! Decides whether a request passes: by the policy, or by a person if no rule applies. Used by `service`.

use std::collections::HashSet;
use std::path::Path;

use jp_confine_engine::check::{CheckResult, Context};
use jp_confine_engine::coverage::Coverage;
use jp_confine_engine::granted::Granted;

use super::caller::Caller;
use crate::fault::Fault;
use crate::person::{Answer, Person, Question};

/// The policy and the person who may be prompted.
#[derive(Debug)]
pub(super) struct PolicyCheck<'a> {
    pub(super) context: Context<'a>,
    person: &'a mut dyn Person,
    /// Prompts that the person allowed for the session, without their previews.
    allowed: HashSet<Question>,
    /// The text that the request would write.
    preview: String,
}

impl<'a> PolicyCheck<'a> {
    pub(super) fn new(context: &Context<'a>, person: &'a mut dyn Person) -> Self {
        Self { context: *context, person, allowed: HashSet::new(), preview: String::new() }
    }

    /// Lets the prompts of this request show what it would write.
    pub(super) fn previews(&mut self, contents: &[u8]) {
        self.preview = String::from_utf8_lossy(contents).into_owned();
    }

    /// Grants all of `checks` or none. All prompts are shown at once (spec §9.5).
    pub(super) fn pass<const N: usize>(
        &mut self,
        checks: [CheckResult; N],
        caller: &mut dyn Caller,
    ) -> Result<[Granted; N], Fault> {
        let granted = self.pass_all(checks.into(), caller)?;
        // There is one grant for each check.
        granted.try_into().map_err(|_| Fault::denied("the policy is not usable"))
    }

    /// Like [`Self::pass`], for any number of checks.
    pub(super) fn pass_all(
        &mut self,
        checks: Vec<CheckResult>,
        caller: &mut dyn Caller,
    ) -> Result<Vec<Granted>, Fault> {
        let closed = |check: &&CheckResult| !check.is_allowed() && !check.is_open_to_consent();
        if let Some(refused) = checks.iter().find(closed) {
            return Err(Fault::denied(refused.message()));
        }
        let open: Vec<_> = checks.iter().filter(|check| !check.is_allowed()).collect();
        let questions = open.iter().map(|check| question(check)).collect();
        let refusal = open.first().map(|check| check.message()).unwrap_or_default();
        self.ask(questions, refusal, caller)?;
        checks.into_iter().map(|check| check.consented().map_err(Fault::denied)).collect()
    }

    /// Whether a person may allow it. Either one is there, or one has already allowed it for the session.
    pub(super) fn may_consent(&self, check: &CheckResult) -> bool {
        check.is_open_to_consent()
            && (self.person.is_there() || self.allowed.contains(&question(check)))
    }

    /// Passes if `coverage` allows it, or if no rule applies and a person allows it. `refusal` is the denial that
    /// belongs to `question`.
    pub(super) fn pass_covered(
        &mut self,
        coverage: Coverage,
        question: Question,
        refusal: String,
        caller: &mut dyn Caller,
    ) -> Result<(), Fault> {
        match coverage {
            Coverage::Allowed => Ok(()),
            Coverage::Denied => Err(Fault::denied(refusal)),
            Coverage::Uncovered => self.ask(vec![question], refusal, caller),
        }
    }

    fn ask(
        &mut self,
        mut questions: Vec<Question>,
        refusal: String,
        caller: &mut dyn Caller,
    ) -> Result<(), Fault> {
        let preview = std::mem::take(&mut self.preview);
        questions.retain(|question| !self.allowed.contains(question));
        if questions.is_empty() {
            return Ok(());
        }
        if !self.person.is_there() {
            return Err(Fault::denied(refusal));
        }
        caller.told_to_wait("awaiting user approval");
        let shown: Vec<Question> = questions
            .iter()
            .map(|question| Question { preview: preview.clone(), ..question.clone() })
            .collect();
        let answer = self.person.ask(&shown, &mut || caller.is_gone());
        if caller.is_gone() {
            return Err(Fault::cancelled());
        }
        match answer {
            Answer::No => Err(Fault::denied(format!("{refusal} The user was asked, and refused."))),
            Answer::Once => Ok(()),
            Answer::Session => {
                self.allowed.extend(questions);
                Ok(())
            }
        }
    }
}

/// The prompt about a path.
fn question(check: &CheckResult) -> Question {
    let place = check.resolved.as_ref().map(|path| path.display().to_string());
    let reason = match &check.rule {
        Some(rule) if !check.is_uncovered() => rule.to_string(),
        _ => "no rule is about it".to_owned(),
    };
    let what = place.unwrap_or_else(|| check.path.clone());
    let written = Some(check.path.clone()).filter(|path| !Path::new(&what).ends_with(path));
    Question { action: check.capability.to_string(), what, written, preview: String::new(), reason }
}
