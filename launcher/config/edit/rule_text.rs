//! Writes rules as text for policy files. Used by suggestions, reports and `learn`.

use std::fmt::Write as _;

use jp_confine_engine::commands::CommandRule;
use jp_confine_engine::model::FsRule;
use jp_confine_engine::net::NetRule;
use jp_confine_engine::{Capabilities, Capability};
use serde_json::Value;

use crate::config::edit::change::{Addition, Keys};
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

impl RuleText {
    /// A rule of `access.fs`, without its other spellings of the same.
    pub(crate) fn of(rule: &FsRule) -> Self {
        let kind = if rule.external() { Self::External } else { Self::File };
        kind(rule.path().to_string(), rule.capabilities())
    }

    /// The part of `access` that it belongs to.
    const fn part(&self) -> AccessSection {
        match self {
            Self::File(..) | Self::External(..) => AccessSection::Files,
            Self::Host(..) => AccessSection::Hosts,
            Self::Variable(..) => AccessSection::Variables,
            Self::Program(..) => AccessSection::Programs,
        }
    }

    /// The rule as an addition to the list or table of its part.
    pub(crate) fn addition(&self) -> Addition {
        match self {
            Self::Program(name, _) => Addition::Entry(name.clone(), self.keys()),
            _ => Addition::Rule(self.keys()),
        }
    }

    fn keys(&self) -> Keys {
        let set = |name: &str, value: Value| (name.to_owned(), value);
        match self {
            Self::File(path, caps) | Self::External(path, caps) => {
                let leads_out = matches!(self, Self::External(..)).then_some("external");
                let flags = leads_out.into_iter().chain(granted(*caps));
                let flags = flags.map(|name| set(name, true.into()));
                std::iter::once(set("path", path.as_str().into())).chain(flags).collect()
            }
            Self::Host(NetRule { host, port, path_prefix, allow, .. }) => {
                let port = port.map(|port| set("port", port.into()));
                let host = std::iter::once(set("host", host.as_str().into()));
                let path =
                    path_prefix.as_ref().map(|path| set("path_prefix", path.as_str().into()));
                host.chain(port).chain(path).chain([set("allow", (*allow).into())]).collect()
            }
            Self::Variable(name) => {
                [set("name", name.as_str().into()), set("read", true.into())].into_iter().collect()
            }
            Self::Program(_, CommandRule { args, envs, .. }) => {
                let args = args.as_ref().map(|args| set("args", args.clone().into()));
                let envs = (!envs.is_empty()).then(|| set("envs", envs.clone().into()));
                args.into_iter().chain(envs).collect()
            }
        }
    }

    /// The rule for a file without rules. `tool` has the keys of a tool's table, and is empty for every run.
    pub(crate) fn text(&self, tool: &[&str]) -> String {
        let keys = [tool, &["access", self.part().key()]].concat();
        self.text_in(&keys.into_iter().map(str::to_owned).collect::<Vec<_>>())
    }

    /// The rule below a header, to be added to the list or table under these keys.
    pub(crate) fn text_in(&self, list: &[String]) -> String {
        let table = list.iter().map(|part| key(part)).collect::<Vec<_>>().join(".");
        let header = match self {
            Self::Program(name, _) => format!("[{table}.{}]", key(name)),
            _ => format!("[[{table}]]"),
        };
        below(&header, &self.keys())
    }
}

/// The value in TOML, in parts, between which a line may break.
fn parts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![string(text)],
        Value::Array(items) => listed("[", items.iter().flat_map(parts).collect()),
        other => vec![other.to_string()],
    }
}

/// The keys below a header, each on its own lines.
fn below(header: &str, keys: &Keys) -> String {
    let mut text = format!("{header}\n");
    for (key, value) in keys {
        let mut parts = parts(value);
        if let Some(first) = parts.first_mut() {
            first.insert_str(0, &format!("{key} = "));
        }
        wrap(&mut text, &parts);
    }
    text
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

/// A list of values under `key`. The values are already in TOML.
pub(crate) fn values(key: &str, items: Vec<String>) -> String {
    let mut text = String::new();
    wrap(&mut text, &listed(&format!("{key} = ["), items));
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
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(character);
            }
            _ if quote::is_disruptive(character) => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(character));
            }
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
