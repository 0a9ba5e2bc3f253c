//! Creates a child that shares the parent's memory until it runs another program. Used by `spawn`.

use core::arch::asm;
use core::ffi::{c_int, c_long, c_void};
use core::mem::size_of;

use super::process::{Memory, int};
use super::{outcome, word};
use crate::errno::Errno;

/// The child's function. It must end in exec or exit.
pub(crate) type Child = extern "C" fn(*const c_void) -> !;

const FLAGS: c_int = libc::CLONE_VM | libc::CLONE_VFORK;

/// The child does not inherit signal handlers, but it inherits ignored signals (`clone3(2)`, Linux 5.5).
const CLEAR_HANDLERS: u64 = 1 << 32;

/// The first version of `struct clone_args`.
#[repr(C)]
struct Arguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
}

/// vfork(2) with a stack of the child's own, because the calling thread's may be too small. The child runs `child`
/// while the thread waits. It inherits the program's signal handlers. Returns the child's pid.
///
/// # Errors
/// As clone(2).
///
/// # Safety
/// `child` must not write memory that the parent does not expect to change. Nobody else may use `stack`. All signals
/// must be blocked: a handler would run in the child, in the parent's memory.
pub(crate) unsafe fn vfork(
    child: Child,
    argument: *const c_void,
    stack: &Memory,
) -> Result<c_int, Errno> {
    let flags = word(FLAGS | libc::SIGCHLD);
    // SAFETY: the caller meets this function's requirements.
    unsafe { start(libc::SYS_clone, flags, stack.end(), child, argument) }
}

/// Like [`vfork`], but no signal has a handler in the child.
///
/// # Errors
/// As clone3(2): `ENOSYS`, `EINVAL` or `EPERM` if the kernel or a container lacks it.
///
/// # Safety
/// As for [`vfork`].
pub(crate) unsafe fn vfork_without_handlers(
    child: Child,
    argument: *const c_void,
    stack: &Memory,
) -> Result<c_int, Errno> {
    let start_of_stack = stack.start().expose_provenance();
    let arguments = Arguments {
        flags: u64::from(FLAGS.cast_unsigned()) | CLEAR_HANDLERS,
        pidfd: 0,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: u64::from(libc::SIGCHLD.cast_unsigned()),
        stack: start_of_stack as u64,
        stack_size: stack.end().wrapping_sub(start_of_stack) as u64,
        tls: 0,
    };
    let at = (&raw const arguments).expose_provenance();
    // SAFETY: the caller meets this function's requirements, and the kernel only reads the arguments.
    unsafe { start(libc::SYS_clone3, at, size_of::<Arguments>(), child, argument) }
}

/// Makes the system call `number`, which returns twice.
unsafe fn start(
    number: c_long,
    first: usize,
    second: usize,
    child: Child,
    argument: *const c_void,
) -> Result<c_int, Errno> {
    let result: isize;
    // SAFETY: in the parent only the declared registers change, because the child has its own registers and stack.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "ud2",
            "2:",
            inlateout("rax") number => result,
            in("rdi") first,
            in("rsi") second,
            in("rdx") 0_usize,
            in("r10") 0_usize,
            in("r8") 0_usize,
            in("r12") argument,
            in("r13") child,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    // SAFETY: as above. The stack pointer is always aligned here.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, {argument}",
            "blr {child}",
            "brk 1",
            "2:",
            argument = in(reg) argument,
            child = in(reg) child,
            in("x8") number,
            inlateout("x0") first => result,
            in("x1") second,
            in("x2") 0_usize,
            in("x3") 0_usize,
            in("x4") 0_usize,
        );
    }
    outcome(result).map(int)
}
