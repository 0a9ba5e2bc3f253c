//! Asking a person while the program runs, where a tier or the list of sensitive paths says so (spec
//! §9.5, §10). Whoever asks waits; everybody else goes on.
//!
//! Questions that come close together are asked together. Each process has its own, so that a yes to one
//! call counts for who is named on the screen, and for nobody else. One thread talks to the terminal.
//! Without a terminal, or told not to ask, the answer is no.

pub(crate) mod answer;
mod answers;
mod foreground;
pub(crate) mod identity;
mod one_time;
mod question;
mod recovery;
pub(crate) mod subject;
mod terminal_readers;
pub(crate) mod wish;
mod worker;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::process::Signal;
use rustix::thread::{NanosleepRelativeResult, Timespec, nanosleep};

use self::answers::Memory;
use self::one_time::Once;
use crate::prompt::during_run::answer::Answer;
use crate::prompt::during_run::identity::Asker;
pub(crate) use crate::prompt::during_run::identity::Identity;
pub(crate) use crate::prompt::during_run::wish::Wish;
use crate::prompt::reply::Reply;
use crate::prompt::terminal::controlling;
use crate::record::denial::Reason;
use crate::sys::exit_status::End;
use crate::sys::proc::status::Status;
pub(crate) use one_time::Asking;
pub(crate) use question::{About, Question};
pub(crate) use recovery::Before;

/// For so long more questions are waited for, so that a person reads them together.
const GATHER: Duration = Duration::from_millis(60);
/// How long the terminal is let be between two changes.
const BETWEEN_CHANGES: Duration = Duration::from_millis(1);
/// How often it is looked whether a question is over.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
/// For so long a question stands that nobody waits for: a caller that was sent a signal comes back.
const GRACE: Duration = Duration::from_secs(1);

/// Everybody's questions, and the answers.
#[derive(Debug)]
pub(crate) struct Consent {
    state: Mutex<State>,
    changed: Condvar,
    about: About,
    /// Opened before there is a program, which could keep others from opening it (`TIOCEXCL`). `None` where nobody
    /// could be asked.
    terminal: Option<File>,
    /// The terminal belongs to a question: who is stopped for that is not to be reported.
    asking: AtomicBool,
    /// A key that interrupts is told to programs, and then the answer.
    interrupting: AtomicBool,
    /// Held while the terminal is changed for a program.
    changing: Mutex<()>,
    /// A start that was consented to may be under way.
    starting: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    pending: Vec<Pending>,
    memory: Memory,
    once: Once,
    next: u64,
    started: bool,
    /// Nobody is asked any more.
    closed: bool,
    /// The signal of the last key that interrupted programs at a question.
    interruption: Option<Signal>,
}

/// A question that is to be answered, or just was.
#[derive(Debug)]
struct Pending {
    id: u64,
    question: Question,
    waiters: Vec<Waiting>,
    /// A person wants to be asked about it alone.
    by_itself: bool,
    /// Since when nobody waits for it.
    abandoned: Option<Instant>,
}

/// Who waits for an answer, and is told by a bell.
#[derive(Debug)]
struct Waiting {
    id: u64,
    tid: i32,
    bell: Arc<OwnedFd>,
}

/// Somebody who waits for an answer.
struct Waiter<'a> {
    consent: &'a Consent,
    id: u64,
    bell: Arc<OwnedFd>,
}

