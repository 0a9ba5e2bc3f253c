//! How one more rule of `access.fs` is written in a file: what that has already may leave no place for a header,
//! and JSON has none.

use std::cell::OnceCell;
use std::rc::Rc;

use super::decode::{self, File, Trust};
use super::document::{self, Notation, Source, Value};
use crate::rule_text;

/// How a rule is written that is added to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Below a header, which names the table.
    Header(String),
    /// As one more of a list that is there, by its path from the root.
    Item { list: String, notation: Notation },
}

impl Form {
    /// The list that is there.
    pub(crate) fn list(&self) -> Option<&str> {
        match self {
            Self::Header(_) => None,
            Self::Item { list, .. } => Some(list),
        }
    }
}

/// A file that a rule may be added to.
#[derive(Clone, Debug)]
pub(crate) struct RulePlace {
    source: Rc<Source>,
    notation: Notation,
    trust: Trust,
    /// Of whose rules.
    tool: Option<String>,
    /// Those of every run may be added to as well.
    of_run: bool,
    form: OnceCell<Form>,
}

impl RulePlace {
    /// One that there is not yet, for rules of `tool` if one is named.
    pub(super) fn new(source: Rc<Source>, trust: Trust, tool: Option<&str>) -> Self {
        let (notation, tool) = (Notation::Toml, tool.map(str::to_owned));
        Self { source, notation, trust, tool, of_run: true, form: OnceCell::new() }
    }

    /// What `file` has of rules of `tool`, if one is named, and `of_run` of those of every run.
    pub(super) fn of(file: &File, tool: Option<&str>, of_run: bool) -> Self {
        let place = Self::new(Rc::clone(&file.source), file.trust, tool);
        Self { notation: file.notation, of_run, ..place }
    }

    /// A file with this text.
    #[cfg(test)]
    pub(crate) fn of_text(text: &str, notation: Notation, tool: Option<&str>) -> Self {
        let source = Rc::new(Source::new("/w/jp-confine.toml", text.to_owned()));
        Self { notation, ..Self::new(source, Trust::Workspace, tool) }
    }

    /// The file, as it was given or found.
    pub(crate) fn file(&self) -> &str {
        &self.source.name
    }

    /// As [`Self::file`], if it is TOML.
    pub(crate) fn toml_file(&self) -> Option<&str> {
        (self.notation == Notation::Toml).then_some(self.file())
    }

    /// How a rule is added to it, so that it can still be read, and the rules that it has still count.
    pub(crate) fn form(&self) -> &Form {
        self.form.get_or_init(|| {
            let lists = self.lists();
            let form = lists.iter().find_map(|list| self.form_in(list));
            let run = lists.last().map(|list| joined(list)).unwrap_or_default();
            form.unwrap_or(Form::Item { list: run, notation: self.notation })
        })
    }

    /// Whether there is such a list, or can be one.
    pub(super) fn is_possible(&self) -> bool {
        self.lists().iter().any(|list| self.form_in(list).is_some())
    }

    /// Whether the list that is added to may be so behind this line.
    pub(crate) fn reaches_behind(&self, line: u32) -> bool {
        let Form::Item { list, .. } = self.form() else { return true };
        let root = document::parse(&self.source, self.notation);
        let lists = self.lists();
        let merged = lists.iter().map(|list| [list, &["value"][..]].concat());
        let all: Vec<Vec<&str>> = lists.iter().cloned().chain(merged).collect();
        let named = all.iter().find(|it| joined(it) == *list);
        root.is_ok_and(|root| {
            let node = named.and_then(|list| root.find(list));
            node.is_some_and(|node| {
                let line_of = |at| self.source.breaks(0..at) + 1;
                (line_of(node.span.start)..=line_of(node.span.end)).contains(&(line as usize))
            })
        })
    }

    /// The lists that a rule may be in, that of the run last.
    fn lists(&self) -> Vec<Vec<&str>> {
        let rules = ["access", "fs"];
        let tool = self.tool.iter().flat_map(|tool| {
            let (ours, theirs) = (vec!["tools", tool], vec!["conversation", "tools", tool]);
            [[ours, rules.to_vec()].concat(), [theirs, rules.to_vec()].concat()]
        });
        tool.chain(self.of_run.then(|| rules.to_vec())).collect()
    }

