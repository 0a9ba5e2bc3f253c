//! The dynamic loader's interface: ways to libc's own functions past the hooks.
//!
//! glibc and musl take `RTLD_DEFAULT`, `RTLD_NEXT` and a library's search path from the address
//! that these functions return to: where they answer it is by a tail jump.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};

use crate::errno::Errno;
use crate::hooks::tail::tail_jumps;
use crate::report::{self, Reason, Subject};
use crate::session;
use crate::sys::next::{self, Original};

static DLSYM: Original = Original::new(c"dlsym");
static DLVSYM: Original = Original::new(c"dlvsym");
static DLOPEN: Original = Original::new(c"dlopen");
static DLMOPEN: Original = Original::new(c"dlmopen");

tail_jumps! {
    dlsym => choose_dlsym;
    dlvsym => choose_dlvsym;
    /// `RTLD_DEEPBIND` would have the library find libc's functions before the hooks.
    dlopen => choose_dlopen, "and esi, -9", "and w1, w1, #0xfffffff7";
    dlmopen => choose_dlmopen, "and edx, -9", "and w2, w2, #0xfffffff7";
}

const _: () = assert!(libc::RTLD_DEEPBIND == 8, "what the adjustments above clear");

/// Where to go on, or where there is nothing to go on with.
fn or_absent(original: &Original) -> usize {
    original.address().unwrap_or_else(|| (absent as *const ()).expose_provenance())
}

/// A function that this libc has not: no symbol, no library.
extern "C" fn absent() -> *mut c_void {
    core::ptr::null_mut()
}

/// Whether `handle` names one library, and not a search that depends on the caller.
fn is_explicit(handle: *mut c_void) -> bool {
    handle != libc::RTLD_DEFAULT && handle != libc::RTLD_NEXT
}

extern "C" fn choose_dlsym(handle: *mut c_void) -> usize {
    if is_explicit(handle) { (symbol as *const ()).expose_provenance() } else { or_absent(&DLSYM) }
}

extern "C" fn choose_dlvsym(handle: *mut c_void) -> usize {
    if is_explicit(handle) {
        (versioned_symbol as *const ()).expose_provenance()
    } else {
        or_absent(&DLVSYM)
    }
}

type Symbol = extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
type VersionedSymbol = extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;

/// dlsym(3) of one library.
extern "C" fn symbol(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    let Some(original) = DLSYM.address() else { return core::ptr::null_mut() };
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Symbol>(original) };
    hooked(name, original(handle, name))
}

/// dlvsym(3) of one library.
extern "C" fn versioned_symbol(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
) -> *mut c_void {
    let Some(original) = DLVSYM.address() else { return core::ptr::null_mut() };
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, VersionedSymbol>(original) };
    hooked(name, original(handle, name, version))
}

/// The hook in front of `answer`, if that is what it stands in front of.
fn hooked(name: *const c_char, answer: *mut c_void) -> *mut c_void {
    if answer.is_null() {
        return answer;
    }
    // SAFETY: libc has just found a symbol of this name.
    let name = unsafe { CStr::from_ptr(name) };
    match next::own(name) {
        Some(own) if next::is_original(name, answer.addr()) => {
            core::ptr::with_exposed_provenance_mut(own)
        }
        _ => answer,
    }
}

extern "C" fn choose_dlopen() -> usize {
    or_absent(&DLOPEN)
}

/// dlmopen(3): in a namespace of its own a library would get a libc without hooks.
extern "C" fn choose_dlmopen(namespace: c_long) -> usize {
    if namespace == c_long::from(libc::LM_ID_BASE) {
        or_absent(&DLMOPEN)
    } else {
        (refuse_namespace as *const ()).expose_provenance()
    }
}

type Open = extern "C" fn(*const c_char, c_int) -> *mut c_void;

/// Refuses, and has libc say so in dlerror(3): no library has that name.
extern "C" fn refuse_namespace() -> *mut c_void {
    let errno = session::image().map_or(Errno::EACCES, |image| {
        report::refused(image, Reason::Namespace, Subject::new(c"dlmopen", b"/"))
    });
    let Some(original) = DLOPEN.address() else { return core::ptr::null_mut() };
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Open>(original) };
    original(c"/proc/self/fd/-: no namespace but the program's".as_ptr(), libc::RTLD_LAZY);
    errno.set();
    core::ptr::null_mut()
}
