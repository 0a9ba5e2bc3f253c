//! Error numbers. This is the only place that sets the program's `errno`.

use core::ffi::c_int;

use crate::libc_functions;

/// An error number of errno(3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) c_int);

macro_rules! names {
    ($($name:ident),* $(,)?) => {
        #[allow(dead_code, reason = "which of them are used differs between systems")]
        impl Errno { $(pub(crate) const $name: Self = Self(libc::$name);)* }
    };
}

names!(
    E2BIG,
    EACCES,
    EADDRINUSE,
    EAFNOSUPPORT,
    EAGAIN,
    EBADF,
    EBUSY,
    EEXIST,
    EFAULT,
    EFBIG,
    EINTR,
    EINVAL,
    EIO,
    EISDIR,
    ELOOP,
    EMFILE,
    EMLINK,
    ENAMETOOLONG,
    ENOENT,
    ENOEXEC,
    ENOMEM,
    ENOSYS,
    ENOTDIR,
    ENOTEMPTY,
    ENOTSUP,
    EPERM,
    ERANGE,
    EXDEV,
);

impl Errno {
    /// Stores the number in the calling thread's `errno`.
    pub(crate) fn set(self) {
        let location = libc_functions::jp_errno();
        // SAFETY: this is the calling thread's own location, which is valid as long as the thread lives.
        unsafe { location.write(self.0) };
    }

    /// The calling thread's `errno`.
    pub(crate) fn last() -> Self {
        let location = libc_functions::jp_errno();
        // SAFETY: as above.
        Self(unsafe { location.read() })
    }
}

/// The return convention of libc functions: the value, or -1 after setting `errno`.
pub(crate) trait Reply<T> {
    /// Turns a result into libc's convention.
    fn reply(self) -> T;
}

impl Reply<c_int> for Result<c_int, Errno> {
    fn reply(self) -> c_int {
        self.unwrap_or_else(|errno| {
            errno.set();
            -1
        })
    }
}

impl Reply<c_int> for Result<(), Errno> {
    fn reply(self) -> c_int {
        self.map(|()| 0).reply()
    }
}

impl Reply<isize> for Result<usize, Errno> {
    fn reply(self) -> isize {
        match self {
            Ok(value) => value.cast_signed(),
            Err(errno) => {
                errno.set();
                -1
            }
        }
    }
}

impl<T> Reply<*mut T> for Result<*mut T, Errno> {
    fn reply(self) -> *mut T {
        self.unwrap_or_else(|errno| {
            errno.set();
            core::ptr::null_mut()
        })
    }
}
