//! Starts the program, and forks and ends processes of the launcher.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::fd::{AsFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io, ptr};

use rustix::fs::{Mode, OFlags, StatVfsMountFlags, fstatvfs, open};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, setrlimit, waitid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, Timespec, capabilities, capability_is_in_bounding_set, futex,
    remove_capability_from_bounding_set, set_capabilities,
};

use super::filter::{self, ListenerWanted};
use super::landlock;
use super::own_number::OwnNumber;
use super::signals::Inherited;

/// Runs files whose format the kernel does not know (`exec(3)`, ENOEXEC).
const SHELL: &CStr = c"/bin/sh";

/// Capabilities that are withheld from root's programs if Landlock bounds them. All but the last reveal memory of other
/// processes or of the kernel in ways that neither a path rule nor Landlock stops.
///
/// - `CAP_SYS_RAWIO`: all memory, by `/proc/kcore` (`proc_pid_kcore(5)`).
/// - `CAP_PERFMON`, or `CAP_SYS_ADMIN` in its stead: the environment and the maps of every process, even one that the
///   program may not trace (Linux 6.14).
/// - `CAP_BPF`: programs inside the kernel.
/// - `CAP_SYSLOG`: the kernel's log, by `/proc/kmsg`.
/// - `CAP_SYS_TIME`: sets the machine's clock, by calls that may also only read it (`adjtimex(2)`).
pub(crate) const WITHHELD: CapabilitySet = CapabilitySet::SYS_RAWIO
    .union(CapabilitySet::SYS_ADMIN)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::SYSLOG)
    .union(CapabilitySet::SYS_TIME);

/// Capabilities that bypass the judging of connections: to change where addresses lead, and to write raw packets.
pub(crate) const NETWORK: CapabilitySet = CapabilitySet::NET_ADMIN.union(CapabilitySet::NET_RAW);

/// Stack of the child until it executes: it needs little besides system calls.
const STACK: usize = 64 * 1024;

/// How often the launcher checks whether the child was stopped before it executes.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A program to start, and all that it starts with.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    /// The file to execute.
    pub(crate) file: &'a CStr,
    /// Its arguments, starting with its name.
    pub(crate) arguments: &'a [CString],
    /// Its environment, `NAME=value`.
    pub(crate) environment: &'a [CString],
    /// A further variable, whose value is the program's process number.
    pub(crate) own_number: Option<&'a str>,
    /// Descriptors that stay open.
    pub(crate) handles: &'a [&'a OwnedFd],
    /// The signal mask and dispositions that it gets.
    pub(crate) inherited: Inherited,
    /// The confinement that the kernel enforces.
    pub(crate) kernel: &'a KernelConfinement<'a>,
    /// The path of the preload library. If no supervisor answers the program's calls, a program that cannot load the
    /// library is not started: the loader would go on without it (`ld.so(8)`).
    pub(crate) library: &'a CStr,
}

/// Why a program was not started.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NotStarted {
    /// It could not load the preload library.
    Library(Errno),
    /// No process could be created, or `execve(2)` failed.
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

/// The confinement that the kernel enforces. It is set before the program's first instruction, and every process that
/// the program starts inherits it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelConfinement<'a> {
    /// A Landlock ruleset (`landlock_restrict_self(2)`).
    pub(crate) bounds: Option<BorrowedFd<'a>>,
    /// A filter of system calls.
    pub(crate) filter: Option<&'a [libc::sock_filter]>,
    /// The value that marks its exec as judged, so that the filter lets it pass.
    pub(crate) mark: Option<u64>,
    /// Where to write the number of the listener: the descriptor by which this process answers the calls that the
    /// filter hands on. After exec only this process has it.
    pub(crate) announce: Option<BorrowedFd<'a>>,
    /// Capabilities that it can never have, even as root.
    pub(crate) withholds: CapabilitySet,
    /// Whether it leaves no core file when it crashes.
    pub(crate) withholds_cores: bool,
}

