//! Decodes lists of rules that merge with those of other layers.

use jp_confine_engine::layers::Layered;
use serde::Deserialize;

use super::decode::{Decoded, Decoder};
use super::document::{self, TableEntry};

/// The keys that say what a rule is about. A list with a merge strategy has none of them.
const SUBJECTS: [&str; 3] = ["path", "host", "name"];

impl Decoder<'_> {
    /// Decodes the list of rules `access.NAME`, plain or with a merge strategy (spec §2.6).
    pub(super) fn list<'a, T: Deserialize<'a>>(
        &self,
        list: TableEntry<'_, 'a>,
    ) -> Decoded<Layered<T>> {
        let mut entries = document::entries(list.value).into_iter();
        let Some(entry) = entries.find(|entry| SUBJECTS.contains(&entry.name())) else {
            return self.read(list.value);
        };
        // The file has one rule as `[access.fs]`. The message says so instead of listing merge keys.
        let name = list.name();
        Err(Box::new(
            self.at(entry.key.span(), format!("`access.{name}` is a list of rules"))
                .label("a rule's key, outside a rule")
                .help(format!("write the rule as `[[access.{name}]]`, with two brackets")),
        ))
    }
}
