//! Cancellation points (pthreads(7)): the calls in which another thread may end the calling one. Used by the hooks.

#[cfg(target_os = "macos")]
use crate::sys;

#[cfg(target_os = "linux")]
pub(crate) use asynchronous::{point, point_undone, test, without};

/// Makes a system call that may wait. The thread can be cancelled before it.
#[cfg(target_os = "macos")]
pub(crate) fn point<T>(call: impl FnOnce() -> T) -> T {
    sys::test_cancel();
    call()
}

#[cfg(target_os = "linux")]
mod asynchronous {
    use core::ffi::{c_int, c_void};

    use crate::libc_functions;

    /// `PTHREAD_CANCEL_ASYNCHRONOUS` and `PTHREAD_CANCEL_DISABLE`, in glibc as in musl.
    const AT_ONCE: c_int = 1;
    const DISABLED: c_int = 1;
    /// The words of `struct _pthread_cleanup_buffer`, of which musl uses the first three.
    const CLEANUP: usize = 4;

    /// Makes a system call that may wait, and allows the thread to be cancelled in it, as libc does in its own. A
    /// pending cancellation takes effect before the call. A cancelled thread runs no destructors, so a descriptor that
    /// a hook holds then stays open.
    pub(crate) fn point<T>(call: impl FnOnce() -> T) -> T {
        let before = libc_functions::jp_cancel_type(AT_ONCE);
        let outcome = call();
        libc_functions::jp_cancel_type(before);
        outcome
    }

    /// Like [`point`], but a cancelled thread first calls `undo` with `argument`.
    pub(crate) fn point_undone<A, T>(
        undo: extern "C" fn(*mut c_void),
        argument: &A,
        call: impl FnOnce() -> T,
    ) -> T {
        let mut place = [0_usize; CLEANUP];
        let argument = (&raw const *argument).cast_mut().cast();
        libc_functions::jp_cleanup_push(place.as_mut_ptr(), undo, argument);
        let outcome = point(call);
        libc_functions::jp_cleanup_pop(place.as_mut_ptr());
        outcome
    }

    /// Makes `call` without any cancellation point in it.
    pub(crate) fn without<T>(call: impl FnOnce() -> T) -> T {
        let before = libc_functions::jp_cancel_state(DISABLED);
        let outcome = call();
        libc_functions::jp_cancel_state(before);
        outcome
    }

    /// Ends the thread here if it was cancelled (`pthread_testcancel`(3)).
    pub(crate) fn test() {
        point(|| ());
    }
}
