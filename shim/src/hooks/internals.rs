//! Denials for functions that libc exports for its own libraries, and for RPC by Unix socket. No program of today calls
//! them, and nothing judges the files that they open.

use core::ffi::{c_char, c_void};

use crate::errno::{Errno, Reply};
use crate::hooks::guard::{guards, minus_one, null};
use crate::hooks::refusal::{EVERYWHERE, refuse};
use crate::hooks::streams;
use crate::{memory, session};

macro_rules! refused {
    ($($call:literal $name:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> *mut c_void {
                Err::<*mut c_void, _>(refuse($call, EVERYWHERE)).reply()
            }
        )*
    };
}

refused! {
    c"_IO_file_open" _IO_file_open;
    c"_IO_file_fopen" _IO_file_fopen;
    c"_IO_proc_open" _IO_proc_open;
    c"clntunix_create" clntunix_create;
    c"svcunix_create" svcunix_create;
}

guards! {
    clnt_create(_host: usize, _program: usize, _version: usize, transport: *const c_char):
        by_network(transport) => null;
    pidfd_getfd(): within_the_run() => minus_one;
}

/// With the transport `unix`, the host is the path of a socket.
fn by_network(transport: *const c_char) -> Result<(), Errno> {
    for (offset, &byte) in b"unix\0".iter().enumerate() {
        if memory::first_byte(transport.wrapping_add(offset))? != byte {
            return Ok(());
        }
    }
    Err(refuse(c"clnt_create", EVERYWHERE))
}

/// libc's name service reads its files with this function.
#[unsafe(no_mangle)]
extern "C" fn __nss_files_fopen(path: *const c_char) -> *mut c_void {
    streams::open_stream(c"fopen", path, c"rce".as_ptr()).reply()
}

/// `pidfd_getfd(2)` takes a descriptor from another process, and no policy judged that descriptor. The layers behind
/// the library keep descriptors from outside the run out of reach.
fn within_the_run() -> Result<(), Errno> {
    if session::image()?.holds_other_programs() {
        return Ok(());
    }
    Err(refuse(c"pidfd_getfd", EVERYWHERE))
}
