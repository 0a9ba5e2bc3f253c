//! Decodes a policy that somebody compiled: what a host sends its tools, alone or in its `Context` (spec §2.3, §2.5), and
//! what `compile` prints.

use std::path::Path;

use jp_confine_engine::canonical::{self, Op};
use jp_confine_engine::layers::Layered;
use jp_confine_engine::model::{CompiledRule, FsRule};

use super::decode::{Decoded, Decoder, File, Parts, Trust};
use super::document::{self, TableEntry};

/// What `compile` prints besides. It comes from the rules, and will again.
const DERIVED: [&str; 4] = ["workspace", "profiles", "grants", "views"];

impl Decoder<'_> {
    /// Decodes such a file. Only `access` counts in a host's `Context`, which is known by `root`.
    pub(super) fn received(
        &mut self,
        entries: Vec<TableEntry<'_, '_>>,
        trust: Trust,
        into: &mut Parts,
    ) -> Decoded<()> {
        if entries.iter().all(|entry| entry.name() != "root") {
            return entries
                .into_iter()
                .try_for_each(|entry| self.received_part(entry, trust, into));
        }
        for entry in entries.into_iter().filter(|entry| entry.name() == "access") {
            for inner in self.table(entry.value)? {
                self.received_part(inner, trust, into)?;
            }
        }
        Ok(())
    }

    fn received_part(
        &mut self,
        entry: TableEntry<'_, '_>,
        trust: Trust,
        into: &mut Parts,
    ) -> Decoded<()> {
        match entry.name() {
            "fs" => self.received_rules(entry, trust, into),
            "file_policy" => {
                into.tiers = Some(self.file_policy(entry.value, trust)?);
                Ok(())
            }
            key if DERIVED.contains(&key) => Ok(()),
            _ => self.access_besides(&["fs", "file_policy"], entry, &mut into.access),
        }
    }

    /// The rules as a person would have written them. The author's approvals count if the file has the user's trust.
    fn received_rules(
        &mut self,
        entry: TableEntry<'_, '_>,
        trust: Trust,
        into: &mut Parts,
    ) -> Decoded<()> {
        let rules: Vec<CompiledRule> = self.read(entry.value)?;
        let mut list: Vec<FsRule> = rules.iter().map(CompiledRule::written).collect();
        let nodes = entry.value.get_ref().as_array().into_iter().flat_map(|items| items.iter());
        for (index, (rule, node)) in list.iter_mut().zip(nodes).enumerate() {
            let path = document::find(node, &["lexical_path"]).unwrap_or(node).span();
            let source = self.source_of(index, path.start);
            *rule = rule.clone().with_source(source.clone());
            self.mark(source, path, node.span());
        }
        let approved = rules.into_iter().filter(|rule| rule.external);
        let approved = approved.filter_map(|rule| Some((rule.lexical_path, rule.approved_target?)));
        if trust == Trust::User {
            into.approved.extend(approved);
        }
        into.access.fs = Some(Layered::Plain(list));
        Ok(())
    }
}

impl File {
    /// Marks denials whose paths lead out of the workspace at `root`, which is canonical. If the file was received, each
    /// stands for an external rule that its author dropped (spec §6.4). Looks at the disk.
    pub(super) fn mark_dropped(&mut self, root: &Path) {
        let Some(Layered::Plain(rules)) = self.fs.as_mut().filter(|_| self.is_received) else {
            return;
        };
        for rule in rules.iter_mut().filter(|rule| rule.capabilities().is_empty()) {
            let found = canonical::resolve(root, rule.path().as_std_path(), Op::Content);
            if found.is_ok_and(|found| !found.path.starts_with(root)) {
                *rule = rule.clone().with_external(true);
            }
        }
    }
}
