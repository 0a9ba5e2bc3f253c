//! Puts texts and numbers into the form of an image.

use std::vec::Vec;

use zerocopy::little_endian::U32;

use crate::build_error::BuildError;
use crate::layout::Span;

/// Keeps `text` among the `bytes` of the image.
pub(crate) fn intern(bytes: &mut Vec<u8>, text: &[u8]) -> Result<Span, BuildError> {
    let span = Span { offset: size(bytes.len())?, count: size(text.len())? };
    bytes.extend_from_slice(text);
    Ok(span)
}

pub(crate) fn size(count: usize) -> Result<U32, BuildError> {
    u32::try_from(count).map(U32::new).map_err(|_| BuildError::TooLarge)
}
