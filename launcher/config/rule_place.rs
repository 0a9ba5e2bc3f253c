//! How one more rule is written in a file: what that has already may leave no place for a header, and JSON has none.

use std::cell::OnceCell;
use std::rc::Rc;

use jp_confine_policy::Capabilities;
use jp_confine_policy::commands::CommandRule;
use jp_confine_policy::net::NetRule;

use super::decode::{self, File, Trust};
use super::document::{self, Entry, Notation, Source, Value};
use super::part::Part;
use crate::rule_text::{self, Rule};

/// How a rule is written that is added to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Below a header, which names the table.
    Header(String),
    /// As one more of a list that is there, or of a table of programs, by its path from the root.
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
    part: Part,
    /// Of whose rules.
    tool: Option<String>,
    /// Those of every run may be added to as well.
    of_run: bool,
    form: OnceCell<Form>,
}

impl RulePlace {
    /// One that there is not yet, for rules of `tool` if one is named.
    pub(super) fn new(source: Rc<Source>, trust: Trust, part: Part, tool: Option<&str>) -> Self {
        let (notation, tool) = (Notation::Toml, tool.map(str::to_owned));
        Self { source, notation, trust, part, tool, of_run: true, form: OnceCell::new() }
    }

    /// What `file` has of rules of `tool`, if one is named, and `of_run` of those of every run.
    pub(super) fn of(file: &File, part: Part, tool: Option<&str>, of_run: bool) -> Self {
        let place = Self::new(Rc::clone(&file.source), file.trust, part, tool);
        Self { notation: file.notation, of_run, ..place }
    }

    /// A file with this text.
    #[cfg(test)]
    pub(crate) fn of_text(text: &str, part: Part, tool: Option<&str>) -> Self {
        let notation = if text.starts_with('{') { Notation::Json } else { Notation::Toml };
        let source = Rc::new(Source::new("/w/jp-confine.toml", text.to_owned()));
        Self { notation, ..Self::new(source, Trust::Workspace, part, tool) }
    }

    /// The file, as it was given or found.
    pub(crate) fn file(&self) -> &str {
        &self.source.name
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

    /// How the rule about the program `name` is written that begins on `line`, if one does.
    pub(crate) fn form_of(&self, name: &str, line: u32) -> Option<Form> {
        let root = document::parse(&self.source, self.notation).ok()?;
        let is_meant = |entry: &&Entry<'_>| {
            entry.key == name && self.line_of(entry.key_span.start) == line as usize
        };
        self.lists().iter().find_map(|list| {
            let Value::Table(entries) = &root.find(list)?.value else { return None };
            let entry = entries.iter().find(is_meant)?;
            let list = joined(list);
            Some(if self.is_in_header(entry) {
                Form::Header(list)
            } else {
                Form::Item { list, notation: self.notation }
            })
        })
    }

    /// Whether the key is that of the header of a table.
    fn is_in_header(&self, entry: &Entry<'_>) -> bool {
        let before = self.source.text.get(..entry.key_span.start).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        self.notation == Notation::Toml && line.trim_start().starts_with('[')
    }

