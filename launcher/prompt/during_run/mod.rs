//! Asks a person while the program runs, if a tier or the list of sensitive paths requires it (spec §9.5, §10). The
//! caller waits. All others go on.
//!
//! Prompts that come close together are shown together. Each process has its own, so that a yes counts only for the
//! process named on the screen. One thread talks to the terminal. Without a terminal, or with `--non-interactive`, the
//! answer is no.

pub(crate) mod answer;
mod answers;
mod foreground;
pub(crate) mod identity;
mod one_time;
mod question;
mod recovery;
pub(crate) mod subject;
mod terminal_readers;
mod together;
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
use self::together::Together;
use crate::prompt::choices::Reply;
use crate::prompt::during_run::answer::Answer;
pub(crate) use crate::prompt::during_run::identity::FileIdentity;
use crate::prompt::during_run::identity::PromptedCaller;
pub(crate) use crate::prompt::during_run::wish::Wish;
use crate::prompt::terminal::controlling;
use crate::record::denial::Reason;
use crate::sys::exit_status::End;
use crate::sys::proc::status::Status;
pub(crate) use one_time::Asking;
pub(crate) use question::{PromptContext, Question};
pub(crate) use recovery::Before;

/// How long to wait for more prompts, so that a person reads them together.
const GATHER: Duration = Duration::from_millis(60);
/// The pause between two changes of the terminal.
const BETWEEN_CHANGES: Duration = Duration::from_millis(1);
/// How often to check whether a prompt is over.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
/// How long a prompt stays without a waiting caller. A caller that received a signal comes back.
const GRACE: Duration = Duration::from_secs(1);

/// All prompts and their answers.
#[derive(Debug)]
pub(crate) struct Consent {
    state: Mutex<State>,
    changed: Condvar,
    about: PromptContext,
    /// Opened before any program runs, because a program could keep others from opening it (`TIOCEXCL`). `None` if
    /// nobody could be asked.
    terminal: Option<File>,
    /// A prompt has the terminal. Processes that stop because of that are not reported.
    asking: AtomicBool,
    /// A key that interrupts was pressed. Programs receive its signal first, then the answer.
    interrupting: AtomicBool,
    /// Locked while the terminal is changed for a program.
    changing: Mutex<()>,
    /// An allowed start may be under way.
    starting: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    pending: Vec<Pending>,
    memory: Memory,
    once: Once,
    together: Together,
    next: u64,
    started: bool,
    /// No more prompts are shown.
    closed: bool,
    /// The signal of the last key that interrupted programs at a prompt.
    interruption: Option<Signal>,
}

/// A prompt that waits for its answer, or has just been answered.
#[derive(Debug)]
struct Pending {
    id: u64,
    question: Question,
    waiters: Vec<Waiting>,
    /// The person asked to see this one alone.
    by_itself: bool,
    /// When its last caller stopped waiting.
    abandoned: Option<Instant>,
}

/// A caller that waits for an answer. Its bell delivers the answer.
#[derive(Debug)]
struct Waiting {
    id: u64,
    tid: i32,
    bell: Arc<OwnedFd>,
}

/// The caller's side of a wait for an answer.
struct Waiter<'a> {
    consent: &'a Consent,
    id: u64,
    bell: Arc<OwnedFd>,
}

impl Consent {
    /// Without prompts yet. Opens the terminal if prompts are possible at all.
    pub(crate) fn new(about: PromptContext) -> Self {
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

    /// The facts that every prompt depends on.
    pub(crate) fn about(&self) -> &PromptContext {
        &self.about
    }

    /// Whether a prompt has the terminal now.
    pub(crate) fn is_asking(&self) -> bool {
        self.asking.load(Ordering::SeqCst)
    }

    /// Whether callers are about to receive an answer that comes with a signal. That signal does not make a call begin
    /// again.
    pub(crate) fn is_interrupting(&self) -> bool {
        self.interrupting.load(Ordering::SeqCst)
    }

    /// Whether a prompt of this run or of another is shown at the terminal.
    pub(crate) fn is_question_standing(&self) -> bool {
        self.is_asking() || self.about.turns.is_taken()
    }

    /// Changes the terminal for a program while no prompt is shown, and holds back new ones. Returns `None` if a prompt
    /// is shown.
    pub(crate) fn between_questions<T>(&self, change: impl FnOnce() -> T) -> Option<T> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_asking() {
            return None;
        }
        let pause = self.about.turns.pause()?;
        let made = change();
        drop(pause);
        // A program that changes the terminal all the time still leaves time for a prompt.
        std::thread::sleep(BETWEEN_CHANGES);
        Some(made)
    }

