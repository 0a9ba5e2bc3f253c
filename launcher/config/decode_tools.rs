//! Decodes tables of tools (spec §18 "Policy file").

use std::ops::Range;

use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::layers::Layered;
use jp_confine_engine::model::FsRule;
use serde::Deserialize;

use super::decode::{Decoded, Decoder, Trust};
use super::decode_resources::Resources;
use super::document::{Node, TableEntry};

/// `[tools.NAME]`, or `[conversation.tools.NAME]` of a JP file.
#[derive(Debug, Default)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// The origin of the tool: `local`, `builtin`, `mcp` or `mcp.SERVER`.
    pub(crate) origin: Option<String>,
    /// The place of its `access` or `sandbox`, if it has one.
    pub(crate) access: Option<Range<usize>>,
    /// `access.fs` of the tool.
    pub(crate) fs: Option<Layered<FsRule>>,
    pub(crate) tiers: Option<FilePolicy>,
    /// `access.sensitive_paths` of the tool.
    pub(crate) sensitive: Vec<String>,
    /// `access.autorun_paths` of the tool.
    pub(crate) autorun: Vec<String>,
    /// The rest of `access` of the tool.
    pub(crate) resources: Resources,
    /// Whether JP offers it. `None` if the file does not say.
    pub(crate) enabled: Option<bool>,
    /// The words that start it: the program and its arguments. Empty if the file does not say.
    pub(crate) command: Vec<String>,
}

/// JP's defaults for all tools stand below this name.
const DEFAULTS: &str = "*";

/// `command` of a tool, as JP has it.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(super) enum WrittenCommand {
    /// Words as for a shell.
    Line(String),
    Words(Vec<String>),
    Parts {
        program: String,
        #[serde(default)]
        args: Vec<String>,
        /// Whether `program` is a line for a shell.
        #[serde(default)]
        shell: bool,
    },
}

