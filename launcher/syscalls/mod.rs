//! Lists the system calls that every policy denies, and what each would do.

pub(crate) mod refused;

pub(crate) use self::refused::{About, REFUSED, RefusedCall, of_number};
