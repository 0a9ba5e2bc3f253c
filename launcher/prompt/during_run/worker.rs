//! The thread that shows prompts at the terminal and hands on their outcome.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::sync::atomic::Ordering;
use std::thread::{self, Builder};
use std::time::Instant;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, kill_process_group};

use super::foreground::{self, Foreground, Said};
use super::question::{Question, Screenful};
use super::{Consent, GATHER, GRACE, Pending};
use crate::prompt::choices::Reply;
use crate::prompt::during_run::answer::Answer;
use crate::sys::groups::group_of;
use crate::sys::proc::status::Status;
use crate::sys::proc::{descendants, orphaned_group};

/// After this many looks, about one second, the terminal counts as left. Before that its owner may still hand it on, or
/// a shell take it back from a job that ended. A busy machine takes that long.
const HANDING_ON: u64 = 16;

/// A prompt and the number that it waits under.
type Numbered = (u64, Question);

/// The outcome of prompts. A prompt without a waiting caller has no answer.
#[derive(Debug, Default)]
struct Outcome {
    answers: Vec<(u64, Answer)>,
    pressed: Option<Pressed>,
}

/// A key that sends programs a signal.
#[derive(Debug)]
struct Pressed {
    signal: Signal,
    /// The processes that were asked about then.
    askers: Vec<u32>,
    /// The group that would have received it without a prompt.
    foreground: Option<Pid>,
}

impl Consent {
    /// Shows prompts for as long as the run lasts.
    pub(super) fn work(&self) {
        loop {
            let waiting = self.changed.wait_while(self.state(), |state| state.pending.is_empty());
            drop(waiting);
            thread::sleep(GATHER);
            let questions = self.next_questions();
            if questions.is_empty() {
                // A caller that received a signal comes back in time, or its prompt is dropped.
                self.state().pending.retain(Pending::is_wanted);
                continue;
            }
            // The other threads that this thread holds are released when it ends.
            let Outcome { answers, pressed } = thread::scope(|scope| {
                let put = Builder::new().spawn_scoped(scope, || self.put(&questions)).ok();
                let unasked = || Outcome::of(Said::Gone, &questions);
                put.and_then(|put| put.join().ok()).unwrap_or_else(unasked)
            });
            for (id, answer) in answers {
                self.answer(id, answer);
            }
            self.interrupting.store(false, Ordering::SeqCst);
            // Not earlier: the answer must reach a stopped caller while the reason is still known.
            self.asking.store(false, Ordering::Relaxed);
            if let Some(pressed) = pressed.filter(Pressed::stops) {
                pressed.reach();
                self.set_aside(&questions);
            }
            self.state().pending.retain(Pending::is_wanted);
        }
    }

    /// The prompts with a waiting caller. Those that are to be asked one by one come first.
    fn next_questions(&self) -> Vec<Numbered> {
        let state = self.state();
        let pending: Vec<_> = state.pending.iter().filter(|one| one.is_waited_for()).collect();
        let is_any = pending.iter().any(|one| one.by_itself);
        let next = pending.iter().filter(|one| one.by_itself == is_any);
        next.map(|one| (one.id, one.question.clone())).collect()
    }

