//! Hooks that create temporary files and directories relative to a descriptor (mkstemp(3)).

use core::ffi::{c_char, c_int};

use crate::errno::Reply;
use crate::hooks::entries::{self, Argument};
use crate::hooks::temporary::{make_file_at, with_made_up_name};

pub(super) extern "C" fn mkstempsat_np(
    dirfd: c_int,
    template: *mut c_char,
    suffix: c_int,
) -> c_int {
    make_file_at(c"mkstempsat_np", dirfd, template, suffix, 0).reply()
}

pub(super) extern "C" fn mkostempsat_np(
    dirfd: c_int,
    template: *mut c_char,
    suffix: c_int,
    flags: c_int,
) -> c_int {
    make_file_at(c"mkostempsat_np", dirfd, template, suffix, flags).reply()
}

pub(super) extern "C" fn mkdtempat_np(dirfd: c_int, template: *mut c_char) -> *mut c_char {
    with_made_up_name(template, 0, |path| {
        entries::make_directory(c"mkdtempat_np", Argument { dirfd, path }, 0o700)
    })
    .map(|()| template)
    .reply()
}
