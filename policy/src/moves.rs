//! What of a move is allowed, where the kernel is the one that tells whether its destination exists: rename(2)
//! with the flags of renameat2(2).

use crate::capability::Capabilities;
use crate::decide::{self, Denial, Destination, Verdict};
use crate::existing;
use crate::image::Image;
use crate::lookup::Request;

/// A move that a program asks for.
#[derive(Clone, Copy, Debug)]
pub struct Move<'a> {
    /// The entry that moves, by the canonical path of its directory.
    pub from: Request<'a>,
    /// Where it goes, likewise.
    pub to: Request<'a>,
    /// What is to become of what is there.
    pub kind: Kind,
}

/// What is to become of a destination that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is replaced.
    Replace,
    /// The move fails (`RENAME_NOREPLACE`).
    KeepIt,
    /// It goes where the other came from (`RENAME_EXCHANGE`).
    Exchange,
}

/// One end of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where the entry comes from.
    Source,
    /// Where it goes.
    Destination,
}

/// What is at the ends by now: asked of the kernel, and only where it matters.
pub trait Ends {
    /// Whether the destination exists.
    fn exists(&self) -> bool;
    /// Whether there is a directory.
    fn is_directory(&self, end: End) -> bool;
}

/// What of a move is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// All of it.
    Go,
    /// As long as the kernel is made to refuse a destination that exists (`RENAME_NOREPLACE`); the denial
    /// is for that case.
    OnlyNew(Denial),
    /// Nothing, since the destination exists and is to stay, see [`existing`]: to be said once the source is found.
    Exists,
    /// Nothing.
    Refuse(Denial),
}

/// What of a move is allowed.
#[must_use]
pub fn plan(image: &Image<'_>, asked: &Move<'_>, ends: &impl Ends) -> Plan {
    match judged(image, asked, ends) {
        Plan::Refuse(_) if is_kept(image, asked, ends) => Plan::Exists,
        plan => plan,
    }
}

/// Whether nothing moves, as the destination exists and is to stay: then it counts for nothing what that would take.
fn is_kept(image: &Image<'_>, asked: &Move<'_>, ends: &impl Ends) -> bool {
    asked.kind == Kind::KeepIt && existing::shows(image, &asked.to) && ends.exists()
}

/// As [`plan`], also of what it never comes to since the destination stays.
fn judged(image: &Image<'_>, asked: &Move<'_>, ends: &impl Ends) -> Plan {
    let judge = |destination| decide::rename(image, &asked.from, &asked.to, destination);
    if let Some(denial) = relocation(image, asked, ends) {
        return Plan::Refuse(denial);
    }
    let fresh = match asked.kind {
        Kind::Exchange => return all(judge(Destination::Exchange)),
        Kind::KeepIt => return all(judge(Destination::Missing)),
        Kind::Replace => judge(Destination::Missing),
    };
    match (judge(Destination::Exists), fresh) {
        (Verdict::Allow, Verdict::Allow) => Plan::Go,
        (Verdict::Deny(denial), Verdict::Allow) => Plan::OnlyNew(denial),
        (Verdict::Allow, Verdict::Deny(_)) if ends.exists() => Plan::Go,
        (Verdict::Deny(denial), Verdict::Deny(_)) if ends.exists() => Plan::Refuse(denial),
        (_, Verdict::Deny(denial)) => Plan::Refuse(denial),
    }
}

const fn all(verdict: Verdict) -> Plan {
    match verdict {
        Verdict::Allow => Plan::Go,
        Verdict::Deny(denial) => Plan::Refuse(denial),
    }
}

/// What tiers have against a directory's going elsewhere, if one goes.
fn relocation(image: &Image<'_>, asked: &Move<'_>, ends: &impl Ends) -> Option<Denial> {
    let against = |end, from, to| match decide::relocate(image, from, to) {
        Verdict::Deny(denial) if ends.is_directory(end) => {
            Some(Denial { second: end == End::Destination, ..denial })
        }
        _ => None,
    };
    let exchange = asked.kind == Kind::Exchange;
    let back = || against(End::Destination, &asked.to, &asked.from).filter(|_| exchange);
    against(End::Source, &asked.from, &asked.to).or_else(back)
}

/// As [`plan`], once a person was asked who is to be: about both paths at once. `settle` reports the denial
/// of the move, or asks about it and, if that is something, what is wanted at the other path; it
/// succeeds where the person consents.
///
/// # Errors
/// Those of `settle`.
pub fn settled<E>(
    image: &Image<'_>,
    asked: &Move<'_>,
    ends: &impl Ends,
    settle: impl Fn(Denial, Capabilities) -> Result<(), E>,
) -> Result<Plan, E> {
    let mut asked = *asked;
    let mut question: Option<Denial> = None;
    let mut also = Capabilities::NONE;
    loop {
        let plan = plan(image, &asked, ends);
        let Plan::Refuse(denial) = plan else {
            return question.map_or(Ok(()), |denial| settle(denial, also)).map(|()| plan);
        };
        if !denial.ask {
            return settle(denial, also).map(|()| plan);
        }
        let about = if denial.second { &mut asked.to } else { &mut asked.from };
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
