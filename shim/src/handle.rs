//! The two descriptors that the launcher, or a parent's exec, left open for this process.

use core::ffi::c_int;

use crate::sys::startup::Startup;

/// The variable that names them, as `IMAGE:GENERATION`.
pub(crate) const VARIABLE: &[u8] = b"JP_CONFINE=";

/// Descriptor numbers; `generation` is -1 where there is none.
#[derive(Clone, Copy)]
pub(crate) struct Handle {
    pub(crate) image: c_int,
    pub(crate) generation: c_int,
}

impl Handle {
    /// Reads the variable that the process was started with.
    pub(crate) fn find(startup: Option<Startup>) -> Option<Self> {
        Startup::inherited(startup, VARIABLE, Self::parse)
    }

    fn parse(value: &[u8]) -> Option<Self> {
        let colon = value.iter().position(|&byte| byte == b':')?;
        Some(Self {
            image: number(value.get(..colon)?)?,
            generation: number(value.get(colon.saturating_add(1)..)?)?,
        })
    }
}

fn number(digits: &[u8]) -> Option<c_int> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}
