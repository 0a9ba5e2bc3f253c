//! Values of a policy file that know their places, for checks that come after serde has read them. Used by
//! `decode_profile`.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

/// A value, and the bytes it was read from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub(super) struct Placed<T>(Spanned<T>);

/// A table whose keys the file chooses.
pub(super) type NamedValues<T> = BTreeMap<Placed<String>, T>;

impl<T> Placed<T> {
    pub(super) fn value(&self) -> &T {
        self.0.get_ref()
    }

    pub(super) fn into_value(self) -> T {
        self.0.into_inner()
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.0.span()
    }
}

/// The entries of a table in the order of the file.
pub(super) fn in_order<T>(table: NamedValues<T>) -> Vec<(Placed<String>, T)> {
    let mut entries: Vec<_> = table.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// The same as that of the value.
#[cfg(test)]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Placed<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}
