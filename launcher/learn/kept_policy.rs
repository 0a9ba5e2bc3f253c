//! Copies the parts of a workspace's policy file that are not learned. They applied during learning, so the learned
//! file contains them, too, and can replace the old one.

use std::fmt::Write as _;
use std::rc::Rc;

use toml::de::DeValue;

use crate::compile::prepared::Prepared;
use crate::config::document::{self, Node, Notation, TableEntry};
use crate::config::edit::rule_text;
use crate::error::Failure;
use crate::error::diagnostic::Diagnostic;
use crate::error::source::Source;

/// Properties of the policy that is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenPolicy<'a> {
    /// The tool whose rules are learned, if they are a tool's.
    pub(crate) tool: Option<&'a str>,
    /// Rules about hosts are learned, too.
    pub(crate) has_hosts: bool,
    /// The policy is written into the workspace, so the user trusts it no more than the old file.
    pub(crate) is_inside: bool,
}

/// The rest of a policy file, as TOML.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    pub(super) text: String,
    /// The parts that are in the text.
    pub(super) names: Vec<String>,
    /// The parts that cannot be copied, each with the reason.
    pub(super) left: Vec<(String, &'static str)>,
    /// The file has a table for the tool below `conversation`. The tool cannot have a table in the other spelling, too.
    pub(super) is_spelled_as_jp: bool,
}

/// The decision about a part.
enum Fate {
    Stays,
    /// Learned rules replace it.
    Replaced,
    Left(&'static str),
}

impl WrittenPolicy<'_> {
    fn fate(&self, keys: &[&str]) -> Fate {
        let learned = match (self.tool, keys) {
            (None, ["access", part]) => Some(*part),
            (
                Some(tool),
                ["tools", name, "access", part] | ["conversation", "tools", name, "access", part],
            ) if tool == *name => Some(*part),
            _ => None,
        };
        match (learned, keys) {
            (Some("fs"), _) => Fate::Replaced,
            (Some("net"), _) if self.has_hosts => Fate::Replaced,
            (_, ["tools", name, "sandbox"] | ["conversation", "tools", name, "sandbox"])
                if self.tool == Some(*name) =>
            {
                Fate::Left(
                    "another spelling, which cannot stand beside what is learned: what it says of commands, \
                     variables, hosts and patterns has to be written in this one",
                )
            }
            (_, [.., "file_policy", "read_paths" | "write_paths"]) if !self.is_inside => {
                Fate::Left("outside of the workspace it would be your own word")
            }
            _ => Fate::Stays,
        }
    }
}

impl Carried {
    /// The parts of the workspace's file, as it was for the run, that go into `target`. Empty if there is no file.
    ///
    /// # Errors
    /// It is not TOML.
    pub(crate) fn of_workspace(ran: &Prepared, target: WrittenPolicy<'_>) -> Result<Self, Failure> {
        let file = ran.workspace_file.as_ref().map(|source| Self::of(source, target));
        file.transpose().map(Option::unwrap_or_default).map_err(Failure::Configuration)
    }

    fn of(source: &Rc<Source>, target: WrittenPolicy<'_>) -> Result<Self, Box<Diagnostic>> {
        let root = document::parse(source, Notation::Toml)?;
        let is_spelled_as_jp = target
            .tool
            .is_some_and(|tool| document::find(&root, &["conversation", "tools", tool]).is_some());
        let mut carried = Self { is_spelled_as_jp, ..Self::default() };
        let writer = Writer { source: &source.text, target };
        writer.table(&mut carried, &mut Vec::new(), &document::entries(&root));
        Ok(carried)
    }

    /// Records that a part is in the text. Parts of `access` and of all tools are named one level deeper.
    fn note(&mut self, keys: &[&str]) {
        let depth = if let Some(&("access" | "tools")) = keys.first() { 2 } else { 1 };
        let name = named(keys.get(..depth).unwrap_or(keys));
        if !self.names.contains(&name) {
            self.names.push(name);
        }
    }
}

/// Writes tables as headers with keys below them, without comments.
struct Writer<'a> {
    source: &'a str,
    target: WrittenPolicy<'a>,
}

