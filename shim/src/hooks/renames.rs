//! Moving directory entries: both are held, and both are judged, before one takes the place of the other.

use core::cell::Cell;
use core::ffi::{CStr, c_uint};

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::{self, Denial, Verdict};
use jp_confine_policy::image::Image;
use jp_confine_policy::moves::{self, End, Ends, Kind, Move, Plan};
use jp_confine_policy::telling::EXCHANGE;

use super::entries::{
    Argument, exists, may_create, nowhere, refuse_by_spelling, settle_by_spelling, settle_pair,
};
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
    let call = if kind(flags) == Kind::Exchange { EXCHANGE } else { call };
    move_by(session::image()?, call, old, new, flags)
}

/// As [`move_entry`], by this policy: to find that takes stack, too, and here is little left.
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
        Ok(None) if flags & sys::RENAME_NOREPLACE != 0 => return Err(Errno::EEXIST),
        Ok(None) => return Err(Errno::EBUSY),
        Err(errno) => return Err(nowhere(image, call, &mut to, may_create, errno)),
    };
    // What the entry itself takes goes before what its spelling does, unless that is kept from everybody.
    for (spelled, argument, entry) in [(spelled_from, old, &source), (spelled_to, new, &target)] {
        if let Some(denial) = spelled {
            refuse_by_spelling(image, call, argument, denial, entry.path())?;
        }
    }
    let spelled = Spelled {
        from: spelled_from.filter(|_| decide::remove(image, &source.request()) == Verdict::Allow),
        to: spelled_to.filter(|_| may_create(image, &target.request()) == Verdict::Allow),
    };
    spelled.refuse(image, call, (old, new))?;
    let asked = Move { from: source.request(), to: target.request(), kind: kind(flags) };
    let pair = (&asked.from, &asked.to);
    let ends = Held { source: &source, target: &target };
    let is_asked = Cell::new(false);
    let (flags, if_exists) = match moves::settled(image, &asked, &ends, |denial, also| {
        let beside = spelled.beside(denial);
        is_asked.set(is_asked.get() || denial.ask);
        settle_pair(image, call, Verdict::Deny(denial), pair, also.union(beside))
    })? {
        Plan::Go => (flags, None),
        Plan::OnlyNew(denial) => (flags | sys::RENAME_NOREPLACE, Some(denial)),
        // The kernel looks for the source first.
        Plan::Exists if exists(&source) => return Err(Errno::EEXIST),
        Plan::Exists => return Err(Errno::ENOENT),
        Plan::Refuse(_) => return Err(Errno::EACCES),
    };
    if !is_asked.get() {
        spelled.ask(image, call, (old, new), &target)?;
    }
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

/// What the spellings of both ends take.
struct Spelled {
    from: Option<Denial>,
    to: Option<Denial>,
}

impl Spelled {
    /// Refuses what nobody is asked about.
    fn refuse(
        &self,
        image: &Image<'_>,
        call: &CStr,
        (old, new): (Argument, Argument),
    ) -> Result<(), Errno> {
        for (argument, denial) in [(old, self.from), (new, self.to)] {
            if let Some(denial) = denial.filter(|denial| !denial.ask) {
                settle_by_spelling(image, call, argument, denial, Other::NONE)?;
            }
        }
        Ok(())
    }

    /// What a question about one end is to ask for at the other.
    fn beside(&self, denial: Denial) -> Capabilities {
        let other = if denial.second { self.from } else { self.to };
        other.filter(|_| denial.ask).map_or(Capabilities::NONE, |other| other.missing)
    }

    /// Asks about both ends at once.
    fn ask(
        &self,
        image: &Image<'_>,
        call: &CStr,
        (old, new): (Argument, Argument),
        target: &Entry<'_>,
    ) -> Result<(), Errno> {
        match (self.from, self.to) {
            (Some(from), Some(to)) => {
                let other = Other { path: target.path(), wanted: to.missing };
                settle_by_spelling(image, call, old, from, other)
            }
            (Some(from), None) => settle_by_spelling(image, call, old, from, Other::NONE),
            (None, Some(to)) => settle_by_spelling(image, call, new, to, Other::NONE),
            (None, None) => Ok(()),
        }
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
