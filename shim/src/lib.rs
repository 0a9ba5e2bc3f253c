//! The preload library: checks every libc function that takes a path before it acts.
//!
//! A hook reads the argument ([`path`]), finds the object ([`resolve`]), asks the policy
//! ([`jp_confine_policy::decide`]), acts on the object that was checked, and reports a denial ([`report`]).
//!
//! Invariants of this crate: no std, no allocation, no lock, no thread-local, no reachable panic (the link fails with
//! one, see [`panic`]), no call of libc's path functions, no `DT_NEEDED`. A failure inside leads to a denial, never to
//! the unchecked call.

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
mod far;
mod handle;
mod hooks;
mod libc_functions;
#[cfg(target_os = "linux")]
mod links;
mod memory;
mod path;
mod places;
mod remembered;
mod report;
mod resolve;
mod session;
#[cfg(target_os = "linux")]
mod spawn;
mod sys;
mod working_directory;

/// The end of a panic. A release build references a symbol that exists nowhere. So if the optimiser cannot rule a panic
/// out, the link fails.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    #[cfg(not(debug_assertions))]
    {
        unsafe extern "C" {
            fn jp_confine_shim_can_panic() -> !;
        }
        // SAFETY: never linked, so never called.
        unsafe { jp_confine_shim_can_panic() }
    }
    #[cfg(debug_assertions)]
    loop {
        core::hint::spin_loop();
    }
}

/// Runs when the library is loaded. A hook that comes earlier sets up the session itself.
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
    remembered::adopt();
}

/// Makes the `AddressSanitizer` runtime accept a library that is loaded before it. It asks for its options under this
/// name, and without the option it ends the program.
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
