//! Hooks for POSIX shared memory, semaphores and message queues by name.
//!
//! Shared memory and semaphores are files in `/dev/shm`. They stay there if the policy grants that directory completely,
//! or a view shows another one there. Otherwise the run has its own in its temporary directory. Programs of the run can
//! then share memory with each other, and see nobody else's. The library creates semaphores itself, because libc would
//! use `/dev/shm`. A message queue is an object of the kernel, and its name cannot be redirected. It is judged as its
//! file in `/dev/mqueue` (`mq_overview(7)`).

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::mem::MaybeUninit;

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, OpenRequest, OpenVerdict, Request, Verdict};
use jp_confine_engine::image::{Image, Text};
use jp_confine_engine::views;

use crate::buffer::Buffer;
use crate::errno::{Errno, Reply};
use crate::hooks::entries;
use crate::hooks::open::{How, open_at};
use crate::mmap_box::MmapBox;
use crate::report::{self, Subject};
use crate::sys::{self, Fd, word};
use crate::{libc_functions, memory, session};

const SHARED_MEMORY: &[u8] = b"/dev/shm";
const QUEUES: &[u8] = b"/dev/mqueue/";
/// The capabilities that a run needs to use `/dev/shm`.
const EVERYTHING: Capabilities = Capabilities::READ.union(Capabilities::WRITE);
/// The path of a file in `/dev/shm` or the run's temporary directory.
type Name = Buffer<512>;
/// `NAME_MAX`.
const LONGEST: usize = 255;
/// The size of `sem_t` in glibc and musl. Each is mapped in a page of its own.
const SEMAPHORE: usize = 32;
/// How many names to try for a semaphore while it is created.
const ATTEMPTS: u32 = 1000;

/// Copies the name without its leading slashes.
///
/// # Errors
/// `EINVAL` for an empty name or one with a slash inside; `ENAMETOOLONG`; `EFAULT`.
fn plain_name(name: *const c_char, to: &mut Name) -> Result<(), Errno> {
    let mut text = Name::new();
    memory::copy_path(name, &mut text)?;
    let start = text.as_bytes().iter().position(|&byte| byte != b'/').unwrap_or(text.len());
    let plain = text.as_bytes().get(start..).unwrap_or(&[]);
    if matches!(plain, b"" | b"." | b"..") || plain.contains(&b'/') {
        return Err(Errno::EINVAL);
    }
    if plain.len() > LONGEST {
        return Err(Errno::ENAMETOOLONG);
    }
    to.push(plain)
}

/// The file for a name. `kind` keeps shared memory and semaphores apart.
fn file_of(
    image: &Image<'_>,
    name: *const c_char,
    kind: &[u8],
    to: &mut Name,
) -> Result<(), Errno> {
    let public = decide::grants_beneath(image, SHARED_MEMORY, EVERYTHING)
        || views::to_backing(image, SHARED_MEMORY).is_some();
    to.push(if public { SHARED_MEMORY } else { image.text(Text::TempDir) })?;
    to.push_separator()?;
    to.push(if public && kind == MEMORY { b"" } else { kind })?;
    plain_name(name, to)
}

const MEMORY: &[u8] = b"shm.";
const SEMAPHORES: &[u8] = b"sem.";

fn open_memory(name: *const c_char, flags: c_int, mode: c_uint) -> Result<c_int, Errno> {
    let mut path = Name::new();
    file_of(session::image()?, name, MEMORY, &mut path)?;
    let always = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let how = How::new(flags | always, mode);
    open_at(c"shm_open", libc::AT_FDCWD, path.c_str(0).as_ptr(), how)
}

fn remove(name: *const c_char, kind: &[u8]) -> Result<c_int, Errno> {
    let mut path = Name::new();
    file_of(session::image()?, name, kind, &mut path)?;
    Ok(entries::unlink(path.c_str(0).as_ptr()))
}

