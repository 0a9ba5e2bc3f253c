//! Handles rename(2), and the flags of renameat2(2).

use std::os::fd::AsFd as _;

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Denial, Verdict};
use jp_confine_engine::moves::{self, Ends, Kind, Move, Plan, Stays, Way};
use jp_confine_engine::moves_alone::move_alone;
use jp_confine_engine::report_protocol::{COPIED, EXCHANGE};
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use super::entries::{exists, is_directory, is_symlink, is_told_missing, may_create, no_entry};
use super::links::{refuse_by_spelling, refuse_hidden, settle_pair, settle_pair_changing};
use super::vetting;
use crate::record::usage::UseKind;
use crate::supervisor::resolve::object::PinnedEntry;
use crate::supervisor::task::Task;
use crate::supervisor::usage::is_kept;
use crate::sys::notification::CallResult;

const KNOWN: RenameFlags =
    RenameFlags::NOREPLACE.union(RenameFlags::EXCHANGE).union(RenameFlags::WHITEOUT);

/// rename(2), renameat(2), renameat2(2).
pub(crate) fn rename(
    task: &Task<'_>,
    (olddirfd, old): (i32, u64),
    (newdirfd, new): (i32, u64),
    flags: u32,
) -> Result<CallResult, Errno> {
    let flags = RenameFlags::from_bits_retain(flags);
    if !KNOWN.contains(flags)
        || (flags.contains(RenameFlags::EXCHANGE) && flags != RenameFlags::EXCHANGE)
    {
        return Err(Errno::INVAL);
    }
    let task = &task.called(called(task.call, kind(flags)));
    let old = task.argument(olddirfd, old)?;
    let new = task.argument(newdirfd, new)?;
    let _acting = task.begin()?;
    let source = old.entry().map_err(|errno| task.nowhere(&old, decide::remove, errno))?;
    let target = new.entry().map_err(|errno| task.nowhere(&new, may_create, errno))?;
    let source = source.ok_or_else(|| no_entry(task, &old, Errno::BUSY))?;
    let said = if flags.contains(RenameFlags::NOREPLACE) { Errno::EXIST } else { Errno::BUSY };
    let target = target.ok_or_else(|| no_entry(task, &new, said))?;
    let asked = Move { from: source.request(), to: target.request(), kind: kind(flags) };
    let pair = (&asked.from, &asked.to);
    let ends = Held { source: &source, target: &target };
    let changes = match vetting::rename(task, &asked, &ends, (&source, &target))? {
        vetting::VettedRename::Other => String::new(),
        vetting::VettedRename::Unvetted(changes) => changes,
        vetting::VettedRename::Done => {
            task.learn_pair(UseKind::Replaced, &source.path, &target.path, Capabilities::DELETE);
            return Ok(CallResult::Value(0));
        }
    };
    let plan = moves::settled(task.image(), &asked, &ends, |denial, also| {
        refuse_by_spelling(task, &asked.from, decide::remove)?;
        refuse_by_spelling(task, &asked.to, may_create)?;
        let exchanged = (asked.kind == Kind::Exchange).then_some(&target);
        let mut needed = [Some(&source), exchanged].into_iter().flatten();
        if needed.any(|entry| is_told_missing(task.image(), entry, &denial)) {
            return Err(Errno::NOENT);
        }
        settle_pair_changing(task, Verdict::Deny(denial), pair, also, &changes)
    })?;
    let refuse_in = |task: &Task<'_>, denial| {
        let denial = Verdict::Deny(Denial { ask: false, ..denial });
        settle_pair(task, denial, pair, Capabilities::NONE).err().unwrap_or(Errno::ACCESS)
    };
    let refuse = |denial| refuse_in(task, denial);
    let have_copied = |denial| {
        refuse_in(&task.called(COPIED.to_str().unwrap_or(task.call)), denial);
        Errno::XDEV
    };
    let (alone, if_exists) = match plan {
        Plan::Go => (None, None),
        Plan::OnlyNew(denial) => (None, Some(denial)),
        Plan::Alone(alone) => (Some(alone), alone.exists),
        Plan::Copy(denial) => return Err(have_copied(denial)),
        Plan::Exists => {
            refuse_hidden(task, &asked.from)?;
            return Err(if exists(&source) { Errno::EXIST } else { Errno::NOENT });
        }
        Plan::Refuse(_) => return Err(Errno::ACCESS),
    };
    let flags = if if_exists.is_some() { flags | RenameFlags::NOREPLACE } else { flags };
    let how = learnt(task, &target, flags);
    let link = || [&source, &target].into_iter().for_each(|entry| task.learn_link(entry));
    link();
    let outcome = match alone {
        None => {
            renameat_with(&source.directory, &source.name, &target.directory, &target.name, flags)
        }
        Some(alone) => {
            let stays = || match alone.directory {
                Stays::Denied(denial) => refuse(denial),
                Stays::Copied(denial) => have_copied(denial),
            };
            let lends = || alone.symlink.map_or(Errno::LOOP, refuse);
            move_file((&source, &target), flags, alone.way(task.image(), &asked.to), stays, lends)
        }
    };
    task.policy.generation.advance();
    link();
    match outcome {
        Err(Errno::EXIST) => task.learn(UseKind::Existed, &target.path, Capabilities::CREATE),
        outcome => {
            let stayed = outcome.is_err_and(is_kept);
            let how = if stayed { UseKind::Kept } else { how };
            task.learn_pair(how, &source.path, &target.path, Capabilities::DELETE);
        }
    }
    match (outcome, if_exists) {
        (Err(Errno::EXIST), Some(denial)) => Err(refuse(denial)),
        (outcome, _) => outcome.map(|()| CallResult::Value(0)),
    }
}

