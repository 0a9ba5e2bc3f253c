//! Writes rules as text for policy files. Used by suggestions, reports and `learn`.

use std::fmt::Write as _;

use jp_confine_engine::commands::CommandRule;
use jp_confine_engine::net::NetRule;
use jp_confine_engine::{Capabilities, Capability};

use crate::config::document::Notation;
use crate::config::edit::rule_place::Form;
use crate::config::edit::section::AccessSection;
use crate::text::quote;
use crate::text::wrap;

/// Columns of a line, which leave room for an indent on any terminal.
const WIDTH: usize = 72;

/// A rule that a policy file may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RuleText {
    /// `access.fs`: a workspace-relative path and its capabilities. No capability denies everything.
    File(String, Capabilities),
    /// `access.fs`: the same for a symlink that leads out of the workspace (RFD D43).
    External(String, Capabilities),
    /// `access.net`.
    Host(NetRule),
    /// `access.env`: the name of a variable that may be read.
    Variable(String),
    /// `access.commands`: the key and the rule.
    Program(String, CommandRule),
}

/// The value of a key in a rule.
#[derive(Clone, Debug)]
enum Value {
    Flag(bool),
    Number(u16),
    Text(String),
    List(Vec<Self>),
}

/// The keys of a rule with their values, in order.
type Keys = Vec<(&'static str, Value)>;

impl RuleText {
    /// The part of `access` that it belongs to.
    const fn part(&self) -> AccessSection {
        match self {
            Self::File(..) | Self::External(..) => AccessSection::Files,
            Self::Host(..) => AccessSection::Hosts,
            Self::Variable(..) => AccessSection::Variables,
            Self::Program(..) => AccessSection::Programs,
        }
    }

    /// Its subject. A file needs only one rule for each subject.
    pub(crate) fn subject(&self) -> String {
        match self {
            Self::File(path, _) | Self::External(path, _) => path.clone(),
            Self::Host(rule) => rule.to_string(),
            Self::Variable(key) | Self::Program(key, _) => key.clone(),
        }
    }

    /// Adds the grant of another rule on the same subject. For other than paths, that rule replaces this one.
    pub(crate) fn join(&mut self, other: Self) {
        match (self, other) {
            (Self::File(_, caps), Self::File(_, more))
            | (Self::External(_, caps), Self::External(_, more)) => *caps = caps.union(more),
            (rule, other) => *rule = other,
        }
    }

    fn keys(&self) -> Keys {
        match self {
            Self::File(path, caps) | Self::External(path, caps) => {
                let leads_out = matches!(self, Self::External(..)).then_some("external");
                let flags = leads_out.into_iter().chain(granted(*caps));
                let flags = flags.map(|name| (name, Value::Flag(true)));
                std::iter::once(("path", Value::Text(path.clone()))).chain(flags).collect()
            }
            Self::Host(NetRule { host, port, path_prefix, allow, .. }) => {
                let port = port.map(|port| ("port", Value::Number(port)));
                let host = std::iter::once(("host", Value::Text(host.clone())));
                let path = path_prefix.clone().map(|path| ("path_prefix", Value::Text(path)));
                host.chain(port).chain(path).chain([("allow", Value::Flag(*allow))]).collect()
            }
            Self::Variable(name) => {
                vec![("name", Value::Text(name.clone())), ("read", Value::Flag(true))]
            }
            Self::Program(_, CommandRule { args, envs, .. }) => {
                let lines = |lines: &Vec<Vec<String>>| {
                    Value::List(lines.iter().map(|line| Value::of_texts(line)).collect())
                };
                let args = args.as_ref().map(|args| ("args", lines(args)));
                let envs = (!envs.is_empty()).then(|| ("envs", Value::of_texts(envs)));
                args.into_iter().chain(envs).collect()
            }
        }
    }

    /// Its header in `table`, which holds the rules of its part.
    fn header(&self, table: &str) -> String {
        match self {
            Self::Program(name, _) => format!("[{table}.{}]", key(name)),
            _ => format!("[[{table}]]"),
        }
    }

    /// The rule for a file without rules. `tool` has the keys of a tool's table, and is empty for every run.
    pub(crate) fn text(&self, tool: &[&str]) -> String {
        below(&self.header(&table(self.part(), tool)), &self.keys())
    }

    /// The rule in this form.
    pub(crate) fn written(&self, form: &Form) -> String {
        let (notation, keys) = match form {
            Form::Header(table) => return below(&self.header(table), &self.keys()),
            Form::Item { notation, .. } => (*notation, self.keys()),
        };
        let item = item(notation, &keys);
        match (self, notation) {
            (Self::Program(name, _), Notation::Toml) => format!("{} = {item}\n", key(name)),
            (Self::Program(name, _), Notation::Json) => format!("{}: {item}\n", json_string(name)),
            _ => item + "\n",
        }
    }

    /// The rule in this form, to be added to existing ones. In a table of TOML, no comma may follow the last item.
    pub(crate) fn added(&self, form: &Form) -> String {
        let text = self.written(form);
        match form {
            Form::Header(_) => text,
            Form::Item { notation: Notation::Toml, .. } if !self.part().is_list() => text,
            Form::Item { .. } => text.trim_end().to_owned() + ",\n",
        }
    }
}

impl Value {
    fn of_texts(texts: &[String]) -> Self {
        Self::List(texts.iter().cloned().map(Self::Text).collect())
    }

    /// The value in parts, between which a line may break.
    fn parts(&self, notation: Notation) -> Vec<String> {
        match self {
            Self::Flag(flag) => vec![flag.to_string()],
            Self::Number(number) => vec![number.to_string()],
            Self::Text(text) if notation == Notation::Json => vec![json_string(text)],
            Self::Text(text) => vec![string(text)],
            Self::List(items) => {
                listed("[", items.iter().flat_map(|item| item.parts(notation)).collect())
            }
        }
    }
}

/// The keys below a header, each on its own lines.
fn below(header: &str, keys: &Keys) -> String {
    let mut text = format!("{header}\n");
    for (key, value) in keys {
        let mut parts = value.parts(Notation::Toml);
        if let Some(first) = parts.first_mut() {
            first.insert_str(0, &format!("{key} = "));
        }
        wrap(&mut text, &parts);
    }
    text
}

/// The keys in braces.
fn item(notation: Notation, keys: &Keys) -> String {
    let one = |(key, value): &(&str, Value)| {
        let value = value.parts(notation).join(", ");
        match notation {
            Notation::Toml => format!("{key} = {value}"),
            Notation::Json => format!("\"{key}\": {value}"),
        }
    };
    let keys = keys.iter().map(one).collect::<Vec<_>>().join(", ");
    match notation {
        Notation::Toml if !keys.is_empty() => format!("{{ {keys} }}"),
        Notation::Toml | Notation::Json => format!("{{{keys}}}"),
    }
}

/// The name of a part of `access`. `tool` has the keys of a tool's table, and is empty for every run.
fn table(part: AccessSection, tool: &[&str]) -> String {
    let keys = [tool, &["access", part.key()]].concat();
    keys.into_iter().map(key).collect::<Vec<_>>().join(".")
}

/// The keys that grant `caps`.
fn granted(caps: Capabilities) -> Vec<&'static str> {
    let writes = caps.contains(Capabilities::WRITE);
    let is_alias = |one: Capability| writes && Capabilities::WRITE.contains(one.into());
    let plain = caps.iter().filter(|&one| !is_alias(one)).map(Capability::as_str);
    let mut names: Vec<&str> = plain.collect();
    if writes {
        let after_read = usize::from(names.first() == Some(&Capability::Read.as_str()));
        names.insert(after_read, "write");
    }
    names
}

