//! Rules of `access.fs` as a policy file has them.

use std::fmt::Write as _;

use jp_confine_policy::commands::CommandRule;
use jp_confine_policy::net::NetRule;
use jp_confine_policy::{Capabilities, Capability};

use crate::config::document::Notation;
use crate::config::rule_place::Form;
use crate::report;

/// So that it can be read in any terminal where it stands indented.
const WIDTH: usize = 72;

/// The header of a rule, in the list of `tool` if one is named.
pub(crate) fn header(tool: Option<&str>) -> String {
    match tool {
        Some(tool) => format!("[[tools.{}.access.fs]]", key(tool)),
        None => "[[access.fs]]".to_owned(),
    }
}

/// The keys of a rule on `path`, workspace-relative, that grants `caps`: `path = "src"`, `read = true`.
/// No capability denies everything.
pub(crate) fn keys(path: &str, caps: Capabilities) -> Vec<String> {
    let granted = granted(caps).into_iter().map(|name| format!("{name} = true"));
    std::iter::once(format!("path = {}", string(path))).chain(granted).collect()
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

/// The rule, to be added to a file that takes it in this form.
pub(crate) fn added(form: &Form, path: &str, caps: Capabilities) -> String {
    match form {
        Form::Header(table) => format!("[[{table}]]\n{}\n", keys(path, caps).join("\n")),
        Form::Item { notation: Notation::Toml, .. } => {
            format!("{{ {} }},\n", keys(path, caps).join(", "))
        }
        Form::Item { notation: Notation::Json, .. } => {
            let granted = granted(caps).into_iter().map(|name| format!("\"{name}\": true"));
            let path = format!("\"path\": {}", json_string(path));
            format!(
                "{{{}}},\n",
                std::iter::once(path).chain(granted).collect::<Vec<_>>().join(", ")
            )
        }
    }
}

/// For people: the file that a rule is added to, the list in it where that is there, and the line of the rule that
/// it is to come after, behind which a list may have no comma yet.
pub(crate) fn place(list: Option<&str>, file: &str, after: Option<u32>) -> String {
    let comma = if list.is_some() { " and a comma" } else { "" };
    let list = list.map(|list| format!("{} of ", report::path(list))).unwrap_or_default();
    let after = after.map(|line| format!(", after the rule on line {line}{comma}"));
    let after = after.unwrap_or_default();
    format!("{list}{}{after}", report::path(file))
}

/// The rule, a line for each key.
pub(crate) fn rule(tool: Option<&str>, path: &str, caps: Capabilities) -> String {
    format!("{}\n{}\n", header(tool), keys(path, caps).join("\n"))
}

/// As [`rule`], for what a link of the workspace leads to outside of it (RFD D43).
pub(crate) fn external(tool: Option<&str>, path: &str, caps: Capabilities) -> String {
    let mut keys = keys(path, caps);
    keys.insert(1, "external = true".to_owned());
    format!("{}\n{}\n", header(tool), keys.join("\n"))
}

/// A rule of `access.net`, in the list of `tool` if one is named.
pub(crate) fn net(tool: Option<&str>, rule: &NetRule) -> String {
    let header = header(tool).replace("access.fs", "access.net");
    let port = rule.port.map(|port| format!("port = {port}\n")).unwrap_or_default();
    format!("{header}\nhost = {}\n{port}allow = {}\n", string(&rule.host), rule.allow)
}

/// The rule on the program `key`, in the table of `tool` if one is named.
pub(crate) fn command(tool: Option<&str>, key: &str, rule: &CommandRule) -> String {
    let tool = tool.map(|tool| format!("tools.{}.", self::key(tool))).unwrap_or_default();
    let mut text = format!("[{tool}{}]\n", command_table(key));
    if let Some(lines) = &rule.args {
        let lines =
            lines.iter().map(|line| listed("[", line.iter().map(|it| string(it)).collect()));
        wrap(&mut text, &listed("args = [", lines.flatten().collect()));
    }
    if !rule.envs.is_empty() {
        wrap(&mut text, &listed("envs = [", rule.envs.iter().map(|it| string(it)).collect()));
    }
    text
}

/// The table of the rule on the program `key`.
pub(crate) fn command_table(key: &str) -> String {
    format!("access.commands.{}", self::key(key))
}

/// A key, in quotes where it needs them.
pub(crate) fn key(text: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_bare = !text.is_empty() && text.bytes().all(is_bare);
    if is_bare { text.to_owned() } else { string(text) }
}

/// A list of strings under `key`.
pub(crate) fn list(key: &str, items: &[String]) -> String {
    let mut text = String::new();
    let items = items.iter().map(|item| string(item)).collect();
    wrap(&mut text, &listed(&format!("{key} = ["), items));
    text
}

/// Strings to be put into a list, a line for each.
pub(crate) fn items(items: &[String]) -> String {
    let mut text = String::new();
    for item in items {
        let _ = writeln!(text, "{},", string(item));
    }
    text
}

/// The parts of a list, with its beginning before the first and its end behind the last.
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

/// Writes the parts of a list, between which lines may end.
fn wrap(text: &mut String, parts: &[String]) {
    let mut width = 0;
    for (index, part) in parts.iter().enumerate() {
        let length = part.chars().count();
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

/// A basic string (TOML 1.0), in which nothing is written that a reader does not see.
fn string(text: &str) -> String {
    quoted(text, |quoted, character| {
        let _ = write!(quoted, "\\U{:08X}", u32::from(character));
    })
}

/// As [`string`], in JSON.
fn json_string(text: &str) -> String {
    quoted(text, |quoted, character| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(quoted, "\\u{unit:04x}");
        }
    })
}

/// In quotes, with what a reader does not see written by `escape`.
fn quoted(text: &str, escape: impl Fn(&mut String, char)) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(character);
            }
            _ if report::is_disruptive(character) => escape(&mut quoted, character),
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
                let form = Form::Item { list: String::new(), notation };
                added(&form, path, Capabilities::READ)
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
    fn rules_are_read_back_as_they_were_meant() {
        for path in [".", "src/a b", "a\"b\\c", "tab\tnew\nline\u{7f}", "turned\u{202e}", "日本"]
        {
            let text = rule(None, path, Capabilities::ALL);
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
            let text = command(Some("t"), key, &rule);
            let table = toml::de::DeTable::parse(&text).expect("TOML");
            let tool = table.get_ref()["tools"].get_ref()["t"].get_ref();
            let read = tool["access"].get_ref()["commands"].get_ref()[key].get_ref();
            let line = read["args"].get_ref()[0].get_ref();
            assert_eq!(line[0].get_ref().as_str(), Some("log"), "{text}");
            assert_eq!(line[1].get_ref().as_str(), Some("**"), "{text}");
            assert_eq!(read["envs"].get_ref()[0].get_ref().as_str(), Some("A_*"), "{text}");
        }
        assert_eq!(command(None, "ls", &CommandRule::default()), "[access.commands.ls]\n");
        let long = CommandRule {
            args: Some(vec![vec!["a long word, with a comma".to_owned(); 9], vec!["b".to_owned()]]),
            ..CommandRule::default()
        };
        let text = command(None, "ls", &long);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        let table = toml::de::DeTable::parse(&text).expect("TOML");
        let read = table.get_ref()["access"].get_ref()["commands"].get_ref()["ls"].get_ref();
        let lines = read["args"].get_ref();
        assert_eq!(lines[0].get_ref().as_array().map(|line| line.len()), Some(9), "{text}");
        assert_eq!(lines[1].get_ref()[0].get_ref().as_str(), Some("b"), "{text}");
    }

    #[test]
    fn the_alias_stands_for_all_three() {
        let keys = |caps| super::keys("a", caps).join(", ");
        assert_eq!(
            keys(Capabilities::ALL),
            "path = \"a\", read = true, write = true, execute = true"
        );
        assert_eq!(keys(Capabilities::WRITE), "path = \"a\", write = true");
        assert_eq!(keys(Capabilities::CREATE), "path = \"a\", create = true");
        assert_eq!(keys(Capabilities::NONE), "path = \"a\"");
    }
}