    /// Shows the prompts that fit the screen. The others follow later.
    fn put(&self, questions: &[Numbered]) -> Outcome {
        let mut terminal = match self.terminal(questions) {
            Ok(Some(terminal)) => terminal,
            Ok(None) => return Outcome::default(),
            Err(_) => return Outcome::of(Said::Gone, questions),
        };
        // Processes that ended, or are about to, while others had the terminal are not named.
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
        // A key that sends a signal answers all prompts that the person wanted one by one.
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
                // After the terminal is given back, and before the answer.
                pressed.reach();
            }
        }
        outcome
    }

    /// From now on each of these is asked alone.
    fn ask_each(&self, questions: &[Numbered]) {
        for one in &mut self.state().pending {
            one.by_itself |= questions.iter().any(|(id, _)| *id == one.id);
        }
    }

    /// The prompts that a caller still waits for. A caller that comes back later is asked about later.
    pub(super) fn waited_for(&self, questions: &[Numbered]) -> Vec<Numbered> {
        let is_waited_for = |one: &&Numbered| self.is_any_waited_for(std::slice::from_ref(*one));
        questions.iter().filter(is_waited_for).cloned().collect()
    }

    /// Asks as many of these together as fit the screen. Returns the outcome and their number.
    fn hear(&self, terminal: &mut Foreground, questions: &[Numbered]) -> (Said, usize) {
        if questions.is_empty() {
            return (Said::Nothing, 0);
        }
        let (asked, others) = (questions_of(questions), self.others_than(questions));
        let count = Cell::new(questions.len());
        let text = |size, sign_words: &str| {
            let shown = Screenful::of(&asked, others, size, sign_words);
            count.set(shown.as_ref().map_or(1, |shown| shown.count));
            shown
        };
        let gone = || !self.is_any_wanted(&questions[..count.get()]);
        let said = terminal.ask(&text, &gone).unwrap_or(Said::Gone);
        (said, count.get())
    }

    /// Waits until the run has the terminal. `None` if no caller waits any more.
    ///
    /// # Errors
    /// Fails if there is no terminal, and if nobody would give it to the run.
    fn terminal(&self, questions: &[Numbered]) -> io::Result<Option<Foreground>> {
        let terminal = self.terminal.as_ref().ok_or(Errno::NXIO)?;
        let mut looks = 0;
        while self.is_any_wanted(questions) {
            let turn = self.about.turns.next_at_once();
            if let Some(turn) = turn.filter(|_| self.is_any_waited_for(questions)) {
                // From here on a process that stops does so because of the prompt.
                self.begin_to_ask();
                let was_left = looks >= HANDING_ON;
                let taken = Foreground::take(terminal.try_clone()?, turn, was_left)?;
                let is_another_jobs = taken.is_none();
                // Keys come here by now. Earlier ones may have stopped the caller.
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

    /// Sets aside the prompts of jobs that are told to stop. The stop interrupts their calls, which begin and ask again
    /// when the job is continued. If a process does not stop, it is asked about again soon.
    fn set_aside(&self, questions: &[Numbered]) {
        let until = Instant::now() + GRACE;
        let is_meant = |one: &Pending| questions.iter().any(|(id, _)| *id == one.id);
        let waits = |one: &Pending| is_meant(one) && !one.waiters.is_empty();
        while Instant::now() < until && self.state().pending.iter().any(waits) {
            thread::sleep(GATHER);
        }
        self.state().pending.retain(|one| waits(one) || !is_meant(one));
    }

    /// How many other prompts wait for an answer.
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

/// Goes on waiting if another job had the terminal at this many looks. Says so once.
///
/// # Errors
/// Fails if nobody would give the terminal to the run, as a read does (`EIO`, `read(2)`).
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
    /// The answers to prompts that were shown together. An interrupt is a no.
    fn of(said: Said, questions: &[Numbered]) -> Self {
        let asked = questions_of(questions);
        let answer = |question: &Question| match said {
            Said::Reply(reply) => Some(Answer::of_reply(reply, question)),
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
    /// Whether the key is ^Z: no answer, to be asked later.
    fn stops(&self) -> bool {
        self.signal == Signal::TSTP
    }

    /// Sends the signal to the foreground job and to the jobs of the askers.
    fn reach(&self) {
        let mut groups: HashSet<Pid> = self.foreground.into_iter().collect();
        for process in descendants::all() {
            if self.askers.iter().any(|asker| i64::from(*asker) == i64::from(process.pid)) {
                groups.extend(Pid::from_raw(process.pid).and_then(group_of));
            }
        }
        for group in groups {
            // Fails if the group has ended. That is fine.
            let _ = kill_process_group(group, self.signal);
        }
    }
}
