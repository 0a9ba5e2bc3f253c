//! As whom an answering thread acts. Where the supervisor has privileges that its caller lacks, it
//! puts them down for the time of a call: what it makes belongs to the caller.

use std::cell::Cell;

use rustix::io::Errno;
use rustix::thread::CapabilitySet;

use crate::sys::child;
use crate::sys::identity::{self, Brief, Identity};
use crate::sys::proc::status::Status;

/// `CAP_CHOWN` to `CAP_FSETID`: with these nothing depends on groups.
const OVERRIDING: u64 = 0x1f;

/// One answering thread's identity and mask.
pub(crate) struct Hands {
    own: Identity,
    /// What the run does not have either.
    withheld: u64,
    mask: Cell<Option<u32>>,
    /// The thread could not return to what it was.
    lost: Cell<bool>,
}

/// While it lasts the thread acts as the caller.
pub(crate) struct Acting<'h> {
    hands: &'h Hands,
    changed: bool,
}

impl Hands {
    /// Prepares the calling thread.
    ///
    /// # Errors
    /// Where it cannot have a mask and a working directory of its own.
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

    /// Whether the supervisor may do more than an ordinary user, so that it must know its callers.
    pub(crate) fn are_privileged(&self) -> bool {
        self.own.capabilities != 0
    }

    /// Whether somebody is whom the supervisor is, and so mighty that groups make no difference.
    pub(crate) fn are_those_of(&self, who: &Brief) -> bool {
        who.capabilities & OVERRIDING == OVERRIDING
            && who.capabilities & !self.withheld == self.own.capabilities
            && who.user == self.own.user
            && who.group == self.own.group
    }

    /// Whether the thread acts as it should and may be used on.
    pub(crate) fn are_sound(&self) -> bool {
        !self.lost.get()
    }

    /// Files are made with this mask from now on.
    pub(crate) fn use_mask(&self, mask: u32) {
        if self.mask.replace(Some(mask)) != Some(mask) {
            identity::set_mask(mask);
        }
    }

    /// Acts as somebody else, or not at all.
    ///
    /// # Errors
    /// `EPERM` where that cannot be.
    pub(crate) fn act_as(&self, who: &Identity) -> Result<Acting<'_>, Errno> {
        let who = Identity { capabilities: who.capabilities & !self.withheld, ..who.clone() };
        if who == self.own {
            return Ok(self.act());
        }
        if !self.are_privileged() {
            let same = who.user == self.own.user
                && who.group == self.own.group
                && who.groups == self.own.groups;
            // Capabilities that the supervisor lacks are those of a namespace of the caller's.
            return if same { Ok(self.act()) } else { Err(Errno::PERM) };
        }
        let acting = Acting { hands: self, changed: true };
        identity::assume(&who).map_err(|_| Errno::PERM)?;
        Ok(acting)
    }

    /// Acts as itself.
    pub(crate) fn act(&self) -> Acting<'_> {
        Acting { hands: self, changed: false }
    }
}

impl Drop for Acting<'_> {
    fn drop(&mut self) {
        if self.changed && identity::assume(&self.hands.own).is_err() {
            self.hands.lost.set(true);
        }
    }
}
