//! The thread that talks to the terminal: it puts questions, and hands on what they came to.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::sync::atomic::Ordering;
use std::thread::{self, Builder};
use std::time::Instant;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpgid, getppid, kill_process_group};

use super::foreground::{self, Foreground, Said};
use super::question::{Question, Screenful};
use super::{Consent, GATHER, GRACE, Pending};
use crate::prompt::during_run::answer::Answer;
use crate::prompt::reply::Reply;
use crate::sys::proc::status::Status;
use crate::sys::proc::{descendants, orphaned_group};

/// At so many looks, a second's, who has the terminal may be about to hand it on, or a shell to take it back from a job
/// that has ended: on a busy machine that takes its time.
const HANDING_ON: u64 = 16;

/// A question, by the number that it waits under.
type Numbered = (u64, Question);

/// What questions came to. Those that nobody waits for any more have no answer.
#[derive(Debug, Default)]
struct Outcome {
    answers: Vec<(u64, Answer)>,
    pressed: Option<Pressed>,
}

/// A key that means a signal to programs.
#[derive(Debug)]
struct Pressed {
    signal: Signal,
    /// The processes that were asked about then.
    askers: Vec<u32>,
    /// The group that would have heard it without a question.
    foreground: Option<Pid>,
}

impl Consent {
    /// Asks, for as long as the run lasts.
    pub(super) fn work(&self) {
        loop {
            let waiting = self.changed.wait_while(self.state(), |state| state.pending.is_empty());
            drop(waiting);
            thread::sleep(GATHER);
            let questions = self.next_questions();
            if questions.is_empty() {
                // Who was sent a signal comes back, or not.
                self.state().pending.retain(Pending::is_wanted);
                continue;
            }
            // With this thread ends what it holds of others.
            let Outcome { answers, pressed } = thread::scope(|scope| {
                let put = Builder::new().spawn_scoped(scope, || self.put(&questions)).ok();
                let unasked = || Outcome::of(Said::Gone, &questions);
                put.and_then(|put| put.join().ok()).unwrap_or_else(unasked)
            });
            for (id, answer) in answers {
                self.answer(id, answer);
            }
            self.interrupting.store(false, Ordering::SeqCst);
            // Not before: who is stopped hears the answer while it is known what for.
            self.asking.store(false, Ordering::Relaxed);
            if let Some(pressed) = pressed.filter(Pressed::stops) {
                pressed.reach();
                self.set_aside(&questions);
            }
            self.state().pending.retain(Pending::is_wanted);
        }
    }

    /// Those of which somebody waits for an answer: first those that are asked about one by one.
    fn next_questions(&self) -> Vec<Numbered> {
        let state = self.state();
        let pending: Vec<_> = state.pending.iter().filter(|one| one.is_waited_for()).collect();
        let is_any = pending.iter().any(|one| one.by_itself);
        let next = pending.iter().filter(|one| one.by_itself == is_any);
        next.map(|one| (one.id, one.question.clone())).collect()
    }

    /// Puts those questions to the person that fit the screen; the others come after them.
    fn put(&self, questions: &[Numbered]) -> Outcome {
        let mut terminal = match self.terminal(questions) {
            Ok(Some(terminal)) => terminal,
            Ok(None) => return Outcome::default(),
            Err(_) => return Outcome::of(Said::Gone, questions),
        };
        // Who ended while others had the terminal is not named, nor who is about to.
        let mut questions = self.waited_for(questions);
        let mut by_itself = self.is_any(&questions, |one| one.by_itself);
        let together = questions.len().min(if by_itself { 1 } else { usize::MAX });
        let (mut said, mut count) = self.hear(&mut terminal, &questions[..together]);
        if said == Said::Reply(Reply::Each) && count > 1 {
            questions.truncate(count);
            self.ask_each(&questions);
            by_itself = true;
            (said, count) = self.hear(&mut terminal, &questions[..1]);
        }
        // A key that means a signal is about all of which a person wants to be asked one by one.
        if !(by_itself && matches!(said, Said::Signal(_))) {
            questions.truncate(count);
        }
        let mut outcome = Outcome::of(said, &questions);
        let foreground = terminal.hears_keys();
        drop(terminal);
        if let Some(pressed) = &mut outcome.pressed {
            pressed.foreground = foreground;
            if !pressed.stops() {
                self.state().interruption = Some(pressed.signal);
                self.interrupting.store(true, Ordering::SeqCst);
                // With the terminal, and before the answer.
                pressed.reach();
            }
        }
        outcome
    }

    /// From now on each of these is asked about by itself.
    fn ask_each(&self, questions: &[Numbered]) {
        for one in &mut self.state().pending {
            one.by_itself |= questions.iter().any(|(id, _)| *id == one.id);
        }
    }

    /// Those that somebody still waits for; who comes back is asked about later.
    pub(super) fn waited_for(&self, questions: &[Numbered]) -> Vec<Numbered> {
        let is_waited_for = |one: &&Numbered| self.is_any_waited_for(std::slice::from_ref(*one));
        questions.iter().filter(is_waited_for).cloned().collect()
    }

    /// Asks about these together, as many as are seen at once: what came of it, and how many that were.
    fn hear(&self, terminal: &mut Foreground, questions: &[Numbered]) -> (Said, usize) {
        if questions.is_empty() {
            return (Said::Nothing, 0);
        }
        let (asked, others) = (questions_of(questions), self.others_than(questions));
        let count = Cell::new(questions.len());
        let text = |size, sign_words: &str| {
            let shown = Screenful::of(&asked, others, size, sign_words);
            count.set(shown.as_ref().map_or(1, |shown| shown.count));
            Some(shown?.text)
        };
        let gone = || !self.is_any_wanted(&questions[..count.get()]);
        let said = terminal.ask(&text, &gone).unwrap_or(Said::Gone);
        (said, count.get())
    }

