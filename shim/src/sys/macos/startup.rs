//! What a program is started with.

use core::ffi::c_char;

use super::process::Strings;
use crate::sys::environment;

/// The environment, as dyld hands it to constructors.
#[derive(Clone, Copy)]
pub(crate) struct Startup {
    environment: Strings,
}

unsafe extern "C" {
    /// Where libSystem keeps `environ` (environ(7)), from before any other code runs.
    safe fn _NSGetEnviron() -> *const Strings;
}

impl Startup {
    /// From the third argument of a constructor.
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere constructors may get none")]
    pub(crate) const fn of_constructor(environment: Strings) -> Option<Self> {
        Some(Self { environment })
    }

    /// As libSystem knows it, for a hook that runs before the constructor.
    fn current() -> Self {
        // SAFETY: libSystem's own variable.
        Self { environment: unsafe { _NSGetEnviron().read() } }
    }

    /// The value of a variable that was passed to the program, for `parse`.
    pub(crate) fn inherited<T>(
        startup: Option<Self>,
        name: &[u8],
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Option<T> {
        parse(startup.unwrap_or_else(Self::current).variable(name)?)
    }

    /// The value of a variable; `name` ends in `=`.
    fn variable(self, name: &[u8]) -> Option<&'static [u8]> {
        // SAFETY: the environment is the loader's.
        unsafe { environment::variable(self.environment, name) }
    }

    /// Where the main stack ends, on which constructors run.
    #[expect(clippy::unused_self, reason = "elsewhere it stands in the start-up block")]
    pub(crate) fn stack_top(self) -> Option<usize> {
        // SAFETY: without arguments.
        let thread = unsafe { libc::pthread_self() };
        // SAFETY: the calling thread.
        let top = unsafe { libc::pthread_get_stackaddr_np(thread) };
        Some(top.addr()).filter(|&top| top != 0)
    }
}

/// The caller's environment.
pub(crate) fn environ() -> *const *const c_char {
    Startup::current().environment
}
