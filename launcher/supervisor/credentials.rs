//! The identity that an answering thread acts with. If the supervisor has privileges that its caller lacks, the thread
//! drops them during a call. So new files belong to the caller.

use std::cell::Cell;

use rustix::io::Errno;
use rustix::thread::CapabilitySet;

use crate::sys::child;
use crate::sys::identity::{self, Brief, Identity};
use crate::sys::proc::status::Status;

/// `CAP_CHOWN` to `CAP_FSETID`: with these, groups make no difference.
const OVERRIDING: u64 = 0x1f;

/// The identity and mask of one answering thread.
pub(crate) struct Credentials {
    own: Identity,
    /// Capabilities that the run lacks, too.
    withheld: u64,
    mask: Cell<Option<u32>>,
    /// The thread could not restore its own identity.
    lost: Cell<bool>,
}

/// While this exists, the thread acts as the caller.
pub(crate) struct Impersonation<'h> {
    hands: &'h Credentials,
    changed: bool,
}

impl Credentials {
    /// Prepares the current thread.
    ///
    /// # Errors
    /// Fails if the thread cannot have its own mask and working directory.
    pub(crate) fn prepare(own: &Status, judges_network: bool) -> Result<Self, Errno> {
        identity::own_directory_and_mask().map_err(|_| Errno::PERM)?;
        let of_network = if judges_network { child::NETWORK } else { CapabilitySet::empty() };
        let withheld = (child::WITHHELD | of_network).bits();
        let capabilities = own.identity.capabilities & !withheld;
        let own = Identity { capabilities, ..own.identity.clone() };
        let hands = Self { own, withheld, mask: Cell::new(None), lost: Cell::new(false) };
        if hands.are_privileged() {
            identity::assume(&hands.own)?;
        }
        Ok(hands)
    }

    /// Whether the supervisor may do more than an ordinary user, so that it must know its callers' identities.
    pub(crate) fn are_privileged(&self) -> bool {
        self.own.capabilities != 0
    }

    /// Whether a process has the supervisor's identity, with capabilities that make groups irrelevant.
    pub(crate) fn are_those_of(&self, who: &Brief) -> bool {
        who.capabilities & OVERRIDING == OVERRIDING
            && who.capabilities & !self.withheld == self.own.capabilities
            && who.user == self.own.user
            && who.group == self.own.group
    }

    /// Whether the thread has its own identity, so that it can be used again.
    pub(crate) fn are_sound(&self) -> bool {
        !self.lost.get()
    }

    /// Sets the mask for files created from now on.
    pub(crate) fn use_mask(&self, mask: u32) {
        if self.mask.replace(Some(mask)) != Some(mask) {
            identity::set_mask(mask);
        }
    }

    /// Acts with another identity, or fails.
    ///
    /// # Errors
    /// `EPERM` if that is impossible.
    pub(crate) fn act_as(&self, who: &Identity) -> Result<Impersonation<'_>, Errno> {
        let who = Identity { capabilities: who.capabilities & !self.withheld, ..who.clone() };
        if who == self.own {
            return Ok(self.act());
        }
        if !self.are_privileged() {
            let same = who.user == self.own.user
                && who.group == self.own.group
                && who.groups == self.own.groups;
            // Capabilities that the supervisor lacks belong to the caller's own namespace.
            return if same { Ok(self.act()) } else { Err(Errno::PERM) };
        }
        let acting = Impersonation { hands: self, changed: true };
        identity::assume(&who).map_err(|_| Errno::PERM)?;
        Ok(acting)
    }

    /// Acts with its own identity.
    pub(crate) fn act(&self) -> Impersonation<'_> {
        Impersonation { hands: self, changed: false }
    }
}

impl Drop for Impersonation<'_> {
    fn drop(&mut self) {
        if self.changed && identity::assume(&self.hands.own).is_err() {
            self.hands.lost.set(true);
        }
    }
}
