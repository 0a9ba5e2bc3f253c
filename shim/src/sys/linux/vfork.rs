//! Making a child that shares the parent's memory until it runs another program.

use core::arch::asm;
use core::ffi::{c_int, c_void};

use super::process::int;
use super::{outcome, word};
use crate::errno::Errno;

/// The child's side: it must end in exec or exit.
pub(crate) type Child = extern "C" fn(*const c_void) -> !;

const FLAGS: c_int = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;

/// vfork(2), on a stack of the child's own, which ends at `stack`: the calling thread's may be too
/// small. The child runs `child` while the thread waits. The child's pid.
///
/// # Safety
/// `child` must not write what the parent does not expect to change, `stack` must be the end of
/// memory that nobody else uses, and all signals must be blocked: a handler would run in the child,
/// in the parent's memory.
pub(crate) unsafe fn vfork(
    child: Child,
    argument: *const c_void,
    stack: usize,
) -> Result<c_int, Errno> {
    let result: isize;
    // SAFETY: in the parent only the declared registers have changed: the child has a set and a
    // stack of its own.
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
            inlateout("rax") libc::SYS_clone => result,
            in("rdi") word(FLAGS),
            in("rsi") stack,
            in("rdx") 0_usize,
            in("r10") 0_usize,
            in("r8") 0_usize,
            in("r12") argument,
            in("r13") child,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    // SAFETY: as above; the stack pointer is always aligned here.
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
            in("x8") libc::SYS_clone,
            inlateout("x0") word(FLAGS) => result,
            in("x1") stack,
            in("x2") 0_usize,
            in("x3") 0_usize,
            in("x4") 0_usize,
        );
    }
    outcome(result).map(int)
}