/// Tells people where to add a rule: the file, and the list in it, which may be new. It goes to the end, since the last
/// rule on a path decides. An item there may have no comma yet.
pub(crate) fn place(list: Option<&str>, is_new: bool, file: &str) -> String {
    let file = quote::path(file);
    match list.map(quote::path) {
        None => file,
        Some(list) if is_new => format!("a new {list} in {file}"),
        Some(list) => format!("{list} of {file}, at its end behind a comma"),
    }
}

/// The name of the table of the rule on the program `key`.
pub(crate) fn command_table(key: &str) -> String {
    format!("access.commands.{}", self::key(key))
}

/// A key, in quotes if it needs them.
pub(crate) fn key(text: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_bare = !text.is_empty() && text.bytes().all(is_bare);
    if is_bare { text.to_owned() } else { string(text) }
}

/// A list of strings under `key`.
pub(crate) fn list(key: &str, items: &[String]) -> String {
    values(key, items.iter().map(|item| string(item)).collect())
}

/// A list of values under `key`. The values are already in TOML.
pub(crate) fn values(key: &str, items: Vec<String>) -> String {
    let mut text = String::new();
    wrap(&mut text, &listed(&format!("{key} = ["), items));
    text
}

/// Strings as items of a list, each on its own line.
pub(crate) fn items(items: &[String]) -> String {
    let mut text = String::new();
    for item in items {
        let _ = writeln!(text, "{},", string(item));
    }
    text
}

