//! What of a move is allowed, where the kernel is the one that tells whether its destination exists: rename(2)
//! with the flags of renameat2(2).

use core::mem;

use crate::arrival::{LONGEST, are_siblings, sibling};
use crate::autorun;
use crate::capability::Capabilities;
use crate::config_mode;
use crate::decide::{self, Denial, Destination, Verdict};
use crate::existing;
use crate::image::Image;
use crate::lookup::Request;
use crate::moves_plain::is_plain;
use crate::tier::Restraint;

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

/// What is at the ends by now: asked of the kernel, and only where it matters.
pub trait Ends {
    /// Whether the destination exists.
    fn exists(&self) -> bool;
    /// Whether it is a directory that is to go.
    fn is_directory(&self) -> bool;
    /// Whether it is a symlink that is to go.
    fn is_symlink(&self) -> bool;
}

/// What of a move is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// All of it.
    Go,
    /// As long as the kernel is made to refuse a destination that exists (`RENAME_NOREPLACE`); the denial
    /// is for that case.
    OnlyNew(Denial),
    /// As long as the kernel is made to refuse a directory: whatever was there when it was looked at, another thread
    /// may have put one in its place by now.
    Alone(Alone),
    /// Nothing, and the program may copy what is there instead, each name of which is judged (`EXDEV`). The denial is for
    /// the record.
    Copy(Denial),
    /// Nothing, since the destination exists and is to stay, see [`existing`]: to be said once the source is found.
    Exists,
    /// Nothing.
    Refuse(Denial),
}

/// What is said where an entry may go that takes nothing along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// For a directory.
    pub directory: Stays,
    /// For a symlink, if that must not go either.
    pub symlink: Option<Denial>,
    /// For a destination that exists, if that must not be replaced.
    pub exists: Option<Denial>,
}

/// Which entries take nothing along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movable {
    /// All but directories.
    NoDirectory,
    /// Neither directories nor symlinks, which lend the names below their targets.
    NoSymlink,
}

/// How an entry goes that takes nothing along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// What may go.
    pub movable: Movable,
    /// Whether a link may be tried beside a destination that exists, see [`trial_name`]. Else that is not replaced.
    pub tries: bool,
}

impl Alone {
    /// How an entry goes to `to`.
    #[must_use]
    pub fn way(&self, image: &Image<'_>, to: &Request<'_>) -> Way {
        let movable =
            if self.symlink.is_some() { Movable::NoSymlink } else { Movable::NoDirectory };
        Way { movable, tries: self.exists.is_none() && may_try_beside(image, to) }
    }
}

/// How long the name of a trial is.
pub const TRIAL: usize = 28;

/// The name of a link that is made beside a destination and removed at once, before that destination is: it tells
/// whether the kernel makes such a link. `random` are made-up bytes.
#[must_use]
pub fn trial_name(random: [u8; 16]) -> [u8; TRIAL] {
    let mut name = *b".jp-confine-aaaaaaaaaaaaaaaa";
    let letters = name.iter_mut().skip(TRIAL.wrapping_sub(random.len()));
    for (letter, byte) in letters.zip(random) {
        *letter = b'a'.wrapping_add(byte & 15);
    }
    name
}

/// Whether the policy lets such a name come into being beside `to`: one of them stands for all.
#[cold]
#[inline(never)]
pub(crate) fn may_try_beside(image: &Image<'_>, to: &Request<'_>) -> bool {
    let mut room = [0; LONGEST];
    sibling(&mut room, to.path, &trial_name([0; 16])).is_some_and(|path| {
        let created = decide::access(image, &Request::canonical(path), Capabilities::CREATE);
        created == Verdict::Allow
    })
}

/// Why a directory stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// What is in it must not leave its place.
    Denied(Denial),
    /// The program may copy it, see [`Plan::Copy`].
    Copied(Denial),
}

impl Stays {
    const fn plan(self) -> Plan {
        match self {
            Self::Denied(denial) => Plan::Refuse(denial),
            Self::Copied(denial) => Plan::Copy(denial),
        }
    }
}

/// What of a move is allowed.
#[must_use]
pub fn plan(image: &Image<'_>, asked: &Move<'_>, ends: &impl Ends) -> Plan {
    if is_plain(image, [&asked.from, &asked.to]) {
        return Plan::Go;
    }
    match judged(image, asked, ends) {
        Plan::Refuse(_) | Plan::Copy(_) if is_kept(image, asked, ends) => Plan::Exists,
        plan => plan,
    }
}

/// Whether nothing moves, as the destination exists and is to stay: then it counts for nothing what that would take.
fn is_kept(image: &Image<'_>, asked: &Move<'_>, ends: &impl Ends) -> bool {
    asked.kind == Kind::KeepIt && existing::shows(image, &asked.to) && ends.exists()
}

