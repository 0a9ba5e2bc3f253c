//! Parses names of profiles. Used by `--profile`.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};

use crate::config::profiles;

/// Reads the name of any profile, including a user's own. Shells complete the built-in ones.
#[derive(Clone)]
pub(super) struct ProfileNames;

impl TypedValueParser for ProfileNames {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = profiles::built_in().chain(std::iter::once(profiles::NONE));
        Some(Box::new(names.map(PossibleValue::new)))
    }
}
