//! Parses the subjects that `check` can be asked about.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use jp_confine_engine::Capability;

use super::command::{Beyond, Topic};

/// Reads a topic. Shells complete all of them.
#[derive(Clone)]
pub(super) struct Topics;

impl TypedValueParser for Topics {
    type Value = Topic;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Topic, Error> {
        StringValueParser::new().try_map(|word| topic(&word)).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let capabilities = Capability::ALL.into_iter().map(Capability::as_str);
        let beyond = Beyond::ALL.into_iter().map(Beyond::as_str);
        Some(Box::new(capabilities.chain(beyond).map(PossibleValue::new)))
    }
}

fn topic(word: &str) -> Result<Topic, String> {
    let capability = Capability::from_name(word).map(Topic::Path);
    capability.or_else(|| Beyond::from_name(word).map(Topic::Beyond)).ok_or_else(|| match word {
        "write" => "`write` is an alias in rules; ask for create, update or delete".to_owned(),
        _ => "expected read, create, update, delete, execute, net, env or command".to_owned(),
    })
}
