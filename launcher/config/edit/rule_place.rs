//! Decides how to add a rule to a file: below a header or as a list item. The file's content may leave no place for a
//! header, and JSON has no headers. Used by suggestions.

use std::cell::OnceCell;
use std::rc::Rc;

use jp_confine_engine::Capabilities;
use jp_confine_engine::commands::CommandRule;
use jp_confine_engine::model::RuleSource;
use jp_confine_engine::net::NetRule;
use toml::Spanned;

use super::section::AccessSection;
use crate::config::decode::{self, File, Trust};
use crate::config::document::{self, Notation, TableEntry};
use crate::config::edit::rule_text::{self, RuleText};
use crate::error::source::Source;

/// The form of a rule that is added to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Below a header, which names the table.
    Header(String),
    /// As an item of a list, or of a table of programs. `list` is its path from the root. It exists, or `is_new`.
    Item { list: String, notation: Notation, is_new: bool },
}

impl Form {
    /// The list.
    pub(crate) fn list(&self) -> Option<&str> {
        match self {
            Self::Header(_) => None,
            Self::Item { list, .. } => Some(list),
        }
    }

    /// Whether the list has to be created.
    pub(crate) const fn is_new(&self) -> bool {
        matches!(self, Self::Item { is_new: true, .. })
    }
}

/// A file that a rule may be added to.
#[derive(Clone, Debug)]
pub(crate) struct RulePlace {
    source: Rc<Source>,
    notation: Notation,
    trust: Trust,
    part: AccessSection,
    /// The tool that the rules are for.
    tool: Option<String>,
    form: OnceCell<Form>,
}

impl RulePlace {
    /// The place in `file` for rules of `tool`, or of every run if none is named.
    pub(crate) fn of(file: &File, part: AccessSection, tool: Option<&str>) -> Self {
        Self {
            source: Rc::clone(&file.source),
            notation: file.notation,
            trust: file.trust,
            part,
            tool: tool.map(str::to_owned),
            form: OnceCell::new(),
        }
    }

    /// The place in a file with this text.
    #[cfg(test)]
    pub(crate) fn of_text(text: &str, part: AccessSection, tool: Option<&str>) -> Self {
        Self {
            source: Rc::new(Source::new("/w/jp-confine.toml", text.to_owned())),
            notation: if text.starts_with('{') { Notation::Json } else { Notation::Toml },
            trust: Trust::Workspace,
            part,
            tool: tool.map(str::to_owned),
            form: OnceCell::new(),
        }
    }

    /// The file, as it was given or found.
    pub(crate) fn file(&self) -> &str {
        &self.source.name
    }

    /// The form in which a rule is added, so that the file stays valid and its rules still count.
    pub(crate) fn form(&self) -> &Form {
        self.form.get_or_init(|| {
            let lists = self.lists();
            let form = lists.iter().find_map(|list| self.form_in(list));
            form.unwrap_or_else(|| self.new_list(&lists))
        })
    }

    /// A new one of `lists`, none of which exists: the one that lacks the fewest tables.
    fn new_list(&self, lists: &[Vec<&str>]) -> Form {
        let root = document::parse(&self.source, self.notation);
        let lacks = |list: &&Vec<&str>| {
            let is_there = |keys: &usize| {
                root.as_ref()
                    .is_ok_and(|root| document::find(root, &list[..list.len() - keys]).is_some())
            };
            (0..list.len()).find(is_there)
        };
        let list = lists.iter().min_by_key(|list| lacks(list).unwrap_or(list.len()));
        let list = list.map(|list| joined(list)).unwrap_or_default();
        Form::Item { list, notation: self.notation, is_new: true }
    }

    /// The form of the existing rule from `source` on the program `name`, if it is in one of these lists.
    pub(crate) fn form_of(&self, name: &str, source: &RuleSource) -> Option<Form> {
        let line = source.line.filter(|_| *source.layer == *self.file())?;
        let root = document::parse(&self.source, self.notation).ok()?;
        let is_meant = |entry: &TableEntry<'_, '_>| {
            entry.name() == name && self.line_of(entry.key.span().start) == line as usize
        };
        self.lists().iter().find_map(|list| {
            let entries = document::entries(document::find(&root, list)?);
            let entry = entries.into_iter().find(is_meant)?;
            let list = joined(list);
            Some(if self.is_in_header(entry) {
                Form::Header(list)
            } else {
                Form::Item { list, notation: self.notation, is_new: false }
            })
        })
    }

    /// Whether the key is in the header of a table.
    fn is_in_header(&self, entry: TableEntry<'_, '_>) -> bool {
        let before = self.source.text.get(..entry.key.span().start).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        self.notation == Notation::Toml && line.trim_start().starts_with('[')
    }

