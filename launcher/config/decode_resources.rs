//! Decodes the rules of `access` about hosts, variables and programs. The file service applies all of them to tools. A
//! run has no requests that could hold variables, so `net_env` does not apply to it (spec §13).

use std::ops::Range;

use jp_confine_engine::commands::Commands;
use jp_confine_engine::env::{Env, EnvRule};
use jp_confine_engine::layers::Layered;
use jp_confine_engine::model::RuleSource;
use jp_confine_engine::net::{Net, NetRule};

use super::decode::{Decoded, Decoder, File};
use super::document::{self, Node, TableEntry};
use super::typed;
use crate::config::environment;
use crate::error::diagnostic::Diagnostic;

/// The keys of this part of `access`.
pub(super) const KEYS: [&str; 4] = ["net", "env", "commands", "net_env"];

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
    pub(super) fn resource(
        &mut self,
        entry: TableEntry<'_, '_>,
        into: &mut Resources,
    ) -> Decoded<()> {
        if entry.value.get_ref().as_array().is_some_and(|items| items.is_empty()) {
            return Ok(());
        }
        match entry.name() {
            "net" => self.net_rules(entry, into),
            "env" => self.env_rules(entry, into),
            "net_env" => {
                into.first.get_or_insert_with(|| (entry.name().to_owned(), entry.key.span()));
                into.net_env = self.read(entry.value)?;
                self.sound(entry.value, Env::readable(&into.net_env).err())
            }
            _ => self.commands(entry.value, into),
        }
    }

    fn net_rules(&mut self, entry: TableEntry<'_, '_>, into: &mut Resources) -> Decoded<()> {
        let mut list = self.list::<NetRule>(entry)?;
        for (index, rule, node) in typed::rules(&mut list, entry.value) {
            rule.source = self.source_of(index, node.span().start);
            self.sound(node, Net::new(std::slice::from_ref(rule)).err())?;
            if into.unsaid.is_none() && document::find(node, &["allow"]).is_none() {
                into.unsaid = Some((rule.source.clone(), rule.host.clone()));
            }
        }
        into.net = Some(list);
        Ok(())
    }

    fn env_rules(&mut self, entry: TableEntry<'_, '_>, into: &mut Resources) -> Decoded<()> {
        let mut list = self.list::<EnvRule>(entry)?;
        for (index, rule, node) in typed::rules(&mut list, entry.value) {
            let name = document::find(node, &["name"]).unwrap_or(node);
            rule.source = self.source_of(index, name.span().start);
            self.sound(node, Env::new(std::slice::from_ref(rule)).err())?;
            self.sound(node, environment::beyond_rules(&rule.name))?;
        }
        into.env = Some(list);
        Ok(())
    }

    fn commands(&mut self, node: &Node<'_>, into: &mut Resources) -> Decoded<()> {
        let mut commands: Commands = self.read(node)?;
        for (index, entry) in document::entries(node).into_iter().enumerate() {
            if let Some(rule) = commands.0.get_mut(entry.name()) {
                rule.source = self.source_of(index, entry.key.span().start);
                self.sound(entry.value, rule.variables().err())?;
                self.sound(entry.value, unsound(entry.name()))?;
            }
        }
        into.commands = Some(commands);
        Ok(())
    }

    /// An error at `node` if something is `wrong` with it.
    fn sound(&self, node: &Node<'_>, wrong: Option<impl std::fmt::Display>) -> Decoded<()> {
        let complaint = |wrong| self.at(node.span(), format!("{wrong}")).label("this cannot stand");
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
