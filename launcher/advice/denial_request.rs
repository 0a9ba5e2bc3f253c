//! Reconstructs the request from the record of a denial.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{Destination, Request};
use jp_confine_engine::report_protocol::{EXCHANGE, EXCLUSIVE, PRIVATE, PRIVATE_DIRECTORY};

use crate::advice::advisor::Advisor;
use crate::advice::request::{Asked, Extent, on_the_way};
use crate::host::program_lookup::is_script;
use crate::record::denial::Denial;
use crate::record::denials::{Denials, TIMES};
use crate::record::generated_names;
use crate::sys::path::path_of;

/// Calls whose new entry is not opened by its name afterwards, or not changed in place.
const ONCE: [&[u8]; 8] =
    [b"symlink", b"symlinkat", b"link", b"linkat", b"rename", b"renameat", b"renameat2", b"bind"];

/// The run that a denial belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunHistory<'a> {
    /// The start of the run, if there was one.
    pub(super) began: Option<SystemTime>,
    /// All its denials.
    pub(super) refused: &'a [(Denial, u64)],
}

impl<'a> Advisor<'a> {
    pub(super) fn past(&self) -> RunHistory<'a> {
        RunHistory { began: self.began, refused: self.denials.map_or(&[], Denials::open) }
    }

    /// Whether the denial was of a copy that was to replace a file, and the run changed the file itself instead. The
    /// name of the copy begins with the file's, and the rest is generated. Looks at the disk.
    pub(crate) fn is_changed_in_place(&self, denial: &Denial) -> bool {
        const NEW: Capabilities = Capabilities::CREATE.union(Capabilities::DELETE);
        let path = path_of(&denial.path);
        let name = path.file_name().map_or(&b""[..], OsStr::as_bytes);
        let is_changed = |dot: usize| {
            let file = path.with_file_name(path_of(name.get(..dot).unwrap_or_default()));
            let request = Request::canonical(file.as_os_str().as_bytes());
            let changed = file.symlink_metadata().ok().filter(Metadata::is_file);
            changed.and_then(|found| found.modified().ok()) >= self.began
                && self.allows(Asked::Access(request, Capabilities::UPDATE))
        };
        let mut dots = name.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'.');
        self.began.is_some()
            && denial.reason.is_policy()
            && NEW.contains(denial.missing)
            && dots.any(|(dot, _)| is_changed(dot))
            && is_made_up(denial, self.past())
    }
}

/// The request of this run that was answered with `denial`.
pub(super) fn asked_by<'d>(denial: &'d Denial, run: RunHistory<'_>) -> Asked<'d> {
    let Denial { other, missing, .. } = denial;
    let path = Request::by_route(&denial.path, &denial.route);
    // The spelling of the other path is unknown.
    let beside = Request::canonical(other);
    let (first, second) = if denial.second { (beside, path) } else { (path, beside) };
    let is_made_up = is_made_up(denial, run);
    match denial.call.as_slice() {
        // The other path is empty if it leads nowhere.
        _ if other.is_empty() && is_made_up => made(path, denial, run),
        _ if other.is_empty() && *missing == Capabilities::DELETE => Asked::Removal(path),
        b"rename" | b"renameat" | b"renameat2" if !other.is_empty() => {
            Asked::Rename { from: first, to: second, destination: destination(denial, second.path) }
        }
        call if call == EXCHANGE.to_bytes() && !other.is_empty() => {
            Asked::Rename { from: first, to: second, destination: Destination::Exchange }
        }
        b"link" | b"linkat" if !other.is_empty() => Asked::Link { old: first, new: second },
        b"fts_open" => Asked::Beneath(path, *missing),
        _ if is_made_up => made(path, denial, run),
        _ if *missing == Capabilities::DELETE => Asked::Removal(path),
        _ if makes_directory(denial) => Asked::Directory(path, missing.union(follows(denial))),
        _ => Asked::Access(path, missing.union(follows(denial))),
    }
}

/// The rights that the program needs next (`docs/decisions/0032`). The interpreter reads a script. A program that
/// creates an entry goes on to use it: it fills a directory, it sets a file's mode and opens it again, it deletes a
/// temporary file. A rule for the creation alone would be useless. An existing entry needs nothing else. Looks at the
/// disk.
fn follows(denial: &Denial) -> Capabilities {
    if !is_to_be_made(denial) {
        let runs = denial.missing.contains(Capabilities::EXECUTE);
        let is_read = runs && is_script(path_of(&denial.path));
        return Capabilities::NONE.with_if(is_read, Capabilities::READ);
    }
    let is_used = !ONCE.contains(&denial.call.as_slice());
    Capabilities::CREATE
        .with_if(is_used, Capabilities::READ.union(Capabilities::UPDATE))
        .with_if(makes_directory(denial) || passes(denial), Capabilities::WRITE)
}

/// Whether the program was to create a directory that does not exist. Looks at the disk.
fn makes_directory(denial: &Denial) -> bool {
    denial.call.starts_with(b"mkd") && is_to_be_made(denial)
}

/// Whether the entry is missing, and the program would create it with this call or the next. Looks at the disk.
fn is_to_be_made(denial: &Denial) -> bool {
    let makes = denial.missing.contains(Capabilities::CREATE);
    (makes || TIMES.contains(&denial.call.as_slice()))
        && path_of(&denial.path).symlink_metadata().is_err()
}

