//! Lists the system calls that every policy denies, and what each would do.

pub(crate) mod refused;

pub(crate) use self::refused::{CallSubject, REFUSED, RefusedCall, of_number};