/// The parts of a list, with `begin` before the first and `]` after the last.
fn listed(begin: &str, mut parts: Vec<String>) -> Vec<String> {
    match parts.as_mut_slice() {
        [] => vec![format!("{begin}]")],
        [only] => vec![format!("{begin}{only}]")],
        [first, .., last] => {
            first.insert_str(0, begin);
            last.push(']');
            parts
        }
    }
}

/// Writes the parts of a list, and breaks lines between them.
fn wrap(text: &mut String, parts: &[String]) {
    let mut width = 0;
    for (index, part) in parts.iter().enumerate() {
        let length = wrap::width(part);
        if index > 0 {
            let fits = width + length + 3 <= WIDTH;
            text.push_str(if fits { ", " } else { ",\n  " });
            width = if fits { width + 2 } else { 2 };
        }
        text.push_str(part);
        width += length;
    }
    text.push('\n');
}

/// A basic string (TOML 1.0), with all invisible characters escaped.
pub(crate) fn string(text: &str) -> String {
    quoted(text, |quoted, character| {
        let _ = write!(quoted, "\\U{:08X}", u32::from(character));
    })
}

/// Like [`string()`], in JSON.
fn json_string(text: &str) -> String {
    quoted(text, |quoted, character| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(quoted, "\\u{unit:04x}");
        }
    })
}

