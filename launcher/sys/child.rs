//! Starting the program, and telling who belongs to it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::fd::{AsFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{io, ptr};

use rustix::fs::{Mode, OFlags, StatVfsMountFlags, fstatvfs, open};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, setrlimit, waitid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, Timespec, capabilities, capability_is_in_bounding_set, futex,
    remove_capability_from_bounding_set, set_capabilities,
};

use super::filter::{self, Listener};
use super::landlock;
use super::signals::Inherited;

/// What runs a file that the kernel knows no format of (`exec(3)`, ENOEXEC).
const SHELL: &CStr = c"/bin/sh";

/// What gives a program the memory of others by ways that no path rule holds, and Landlock does not
/// either: `CAP_SYS_RAWIO` all of it, by `/proc/kcore` (`proc_pid_kcore(5)`); `CAP_PERFMON`, and
/// `CAP_SYS_ADMIN` in its stead, the environment and the maps of every process, whoever may trace it
/// (Linux 6.14); `CAP_BPF` programs inside the kernel; `CAP_SYSLOG` the kernel's log, by `/proc/kmsg`. And what sets
/// the machine's clock: `CAP_SYS_TIME`, by calls that may also only read it (`adjtimex(2)`).
pub(crate) const WITHHELD: CapabilitySet = CapabilitySet::SYS_RAWIO
    .union(CapabilitySet::SYS_ADMIN)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::SYSLOG)
    .union(CapabilitySet::SYS_TIME);

/// What goes around the judging of connections: to change where addresses lead, to write packets by hand.
pub(crate) const NETWORK: CapabilitySet = CapabilitySet::NET_ADMIN.union(CapabilitySet::NET_RAW);

/// Enough for system calls and what little is between them.
const STACK: usize = 64 * 1024;

/// How often it is looked whether the child was stopped before it executes.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A program and what it begins with.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    /// The file to execute.
    pub(crate) file: &'a CStr,
    /// Its arguments, the name it is called by first.
    pub(crate) arguments: &'a [CString],
    /// Its environment, `NAME=value`.
    pub(crate) environment: &'a [CString],
    /// Descriptors that stay open.
    pub(crate) handles: &'a [&'a OwnedFd],
    /// The signals as they shall be.
    pub(crate) inherited: Inherited,
    /// What the kernel is to hold it to.
    pub(crate) kernel: &'a Kernel<'a>,
    /// The path of the preload library: where nobody answers the program's calls, nothing starts that cannot
    /// load it. The loader would go on without (`ld.so(8)`).
    pub(crate) library: &'a CStr,
}

/// Why a program was not started.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NotStarted {
    /// It could not have loaded the preload library.
    Library(Errno),
    /// There can be no process, or `execve(2)` refused.
    Process(Errno),
}

impl From<Errno> for NotStarted {
    fn from(error: Errno) -> Self {
        Self::Process(error)
    }
}

impl From<io::Error> for NotStarted {
    fn from(error: io::Error) -> Self {
        Self::Process(Errno::from_io_error(&error).unwrap_or(Errno::INVAL))
    }
}

/// What the kernel holds a program to, set before its first instruction and inherited by all that
/// it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel<'a> {
    /// A Landlock ruleset (`landlock_restrict_self(2)`).
    pub(crate) bounds: Option<BorrowedFd<'a>>,
    /// A filter of system calls.
    pub(crate) filter: Option<&'a [libc::sock_filter]>,
    /// Where to write the number of the descriptor by which the calls are answered that the filter
    /// hands on, if it does: this process has it then, and nobody else.
    pub(crate) announce: Option<BorrowedFd<'a>>,
    /// What it can never have; for whoever is root.
    pub(crate) withholds: CapabilitySet,
    /// Whether no file is made of its memory where it crashes.
    pub(crate) withholds_cores: bool,
}