#[unsafe(no_mangle)]
extern "C" fn shm_open(name: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    open_memory(name, flags, mode).reply()
}

#[unsafe(no_mangle)]
extern "C" fn shm_unlink(name: *const c_char) -> c_int {
    remove(name, MEMORY).reply()
}

#[unsafe(no_mangle)]
extern "C" fn sem_unlink(name: *const c_char) -> c_int {
    remove(name, SEMAPHORES).reply()
}

/// `sem_open(3)`, without its variable arguments, which the C entry point extracts.
#[unsafe(no_mangle)]
extern "C" fn jp_sem_open(
    name: *const c_char,
    flags: c_int,
    mode: c_uint,
    value: c_uint,
) -> *mut c_void {
    open_semaphore(name, flags, mode, value).reply()
}

fn open_semaphore(
    name: *const c_char,
    flags: c_int,
    mode: c_uint,
    value: c_uint,
) -> Result<*mut c_void, Errno> {
    let image = session::image()?;
    let mut path = MmapBox::<Name>::blank()?;
    file_of(image, name, SEMAPHORES, &mut path)?;
    let flags = flags & (libc::O_CREAT | libc::O_EXCL);
    loop {
        if flags != libc::O_CREAT | libc::O_EXCL {
            match open_file(&path, 0, 0) {
                Ok(file) => return map(&file),
                Err(Errno::ENOENT) if flags & libc::O_CREAT != 0 => {}
                Err(errno) => return Err(errno),
            }
        }
        match make_semaphore(&path, mode, value) {
            Err(Errno::EEXIST) if flags & libc::O_EXCL == 0 => {}
            settled => return settled,
        }
    }
}

fn open_file(path: &Name, flags: c_int, mode: c_uint) -> Result<Fd, Errno> {
    let flags = flags | libc::O_RDWR | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    open_at(c"sem_open", libc::AT_FDCWD, path.c_str(0).as_ptr(), How::new(flags, mode))
        .map(Fd::adopt)
}

/// Creates the semaphore under another name first. Others must find it complete or not at all.
fn make_semaphore(path: &Name, mode: c_uint, value: c_uint) -> Result<*mut c_void, Errno> {
    let mut semaphore = MaybeUninit::<[u8; SEMAPHORE]>::zeroed();
    if libc_functions::jp_sem_init(semaphore.as_mut_ptr().cast(), value) != 0 {
        return Err(Errno::last());
    }
    // SAFETY: all bytes were zeroed, and libc has written its semaphore.
    let bytes = unsafe { semaphore.assume_init() };
    for _ in 0..ATTEMPTS {
        let mut draft = MmapBox::<Name>::blank()?;
        draft.push(path.as_bytes())?;
        draft.push(b".")?;
        push_letters(&mut draft)?;
        let file = match open_file(&draft, libc::O_CREAT | libc::O_EXCL, mode) {
            Err(Errno::EEXIST) => continue,
            settled => settled?,
        };
        let outcome = sys::write(file.raw(), &bytes)
            .and_then(|_| name_it(&draft, path))
            .and_then(|()| map(&file));
        entries::unlink(draft.c_str(0).as_ptr());
        return outcome;
    }
    Err(Errno::EEXIST)
}

fn name_it(draft: &Name, path: &Name) -> Result<(), Errno> {
    match entries::link(draft.c_str(0).as_ptr(), path.c_str(0).as_ptr()) {
        0 => Ok(()),
        _ => Err(Errno::last()),
    }
}

fn push_letters(to: &mut Name) -> Result<(), Errno> {
    let mut random = [0_u8; 8];
    sys::random(&mut random)?;
    for byte in random {
        to.push(&[b'a'.saturating_add(byte & 15)])?;
    }
    Ok(())
}

