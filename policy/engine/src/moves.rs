//! Plans moves: how much of a rename(2), with the flags of renameat2(2), is allowed. Only the kernel can tell whether
//! the destination exists.

mod plain;

use core::mem;

use self::plain::is_plain;
use crate::capability::Capabilities;
use crate::decide::arrival::{LONGEST, are_siblings, sibling};
use crate::decide::{self, Destination};
use crate::image::Image;
use crate::request::Request;
use crate::tier::Restraint;
use crate::verdict::{Denial, Verdict};
use crate::{autorun, config_mode, existing};

/// A move that a program requests.
#[derive(Clone, Copy, Debug)]
pub struct Move<'a> {
    /// The entry that moves, named in the canonical path of its directory.
    pub from: Request<'a>,
    /// Its destination, named likewise.
    pub to: Request<'a>,
    /// The treatment of an existing destination.
    pub kind: Kind,
}

/// The treatment of an existing destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is replaced.
    Replace,
    /// The move fails (`RENAME_NOREPLACE`).
    KeepIt,
    /// It takes the place of the source (`RENAME_EXCHANGE`).
    Exchange,
}

/// The present state of the ends. It is read from the kernel, and only if it matters.
pub trait Ends {
    /// Whether the destination exists.
    fn exists(&self) -> bool;
    /// Whether the source is a directory.
    fn is_directory(&self) -> bool;
    /// Whether the source is a symlink.
    fn is_symlink(&self) -> bool;
}

/// The allowed part of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// All of it.
    Go,
    /// The move, if the caller makes the kernel fail for an existing destination (`RENAME_NOREPLACE`). The denial is
    /// for that case.
    OnlyNew(Denial),
    /// The move, if the caller makes the kernel fail for a directory. Another thread may have put a directory there
    /// since the check.
    Alone(Alone),
    /// Nothing (`EXDEV`). The program may copy the entry instead, and each name of the copy is judged. The denial is
    /// for the record.
    Copy(Denial),
    /// Nothing, because the destination exists and must stay, see [`existing`]. Report that once the source is found.
    Exists,
    /// Nothing.
    Refuse(Denial),
}

/// The denials for a move of an entry that takes nothing along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// For a directory.
    pub directory: Stays,
    /// For a symlink, if it must not move either.
    pub symlink: Option<Denial>,
    /// For an existing destination, if it must not be replaced.
    pub exists: Option<Denial>,
}

/// Kinds of entries that take nothing along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movable {
    /// All but directories.
    NoDirectory,
    /// Neither directories nor symlinks. A symlink lends the names below its target.
    NoSymlink,
}

/// How an entry moves that takes nothing along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The kinds of entries that may move.
    pub movable: Movable,
    /// Whether a hard link may be tried beside an existing destination, see [`trial_name`]. If not, the destination is
    /// not replaced.
    pub tries: bool,
}

impl Alone {
    /// How an entry moves to `to`.
    #[must_use]
    pub fn way(&self, image: &Image<'_>, to: &Request<'_>) -> Way {
        let movable =
            if self.symlink.is_some() { Movable::NoSymlink } else { Movable::NoDirectory };
        Way { movable, tries: self.exists.is_none() && may_try_beside(image, to) }
    }
}

/// The length of a trial name.
pub const TRIAL: usize = 28;

/// A name for a hard link beside a destination. The link is removed at once, before the destination is. It shows
/// whether the kernel can create such a link. `random` are random bytes.
#[must_use]
pub fn trial_name(random: [u8; 16]) -> [u8; TRIAL] {
    let mut name = *b".jp-confine-aaaaaaaaaaaaaaaa";
    let letters = name.iter_mut().skip(TRIAL.wrapping_sub(random.len()));
    for (letter, byte) in letters.zip(random) {
        *letter = b'a'.wrapping_add(byte & 15);
    }
    name
}

/// Whether the policy allows creating such a name beside `to`. One of them stands for all.
#[cold]
#[inline(never)]
pub(crate) fn may_try_beside(image: &Image<'_>, to: &Request<'_>) -> bool {
    let mut room = [0; LONGEST];
    sibling(&mut room, to.path, &trial_name([0; 16])).is_some_and(|path| {
        let created = decide::access(image, &Request::canonical(path), Capabilities::CREATE);
        created == Verdict::Allow
    })
}

/// Why a directory must stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// The entries in it must not leave their place.
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

/// The allowed part of a move.
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

/// Whether nothing moves, because the destination exists and must stay. The rights that the move would take then do not
/// matter.
fn is_kept(image: &Image<'_>, asked: &Move<'_>, ends: &impl Ends) -> bool {
    asked.kind == Kind::KeepIt && existing::shows(image, &asked.to) && ends.exists()
}

/// As [`plan`], also for moves that fail because the destination stays.
pub(crate) fn judged(image: &Image<'_>, asked: &Move<'_>, ends: &impl Ends) -> Plan {
    let left = relocation(image, asked).map(Stays::Denied);
    // An exchange is one step, in which the kernel cannot be made to fail for some kinds of entries.
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
        // Without the right to create, no hard link is allowed: the entry replaces the destination in one step.
        None if left.is_none() && replaces_only(image, asked) => return fresh,
        None => {}
    }
    match fresh {
        Plan::Go => Plan::Alone(Alone { directory, symlink, exists: None }),
        Plan::OnlyNew(denial) => Plan::Alone(Alone { directory, symlink, exists: Some(denial) }),
        plan => plan,
    }
}

/// The denial of a directory's arrival at its destination, because of the names that it brings along. If the
/// destination needs a prompt, the prompt covers the names below it as well.
fn arrival(image: &Image<'_>, asked: &Move<'_>, entry: &Plan) -> Option<Denial> {
    let is_question = matches!(entry, Plan::Refuse(Denial { ask: true, .. }));
    let ends = [asked.from, asked.to];
    let [from, to] = ends.map(|end| if is_question { end.consented() } else { end });
    let against = |from, to| denied(decide::admit_contents(image, from, to));
    let back = || against(&to, &from).map(|denial| Denial { second: false, ..denial });
    against(&from, &to).or_else(|| (asked.kind == Kind::Exchange).then(back).flatten())
}

/// Whether the entry may only replace an existing one.
fn replaces_only(image: &Image<'_>, asked: &Move<'_>) -> bool {
    let fresh = decide::rename(image, &asked.from, &asked.to, Destination::Missing);
    asked.kind == Kind::Replace && fresh != Verdict::Allow
}

/// The denial of a symlink's arrival at its destination.
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

/// As [`judged`], for the entry alone.
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

/// The denial by tiers of a directory's departure, because of the names in it.
fn relocation(image: &Image<'_>, asked: &Move<'_>) -> Option<Denial> {
    let against = |second, from, to| match decide::relocate(image, from, to) {
        Verdict::Deny(denial) => Some(Denial { second, ..denial }),
        Verdict::Allow => None,
    };
    let back = || against(true, &asked.to, &asked.from);
    against(false, &asked.from, &asked.to)
        .or_else(|| (asked.kind == Kind::Exchange).then(back).flatten())
}

/// As [`plan`], after any prompts, which cover both paths at once. `settle` reports the denial of the move. If the
/// denial asks for a prompt, `settle` prompts for it and for the given capabilities at the other path. It succeeds if
/// the person consents.
///
/// # Errors
/// The errors of `settle`.
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
            // The ends may have changed by the time the person answers.
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

/// Whether the only obstacle to a move is that it puts a configuration of git in place, of which ordinary changes are
/// harmless. If so, a caller that can read the new text may allow it.
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
