//! Text for terminals: quoting, wrapping and widths. It knows nothing of policies.

pub(crate) mod quote;
pub(crate) mod wrap;
