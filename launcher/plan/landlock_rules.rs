//! Builds Landlock's rules for one anchor. Used by `draft`. Landlock cannot deny a path below an allowed directory. In
//! that case each existing entry gets its own rule instead of the directory.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use jp_confine_engine::decide::{self, Request};
use jp_confine_engine::image::Image;
use jp_confine_engine::{Capabilities, canonical};
use landlock::{ABI, AccessFs};
use rustix::fs::{Access, access};
use rustix::process::Uid;

use super::PlanInput;
use super::held_rights::{self, Standing};
use crate::sys::landlock_bounds::{self, LandlockRule};

/// Entries here come and go with processes, so naming them would hold nothing.
pub(super) const PROCESSES: &str = "/proc";

/// With more rules than this, the start costs more than they save later.
const LIMIT: usize = 2000;

/// The rights that Landlock can hold exactly by naming fewer paths. Changes are not among them, because new names
/// appear.
const HELD_BY_NAMING: Capabilities = Capabilities::READ.union(Capabilities::EXECUTE);

/// Why a directory gets its rights as a whole although something below it is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CoverObstacle {
    /// Names that are denied may appear in it.
    Creates,
    /// It has too many entries.
    Large,
    /// Its entries cannot be listed.
    Unlisted,
    /// The rights of its entries depend on the symlink taken.
    ByRoute,
    /// A directory below must not be listed, so this one could not be either. Without a supervisor nobody else could
    /// list it.
    Unsupervised,
}

/// The rights that Landlock allows below an anchor beyond the policy, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excess {
    pub(super) at: PathBuf,
    pub(super) caps: Capabilities,
    pub(super) obstacle: CoverObstacle,
}

/// The rules of a directory whose entries get their rights one by one.
#[derive(Debug)]
struct Parts {
    rules: Vec<LandlockRule>,
    /// A directory below must not be listed, so Landlock must not allow listing this one either: the right would extend
    /// downwards.
    unlisted: bool,
}

/// The rules so far, and the facts they depend on.
#[derive(Debug)]
pub(super) struct Cover<'a> {
    order: &'a PlanInput<'a>,
    image: &'a Image<'a>,
    version: ABI,
    user: Uid,
    supervised: bool,
    standings: &'a [Standing<'a>],
    /// Directories that lack a denied entry.
    awaiting: HashSet<PathBuf>,
    /// Anchors whose entries got their rights one by one, with the number of rules.
    pub(super) split: Vec<(PathBuf, usize)>,
    /// Whether Landlock must deny listing some directories that the policy allows to list.
    pub(super) unlisted: bool,
    pub(super) rules: Vec<LandlockRule>,
}