fn map(file: &Fd) -> Result<*mut c_void, Errno> {
    let size = sys::fstat(file.raw())?.st_size;
    if size < i64::try_from(SEMAPHORE).unwrap_or(i64::MAX) {
        return Err(Errno::EINVAL);
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    sys::map(file.raw(), SEMAPHORE, protection).map(<*mut u8>::cast)
}

/// `sem_close(3)`: each semaphore has a mapping of its own.
#[unsafe(no_mangle)]
extern "C" fn sem_close(semaphore: *mut c_void) -> c_int {
    let page = [semaphore.expose_provenance(), SEMAPHORE, 0, 0, 0, 0];
    sys::call(libc::SYS_munmap, page).map(|_| ()).reply()
}

/// The path of a queue and the policy's verdict on it.
fn queue(
    call: &CStr,
    name: *const c_char,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> OpenVerdict,
    to: &mut Name,
) -> Result<OpenVerdict, Errno> {
    let image = session::image()?;
    to.push(QUEUES)?;
    plain_name(name, to)?;
    let request = Request::canonical(to.as_bytes());
    report::apply_open_verdict(image, &request, judge, Subject::new(call, to.as_bytes()))
}

/// The name in the kernel's form.
fn kernel_name(path: &Name) -> usize {
    path.c_str(QUEUES.len()).as_ptr().expose_provenance()
}

fn open_queue(
    name: *const c_char,
    flags: c_int,
    mode: c_uint,
    attributes: *const c_void,
) -> Result<c_int, Errno> {
    const KNOWN: c_int = libc::O_ACCMODE | libc::O_CREAT | libc::O_EXCL;
    let how = OpenRequest::of_flags(flags & KNOWN);
    let mut path = Name::new();
    let judge = |image: &Image<'_>, request: &Request<'_>| decide::open(image, request, how);
    let (flags, otherwise) = match queue(c"mq_open", name, judge, &mut path)? {
        OpenVerdict::OnlyNew(denial) => (flags | libc::O_EXCL, Some((Errno::EEXIST, denial))),
        OpenVerdict::OnlyExisting(denial) => {
            (flags & !libc::O_CREAT, Some((Errno::ENOENT, denial)))
        }
        _ => (flags, None),
    };
    let attributes = attributes.expose_provenance();
    // This call carries no mark of a judgement, because with it Landlock would allow creating the queue and then not
    // opening it. A supervisor, if there is one, performs both.
    let arguments = [kernel_name(&path), word(flags), mode as usize, attributes, 0, 0];
    match (sys::call(libc::SYS_mq_open, arguments), otherwise) {
        (Err(errno), Some((other, denial))) if errno == other => {
            let subject = Subject::new(c"mq_open", path.as_bytes());
            Err(report::denied(session::image()?, denial, subject))
        }
        (outcome, _) => c_int::try_from(outcome?).map_err(|_| Errno::EINVAL),
    }
}

/// `mq_open(3)`. The C entry point extracts the variable arguments.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn jp_mq_open(
    name: *const c_char,
    flags: c_int,
    mode: c_uint,
    attributes: *const c_void,
) -> c_int {
    open_queue(name, flags, mode, attributes).reply()
}

/// `mq_open` in programs built with `_FORTIFY_SOURCE`.
#[unsafe(no_mangle)]
extern "C" fn __mq_open_2(name: *const c_char, flags: c_int) -> c_int {
    open_queue(name, flags, 0, core::ptr::null()).reply()
}

fn remove_queue(name: *const c_char) -> Result<(), Errno> {
    let judge = |image: &Image<'_>, request: &Request<'_>| match decide::remove(image, request) {
        Verdict::Allow => OpenVerdict::Allow,
        Verdict::Deny(denial) => OpenVerdict::Deny(denial),
    };
    let mut path = Name::new();
    queue(c"mq_unlink", name, judge, &mut path)?;
    sys::only_judged(libc::SYS_mq_unlink, [kernel_name(&path), 0, 0, 0, 0]).map(|_| ())
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn mq_unlink(name: *const c_char) -> c_int {
    remove_queue(name).reply()
}