/// `text` in quotes. `escape` writes the invisible characters.
fn quoted(text: &str, escape: impl Fn(&mut String, char)) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(character);
            }
            _ if quote::is_disruptive(character) => escape(&mut quoted, character),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_in_lists_are_read_back_as_they_were_meant() {
        for path in [".", "a\"b\\c", "tab\tnew\nline\u{7f}", "turned\u{202e}", "日本"] {
            let item = |notation| {
                let form = Form::Item { list: String::new(), notation, is_new: false };
                RuleText::File(path.to_owned(), Capabilities::READ).added(&form)
            };
            let text = format!("fs = [\n{}]", item(Notation::Toml));
            let table = toml::de::DeTable::parse(&text).expect("TOML");
            let read = table.get_ref()["fs"].get_ref()[0].get_ref();
            assert_eq!(read["path"].get_ref().as_str(), Some(path), "{text}");
            let text = item(Notation::Json);
            let text = text.strip_suffix(",\n").expect("an end");
            let read: serde_json::Value = serde_json::from_str(text).expect("JSON");
            assert_eq!(read, serde_json::json!({"path": path, "read": true}), "{text}");
        }
    }

    #[test]
    fn items_are_written_as_their_list_or_table_takes_them() {
        let item = |notation| Form::Item { list: String::new(), notation, is_new: false };
        let (toml, json) = (item(Notation::Toml), item(Notation::Json));
        let host = NetRule { host: "::1".to_owned(), port: Some(9), allow: true, ..<_>::default() };
        let host = RuleText::Host(host);
        assert_eq!(host.added(&toml), "{ host = \"::1\", port = 9, allow = true },\n");
        assert_eq!(host.added(&json), "{\"host\": \"::1\", \"port\": 9, \"allow\": true},\n");
        let program = |args| {
            let rule = CommandRule { args, envs: vec!["A_*".to_owned()], ..<_>::default() };
            RuleText::Program("./a".to_owned(), rule)
        };
        let line = program(Some(vec![vec!["b\"".to_owned()]]));
        assert_eq!(line.added(&toml), "\"./a\" = { args = [[\"b\\\"\"]], envs = [\"A_*\"] }\n");
        assert_eq!(line.added(&json), "\"./a\": {\"args\": [[\"b\\\"\"]], \"envs\": [\"A_*\"]},\n");
        assert_eq!(program(None).written(&json), "\"./a\": {\"envs\": [\"A_*\"]}\n");
        let any = RuleText::Program("a".to_owned(), CommandRule::default());
        assert_eq!(any.added(&toml), "a = {}\n");
    }

    #[test]
    fn rules_are_read_back_as_they_were_meant() {
        for path in [".", "src/a b", "a\"b\\c", "tab\tnew\nline\u{7f}", "turned\u{202e}", "日本"]
        {
            let text = RuleText::File(path.to_owned(), Capabilities::ALL).text(&[]);
            let table = toml::de::DeTable::parse(&text).expect("TOML");
            let read = table.get_ref()["access"].get_ref()["fs"].get_ref()[0].get_ref();
            assert_eq!(read["path"].get_ref().as_str(), Some(path), "{text}");
        }
    }

    #[test]
    fn programs_are_read_back_as_they_were_meant() {
        for key in ["git", "./a b", "a\"b", "-", "日本"] {
            let rule = CommandRule {
                args: Some(vec![vec!["log".to_owned(), "**".to_owned()], vec![]]),
                envs: vec!["A_*".to_owned()],
                ..CommandRule::default()
            };
            let text = RuleText::Program(key.to_owned(), rule).text(&["tools", "t"]);
            let table = toml::de::DeTable::parse(&text).expect("TOML");
            let tool = table.get_ref()["tools"].get_ref()["t"].get_ref();
            let read = tool["access"].get_ref()["commands"].get_ref()[key].get_ref();
            let line = read["args"].get_ref()[0].get_ref();
            assert_eq!(line[0].get_ref().as_str(), Some("log"), "{text}");
            assert_eq!(line[1].get_ref().as_str(), Some("**"), "{text}");
            assert_eq!(read["envs"].get_ref()[0].get_ref().as_str(), Some("A_*"), "{text}");
        }
        let ls = |rule| RuleText::Program("ls".to_owned(), rule).text(&[]);
        assert_eq!(ls(CommandRule::default()), "[access.commands.ls]\n");
        let long = CommandRule {
            args: Some(vec![vec!["a long word, with a comma".to_owned(); 9], vec!["b".to_owned()]]),
            ..CommandRule::default()
        };
        let text = ls(long);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        let table = toml::de::DeTable::parse(&text).expect("TOML");
        let read = table.get_ref()["access"].get_ref()["commands"].get_ref()["ls"].get_ref();
        let lines = read["args"].get_ref();
        assert_eq!(lines[0].get_ref().as_array().map(|line| line.len()), Some(9), "{text}");
        assert_eq!(lines[1].get_ref()[0].get_ref().as_str(), Some("b"), "{text}");
    }

    #[test]
    fn the_alias_stands_for_all_three() {
        assert_eq!(granted(Capabilities::ALL), ["read", "write", "execute"]);
        assert_eq!(granted(Capabilities::WRITE), ["write"]);
        assert_eq!(granted(Capabilities::CREATE), ["create"]);
        assert!(granted(Capabilities::NONE).is_empty());
    }
}
