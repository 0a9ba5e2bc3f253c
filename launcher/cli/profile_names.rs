//! Names of profiles, as they are typed.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};

use crate::config::profiles;

/// Reads a name, which may be that of a user's own profile, and tells shells which there always are.
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
