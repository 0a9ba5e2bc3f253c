//! The system call instruction of each processor.

use core::arch::asm;

/// Makes one system call. Returns the kernel's result register: a value, or the negated errno in `-4095..=-1`
/// (syscall(2), "Architecture calling conventions").
///
/// # Safety
/// The caller answers for the effects of the call on memory that Rust knows. Pointers from the program are safe: the
/// kernel returns `EFAULT` for bad ones.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) unsafe fn syscall6(number: usize, args: [usize; 6]) -> isize {
    let [first, second, third, fourth, fifth, sixth] = args;
    let result: isize;
    // SAFETY: the registers follow the kernel's calling convention. `rcx` and `r11` are declared as overwritten. The
    // caller answers for the call itself.
    unsafe {
        asm!(
            "syscall",
            // This register may have held the cookie, which must not remain for libc's next call.
            "xor r9d, r9d",
            inlateout("rax") number => result,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            inlateout("r9") sixth => _,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Like the x86-64 form.
///
/// # Safety
/// As for the x86-64 form.
#[cfg(target_arch = "aarch64")]
#[inline]
pub(crate) unsafe fn syscall6(number: usize, args: [usize; 6]) -> isize {
    let [first, second, third, fourth, fifth, sixth] = args;
    let result: usize;
    // SAFETY: as on x86-64. `svc` overwrites only the result register.
    unsafe {
        asm!(
            "svc 0",
            // As on x86-64.
            "mov x5, xzr",
            in("x8") number,
            inlateout("x0") first => result,
            in("x1") second,
            in("x2") third,
            in("x3") fourth,
            in("x4") fifth,
            inlateout("x5") sixth => _,
            options(nostack),
        );
    }
    result.cast_signed()
}
