//! Hook for tmpfile(3), with the file in the run's own temporary directory. libSystem's would be in `/tmp`.

use core::ffi::c_void;

use jp_confine_engine::image::Text;

use crate::buffer::PathBuffer;
use crate::errno::{Errno, Reply};
use crate::hooks::temporary::make_file;
use crate::sys::{self, Fd};
use crate::{libc_functions, session};

fn unnamed() -> Result<*mut c_void, Errno> {
    let mut path = PathBuffer::new();
    path.push(session::image()?.text(Text::TempDir))?;
    path.push(b"/tmp.XXXXXX")?;
    let fd = make_file(c"tmpfile", path.as_mut_ptr(), 0, 0).map(Fd::adopt)?;
    sys::unlinkat(libc::AT_FDCWD, path.c_str(0), 0)?;
    let stream = libc_functions::jp_fdopen(fd.raw(), c"w+".as_ptr());
    if !stream.is_null() {
        fd.into_raw();
    }
    Ok(stream)
}

pub(super) extern "C" fn tmpfile() -> *mut c_void {
    unnamed().reply()
}