/// As [`plan`], also of what it never comes to since the destination stays.
pub(crate) fn judged(image: &Image<'_>, asked: &Move<'_>, ends: &impl Ends) -> Plan {
    let left = relocation(image, asked).map(Stays::Denied);
    // Two entries change places in one step, in which the kernel refuses no kind of them.
    let is_one_step = asked.kind == Kind::Exchange;
    if let Some(directory) = left.filter(|_| is_one_step || ends.is_directory()) {
        return directory.plan();
    }
    let fresh = match entry(image, asked, ends) {
        Plan::Refuse(denial) if !denial.ask => return Plan::Refuse(denial),
        plan => plan,
    };
    let arrival = arrival(image, asked, &fresh);
    let is_elsewhere = !are_siblings(asked.from.path, asked.to.path);
    let symlink = Some(()).filter(|()| arrival.is_some() || is_elsewhere);
    let symlink = symlink.and_then(|()| self::symlink(image, asked));
    if let Some(denial) = symlink.filter(|_| arrival.is_none() && ends.is_symlink()) {
        return Plan::Refuse(denial);
    }
    let symlink = symlink.filter(|_| arrival.is_some());
    let Some(directory) = left.or(arrival.map(Stays::Copied)) else { return fresh };
    match symlink.filter(|_| ends.is_symlink()) {
        Some(symlink) => return Plan::Refuse(symlink),
        None if is_one_step || ends.is_directory() => return directory.plan(),
        // Without the right to create no link can be made: the entry takes the place of what exists in one step.
        None if left.is_none() && replaces_only(image, asked) => return fresh,
        None => {}
    }
    match fresh {
        Plan::Go => Plan::Alone(Alone { directory, symlink, exists: None }),
        Plan::OnlyNew(denial) => Plan::Alone(Alone { directory, symlink, exists: Some(denial) }),
        plan => plan,
    }
}

/// What is against a directory's coming to its destination, for the names that it brings along. A person who is asked
/// about the destination is asked about what is below as well.
fn arrival(image: &Image<'_>, asked: &Move<'_>, entry: &Plan) -> Option<Denial> {
    let is_question = matches!(entry, Plan::Refuse(Denial { ask: true, .. }));
    let ends = [asked.from, asked.to];
    let [from, to] = ends.map(|end| if is_question { end.consented() } else { end });
    let against = |from, to| denied(decide::admit_contents(image, from, to));
    let back = || against(&to, &from).map(|denial| Denial { second: false, ..denial });
    against(&from, &to).or_else(|| (asked.kind == Kind::Exchange).then(back).flatten())
}

/// Whether an entry may only take the place of one that exists.
fn replaces_only(image: &Image<'_>, asked: &Move<'_>) -> bool {
    let fresh = decide::rename(image, &asked.from, &asked.to, Destination::Missing);
    asked.kind == Kind::Replace && fresh != Verdict::Allow
}

/// What is against a symlink's coming to its destination.
fn symlink(image: &Image<'_>, asked: &Move<'_>) -> Option<Denial> {
    let against = |second, to| {
        denied(decide::admit_symlink(image, to)).map(|denial| Denial { second, ..denial })
    };
    let back = || against(false, &asked.from);
    against(true, &asked.to).or_else(|| (asked.kind == Kind::Exchange).then(back).flatten())
}

const fn denied(verdict: Verdict) -> Option<Denial> {
    match verdict {
        Verdict::Deny(denial) => Some(denial),
        Verdict::Allow => None,
    }
}

/// As [`judged`], of the entry alone.
fn entry(image: &Image<'_>, asked: &Move<'_>, ends: &impl Ends) -> Plan {
    let judge = |destination| decide::rename(image, &asked.from, &asked.to, destination);
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

/// What tiers have against a directory's going elsewhere, by what the names are.
fn relocation(image: &Image<'_>, asked: &Move<'_>) -> Option<Denial> {
    let against = |second, from, to| match decide::relocate(image, from, to) {
        Verdict::Deny(denial) => Some(Denial { second, ..denial }),
        Verdict::Allow => None,
    };
    let back = || against(true, &asked.to, &asked.from);
    against(false, &asked.from, &asked.to)
        .or_else(|| (asked.kind == Kind::Exchange).then(back).flatten())
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
            let Some(denial) = question.take() else { return Ok(plan) };
            settle(denial, mem::replace(&mut also, Capabilities::NONE))?;
            // What is at the ends may have changed by the time that the person answers.
            continue;
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

/// Whether a move puts a configuration of git in place, as git does it.
#[must_use]
pub fn puts_git_config(image: &Image<'_>, asked: &Move<'_>) -> bool {
    let path = asked.to.path;
    let is_called_so = path.ends_with(b"/config") || path.ends_with(b"/config.worktree");
    asked.kind == Kind::Replace && is_called_so && autorun::is_git_config(image, path)
}

/// Whether nothing is in the way of a move but that it puts a configuration of git in place, of which ordinary changes
/// are harmless: then who can read what is written may let it pass.
#[must_use]
pub fn may_be_vetted(image: &Image<'_>, asked: &Move<'_>, ends: &impl Ends) -> bool {
    if !puts_git_config(image, asked) {
        return false;
    }
    let consented = Move { to: asked.to.consented(), ..*asked };
    let is_question = |denial: Denial| {
        denial.ask && denial.second && denial.restraint == Some(Restraint::Autorun)
    };
    matches!(plan(image, asked, ends), Plan::Refuse(denial) if is_question(denial))
        && config_mode::is_all_that_withholds(image, &asked.to)
        && plan(image, &consented, ends) == Plan::Go
}