    /// From now on a prompt has the terminal.
    fn begin_to_ask(&self) {
        self.asking.store(true, Ordering::SeqCst);
        // Waits for a change that began before.
        drop(self.changing.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until no prompt is shown.
    ///
    /// # Errors
    /// Fails with `EINTR` if a signal interrupts the wait.
    pub(crate) fn wait_for_terminal(&self) -> Result<(), Errno> {
        while self.is_question_standing() {
            nap(&LOOK)?;
        }
        Ok(())
    }

    /// Asks, or returns a remembered answer. `further` says what else to ask about, or that something else is denied:
    /// then nobody is asked. `wait` makes a call that may take long.
    ///
    /// # Errors
    /// Passes on the errors of `wait`.
    pub(crate) fn ask(
        self: &Arc<Self>,
        asking: Asking,
        question: &Question,
        further: impl FnOnce() -> Option<Vec<Wish>>,
        wait: impl FnOnce(&dyn Fn() -> Result<u64, Errno>) -> Result<u64, Errno>,
    ) -> Result<Answer, Errno> {
        let answer = match self.known(asking, question) {
            Some(answer) => answer,
            None if self.terminal.is_none() || self.start().is_err() => Answer::Silence,
            None => match further() {
                None => Answer::Silence,
                Some(further) => {
                    let waiter = self.join(asking.tid, &question.with(&further))?;
                    let answer = Answer::of(wait(&|| waiter.wait())?);
                    self.state().together.keep(question.pid, &further, answer);
                    answer
                }
            },
        };
        if answer == Answer::Once && asking.asker == PromptedCaller::Library {
            self.state().once.keep(asking, question);
        }
        Ok(answer)
    }

    /// A thread of this process begins a start that these prompts allowed. The kernel will execute the program `image`.
    pub(crate) fn begin_start(&self, tid: i32, questions: &[Question], image: FileIdentity) {
        let mut state = self.state();
        state.once.begin_start(tid, questions, image);
        self.starting.store(state.once.is_any_under_way(), Ordering::SeqCst);
    }

    /// Whether an allowed start may be under way.
    pub(crate) fn is_any_starting(&self) -> bool {
        self.starting.load(Ordering::SeqCst)
    }

    /// Called when a thread makes a call: by now it is known whether its start succeeded. If any thread `executes`
    /// something, the start has failed.
    pub(crate) fn settle_start(&self, (pid, tid): (u32, i32), executes: bool) {
        let mut state = self.state();
        state.once.settle_start((pid, tid), executes);
        self.starting.store(state.once.is_any_under_way(), Ordering::SeqCst);
    }

    /// Drops a prompt whose caller will not come back, unless other callers wait for it.
    pub(crate) fn drop_question(&self, question: &Question) {
        let alone = |one: &Pending| one.waiters.is_empty() && one.question.is_like(question);
        self.state().pending.retain(|one| !alone(one));
    }

    /// From now on nobody consents. Waiting callers are answered after the terminal is given back, because they may
    /// write to it.
    pub(crate) fn withdraw(&self) {
        self.close();
        self.state().pending.drain(..).for_each(|one| one.tell(Answer::Silence));
    }

    /// Withdraws the prompts of processes that the program left running. Applies only if a key at a prompt ended the
    /// program.
    pub(crate) fn withdraw_after(&self, end: End) {
        let ends = |signal: Signal| end.status() == End::Killed(signal.as_raw()).status();
        // `withdraw` takes the lock as well.
        let interruption = self.state().interruption;
        if interruption.is_some_and(ends) {
            self.withdraw();
        }
    }

    /// Gives the terminal back, and shows no more prompts.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        while self.is_asking() {
            std::thread::sleep(GATHER);
        }
    }

