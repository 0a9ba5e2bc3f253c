//! Moving directory entries: both are held, and both are judged, before one takes the place of the other.

use core::ffi::{CStr, c_uint};

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::{self, Denial, Destination, Request, Verdict};
use jp_confine_policy::image::Image;

use super::entries::{Argument, exists, may_create, nowhere, settle_by_spelling, settle_pair};
use crate::errno::Errno;
use crate::path::Spelling;
use crate::report::Other;
use crate::resolve::{self, Entry};
use crate::{session, sys, working_directory};

/// rename(2), and with flags of [`sys::rename`] what the system has beside it.
pub(super) fn move_entry(
    call: &CStr,
    old: Argument,
    new: Argument,
    flags: c_uint,
) -> Result<(), Errno> {
    let image = session::image()?;
    let mut from = Spelling::new();
    let mut to = Spelling::new();
    from.read(old.dirfd, old.path)?;
    to.read(new.dirfd, new.path)?;
    let spelled_from = decide::spelled(image, from.lexical(), decide::remove);
    let spelled_to = decide::spelled(image, to.lexical(), may_create);
    let source = match resolve::entry(image, &mut from) {
        Ok(Some(entry)) => entry,
        Ok(None) => return Err(Errno::EBUSY),
        Err(errno) => return Err(nowhere(image, call, &mut from, decide::remove, errno)),
    };
    let target = match resolve::entry_beside(image, &source, &mut to) {
        Ok(Some(entry)) => entry,
        Ok(None) => return Err(Errno::EBUSY),
        Err(errno) => return Err(nowhere(image, call, &mut to, may_create, errno)),
    };
    let (flags, if_exists) = match settled_plan(image, call, &source, &target, flags)? {
        Plan::Go(flags) => (flags, None),
        Plan::OnlyNew(flags, denial) => (flags, Some(denial)),
        Plan::Refuse(_) => return Err(Errno::EACCES),
    };
    let spelled_from =
        spelled_from.filter(|_| decide::remove(image, &source.request()) == Verdict::Allow);
    let spelled_to = spelled_to.filter(|_| may_create(image, &target.request()) == Verdict::Allow);
    settle_spellings(image, call, (old, spelled_from), (new, spelled_to), &target)?;
    let (from, to) = ((source.dirfd(), source.name()), (target.dirfd(), target.name()));
    let outcome = sys::rename(from, to, flags);
    working_directory::announce_change();
    match (outcome, if_exists) {
        (Err(Errno::EEXIST), Some(denial)) => {
            let denial = Verdict::Deny(Denial { ask: false, ..denial });
            let pair = (&source.request(), &target.request());
            settle_pair(image, call, denial, pair, Capabilities::NONE)
        }
        (outcome, _) => outcome,
    }
}

/// Deals with what the spellings of both ends take: where both are asked about it is asked once, and a
/// refusal asks nobody.
fn settle_spellings(
    image: &Image<'_>,
    call: &CStr,
    (old, from): (Argument, Option<Denial>),
    (new, to): (Argument, Option<Denial>),
    target: &Entry<'_>,
) -> Result<(), Errno> {
    match (from, to) {
        (Some(from), Some(to)) if from.ask && to.ask => {
            let other = Other { path: target.path(), wanted: to.missing };
            settle_by_spelling(image, call, old, from, other)
        }
        (from, Some(to)) if from.is_none() || !to.ask => {
            settle_by_spelling(image, call, new, to, Other::NONE)
        }
        (Some(from), _) => settle_by_spelling(image, call, old, from, Other::NONE),
        (None, _) => Ok(()),
    }
}

/// What of a rename is allowed, once a person was asked who is to be: about both paths at once.
fn settled_plan(
    image: &Image<'_>,
    call: &CStr,
    source: &Entry<'_>,
    target: &Entry<'_>,
    flags: c_uint,
) -> Result<Plan, Errno> {
    let (mut from, mut to) = (source.request(), target.request());
    let mut question: Option<Denial> = None;
    let mut also = Capabilities::NONE;
    loop {
        let plan = plan(image, (source, &from), (target, &to), flags);
        let settle = |denial| settle_pair(image, call, Verdict::Deny(denial), (&from, &to), also);
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

/// What of a rename is allowed.
enum Plan {
    /// With these flags of [`sys::rename`].
    Go(c_uint),
    /// With these flags, which make the kernel refuse an existing destination; the denial is for
    /// that case, unless the program asked for the refusal itself.
    OnlyNew(c_uint, Denial),
    Refuse(Denial),
}

fn plan(
    image: &Image<'_>,
    (source, from): (&Entry<'_>, &Request<'_>),
    (target, to): (&Entry<'_>, &Request<'_>),
    flags: c_uint,
) -> Plan {
    let judge = |destination| decide::rename(image, from, to, destination);
    let exchange = flags & sys::RENAME_EXCHANGE != 0;
    if let Some(denial) = relocation(image, (source, from), (target, to), exchange) {
        return Plan::Refuse(denial);
    }
    if exchange {
        return go_if(judge(Destination::Exchange), flags);
    }
    let fresh = judge(Destination::Missing);
    if flags & sys::RENAME_NOREPLACE != 0 {
        return go_if(fresh, flags);
    }
    match (judge(Destination::Exists), fresh) {
        (Verdict::Allow, Verdict::Allow) => Plan::Go(flags),
        (Verdict::Deny(denial), Verdict::Allow) => {
            Plan::OnlyNew(flags | sys::RENAME_NOREPLACE, denial)
        }
        (Verdict::Allow, Verdict::Deny(_)) if exists(target) => Plan::Go(flags),
        (Verdict::Deny(denial), Verdict::Deny(_)) if exists(target) => Plan::Refuse(denial),
        (_, Verdict::Deny(denial)) => Plan::Refuse(denial),
    }
}

fn go_if(verdict: Verdict, flags: c_uint) -> Plan {
    match verdict {
        Verdict::Allow => Plan::Go(flags),
        Verdict::Deny(denial) => Plan::Refuse(denial),
    }
}

/// What tiers have against a directory's going elsewhere, if one goes.
fn relocation(
    image: &Image<'_>,
    (source, from): (&Entry<'_>, &Request<'_>),
    (target, to): (&Entry<'_>, &Request<'_>),
    exchange: bool,
) -> Option<Denial> {
    let against = |entry: &Entry<'_>, from, to| match decide::relocate(image, from, to) {
        Verdict::Deny(denial) if is_directory(entry) => Some(denial),
        _ => None,
    };
    let back = || against(target, to, from).filter(|_| exchange);
    against(source, from, to).or_else(back)
}

fn is_directory(entry: &Entry<'_>) -> bool {
    sys::is_directory(entry.dirfd(), entry.name())
}
