//! Merges the lists of several configuration layers (spec §2.6).

use std::fmt;
use std::marker::PhantomData;
use std::string::String;
use std::vec::Vec;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::warning::Warning;

/// One layer's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Layered<T> {
    /// A plain list, which is appended to those of earlier layers.
    Plain(Vec<T>),
    /// A list with its own way of merging.
    Merged(Merged<T>),
}

/// The object form of a list: `{strategy, value, dedup?, discard_when_merged?}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, bound(deserialize = "T: Deserialize<'de>"))]
pub struct Merged<T> {
    /// How the value merges with those of earlier layers.
    #[serde(default)]
    pub strategy: Strategy,
    /// The list itself.
    #[serde(default)]
    pub value: Vec<T>,
    /// Whether only the first of equal elements is kept. A later layer's setting wins over an earlier one's. `inherit`
    /// is the same as none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "dedup")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Dedup>"))]
    pub dedup: Option<bool>,
    /// Whether the value is a default that the next layer discards, whatever its strategy.
    #[serde(default)]
    pub discard_when_merged: bool,
}

/// How a list merges with those of earlier layers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// After them. On equal paths the later layer wins.
    #[default]
    Append,
    /// Before them. On equal paths the earlier layers win.
    Prepend,
    /// Instead of them.
    Replace,
}

/// One layer's list, with the layer's name for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer<T> {
    /// A file name, or another name of the layer.
    pub name: String,
    /// Its list.
    pub list: Layered<T>,
}

/// Merges the lists of all layers, lowest first. If a layer leaves the list empty, the list counts as undeclared, with
/// a warning (R15).
#[must_use]
pub fn merge<T: PartialEq>(layers: impl IntoIterator<Item = Layer<T>>) -> (Vec<T>, Vec<Warning>) {
    let mut list = Vec::new();
    let mut lifted = None;
    let mut dedup = false;
    let mut discard = false;
    for (index, layer) in layers.into_iter().enumerate() {
        let merged = Merged::from(layer.list);
        let had_rules = !list.is_empty();
        let replaces = merged.strategy == Strategy::Replace;
        dedup = merged.dedup.unwrap_or(dedup);
        if replaces || discard {
            list.clear();
        }
        match merged.strategy {
            Strategy::Prepend => drop(list.splice(0..0, merged.value)),
            Strategy::Append | Strategy::Replace => list.extend(merged.value),
        }
        discard = merged.discard_when_merged;
        if dedup && index > 0 {
            keep_first_of_equal(&mut list);
        }
        if list.is_empty() && (replaces || had_rules) {
            lifted = Some(Warning::Lifted { layer: layer.name });
        }
    }
    let warnings = lifted.filter(|_| list.is_empty()).into_iter().collect();
    (list, warnings)
}

/// Keeps the first of equal elements, as JP does whenever it merges two lists.
fn keep_first_of_equal<T: PartialEq>(list: &mut Vec<T>) {
    let mut index = 0;
    while index < list.len() {
        let (before, rest) = list.split_at(index);
        if before.contains(&rest[0]) {
            list.remove(index);
        } else {
            index += 1;
        }
    }
}

/// A setting of `dedup` as written.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Dedup {
    Set(bool),
    Word(Inherit),
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum Inherit {
    Inherit,
}

fn dedup<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    Ok(match Dedup::deserialize(from)? {
        Dedup::Set(set) => Some(set),
        Dedup::Word(Inherit::Inherit) => None,
    })
}

impl<T> From<Layered<T>> for Merged<T> {
    fn from(list: Layered<T>) -> Self {
        match list {
            Layered::Merged(merged) => merged,
            Layered::Plain(value) => {
                Self { strategy: Strategy::Append, value, dedup: None, discard_when_merged: false }
            }
        }
    }
}

/// Written by hand, because an untagged enum would hide which key of which form is wrong.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Layered<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Forms(PhantomData))
    }
}

/// Both forms in one schema. For a choice of two, validators would not say which key of which form is wrong.
#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Layered<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        std::format!("Layered{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = Merged::<T>::json_schema(generator);
        schema.insert("type".into(), serde_json::json!(["array", "object"]));
        schema.insert("items".into(), generator.subschema_for::<T>().to_value());
        let words = "A list of rules, or an object with such a list and its way of merging.";
        schema.insert("description".into(), words.into());
        schema
    }
}

struct Forms<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Forms<T> {
    type Value = Layered<T>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list, or an object with `strategy` and `value`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Layered::Plain)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Merged::deserialize(MapAccessDeserializer::new(map)).map(Layered::Merged)
    }
}
