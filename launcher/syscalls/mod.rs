//! Calls that are refused whatever a policy says, by what they would do.

pub(crate) mod refused;

pub(crate) use self::refused::{About, REFUSED, RefusedCall, of_number};