impl Program<'_> {
    /// Starts the program so that it cannot gain privileges and dies with this process.
    ///
    /// The child borrows this process's memory until it executes, as with `vfork(2)`: copying the memory of a process
    /// that only waits would cost more than everything else here. The child restores its signal mask before it
    /// executes, so a ^Z may stop it. In `vfork(2)` this process would then wait for ever, and could not be stopped
    /// itself. Here `stopped` is called with the child and the signal.
    ///
    /// `PR_SET_PDEATHSIG` reaches the direct child only. A front that is killed can neither report nor clean up, so the
    /// program must not run on as if nothing had happened. The program's own children are left alone, as when any
    /// parent dies.
    ///
    /// # Errors
    /// [`NotStarted::Library`] if the library cannot be loaded. Else the error of `clone(2)`, `execve(2)` or a call in
    /// between.
    pub(crate) fn start(&self, stopped: &mut dyn FnMut(Pid, i32)) -> Result<Pid, NotStarted> {
        let arguments = pointers(self.arguments.iter().map(CString::as_c_str));
        let script = [SHELL, self.file].into_iter();
        let rest = self.arguments.iter().skip(1).map(CString::as_c_str);
        let borrows = AtomicU32::new(1);
        let mut own_number = self.own_number.map(OwnNumber::of);
        let environment = self.environment.iter().map(CString::as_c_str);
        let own_number = own_number.as_mut().map(ptr::from_mut);
        let first = own_number.map(|it| it.cast::<c_char>().cast_const());
        let mut order = Order {
            program: self,
            borrows: &borrows,
            front: rustix::process::getpid(),
            arguments: &arguments,
            script: &pointers(script.chain(rest)),
            environment: &first.into_iter().chain(pointers(environment)).collect::<Vec<_>>(),
            own_number,
            obstacle: None,
        };
        let mut stack = vec![0u128; STACK / size_of::<u128>()];
        // The stack grows downwards, so the child gets its upper end, aligned (`clone(2)`).
        let top = stack.as_mut_ptr_range().end.cast::<c_void>();
        // The child creates the listener, and this process needs it: until the child executes, both share their
        // descriptors.
        let flags = libc::CLONE_VM | libc::CLONE_FILES | libc::SIGCHLD;
        let order_pointer = ptr::from_mut(&mut order).cast::<c_void>();
        // SAFETY: the child runs `enter` on a stack of its own, with `order`. Both live, and this process does not
        // touch them, until the kernel says in `borrows` that the child has executed or ended.
        let pid = unsafe { libc::clone(enter, top, flags, order_pointer) };
        let pid = (pid > 0).then(|| Pid::from_raw(pid)).flatten();
        let pid = pid.ok_or_else(io::Error::last_os_error)?;
        wait_while(&borrows, pid, stopped);
        let Some(obstacle) = order.obstacle else { return Ok(pid) };
        // The child has ended already. It is collected here, so that no later wait finds it.
        let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
        Err(obstacle)
    }
}

/// Waits while `child` borrows this process's memory. They also share this thread's data, such as `errno`, so no call
/// here sets `errno`. A child that is killed before it names `borrows` ends without a change there.
fn wait_while(borrows: &AtomicU32, child: Pid, stopped: &mut dyn FnMut(Pid, i32)) {
    while borrows.load(Ordering::Acquire) != 0 {
        // The loop checks again, whatever ended the wait.
        let _ = futex::wait(borrows, futex::Flags::empty(), 1, Some(&LOOK));
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if let Ok(Some(_)) = waitid(WaitId::Pid(child), ended) {
            return;
        }
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        let status = waitid(WaitId::Pid(child), options).ok().flatten();
        if let Some(signal) = status.and_then(|status| status.stopping_signal()) {
            stopped(child, signal);
        }
    }
}

/// The work of the child.
struct Order<'a> {
    program: &'a Program<'a>,
    /// The kernel sets it to 0 when the child executes or ends, and wakes who waits for that.
    borrows: &'a AtomicU32,
    front: Pid,
    arguments: &'a [*const c_char],
    /// The arguments of the shell, if the file is a script without a `#!` line.
    script: &'a [*const c_char],
    environment: &'a [*const c_char],
    /// The variable in the environment that gets the program's process number.
    own_number: Option<*mut OwnNumber>,
    /// Why the program could not be started.
    obstacle: Option<NotStarted>,
}

