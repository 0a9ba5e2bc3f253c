//! Decides which error comes first for calls that create, delete, link and move entries. The library and the supervisor
//! both follow it, so that they give the same answer. Resolving paths and acting on entries stays theirs.

use core::cell::Cell;
use core::ffi::CStr;

use crate::capability::Capabilities;
use crate::image::Image;
use crate::moves::{self, Alone, Ends, Kind, Move, Plan, Stays};
use crate::report_protocol::COPIED;
use crate::request::Request;
use crate::verdict::{Denial, Verdict};
use crate::{decide, existing, views};

/// An entry whose directory a layer holds open. Its state is read from the kernel, and only if it matters.
pub trait Pinned {
    /// The layer's type for errno(3).
    type Error;

    /// The entry as the policy judges it.
    fn request(&self) -> Request<'_>;

    /// Looks for the entry, even if it is a dangling symlink or a slash follows the name.
    ///
    /// # Errors
    /// The kernel's.
    fn find(&self) -> Result<(), Self::Error>;

    /// Whether it is a directory.
    fn is_directory(&self) -> bool;

    /// Whether it is a symlink.
    fn is_symlink(&self) -> bool;

    /// Whether it exists.
    fn exists(&self) -> bool {
        self.find().is_ok()
    }
}

/// Both ends of a move.
#[derive(Debug)]
pub struct PinnedEnds<'a, P> {
    /// The entry that moves.
    pub source: &'a P,
    /// Its destination.
    pub target: &'a P,
}

impl<P: Pinned> Ends for PinnedEnds<'_, P> {
    fn exists(&self) -> bool {
        self.target.exists()
    }

    fn is_directory(&self) -> bool {
        self.source.is_directory()
    }

    fn is_symlink(&self) -> bool {
        self.source.is_symlink()
    }
}

/// A layer that enforces verdicts, during one call.
pub trait Enforcer {
    /// The layer's type for errno(3).
    type Error: PartialEq;
    /// `EEXIST`.
    const EXISTS: Self::Error;
    /// `ENOENT`.
    const MISSING: Self::Error;
    /// `EXDEV`.
    const ELSEWHERE: Self::Error;
    /// `EACCES`.
    const DENIED: Self::Error;
    /// `EBUSY`.
    const BUSY: Self::Error;
    /// `EADDRINUSE`.
    const IN_USE: Self::Error;
    /// `EISDIR`.
    const IS_DIRECTORY: Self::Error;
    /// `EINVAL`.
    const INVALID: Self::Error;
    /// `ENOTEMPTY`.
    const NOT_EMPTY: Self::Error;

    /// The policy.
    fn image(&self) -> &Image<'_>;