/// Moves anything but a directory. `stays` is the errno for a directory that must stay, `lends` for a symlink.
fn move_file(
    (source, target): (&PinnedEntry, &PinnedEntry),
    flags: RenameFlags,
    way: Way,
    stays: impl Fn() -> Errno,
    lends: impl Fn() -> Errno,
) -> Result<(), Errno> {
    // Only one atomic step can leave a whiteout.
    if !RenameFlags::NOREPLACE.contains(flags) {
        return Err(stays());
    }
    if target.slash {
        return Err(if exists(source) { Errno::NOTDIR } else { Errno::NOENT });
    }
    let [from, to] = [source, target].map(|one| (one.directory.as_fd(), one.name.as_c_str()));
    move_alone(from, to, flags, way).map_err(|errno| match errno {
        Errno::ISDIR if is_directory(source) => stays(),
        Errno::LOOP => lends(),
        errno => errno,
    })
}

/// The name of the call in the record.
fn called(call: &'static str, kind: Kind) -> &'static str {
    match kind {
        Kind::Exchange => EXCHANGE.to_str().unwrap_or(call),
        Kind::Replace | Kind::KeepIt => call,
    }
}

/// The kind of rename for a learning run.
fn learnt(task: &Task<'_>, target: &PinnedEntry, flags: RenameFlags) -> UseKind {
    if flags.contains(RenameFlags::EXCHANGE) {
        UseKind::Exchanged
    } else if task.is_lesson() && exists(target) {
        UseKind::Replaced
    } else {
        UseKind::Moved
    }
}

/// Both ends of a move, pinned.
struct Held<'a> {
    source: &'a PinnedEntry,
    target: &'a PinnedEntry,
}

impl Ends for Held<'_> {
    fn exists(&self) -> bool {
        exists(self.target)
    }

    fn is_directory(&self) -> bool {
        is_directory(self.source)
    }

    fn is_symlink(&self) -> bool {
        is_symlink(self.source)
    }
}

const fn kind(flags: RenameFlags) -> Kind {
    if flags.contains(RenameFlags::EXCHANGE) {
        Kind::Exchange
    } else if flags.contains(RenameFlags::NOREPLACE) {
        Kind::KeepIt
    } else {
        Kind::Replace
    }
}