impl Consent {
    /// Nobody has asked yet. Whether there is somebody to ask is known beforehand.
    pub(crate) fn new(about: About) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let asks = about.interactive && !about.tiers.is_empty();
        let terminal = asks.then(controlling).and_then(Result::ok);
        Self {
            state,
            changed,
            about,
            terminal,
            asking: AtomicBool::new(false),
            interrupting: AtomicBool::new(false),
            changing: Mutex::default(),
            starting: AtomicBool::new(false),
        }
    }

    /// What questions are about.
    pub(crate) fn about(&self) -> &About {
        &self.about
    }

    /// Whether the terminal belongs to a question at present.
    pub(crate) fn is_asking(&self) -> bool {
        self.asking.load(Ordering::SeqCst)
    }

    /// Whether those who wait are about to hear an answer, after a signal that goes with it: no call begins again for that.
    pub(crate) fn is_interrupting(&self) -> bool {
        self.interrupting.load(Ordering::SeqCst)
    }

    /// Whether a question stands at the terminal, of this run's or of another's.
    pub(crate) fn is_question_standing(&self) -> bool {
        self.is_asking() || self.about.turns.is_taken()
    }

    /// Changes the terminal for a program while no question stands, and none is put; `None` where one stands.
    pub(crate) fn between_questions<T>(&self, change: impl FnOnce() -> T) -> Option<T> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_asking() {
            return None;
        }
        let pause = self.about.turns.pause()?;
        let made = change();
        drop(pause);
        // Who changes it all the time leaves time for a question.
        std::thread::sleep(BETWEEN_CHANGES);
        Some(made)
    }

    /// From now on the terminal belongs to a question.
    fn begin_to_ask(&self) {
        self.asking.store(true, Ordering::SeqCst);
        // What was begun before is over then.
        drop(self.changing.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until none does.
    ///
    /// # Errors
    /// `EINTR` where that is interrupted.
    pub(crate) fn wait_for_terminal(&self) -> Result<(), Errno> {
        while self.is_question_standing() {
            nap(&LOOK)?;
        }
        Ok(())
    }

    /// The answer to a question. `wait` makes a call that may wait for long.
    ///
    /// # Errors
    /// Those of `wait`, when it does not come to the end.
    pub(crate) fn ask(
        self: &Arc<Self>,
        asking: Asking,
        question: &Question,
        wait: impl FnOnce(&dyn Fn() -> Result<u64, Errno>) -> Result<u64, Errno>,
    ) -> Result<Answer, Errno> {
        let answer = match self.known(asking, question) {
            Some(answer) => answer,
            None if !self.about.interactive || self.start().is_err() => Answer::Silence,
            None => {
                let waiter = self.join(asking.tid, question)?;
                Answer::of(wait(&|| waiter.wait())?)
            }
        };
        if answer == Answer::Once && asking.asker == Asker::Library {
            self.state().once.keep(asking, question);
        }
        Ok(answer)
    }

    /// A thread of this process now begins a start that was consented to by these questions, and will have the program
    /// `image` executed.
    pub(crate) fn begin_start(&self, tid: i32, questions: &[Question], image: Identity) {
        let mut state = self.state();
        state.once.begin_start(tid, questions, image);
        self.starting.store(state.once.is_any_under_way(), Ordering::SeqCst);
    }

    /// Whether a start that was consented to may be under way.
    pub(crate) fn is_any_starting(&self) -> bool {
        self.starting.load(Ordering::SeqCst)
    }

    /// A thread of this process makes a call: by now it is known whether its start has come about. To `execute` is to say
    /// that it has not, whichever thread does.
    pub(crate) fn settle_start(&self, (pid, tid): (u32, i32), executes: bool) {
        let mut state = self.state();
        state.once.settle_start((pid, tid), executes);
        self.starting.store(state.once.is_any_under_way(), Ordering::SeqCst);
    }

    /// Nobody will come back for the answer to this question, unless others wait for it, too.
    pub(crate) fn drop_question(&self, question: &Question) {
        let alone = |one: &Pending| one.waiters.is_empty() && one.question.is_like(question);
        self.state().pending.retain(|one| !alone(one));
    }

    /// From now on nobody consents. Those who wait hear it once the terminal is given back: they may have something to
    /// say there.
    pub(crate) fn withdraw(&self) {
        self.close();
        self.state().pending.drain(..).for_each(|one| one.tell(Answer::Silence));
    }

    /// Withdraws the questions of what the program left running, where it ended so by a key at a question.
    pub(crate) fn withdraw_after(&self, end: End) {
        let ends = |signal: Signal| end.status() == End::Killed(signal.as_raw()).status();
        // To withdraw takes the lock, too.
        let interruption = self.state().interruption;
        if interruption.is_some_and(ends) {
            self.withdraw();
        }
    }

    /// Gives the terminal back, and asks nobody any more.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        while self.is_asking() {
            std::thread::sleep(GATHER);
        }
    }

    /// What was answered before: to all that the question is about, or with a no to any of it.
    fn known(&self, asking: Asking, question: &Question) -> Option<Answer> {
        let mut state = self.state();
        let parts = question.wishes.iter().map(|wish| state.known(asking, question.pid, wish));
        let answer = Answer::to_all(parts)?;
        state.once.use_up(asking, question);
        Some(answer)
    }

    /// Starts the thread that asks, if it is not there.
    fn start(self: &Arc<Self>) -> io::Result<()> {
        if std::mem::replace(&mut self.state().started, true) {
            return Ok(());
        }
        let consent = Arc::clone(self);
        Builder::new().name("asks".into()).spawn(move || consent.work()).map(drop)
    }

    fn join(&self, tid: i32, question: &Question) -> Result<Waiter<'_>, Errno> {
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let mut state = self.state();
        let id = state.next;
        state.next += 1;
        let waiter = Waiting { id, tid, bell: Arc::clone(&bell) };
        if state.closed {
            waiter.tell(Answer::Silence);
            return Ok(Waiter { consent: self, id, bell });
        }
        match state.pending.iter_mut().find(|pending| pending.question.is_like(question)) {
            Some(pending) => {
                pending.waiters.push(waiter);
                pending.abandoned = None;
            }
            None => state.pending.push(Pending {
                id,
                question: question.clone(),
                waiters: vec![waiter],
                by_itself: false,
                abandoned: None,
            }),
        }
        self.changed.notify_one();
        Ok(Waiter { consent: self, id, bell })
    }

    /// Tells everybody who waits for this question, or for another that is settled by the answer.
    fn answer(&self, id: u64, answer: Answer) {
        let mut state = self.state();
        let Some(place) = state.pending.iter().position(|pending| pending.id == id) else { return };
        let answered = state.pending.remove(place);
        state.memory.keep(&answered.question, answer);
        answered.tell(answer);
        let State { pending, memory, .. } = &mut *state;
        pending.retain(|one| {
            let settled = memory.settled(&one.question);
            settled.inspect(|answer| one.tell(*answer)).is_none()
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sleeps for so long.
///
/// # Errors
/// `EINTR` where that is interrupted.
pub(crate) fn nap(time: &Timespec) -> Result<(), Errno> {
    match nanosleep(time) {
        NanosleepRelativeResult::Ok => Ok(()),
        NanosleepRelativeResult::Interrupted(_) => Err(Errno::INTR),
        NanosleepRelativeResult::Err(errno) => Err(errno),
    }
}

impl State {
    /// What was answered before to one part of a question of this process.
    fn known(&self, asking: Asking, pid: u32, wish: &Wish) -> Option<Answer> {
        let is_to_come = || self.once.covers(asking, pid, wish).then_some(Answer::Once);
        self.memory.known(wish).or_else(is_to_come)
    }
}

impl Pending {
    fn is_wanted(&self) -> bool {
        self.abandoned.is_none_or(|since| since.elapsed() < GRACE)
    }

    /// Whether somebody waits for it whom no signal is about to stop, as that of a key that came just before.
    fn is_waited_for(&self) -> bool {
        self.waiters.iter().any(|waiter| Status::is_at_rest(waiter.tid))
    }

    /// Tells everybody who waits for it.
    fn tell(&self, answer: Answer) {
        self.waiters.iter().for_each(|waiter| waiter.tell(answer));
    }
}

impl Waiting {
    /// Who has gone does not hear it.
    fn tell(&self, answer: Answer) {
        let _ = rustix::io::write(&*self.bell, &answer.word().to_ne_bytes());
    }
}

impl Waiter<'_> {
    fn wait(&self) -> Result<u64, Errno> {
        let mut word = [0; 8];
        rustix::io::read(&*self.bell, &mut word)?;
        Ok(u64::from_ne_bytes(word))
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        for pending in &mut self.consent.state().pending {
            let before = pending.waiters.len();
            pending.waiters.retain(|waiter| waiter.id != self.id);
            if before > 0 && pending.waiters.is_empty() {
                pending.abandoned = Some(Instant::now());
            }
        }
    }
}

#[cfg(test)]
mod tests;

impl Answer {
    /// Whether the call may go on.
    pub(crate) const fn consents(self) -> bool {
        !matches!(self, Self::No | Self::Interrupt | Self::Silence)
    }

    /// What is put on record.
    pub(crate) const fn reason(self) -> Reason {
        match self {
            Self::Once => Reason::Once,
            Self::Run => Reason::ThisRun,
            Self::No | Self::Interrupt => Reason::Refused,
            Self::Silence => Reason::Rule,
        }
    }

    /// The answer to a question by those to its parts: without consent to one there is none to all, and else all have to
    /// be known.
    pub(crate) fn to_all(parts: impl Iterator<Item = Option<Self>>) -> Option<Self> {
        let parts: Vec<Option<Self>> = parts.collect();
        if let Some(refusal) =
            [Self::No, Self::Silence].into_iter().find(|it| parts.contains(&Some(*it)))
        {
            return Some(refusal);
        }
        let parts: Vec<Self> = parts.into_iter().collect::<Option<_>>()?;
        Some(if parts.contains(&Self::Once) { Self::Once } else { Self::Run })
    }

    pub(crate) const fn word(self) -> u64 {
        match self {
            Self::Once => 1,
            Self::Run => 2,
            Self::No => 3,
            Self::Silence => 4,
            Self::Interrupt => 5,
        }
    }

    pub(crate) const fn of(word: u64) -> Self {
        match word {
            1 => Self::Once,
            2 => Self::Run,
            3 => Self::No,
            5 => Self::Interrupt,
            _ => Self::Silence,
        }
    }

    /// What a reply to the questions that were `asked` together says to one of them.
    pub(crate) fn of_reply(reply: Reply, question: &Question, asked: &[&Question]) -> Self {
        match reply {
            // Of a warning there is one in a run (spec §10).
            Reply::Yes if question.warning => Self::Run,
            Reply::Yes => Self::Once,
            Reply::Run if question::offers_run(asked) => Self::Run,
            Reply::Run | Reply::Each | Reply::No => Self::No,
        }
    }
}