/// Runs in the child, in the memory of its parent: system calls only, no allocation, no lock.
extern "C" fn enter(order: *mut c_void) -> c_int {
    // SAFETY: the parent passed an order, and does not touch it while the child is here.
    let order = unsafe { &mut *order.cast::<Order<'_>>() };
    order.obstacle = order.execute().err();
    127
}

impl Order<'_> {
    /// Executes the program. Returns only if that fails.
    fn execute(&self) -> Result<(), NotStarted> {
        // As CLONE_CHILD_CLEARTID does, which musl's `clone` rejects.
        // SAFETY: the number outlives the child's use of this memory.
        unsafe { libc::syscall(libc::SYS_set_tid_address, self.borrows.as_ptr()) };
        rustix::thread::set_no_new_privs(true)?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid() != Some(self.front) {
            return Err(Errno::SRCH.into());
        }
        if let Some(own_number) = self.own_number {
            // SAFETY: the parent made it, and neither it nor anything else here has a reference to it.
            let own_number = unsafe { &mut *own_number };
            own_number.set(rustix::process::getpid());
        }
        for handle in self.program.handles {
            fcntl_setfd(handle.as_fd(), FdFlags::empty())?;
        }
        self.program.inherited.restore();
        self.program.kernel.apply()?;
        if self.program.kernel.announce.is_none() {
            self.find_library().map_err(NotStarted::Library)?;
        }
        let mark = self.program.kernel.mark.unwrap_or_default();
        match self.exec(self.program.file, self.arguments, mark) {
            // Nobody judged the shell yet.
            Errno::NOEXEC => Err(self.exec(SHELL, self.script, 0).into()),
            error => Err(error.into()),
        }
    }

    /// Opens the library as the loader will, by a call that no preloaded library hooks.
    fn find_library(&self) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let library = open(self.program.library, flags, Mode::empty())?;
        // The loader maps it as executable.
        if fstatvfs(&library)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
            return Err(Errno::PERM);
        }
        Ok(())
    }

    /// Executes `file`. The filter lets the call pass if `mark`, its unused sixth argument, is the cookie.
    fn exec(&self, file: &CStr, arguments: &[*const c_char], mark: u64) -> Errno {
        let (file, environment) = (file.as_ptr(), self.environment.as_ptr());
        // SAFETY: a terminated string and two null-terminated lists of such strings.
        unsafe {
            libc::syscall(
                libc::SYS_execve,
                file,
                arguments.as_ptr(),
                environment,
                0_usize,
                0_usize,
                mark,
            )
        };
        Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
    }
}

impl KernelConfinement<'_> {
    /// Confines the calling process. Runs between clone and exec, so it does not allocate. A descriptor that closes on
    /// exec closes in the child only.
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
                let listener = filter::install(filter, ListenerWanted::Wanted)?;
                rustix::io::write(announce, &listener.to_ne_bytes()).map(|_| ())
            }
            (Some(filter), None) => filter::install(filter, ListenerWanted::None).map(|_| ()),
            (None, _) => Ok(()),
        }
    }
}

/// Withholds capabilities from the programs that this process starts, by removing them from the bounding set. If this
/// process may not change that, it removes them from its own sets. No program adds to those without new privileges
/// (`capabilities(7)`).
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

/// Forks this process, which has one thread. Returns `None` in the child, and the child's pid in the parent.
///
/// # Errors
/// Those of `fork(2)`.
pub(crate) fn split() -> io::Result<Option<Pid>> {
    // SAFETY: there is no other thread whose locks or half-done work the child could inherit.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Takes over the descriptor that a child created while it shared this process's table of descriptors.
///
/// # Errors
/// If no descriptor has that number.
pub(crate) fn adopt(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the number is only queried, and the kernel rejects one that is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    rustix::io::fcntl_getfd(borrowed)?;
    // SAFETY: open, and announced by the child for this process alone.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// A duplicate of a descriptor that this process was started with.
///
/// # Errors
/// If no descriptor has that number.
pub(crate) fn duplicate(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the number is only duplicated, and the kernel rejects one that is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number.max(0)) };
    Ok(rustix::io::fcntl_dupfd_cloexec(borrowed, 3)?)
}

/// Ends a forked process without the clean-up of `exit(3)`: its buffers and files are its parent's.
pub(crate) fn leave(status: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(status) }
}

/// The flags (`F_GETFL`) of a descriptor that is open and stays open across exec.
pub(crate) fn kept_open_for(number: i32) -> Option<i32> {
    // SAFETY: the number is only queried, and the kernel rejects one that is not open.
    let fd = unsafe { BorrowedFd::borrow_raw(number) };
    if rustix::io::fcntl_getfd(fd).ok()?.contains(FdFlags::CLOEXEC) {
        return None;
    }
    Some(rustix::fs::fcntl_getfl(fd).ok()?.bits().cast_signed())
}

/// The descriptors that this process was started with and that its program inherits. The first call looks, and has to
/// come before the process opens anything: the kernel takes long to list many descriptors.
pub(crate) fn inherited_descriptors() -> &'static [i32] {
    static INHERITED: OnceLock<Vec<i32>> = OnceLock::new();
    INHERITED.get_or_init(|| {
        let open = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
        let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter(|&number| kept_open_for(number).is_some()).collect()
    })
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
            own_number: None,
            handles: &[],
            inherited: Signals::of(&[]).block(),
            kernel: &KernelConfinement {
                bounds,
                filter: None,
                mark: None,
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
