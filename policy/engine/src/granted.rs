//! Permission to use a path, by the policy or by a person's consent. A host of tools keeps it between the verdict and
//! the use, because the consent may come in between.

#[cfg(target_os = "linux")]
use std::io;
use std::path::{Path, PathBuf};
use std::string::String;

use crate::canonical::Op;
use crate::capability::Capability;
use crate::check::{CheckResult, CheckVerdict, Context, FsAccessError, Reason};
use crate::decide::{self, Request};
use crate::lexical::bytes;
use crate::moves::{self, Movable, Way};
use crate::moves_alone::RenameKind;
#[cfg(target_os = "linux")]
use crate::pin::{HeldRoot, Pin};
use crate::verdict;

/// Permission to use a canonical path for one capability, by the policy or by a person's consent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    path: PathBuf,
    capability: Capability,
}

impl CheckResult {
    /// Permission, if the policy gives it.
    ///
    /// # Errors
    /// [`FsAccessError`] if the policy denies it.
    pub fn granted(self) -> Result<Granted, FsAccessError> {
        if self.is_allowed() { self.into_granted() } else { Err(FsAccessError::new(self)) }
    }

    /// Permission by the consent of a person who was shown this and the requested use.
    ///
    /// # Errors
    /// [`FsAccessError`] if consent makes no difference.
    pub fn consented(self) -> Result<Granted, FsAccessError> {
        if self.is_allowed() || self.is_open_to_consent() {
            self.into_granted()
        } else {
            Err(FsAccessError::new(self))
        }
    }

    /// Whether no rule and no pattern is about the path, so that the file service may prompt (spec §14.8, R29).
    #[must_use]
    pub fn is_uncovered(&self) -> bool {
        self.uncovered && self.reason == Some(Reason::Denied)
    }

    /// Whether a person may allow it.
    #[must_use]
    pub fn is_open_to_consent(&self) -> bool {
        self.verdict == CheckVerdict::Prompt || self.is_uncovered()
    }

    fn into_granted(mut self) -> Result<Granted, FsAccessError> {
        match self.resolved.take() {
            Some(path) => Ok(Granted { path, capability: self.capability }),
            None => Err(FsAccessError::new(self.concluded(Err(Reason::ResolutionFailed)))),
        }
    }
}

impl Granted {
    /// The canonical absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The capability that it may be used for.
    #[must_use]
    pub const fn capability(&self) -> Capability {
        self.capability
    }

    /// Pins the path that was judged.
    ///
    /// # Errors
    /// The kernel's error, or `ELOOP` if a symlink has come in between.
    #[cfg(target_os = "linux")]
    pub fn pin(&self) -> io::Result<Pin> {
        Pin::hold(&self.path, self.capability)
    }

    /// As [`Self::pin`], for a path in a workspace, beneath its pinned root.
    ///
    /// # Errors
    /// As there.
    #[cfg(target_os = "linux")]
    pub fn pin_in(&self, root: &HeldRoot) -> io::Result<Pin> {
        Pin::hold_from(Some(root), &self.path, self.capability)
    }

    /// Pins the entry that was judged, to replace the entry itself.
    ///
    /// # Errors
    /// The kernel's error, or `ELOOP` if a symlink has come in between.
    #[cfg(target_os = "linux")]
    pub fn pin_entry(&self) -> io::Result<Pin> {
        Pin::of_entry(None, &self.path, self.capability)
    }

    /// As [`Self::pin_entry`], for a path in a workspace, beneath its pinned root.
    ///
    /// # Errors
    /// As there.
    #[cfg(target_os = "linux")]
    pub fn pin_entry_in(&self, root: &HeldRoot) -> io::Result<Pin> {
        Pin::of_entry(Some(root), &self.path, self.capability)
    }
}

impl Context<'_> {
    /// Permission to use `input`, workspace-relative, if the policy gives it without a prompt. A denial is not put into
    /// words.
    #[must_use]
    pub fn grant(&self, input: &[u8], capability: Capability) -> Option<Granted> {
        let op = if capability == Capability::Delete { Op::Entry } else { Op::Content };
        let mut result = CheckResult::new(String::new(), capability);
        let image = self.usable().ok()?;
        self.judge_input(image, input, op, &mut result).ok()?;
        result.resolved.map(|path| Granted { path, capability })
    }

    /// Permission to search the directory at `input`, workspace-relative, for the next path to ask about. The policy
    /// gives it if it may grant reading below. Do not show the names to a program that may not list the directory.
    #[must_use]
    pub fn grant_traversal(&self, input: &[u8]) -> Option<Granted> {
        let mut result = CheckResult::new(String::new(), Capability::Read);
        let image = self.usable().ok()?;
        // The verdict on reading makes no difference.
        let _ = self.judge_input(image, input, Op::Content, &mut result);
        let path = result.resolved.filter(|path| self.reaches(path))?;
        let leads_on = decide::may_grant_below(image, bytes(&path), Capability::Read.into());
        leads_on.then_some(Granted { path, capability: Capability::Read })
    }

    /// The entries that may move `from` one place `to` another without gaining a right (R5). Consent to either path
    /// does not change that. `None` if nothing may move.
    #[must_use]
    pub fn rename_kind(&self, from: &Granted, to: &Granted) -> Option<RenameKind> {
        let image = self.image()?;
        let capability = to.capability;
        let [from, to] = [from, to].map(|granted| Request::canonical(bytes(granted.path())));
        let is_allowed = |verdict| matches!(verdict, verdict::Verdict::Allow);
        if !is_allowed(decide::gains_nothing(image, &from, &to)) {
            return None;
        }
        let is_admitted = is_allowed(decide::admit_contents(image, &from, &to));
        if is_admitted && is_allowed(decide::relocate(image, &from, &to)) {
            return Some(RenameKind::Whole);
        }
        let is_symlink_admitted = is_admitted || is_allowed(decide::admit_symlink(image, &to));
        let movable = if is_symlink_admitted { Movable::NoDirectory } else { Movable::NoSymlink };
        let may_create = || decide::access(image, &to.consented(), Capability::Create.into());
        if capability == Capability::Update && !is_allowed(may_create()) {
            return Some(RenameKind::Over(movable));
        }
        Some(RenameKind::Alone(Way { movable, tries: moves::may_try_beside(image, &to) }))
    }
}