    /// How `list` takes a rule; not at all where it neither is there nor can be begun.
    fn form_in(&self, list: &[&str]) -> Option<Form> {
        let merged = [list, &["value"]].concat();
        let header = |list: &[&str]| {
            let table = joined(list);
            self.takes(&table).then_some(Form::Header(table))
        };
        let item = |list: &[&str]| {
            let list = self.has_list(list).then(|| joined(list))?;
            Some(Form::Item { list, notation: self.notation })
        };
        let headers =
            || header(list).or_else(|| header(&merged).filter(|_| self.has_list(&merged)));
        headers().or_else(|| item(list)).or_else(|| item(&merged))
    }

    /// Whether a rule below this header may stand at the end of the file.
    fn takes(&self, table: &str) -> bool {
        let text = format!("{}\n[[{table}]]\npath = \".\"\n", self.source.text);
        let source = Rc::new(Source::new(&self.source.name, text));
        self.notation == Notation::Toml && decode::file(&source, self.notation, self.trust).is_ok()
    }

    fn has_list(&self, path: &[&str]) -> bool {
        document::parse(&self.source, self.notation).is_ok_and(|root| {
            root.find(path).is_some_and(|node| matches!(node.value, Value::Array(_)))
        })
    }
}

/// Keys with dots in between, as TOML has them.
fn joined(keys: &[&str]) -> String {
    keys.iter().map(|key| rule_text::key(key)).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str, tool: Option<&str>) -> String {
        let notation = if text.starts_with('{') { Notation::Json } else { Notation::Toml };
        match RulePlace::of_text(text, notation, tool).form() {
            Form::Header(table) => format!("[[{table}]]"),
            Form::Item { list, .. } => list.clone(),
        }
    }

    /// A header where the file may have one more, else the list that it has.
    #[test]
    fn rules_are_written_as_the_file_takes_them() {
        let rule = "{path = '.'}";
        let merged = "strategy = 'append'\n";
        let rows = [
            (String::new(), "[[access.fs]]"),
            ("[[access.fs]]\npath = '.'\n".to_owned(), "[[access.fs]]"),
            (format!("[access]\nfs = [{rule}]\n"), "access.fs"),
            ("access.fs = []\n".to_owned(), "access.fs"),
            (format!("access = {{fs = [{rule}]}}\n"), "access.fs"),
            (format!("[access.fs]\n{merged}value = [{rule}]\n"), "access.fs.value"),
            (
                format!("[access.fs]\n{merged}[[access.fs.value]]\npath = '.'\n"),
                "[[access.fs.value]]",
            ),
            ("access = {net = []}\n".to_owned(), "access.fs"),
            ("{\"access\": {\"fs\": []}}".to_owned(), "access.fs"),
            ("{\"access\": {\"fs\": {\"value\": []}}}".to_owned(), "access.fs.value"),
        ];
        for (text, expected) in rows {
            assert_eq!(form(&text, None), expected, "{text}");
        }
    }

    /// Other tables than that of rules are advised in TOML, and not for a file of JSON.
    #[test]
    fn tables_are_for_files_in_toml() {
        let place = |notation| RulePlace::of_text("", notation, None);
        assert_eq!(place(Notation::Toml).toml_file(), Some("/w/jp-confine.toml"));
        assert_eq!(place(Notation::Json).toml_file(), None);
    }

    #[test]
    fn rules_of_tools_are_written_where_the_tool_is() {
        let rows = [
            ("[[access.fs]]\npath = '.'\n", "[[tools.edit.access.fs]]"),
            ("[[tools.edit.access.fs]]\npath = '.'\n", "[[tools.edit.access.fs]]"),
            ("[tools.edit.access]\nfs = []\n", "tools.edit.access.fs"),
            (
                "[[conversation.tools.edit.access.fs]]\npath = '.'\n",
                "[[conversation.tools.edit.access.fs]]",
            ),
            ("[conversation.tools.edit.access]\nfs = []\n", "conversation.tools.edit.access.fs"),
            ("{\"tools\": {\"edit\": {\"access\": {\"fs\": []}}}}", "tools.edit.access.fs"),
            ("{\"access\": {\"fs\": []}}", "access.fs"),
        ];
        for (text, expected) in rows {
            assert_eq!(form(text, Some("edit")), expected, "{text}");
        }
        assert_eq!(form("", Some("a b")), "[[tools.\"a b\".access.fs]]");
    }
}
