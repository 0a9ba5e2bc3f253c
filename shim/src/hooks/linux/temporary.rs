//! Hooks for temporary files under names that only glibc has, and for files without a name.

use core::ffi::{c_char, c_int, c_void};

use jp_confine_engine::image::Text;

use crate::errno::{Errno, Reply};
use crate::hooks::open::{How, open_spelled};
use crate::hooks::temporary::make_file;
use crate::path::Spelling;
use crate::sys::Fd;
use crate::{cancellation, libc_functions, session};

macro_rules! make_file_family {
    ($($name:ident($($argument:ident),*): $suffix:expr, $flags:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name(template: *mut c_char $(, $argument: c_int)*) -> c_int {
                make_file(c"mkstemp", template, $suffix, $flags).reply()
            }
        )*
    };
}

make_file_family! {
    mkstemp64(): 0, 0;
    mkostemp64(flags): 0, flags;
    mkstemps64(suffix): suffix, 0;
    mkostemps64(suffix, flags): suffix, flags;
}

/// tmpfile(3): a nameless file in the run's own temporary directory. libc's would be in `/tmp`.
fn unnamed() -> Result<*mut c_void, Errno> {
    if libc_functions::is_glibc() {
        // musl's tmpfile is not a cancellation point.
        cancellation::test();
    }
    let image = session::image()?;
    let mut directory = Spelling::new();
    directory.read_own(libc::AT_FDCWD, image.text(Text::TempDir))?;
    let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_EXCL;
    let how = How::new(flags, 0o600);
    let fd = Fd::adopt(open_spelled(image, c"tmpfile", &mut directory, how)?);
    let stream = libc_functions::jp_fdopen(fd.raw(), c"w+".as_ptr());
    if !stream.is_null() {
        fd.into_raw();
    }
    Ok(stream)
}

#[unsafe(no_mangle)]
extern "C" fn tmpfile() -> *mut c_void {
    unnamed().reply()
}

#[unsafe(no_mangle)]
extern "C" fn tmpfile64() -> *mut c_void {
    unnamed().reply()
}
