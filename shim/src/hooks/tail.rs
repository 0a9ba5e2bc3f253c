//! Entry points that must keep the program's return address where libc looks for it: `dlsym` and its relatives identify
//! their caller by it, and `clone` returns twice.

/// Exports naked functions. Each calls `$choose` with all its register arguments to get an address. Then it jumps there
/// with the program's arguments, changed only by `$adjust`.
#[cfg(target_arch = "x86_64")]
macro_rules! tail_jumps {
    ($($(#[$about:meta])* $name:ident => $choose:ident $(, $adjust:literal, $_other:literal)?;)*) => {
        $(
            $(#[$about])*
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            extern "C" fn $name() {
                core::arch::naked_asm!(
                    "push rdi",
                    "push rsi",
                    "push rdx",
                    "push rcx",
                    "push r8",
                    "push r9",
                    "sub rsp, 8",
                    "call {choose}",
                    "add rsp, 8",
                    "pop r9",
                    "pop r8",
                    "pop rcx",
                    "pop rdx",
                    "pop rsi",
                    "pop rdi",
                    $($adjust,)?
                    "jmp rax",
                    choose = sym $choose,
                )
            }
        )*
    };
}

/// As on x86-64.
#[cfg(target_arch = "aarch64")]
macro_rules! tail_jumps {
    ($($(#[$about:meta])* $name:ident => $choose:ident $(, $_other:literal, $adjust:literal)?;)*) => {
        $(
            $(#[$about])*
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            extern "C" fn $name() {
                core::arch::naked_asm!(
                    "stp x29, x30, [sp, -80]!",
                    "stp x0, x1, [sp, 16]",
                    "stp x2, x3, [sp, 32]",
                    "stp x4, x5, [sp, 48]",
                    "stp x6, x7, [sp, 64]",
                    "bl {choose}",
                    "mov x16, x0",
                    "ldp x0, x1, [sp, 16]",
                    "ldp x2, x3, [sp, 32]",
                    "ldp x4, x5, [sp, 48]",
                    "ldp x6, x7, [sp, 64]",
                    "ldp x29, x30, [sp], 80",
                    $($adjust,)?
                    "br x16",
                    choose = sym $choose,
                )
            }
        )*
    };
}

pub(super) use tail_jumps;
