//! Moves directory entries. Both ends are pinned and judged before one replaces the other. Used by the rename hooks.

use core::cell::Cell;
use core::ffi::{CStr, c_uint};

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Denial, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::moves::{self, Alone, Ends, Kind, Move, Plan, Stays};
use jp_confine_engine::report_protocol::{COPIED, EXCHANGE};

use super::entries::{
    Argument, apply_verdict_to_pair, as_spelled, exists, is_told_missing, judge_missing,
    may_create, no_entry, refuse_by_spelling, refuse_hidden,
};
use super::moves_alone::{LENDS, Names, STAYS, move_alone};
use crate::errno::Errno;
use crate::path::Spelling;
use crate::resolve::{self, Entry};
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
    let source = match resolve::entry(image, &mut from) {
        Ok(Some(entry)) => entry,
        Ok(None) => return Err(no_entry(image, call, &from, Errno::EBUSY)),
        Err(errno) => return judge_missing(image, call, &mut from, decide::remove, errno, again),
    };
    let target = match resolve::entry_beside(image, &source, &mut to) {
        Ok(Some(entry)) => entry,
        Ok(None) if flags & sys::RENAME_NOREPLACE != 0 => {
            return Err(no_entry(image, call, &to, Errno::EEXIST));
        }
        Ok(None) => return Err(no_entry(image, call, &to, Errno::EBUSY)),
        Err(errno) => return judge_missing(image, call, &mut to, may_create, errno, again),
    };
    let asked = Move { from: source.request(), to: target.request(), kind: kind(flags) };
    let pair = (&asked.from, &asked.to);
    let ends = Held { source: &source, target: &target };
    // The supervisor judges the whole move, reads the file that would become the configuration, and allows ordinary
    // changes.
    let is_supervised = image.outer().is_none() && image.behind().supervisor;
    let names =
        Names { old: (source.dirfd(), source.name()), new: (target.dirfd(), target.name()) };
    let by_supervisor = || sys::rename_by_supervisor(names.old, names.new);
    if is_supervised && moves::puts_git_config(image, &asked) {
        return by_supervisor();
    }
    let was_asked = Cell::new(false);
    let plan = moves::settled(image, &asked, &ends, |denial, also| {
        refuse_by_spelling(image, call, &asked.from, decide::remove)?;
        refuse_by_spelling(image, call, &asked.to, may_create)?;
        let exchanged = (asked.kind == Kind::Exchange).then_some(&target);
        let mut needed = [Some(&source), exchanged].into_iter().flatten();
        if needed.any(|entry| is_told_missing(image, entry, &denial)) {
            return Err(Errno::ENOENT);
        }
        was_asked.set(denial.ask);
        apply_verdict_to_pair(image, call, Verdict::Deny(denial), pair, also)
    })?;
    let refuse_as = |call, denial| {
        let denial = Verdict::Deny(Denial { ask: false, ..denial });
        apply_verdict_to_pair(image, call, denial, pair, Capabilities::NONE)
            .err()
            .unwrap_or(Errno::EACCES)
    };
    let refuse = |denial| refuse_as(call, denial);
    let have_copied = |denial| {
        refuse_as(COPIED, denial);
        Errno::EXDEV
    };
    let by_name = |flags| sys::rename(names.old, names.new, flags);
    let (outcome, if_exists) = match plan {
        Plan::Go => (by_name(flags), None),
        Plan::OnlyNew(denial) => (by_name(flags | sys::RENAME_NOREPLACE), Some(denial)),
        // The kernel may protect a destination that the run may replace but not remove. Nobody is prompted twice.
        Plan::Alone(Alone { exists: None, .. })
            if is_supervised && flags == 0 && !was_asked.get() && ends.exists() =>
        {
            return by_supervisor();
        }
        Plan::Alone(alone) => {
            let only_new = alone.exists.map_or(0, |_| sys::RENAME_NOREPLACE);
            let way = alone.way(image, &asked.to);
            let outcome = move_alone(&names, flags | only_new, way);
            match (outcome, alone.directory, alone.symlink) {
                (Err(STAYS), Stays::Copied(denial), _) => return Err(have_copied(denial)),
                (Err(STAYS), Stays::Denied(denial), _) | (Err(LENDS), _, Some(denial)) => {
                    return Err(refuse(denial));
                }
                (outcome, ..) => (outcome, alone.exists),
            }
        }
        Plan::Copy(denial) => return Err(have_copied(denial)),
        Plan::Exists => {
            refuse_hidden(image, call, &asked.from)?;
            return Err(if exists(&source) { Errno::EEXIST } else { Errno::ENOENT });
        }
        Plan::Refuse(_) => return Err(Errno::EACCES),
    };
    working_directory::announce_change();
    match (outcome, if_exists) {
        (Err(Errno::EEXIST), Some(denial)) => Err(refuse(denial)),
        (outcome, _) => outcome,
    }
}

/// Both ends of a move, pinned.
struct Held<'a> {
    source: &'a Entry<'a>,
    target: &'a Entry<'a>,
}

impl Ends for Held<'_> {
    fn exists(&self) -> bool {
        exists(self.target)
    }

    fn is_directory(&self) -> bool {
        sys::is_directory(self.source.dirfd(), self.source.name())
    }

    fn is_symlink(&self) -> bool {
        sys::is_symlink(self.source.dirfd(), self.source.name())
    }
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
