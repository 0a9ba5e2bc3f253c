//! rename(2), and what renameat2(2) has beside it.

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::{self, Denial, Destination, Request, Verdict};
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use super::entries::{exists, is_directory, may_create};
use super::links::settle_pair;
use crate::learn::record::How;
use crate::supervisor::resolve::Entry;
use crate::supervisor::task::Task;
use crate::sys::notification::Answer;

const KNOWN: RenameFlags =
    RenameFlags::NOREPLACE.union(RenameFlags::EXCHANGE).union(RenameFlags::WHITEOUT);

/// rename(2), renameat(2), renameat2(2).
pub(crate) fn rename(
    task: &Task<'_>,
    (olddirfd, old): (i32, u64),
    (newdirfd, new): (i32, u64),
    flags: u32,
) -> Result<Answer, Errno> {
    let flags = RenameFlags::from_bits_retain(flags);
    if !KNOWN.contains(flags)
        || (flags.contains(RenameFlags::EXCHANGE) && flags != RenameFlags::EXCHANGE)
    {
        return Err(Errno::INVAL);
    }
    let old = task.argument(olddirfd, old)?;
    let new = task.argument(newdirfd, new)?;
    let _acting = task.begin()?;
    let source = old.entry().map_err(|errno| task.nowhere(&old, decide::remove, errno))?;
    let target = new.entry().map_err(|errno| task.nowhere(&new, may_create, errno))?;
    let no_entry = if flags.contains(RenameFlags::NOREPLACE) { Errno::EXIST } else { Errno::BUSY };
    let (source, target) = (source.ok_or(Errno::BUSY)?, target.ok_or(no_entry)?);
    let (flags, if_exists) = match settled_plan(task, &source, &target, flags)? {
        Plan::Go(flags) => (flags, None),
        Plan::OnlyNew(flags, denial) => (flags, Some(denial)),
        Plan::Refuse(_) => return Err(Errno::ACCESS),
    };
    let (from, to) = (&source.directory, &target.directory);
    let how = kind(task, &target, flags);
    let outcome = renameat_with(from, &source.name, to, &target.name, flags);
    task.policy.generation.advance();
    match outcome {
        Ok(()) => task.learn_pair(how, &source.path, &target.path, Capabilities::DELETE),
        // That it may not replace is told to those who may create there.
        Err(Errno::EXIST) => task.learn(How::Used, &target.path, Capabilities::CREATE),
        Err(_) => {}
    }
    match (outcome, if_exists) {
        (Err(Errno::EXIST), Some(denial)) => {
            let denial = Verdict::Deny(Denial { ask: false, ..denial });
            let pair = (&source.request(), &target.request());
            settle_pair(task, denial, pair, Capabilities::NONE)?;
            Err(Errno::ACCESS)
        }
        (outcome, _) => outcome.map(|()| Answer::Value(0)),
    }
}

/// What a learner is told that the rename was.
fn kind(task: &Task<'_>, target: &Entry, flags: RenameFlags) -> How {
    if flags.contains(RenameFlags::EXCHANGE) {
        How::Exchanged
    } else if task.is_lesson() && exists(target) {
        How::Replaced
    } else {
        How::Moved
    }
}

/// What of a rename is allowed.
enum Plan {
    /// With these flags.
    Go(RenameFlags),
    /// With these flags, which make the kernel refuse an existing destination; the denial is for that
    /// case, unless the caller asked for the refusal itself.
    OnlyNew(RenameFlags, Denial),
    Refuse(Denial),
}

/// What of a rename is allowed, once a person was asked who is to be: about both paths at once.
fn settled_plan(
    task: &Task<'_>,
    source: &Entry,
    target: &Entry,
    flags: RenameFlags,
) -> Result<Plan, Errno> {
    let (mut from, mut to) = (source.request(), target.request());
    let mut question: Option<Denial> = None;
    let mut also = Capabilities::NONE;
    loop {
        let plan = plan(task, (source, &from), (target, &to), flags);
        let settle = |denial| settle_pair(task, Verdict::Deny(denial), (&from, &to), also);
        let Plan::Refuse(denial) = plan else {
            return question.map_or(Ok(()), settle).map(|()| plan);
        };
        if !denial.ask {
            return settle(denial).map(|()| plan);
        }
        let about = if denial.second { &mut to } else { &mut from };
        if about.consented {
            return Ok(plan);
        }
        *about = about.consented();
        match question {
            Some(_) => also = denial.missing,
            None => question = Some(denial),
        }
    }
}

fn plan(
    task: &Task<'_>,
    (source, from): (&Entry, &Request<'_>),
    (target, to): (&Entry, &Request<'_>),
    flags: RenameFlags,
) -> Plan {
    let judge = |destination| decide::rename(task.image(), from, to, destination);
    let exchange = flags.contains(RenameFlags::EXCHANGE);
    if let Some(denial) = relocation(task, (source, from), (target, to), exchange) {
        return Plan::Refuse(denial);
    }
    if exchange {
        return go_if(judge(Destination::Exchange), flags);
    }
    let fresh = judge(Destination::Missing);
    if flags.contains(RenameFlags::NOREPLACE) {
        return go_if(fresh, flags);
    }
    match (judge(Destination::Exists), fresh) {
        (Verdict::Allow, Verdict::Allow) => Plan::Go(flags),
        (Verdict::Deny(denial), Verdict::Allow) => {
            Plan::OnlyNew(flags | RenameFlags::NOREPLACE, denial)
        }
        (Verdict::Allow, Verdict::Deny(_)) if exists(target) => Plan::Go(flags),
        (Verdict::Deny(denial), Verdict::Deny(_)) if exists(target) => Plan::Refuse(denial),
        (_, Verdict::Deny(denial)) => Plan::Refuse(denial),
    }
}

/// What tiers have against a directory's going elsewhere, if one goes.
fn relocation(
    task: &Task<'_>,
    (source, from): (&Entry, &Request<'_>),
    (target, to): (&Entry, &Request<'_>),
    exchange: bool,
) -> Option<Denial> {
    let against = |entry, from, to| match decide::relocate(task.image(), from, to) {
        Verdict::Deny(denial) if is_directory(entry) => Some(denial),
        _ => None,
    };
    let back = || against(target, to, from).filter(|_| exchange);
    against(source, from, to).or_else(back)
}

fn go_if(verdict: Verdict, flags: RenameFlags) -> Plan {
    match verdict {
        Verdict::Allow => Plan::Go(flags),
        Verdict::Deny(denial) => Plan::Refuse(denial),
    }
}
