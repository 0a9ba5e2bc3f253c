//! Decides which error a call gives for a path that names no entry (`.`, `..` and the root) or leads nowhere. The
//! library and the supervisor both follow it, as they follow `changes`. Nobody is prompted about such a call.

use crate::changes::{Enforcer, may_create};
use crate::decide::{self, OpenRequest, OpenVerdict};
use crate::image::Image;
use crate::moves;
use crate::request::Request;
use crate::verdict::Verdict;
use crate::{Capabilities, existing};

/// The kind of a path's last component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// A name, or nothing if the path is the root.
    Name,
    /// `.`
    Here,
    /// `..`
    Above,
}

impl Last {
    /// The kind of this component.
    #[must_use]
    pub const fn of(component: &[u8]) -> Self {
        match component {
            b"." => Self::Here,
            b".." => Self::Above,
            _ => Self::Name,
        }
    }
}

/// The purpose of a call whose path should name an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Create it, or fail if it exists.
    Create,
    /// Bind a socket to it.
    Bind,
    /// Open it, or create it.
    Open,
    /// Remove it.
    Remove,
    /// Remove it if it is an empty directory.
    RemoveDirectory,
    /// Move it, or move another entry there.
    Move,
}

impl Change {
    /// The error once the directory before the dots was found.
    #[must_use]
    pub fn error<E: Enforcer>(self, last: Last) -> E::Error {
        match (self, last) {
            (Self::Create, _) => E::EXISTS,
            (Self::Bind, _) => E::IN_USE,
            (Self::Open | Self::Remove, _) => E::IS_DIRECTORY,
            (Self::RemoveDirectory, Last::Here) => E::INVALID,
            (Self::RemoveDirectory, Last::Above) => E::NOT_EMPTY,
            (Self::RemoveDirectory | Self::Move, _) => E::BUSY,
        }
    }

    /// The purpose of an open that may create a file.
    #[must_use]
    pub const fn of_open(how: OpenRequest) -> Self {
        if how.exclusive { Self::Create } else { Self::Open }
    }
}

/// A path argument of a call.
pub trait PathArgument<L: Enforcer> {
    /// Its last component.
    fn last(&self) -> Last;

    /// Looks for the directory before the `.` or `..` at its end, which takes the right to look at it.
    ///
    /// # Errors
    /// The kernel's, and that of a denial.
    fn find_before_dots(&self, layer: &L) -> Result<(), L::Error>;

    /// Pins the entry that it names, and settles it. Where its directory is missing, has `judge` decide about the place.
    /// Returns whether it names an entry.
    ///
    /// # Errors
    /// The kernel's, that of a denial, and those of `settle`.
    fn settle_entry(
        &mut self,
        layer: &L,
        judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
        settle: impl FnOnce(&Request<'_>) -> Result<(), L::Error>,
    ) -> Result<bool, L::Error>;
}

/// The error for a path that names no entry. The kernel looks for the directory before the dots first.
pub fn error<L: Enforcer>(layer: &L, path: &impl PathArgument<L>, change: Change) -> L::Error {
    let found = path.find_before_dots(layer);
    found.err().unwrap_or_else(|| change.error::<L>(path.last()))
}

/// The error for a move of which one end names no entry or leads nowhere. The kernel looks for the directories of both
/// ends first. If the other end is hidden, the answer is that of a missing directory.
#[cold]
pub fn move_error<L: Enforcer>(
    layer: &L,
    from: &mut impl PathArgument<L>,
    to: &mut impl PathArgument<L>,
    kind: moves::Kind,
) -> L::Error {
    let found = find_end(layer, from, decide::remove)
        .and_then(|is_entry| find_end(layer, to, may_create).map(|_| is_entry));
    match found {
        Ok(true) if kind == moves::Kind::KeepIt => Change::Create.error::<L>(to.last()),
        Ok(_) => Change::Move.error::<L>(to.last()),
        Err(error) => error,
    }
}

/// Looks for one end of a move that fails. Returns whether it is an entry. A hidden entry is not reported as denied, as
/// no grant would let the move succeed.
fn find_end<L: Enforcer>(
    layer: &L,
    path: &mut impl PathArgument<L>,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Result<bool, L::Error> {
    let settle = |entry: &Request<'_>| {
        if existing::shows(layer.image(), entry) {
            return Ok(());
        }
        match judge(layer.image(), entry) {
            Verdict::Deny(denial) if !denial.ask && !denial.hidden => Err(L::DENIED),
            _ => Err(L::MISSING),
        }
    };
    let is_entry = path.settle_entry(layer, &judge, settle)?;
    if !is_entry {
        path.find_before_dots(layer)?;
    }
    Ok(is_entry)
}

/// The error for an open that leads nowhere or cannot create a directory, which the kernel would answer with `error`.
/// `place` is where it leads. `is_missing` looks for a part of that path.
///
/// A denial reveals nothing about what exists (spec §1, §4.1). But tools look for their files in every directory above
/// the workspace, where absence is no secret.
pub fn open_error<L: Enforcer>(
    layer: &L,
    how: OpenRequest,
    place: &Request<'_>,
    error: L::Error,
    is_missing: impl FnOnce(&[u8]) -> bool,
) -> L::Error {
    let denial = match decide::open(layer.image(), place, how) {
        OpenVerdict::Deny(denial) => denial,
        OpenVerdict::OnlyExisting(denial) if error == L::MISSING => denial,
        _ => return error,
    };
    let visible = place.path.get(..denial.visible).unwrap_or(place.path);
    let is_no_secret =
        || denial.hidden || existing::shows(layer.image(), &Request::canonical(visible));
    let may_be_told = !how.create && error == L::MISSING && !visible.is_empty();
    if may_be_told && is_no_secret() && is_missing(visible) {
        return error;
    }
    denied(layer, Verdict::Deny(denial), place).unwrap_or(error)
}

/// The error of a final denial.
fn denied<L: Enforcer>(layer: &L, verdict: Verdict, about: &Request<'_>) -> Option<L::Error> {
    match verdict {
        Verdict::Deny(denial) if !denial.ask => {
            layer.settle(denial, about, (&[], Capabilities::NONE)).err()
        }
        _ => None,
    }
}