impl Decoder<'_> {
    /// Decodes a table of tools, and adds them to `tools`. JP has many more keys for its tools, and checks them itself.
    pub(super) fn tools(
        &mut self,
        node: &Node<'_>,
        trust: Trust,
        jp: bool,
        tools: &mut Vec<Tool>,
    ) -> Decoded<()> {
        for named in self.table(node)? {
            if named.name() == DEFAULTS {
                self.no_rules_for_all(named)?;
                continue;
            }
            self.the_only_table(named, tools)?;
            let mut tool = Tool { name: named.name().to_owned(), ..Tool::default() };
            for entry in self.table(named.value)? {
                match entry.name() {
                    "access" => {
                        self.the_only_form(entry, &tool)?;
                        tool.access = Some(entry.key.span());
                        let access = self.access(entry.value)?;
                        tool.fs = access.fs;
                        tool.sensitive = access.sensitive;
                        tool.autorun = access.autorun;
                        tool.resources = access.resources;
                    }
                    "sandbox" => self.sandbox(entry, &mut tool)?,
                    "source" => tool.origin = Some(self.origin(entry.value)?),
                    "file_policy" => {
                        tool.tiers = Some(self.file_policy(entry.value, trust)?);
                    }
                    // JP has further values, by all of which a tool is offered.
                    "enable" if jp => {
                        tool.enabled = Some(entry.value.get_ref().as_bool() != Some(false));
                    }
                    "runtime" if !jp => self.runtime(entry.value)?,
                    "command" => tool.command = self.command(entry.value)?,
                    _ if jp => {}
                    _ => {
                        let known =
                            ["access", "sandbox", "file_policy", "source", "command", "runtime"];
                        return self.unknown(entry, &known);
                    }
                }
            }
            tools.push(tool);
        }
        Ok(())
    }

    /// Rejects rules for all tools, which JP has not.
    fn no_rules_for_all(&self, named: TableEntry<'_, '_>) -> Decoded<()> {
        let rules = |key: &str| matches!(key, "access" | "sandbox" | "file_policy");
        let found = self.table(named.value)?.into_iter().find(|entry| rules(entry.name()));
        found.map_or(Ok(()), |entry| {
            let title = format!("`{}` below `tools.'*'`", entry.name());
            Err(Box::new(
                self.at(entry.key.span(), title)
                    .label("would count for no tool")
                    .help("write it below each tool's own name, or below `[access]` for every run"),
            ))
        })
    }

    /// The words that start a tool. What a shell would have to read is handed to one.
    fn command(&self, node: &Node<'_>) -> Decoded<Vec<String>> {
        let words = match self.read::<WrittenCommand>(node)? {
            WrittenCommand::Line(line) => match shlex::split(&line) {
                Some(words) => words,
                None => return self.expected(node, "words as for a shell, with paired quotes"),
            },
            WrittenCommand::Words(words) => words,
            WrittenCommand::Parts { program, args, shell: true } => {
                let quoted = args.iter().map(|word| shlex::try_quote(word).map(String::from));
                match quoted.collect::<Result<Vec<String>, _>>() {
                    Ok(quoted) => {
                        let line = [vec![program], quoted].concat().join(" ");
                        ["sh", "-c", &line].map(str::to_owned).to_vec()
                    }
                    Err(_) => return self.expected(node, "words without a zero byte"),
                }
            }
            WrittenCommand::Parts { program, args, shell: false } => [vec![program], args].concat(),
        };
        Ok(words)
    }

    /// Rejects a second table of a tool: one might deny something that the other allows.
    fn the_only_table(&self, named: TableEntry<'_, '_>, tools: &[Tool]) -> Decoded<()> {
        let name = named.name();
        if tools.iter().all(|known| known.name != name) {
            return Ok(());
        }
        Err(Box::new(
            self.at(
                named.key.span(),
                format!("`[tools.{name}]` beside `[conversation.tools.{name}]`"),
            )
            .label("the one is another spelling of the other")
            .help("write all of it below one of the two"),
        ))
    }

    /// Checks how a host starts the tool. Only the host uses the value.
    fn runtime(&self, node: &Node<'_>) -> Decoded<()> {
        match self.read::<String>(node)?.as_str() {
            "stdio" | "vfs" => Ok(()),
            _ => self.expected(node, "`stdio` or `vfs`"),
        }
    }

    /// Decodes the origin of the tool. A dot and the host's name for it may follow.
    fn origin(&self, node: &Node<'_>) -> Decoded<String> {
        let text: String = self.read(node)?;
        match text.split('.').next() {
            Some("local" | "builtin" | "mcp") => Ok(text),
            _ => self.expected(node, "`local`, `builtin` or `mcp`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::config::decode::{self, File, Origin};
    use crate::config::document::Notation;
    use crate::error::source::Source;

    fn decoded(text: &str) -> Result<File, String> {
        let source = Rc::new(Source::new("policy", text.to_owned()));
        let origin = Origin { trust: Trust::Workspace, is_named: true };
        let file = decode::file(&source, Notation::Toml, origin);
        file.map_err(|diagnostic| diagnostic.render(false))
    }

    /// If either table were used alone, the denials of the other would be lost.
    #[test]
    fn a_tool_has_one_table() {
        let rows = [
            ("[[", "access.fs]]\npath = 'secret'\n"),
            ("[", "file_policy]\ndeny_paths = ['<workspace>/secret']\n"),
        ];
        for (brackets, rest) in rows {
            let table = |place: &str, name: &str| format!("{brackets}{place}.{name}.{rest}");
            let (ours, theirs) = (table("tools", "edit"), table("conversation.tools", "edit"));
            for text in [format!("{ours}{theirs}"), format!("{theirs}{ours}")] {
                let told = decoded(&text).expect_err(&text);
                assert!(
                    told.contains("`[tools.edit]` beside `[conversation.tools.edit]`"),
                    "{told}"
                );
            }
            let other = format!("{ours}{}", table("conversation.tools", "run"));
            let tools = decoded(&other).unwrap_or_else(|told| panic!("{told}")).tools;
            assert_eq!(tools.len(), 2, "{other}");
        }
    }
}
