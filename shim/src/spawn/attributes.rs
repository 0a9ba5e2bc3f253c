//! Reads and applies the attributes of `posix_spawn(3)`. Used by the spawn hooks.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;

use crate::errno::Errno;
use crate::sys::process::{self, Signals};

const RESET_IDS: c_int = libc::POSIX_SPAWN_RESETIDS as c_int;
const SET_GROUP: c_int = libc::POSIX_SPAWN_SETPGROUP as c_int;
const SET_DEFAULTS: c_int = libc::POSIX_SPAWN_SETSIGDEF as c_int;
const SET_MASK: c_int = libc::POSIX_SPAWN_SETSIGMASK as c_int;
const SET_PRIORITY: c_int = libc::POSIX_SPAWN_SETSCHEDPARAM as c_int;
const SET_POLICY: c_int = libc::POSIX_SPAWN_SETSCHEDULER as c_int;
/// `POSIX_SPAWN_USEVFORK`, which no longer has an effect.
const USE_VFORK: c_int = 0x40;
/// `POSIX_SPAWN_SETSID`.
const SET_SESSION: c_int = 0x80;
const KNOWN: c_int = RESET_IDS
    | SET_GROUP
    | SET_DEFAULTS
    | SET_MASK
    | SET_PRIORITY
    | SET_POLICY
    | USE_VFORK
    | SET_SESSION;

/// The contents of libc's `posix_spawnattr_t`. Same layout as `struct jp_attributes` in `c/process.c`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Attributes {
    defaults: Signals,
    mask: Signals,
    flags: c_int,
    group: c_int,
    policy: c_int,
    priority: c_int,
}

unsafe extern "C" {
    fn jp_attributes(from: *const c_void, to: *mut Attributes) -> c_int;
}

impl Attributes {
    /// No attributes.
    pub(crate) const NONE: Self =
        Self { defaults: 0, mask: 0, flags: 0, group: 0, policy: 0, priority: 0 };

    /// Attributes that reset `defaults` to their default action and block `mask`.
    pub(crate) const fn of_signals(defaults: Signals, mask: Signals) -> Self {
        Self { defaults, mask, flags: SET_DEFAULTS | SET_MASK, ..Self::NONE }
    }

    /// Reads a `posix_spawnattr_t`. Null means none.
    ///
    /// # Errors
    /// `EINVAL` for an unknown flag; libc's own errors.
    pub(crate) fn read(from: *const c_void) -> Result<Self, Errno> {
        if from.is_null() {
            return Ok(Self::NONE);
        }
        let mut attributes = MaybeUninit::new(Self::NONE);
        // SAFETY: `from` is the program's attributes object. libc itself relies on that, too.
        match unsafe { jp_attributes(from, attributes.as_mut_ptr()) } {
            0 => {}
            error if error > 0 => return Err(Errno(error)),
            _ => return Err(Errno::EACCES),
        }
        // SAFETY: it was initialised at its creation.
        let attributes = unsafe { attributes.assume_init() };
        if attributes.flags & !KNOWN == 0 { Ok(attributes) } else { Err(Errno::EINVAL) }
    }

    const fn has(&self, flag: c_int) -> bool {
        self.flags & flag != 0
    }

    /// The signals to reset to their default action.
    pub(crate) const fn defaulted(&self) -> Signals {
        if self.has(SET_DEFAULTS) { self.defaults } else { 0 }
    }

    /// The signals that the program starts with blocked, if specified.
    pub(crate) const fn blocked(&self) -> Option<Signals> {
        if self.has(SET_MASK) { Some(self.mask) } else { None }
    }

    /// Applies the other attributes to the calling process, in the order of POSIX.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn apply(&self) -> Result<(), Errno> {
        if self.has(SET_POLICY) {
            process::schedule(Some(self.policy), self.priority)?;
        } else if self.has(SET_PRIORITY) {
            process::schedule(None, self.priority)?;
        }
        if self.has(SET_SESSION) {
            process::new_session()?;
        }
        if self.has(SET_GROUP) {
            process::join_group(self.group)?;
        }
        if self.has(RESET_IDS) {
            process::drop_borrowed_identity()?;
        }
        Ok(())
    }
}
