//! Exports the names of variadic functions. A cdylib does not export a C symbol of a linked archive, but it exports a
//! naked Rust function. Each only jumps to its C half (`c/variadic.c`), with every argument where the caller put it.

use core::arch::naked_asm;

unsafe extern "C" {
    fn jp_variadic_open();
    fn jp_variadic_openat();
    fn jp_variadic_sem_open();
    fn jp_variadic_mq_open();
    fn jp_variadic_execl();
    fn jp_variadic_execlp();
    fn jp_variadic_execle();
}

#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "jmp {}"
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b {}"
    };
}

macro_rules! variadic {
    ($($name:ident => $target:ident;)*) => {
        $(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            extern "C" fn $name() {
                naked_asm!(jump!(), sym $target)
            }
        )*
    };
}

variadic! {
    open => jp_variadic_open;
    open64 => jp_variadic_open;
    // glibc exports these names, too, and the last two only for its own libraries.
    __open => jp_variadic_open;
    __open64 => jp_variadic_open;
    __open_nocancel => jp_variadic_open;
    __open64_nocancel => jp_variadic_open;
    openat => jp_variadic_openat;
    openat64 => jp_variadic_openat;
    sem_open => jp_variadic_sem_open;
    mq_open => jp_variadic_mq_open;
    execl => jp_variadic_execl;
    execlp => jp_variadic_execlp;
    execle => jp_variadic_execle;
}
