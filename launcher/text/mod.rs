//! Quotes, wraps and measures text for terminals. It knows nothing of policies.

pub(crate) mod quote;
pub(crate) mod wrap;
