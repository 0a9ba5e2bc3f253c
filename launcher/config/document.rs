//! Parses TOML and JSON into one kind of tree. Each value has its place in the text, so that errors can point at it.
//! Used by `decode`, `edit` and `learn`.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, ast};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

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

/// JSON as policy files have it: with comments and trailing commas.
pub(crate) const JSON: ParseOptions = ParseOptions {
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

/// A value and the bytes it was read from.
pub(crate) type Node<'a> = Spanned<DeValue<'a>>;

/// One `key = value` of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableEntry<'n, 'a> {
    pub(crate) key: &'n Spanned<Cow<'a, str>>,
    pub(crate) value: &'n Node<'a>,
}

impl<'n> TableEntry<'n, '_> {
    /// The key as text.
    pub(crate) fn name(&self) -> &'n str {
        self.key.get_ref()
    }
}

/// The node under these keys, one below the other.
pub(crate) fn find<'n, 'a>(node: &'n Node<'a>, keys: &[&str]) -> Option<&'n Node<'a>> {
    keys.iter().try_fold(node, |node, key| node.get_ref().as_table()?.get(*key))
}

/// The entries of a table in the order of the text. Any other value has none.
pub(crate) fn entries<'n, 'a>(node: &'n Node<'a>) -> Vec<TableEntry<'n, 'a>> {
    let table = node.get_ref().as_table();
    let entries = table.into_iter().flat_map(DeTable::iter);
    let mut entries: Vec<_> = entries.map(|(key, value)| TableEntry { key, value }).collect();
    // The crate sorts them by name.
    entries.sort_by_key(|entry| entry.key.span().start);
    entries
}

/// Parses `source`. An empty JSON text is an error. An empty TOML text is an empty table.
pub(crate) fn parse(source: &Rc<Source>, notation: Notation) -> Result<Node<'_>, Box<Diagnostic>> {
    if notation == Notation::Json {
        return parse_json(source);
    }
    let table = DeTable::parse(&source.text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        Diagnostic::at(source, span, "not valid TOML").label(error.message())
    })?;
    Ok(Spanned::new(table.span(), DeValue::Table(table.into_inner())))
}

fn parse_json(source: &Rc<Source>) -> Result<Node<'_>, Box<Diagnostic>> {
    let parsed = jsonc_parser::parse_to_ast(&source.text, &CollectOptions::default(), &JSON);
    let parsed = parsed.map_err(|error| {
        let label = error.kind().to_string();
        Diagnostic::at(source, span(&error.range()), "not valid JSON").label(label)
    })?;
    let Some(value) = parsed.value else {
        return Err(Box::new(
            Diagnostic::at(source, 0..0, "the file is empty").label("expected a JSON object"),
        ));
    };
    from_json(source, value)
}

fn from_json<'a>(source: &Rc<Source>, value: ast::Value<'a>) -> Result<Node<'a>, Box<Diagnostic>> {
    let place = span(&value.range());
    let unusable = |what| {
        let title = format!("{what} where a value belongs");
        Box::new(Diagnostic::at(source, place.clone(), title).label("no key takes this"))
    };
    let value = match value {
        ast::Value::NullKeyword(_) => return Err(unusable("null")),
        ast::Value::BooleanLit(literal) => DeValue::Boolean(literal.value),
        ast::Value::NumberLit(number) => {
            let number = DeValue::parse(number.value);
            number.map_err(|_| unusable("a number that is out of range"))?.into_inner()
        }
        ast::Value::StringLit(literal) => DeValue::String(literal.value),
        ast::Value::Array(array) => {
            let items = array.elements.into_iter().map(|element| from_json(source, element));
            DeValue::Array(items.collect::<Result<_, _>>()?)
        }
        ast::Value::Object(object) => DeValue::Table(from_json_object(source, object)?),
    };
    Ok(Spanned::new(place, value))
}

/// Converts an object. A key that is null is not set. JSON leaves open which of two equal keys counts. A security rule
/// must be clear, so a repeated key is an error, as in TOML.
fn from_json_object<'a>(
    source: &Rc<Source>,
    object: ast::Object<'a>,
) -> Result<DeTable<'a>, Box<Diagnostic>> {
    let mut table = DeTable::new();
    for property in object.properties {
        let place = span(&property.name.range());
        let key = match property.name {
            ast::ObjectPropName::String(name) => name.value,
            ast::ObjectPropName::Word(name) => Cow::Borrowed(name.value),
        };
        if table.contains_key(&*key) {
            let title = format!("`{key}` is given twice");
            return Err(Box::new(Diagnostic::at(source, place, title).label("repeated here")));
        }
        if !matches!(property.value, ast::Value::NullKeyword(_)) {
            table.insert(Spanned::new(place, key), from_json(source, property.value)?);
        }
    }
    Ok(table)
}

fn span(range: &jsonc_parser::common::Range) -> Range<usize> {
    range.start..range.end
}
