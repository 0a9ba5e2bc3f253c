//! Adds a tip to the usage error of a person who left out `--` before the program, or mistyped a command.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use super::definition;
use crate::error::diagnostic::nearest;
use crate::text::quote;

/// The error, with a tip if it is about a word that might have been meant as a program.
pub(super) fn tipped(mut error: Error) -> Error {
    let word = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if !word.starts_with('-') => {
            quote::quoted(word.as_bytes())
        }
        _ => return error,
    };
    if error.kind() == ErrorKind::UnknownArgument && error.get(ContextKind::Suggested).is_none() {
        let commands = definition();
        let commands: Vec<&str> = commands.get_subcommands().map(Command::get_name).collect();
        let tip = match nearest(&word, &commands) {
            Some(command) => format!("did you mean: jp-confine {command}"),
            None => format!("programs stand behind `--`: jp-confine -- {word}"),
        };
        let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}
