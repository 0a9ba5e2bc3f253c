//! The few libc functions that the library calls. None takes a path. They are weak references in C (`c/libc.c`); on
//! macOS, where libSystem always exists, they are direct ones.

#[cfg(target_os = "linux")]
use core::ffi::c_uint;
use core::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    /// The location of the calling thread's `errno`.
    #[cfg_attr(target_os = "macos", link_name = "__error")]
    pub(crate) safe fn jp_errno() -> *mut c_int;
    /// fdopen(3). On success the stream owns the descriptor. `mode` is the program's or a literal.
    #[cfg_attr(target_os = "macos", link_name = "fdopen")]
    pub(crate) safe fn jp_fdopen(fd: c_int, mode: *const c_char) -> *mut c_void;
    /// fdopendir(3). On success the stream owns the descriptor.
    #[cfg_attr(all(target_os = "macos", target_arch = "x86_64"), link_name = "fdopendir$INODE64")]
    #[cfg_attr(all(target_os = "macos", target_arch = "aarch64"), link_name = "fdopendir")]
    pub(crate) safe fn jp_fdopendir(fd: c_int) -> *mut c_void;
    /// readdir(3), for libc to call on a stream that it received.
    #[cfg_attr(all(target_os = "macos", target_arch = "x86_64"), link_name = "readdir$INODE64")]
    #[cfg_attr(all(target_os = "macos", target_arch = "aarch64"), link_name = "readdir")]
    pub(crate) safe fn jp_readdir(stream: *mut c_void) -> *mut c_void;
    /// closedir(3), likewise.
    #[cfg_attr(target_os = "macos", link_name = "closedir")]
    pub(crate) safe fn jp_closedir(stream: *mut c_void) -> c_int;
    /// dirfd(3) of a stream that the library created.
    #[cfg_attr(target_os = "macos", link_name = "dirfd")]
    pub(crate) safe fn jp_dirfd(stream: *mut c_void) -> c_int;
    /// fileno(3) of the program's own stream.
    #[cfg_attr(target_os = "macos", link_name = "fileno")]
    pub(crate) safe fn jp_fileno(stream: *mut c_void) -> c_int;
    #[cfg(target_os = "linux")]
    /// strdup(3) of a text of the library, for the program to free.
    pub(crate) safe fn jp_copy(text: *const c_char) -> *mut c_char;
    #[cfg(target_os = "linux")]
    /// The end of the heap that sbrk(2) extends, as libc knows it. Null in musl, and before libc asked the kernel.
    pub(crate) safe fn jp_program_break() -> *mut c_void;
    #[cfg(target_os = "linux")]
    /// scandir(3) of a stream that the library created. The other arguments are the program's.
    pub(crate) safe fn jp_scan(
        stream: *mut c_void,
        list: *mut c_void,
        select: *const c_void,
        compare: *const c_void,
    ) -> c_int;
    #[cfg(target_os = "linux")]
    /// `sem_init(3)` of a semaphore that processes share, in the library's own zeroed memory.
    pub(crate) safe fn jp_sem_init(semaphore: *mut c_void, value: c_uint) -> c_int;
    #[cfg(target_os = "linux")]
    /// `pthread_setcanceltype`(3). Returns the previous type.
    pub(crate) safe fn jp_cancel_type(kind: c_int) -> c_int;
    #[cfg(target_os = "linux")]
    /// `pthread_setcancelstate`(3). Returns the previous state.
    pub(crate) safe fn jp_cancel_state(state: c_int) -> c_int;
    #[cfg(target_os = "linux")]
    /// `pthread_cleanup_push`(3), in `place`, which must stay until the pop.
    pub(crate) safe fn jp_cleanup_push(
        place: *mut usize,
        undo: extern "C" fn(*mut c_void),
        argument: *mut c_void,
    );
    #[cfg(target_os = "linux")]
    /// `pthread_cleanup_pop`(3), without calling the function.
    pub(crate) safe fn jp_cleanup_pop(place: *mut usize);
    #[cfg(target_os = "linux")]
    safe fn jp_libc_is_glibc() -> c_int;
}

/// Whether the program's libc is glibc.
#[cfg(target_os = "linux")]
pub(crate) fn is_glibc() -> bool {
    jp_libc_is_glibc() != 0
}

/// Whether opening a stream is a cancellation point.
pub(crate) fn cancels_in_streams() -> bool {
    #[cfg(target_os = "linux")]
    return is_glibc();
    #[cfg(target_os = "macos")]
    true
}