impl Writer<'_> {
    fn table<'n>(
        &self,
        carried: &mut Carried,
        keys: &mut Vec<&'n str>,
        entries: &[TableEntry<'n, '_>],
    ) {
        let kept = self.kept(carried, keys, entries);
        let (below, plain): (Vec<_>, Vec<_>) =
            kept.into_iter().partition(|entry| sections(entry.value).is_some());
        if entries.is_empty() && !keys.is_empty() {
            carried.note(keys);
        }
        if !keys.is_empty() && (!plain.is_empty() || entries.is_empty()) {
            let _ = write!(carried.text, "\n[{}]\n", named(keys));
        }
        for entry in plain {
            carried.text.push_str(&self.line(entry));
            carried.note(&[keys.as_slice(), &[entry.name()]].concat());
        }
        for entry in below {
            keys.push(entry.name());
            match sections(entry.value) {
                Some(Sections::One(entries)) => self.table(carried, keys, &entries),
                Some(Sections::Many(items)) => {
                    carried.note(keys);
                    for item in items {
                        carried.text.push_str(&self.item(keys, &item));
                    }
                }
                None => {}
            }
            keys.pop();
        }
    }

    /// The entries that are copied. Records the reason for the others.
    fn kept<'n, 'a>(
        &self,
        carried: &mut Carried,
        keys: &[&str],
        entries: &[TableEntry<'n, 'a>],
    ) -> Vec<TableEntry<'n, 'a>> {
        let stays = |entry: &TableEntry<'_, '_>| {
            let keys = [keys, &[entry.name()]].concat();
            match self.target.fate(&keys) {
                Fate::Stays => return true,
                Fate::Replaced => {}
                Fate::Left(why) => carried.left.push((named(&keys), why)),
            }
            false
        };
        entries.iter().copied().filter(stays).collect()
    }

    /// One table of a list.
    fn item(&self, keys: &[&str], entries: &[TableEntry<'_, '_>]) -> String {
        let lines: String = entries.iter().map(|entry| self.line(*entry)).collect();
        format!("\n[[{}]]\n{lines}", named(keys))
    }

    fn line(&self, entry: TableEntry<'_, '_>) -> String {
        match entry.value.get_ref() {
            DeValue::Array(items) => {
                let items = items.iter().map(|item| self.inline(item)).collect();
                rule_text::values(&rule_text::key(entry.name()), items)
            }
            _ => format!("{} = {}\n", rule_text::key(entry.name()), self.inline(entry.value)),
        }
    }

    fn inline(&self, node: &Node<'_>) -> String {
        let listed = |items: Vec<String>| items.join(", ");
        match node.get_ref() {
            DeValue::String(text) => rule_text::string(text),
            DeValue::Array(items) => {
                format!("[{}]", listed(items.iter().map(|item| self.inline(item)).collect()))
            }
            DeValue::Table(_) => {
                let pair = |entry: &TableEntry<'_, '_>| {
                    format!("{} = {}", rule_text::key(entry.name()), self.inline(entry.value))
                };
                format!("{{ {} }}", listed(document::entries(node).iter().map(pair).collect()))
            }
            // Copied literally: numbers and dates are not interpreted.
            _ => self.source.get(node.span()).unwrap_or_default().to_owned(),
        }
    }
}

/// A value with headers of its own.
enum Sections<'n, 'a> {
    One(Vec<TableEntry<'n, 'a>>),
    Many(Vec<Vec<TableEntry<'n, 'a>>>),
}

fn sections<'n, 'a>(node: &'n Node<'a>) -> Option<Sections<'n, 'a>> {
    let table = |node: &'n Node<'a>| node.get_ref().is_table().then(|| document::entries(node));
    match node.get_ref() {
        DeValue::Array(items) if !items.is_empty() => {
            items.iter().map(table).collect::<Option<_>>().map(Sections::Many)
        }
        _ => table(node).map(Sections::One),
    }
}