    /// The same call, reported under this name.
    #[must_use]
    fn called(&self, call: &'static CStr) -> Self;

    /// Reports a denial, or prompts the person who may lift it. `other` is the second path of the call, and the rights
    /// that a prompt covers there as well.
    ///
    /// # Errors
    /// That of the denial, unless it was lifted.
    fn settle(
        &self,
        denial: Denial,
        about: &Request<'_>,
        other: (&[u8], Capabilities),
    ) -> Result<(), Self::Error>;

    /// Settles a verdict about one path.
    ///
    /// # Errors
    /// As [`Self::settle`].
    fn settle_verdict(&self, verdict: Verdict, about: &Request<'_>) -> Result<(), Self::Error> {
        match verdict {
            Verdict::Allow => Ok(()),
            Verdict::Deny(denial) => self.settle(denial, about, (&[], Capabilities::NONE)),
        }
    }

    /// Settles a denial about one of two paths. A prompt is for both, if `also` is needed at the other one.
    ///
    /// # Errors
    /// As [`Self::settle`].
    fn settle_pair(
        &self,
        denial: Denial,
        pair: Pair<'_>,
        also: Capabilities,
    ) -> Result<(), Self::Error> {
        let (about, other) = if denial.second { (pair.1, pair.0) } else { pair };
        self.settle(denial, about, (other.path, also))
    }
}

/// The two paths of a call.
type Pair<'a> = (&'a Request<'a>, &'a Request<'a>);

/// Whether an entry may be created.
#[must_use]
pub fn may_create(image: &Image<'_>, entry: &Request<'_>) -> Verdict {
    decide::access(image, entry, Capabilities::CREATE)
}

/// Settles the creation or deletion of an entry.
///
/// Tools create each directory above the one they want, so they must learn which of them exist. Programs see a directory
/// at the place of a view, even if nothing is there. Nobody is prompted about a missing entry; if it appears meanwhile,
/// it stays.
///
/// # Errors
/// `EEXIST`, `ENOENT`, and those of [`Enforcer::settle`].
pub fn settle_entry<E: Enforcer>(
    layer: &E,
    entry: &impl Pinned<Error = E::Error>,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Result<(), E::Error> {
    let request = entry.request();
    let Verdict::Deny(denial) = judge(layer.image(), &request) else { return Ok(()) };
    let is_to_exist = denial.missing == Capabilities::CREATE;
    if is_to_exist && views::is_place(layer.image(), request.path)
        || existing::is_told(layer.image(), &request, &denial) && entry.exists()
    {
        return Err(E::EXISTS);
    }
    if denial.missing == Capabilities::DELETE && is_told_missing(layer, entry, &denial) {
        return Err(E::MISSING);
    }
    layer.settle(denial, &request, (&[], Capabilities::NONE))
}

/// Settles the binding of a socket to a name. Without the right to create it, nobody learns whether it exists.
///
/// # Errors
/// Those of [`Enforcer::settle`].
pub fn settle_socket<E: Enforcer>(layer: &E, entry: &Request<'_>) -> Result<(), E::Error> {
    layer.settle_verdict(may_create(layer.image(), entry), entry)
}

/// Settles a hard link with the name of `entry`. `object` is the path of the object that gets the name, and whether it
/// is a symlink. Objects without a path are the program's own.
///
/// # Errors
/// `EEXIST` if that name exists and the program may know; those of [`Enforcer::settle`].
pub fn settle_link<E: Enforcer>(
    layer: &E,
    object: Option<(&[u8], bool)>,
    entry: &impl Pinned<Error = E::Error>,
) -> Result<(), E::Error> {
    let Some((path, is_symlink)) = object else { return settle_entry(layer, entry, may_create) };
    let (object, request) = (Request::canonical(path), entry.request());
    let judge = if is_symlink { decide::link_symlink } else { decide::link };
    let Verdict::Deny(denial) = judge(layer.image(), &object, &request) else { return Ok(()) };
    if existing::shows(layer.image(), &request) && entry.exists() {
        layer.settle_verdict(decide::metadata(layer.image(), &object), &object)?;
        return Err(E::EXISTS);
    }
    let kept = decide::kept_by_spelling(layer.image(), &request, may_create);
    layer.settle_verdict(kept, &request)?;
    layer.settle_pair(denial, (&object, &request), Capabilities::NONE)
}

/// The allowed part of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Going {
    /// The denials for kinds of entries that must not move, if it must move alone.
    pub alone: Option<Alone>,
    /// The denial for an existing destination. The caller makes the kernel fail for it.
    pub if_exists: Option<Denial>,
    /// Whether a person was prompted.
    pub was_asked: bool,
}

/// Settles a move, after any prompts.
///
/// # Errors
/// `EXDEV` if the program may only copy, `EEXIST` or `ENOENT` if nothing would move anyway, and those of
/// [`Enforcer::settle`].
pub fn settle_move<E: Enforcer, P: Pinned<Error = E::Error>>(
    layer: &E,
    asked: &Move<'_>,
    ends: &PinnedEnds<'_, P>,
) -> Result<Going, E::Error> {
    let was_asked = Cell::new(false);
    let plan = moves::settled(layer.image(), asked, ends, |denial, also| {
        let from = decide::kept_by_spelling(layer.image(), &asked.from, decide::remove);
        layer.settle_verdict(from, &asked.from)?;
        let to = decide::kept_by_spelling(layer.image(), &asked.to, may_create);
        layer.settle_verdict(to, &asked.to)?;
        let is_exchange = asked.kind == Kind::Exchange;
        if is_told_missing(layer, ends.source, &denial)
            || is_exchange && is_told_missing(layer, ends.target, &denial)
        {
            return Err(E::MISSING);
        }
        was_asked.set(denial.ask);
        layer.settle_pair(denial, (&asked.from, &asked.to), also)
    })?;
    let (alone, if_exists) = match plan {
        Plan::Go => (None, None),
        Plan::OnlyNew(denial) => (None, Some(denial)),
        Plan::Alone(alone) => (Some(alone), alone.exists),
        Plan::Copy(denial) => return Err(keep(layer, Stays::Copied(denial), asked)),
        Plan::Exists => {
            layer.settle_verdict(decide::metadata(layer.image(), &asked.from), &asked.from)?;
            return Err(if ends.source.exists() { E::EXISTS } else { E::MISSING });
        }
        Plan::Refuse(_) => return Err(E::DENIED),
    };
    Ok(Going { alone, if_exists, was_asked: was_asked.get() })
}

/// The error for a directory that must stay.
pub fn keep<E: Enforcer>(layer: &E, directory: Stays, asked: &Move<'_>) -> E::Error {
    match directory {
        Stays::Denied(denial) => refuse_move(layer, denial, asked),
        Stays::Copied(denial) => {
            refuse_move(&layer.called(COPIED), denial, asked);
            E::ELSEWHERE
        }
    }
}

/// The error for a denial that shows only while the entry moves. Nobody is prompted by then.
pub fn refuse_move<E: Enforcer>(layer: &E, denial: Denial, asked: &Move<'_>) -> E::Error {
    let denial = Denial { ask: false, ..denial };
    let settled = layer.settle_pair(denial, (&asked.from, &asked.to), Capabilities::NONE);
    settled.err().unwrap_or(E::DENIED)
}

/// Whether the program learns that the entry is missing, instead of a prompt about its removal.
fn is_told_missing<E: Enforcer>(
    layer: &E,
    entry: &impl Pinned<Error = E::Error>,
    denial: &Denial,
) -> bool {
    existing::is_told_missing(layer.image(), &entry.request(), denial)
        && entry.find() == Err(E::MISSING)
}
