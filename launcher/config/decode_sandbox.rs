//! Decodes `sandbox`, an older form of a tool's `access` (spec §14.10).

use jp_confine_engine::Capability;
use jp_confine_engine::layers::Layered;
use jp_confine_engine::model::FsRule;
use jp_confine_engine::net::NetRule;
use serde::Deserialize;
use url::Url;

use super::decode::{Decoded, Decoder, Tool};
use super::document::{Node, TableEntry};

/// `[tools.NAME.sandbox.filesystem]`
#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub(super) struct Filesystem {
    /// Paths that may be read.
    allow: Vec<String>,
    /// Whether they may be written, too.
    writable: bool,
}

/// `[tools.NAME.sandbox.network]`
#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub(super) struct Network {
    /// URLs: allowed hosts and paths.
    allow: Vec<String>,
    /// Names of variables, as in `net_env`.
    envs: Vec<String>,
}

impl Decoder<'_> {
    /// Decodes `sandbox` into a tool that has no `access`. It always grants reading the workspace.
    pub(super) fn sandbox(&mut self, entry: TableEntry<'_, '_>, tool: &mut Tool) -> Decoded<()> {
        self.the_only_form(entry, tool)?;
        tool.access = Some(entry.key.span());
        let mut rules = vec![self.place_rule(entry.value, 0, ".", false)];
        for entry in self.table(entry.value)? {
            match entry.name() {
                "filesystem" => {
                    let Filesystem { allow, writable } = self.read(entry.value)?;
                    for path in &allow {
                        let rule = self.place_rule(entry.value, rules.len(), path, writable);
                        rules.push(rule);
                    }
                }
                "network" => self.network(entry, tool)?,
                "commands" => self.resource(entry, &mut tool.resources)?,
                "sensitive_paths" => {
                    tool.sensitive = self.patterns("sensitive_paths", entry.value)?;
                }
                _ => {
                    let known = ["filesystem", "network", "commands", "sensitive_paths"];
                    return self.unknown(entry, &known);
                }
            }
        }
        tool.fs = Some(Layered::Plain(rules));
        Ok(())
    }

    /// Rejects `access` beside `sandbox`.
    pub(super) fn the_only_form(&self, entry: TableEntry<'_, '_>, tool: &Tool) -> Decoded<()> {
        if tool.access.is_none() {
            return Ok(());
        }
        Err(Box::new(
            self.at(entry.key.span(), "`sandbox` beside `access`")
                .label("the one is the older form of the other")
                .help("write all of it below `access`"),
        ))
    }

    fn place_rule(&mut self, node: &Node<'_>, index: usize, path: &str, writable: bool) -> FsRule {
        let source = self.source_of(index, node.span().start);
        FsRule::new(path).with(Capability::Read, true).with_write(writable).with_source(source)
    }

    fn network(&mut self, entry: TableEntry<'_, '_>, tool: &mut Tool) -> Decoded<()> {
        let Network { allow, envs } = self.read(entry.value)?;
        let resources = &mut tool.resources;
        // An empty list declares nothing, so it could not confine a run.
        if allow.is_empty() || !envs.is_empty() {
            resources.first.get_or_insert_with(|| (entry.name().to_owned(), entry.key.span()));
        }
        let mut rules: Vec<NetRule> = Vec::new();
        for prefix in &allow {
            let source = self.source_of(rules.len(), entry.key.span().start);
            rules.push(NetRule { source, ..self.url_rule(entry.value, prefix)? });
        }
        resources.net = Some(Layered::Plain(rules));
        resources.net_env = envs;
        Ok(())
    }

    /// Turns the prefix of a URL into a rule, which compares parts of URLs and not letters.
    fn url_rule(&self, node: &Node<'_>, prefix: &str) -> Decoded<NetRule> {
        let url = Url::parse(prefix).ok().filter(Url::has_host);
        let Some(url) = url else {
            return self.expected(node, "URLs, such as `https://HOST/PATH`");
        };
        let path = Some(url.path().to_owned()).filter(|path| path != "/");
        Ok(NetRule {
            host: url.host_str().unwrap_or_default().to_owned(),
            scheme: Some(url.scheme().to_owned()),
            port: url.port(),
            path_prefix: path,
            allow: true,
            ..NetRule::default()
        })
    }
}
