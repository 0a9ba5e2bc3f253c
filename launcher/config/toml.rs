//! Parses TOML with the crate `toml`, whose values know their places in the text. Used by `document`.

use std::rc::Rc;

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::document::{TableEntry, Value, ValueNode};
use crate::error::diagnostic::Diagnostic;
use crate::error::source::Source;

/// Parses the text of `source` as a table.
pub(super) fn parse(source: &Rc<Source>) -> Result<ValueNode<'_>, Box<Diagnostic>> {
    let table =
        DeTable::parse(&source.text).map_err(|error| Box::new(diagnostic(source, &error)))?;
    let span = table.span();
    Ok(ValueNode { value: from_table(table.into_inner()), span })
}

fn diagnostic(source: &Rc<Source>, error: &Error) -> Diagnostic {
    let span = error.span().unwrap_or(0..0);
    Diagnostic::at(source, span, "not valid TOML").label(error.message())
}

fn from_table(table: DeTable<'_>) -> Value<'_> {
    let mut entries: Vec<TableEntry<'_>> = table
        .into_iter()
        .map(|(key, value)| TableEntry {
            key_span: key.span(),
            key: key.into_inner(),
            value: from_value(value),
        })
        .collect();
    // The crate sorts them by name.
    entries.sort_by_key(|entry| entry.key_span.start);
    Value::Table(entries)
}

fn from_value(value: Spanned<DeValue<'_>>) -> ValueNode<'_> {
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::String(text) => Value::String(text),
        DeValue::Integer(number) => Value::Number(number.as_str().parse().ok()),
        DeValue::Float(_) => Value::Number(None),
        DeValue::Boolean(boolean) => Value::Boolean(boolean),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(items) => Value::Array(items.into_iter().map(from_value).collect()),
        DeValue::Table(table) => from_table(table),
    };
    ValueNode { value, span }
}
