//! Moves directory entries. Both ends are pinned and judged before one replaces the other. Used by the rename hooks.

use core::ffi::{CStr, c_uint};

use jp_confine_engine::changes::{self, PinnedEnds};
use jp_confine_engine::image::Image;
use jp_confine_engine::moves::{self, Ends as _, Kind, Move};
use jp_confine_engine::no_entry;
use jp_confine_engine::report_protocol::EXCHANGE;

use super::entries::{Argument, Enforcing, as_spelled};
use super::moves_alone::{LENDS, Names, STAYS, move_alone};
use crate::errno::Errno;
use crate::path::Spelling;
use crate::resolve;
use crate::{session, sys, working_directory};

/// rename(2). With flags of [`sys::rename`], the system's other forms of it.
#[inline(always)]
#[expect(clippy::inline_always, reason = "little stack is left for a call in between")]
pub(super) fn move_entry(
    call: &CStr,
    old: Argument,
    new: Argument,
    flags: c_uint,
) -> Result<(), Errno> {
    let call = if kind(flags) == Kind::Exchange { EXCHANGE } else { call };
    move_by(session::image()?, call, old, new, flags)
}

/// Like [`move_entry`], with the policy given. Finding that takes stack, too, and little is left here.
#[inline(never)]
fn move_by(
    image: &Image<'_>,
    call: &CStr,
    old: Argument,
    new: Argument,
    flags: c_uint,
) -> Result<(), Errno> {
    let mut from = Spelling::new();
    let mut to = Spelling::new();
    let again = || {
        as_spelled(old, |from, name| {
            as_spelled(new, |to, other| sys::rename((from, name), (to, other), flags))
        })
    };
    from.read(old.dirfd, old.path)?;
    to.read(new.dirfd, new.path)?;
    let layer = Enforcing { image, call };
    let Ok(Some(source)) = resolve::entry(image, &mut from) else {
        return move_nothing(&layer, (&mut from, &mut to), kind(flags), again);
    };
    let Ok(Some(target)) = resolve::entry_beside(image, &source, &mut to) else {
        return move_nothing(&layer, (&mut from, &mut to), kind(flags), again);
    };
    let asked = Move { from: source.request(), to: target.request(), kind: kind(flags) };
    let ends = PinnedEnds { source: &source, target: &target };
    // The supervisor judges the whole move, reads the file that would become the configuration, and allows ordinary
    // changes.
    let is_supervised = image.outer().is_none() && image.behind().supervisor;
    let names =
        Names { old: (source.dirfd(), source.name()), new: (target.dirfd(), target.name()) };
    let by_supervisor = || sys::rename_by_supervisor(names.old, names.new);
    if is_supervised && moves::puts_git_config(image, &asked) {
        return by_supervisor();
    }
    let going = changes::settle_move(&layer, &asked, &ends)?;
    let flags = flags | going.if_exists.map_or(0, |_| sys::RENAME_NOREPLACE);
    let outcome = match going.alone {
        None => sys::rename(names.old, names.new, flags),
        // The kernel may protect a destination that the run may replace but not remove. Nobody is prompted twice.
        Some(_) if is_supervised && flags == 0 && !going.was_asked && ends.exists() => {
            return by_supervisor();
        }
        Some(alone) => match move_alone(&names, flags, alone.way(image, &asked.to)) {
            Err(STAYS) => return Err(changes::keep(&layer, alone.directory, &asked)),
            Err(LENDS) => match alone.symlink {
                Some(denial) => return Err(changes::refuse_move(&layer, denial, &asked)),
                None => Err(LENDS),
            },
            outcome => outcome,
        },
    };
    working_directory::announce_change();
    match (outcome, going.if_exists) {
        (Err(Errno::EEXIST), Some(denial)) => Err(changes::refuse_move(&layer, denial, &asked)),
        (outcome, _) => outcome,
    }
}

/// The outcome if one end names no entry or leads nowhere. In a learning run the supervisor must see the call.
#[cold]
#[inline(never)]
fn move_nothing(
    layer: &Enforcing<'_>,
    (from, to): (&mut Spelling, &mut Spelling),
    kind: Kind,
    again: impl FnOnce() -> Result<(), Errno>,
) -> Result<(), Errno> {
    if layer.image.is_learned_from() {
        return again();
    }
    Err(no_entry::move_error(layer, from, to, kind))
}

const fn kind(flags: c_uint) -> Kind {
    if flags & sys::RENAME_EXCHANGE != 0 {
        Kind::Exchange
    } else if flags & sys::RENAME_NOREPLACE != 0 {
        Kind::KeepIt
    } else {
        Kind::Replace
    }
}