    /// The terminal, once the run has it; `None` where nobody waits any more.
    ///
    /// # Errors
    /// Where there is none, and where nobody would give it to the run.
    fn terminal(&self, questions: &[Numbered]) -> io::Result<Option<Foreground>> {
        let terminal = self.terminal.as_ref().ok_or(Errno::NXIO)?;
        let mut looks = 0;
        while self.is_any_wanted(questions) {
            let turn = self.about.turns.next_at_once();
            if let Some(turn) = turn.filter(|_| self.is_any_waited_for(questions)) {
                // Whoever is stopped from here on is stopped for the question.
                self.begin_to_ask();
                let was_left = looks >= HANDING_ON;
                let taken = Foreground::take(terminal.try_clone()?, turn, was_left)?;
                let is_another_jobs = taken.is_none();
                // Keys come here by now; what was pressed before may have stopped who asks.
                if taken.is_some() && self.is_any_waited_for(questions) {
                    return Ok(taken);
                }
                drop(taken);
                self.asking.store(false, Ordering::Relaxed);
                if is_another_jobs {
                    wait_for_foreground(terminal, looks)?;
                    looks += 1;
                }
            }
            thread::sleep(GATHER);
        }
        Ok(None)
    }

    /// Lets questions be whose jobs are told to stop. A call that is interrupted by that begins again, and asks
    /// again, when its job is continued; about whom does not stop it is asked again soon.
    fn set_aside(&self, questions: &[Numbered]) {
        let until = Instant::now() + GRACE;
        let is_meant = |one: &Pending| questions.iter().any(|(id, _)| *id == one.id);
        let waits = |one: &Pending| is_meant(one) && !one.waiters.is_empty();
        while Instant::now() < until && self.state().pending.iter().any(waits) {
            thread::sleep(GATHER);
        }
        self.state().pending.retain(|one| waits(one) || !is_meant(one));
    }

    /// How many others wait for an answer.
    fn others_than(&self, questions: &[Numbered]) -> usize {
        let is_other = |one: &&Pending| !questions.iter().any(|(id, _)| *id == one.id);
        self.state().pending.iter().filter(is_other).filter(|one| one.is_waited_for()).count()
    }

    fn is_any_wanted(&self, questions: &[Numbered]) -> bool {
        !self.state().closed && self.is_any(questions, Pending::is_wanted)
    }

    fn is_any_waited_for(&self, questions: &[Numbered]) -> bool {
        self.is_any(questions, Pending::is_waited_for)
    }

    fn is_any(&self, questions: &[Numbered], condition: fn(&Pending) -> bool) -> bool {
        let is_asked = |one: &Pending| questions.iter().any(|(id, _)| *id == one.id);
        self.state().pending.iter().any(|one| is_asked(one) && condition(one))
    }
}

fn questions_of(questions: &[Numbered]) -> Vec<&Question> {
    questions.iter().map(|(_, question)| question).collect()
}

/// Goes on waiting where another job had the terminal at so many looks before, and says so once.
///
/// # Errors
/// Where nobody would give it to the run, as for who reads (`EIO`, `read(2)`).
fn wait_for_foreground(terminal: &File, looks: u64) -> io::Result<()> {
    if looks < HANDING_ON {
        return Ok(());
    }
    if !getppid().is_some_and(orphaned_group::has_shell) {
        return Err(Errno::IO.into());
    }
    if looks == HANDING_ON { foreground::announce(terminal) } else { Ok(()) }
}

impl Outcome {
    /// What was said to questions that were put together. To interrupt is to say no.
    fn of(said: Said, questions: &[Numbered]) -> Self {
        let asked = questions_of(questions);
        let answer = |question: &Question| match said {
            Said::Reply(reply) => Some(Answer::of_reply(reply, question, &asked)),
            Said::Signal(Signal::TSTP) | Said::Nothing => None,
            Said::Signal(signal) if Status::is_heard(question.pid, signal) => {
                Some(Answer::Interrupt)
            }
            Said::Signal(_) => Some(Answer::No),
            Said::Gone => Some(Answer::Silence),
        };
        let signal = if let Said::Signal(signal) = said { Some(signal) } else { None };
        let askers = || asked.iter().map(|question| question.pid).collect();
        Self {
            answers: questions.iter().filter_map(|(id, one)| Some((*id, answer(one)?))).collect(),
            pressed: signal.map(|signal| Pressed { signal, askers: askers(), foreground: None }),
        }
    }
}

impl Pressed {
    /// Whether it is ^Z: no answer, and for later.
    fn stops(&self) -> bool {
        self.signal == Signal::TSTP
    }

    /// Sends the signal to the job in the foreground, and to those of the askers.
    fn reach(&self) {
        let mut groups: HashSet<Pid> = self.foreground.into_iter().collect();
        for process in descendants::all() {
            if self.askers.iter().any(|asker| i64::from(*asker) == i64::from(process.pid)) {
                groups.extend(getpgid(Pid::from_raw(process.pid)));
            }
        }
        for group in groups {
            // Whoever has ended needs none.
            let _ = kill_process_group(group, self.signal);
        }
    }
}
