//! Decodes lists of rules that merge with those of other layers.

use jp_confine_engine::layers::{Layered, Merged, Strategy};

use super::decode::{Decoded, Decoder};
use super::document::{Value, ValueNode};
use crate::error::diagnostic::nearest;

const MERGE_KEYS: [&str; 4] = ["strategy", "value", "dedup", "discard_when_merged"];

impl Decoder<'_> {
    /// Decodes the list of rules `access.NAME`, plain or with a merge strategy (spec §2.6). `one` decodes each rule,
    /// which has some of `keys`.
    pub(super) fn list<T>(
        &mut self,
        name: &str,
        keys: &[&str],
        node: &ValueNode<'_>,
        mut one: impl FnMut(&mut Self, usize, &ValueNode<'_>) -> Decoded<T>,
    ) -> Decoded<Layered<T>> {
        let mut rules = |decoder: &mut Self, items: &[ValueNode<'_>]| {
            let each = items.iter().enumerate();
            each.map(|(index, item)| one(decoder, index, item)).collect::<Decoded<Vec<T>>>()
        };
        let entries = match &node.value {
            Value::Array(items) => return Ok(Layered::Plain(rules(self, items)?)),
            Value::Table(entries) => entries,
            _ => {
                return self.expected(
                    node,
                    "a list of rules, or a table with `strategy` and `value`",
                    &format!("write each rule as `[[access.{name}]]`"),
                );
            }
        };
        let mut value = None;
        let (mut strategy, mut dedup, mut discard_when_merged) = (Strategy::Append, None, false);
        for entry in entries {
            match &*entry.key {
                "strategy" => strategy = self.strategy(&entry.value)?,
                "value" => {
                    let Value::Array(items) = &entry.value.value else {
                        return self.expected(&entry.value, "a list of rules", "");
                    };
                    value = Some(rules(self, items)?);
                }
                "dedup" => dedup = Some(self.boolean(&entry.value)?),
                "discard_when_merged" => discard_when_merged = self.boolean(&entry.value)?,
                // The file has one rule as `[access.fs]`. The message says so instead of listing merge keys.
                key if keys.contains(&key) => {
                    return Err(Box::new(
                        self.at(&entry.key_span, format!("`access.{name}` is a list of rules"))
                            .label("a rule's key, outside a rule")
                            .help(format!(
                                "write the rule as `[[access.{name}]]`, with two brackets"
                            )),
                    ));
                }
                _ => return self.unknown(entry, &MERGE_KEYS),
            }
        }
        let Some(value) = value else {
            return Err(Box::new(
                self.at(&node.span, "`value` is missing")
                    .label("this merges a list that is not there")
                    .help("add `value = [ … ]`"),
            ));
        };
        Ok(Layered::Merged(Merged { strategy, value, dedup, discard_when_merged }))
    }

    fn strategy(&self, node: &ValueNode<'_>) -> Decoded<Strategy> {
        let known = ["append", "prepend", "replace"];
        match self.string(node)? {
            "append" => Ok(Strategy::Append),
            "prepend" => Ok(Strategy::Prepend),
            "replace" => Ok(Strategy::Replace),
            other => {
                let help = match nearest(other, &known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "expected append, prepend or replace".to_owned(),
                };
                Err(Box::new(
                    self.at(&node.span, format!("there is no strategy `{other}`"))
                        .label("unknown")
                        .help(help),
                ))
            }
        }
    }
}
