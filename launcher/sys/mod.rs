//! The system calls that need `unsafe`; the rest goes through `rustix` and `std`.

pub(crate) mod child;
pub(crate) mod filter;
pub(crate) mod landlock;
pub(crate) mod signals;