    /// The remembered answer: to all parts of the prompt, or a no to any part.
    fn known(&self, asking: Asking, question: &Question) -> Option<Answer> {
        let mut state = self.state();
        let parts = question.wishes.iter().map(|wish| state.known(asking, question, wish));
        if let Some(answer) = Answer::to_all(parts) {
            state.once.use_up(asking, question);
            return Some(answer);
        }
        state.together.take(question)
    }

    /// Starts the thread that asks, if it does not run yet.
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

    /// Delivers the answer to all callers of this prompt, and of others that it settles.
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

/// Sleeps for this time.
///
/// # Errors
/// Fails with `EINTR` if a signal interrupts the sleep.
pub(crate) fn nap(time: &Timespec) -> Result<(), Errno> {
    match nanosleep(time) {
        NanosleepRelativeResult::Ok => Ok(()),
        NanosleepRelativeResult::Interrupted(_) => Err(Errno::INTR),
        NanosleepRelativeResult::Err(errno) => Err(errno),
    }
}

impl State {
    /// The remembered answer to one part of a prompt of this process.
    fn known(&self, asking: Asking, question: &Question, wish: &Wish) -> Option<Answer> {
        let is_to_come = || self.once.covers(asking, question.pid, wish).then_some(Answer::Once);
        self.memory.known(question, wish).or_else(is_to_come)
    }
}

impl Pending {
    fn is_wanted(&self) -> bool {
        self.abandoned.is_none_or(|since| since.elapsed() < GRACE)
    }

    /// Whether a caller waits that no pending signal is about to stop. A key pressed just before sends such a signal.
    fn is_waited_for(&self) -> bool {
        self.waiters.iter().any(|waiter| Status::is_at_rest(waiter.tid))
    }

    /// Delivers the answer to all callers that wait.
    fn tell(&self, answer: Answer) {
        self.waiters.iter().for_each(|waiter| waiter.tell(answer));
    }
}

impl Waiting {
    /// The write fails if the caller has gone. That is fine.
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
        !matches!(self, Self::No | Self::Skip | Self::Interrupt | Self::Silence)
    }

    /// The reason that the record gives.
    pub(crate) const fn reason(self) -> Reason {
        match self {
            Self::Once => Reason::Once,
            Self::Run | Self::Below => Reason::ThisRun,
            Self::Always => Reason::Always,
            Self::No | Self::Skip | Self::Interrupt => Reason::Refused,
            Self::Silence => Reason::Rule,
        }
    }

    /// Combines the answers to the parts of a prompt. One part without consent denies the whole. Otherwise all parts
    /// must be known.
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
            Self::Below => 6,
            Self::Always => 7,
            Self::Skip => 8,
        }
    }

    pub(crate) const fn of(word: u64) -> Self {
        match word {
            1 => Self::Once,
            2 => Self::Run,
            3 => Self::No,
            5 => Self::Interrupt,
            6 => Self::Below,
            7 => Self::Always,
            8 => Self::Skip,
            _ => Self::Silence,
        }
    }

    /// The answer to a prompt that got this reply, perhaps together with others.
    pub(crate) fn of_reply(reply: Reply, question: &Question) -> Self {
        match reply {
            // A run warns only once (spec §10).
            Reply::Yes if question.warning => Self::Run,
            Reply::Yes => Self::Once,
            Reply::Below => Self::Below,
            Reply::Always if question.warning => Self::Always,
            Reply::Run | Reply::Always => Self::Run,
            Reply::Skip => Self::Skip,
            Reply::Each | Reply::No => Self::No,
        }
    }
}
