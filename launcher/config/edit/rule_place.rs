//! Finds the list of a file that a rule is added to. Used by suggestions.

use std::cell::OnceCell;
use std::rc::Rc;

use jp_confine_engine::model::RuleSource;

use super::section::AccessSection;
use crate::config::decode::File;
use crate::config::document::{self, Node, Notation, TableEntry};
use crate::error::source::Source;

/// A file that a rule may be added to.
#[derive(Clone, Debug)]
pub(crate) struct RulePlace {
    source: Rc<Source>,
    notation: Notation,
    part: AccessSection,
    /// The tool that the rules are for.
    tool: Option<String>,
    list: OnceCell<Vec<String>>,
}

impl RulePlace {
    /// The place in `file` for rules of `tool`, or of every run if none is named.
    pub(crate) fn of(file: &File, part: AccessSection, tool: Option<&str>) -> Self {
        Self {
            source: Rc::clone(&file.source),
            notation: file.notation,
            part,
            tool: tool.map(str::to_owned),
            list: OnceCell::new(),
        }
    }

    /// The place in a file with this text.
    #[cfg(test)]
    pub(crate) fn of_text(text: &str, part: AccessSection, tool: Option<&str>) -> Self {
        Self {
            source: Rc::new(Source::new("/w/jp-confine.toml", text.to_owned())),
            notation: if text.starts_with('{') { Notation::Json } else { Notation::Toml },
            part,
            tool: tool.map(str::to_owned),
            list: OnceCell::new(),
        }
    }

    /// The file, as it was given or found.
    pub(crate) fn file(&self) -> &str {
        &self.source.name
    }

    /// The keys of the list or table that a rule is added to, so that existing rules still count.
    pub(crate) fn list(&self) -> &[String] {
        self.list.get_or_init(|| {
            let root = document::parse(&self.source, self.notation).ok();
            let lists = self.lists();
            let list = lists.iter().find_map(|list| self.existing(root.as_ref()?, list));
            let list = list.unwrap_or_else(|| nearest(root.as_ref(), lists));
            list.into_iter().map(str::to_owned).collect()
        })
    }

    /// The keys of the table with the existing rule from `source` on the program `name`.
    pub(crate) fn list_with(&self, name: &str, source: &RuleSource) -> Option<Vec<String>> {
        let line = source.line.filter(|_| *source.layer == *self.file())?;
        let root = document::parse(&self.source, self.notation).ok()?;
        let is_meant = |entry: &TableEntry<'_, '_>| {
            let before = self.source.breaks(0..entry.key.span().start);
            entry.name() == name && before + 1 == line as usize
        };
        let lists = self.lists();
        let mut lists = lists.iter();
        let list = lists.find(|list| {
            let table = document::find(&root, list);
            table.is_some_and(|table| document::entries(table).iter().any(is_meant))
        });
        Some(list?.iter().map(|&key| key.to_owned()).collect())
    }

    /// The lists that a rule may be in.
    fn lists(&self) -> Vec<Vec<&str>> {
        let key = self.part.key();
        let Some(tool) = &self.tool else { return vec![vec!["access", key]] };
        let tools = [vec!["tools", tool], vec!["conversation", "tools", tool]];
        let tables = self.part.tables();
        let lists = |it: Vec<_>| tables.iter().map(move |table| [&it[..], &[*table, key]].concat());
        tools.into_iter().flat_map(lists).collect()
    }

    /// The list under these keys, if it is in the file. A list that is merged has its items under `value`.
    fn existing<'k>(&self, root: &Node<'_>, list: &[&'k str]) -> Option<Vec<&'k str>> {
        let found = document::find(root, list)?.get_ref();
        let merged = [list, &["value"]].concat();
        match self.part.is_list() {
            false => found.is_table().then(|| list.to_owned()),
            true if found.is_array() => Some(list.to_owned()),
            true => found.is_table().then_some(merged),
        }
    }
}

/// The first of `lists`, none of which is in the file, that lacks the fewest tables.
fn nearest<'k>(root: Option<&Node<'_>>, lists: Vec<Vec<&'k str>>) -> Vec<&'k str> {
    let lacks = |list: &Vec<&str>| {
        let is_there = |keys: &usize| {
            root.is_some_and(|root| document::find(root, &list[..list.len() - keys]).is_some())
        };
        (0..list.len()).find(is_there).unwrap_or(list.len())
    };
    lists.into_iter().min_by_key(lacks).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program may have the name `value`, which is the key of the items in a merged list.
    #[test]
    fn rules_go_where_the_file_has_its_own() {
        use AccessSection::{Files, Programs, Variables};
        let merged = "[access.fs]\nstrategy = 'append'\n";
        for (part, text, tool, expected) in [
            (Files, "access.fs = []\n", None, "access fs"),
            (Files, merged, None, "access fs value"),
            (Files, "access = {net = []}\n", None, "access fs"),
            (Files, "{}", None, "access fs"),
            (Files, "{\"access\": {\"fs\": {\"value\": []}}}", None, "access fs value"),
            (Files, "[tools.edit.access]\nfs = []\n", Some("edit"), "tools edit access fs"),
            (Files, "[conversation.tools.t]\n", Some("t"), "conversation tools t access fs"),
            (Files, "[[access.fs]]\npath = '.'\n", Some("a b"), "tools a b access fs"),
            (Variables, "", None, "access env"),
            (Programs, "[access.commands.value]\n", None, "access commands"),
            (Programs, "[tools.t.sandbox.commands]\n", Some("t"), "tools t sandbox commands"),
        ] {
            let place = RulePlace::of_text(text, part, tool);
            assert_eq!(place.list().join(" "), expected, "{text}");
        }
    }

    #[test]
    fn only_the_rule_that_is_meant_is_replaced() {
        let found = |text: &str, tool: Option<&str>, layer: Option<&str>, line| {
            let place = RulePlace::of_text(text, AccessSection::Programs, tool);
            let layer = layer.unwrap_or(place.file()).into();
            place.list_with("sh", &RuleSource { layer, index: 0, line: Some(line) }).is_some()
        };
        let text = "[access.commands.sh]\n";
        assert!(found(text, None, None, 1));
        assert!(!found(text, None, Some("/h/config.toml"), 1));
        assert!(!found(text, Some("t"), None, 1));
        assert!(!found(text, None, None, 2));
        assert!(!found("[access.commands.ls]\n", None, None, 1));
    }
}
