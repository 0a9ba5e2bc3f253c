//! What a person meant who left out the dashes before the program.

use clap::Error;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::text::quote;

/// The error, with the way out if it is about a word where a program might have been meant.
pub(super) fn tipped(mut error: Error) -> Error {
    let word = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if !word.starts_with('-') => {
            quote::quoted(word.as_bytes())
        }
        _ => return error,
    };
    if error.kind() == ErrorKind::UnknownArgument && error.get(ContextKind::Suggested).is_none() {
        let tip = format!("programs stand behind `--`: jp-confine -- {word}");
        let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}
