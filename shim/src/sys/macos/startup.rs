//! Reads the environment and stack bounds that a program starts with.

use core::ffi::c_char;

use super::process::Strings;
use crate::sys::environment;

/// The environment that dyld passes to constructors.
#[derive(Clone, Copy)]
pub(crate) struct Startup {
    environment: Strings,
}

unsafe extern "C" {
    /// The location of `environ` in libSystem (environ(7)), valid before any other code runs.
    safe fn _NSGetEnviron() -> *const Strings;
}

impl Startup {
    /// Takes the third argument of a constructor.
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere constructors may get none")]
    pub(crate) const fn of_constructor(environment: Strings) -> Option<Self> {
        Some(Self { environment })
    }

    /// libSystem's environment, for a hook that runs before the constructor.
    fn current() -> Self {
        // SAFETY: this is libSystem's own variable.
        Self { environment: unsafe { _NSGetEnviron().read() } }
    }

    /// Calls `parse` with the value of a variable that was passed to the program.
    pub(crate) fn inherited<T>(
        startup: Option<Self>,
        name: &[u8],
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Option<T> {
        parse(startup.unwrap_or_else(Self::current).variable(name)?)
    }

    /// The value of a variable; `name` ends in `=`.
    fn variable(self, name: &[u8]) -> Option<&'static [u8]> {
        // SAFETY: the loader passed this environment.
        unsafe { environment::variable(self.environment, name) }
    }

    /// The end of the main stack, where constructors run.
    #[expect(clippy::unused_self, reason = "elsewhere it stands in the start-up block")]
    pub(crate) fn stack_top(self) -> Option<usize> {
        // SAFETY: the call has no arguments.
        let thread = unsafe { libc::pthread_self() };
        // SAFETY: this is the calling thread.
        let top = unsafe { libc::pthread_get_stackaddr_np(thread) };
        Some(top.addr()).filter(|&top| top != 0)
    }
}

/// The program's current environment.
pub(crate) fn environ() -> *const *const c_char {
    Startup::current().environment
}
