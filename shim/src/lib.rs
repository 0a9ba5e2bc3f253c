//! The preload library. It judges each call of a libc function that takes a path, before the function acts.
//!
//! A hook works in five steps:
//!
//! - Read the argument ([`path`]).
//! - Find the object ([`resolve`]).
//! - Ask the policy ([`jp_confine_engine::decide`]).
//! - Act on the judged object.
//! - Report a denial ([`report`]).
//!
//! Invariants of this crate: no std, no allocation, no lock, no thread-local, no reachable panic (the linker rejects
//! one, see [`panic`]), no call of libc's path functions, no `DT_NEEDED`. Any internal failure leads to a denial, never
//! to the unchecked call.

#![cfg(feature = "library")]
#![no_std]
#![cfg_attr(
    target_os = "macos",
    allow(clashing_extern_declarations, reason = "in the table of hooks functions are addresses")
)]
#![deny(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use core::ffi::{c_char, c_int};

use crate::sys::startup::Startup;

mod buffer;
mod cancellation;
mod errno;
mod exec;
mod fd_paths;
mod handle;
mod hooks;
mod libc_functions;
#[cfg(target_os = "linux")]
mod links;
mod memory;
mod mmap_box;
mod path;
mod path_cache;
#[cfg(target_os = "linux")]
mod plain_ways;
mod report;
mod resolve;
mod session;
#[cfg(target_os = "linux")]
mod spawn;
mod sys;
#[cfg(target_os = "linux")]
mod views;
mod working_directory;

/// A panic would end here. In a release build the symbol does not exist, and it is hidden: the linker takes it from no
/// other library. So a panic that the optimiser cannot rule out fails the link.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    #[cfg(not(debug_assertions))]
    {
        unsafe extern "C" {
            fn jp_confine_shim_can_panic() -> !;
        }
        // SAFETY: a directive for the assembler makes no instruction. The function is never linked, therefore never called.
        unsafe {
            // The wrong library of a test is less optimised, and has panics.
            #[cfg(all(target_os = "linux", not(feature = "unpinned")))]
            core::arch::asm!(".hidden jp_confine_shim_can_panic");
            jp_confine_shim_can_panic()
        }
    }
    #[cfg(debug_assertions)]
    loop {
        core::hint::spin_loop();
    }
}

/// Runs when the library is loaded. A hook that runs earlier does the same.
extern "C" fn load(_: c_int, _: *const *const c_char, environment: *const *const c_char) {
    let startup = Startup::of_constructor(environment);
    if session::start(startup).is_err() {
        session::give_up();
    }
    if let Some(top) = startup.and_then(Startup::stack_top) {
        memory::remember_stack(top);
    }
    #[cfg(target_os = "linux")]
    if let Some(startup) = startup {
        startup.program_segments(memory::remember_segment);
    }
    #[cfg(target_os = "linux")]
    memory::remember_heap(sys::program_break());
    path_cache::adopt();
}

/// Makes the runtime of `AddressSanitizer` accept a library that is loaded before it. It asks for its options under
/// this name, and otherwise ends the program.
#[cfg(target_os = "linux")]
#[unsafe(no_mangle)]
extern "C" fn __asan_default_options() -> *const c_char {
    c"verify_asan_link_order=0".as_ptr()
}

type Constructor = extern "C" fn(c_int, *const *const c_char, *const *const c_char);

#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
static LOAD: Constructor = load;
