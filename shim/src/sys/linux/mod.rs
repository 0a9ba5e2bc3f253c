//! Linux: raw system calls, without libc between the shim and the kernel.

mod arch;
mod calls;
pub(crate) mod next;
pub(crate) mod process;
pub(crate) mod vfork;

pub(crate) use calls::*;
