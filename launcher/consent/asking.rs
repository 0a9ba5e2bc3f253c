//! The thread that talks to the terminal: it puts questions, and hands on what they came to.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::Ordering;
use std::thread::{self, Builder};
use std::time::Instant;

use rustix::process::{Pid, Signal, getpgid, kill_process_group};

use super::foreground::{self, Foreground, Said};
use super::question::{self, Question};
use super::{Answer, Consent, GATHER, GRACE, Pending};
use crate::descendants;
use crate::reply::Reply;

/// A question, by the number that it waits under.
type Numbered = (u64, Question);

/// What questions came to. Those that nobody waits for any more have no answer.
#[derive(Debug, Default)]
struct Outcome {
    answers: Vec<(u64, Answer)>,
    /// What a key meant to programs.
    signal: Option<Signal>,
    /// The group that had the terminal, and has it again.
    group: Option<Pid>,
}

impl Consent {
    /// Asks, for as long as the run lasts.
    pub(super) fn work(&self) {
        loop {
            let waiting = self.changed.wait_while(self.state(), |state| state.pending.is_empty());
            drop(waiting);
            thread::sleep(GATHER);
            let questions = self.next_questions();
            // With this thread ends what it holds of others.
            let Outcome { answers, signal, group } = thread::scope(|scope| {
                let put = Builder::new().spawn_scoped(scope, || self.put(&questions)).ok();
                let refused = || Outcome::of(Said::Reply(Reply::No), &questions);
                put.and_then(|put| put.join().ok()).unwrap_or_else(refused)
            });
            for (id, answer) in answers {
                self.answer(id, answer);
            }
            // Not before: who is stopped hears the answer while it is known what for.
            self.asking.store(false, Ordering::Relaxed);
            if signal == Some(Signal::TSTP) {
                self.set_aside(&questions, group);
            }
            self.state().pending.retain(Pending::is_wanted);
        }
    }

    /// Those that fit one screen; the others come after them.
    fn next_questions(&self) -> Vec<Numbered> {
        let state = self.state();
        let pending = state.pending.iter().take(question::TOGETHER);
        pending.map(|one| (one.id, one.question.clone())).collect()
    }

    /// Puts questions to the person.
    fn put(&self, questions: &[Numbered]) -> Outcome {
        let mut terminal = match self.terminal(questions) {
            Ok(Some(terminal)) => terminal,
            Ok(None) => return Outcome::default(),
            Err(_) => return Outcome::of(Said::Reply(Reply::No), questions),
        };
        let group = terminal.group();
        let outcome = match self.hear(&mut terminal, questions) {
            Said::Reply(Reply::Each) if questions.len() > 1 => self.each(&mut terminal, questions),
            said => Outcome::of(said, questions),
        };
        drop(terminal);
        if let Some(signal) = outcome.signal.filter(|signal| *signal != Signal::TSTP) {
            // Programs get it with the terminal, and before the answer. Whoever has ended needs neither.
            let _ = kill_process_group(group, signal);
        }
        Outcome { group: Some(group), ..outcome }
    }

    /// Puts each question by itself; a key that means a signal is about all that are left.
    fn each(&self, terminal: &mut Foreground, questions: &[Numbered]) -> Outcome {
        let mut outcome = Outcome::default();
        let mut rest = questions;
        while !rest.is_empty() && outcome.signal.is_none() {
            let said = self.hear(terminal, &rest[..1]);
            let about = if matches!(said, Said::Signal(_)) { rest.len() } else { 1 };
            let Outcome { answers, signal, .. } = Outcome::of(said, &rest[..about]);
            outcome.answers.extend(answers);
            outcome.signal = signal;
            rest = &rest[about..];
        }
        outcome
    }

    /// Asks about these together.
    fn hear(&self, terminal: &mut Foreground, questions: &[Numbered]) -> Said {
        let asked: Vec<&Question> = questions.iter().map(|(_, question)| question).collect();
        let gone = || !self.is_any_wanted(questions);
        let (words, offer) = (question::words(&asked), question::offer(&asked));
        terminal.ask(&words, &offer, &gone).unwrap_or(Said::Reply(Reply::No))
    }

    /// The terminal, once the run has it; `None` where nobody waits any more.
    fn terminal(&self, questions: &[Numbered]) -> io::Result<Option<Foreground>> {
        let mut is_announced = false;
        while self.is_any_wanted(questions) {
            // Whoever is stopped from here on is stopped for the question.
            self.asking.store(true, Ordering::Relaxed);
            if let Some(terminal) = Foreground::take()? {
                return Ok(Some(terminal));
            }
            self.asking.store(false, Ordering::Relaxed);
            if !std::mem::replace(&mut is_announced, true) {
                foreground::announce()?;
            }
            thread::sleep(GATHER);
        }
        Ok(None)
    }

    /// Stops the job in the foreground, and those of whoever asks. A call that is interrupted by that begins
    /// again, and asks again, when its job is continued; who does not stop is asked about again soon.
    fn set_aside(&self, questions: &[Numbered], foreground: Option<Pid>) {
        let mut groups: HashSet<Pid> = foreground.into_iter().collect();
        for process in descendants::all() {
            let asks = |(_, question): &Numbered| i64::from(question.pid) == i64::from(process.pid);
            if questions.iter().any(asks) {
                groups.extend(getpgid(Pid::from_raw(process.pid)));
            }
        }
        for group in groups {
            // Whoever has ended need not stop.
            let _ = kill_process_group(group, Signal::TSTP);
        }
        let until = Instant::now() + GRACE;
        let is_meant = |one: &Pending| questions.iter().any(|(id, _)| *id == one.id);
        let waits = |one: &Pending| is_meant(one) && !one.waiters.is_empty();
        while Instant::now() < until && self.state().pending.iter().any(waits) {
            thread::sleep(GATHER);
        }
        self.state().pending.retain(|one| waits(one) || !is_meant(one));
    }

    fn is_any_wanted(&self, questions: &[Numbered]) -> bool {
        let state = self.state();
        let is_asked = |one: &Pending| questions.iter().any(|(id, _)| *id == one.id);
        !state.closed && state.pending.iter().any(|one| is_asked(one) && one.is_wanted())
    }
}

impl Outcome {
    /// What was said to questions that were put together. To interrupt is to say no.
    fn of(said: Said, questions: &[Numbered]) -> Self {
        let (reply, signal) = match said {
            Said::Reply(reply) => (Some(reply), None),
            Said::Signal(signal @ Signal::TSTP) => (None, Some(signal)),
            Said::Signal(signal) => (Some(Reply::No), Some(signal)),
            Said::Nothing => (None, None),
        };
        let asked: Vec<&Question> = questions.iter().map(|(_, question)| question).collect();
        let answer =
            |(id, question): &Numbered| Some((*id, Answer::of_reply(reply?, question, &asked)));
        Self { answers: questions.iter().filter_map(answer).collect(), signal, group: None }
    }
}
