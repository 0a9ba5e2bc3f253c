//! Hooks for the dynamic loader's interface, which leads to libc's own functions past the hooks.
//!
//! glibc and musl determine `RTLD_DEFAULT`, `RTLD_NEXT` and a library's search path from the return address. So hooks
//! whose answer depends on it end in a tail jump to libc.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};

use jp_confine_engine::Capabilities;

use crate::errno::Errno;
use crate::exec::reader::Reader;
use crate::hooks::guard::granted;
use crate::hooks::refusal::{EVERYWHERE, refuse};
use crate::hooks::tail::tail_jumps;
use crate::sys::next::{self, Original};
use crate::views;

static DLSYM: Original = Original::new(c"dlsym");
static DLVSYM: Original = Original::new(c"dlvsym");
static DLOPEN: Original = Original::new(c"dlopen");
static DLMOPEN: Original = Original::new(c"dlmopen");
static LIBC_DLOPEN: Original = Original::new(c"__libc_dlopen_mode");

tail_jumps! {
    dlsym => choose_dlsym;
    dlvsym => choose_dlvsym;
    /// With `RTLD_DEEPBIND`, the library would find libc's functions before the hooks.
    dlopen => choose_dlopen, "and esi, -9", "and w1, w1, #0xfffffff7";
    dlmopen => choose_dlmopen, "and edx, -9", "and w2, w2, #0xfffffff7";
    __libc_dlopen_mode => choose_libc_dlopen, "and esi, -9", "and w1, w1, #0xfffffff7";
}

const _: () = assert!(libc::RTLD_DEEPBIND == 8, "what the adjustments above clear");

/// The address of libc's function, or of `absent` if libc lacks it.
fn or_absent(original: &Original) -> usize {
    original.address().unwrap_or_else(|| (absent as *const ()).expose_provenance())
}

/// Replaces a function that this libc lacks: no symbol, no library.
extern "C" fn absent() -> *mut c_void {
    core::ptr::null_mut()
}

/// Whether `handle` names one library, rather than a search that depends on the caller.
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

/// Replaces `answer` by the hook for it, if there is one.
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

/// Whether the library `name` may be loaded, which takes read access. The loader searches for a name without a slash
/// itself. It uses directories that were fixed at the program's start or that the libraries name. libc opens the
/// library again by name, so that `$ORIGIN` and dladdr(3) keep showing its path.
///
/// # Errors
/// `EACCES` or `ENOENT` if the policy denies it; the kernel's errors.
fn loadable(call: &CStr, name: *const c_char) -> Result<(), Errno> {
    if name.is_null() {
        return Ok(());
    }
    let mut reader = Reader::new();
    if !reader.contains(name, b'/')? {
        return Ok(());
    }
    if reader.contains(name, b'$')? {
        // The loader replaces this by the caller's directory.
        return Err(refuse(call, c"$ORIGIN".as_ptr()));
    }
    granted(call, name, Capabilities::READ)
}

/// The address that continues loading the library, if it may be loaded.
fn load(call: &CStr, name: *const c_char, original: &Original) -> usize {
    match loadable(call, name) {
        // The loader knows no views.
        Ok(()) if views::led_file(name).is_some() => (open_shown as *const ()).expose_provenance(),
        Ok(()) => or_absent(original),
        Err(errno) => {
            errno.set();
            (refuse_library as *const ()).expose_provenance()
        }
    }
}

/// Opens a library by the path that its name leads to. With a slash in the name, the loader does not look at its caller.
extern "C" fn open_shown(name: *const c_char, flags: c_int) -> *mut c_void {
    let (Some(led), Some(original)) = (views::led_file(name), DLOPEN.address()) else {
        return refuse_library();
    };
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Open>(original) };
    original(led.text().c_str(0).as_ptr(), flags)
}

extern "C" fn choose_dlopen(name: *const c_char) -> usize {
    load(c"dlopen", name, &DLOPEN)
}

/// The `dlopen` inside glibc before 2.34.
extern "C" fn choose_libc_dlopen(name: *const c_char) -> usize {
    load(c"dlopen", name, &LIBC_DLOPEN)
}

/// dlmopen(3): in a namespace of its own, a library would get a libc without hooks.
extern "C" fn choose_dlmopen(namespace: c_long, name: *const c_char) -> usize {
    if namespace == c_long::from(libc::LM_ID_BASE) && views::led_file(name).is_none() {
        load(c"dlmopen", name, &DLMOPEN)
    } else {
        refuse(c"dlmopen", EVERYWHERE).set();
        (refuse_namespace as *const ()).expose_provenance()
    }
}

extern "C" fn refuse_namespace() -> *mut c_void {
    fail(c"/proc/self/fd/-: no namespace but the program's")
}

extern "C" fn refuse_library() -> *mut c_void {
    fail(c"/proc/self/fd/-: jp-confine lets no library be loaded from there")
}

type Open = extern "C" fn(*const c_char, c_int) -> *mut c_void;

/// Makes dlerror(3) report that no library is named `message`. Keeps `errno`.
fn fail(message: &CStr) -> *mut c_void {
    let errno = Errno::last();
    let Some(original) = DLOPEN.address() else { return core::ptr::null_mut() };
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Open>(original) };
    original(message.as_ptr(), libc::RTLD_LAZY);
    errno.set();
    core::ptr::null_mut()
}
