//! Guards for functions that read files named by the environment, and quote, search or run them. If a file is not
//! granted, the guard removes the variable, and libc goes on without it.

use core::ffi::{CStr, c_char, c_int};

use jp_confine_engine::Capabilities;

use super::guard::{granted, guards, minus_one, null};
use crate::buffer::PathBuffer;
use crate::errno::{Errno, Reply as _};
use crate::exec::reader::Reader;
use crate::exec::search;
use crate::mmap_box::MmapBox;
use crate::sys::next::Original;
use crate::{memory, views};

guards! {
    getaddrinfo(): resolver() => minus_one;
    getaddrinfo_a(): resolver() => minus_one;
    getnameinfo(): resolver() => minus_one;
    gethostbyaddr(): resolver() => null;
    gethostbyaddr_r(): resolver() => minus_one;
    gethostbyname(): resolver() => null;
    gethostbyname2(): resolver() => null;
    gethostbyname2_r(): resolver() => minus_one;
    gethostbyname_r(): resolver() => minus_one;
    getnetbyaddr(): resolver() => null;
    getnetbyaddr_r(): resolver() => minus_one;
    getnetbyname(): resolver() => null;
    getnetbyname_r(): resolver() => minus_one;
    gethostid(): resolver() => minus_one;
    getrpcport(): resolver() => minus_one;
    callrpc(): resolver() => minus_one;
    rcmd(): resolver() => minus_one;
    rcmd_af(): resolver() => minus_one;
    ruserok(): resolver() => minus_one;
    ruserok_af(): resolver() => minus_one;
    res_init(): resolver() => minus_one;
    __res_init(): resolver() => minus_one;
    __res_ninit(): resolver() => minus_one;
    res_query(): resolver() => minus_one;
    __res_query(): resolver() => minus_one;
    __res_nquery(): resolver() => minus_one;
    res_nquery(): resolver() => minus_one;
    res_querydomain(): resolver() => minus_one;
    __res_querydomain(): resolver() => minus_one;
    __res_nquerydomain(): resolver() => minus_one;
    res_nquerydomain(): resolver() => minus_one;
    res_search(): resolver() => minus_one;
    __res_search(): resolver() => minus_one;
    __res_nsearch(): resolver() => minus_one;
    res_nsearch(): resolver() => minus_one;
    res_mkquery(): resolver() => minus_one;
    __res_mkquery(): resolver() => minus_one;
    res_send(): resolver() => minus_one;
    __res_send(): resolver() => minus_one;
    __hostalias(): resolver() => null;
    __res_hostalias(): resolver() => null;
    __res_context_hostalias(): resolver() => null;
    __resolv_context_get(): resolver() => null;

    getdate(): file(b"DATEMSK=") => null;
    getdate_r(): file(b"DATEMSK=") => minus_one;

    // The files there name libraries, which libc runs.
    iconv_open(): list(b"GCONV_PATH=") => minus_one;
    __gconv_open(): list(b"GCONV_PATH=") => minus_one;

    __open_catalog(name: *const c_char): catalogue(name) => minus_one;
}

/// The resolver's files: host.conf(5), whose bad lines appear in messages, and the aliases of hostname(7).
fn resolver() -> Result<(), Errno> {
    file(b"RESOLV_HOST_CONF=")?;
    file(b"HOSTALIASES=")
}

/// Guards a variable that names one file.
fn file(name: &[u8]) -> Result<(), Errno> {
    let Some(path) = search::value(name)? else { return Ok(()) };
    if readable(path).is_err() {
        search::forget(name)?;
    }
    Ok(())
}

/// Guards a variable that lists directories, separated by colons.
fn list(name: &[u8]) -> Result<(), Errno> {
    let Some(list) = search::value(name)? else { return Ok(()) };
    let mut reader = Reader::new();
    let mut at = 0_usize;
    let mut directory = MmapBox::<PathBuffer>::blank()?;
    loop {
        directory.clear();
        let element = search::element(&mut reader, list, at, &mut directory)?;
        if !element.fits || readable(directory.c_str(0).as_ptr()).is_err() {
            return search::forget(name);
        }
        if element.last {
            return Ok(());
        }
        at = element.end.saturating_add(1);
    }
}

fn readable(path: *const c_char) -> Result<(), Errno> {
    const CALL: &CStr = c"getenv";
    if memory::first_byte(path)? == 0 { Ok(()) } else { granted(CALL, path, Capabilities::READ) }
}

static CATOPEN: Original = Original::new(c"catopen");

type OpenCatalogue = extern "C" fn(*const c_char, c_int) -> isize;

#[unsafe(no_mangle)]
extern "C" fn catopen(name: *const c_char, flag: c_int) -> isize {
    open_catalogue(name, flag).map(isize::cast_unsigned).reply()
}

/// catopen(3). libc knows no views, so it gets the path that the name leads to.
fn open_catalogue(name: *const c_char, flag: c_int) -> Result<isize, Errno> {
    catalogue(name)?;
    let original = CATOPEN.address().ok_or(Errno::ENOSYS)?;
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, OpenCatalogue>(original) };
    let led = views::led_file(name);
    Ok(original(led.as_ref().map_or(name, |led| led.text().c_str(0).as_ptr()), flag))
}

/// A message catalogue. libc searches for it unless its name has a slash (catopen(3)).
fn catalogue(name: *const c_char) -> Result<(), Errno> {
    if Reader::new().contains(name, b'/')? {
        granted(c"catopen", name, Capabilities::READ)
    } else {
        Ok(())
    }
}
