//! Parses TOML and JSON into one kind of tree. Each value has its place in the text, so that errors can point at it.
//! Used by `decode`, `edit` and `learn`.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use jsonc_parser::{CollectOptions, ParseOptions, ast};

use super::toml;
use crate::error::diagnostic::Diagnostic;
use crate::error::source::Source;

/// The notation of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// TOML 1.0.
    Toml,
    /// JSON, with comments and trailing commas allowed.
    Json,
}

impl Notation {
    /// The notation for the extension of a file's name.
    pub(crate) fn named(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "json" | "jsonc" => Some(Self::Json),
            "toml" => Some(Self::Toml),
            _ => None,
        }
    }
}

/// A value and the bytes it was read from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueNode<'a> {
    pub(crate) value: Value<'a>,
    pub(crate) span: Range<usize>,
}

/// A value in a configuration file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Boolean(bool),
    /// A number. Its value is known if it can be a port, since no key takes any other number.
    Number(Option<u16>),
    /// A date or a time, which only TOML has and no key takes.
    Date,
    String(Cow<'a, str>),
    Array(Vec<ValueNode<'a>>),
    Table(Vec<TableEntry<'a>>),
}

/// One `key = value` of a table, in the order of the text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableEntry<'a> {
    pub(crate) key: Cow<'a, str>,
    pub(crate) key_span: Range<usize>,
    pub(crate) value: ValueNode<'a>,
}

impl ValueNode<'_> {
    /// The node under these keys, one below the other.
    pub(crate) fn find(&self, keys: &[&str]) -> Option<&Self> {
        let Some((first, rest)) = keys.split_first() else { return Some(self) };
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == *first)?.value.find(rest)
    }
}

impl Value<'_> {
    /// The kind of the value, for "expected X, found Y".
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Date => "a date or time",
            Self::String(_) => "a string",
            Self::Array(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Parses `source`. An empty JSON text is an error. An empty TOML text is an empty table.
pub(crate) fn parse(
    source: &Rc<Source>,
    notation: Notation,
) -> Result<ValueNode<'_>, Box<Diagnostic>> {
    match notation {
        Notation::Toml => toml::parse(source),
        Notation::Json => parse_json(source),
    }
}

fn parse_json(source: &Rc<Source>) -> Result<ValueNode<'_>, Box<Diagnostic>> {
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
    from_json(source, value)
}

fn from_json<'a>(
    source: &Rc<Source>,
    value: ast::Value<'a>,
) -> Result<ValueNode<'a>, Box<Diagnostic>> {
    use jsonc_parser::common::Ranged;
    let range = value.range();
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Boolean(literal.value),
        ast::Value::NumberLit(number) => Value::Number(number.value.parse().ok()),
        ast::Value::StringLit(literal) => Value::String(literal.value),
        ast::Value::Array(array) => Value::Array(
            array
                .elements
                .into_iter()
                .map(|element| from_json(source, element))
                .collect::<Result<_, _>>()?,
        ),
        ast::Value::Object(object) => Value::Table(from_json_object(source, object)?),
    };
    Ok(ValueNode { value, span: range.start..range.end })
}

/// Converts an object. JSON leaves open which of two equal keys counts. A security rule must be clear, so a repeated
/// key is an error, as in TOML.
fn from_json_object<'a>(
    source: &Rc<Source>,
    object: ast::Object<'a>,
) -> Result<Vec<TableEntry<'a>>, Box<Diagnostic>> {
    use jsonc_parser::common::Ranged;
    let mut entries: Vec<TableEntry<'_>> = Vec::with_capacity(object.properties.len());
    for property in object.properties {
        let range = property.name.range();
        let key = match property.name {
            ast::ObjectPropName::String(name) => name.value,
            ast::ObjectPropName::Word(name) => Cow::Borrowed(name.value),
        };
        if entries.iter().any(|entry| entry.key == key) {
            return Err(Box::new(
                Diagnostic::at(source, range.start..range.end, format!("`{key}` is given twice"))
                    .label("repeated here"),
            ));
        }
        entries.push(TableEntry {
            key,
            key_span: range.start..range.end,
            value: from_json(source, property.value)?,
        });
    }
    Ok(entries)
}
