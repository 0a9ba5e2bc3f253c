//! Decodes the rules of `access` about hosts, variables and programs. The file service applies all of them to tools. A
//! run has no requests that could hold variables, so `net_env` does not apply to it (spec §13).

use std::ops::Range;

use jp_confine_engine::commands::{CommandRule, Commands};
use jp_confine_engine::env::{Env, EnvRule};
use jp_confine_engine::layers::Layered;
use jp_confine_engine::model::RuleSource;
use jp_confine_engine::net::{Net, NetRule};

use super::decode::{Decoded, Decoder, File};
use super::document::{TableEntry, Value, ValueNode};
use crate::config::environment;
use crate::error::diagnostic::Diagnostic;

/// The keys of this part of `access`.
pub(super) const KEYS: [&str; 4] = ["net", "env", "commands", "net_env"];

const NET_KEYS: [&str; 5] = ["host", "scheme", "port", "path_prefix", "allow"];
const ENV_KEYS: [&str; 2] = ["name", "read"];
const COMMAND_KEYS: [&str; 2] = ["args", "envs"];

/// The rules of one `access` table about hosts, variables and programs.
#[derive(Debug, Default)]
pub(crate) struct Resources {
    pub(crate) net: Option<Layered<NetRule>>,
    pub(crate) env: Option<Layered<EnvRule>>,
    pub(crate) commands: Option<Commands>,
    pub(crate) net_env: Vec<String>,
    /// The first rule of `net` that does not say whether it allows its host, and that host.
    pub(super) unsaid: Option<(RuleSource, String)>,
    /// The first key that does not apply to runs, and its place.
    pub(super) first: Option<(String, Range<usize>)>,
}

impl Decoder<'_> {
    /// Decodes one key of [`KEYS`].
    pub(super) fn resource(&mut self, entry: &TableEntry<'_>, into: &mut Resources) -> Decoded<()> {
        if entry.value.value == Value::Array(Vec::new()) {
            return Ok(());
        }
        if entry.key == "net_env" {
            let first = || (entry.key.clone().into_owned(), entry.key_span.clone());
            into.first.get_or_insert_with(first);
        }
        match &*entry.key {
            "net" => {
                into.net = Some(self.list("net", &NET_KEYS, &entry.value, Self::net_rule)?);
                into.unsaid = self.unsaid.take();
            }
            "env" => {
                into.env = Some(self.list("env", &ENV_KEYS, &entry.value, Self::env_rule)?);
            }
            "net_env" => {
                into.net_env = self.strings(&entry.value)?;
                let wrong = Env::readable(&into.net_env).err();
                self.sound(&entry.value, wrong)?;
            }
            _ => into.commands = Some(self.commands(&entry.value)?),
        }
        Ok(())
    }

    fn net_rule(&mut self, index: usize, node: &ValueNode<'_>) -> Decoded<NetRule> {
        let mut rule = NetRule::default();
        let entries = self.table(node)?;
        for entry in entries {
            let value = &entry.value;
            match &*entry.key {
                "host" => self.string(value)?.clone_into(&mut rule.host),
                "scheme" => rule.scheme = Some(self.string(value)?.to_owned()),
                "path_prefix" => rule.path_prefix = Some(self.string(value)?.to_owned()),
                "port" => rule.port = Some(self.port(value)?),
                "allow" => rule.allow = self.boolean(value)?,
                _ => return self.unknown(entry, &NET_KEYS),
            }
        }
        let wrong = Net::new(std::slice::from_ref(&rule)).err();
        self.sound(node, wrong)?;
        if self.unsaid.is_none() && !entries.iter().any(|entry| entry.key == "allow") {
            self.unsaid = Some((self.source_of(index, node.span.start), rule.host.clone()));
        }
        Ok(rule)
    }

    fn env_rule(&mut self, index: usize, node: &ValueNode<'_>) -> Decoded<EnvRule> {
        let mut rule = EnvRule::default();
        for entry in self.table(node)? {
            match &*entry.key {
                "name" => {
                    self.string(&entry.value)?.clone_into(&mut rule.name);
                    rule.source = self.source_of(index, entry.key_span.start);
                }
                "read" => rule.read = self.boolean(&entry.value)?,
                _ => return self.unknown(entry, &ENV_KEYS),
            }
        }
        let wrong = Env::new(std::slice::from_ref(&rule)).err();
        self.sound(node, wrong)?;
        self.sound(node, environment::beyond_rules(&rule.name))?;
        Ok(rule)
    }

    fn commands(&mut self, node: &ValueNode<'_>) -> Decoded<Commands> {
        let mut commands = Commands::default();
        for (index, program) in self.table(node)?.iter().enumerate() {
            let source = self.source_of(index, program.key_span.start);
            let mut rule = CommandRule { source, ..CommandRule::default() };
            for entry in self.table(&program.value)? {
                match &*entry.key {
                    "args" => rule.args = Some(self.patterns_of_words(&entry.value)?),
                    "envs" => rule.envs = self.strings(&entry.value)?,
                    _ => return self.unknown(entry, &COMMAND_KEYS),
                }
            }
            let wrong = rule.variables().err();
            self.sound(&program.value, wrong)?;
            self.sound(&program.value, unsound(&program.key))?;
            commands.0.insert(program.key.clone().into_owned(), rule);
        }
        Ok(commands)
    }

    /// The source of a rule that begins at byte `offset`.
    fn source_of(&mut self, index: usize, offset: usize) -> RuleSource {
        RuleSource { layer: self.layer(), index, line: Some(self.line(offset)) }
    }

    fn patterns_of_words(&self, node: &ValueNode<'_>) -> Decoded<Vec<Vec<String>>> {
        match &node.value {
            Value::Array(items) => items.iter().map(|item| self.strings(item)).collect(),
            _ => self.expected(node, "a list of lists of strings", "write `[[\"log\", \"**\"]]`"),
        }
    }

    fn port(&self, node: &ValueNode<'_>) -> Decoded<u16> {
        match &node.value {
            Value::Number(Some(number)) => Ok(*number),
            _ => self.expected(node, "a port", "write a number up to 65535"),
        }
    }

    /// An error at `node` if something is `wrong` with it.
    fn sound(&self, node: &ValueNode<'_>, wrong: Option<impl std::fmt::Display>) -> Decoded<()> {
        let complaint = |wrong| self.at(&node.span, format!("{wrong}")).label("this cannot stand");
        wrong.map_or(Ok(()), |wrong| Err(Box::new(complaint(wrong))))
    }
}

impl File {
    /// The error for a run, of `tool` if one is named, if this file has a key that does not apply to runs.
    pub(crate) fn unheld(&self, tool: Option<&str>) -> Option<Diagnostic> {
        let of_tool = self.tools.iter().filter(|known| Some(known.name.as_str()) == tool);
        let mut all = std::iter::once(&self.resources).chain(of_tool.map(|tool| &tool.resources));
        let (key, span) = all.find_map(|resources| resources.first.clone())?;
        let title = format!("`{key}` is about requests, which only the file service makes");
        Some(
            Diagnostic::at(&self.source, span, title).label("would be ignored").help(
                "remove it, or keep it below `[tools.NAME]` for `jp-confine vfs --tool NAME`",
            ),
        )
    }
}

/// Why no program can have the name `key`, if none can.
pub(crate) fn unsound(key: &str) -> Option<String> {
    let name = key.rsplit('/').next().unwrap_or_default();
    let is_none = matches!(name, "" | "." | "..") || key.contains('\0');
    is_none.then(|| format!("`{key}` is no program: write a name, or the path of a file"))
}