impl<'a> Cover<'a> {
    /// Without rules yet.
    pub(super) fn new(
        order: &'a PlanInput<'a>,
        version: ABI,
        standings: &'a [Standing<'a>],
    ) -> Self {
        Self {
            order,
            image: order.image,
            version,
            user: order.user,
            supervised: order.machine.supervises(),
            standings,
            awaiting: HashSet::new(),
            split: Vec::new(),
            unlisted: false,
            rules: Vec::new(),
        }
    }

    /// Notes rights that are granted above an anchor but not there. If the run may create there, names may appear
    /// anyway, so it does not matter whether the anchor exists.
    pub(super) fn deny(&mut self, standing: &Standing<'_>) {
        let Standing { path, above, .. } = *standing;
        let held = !standing.lost().intersects(HELD_BY_NAMING);
        if held || above.contains(Capabilities::CREATE) || canonical::look(path).is_ok() {
            return;
        }
        let there = path.ancestors().skip(1).find(|dir| canonical::look(dir).is_ok());
        self.awaiting.extend(there.map(Path::to_owned));
    }

    /// Whether an anchor above `path` does not pass its rights on.
    pub(super) fn is_split_above(&self, path: &Path) -> bool {
        self.split.iter().any(|(dir, _)| path.starts_with(dir))
    }

    /// Adds the rules for an anchor with the rights `caps`.
    pub(super) fn add(&mut self, anchor: &Path, caps: Capabilities) -> Result<(), Excess> {
        match self.parts(anchor, caps) {
            Ok(None) => self.rules.push(self.rule(anchor, caps)),
            Ok(Some(parts)) => {
                self.split.push((anchor.to_owned(), parts.rules.len()));
                self.unlisted |= parts.unlisted;
                self.rules.extend(parts.rules);
            }
            Err(excess) => {
                self.rules.push(self.rule(anchor, caps));
                return Err(excess);
            }
        }
        Ok(())
    }

    /// Rules for a directory with the rights `caps` that leave out denied paths below. `None` if nothing is denied.
    fn parts(&self, directory: &Path, caps: Capabilities) -> Result<Option<Parts>, Excess> {
        let wanted = caps.intersection(HELD_BY_NAMING);
        let denied = self.may_be_denied_below(directory, wanted);
        if denied.is_empty() {
            return Ok(None);
        }
        let excess = |obstacle| Excess { at: directory.to_owned(), caps: denied, obstacle };
        if caps.contains(Capabilities::CREATE) {
            return Err(excess(CoverObstacle::Creates));
        }
        let standing = held_rights::at(self.standings, directory);
        if standing.is_some_and(|standing| standing.by_route.intersects(wanted)) {
            return Err(excess(CoverObstacle::ByRoute));
        }
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => return self.unlisted(directory, &error, excess),
        };
        let mut found = self.awaiting.contains(directory);
        // A denied path that does not exist yet may become a directory.
        let mut parts = Parts { rules: Vec::new(), unlisted: found };
        for entry in entries {
            let entry = entry.map_err(|_| excess(CoverObstacle::Unlisted))?;
            let kind = entry.file_type().map_err(|_| excess(CoverObstacle::Unlisted))?;
            if !kind.is_symlink() {
                found |= self.entry(&mut parts, &entry.path(), kind.is_dir(), caps)?;
            }
            if self.rules.len() + parts.rules.len() > LIMIT {
                return Err(excess(CoverObstacle::Large));
            }
        }
        if parts.unlisted && !self.supervised {
            return Err(excess(CoverObstacle::Unsupervised));
        }
        let mut own = landlock_bounds::without_files(landlock_bounds::rights(caps, self.version));
        if parts.unlisted {
            own.remove(AccessFs::ReadDir);
        }
        parts.rules.push(LandlockRule { path: directory.to_owned(), rights: own });
        parts.rules.retain(|rule| !rule.rights.is_empty());
        Ok(found.then_some(parts))
    }

    /// Adds the rules of one entry. Returns whether some of the wanted rights of its directory are denied on it or
    /// below. It only gets more rights than its directory if it is an anchor itself.
    fn entry(
        &self,
        parts: &mut Parts,
        path: &Path,
        is_directory: bool,
        caps: Capabilities,
    ) -> Result<bool, Excess> {
        let wanted = caps.intersection(HELD_BY_NAMING);
        let mut held = self.lookup(path).granted(self.image);
        if held_rights::at(self.standings, path).is_none() {
            held = held.intersection(caps);
        }
        let lost = wanted.difference(held);
        let denied = !lost.is_empty() && !self.is_out_of_reach(path, lost);
        parts.unlisted |= denied && is_directory && lost.contains(Capabilities::READ);
        let below = if is_directory { self.parts(path, held) } else { Ok(None) };
        if held_rights::at(self.standings, path).is_some() {
            // The loop over the anchors adds its rules. Here only its denials matter.
            let below = below.as_ref();
            parts.unlisted |= below.is_ok_and(|below| below.as_ref().is_some_and(|it| it.unlisted));
            return Ok(denied || !matches!(below, Ok(None)));
        }
        let below = below?;
        parts.unlisted |= below.as_ref().is_some_and(|below| below.unlisted);
        let found = denied || below.is_some();
        let whole = || vec![self.rule(path, held)];
        parts.rules.extend(below.map_or_else(whole, |below| below.rules));
        Ok(found)
    }

    /// The `wanted` capabilities that something below the directory may lack.
    fn may_be_denied_below(&self, directory: &Path, wanted: Capabilities) -> Capabilities {
        if wanted.is_empty() || self.order.is_in_proc(directory) {
            return Capabilities::NONE;
        }
        let excludes = decide::excludes_below(self.image, directory.as_os_str().as_bytes());
        if excludes || self.awaiting.contains(directory) {
            return wanted;
        }
        wanted.difference(self.lookup(directory).below_all)
    }

    fn unlisted<T>(
        &self,
        directory: &Path,
        error: &io::Error,
        excess: impl Fn(CoverObstacle) -> Excess,
    ) -> Result<Option<T>, Excess> {
        let absent = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        if absent || !self.user.is_root() && access(directory, Access::EXEC_OK).is_err() {
            return Ok(None);
        }
        Err(excess(CoverObstacle::Unlisted))
    }

    /// Whether the user lacks the denied access there anyway, whatever the policy says, and cannot change that.
    fn is_out_of_reach(&self, path: &Path, lost: Capabilities) -> bool {
        let Ok(meta) = canonical::look(path) else { return true };
        if self.user.is_root() || meta.uid() == self.user.as_raw() {
            return false;
        }
        let refused = |how| access(path, how).is_err();
        if meta.is_dir() {
            return refused(Access::EXEC_OK);
        }
        (!lost.contains(Capabilities::READ) || refused(Access::READ_OK))
            && (!lost.contains(Capabilities::EXECUTE) || refused(Access::EXEC_OK))
    }

    fn lookup(&self, path: &Path) -> decide::Lookup {
        decide::lookup(self.image, &Request::canonical(path.as_os_str().as_bytes()))
    }

    fn rule(&self, path: &Path, caps: Capabilities) -> LandlockRule {
        LandlockRule { path: path.to_owned(), rights: landlock_bounds::rights(caps, self.version) }
    }
}
