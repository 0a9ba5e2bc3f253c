//! The two descriptors that the launcher, or a parent's exec, left open for this process.

use core::ffi::c_int;

use crate::startup::Startup;
use crate::sys;

/// The variable that names them, as `IMAGE:GENERATION`.
pub(crate) const VARIABLE: &[u8] = b"JP_CONFINE=";

/// Descriptor numbers; `generation` is -1 where there is none.
#[derive(Clone, Copy)]
pub(crate) struct Handle {
    pub(crate) image: c_int,
    pub(crate) generation: c_int,
}

impl Handle {
    /// Reads the variable from where the loader points to, or else out of the block that the kernel
    /// keeps, which is there before libc is initialised and whatever became of `environ`.
    pub(crate) fn find(startup: Option<Startup>) -> Option<Self> {
        match startup {
            Some(startup) => Self::parse(startup.variable(VARIABLE)?),
            None => Self::find_in_kernel_block(),
        }
    }

    fn find_in_kernel_block() -> Option<Self> {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let file = sys::openat(libc::AT_FDCWD, c"/proc/self/environ", flags, 0).ok()?;
        let mut buffer = [0_u8; 2048];
        let mut search = Search::new();
        loop {
            let count = sys::read(file.raw(), &mut buffer).ok()?;
            if count == 0 {
                return None;
            }
            for &byte in buffer.get(..count)? {
                if search.feed(byte) {
                    return Self::parse(search.value());
                }
            }
        }
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

/// Finds the variable in a stream of `NAME=VALUE` strings.
struct Search {
    /// How much of the name has matched; `None` once the current string is another variable.
    matched: Option<usize>,
    value: [u8; 32],
    len: usize,
}

impl Search {
    const fn new() -> Self {
        Self { matched: Some(0), value: [0; 32], len: 0 }
    }

    /// Takes the next byte; true once the value is complete.
    fn feed(&mut self, byte: u8) -> bool {
        let complete = byte == 0 && self.matched == Some(VARIABLE.len());
        match self.matched {
            _ if complete => {}
            _ if byte == 0 => self.matched = Some(0),
            Some(at) if at == VARIABLE.len() => {
                if let Some(slot) = self.value.get_mut(self.len) {
                    *slot = byte;
                }
                self.len = self.len.saturating_add(1);
            }
            Some(at) => {
                let fits = VARIABLE.get(at) == Some(&byte);
                self.matched = fits.then_some(at.saturating_add(1));
            }
            None => {}
        }
        complete
    }

    fn value(&self) -> &[u8] {
        self.value.get(..self.len).unwrap_or(&[])
    }
}
