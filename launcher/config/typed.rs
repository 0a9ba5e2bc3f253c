//! Reads a value of a file as a type of the policy, by serde. Errors point at the value. Used by `decode`.

use std::ops::Range;
use std::rc::Rc;

use jp_confine_engine::layers::{Layered, Merged};
use serde::Deserialize;
use serde::de::IntoDeserializer as _;
use toml::de::Error;

use super::document::{self, Node};
use crate::error::diagnostic::{Diagnostic, nearest};
use crate::error::source::Source;

/// Reads `node` as a `T`.
pub(super) fn read<'a, T: Deserialize<'a>>(
    source: &Rc<Source>,
    node: &Node<'a>,
) -> Result<T, Box<Diagnostic>> {
    T::deserialize(node.clone().into_deserializer())
        .map_err(|error| Box::new(diagnostic(source, node.span(), &error)))
}

/// The rules of a list with their positions, and the nodes that they were read from.
pub(super) fn rules<'l, T>(
    list: &'l mut Layered<T>,
    node: &'l Node<'_>,
) -> impl Iterator<Item = (usize, &'l mut T, &'l Node<'l>)> {
    let (Layered::Plain(rules) | Layered::Merged(Merged { value: rules, .. })) = list;
    let node = document::find(node, &["value"]).unwrap_or(node);
    let nodes = node.get_ref().as_array().into_iter().flat_map(|items| items.iter());
    rules.iter_mut().zip(nodes).enumerate().map(|(index, (rule, node))| (index, rule, node))
}

/// The error for a key that no table of its kind has.
pub(super) fn unknown_key(
    source: &Rc<Source>,
    span: Range<usize>,
    key: &str,
    known: &[&str],
) -> Diagnostic {
    Diagnostic::at(source, span, format!("unknown key `{key}`"))
        .label("not a key of this table")
        .help(one_of(key, known))
}

/// Words an error of serde for people. Serde puts the kind, the wrong word and the known ones into one sentence.
fn diagnostic(source: &Rc<Source>, whole: Range<usize>, error: &Error) -> Diagnostic {
    let (message, span) = (error.message(), error.span().unwrap_or(whole));
    let at = |title: String| Diagnostic::at(source, span.clone(), title);
    let (kind, rest) = message.split_once([':', '`']).unwrap_or((message, ""));
    let (found, expected) = rest.rsplit_once(", expected ").unwrap_or((rest, ""));
    let word = found.trim_end_matches('`');
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    match kind {
        "unknown field " => unknown_key(source, span, word, &known),
        "unknown variant " => {
            at(format!("there is no `{word}`")).label("unknown").help(one_of(word, &known))
        }
        "missing field " => {
            let title = format!("`{word}` is missing");
            at(title).label("this has none").help(to_add(word))
        }
        "invalid type" | "invalid value" => {
            let (wanted, help) = wanted(expected);
            let diagnostic = at(format!("expected {wanted}")).label(kind_of(found));
            if help.is_empty() { diagnostic } else { diagnostic.help(help) }
        }
        _ => at(message.to_owned()).label("this cannot stand"),
    }
}

fn one_of(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("expected one of: {}", known.join(", ")),
    }
}

fn to_add(key: &str) -> String {
    match key {
        "path" => "add `path = \"…\"`, relative to the workspace; `.` is the workspace".to_owned(),
        _ => format!("add `{key} = …`"),
    }
}

/// What serde expected, and how to write it.
fn wanted(expected: &str) -> (&str, &'static str) {
    match expected {
        "a boolean" => (expected, "write `true` or `false`, without quotes"),
        "a string" | "a UTF-8 path string" => ("a string", "put it in double quotes"),
        "a sequence" => ("a list", "write `[ … ]`"),
        "a map" => ("a table", ""),
        "u16" => ("a number up to 65535", ""),
        _ if expected.starts_with("struct ") => ("a table", ""),
        _ => (expected, ""),
    }
}

/// The kind of value that serde found, such as " integer `1`".
fn kind_of(found: &str) -> &'static str {
    match found.trim_start().split(' ').next() {
        Some("string") => "this is a string",
        Some("boolean") => "this is a boolean",
        Some("sequence") => "this is a list",
        Some("map") => "this is a table",
        _ => "this is a number",
    }
}