impl Program<'_> {
    /// Starts the program so that it cannot gain privileges and dies with this process.
    ///
    /// The child borrows this process's memory until it executes, as with `vfork(2)`: to copy the
    /// memory of a process that only waits costs more than all else that is done here. It has its
    /// mask by then, so that a ^Z may stop it. Who waits in `vfork(2)` would wait for ever, and could not be
    /// stopped with it. Here `stopped` is told of the child, and by which signal.
    ///
    /// `PR_SET_PDEATHSIG` reaches the direct child only. A front that is killed can neither report
    /// nor clean up, so the program must not run on as if nothing had happened; what it has started
    /// is left to it, as when any parent dies.
    ///
    /// # Errors
    /// Where there can be no process, what `execve(2)` answered, and where the library cannot be loaded.
    pub(crate) fn start(&self, stopped: &mut dyn FnMut(Pid, i32)) -> Result<Pid, NotStarted> {
        let arguments = pointers(self.arguments.iter().map(CString::as_c_str));
        let script = [SHELL, self.file].into_iter();
        let rest = self.arguments.iter().skip(1).map(CString::as_c_str);
        let mut order = Order {
            program: self,
            front: rustix::process::getpid(),
            arguments: &arguments,
            script: &pointers(script.chain(rest)),
            environment: &pointers(self.environment.iter().map(CString::as_c_str)),
            obstacle: None,
        };
        let mut stack = vec![0u128; STACK / size_of::<u128>()];
        // The stack grows downwards, and must be aligned at its start (`clone(2)`).
        let top = stack.as_mut_ptr_range().end.cast::<c_void>();
        // The descriptor that answers system calls arises in the child, and is wanted here: until it
        // executes, both share their descriptors.
        let flags = libc::CLONE_VM | libc::CLONE_FILES | libc::CLONE_CHILD_CLEARTID | libc::SIGCHLD;
        let order_pointer = ptr::from_mut(&mut order).cast::<c_void>();
        let borrows = AtomicU32::new(1);
        let none = ptr::null_mut::<c_void>();
        // SAFETY: the child runs `enter` on a stack of its own, and on an order. Both are left alone, and
        // live, until the kernel says in `borrows` that the child has executed or ended.
        let pid =
            unsafe { libc::clone(enter, top, flags, order_pointer, none, none, borrows.as_ptr()) };
        let pid = (pid > 0).then(|| Pid::from_raw(pid)).flatten();
        let pid = pid.ok_or_else(io::Error::last_os_error)?;
        wait_while(&borrows, pid, stopped);
        let Some(obstacle) = order.obstacle else { return Ok(pid) };
        // It has ended already; nobody else may find it.
        let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
        Err(obstacle)
    }
}

/// Waits while `child` borrows this process's memory, with all that is this thread's, `errno` too: what is
/// called here does not set it.
fn wait_while(borrows: &AtomicU32, child: Pid, stopped: &mut dyn FnMut(Pid, i32)) {
    while borrows.load(Ordering::Acquire) != 0 {
        // Whatever ended the wait, it is looked again.
        let _ = futex::wait(borrows, futex::Flags::empty(), 1, Some(&LOOK));
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        let status = waitid(WaitId::Pid(child), options).ok().flatten();
        if let Some(signal) = status.and_then(|status| status.stopping_signal()) {
            stopped(child, signal);
        }
    }
}

/// What the child is to do.
struct Order<'a> {
    program: &'a Program<'a>,
    front: Pid,
    arguments: &'a [*const c_char],
    /// The arguments of the shell, should the file be a script without a `#!`.
    script: &'a [*const c_char],
    environment: &'a [*const c_char],
    /// Why it could not be done.
    obstacle: Option<NotStarted>,
}

/// The child's part, in the memory of its parent: system calls only, no allocation, no lock.
extern "C" fn enter(order: *mut c_void) -> c_int {
    // SAFETY: the parent passed an order, and does not touch it while the child is here.
    let order = unsafe { &mut *order.cast::<Order<'_>>() };
    order.obstacle = order.execute().err();
    127
}

impl Order<'_> {
    /// Returns only if it fails.
    fn execute(&self) -> Result<(), NotStarted> {
        rustix::thread::set_no_new_privs(true)?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid() != Some(self.front) {
            return Err(Errno::SRCH.into());
        }
        for handle in self.program.handles {
            fcntl_setfd(handle.as_fd(), FdFlags::empty())?;
        }
        self.program.inherited.restore();
        self.program.kernel.apply()?;
        if self.program.kernel.announce.is_none() {
            self.find_library().map_err(NotStarted::Library)?;
        }
        match self.exec(self.program.file, self.arguments) {
            Errno::NOEXEC => Err(self.exec(SHELL, self.script).into()),
            error => Err(error.into()),
        }
    }

    /// Opens the library as the loader will, by a call that is nobody's hook.
    fn find_library(&self) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let library = open(self.program.library, flags, Mode::empty())?;
        // The loader maps it to execute.
        if fstatvfs(&library)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
            return Err(Errno::PERM);
        }
        Ok(())
    }

    fn exec(&self, file: &CStr, arguments: &[*const c_char]) -> Errno {
        // SAFETY: a terminated string and two null-terminated lists of such.
        unsafe { libc::execve(file.as_ptr(), arguments.as_ptr(), self.environment.as_ptr()) };
        Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
    }
}

