//! Handles rename(2), and the flags of renameat2(2).

use std::os::fd::AsFd as _;

use jp_confine_engine::Capabilities;
use jp_confine_engine::changes::{self, Going, Pinned as _, PinnedEnds};
use jp_confine_engine::moves::{Kind, Move, Way};
use jp_confine_engine::moves_alone::move_alone;
use jp_confine_engine::no_entry;
use jp_confine_engine::report_protocol::EXCHANGE;
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

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
    let (Ok(Some(source)), Ok(Some(target))) = (old.entry(), new.entry()) else {
        return Err(no_entry::move_error(task, &mut &old, &mut &new, kind(flags)));
    };
    let asked = Move { from: source.request(), to: target.request(), kind: kind(flags) };
    let ends = PinnedEnds { source: &source, target: &target };
    let shown = match vetting::rename(task, &asked, &ends, (&source, &target))? {
        vetting::VettedRename::Other => String::new(),
        vetting::VettedRename::Unvetted(changed) => changed,
        vetting::VettedRename::Done => {
            task.learn_pair(UseKind::Replaced, &source.path, &target.path, Capabilities::DELETE);
            return Ok(CallResult::Value(0));
        }
    };
    let task = &task.showing(&shown);
    let Going { alone, if_exists, .. } = changes::settle_move(task, &asked, &ends)?;
    let refuse = |denial| changes::refuse_move(task, denial, &asked);
    let flags = if if_exists.is_some() { flags | RenameFlags::NOREPLACE } else { flags };
    let how = learnt(task, &target, flags);
    let link = || [&source, &target].into_iter().for_each(|entry| task.learn_link(entry));
    link();
    let outcome = match alone {
        None => {
            renameat_with(&source.directory, &source.name, &target.directory, &target.name, flags)
        }
        Some(alone) => {
            let stays = || changes::keep(task, alone.directory, &asked);
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
        return Err(if source.exists() { Errno::NOTDIR } else { Errno::NOENT });
    }
    let [from, to] = [source, target].map(|one| (one.directory.as_fd(), one.name.as_c_str()));
    move_alone(from, to, flags, way).map_err(|errno| match errno {
        Errno::ISDIR if source.is_directory() => stays(),
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
    } else if task.is_lesson() && target.exists() {
        UseKind::Replaced
    } else {
        UseKind::Moved
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
