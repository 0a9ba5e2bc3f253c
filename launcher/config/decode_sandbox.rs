//! Decodes `sandbox`, an older form of a tool's `access` (spec §14.10).

use jp_confine_engine::Capability;
use jp_confine_engine::layers::Layered;
use jp_confine_engine::model::{FsRule, RuleSource};
use jp_confine_engine::net::NetRule;
use url::Url;

use super::decode::{Decoded, Decoder, Tool};
use super::document::{TableEntry, ValueNode};

impl Decoder<'_> {
    /// Decodes `sandbox` into a tool that has no `access`. It always grants reading the workspace.
    pub(super) fn sandbox(&mut self, entry: &TableEntry<'_>, tool: &mut Tool) -> Decoded<()> {
        self.the_only_form(entry, tool)?;
        tool.access = Some(entry.key_span.clone());
        let mut rules = vec![self.place_rule(&entry.value, 0, ".", false)];
        for entry in self.table(&entry.value)? {
            match &*entry.key {
                "filesystem" => self.filesystem(&entry.value, &mut rules)?,
                "network" => self.network(entry, tool)?,
                "commands" => self.resource(entry, &mut tool.resources)?,
                "sensitive_paths" => {
                    tool.sensitive = self.patterns("sensitive_paths", &entry.value)?;
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
    pub(super) fn the_only_form(&self, entry: &TableEntry<'_>, tool: &Tool) -> Decoded<()> {
        if tool.access.is_none() {
            return Ok(());
        }
        Err(Box::new(
            self.at(&entry.key_span, "`sandbox` beside `access`")
                .label("the one is the older form of the other")
                .help("write all of it below `access`"),
        ))
    }

    fn filesystem(&mut self, node: &ValueNode<'_>, rules: &mut Vec<FsRule>) -> Decoded<()> {
        let (mut allow, mut writable) = (Vec::new(), false);
        for entry in self.table(node)? {
            match &*entry.key {
                "allow" => allow = self.strings(&entry.value)?,
                "writable" => writable = self.boolean(&entry.value)?,
                _ => return self.unknown(entry, &["allow", "writable"]),
            }
        }
        for path in &allow {
            let rule = self.place_rule(node, rules.len(), path, writable);
            rules.push(rule);
        }
        Ok(())
    }

    fn place_rule(
        &mut self,
        node: &ValueNode<'_>,
        index: usize,
        path: &str,
        writable: bool,
    ) -> FsRule {
        let layer = self.layer();
        let source = RuleSource { layer, index, line: Some(self.line(node.span.start)) };
        FsRule::new(path).with(Capability::Read, true).with_write(writable).with_source(source)
    }

    fn network(&mut self, within: &TableEntry<'_>, tool: &mut Tool) -> Decoded<()> {
        let resources = &mut tool.resources;
        let mut has_rules = false;
        for entry in self.table(&within.value)? {
            match &*entry.key {
                "allow" => {
                    let prefixes = self.strings(&entry.value)?;
                    has_rules = !prefixes.is_empty();
                    let rules = prefixes.iter().map(|prefix| self.url_rule(&entry.value, prefix));
                    resources.net = Some(Layered::Plain(rules.collect::<Decoded<_>>()?));
                }
                "envs" => resources.net_env = self.strings(&entry.value)?,
                _ => return self.unknown(entry, &["allow", "envs"]),
            }
        }
        // An empty list declares nothing, so it could not confine a run.
        if !has_rules || !resources.net_env.is_empty() {
            let first = (within.key.clone().into_owned(), within.key_span.clone());
            resources.first.get_or_insert(first);
        }
        Ok(())
    }

    /// Turns the prefix of a URL into a rule, which compares parts of URLs and not letters.
    fn url_rule(&self, node: &ValueNode<'_>, prefix: &str) -> Decoded<NetRule> {
        let url = Url::parse(prefix).ok().filter(Url::has_host);
        let Some(url) = url else {
            return self.expected(node, "URLs", "write `https://HOST/PATH`");
        };
        let path = Some(url.path().to_owned()).filter(|path| path != "/");
        Ok(NetRule {
            host: url.host_str().unwrap_or_default().to_owned(),
            scheme: Some(url.scheme().to_owned()),
            port: url.port(),
            path_prefix: path,
            allow: true,
        })
    }
}