impl Kernel<'_> {
    /// Between clone and exec: no allocation. A descriptor that closes on exec closes in the child
    /// alone.
    fn apply(&self) -> Result<(), Errno> {
        withhold(self.withholds)?;
        if self.withholds_cores {
            let none = Rlimit { current: Some(0), maximum: Some(0) };
            setrlimit(Resource::Core, none)?;
        }
        if let Some(bounds) = self.bounds {
            landlock::restrict(bounds)?;
        }
        match (self.filter, self.announce) {
            (Some(filter), Some(announce)) => {
                let listener = filter::install(filter, Listener::Wanted)?;
                rustix::io::write(announce, &listener.to_ne_bytes()).map(|_| ())
            }
            (Some(filter), None) => filter::install(filter, Listener::None).map(|_| ()),
            (None, _) => Ok(()),
        }
    }
}

/// Keeps `withheld` from what this process starts: takes it out of the bounding set, or, where that is not for this
/// process to change, out of its own sets, which no program adds to without new privileges (`capabilities(7)`).
fn withhold(withheld: CapabilitySet) -> Result<(), Errno> {
    for capability in withheld.iter() {
        if capability_is_in_bounding_set(capability)? {
            match remove_capability_from_bounding_set(capability) {
                Err(Errno::PERM) => return disown(withheld),
                outcome => outcome?,
            }
        }
    }
    Ok(())
}

fn disown(withheld: CapabilitySet) -> Result<(), Errno> {
    let CapabilitySets { effective, permitted, inheritable } = capabilities(None)?;
    let sets = CapabilitySets {
        effective: effective - withheld,
        permitted: permitted - withheld,
        inheritable: inheritable - withheld,
    };
    set_capabilities(None, sets)
}

/// The strings as `execve(2)` takes them: a list that ends with a null pointer.
fn pointers<'a>(strings: impl Iterator<Item = &'a CStr>) -> Vec<*const c_char> {
    strings.map(CStr::as_ptr).chain([ptr::null()]).collect()
}

/// Copies this process, which has one thread: in the copy it returns `None`, here the copy's pid.
///
/// # Errors
/// As fork(2).
pub(crate) fn split() -> io::Result<Option<Pid>> {
    // SAFETY: there is no other thread whose locks or half-done work the copy could inherit.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Takes over the descriptor that a child of this process made in the table they shared.
///
/// # Errors
/// Where there is none of that number.
pub(crate) fn adopt(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: only asked whether it is open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    rustix::io::fcntl_getfd(borrowed)?;
    // SAFETY: open, and announced by the child for this process alone.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// A duplicate of a descriptor that this process was started with.
///
/// # Errors
/// Where there is none of that number.
pub(crate) fn duplicate(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: only duplicated, and the kernel refuses a number that is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number.max(0)) };
    Ok(rustix::io::fcntl_dupfd_cloexec(borrowed, 3)?)
}

/// Ends this process without what `exit(3)` does: the files and buffers are those of the process it
/// was copied from.
pub(crate) fn leave(status: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(status) }
}

/// How the file behind a descriptor number is open, if it is and stays so across exec: `F_GETFL`.
pub(crate) fn kept_open_for(number: i32) -> Option<i32> {
    // SAFETY: only queried, and the kernel refuses a number that is not open.
    let fd = unsafe { BorrowedFd::borrow_raw(number) };
    let closes = rustix::io::fcntl_getfd(fd).ok()?.contains(FdFlags::CLOEXEC);
    let flags = rustix::fs::fcntl_getfl(fd).ok()?;
    (!closes).then(|| flags.bits().cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::landlock_bounds::{Bounds, version};
    use crate::sys::signals::Signals;

    fn start(library: &CStr, bounds: Option<BorrowedFd<'_>>) -> Result<Pid, NotStarted> {
        let withholds = CapabilitySet::empty();
        Program {
            file: c"/bin/true",
            arguments: &[c"true".to_owned()],
            environment: &[],
            handles: &[],
            inherited: Signals::of(&[]).block(),
            kernel: &Kernel {
                bounds,
                filter: None,
                announce: None,
                withholds,
                withholds_cores: true,
            },
            library,
        }
        .start(&mut |_, _| {})
    }

    #[test]
    fn nothing_starts_without_the_library() {
        let missing = start(c"/nowhere/library.so", None);
        assert!(matches!(missing, Err(NotStarted::Library(Errno::NOENT))), "{missing:?}");
    }

    #[test]
    fn nothing_starts_whose_bounds_keep_it_from_the_library() {
        let Some(version) = version(landlock::version()) else { return };
        let bounds = Bounds { version, rules: Vec::new(), judges_network: false };
        let bounds = landlock::ruleset(&bounds).expect("a ruleset");
        let refused = start(c"/proc/self/exe", Some(bounds.as_fd()));
        assert!(matches!(refused, Err(NotStarted::Library(Errno::ACCESS))), "{refused:?}");
    }
}