    fn line_of(&self, offset: usize) -> usize {
        self.source.breaks(0..offset) + 1
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

    /// The form in which `list` takes a rule. `None` if the list neither exists nor can be started.
    fn form_in(&self, list: &[&str]) -> Option<Form> {
        let merged = [list, &["value"]].concat();
        let merged = Some(merged.as_slice()).filter(|_| self.part.is_list());
        let header = |list: &[&str]| {
            let form = Form::Header(joined(list));
            self.takes(&form).then_some(form)
        };
        let item = |list: &[&str]| {
            let list = self.has_list(list).then(|| joined(list))?;
            Some(Form::Item { list, notation: self.notation, is_new: false })
        };
        let headers =
            || header(list).or_else(|| merged.filter(|it| self.has_list(it)).and_then(header));
        headers().or_else(|| item(list)).or_else(|| merged.and_then(item))
    }

    /// Whether a rule below this header can be added at the end of the file.
    fn takes(&self, form: &Form) -> bool {
        let text = format!("{}\n{}", self.source.text, self.tried().written(form));
        let source = Rc::new(Source::new(&self.source.name, text));
        self.notation == Notation::Toml && decode::file(&source, self.notation, self.trust).is_ok()
    }

    /// A rule that any file may have in addition to its own.
    fn tried(&self) -> RuleText {
        match self.part {
            AccessSection::Files => RuleText::File(".".to_owned(), Capabilities::NONE),
            AccessSection::Hosts => {
                RuleText::Host(NetRule { host: "localhost".to_owned(), ..NetRule::default() })
            }
            AccessSection::Variables => RuleText::Variable("A".to_owned()),
            AccessSection::Programs => {
                RuleText::Program("\u{1}".to_owned(), CommandRule::default())
            }
        }
    }

    fn has_list(&self, path: &[&str]) -> bool {
        document::parse(&self.source, self.notation).is_ok_and(|root| {
            let value = document::find(&root, path).map(Spanned::get_ref);
            value.is_some_and(|it| if self.part.is_list() { it.is_array() } else { it.is_table() })
        })
    }
}

/// Joins keys with dots, as in TOML.
fn joined(keys: &[&str]) -> String {
    keys.iter().map(|key| rule_text::key(key)).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form_of(part: AccessSection, text: &str, tool: Option<&str>) -> String {
        match RulePlace::of_text(text, part, tool).form() {
            Form::Header(table) => format!("[[{table}]]"),
            Form::Item { list, is_new: true, .. } => format!("new {list}"),
            Form::Item { list, .. } => list.clone(),
        }
    }

    /// Tests that follow suggestions have more forms: `cli_advice_{pasted,beyond,order}`. A program may have the name
    /// `value`, which is the key of the items in a merged list.
    #[test]
    fn rules_are_written_as_the_file_takes_them() {
        use AccessSection::{Files, Programs, Variables};
        let merged = "[access.fs]\nstrategy = 'append'\n[[access.fs.value]]\npath = '.'\n";
        for (part, text, tool, expected) in [
            (Files, "access.fs = []\n", None, "access.fs"),
            (Files, merged, None, "[[access.fs.value]]"),
            (Files, "access = {net = []}\n", None, "new access.fs"),
            (Files, "{}", None, "new access.fs"),
            (Files, "{\"access\": {\"fs\": {\"value\": []}}}", None, "access.fs.value"),
            (Files, "[tools.edit.access]\nfs = []\n", Some("edit"), "tools.edit.access.fs"),
            (Files, "{\"access\": {\"fs\": []}}", Some("edit"), "new tools.edit.access.fs"),
            (Files, "[[access.fs]]\npath = '.'\n", Some("a b"), "[[tools.\"a b\".access.fs]]"),
            (Variables, "", None, "[[access.env]]"),
            (Variables, "access.env = [{name = 'A'}]\n", None, "access.env"),
            (Programs, "[access.commands.value]\n", None, "[[access.commands]]"),
            (Programs, "[access]\ncommands = {value = {}}\n", None, "access.commands"),
            (Programs, "access.commands = {sh = {}}\n", Some("t"), "[[tools.t.access.commands]]"),
        ] {
            assert_eq!(form_of(part, text, tool), expected, "{text}");
        }
    }

    /// `cli_advice_beyond` follows the suggestions to replace one.
    #[test]
    fn only_the_rule_that_is_meant_is_replaced() {
        let found = |text: &str, tool: Option<&str>, layer: Option<&str>, line| {
            let place = RulePlace::of_text(text, AccessSection::Programs, tool);
            let layer = layer.unwrap_or(place.file()).into();
            place.form_of("sh", &RuleSource { layer, index: 0, line: Some(line) }).is_some()
        };
        let text = "[access.commands.sh]\n";
        assert!(found(text, None, None, 1));
        assert!(!found(text, None, Some("/h/config.toml"), 1));
        assert!(!found(text, Some("t"), None, 1));
        assert!(!found(text, None, None, 2));
        assert!(!found("[access.commands.ls]\n", None, None, 1));
    }
}
