//! Hooks for popen(3), and for pclose(3) and fclose(3) of its streams. libc's popen would start the shell inside libc.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use crate::errno::{Errno, Reply};
use crate::exec::{self, search, shell};
use crate::spawn::attributes::Attributes;
use crate::spawn::{self, Job};
use crate::sys::next::Original;
use crate::sys::{self, Fd, process};
use crate::{libc_functions, memory};

/// How many streams may be open at the same time.
const ROOM: usize = 256;
/// Marks a place that is being filled or emptied. No stream has this address.
const TAKEN: usize = 1;

/// A stream and the shell at its other end. `stream` is zero if the place is free. The thread that sets it to [`TAKEN`]
/// owns the other two fields.
struct Place {
    stream: AtomicUsize,
    fd: AtomicI32,
    pid: AtomicI32,
}

/// All zeroes, so that processes which never call popen(3) need no copy.
static STREAMS: [Place; ROOM] = [const {
    Place { stream: AtomicUsize::new(0), fd: AtomicI32::new(0), pid: AtomicI32::new(0) }
}; ROOM];

/// How many streams are open. If none is, closing a stream skips the search.
static OPEN: AtomicUsize = AtomicUsize::new(0);

impl Place {
    fn claim(&self, stream: usize) -> bool {
        self.stream.compare_exchange(stream, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn fill(&self, stream: usize, fd: c_int, pid: c_int) {
        OPEN.fetch_add(1, Ordering::Relaxed);
        self.fd.store(fd, Ordering::Relaxed);
        self.pid.store(pid, Ordering::Relaxed);
        self.stream.store(stream, Ordering::Release);
    }

    fn empty(&self) {
        self.stream.store(0, Ordering::Release);
    }
}

/// The mode of popen(3).
#[derive(Clone, Copy)]
struct Mode {
    reads: bool,
    close_on_exec: bool,
}

impl Mode {
    fn parse(text: *const c_char) -> Result<Self, Errno> {
        let (mut reads, mut writes, mut close_on_exec) = (false, false, false);
        for offset in 0_usize.. {
            match memory::first_byte(text.wrapping_add(offset))? {
                0 => break,
                b'r' => reads = true,
                b'w' => writes = true,
                b'e' => close_on_exec = true,
                _ => return Err(Errno::EINVAL),
            }
        }
        if reads == writes { Err(Errno::EINVAL) } else { Ok(Self { reads, close_on_exec }) }
    }
}

/// popen(3).
///
/// # Errors
/// As popen(3), and the errors of starting the shell.
pub(super) fn open(command: *const c_char, mode: *const c_char) -> Result<*mut c_void, Errno> {
    let mode = Mode::parse(mode)?;
    let place = STREAMS.iter().find(|place| place.claim(0)).ok_or(Errno::EMFILE)?;
    let opened = start(command, mode).and_then(|(end, pid)| {
        let text = if mode.reads { c"r" } else { c"w" };
        let stream = libc_functions::jp_fdopen(end.raw(), text.as_ptr());
        if stream.is_null() {
            return Err(Errno::ENOMEM);
        }
        place.fill(stream.addr(), end.into_raw(), pid);
        Ok(stream)
    });
    if opened.is_err() {
        place.empty();
    }
    opened
}

/// Starts the shell. Returns this end of the pipe and the shell's pid.
fn start(command: *const c_char, mode: Mode) -> Result<(Fd, c_int), Errno> {
    let (read, write) = process::pipe()?;
    let (ours, theirs, standard) = if mode.reads {
        (read, write, libc::STDOUT_FILENO)
    } else {
        (write, read, libc::STDIN_FILENO)
    };
    let argv = [c"sh".as_ptr(), c"-c".as_ptr(), command, ptr::null()];
    let prepare = || {
        close_streams(theirs.raw());
        process::duplicate(theirs.raw(), standard)
    };
    let execute = || {
        let argv = argv.as_ptr();
        let path = shell::SHELL.as_ptr();
        exec::execute(c"popen", libc::AT_FDCWD, path, argv, search::environ(), 0)
    };
    let job = Job { attributes: Attributes::NONE, prepare: &prepare, execute: &execute };
    let pid = spawn::spawn(&job)?;
    if !mode.close_on_exec {
        sys::fcntl(ours.raw(), libc::F_SETFD, 0)?;
    }
    Ok((ours, pid))
}

/// In the child, closes the streams of earlier calls, which the shell must not get (POSIX).
fn close_streams(but: c_int) {
    for place in &STREAMS {
        let fd = place.fd.load(Ordering::Relaxed);
        if place.stream.load(Ordering::Acquire) > TAKEN && fd != but {
            sys::close(fd);
        }
    }
}

type Close = extern "C" fn(*mut c_void) -> c_int;

static PCLOSE: Original = Original::new(c"pclose");
static FCLOSE: Original = Original::new(c"fclose");

/// Forgets a stream that [`open`] created. Returns its shell.
fn let_go(stream: *mut c_void) -> Option<c_int> {
    let ours = !stream.is_null() && stream.addr() != TAKEN;
    let place = STREAMS.iter().find(|place| ours && place.claim(stream.addr()))?;
    let pid = place.pid.load(Ordering::Relaxed);
    place.empty();
    OPEN.fetch_sub(1, Ordering::Relaxed);
    Some(pid)
}

/// Closes a stream with libc's own function.
fn close_by(original: &Original, stream: *mut c_void) -> Result<c_int, Errno> {
    let original = original.address().ok_or(Errno::EACCES)?;
    // SAFETY: the address is that of libc's function of this name, and all of them have this type.
    let original = unsafe { core::mem::transmute::<usize, Close>(original) };
    Ok(original(stream))
}

/// Closes the stream and waits for the shell.
fn close(stream: *mut c_void) -> Result<c_int, Errno> {
    let Some(pid) = let_go(stream) else {
        // It comes from a popen before the library was loaded, or is no such stream at all.
        return close_by(&PCLOSE, stream);
    };
    close_by(&FCLOSE, stream)?;
    process::wait(pid)
}

/// fclose(3) of any stream. For a stream of popen(3), glibc's fclose waits for the shell, and musl's does not.
fn close_any(stream: *mut c_void) -> Result<c_int, Errno> {
    let shell = if OPEN.load(Ordering::Relaxed) == 0 { None } else { let_go(stream) };
    let closed = close_by(&FCLOSE, stream)?;
    shell.filter(|_| libc_functions::is_glibc()).map_or(Ok(closed), process::wait)
}

#[unsafe(no_mangle)]
extern "C" fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void {
    open(command, mode).reply()
}

#[unsafe(no_mangle)]
extern "C" fn fclose(stream: *mut c_void) -> c_int {
    close_any(stream).reply()
}

#[unsafe(no_mangle)]
extern "C" fn pclose(stream: *mut c_void) -> c_int {
    close(stream).reply()
}
