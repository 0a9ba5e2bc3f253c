//! Decodes the tier layer: `[file_policy]`, and lists of patterns such as `access.sensitive_paths`.

use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::pattern::Pattern;
use jp_confine_engine::tier::Tier;

use super::decode::{Decoded, Decoder, Trust};
use super::document::{Value, ValueNode};
use crate::error::diagnostic::nearest;

const KEYS: [&str; 5] = ["default", "deny_paths", "prompt_paths", "read_paths", "write_paths"];
const TIERS: [&str; 4] = ["deny", "prompt", "read", "write"];

impl Decoder<'_> {
    /// Decodes a `file_policy` table (spec §9.1).
    pub(super) fn file_policy(
        &mut self,
        node: &ValueNode<'_>,
        trust: Trust,
    ) -> Decoded<FilePolicy> {
        let mut policy = FilePolicy::default();
        for entry in self.table(node)? {
            let field = |tier: &Tier| tier.field() == entry.key;
            if let Some(tier) = Tier::ALL.into_iter().find(field) {
                *policy.list_mut(tier) = self.patterns(tier.field(), &entry.value)?;
            } else if entry.key == "default" {
                let tier = self.default_tier(&entry.value, trust)?;
                self.note_pattern("default", tier.name(), entry.value.span.start);
                policy.default = Some(tier);
            } else {
                return self.unknown(entry, &KEYS);
            }
        }
        Ok(policy)
    }

    fn default_tier(&self, node: &ValueNode<'_>, trust: Trust) -> Decoded<Tier> {
        let name = self.string(node)?;
        let Some(tier) = Tier::from_name(name) else {
            let help = match nearest(name, &TIERS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("expected one of: {}", TIERS.join(", ")),
            };
            let diagnostic = self.at(&node.span, format!("there is no tier `{name}`"));
            return Err(Box::new(diagnostic.label("unknown").help(help)));
        };
        if trust == Trust::Workspace && matches!(tier, Tier::Read | Tier::Write) {
            return Err(Box::new(
                self.at(&node.span, format!("`default = \"{name}\"` in a workspace"))
                    .label("would open everything outside of the workspace")
                    .help(
                        "a workspace file may say `deny` or `prompt`; put this into the user \
                         configuration, or into a --policy file outside the workspace",
                    ),
            ));
        }
        Ok(tier)
    }

    /// Decodes the list of patterns `field`. Each is checked as far as possible without the disk.
    pub(super) fn patterns(
        &mut self,
        field: &'static str,
        node: &ValueNode<'_>,
    ) -> Decoded<Vec<String>> {
        let Value::Array(items) = &node.value else {
            return self.expected(node, "a list of patterns", "write `[\"…\"]`");
        };
        let mut pattern = |item: &ValueNode<'_>| {
            let text = self.string(item)?;
            match Pattern::check(text) {
                Ok(()) => {
                    self.note_pattern(field, text, item.span.start);
                    Ok(text.to_owned())
                }
                Err(problem) => Err(Box::new(
                    self.at(&item.span, "not a pattern of paths")
                        .label(problem.to_string())
                        .help("patterns are of whole absolute paths: `*` is within one name, `**` across them"),
                )),
            }
        };
        items.iter().map(&mut pattern).collect()
    }
}
