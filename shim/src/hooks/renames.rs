//! Moving directory entries: both are held, and both are judged, before one takes the place of the other.

use core::ffi::{CStr, c_uint};

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::{self, Denial, Verdict};
use jp_confine_policy::image::Image;
use jp_confine_policy::moves::{self, End, Ends, Kind, Move, Plan};

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
    let asked = Move { from: source.request(), to: target.request(), kind: kind(flags) };
    let pair = (&asked.from, &asked.to);
    let ends = Held { source: &source, target: &target };
    let (flags, if_exists) = match moves::settled(image, &asked, &ends, |denial, also| {
        settle_pair(image, call, Verdict::Deny(denial), pair, also)
    })? {
        Plan::Go => (flags, None),
        Plan::OnlyNew(denial) => (flags | sys::RENAME_NOREPLACE, Some(denial)),
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

/// Both ends of a move, held.
struct Held<'a> {
    source: &'a Entry<'a>,
    target: &'a Entry<'a>,
}

impl Ends for Held<'_> {
    fn exists(&self) -> bool {
        exists(self.target)
    }

    fn is_directory(&self, end: End) -> bool {
        let entry = match end {
            End::Source => self.source,
            End::Destination => self.target,
        };
        sys::is_directory(entry.dirfd(), entry.name())
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