/// Whether the denied entry, or a directory on the way to it, will have another name in the next run. Either the
/// program generated the name to create the entry, or an existing directory has such a name. Looks at the disk.
fn is_made_up(denial: &Denial, run: RunHistory<'_>) -> bool {
    let path = path_of(&denial.path);
    let name = path.file_name().map_or(&b""[..], OsStr::as_bytes);
    let began = run.began;
    let changes = denial.missing.intersects(Capabilities::WRITE);
    let is_gone = || path.symlink_metadata().is_err();
    if generated_names::holder(path, began).is_some() {
        return true;
    }
    if denial.missing.contains(Capabilities::CREATE) {
        let calls = [&b"mkstemp"[..], b"mkdtemp"];
        let is_drawn = calls.iter().any(|call| denial.call.starts_with(call));
        let is_new = is_exclusive(denial) && generated_names::may_be_drawn_anew(name);
        let is_own = is_private(denial)
            && (generated_names::may_be_drawn_for_oneself(name) || replaced(denial).is_some());
        let is_its_directory = denial.call.starts_with(b"mkd")
            && generated_names::is_drawn_behind(program(denial), name);
        let is_own_directory = denial.call == PRIVATE_DIRECTORY.to_bytes()
            && generated_names::may_be_drawn_for_oneself(name);
        let is_socket = denial.call == b"bind" && generated_names::may_be_drawn_for_socket(name);
        // mktemp(1) creates nothing else.
        let is_of_mktemp = program(denial) == b"mktemp";
        return is_drawn
            || is_new
            || is_own
            || is_its_directory
            || is_own_directory
            || is_socket
            || is_of_mktemp
            || generated_names::is_another_for(name, denial.pid)
            || generated_names::tells_time(name, SystemTime::now())
            || generated_names::is_of_hashes(path);
    }
    generated_names::is_of_run(path, began)
        || (generated_names::is_drawn(name) && (changes || is_gone()))
        || (generated_names::is_another_each_time(name) && changes && is_gone())
        || (changes && is_gone() && was_made_up_to_make(path, run))
}

/// Whether creating it was denied under a generated name: a program that cannot create its file still deletes it.
fn was_made_up_to_make(path: &Path, run: RunHistory<'_>) -> bool {
    let makes =
        |one: &Denial| path_of(&one.path) == path && one.missing.contains(Capabilities::CREATE);
    run.refused.iter().any(|(one, _)| makes(one) && is_made_up(one, run))
}

/// Whether the call creates a file for its owner alone, under an unused name.
fn is_private(denial: &Denial) -> bool {
    denial.call == PRIVATE.to_bytes()
}

/// Whether the call creates a file under an unused name.
fn is_exclusive(denial: &Denial) -> bool {
    is_private(denial) || denial.call == EXCLUSIVE.to_bytes()
}

/// The file name of the program.
fn program(denial: &Denial) -> &[u8] {
    path_of(&denial.program).file_name().map_or(&b""[..], OsStr::as_bytes)
}

/// Whether the entry is temporary, so that the program also changes and deletes it.
fn passes(denial: &Denial) -> bool {
    let name = path_of(&denial.path).file_name().map_or(&b""[..], OsStr::as_bytes);
    // Without the exclusive flag the file may be there already and last, such as `Cargo.lock`.
    let is_lock = name.ends_with(b".lock") && is_exclusive(denial);
    is_lock
        || generated_names::is_made_up_for(name, denial.pid)
        || generated_names::is_journal(name)
}

/// The request of a program that generates the name of `entry`. It also changes and deletes the entry.
fn made<'d>(entry: Request<'d>, denial: &Denial, run: RunHistory<'_>) -> Asked<'d> {
    let makes = denial.missing.contains(Capabilities::CREATE);
    let need = denial.missing.union(follows(denial)).with_if(makes, Capabilities::WRITE);
    let path = path_of(entry.path);
    let holder =
        generated_names::holder(path, run.began).or_else(|| generated_names::directory(path));
    let directory = holder.unwrap_or(path);
    let is_in = path.parent() == Some(directory) && !makes_directory(denial);
    let extent = if is_in { Extent::Entries } else { Extent::Below };
    let directory = on_the_way(entry, directory);
    Asked::Made { directory, entry, need, target: None, extent }
}

/// The file that an entry with a generated name is to replace. Looks at the disk.
pub(super) fn replaced(denial: &Denial) -> Option<PathBuf> {
    let path = path_of(&denial.path);
    let name = path.file_name()?.as_bytes();
    // Six trailing letters are known to be random only in a file for its owner alone.
    let begun = generated_names::begun(name).filter(|_| is_private(denial));
    let others = generated_names::replaced(name).into_iter().chain(begun);
    let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_file());
    others.map(|other| path.with_file_name(path_of(other))).find(is_file)
}

/// The rename's effect at `to`: derived from the missing right, or else from the entry that is there now.
fn destination(denial: &Denial, to: &[u8]) -> Destination {
    let missing = if denial.second { denial.missing } else { Capabilities::NONE };
    let exists = path_of(to).symlink_metadata().is_ok();
    if missing.contains(Capabilities::UPDATE) || exists && !missing.contains(Capabilities::CREATE) {
        Destination::Exists
    } else {
        Destination::Missing
    }
}
