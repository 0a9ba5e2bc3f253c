//! Leave to use a path: what a host of tools keeps between the verdict and the deed, which a person's
//! consent may come between.

use std::path::{Path, PathBuf};
use std::string::String;

#[cfg(target_os = "linux")]
use std::io;

use crate::canonical::Op;
use crate::capability::Capability;
use crate::check::{CheckResult, Context, FsAccessError, Reason, Verdict, bytes};
use crate::decide::{self, Request};
use crate::moves::{self, Movable, Way};
#[cfg(target_os = "linux")]
use crate::pin::{HeldRoot, Pin};

/// Leave to use a canonical path for one capability, by the policy or by a person's consent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    path: PathBuf,
    capability: Capability,
}

/// What goes from one place to another where that is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Going {
    /// What takes nothing along: a directory would be judged otherwise below its new name, whatever was seen under
    /// the old one before.
    Alone(Way),
    /// The same, where only what exists may be replaced: there no link can be made.
    Over(Movable),
    /// Whatever it is, with all that is in it.
    Whole,
}

impl CheckResult {
    /// Leave, where the policy gives it.
    ///
    /// # Errors
    /// The refusal.
    pub fn granted(self) -> Result<Granted, FsAccessError> {
        if self.is_allowed() { self.leave() } else { Err(FsAccessError::new(self)) }
    }

    /// Leave, where a person consents who was shown this and what is asked of it.
    ///
    /// # Errors
    /// The refusal, where consent makes no difference.
    pub fn consented(self) -> Result<Granted, FsAccessError> {
        if self.is_allowed() || self.is_open_to_consent() {
            self.leave()
        } else {
            Err(FsAccessError::new(self))
        }
    }

    /// Whether nobody wrote anything about the path, so that the file service may ask (spec §14.8, R29).
    #[must_use]
    pub fn is_uncovered(&self) -> bool {
        self.uncovered && self.reason == Some(Reason::Denied)
    }

    /// Whether a person may allow it.
    #[must_use]
    pub fn is_open_to_consent(&self) -> bool {
        self.verdict == Verdict::Prompt || self.is_uncovered()
    }

    fn leave(mut self) -> Result<Granted, FsAccessError> {
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

    /// What it may be used for.
    #[must_use]
    pub const fn capability(&self) -> Capability {
        self.capability
    }

    /// Holds what was judged.
    ///
    /// # Errors
    /// The kernel's; `ELOOP` where a link has come in between.
    #[cfg(target_os = "linux")]
    pub fn pin(&self) -> io::Result<Pin> {
        Pin::hold(&self.path, self.capability)
    }

    /// As [`Self::pin`], of what lies in a workspace beneath its root, which is held.
    ///
    /// # Errors
    /// As there.
    #[cfg(target_os = "linux")]
    pub fn pin_in(&self, root: &HeldRoot) -> io::Result<Pin> {
        Pin::hold_from(Some(root), &self.path, self.capability)
    }

    /// Holds the entry that was judged, to be replaced as such.
    ///
    /// # Errors
    /// The kernel's; `ELOOP` where a link has come in between.
    #[cfg(target_os = "linux")]
    pub fn pin_entry(&self) -> io::Result<Pin> {
        Pin::of_entry(None, &self.path, self.capability)
    }

    /// As [`Self::pin_entry`], as [`Self::pin_in`].
    ///
    /// # Errors
    /// As there.
    #[cfg(target_os = "linux")]
    pub fn pin_entry_in(&self, root: &HeldRoot) -> io::Result<Pin> {
        Pin::of_entry(Some(root), &self.path, self.capability)
    }
}

impl Context<'_> {
    /// Leave to use `input`, workspace-relative, where the policy gives it without a question. A refusal
    /// costs no words.
    #[must_use]
    pub fn leave(&self, input: &[u8], capability: Capability) -> Option<Granted> {
        let op = if capability == Capability::Delete { Op::Entry } else { Op::Content };
        let mut result = CheckResult::new(String::new(), capability);
        let image = self.usable().ok()?;
        self.judge_input(image, input, op, &mut result).ok()?;
        result.resolved.map(|path| Granted { path, capability })
    }

    /// Leave to look in the directory at `input`, workspace-relative, for what is to be asked about next, where the
    /// policy may grant reading below. Its names are not to be told to whoever may not list it.
    #[must_use]
    pub fn passage(&self, input: &[u8]) -> Option<Granted> {
        let mut result = CheckResult::new(String::new(), Capability::Read);
        let image = self.usable().ok()?;
        // Whether it may be read makes no difference.
        let _ = self.judge_input(image, input, Op::Content, &mut result);
        let path = result.resolved.filter(|path| self.reaches(path))?;
        let leads_on = decide::may_grant_below(image, bytes(&path), Capability::Read.into());
        leads_on.then_some(Granted { path, capability: Capability::Read })
    }

    /// What may go `from` one place `to` another, so that it gains no right by that (R5), which consent to
    /// either does not change; `None` where nothing may.
    #[must_use]
    pub fn going(&self, from: &Granted, to: &Granted) -> Option<Going> {
        let image = self.image()?;
        let capability = to.capability;
        let [from, to] = [from, to].map(|granted| Request::canonical(bytes(granted.path())));
        let is_allowed = |verdict| matches!(verdict, decide::Verdict::Allow);
        if !is_allowed(decide::gains_nothing(image, &from, &to)) {
            return None;
        }
        let is_admitted = is_allowed(decide::admit_contents(image, &from, &to));
        if is_admitted && is_allowed(decide::relocate(image, &from, &to)) {
            return Some(Going::Whole);
        }
        let is_symlink_admitted = is_admitted || is_allowed(decide::admit_symlink(image, &to));
        let movable = if is_symlink_admitted { Movable::NoDirectory } else { Movable::NoSymlink };
        let may_create = || decide::access(image, &to.consented(), Capability::Create.into());
        if capability == Capability::Update && !is_allowed(may_create()) {
            return Some(Going::Over(movable));
        }
        Some(Going::Alone(Way { movable, tries: moves::may_try_beside(image, &to) }))
    }
}