    fn line_of(&self, offset: usize) -> usize {
        self.source.breaks(0..offset) + 1
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
                let lines = self.line_of(node.span.start)..=self.line_of(node.span.end);
                lines.contains(&(line as usize))
            })
        })
    }

    /// The lists that a rule may be in, that of the run last.
    fn lists(&self) -> Vec<Vec<&str>> {
        let key = self.part.key();
        let tool = self.tool.iter().flat_map(|tool| {
            [vec!["tools", tool], vec!["conversation", "tools", tool]].into_iter().flat_map(|it| {
                let tables = self.part.tables().iter();
                tables.map(move |table| [&it[..], &[*table, key]].concat())
            })
        });
        tool.chain(self.of_run.then(|| vec!["access", key])).collect()
    }

    /// How `list` takes a rule; not at all where it neither is there nor can be begun.
    fn form_in(&self, list: &[&str]) -> Option<Form> {
        let merged = [list, &["value"]].concat();
        let merged = Some(merged.as_slice()).filter(|_| self.part.is_list());
        let header = |list: &[&str]| {
            let form = Form::Header(joined(list));
            self.takes(&form).then_some(form)
        };
        let item = |list: &[&str]| {
            let list = self.has_list(list).then(|| joined(list))?;
            Some(Form::Item { list, notation: self.notation })
        };
        let headers =
            || header(list).or_else(|| merged.filter(|it| self.has_list(it)).and_then(header));
        headers().or_else(|| item(list)).or_else(|| merged.and_then(item))
    }

    /// Whether a rule below this header may stand at the end of the file.
    fn takes(&self, form: &Form) -> bool {
        let text = format!("{}\n{}", self.source.text, self.tried().written(form));
        let source = Rc::new(Source::new(&self.source.name, text));
        self.notation == Notation::Toml && decode::file(&source, self.notation, self.trust).is_ok()
    }

    /// A rule that any file may have beside its own.
    fn tried(&self) -> Rule {
        match self.part {
            Part::Files => Rule::File(".".to_owned(), Capabilities::NONE),
            Part::Hosts => {
                Rule::Host(NetRule { host: "localhost".to_owned(), ..NetRule::default() })
            }
            Part::Programs => Rule::Program("\u{1}".to_owned(), CommandRule::default()),
        }
    }

    fn has_list(&self, path: &[&str]) -> bool {
        document::parse(&self.source, self.notation).is_ok_and(|root| {
            root.find(path).is_some_and(|node| match node.value {
                Value::Array(_) => self.part.is_list(),
                Value::Table(_) => !self.part.is_list(),
                _ => false,
            })
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

    fn form_of(part: Part, text: &str, tool: Option<&str>) -> String {
        match RulePlace::of_text(text, part, tool).form() {
            Form::Header(table) => format!("[[{table}]]"),
            Form::Item { list, .. } => list.clone(),
        }
    }

    fn form(text: &str, tool: Option<&str>) -> String {
        form_of(Part::Files, text, tool)
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

    #[test]
    fn rules_about_hosts_are_written_as_those_about_files() {
        let rule = "{host = 'a.b'}";
        let rows = [
            (String::new(), None, "[[access.net]]"),
            (format!("access.net = [{rule}]\n"), None, "access.net"),
            (format!("[access.net]\nvalue = [{rule}]\n"), None, "access.net.value"),
            (
                "[conversation.tools.t.access.commands.sh]\n".to_owned(),
                Some("t"),
                "[[conversation.tools.t.access.net]]",
            ),
            ("{\"access\": {\"net\": []}}".to_owned(), None, "access.net"),
        ];
        for (text, tool, expected) in rows {
            assert_eq!(form_of(Part::Hosts, &text, tool), expected, "{text}");
        }
    }

    /// A program may be called `value`, which of a list says what is in it.
    #[test]
    fn programs_are_in_a_table() {
        let rows = [
            ("", None, "[[access.commands]]"),
            ("[access.commands]\nsh = {}\n", None, "[[access.commands]]"),
            ("[access]\ncommands.sh = {}\n", None, "[[access.commands]]"),
            ("[access.commands.value]\n", None, "[[access.commands]]"),
            ("[access]\ncommands = {value = {}}\n", None, "access.commands"),
            ("access.commands = {sh = {}}\n", None, "access.commands"),
            ("access.commands = {sh = {}}\n", Some("t"), "[[tools.t.access.commands]]"),
            ("[tools.t]\naccess = {commands = {sh = {}}}\n", Some("t"), "tools.t.access.commands"),
            ("[tools.t.sandbox.commands.sh]\n", Some("t"), "[[tools.t.sandbox.commands]]"),
            ("{\"access\": {\"commands\": {}}}", None, "access.commands"),
        ];
        for (text, tool, expected) in rows {
            assert_eq!(form_of(Part::Programs, text, tool), expected, "{text}");
        }
    }

    #[test]
    fn a_rule_is_replaced_as_it_is_written() {
        let header = |table: &str| Some(Form::Header(table.to_owned()));
        let item = |list: &str, notation| Some(Form::Item { list: list.to_owned(), notation });
        let (toml, json) = (Notation::Toml, Notation::Json);
        let rows = [
            ("\n[access.commands.sh]\nargs = []\n", 2, header("access.commands")),
            ("[access.commands]\nsh = {}\n", 2, item("access.commands", toml)),
            ("[access]\ncommands.sh.args = []\n", 2, item("access.commands", toml)),
            ("[tools.t.sandbox.commands.sh]\n", 1, header("tools.t.sandbox.commands")),
            ("{\"access\": {\"commands\": {\"sh\": {}}}}", 1, item("access.commands", json)),
            ("[access.commands.ls]\n", 1, None),
            ("[access.commands.sh]\n", 2, None),
        ];
        for (text, line, expected) in rows {
            let place = RulePlace::of_text(text, Part::Programs, Some("t"));
            assert_eq!(place.form_of("sh", line), expected, "{text}");
        }
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
