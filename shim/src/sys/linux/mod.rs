//! Linux: raw system calls, without libc between the library and the kernel.

mod arch;
mod calls;
pub(crate) mod ftw;
pub(crate) mod glob;
pub(crate) mod image;
pub(crate) mod next;
mod object;
pub(crate) mod preload;
pub(crate) mod process;
pub(crate) mod startup;
pub(crate) mod vfork;

pub(crate) use calls::*;
pub(crate) use object::*;
