//! One tree for every notation: TOML and JSON become the same values, each with its place in the
//! text, so that the decoder is written once and every complaint can point.

use std::ops::Range;
use std::rc::Rc;

use jsonc_parser::ast;
use jsonc_parser::{CollectOptions, ParseOptions};
use toml_span::value::ValueInner;

use super::diagnostic::Diagnostic;

/// The text of a configuration file and the name it is shown under.
#[derive(Debug)]
pub(crate) struct Source {
    /// How the file is named to people: the path as it was given or found.
    pub(crate) name: String,
    /// The whole text.
    pub(crate) text: String,
    /// Where its lines end, so that to ask for a line is not to read the text again.
    breaks: Vec<usize>,
}

impl Source {
    /// A text and the name it is shown under.
    pub(crate) fn new(name: String, text: String) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { name, breaks: breaks.map(|(at, _)| at).collect(), text }
    }

    /// The 1-based line that holds byte `offset`.
    pub(crate) fn line(&self, offset: usize) -> u32 {
        let before = self.breaks.partition_point(|&at| at < offset);
        u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
    }
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// TOML 1.0.
    Toml,
    /// JSON; comments and trailing commas are accepted.
    Json,
}

/// A value and the bytes it was read from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) span: Range<usize>,
}

/// What a configuration file can say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Boolean(bool),
    Number(String),
    String(String),
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

/// One `key = value` of a table, in the order of the text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) value: Node,
}

impl Value {
    /// The kind of the value, for "expected X, found Y".
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Parses `source`; an empty JSON text is an error, an empty TOML text is an empty table.
pub(crate) fn parse(source: &Rc<Source>, notation: Notation) -> Result<Node, Box<Diagnostic>> {
    match notation {
        Notation::Toml => parse_toml(source),
        Notation::Json => parse_json(source),
    }
}

fn parse_toml(source: &Rc<Source>) -> Result<Node, Box<Diagnostic>> {
    let mut root = toml_span::parse(&source.text).map_err(|error| {
        Box::new(
            Diagnostic::at(source, error.span.start..error.span.end, "not valid TOML")
                .label(error.kind.to_string()),
        )
    })?;
    Ok(from_toml(&mut root))
}

fn from_toml(value: &mut toml_span::Value<'_>) -> Node {
    let span = value.span.start..value.span.end;
    let value = match value.take() {
        ValueInner::String(text) => Value::String(text.into_owned()),
        ValueInner::Integer(number) => Value::Number(number.to_string()),
        ValueInner::Float(number) => Value::Number(number.to_string()),
        ValueInner::Boolean(boolean) => Value::Boolean(boolean),
        ValueInner::Array(mut items) => Value::Array(items.iter_mut().map(from_toml).collect()),
        ValueInner::Table(items) => {
            let mut entries: Vec<Entry> = items
                .into_iter()
                .map(|(key, mut value)| Entry {
                    key: key.name.into_owned(),
                    key_span: key.span.start..key.span.end,
                    value: from_toml(&mut value),
                })
                .collect();
            entries.sort_by_key(|entry| entry.key_span.start);
            Value::Table(entries)
        }
    };
    Node { value, span }
}

fn parse_json(source: &Rc<Source>) -> Result<Node, Box<Diagnostic>> {
    let options = ParseOptions {
        allow_comments: true,
        allow_loose_object_property_names: false,
        allow_trailing_commas: true,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = jsonc_parser::parse_to_ast(&source.text, &CollectOptions::default(), &options)
        .map_err(|error| {
            let range = error.range();
            Box::new(
                Diagnostic::at(source, range.start..range.end, "not valid JSON")
                    .label(error.kind().to_string()),
            )
        })?;
    let Some(value) = parsed.value else {
        return Err(Box::new(
            Diagnostic::at(source, 0..0, "the file is empty").label("expected a JSON object"),
        ));
    };
    from_json(source, &value)
}

fn from_json(source: &Rc<Source>, value: &ast::Value<'_>) -> Result<Node, Box<Diagnostic>> {
    use jsonc_parser::common::Ranged;
    let range = value.range();
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Boolean(literal.value),
        ast::Value::NumberLit(literal) => Value::Number(literal.value.to_owned()),
        ast::Value::StringLit(literal) => Value::String(literal.value.clone().into_owned()),
        ast::Value::Array(array) => Value::Array(
            array
                .elements
                .iter()
                .map(|element| from_json(source, element))
                .collect::<Result<_, _>>()?,
        ),
        ast::Value::Object(object) => Value::Table(from_json_object(source, object)?),
    };
    Ok(Node { value, span: range.start..range.end })
}

/// JSON leaves open which of two equal keys counts; in a security rule that is no question to leave
/// open, so a repeated key is an error, as it is in TOML.
fn from_json_object(
    source: &Rc<Source>,
    object: &ast::Object<'_>,
) -> Result<Vec<Entry>, Box<Diagnostic>> {
    use jsonc_parser::common::Ranged;
    let mut entries: Vec<Entry> = Vec::with_capacity(object.properties.len());
    for property in &object.properties {
        let key = property.name.as_str().to_owned();
        let range = property.name.range();
        if entries.iter().any(|entry| entry.key == key) {
            return Err(Box::new(
                Diagnostic::at(source, range.start..range.end, format!("`{key}` is given twice"))
                    .label("repeated here"),
            ));
        }
        entries.push(Entry {
            key,
            key_span: range.start..range.end,
            value: from_json(source, &property.value)?,
        });
    }
    Ok(entries)
}