/// Keys in the format of a header.
fn named(keys: &[&str]) -> String {
    keys.iter().map(|key| rule_text::key(key)).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(text: &str, tool: Option<&str>, has_hosts: bool, is_inside: bool) -> Carried {
        let source = Rc::new(Source::new("policy", text.to_owned()));
        Carried::of(&source, WrittenPolicy { tool, has_hosts, is_inside }).expect("TOML")
    }

    const FILE: &str = "access.sensitive_paths = ['**/a\"b']\n\
        [[access.fs]]\npath = 'src'\n\
        [[access.net]]\nhost = 'a.test'\nport = 5\n\
        [access.env]\nstrategy = 'replace'\nvalue = [{ name = 'A_*', read = true }]\n\
        [access.commands.'./x y']\nargs = [['a', '**'], []]\n[access.commands.ls]\n\
        [file_policy]\ndefault = 'deny'\ndeny_paths = ['**/*.crt']\nread_paths = ['/etc/**']\n\
        [tools.t]\nsource = 'local'\ncommand.since = 2020-01-01\n\
        [[tools.t.access.fs]]\npath = '.'\n[tools.u.sandbox]\nfilesystem.allow = ['src']\n";

    /// The meaning of a text, without order and format.
    fn said(text: &str) -> String {
        fn words(node: &Node<'_>) -> String {
            match node.get_ref() {
                DeValue::Table(_) => {
                    let one = |entry: &TableEntry<'_, '_>| {
                        format!("{}={}", entry.name(), words(entry.value))
                    };
                    let mut all: Vec<String> = document::entries(node).iter().map(one).collect();
                    all.sort();
                    format!("{{{}}}", all.join(" "))
                }
                DeValue::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(","),
                value => format!("{value:?}"),
            }
        }
        let source = Rc::new(Source::new("policy", text.to_owned()));
        words(&document::parse(&source, Notation::Toml).expect(text))
    }

    #[test]
    fn all_goes_along_but_what_is_learned() {
        let (fs, net) =
            ("[[access.fs]]\npath = 'src'\n", "[[access.net]]\nhost = 'a.test'\nport = 5\n");
        let all = carried(FILE, None, false, true);
        assert_eq!(said(&all.text), said(&FILE.replace(fs, "")), "{}", all.text);
        let parts = "access.sensitive_paths access.net access.env access.commands file_policy \
                     tools.t tools.u";
        assert_eq!(all.names.join(" "), parts);
        assert!(all.left.is_empty(), "{:?}", all.left);
        let most = carried(FILE, None, true, true);
        assert_eq!(said(&most.text), said(&FILE.replace(fs, "").replace(net, "")));
        let nothing = ["", fs].map(|text| carried(text, None, false, true));
        assert!(nothing.iter().all(|it| it.text.is_empty() && it.names.is_empty()), "{nothing:?}");
    }

    #[test]
    fn what_is_of_a_tool_gives_way_to_what_is_learned_of_it() {
        let own = "[[tools.t.access.fs]]\npath = '.'\n";
        let all = carried(FILE, Some("t"), false, true);
        assert_eq!(said(&all.text), said(&FILE.replace(own, "")), "{}", all.text);
        let older = carried(FILE, Some("u"), false, true);
        assert_eq!(older.left.first().map(|(name, _)| name.as_str()), Some("tools.u.sandbox"));
        assert!(!older.text.contains("tools.u"), "{}", older.text);
    }

    /// JP's own table of the tool stays as it is: the tool's rules are written into it.
    #[test]
    fn what_jp_has_of_a_tool_goes_along() {
        let text = "assistant = 1\n[conversation]\ntitle = 'x'\n[conversation.tools.t]\nenable = true\n\
                    access.net = []\naccess.fs = [{ path = '.', read = true }]\n\
                    [conversation.tools.u]\nsandbox.commands = {}\n";
        let all = carried(text, Some("t"), false, true);
        let own = "access.fs = [{ path = '.', read = true }]\n";
        assert_eq!(said(&all.text), said(&text.replace(own, "")), "{}", all.text);
        assert!(all.is_spelled_as_jp && all.left.is_empty(), "{:?}", all.left);
        let older = carried(text, Some("u"), false, true);
        let left: Vec<&str> = older.left.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(left, ["conversation.tools.u.sandbox"]);
        assert!(!carried(text, Some("v"), false, true).is_spelled_as_jp);
    }

    /// Nobody approved the paths that it would open there.
    #[test]
    fn nothing_that_opens_becomes_the_users_own_word() {
        let outside = carried(FILE, None, false, false);
        assert!(outside.text.contains("**/*.crt") && !outside.text.contains("/etc"));
        assert_eq!(outside.left.len(), 1, "{:?}", outside.left);
    }
}
