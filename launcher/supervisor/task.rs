//! Answers one trapped call: holds its caller, gets the verdict, and chooses the answer.

use std::cell::{Cell, RefCell};
use std::os::fd::{AsFd as _, OwnedFd};

use jp_confine_engine::decide::{self, Denial, OpenVerdict, Request, Verdict};
use jp_confine_engine::image::{Image, RuleId};
use jp_confine_engine::{Capabilities, existing, report_protocol};
use rustix::fs::readlinkat;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, socket_timeout};

use super::caller::Caller;
use super::copy_budget::Room;
use super::credentials::{Credentials, Impersonation};
use super::descriptor_budget::Share;
use super::policy::Policy;
use super::resolve::Argument;
use super::resolve::object::{Object, ObjectRules, ResolvedObject};
use super::waiting::{Waiting, is_interruption};
use crate::prompt::during_run::answer::Answer;
use crate::prompt::during_run::identity::PromptedCaller;
use crate::prompt::during_run::subject::Subject;
use crate::prompt::during_run::{Asking, FileIdentity, Question};
use crate::record::denial::{self, Reason};
use crate::sys::actions;
use crate::sys::identity::{Brief, look_into};
use crate::sys::proc::status::Status;

/// A trapped call being answered.
pub(crate) struct Task<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) policy: &'a Policy,
    /// The name of the call.
    pub(crate) call: &'static str,
    /// The changes to a Git configuration that a prompt about two paths shows, in words. Usually empty.
    pub(crate) changes: &'a str,
    hands: &'a Credentials,
    waiting: &'a Waiting,
    share: &'a Share<'a>,
    mask: Cell<Option<u32>>,
    /// The prompts that a person allowed in this call, which is now judged again.
    consented: RefCell<Vec<Question>>,
}

impl<'a> Task<'a> {
    pub(crate) fn new(
        caller: Caller<'a>,
        policy: &'a Policy,
        call: &'static str,
        hands: &'a Credentials,
        (waiting, share): (&'a Waiting, &'a Share<'a>),
    ) -> Self {
        Self {
            caller,
            policy,
            call,
            changes: "",
            hands,
            waiting,
            share,
            mask: Cell::new(None),
            consented: RefCell::default(),
        }
    }

    /// The same call, recorded under another name.
    pub(crate) fn called(&self, call: &'static str) -> Self {
        Self { call, mask: self.mask.clone(), consented: self.consented.clone(), ..*self }
    }

    /// The same call, whose prompts show these changes to a Git configuration.
    pub(crate) fn showing<'b>(&'b self, changes: &'b str) -> Task<'b> {
        Task { changes, ..self.called(self.call) }
    }

    pub(crate) fn image(&self) -> &'a Image<'static> {
        &self.policy.image
    }

    /// A path argument of the call.
    pub(crate) fn argument(&self, dirfd: i32, address: u64) -> Result<Argument<'a>, Errno> {
        Argument::read(self.caller, dirfd, address)
    }

