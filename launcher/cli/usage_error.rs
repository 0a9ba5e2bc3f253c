//! Makes usage errors safe for a terminal, whatever was typed.

use clap::Error;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

use crate::text::quote::{is_disruptive, printable};

/// The error, with the typed words escaped as in other messages.
pub(super) fn plain(mut error: Error) -> Error {
    let disruptive = |value: &ContextValue| value.to_string().chars().any(is_disruptive);
    // The usage text has line breaks, and no word of the user's.
    let typed = error.context().filter(|(kind, _)| *kind != ContextKind::Usage);
    let found = typed.filter(|(_, value)| disruptive(value));
    let found: Vec<_> = found.map(|(kind, value)| (kind, shown(value))).collect();
    for (kind, value) in found {
        error.insert(kind, value);
    }
    error
}

fn shown(value: &ContextValue) -> ContextValue {
    let one = |text: &String| printable(text.as_bytes());
    let styled = |text: &StyledStr| StyledStr::from(one(&text.to_string()));
    match value {
        ContextValue::String(text) => ContextValue::String(one(text)),
        ContextValue::Strings(texts) => ContextValue::Strings(texts.iter().map(one).collect()),
        ContextValue::StyledStr(text) => ContextValue::StyledStr(styled(text)),
        ContextValue::StyledStrs(texts) => {
            ContextValue::StyledStrs(texts.iter().map(styled).collect())
        }
        other => other.clone(),
    }
}