    /// Must be called after all reads about the caller that need the supervisor's own rights, and before anything is
    /// resolved or done.
    ///
    /// # Errors
    /// `EPERM` if the supervisor cannot act as the caller.
    pub(crate) fn begin(&self) -> Result<Impersonation<'a>, Errno> {
        if !self.hands.are_privileged() || self.is_as_mighty() {
            self.caller.confirm()?;
            return Ok(self.hands.act());
        }
        let status = self.status()?;
        self.mask.set(Some(status.mask));
        self.caller.confirm()?;
        self.hands.act_as(&status.identity)
    }

    /// The caller's identity as others here see it. Capabilities in a namespace of its own mean nothing outside.
    ///
    /// # Errors
    /// `EACCES` if it is unknown.
    pub(crate) fn status(&self) -> Result<Status, Errno> {
        let mut status = self.caller.status()?;
        if status.identity.capabilities != 0 && !self.shares_namespace() {
            status.identity.capabilities = 0;
        }
        Ok(status)
    }

    /// Must be called before anything is created, so that it gets the caller's mask.
    ///
    /// # Errors
    /// `EPERM` if the supervisor does not act with the caller's identity.
    pub(crate) fn prepare_to_make(&self) -> Result<(), Errno> {
        let mask = if let Some(mask) = self.mask.get() {
            mask
        } else {
            let status = self.caller.status()?;
            // Without privileges nothing changes, so there is nothing to undo.
            drop(self.hands.act_as(&status.identity)?);
            status.mask
        };
        self.hands.use_mask(mask);
        Ok(())
    }

    /// Makes a call that may wait for others. It ends when the caller is gone, or receives a signal.
    ///
    /// # Errors
    /// Those of [`Waiting::during`].
    pub(crate) fn wait<T>(&self, call: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        self.waiting.during(&self.caller, || self.share.lend(call))
    }

    /// As [`Self::wait`], on a socket. If the socket has a timeout for such calls, a signal ends them for good
    /// (`signal(7)`, and `sock_intr_errno` in `include/net/sock.h`). A call that began again would wait for the whole
    /// timeout once more.
    ///
    /// # Errors
    /// As [`Self::wait`].
    pub(crate) fn wait_for_peer<T>(
        &self,
        socket: &OwnedFd,
        timeout: Timeout,
        call: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let is_limited = || socket_timeout(socket, timeout) != Ok(None);
        self.wait(call).map_err(|errno| {
            if is_interruption(errno) && is_limited() { Errno::INTR } else { errno }
        })
    }

    /// connect(2) of a socket of the caller's, to an address of any family.
    ///
    /// # Errors
    /// Those of connect(2), and those of [`Self::wait_for_peer`].
    pub(crate) fn connect(&self, socket: &OwnedFd, address: &[u8]) -> Result<(), Errno> {
        self.wait_for_peer(socket, Timeout::Send, || actions::connect(socket, address))
    }

    /// Reserves this many descriptors beyond those of every call. The call must hold none.
    ///
    /// # Errors
    /// Those of [`Share::carry`].
    pub(crate) fn carry(&self, count: usize) -> Result<(), Errno> {
        self.share.carry(count)
    }

    /// Reserves memory for a copy of this many bytes, or fewer if not so many are left. Dropping the result releases
    /// it.
    pub(crate) fn room_to_copy(&self, length: usize) -> Room<'a> {
        self.share.copies().take(length)
    }

    /// Pins the target of a path, if the policy grants `need` on it.
    ///
    /// # Errors
    /// The kernel's, and `EACCES` or `ENOENT` if the policy denies it.
    pub(crate) fn object(
        &self,
        argument: &Argument<'_>,
        stops: bool,
        need: Capabilities,
    ) -> Result<Object, Errno> {
        let judge = |image: &Image<'_>, request: &Request<'_>| decide::access(image, request, need);
        self.object_judged(argument, stops, judge)
    }

    /// As [`Self::object`], judged by `judge`.
    ///
    /// # Errors
    /// As [`Self::object`].
    pub(crate) fn object_judged(
        &self,
        argument: &Argument<'_>,
        stops: bool,
        judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
    ) -> Result<Object, Errno> {
        let found = match argument.find(stops) {
            Ok(ResolvedObject::Object(object)) => object,
            Ok(ResolvedObject::Missing(_)) => {
                return Err(self.nowhere(argument, judge, Errno::NOENT));
            }
            Err(errno) => return Err(self.nowhere(argument, judge, errno)),
        };
        let Some(path) = self.judged_path(&found)? else { return Ok(found) };
        let route = found.route(argument);
        let subject = Subject::by_route(path, &route).holding(FileIdentity::from(&found.stat));
        self.settle(judge(self.image(), &subject.request()), subject)?;
        self.learn_judged(subject, judge);
        Ok(found)
    }

    /// The path by which an object is judged. `None` for an object that the caller already has.
    ///
    /// # Errors
    /// `EACCES` for an object of another process.
    pub(crate) fn judged_path<'o>(&self, object: &'o Object) -> Result<Option<&'o [u8]>, Errno> {
        match object.judged() {
            ObjectRules::ByPath(path) => Ok(Some(path)),
            ObjectRules::Own => Ok(None),
            ObjectRules::Refused(path) => {
                Err(self.refused(Reason::OtherProcess, Subject::new(path)))
            }
        }
    }

    /// Judges a path that leads nowhere by its spelling, so that a denial does not reveal what exists.
    pub(crate) fn nowhere(
        &self,
        argument: &Argument<'_>,
        judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
        errno: Errno,
    ) -> Errno {
        let (path, route) = match self.absent(argument) {
            Ok(place) => place,
            Err(unknown) => return unknown,
        };
        let subject = Subject::by_route(&path, &route);
        match judge(self.image(), &subject.request()) {
            // A missing path needs no prompt.
            Verdict::Deny(denial) if !denial.ask => self.denied(denial, subject),
            _ => {
                self.learn_judged(subject, judge);
                errno
            }
        }
    }

    /// The place that a path which leads nowhere would have, and its spelling.
    ///
    /// # Errors
    /// As [`Argument::lexical`].
    pub(crate) fn absent(&self, argument: &Argument<'_>) -> Result<(Vec<u8>, Vec<u8>), Errno> {
        let spelled = self.spelled(argument)?;
        let shows = |link: &[u8]| existing::shows(self.image(), &Request::canonical(link));
        Ok((argument.absent_place(shows).unwrap_or_else(|| spelled.clone()), spelled))
    }

    /// The path as written, with links replaced that were known when the policy was compiled.
    ///
    /// # Errors
    /// As [`Argument::lexical`].
    pub(crate) fn spelled(&self, argument: &Argument<'_>) -> Result<Vec<u8>, Errno> {
        let path = argument.lexical()?;
        // The path has been led through the views already, if this argument's caller sees them.
        Ok(match decide::alias(self.image(), &path).filter(|alias| !alias.is_view) {
            Some(alias) => {
                let rest = path.get(alias.end..).unwrap_or_default();
                argument.caller().spelled(b"", &[alias.target, rest].concat())
            }
            None => path,
        })
    }

    /// Turns a verdict into the call's result. Reports a denial, or asks a person who may lift it.
    ///
    /// # Errors
    /// `EACCES`, or `ENOENT` in a hidden area, or the interruption of a prompt.
    pub(crate) fn settle(&self, verdict: Verdict, subject: Subject<'_>) -> Result<(), Errno> {
        match verdict {
            Verdict::Allow => Ok(()),
            Verdict::Deny(denial) => self.lift(denial, subject),
        }
    }

    /// As [`Self::settle`], for opening. Returns the verdict of `judge`, after handling its denial.
    ///
    /// # Errors
    /// As [`Self::settle`].
    pub(crate) fn settle_open(
        &self,
        judge: impl Fn(&Image<'_>, &Request<'_>) -> OpenVerdict,
        subject: Subject<'_>,
    ) -> Result<OpenVerdict, Errno> {
        let request = subject.request();
        let OpenVerdict::Deny(denial) = judge(self.image(), &request) else {
            return Ok(judge(self.image(), &request));
        };
        self.lift(denial, subject)?;
        match judge(self.image(), &request.consented()) {
            OpenVerdict::Deny(denial) => Err(self.denied(denial, subject)),
            verdict => Ok(verdict),
        }
    }

    /// Reports a denial, unless a person may lift it and does.
    fn lift(&self, denial: Denial, subject: Subject<'_>) -> Result<(), Errno> {
        let answer = if denial.ask {
            self.ask(PromptedCaller::Call, denial, subject)?
        } else {
            Answer::Silence
        };
        if answer.consents() {
            return Ok(());
        }
        self.record(Some(denial), answer.reason(), subject);
        Err(if answer == Answer::Interrupt { Errno::INTR } else { errno_of(denial) })
    }

    /// Asks a person, and records consent.
    ///
    /// # Errors
    /// The interruption of the prompt.
    pub(crate) fn ask(
        &self,
        asker: PromptedCaller,
        denial: Denial,
        subject: Subject<'_>,
    ) -> Result<Answer, Errno> {
        let denial = self.with_reading(denial, subject);
        let program = program_of(&self.caller);
        let pid = self.caller.status()?.process.unsigned_abs();
        let consent = &self.policy.consent;
        let question = consent.about().question(self.image(), &denial, subject, program, pid);
        if self.consented.borrow().iter().any(|it| it.is_like(&question)) {
            return Ok(Answer::Once);
        }
        let (tid, instruction) = (self.caller.tid(), self.caller.instruction());
        let asking = Asking { asker, tid, instruction };
        let is_alone = question.is_start() || question.wishes.len() > 1;
        let further = || if is_alone { Some(Vec::new()) } else { self.companions(&question) };
        let answer = consent.ask(asking, &question, further, |answer| {
            self.waiting.during_question(&self.caller, || self.share.lend(answer))
        });
        let answer = answer.inspect_err(|_| {
            if self.caller.confirm().is_err() {
                consent.drop_question(&question);
            }
        })?;
        if answer.consents() {
            self.caller.confirm()?;
            self.record(Some(denial), answer.reason(), subject);
            if question.is_start() {
                self.consented.borrow_mut().push(question);
            }
        }
        Ok(answer)
    }

    /// How many prompts a person allowed in this call. After each one the call is judged again.
    pub(crate) fn consents(&self) -> usize {
        self.consented.borrow().len()
    }

    /// Notes that the caller makes a start that a person allowed, and that ends in executing `image`.
    pub(crate) fn begin_start(&self, image: &Object) {
        let questions = self.consented.borrow();
        if !questions.is_empty() {
            let image = FileIdentity::from(&image.stat);
            self.policy.consent.begin_start(self.caller.tid(), &questions, image);
        }
    }

    /// Checks whether a start that a person allowed has succeeded or failed by now.
    pub(crate) fn settle_start(&self, executes: bool) {
        let consent = &self.policy.consent;
        if !consent.is_any_starting() {
            return;
        }
        // A caller that is gone executes nothing.
        if let Ok(status) = self.caller.status() {
            consent.settle_start((status.process.unsigned_abs(), self.caller.tid()), executes);
        }
    }

    /// Adds reading to a prompt about a start, because an interpreter reads its script.
    fn with_reading(&self, denial: Denial, subject: Subject<'_>) -> Denial {
        if !denial.missing.contains(Capabilities::EXECUTE) {
            return denial;
        }
        match decide::access(self.image(), &subject.request(), Capabilities::READ) {
            Verdict::Deny(reading) if reading.ask => {
                Denial { missing: denial.missing.union(reading.missing), ..denial }
            }
            _ => denial,
        }
    }

    /// Reports a denial. Returns the errno for the caller.
    pub(crate) fn denied(&self, denial: Denial, subject: Subject<'_>) -> Errno {
        self.record(Some(Denial { ask: false, ..denial }), Reason::Rule, subject);
        errno_of(denial)
    }

    /// Reports a call that failed with `errno` because the caller's memory may not be read. Its program may only be
    /// executed (`ptrace(2)`, "dumpable").
    pub(crate) fn tell_if_unreadable(&self, errno: Errno) {
        if errno == Errno::ACCESS && self.caller.hides_memory() && self.caller.confirm().is_ok() {
            let program = program_of(&self.caller);
            self.record(None, Reason::Unreadable, Subject::new(&program));
        }
    }

    /// Reports a denial that no rule decided.
    pub(crate) fn refused(&self, reason: Reason, subject: Subject<'_>) -> Errno {
        self.record(None, reason, subject);
        Errno::ACCESS
    }

    fn record(&self, denial: Option<Denial>, reason: Reason, subject: Subject<'_>) {
        let asker = (0, program_of(&self.caller));
        let call = report_protocol::changing(self.call, subject.changes);
        let refused = denial::Denial::by_supervisor(reason, subject.path, asker, call.as_bytes());
        let refused = denial::Denial {
            route: subject.route.to_vec(),
            other: subject.other.to_vec(),
            also: subject.also,
            ..refused
        };
        self.tell(match denial {
            Some(denial) => denial::Denial {
                rule: denial.rule.map(RuleId::index),
                missing: denial.missing,
                hidden: denial.hidden,
                second: denial.second,
                question: denial.ask,
                restraint: denial.restraint,
                ..refused
            },
            None => refused,
        });
    }

    /// Records a denial under the process that made the call.
    pub(crate) fn tell(&self, denial: denial::Denial) {
        let process = self.caller.status().map_or(self.caller.tid(), |status| status.process);
        self.policy.record(&denial::Denial { pid: process.unsigned_abs(), ..denial });
    }

    /// Whether the caller may do all that the supervisor may, because it is root with the same rights. This costs less
    /// than reading its full identity.
    fn is_as_mighty(&self) -> bool {
        let brief = Brief::of(self.caller.tid());
        brief.is_ok_and(|brief| self.hands.are_those_of(&brief)) && self.shares_namespace()
    }

    /// Whether the caller's capabilities belong to the supervisor's own user namespace.
    fn shares_namespace(&self) -> bool {
        self.caller.proc().is_own_user_namespace(self.caller.tid())
    }
}

const fn errno_of(denial: Denial) -> Errno {
    if denial.hidden { Errno::NOENT } else { Errno::ACCESS }
}

/// The program that a thread runs. If that is hidden, the name that it gives itself. Empty if both are unknown.
pub(crate) fn program_of(caller: &Caller<'_>) -> Vec<u8> {
    let link = format!("{}/exe", caller.tid());
    let own_name = || caller.proc().text(caller.tid(), "comm").unwrap_or_default();
    match look_into(|| readlinkat(caller.proc().as_fd(), &link, Vec::new())) {
        Ok(program) => program.into_bytes(),
        Err(_) => own_name().trim_end_matches('\n').as_bytes().to_vec(),
    }
}
