//! Decodes the tier layer: `[file_policy]`, and lists of patterns such as `access.sensitive_paths`.

use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::pattern::Pattern;
use jp_confine_engine::tier::Tier;
use toml::Spanned;

use super::decode::{Decoded, Decoder, Trust};
use super::document::{self, Node};

impl Decoder<'_> {
    /// Decodes a `file_policy` table (spec §9.1).
    pub(super) fn file_policy(&mut self, node: &Node<'_>, trust: Trust) -> Decoded<FilePolicy> {
        let policy: FilePolicy = self.read(node)?;
        for entry in document::entries(node) {
            if let Some(tier) = Tier::ALL.into_iter().find(|tier| tier.field() == entry.name()) {
                self.patterns(tier.field(), entry.value)?;
            } else if let Some(tier) = policy.default {
                self.check_default(tier, entry.value, trust)?;
                self.note_pattern("default", tier.name(), entry.value.span().start);
            }
        }
        Ok(policy)
    }

    fn check_default(&self, tier: Tier, node: &Node<'_>, trust: Trust) -> Decoded<()> {
        if trust == Trust::User || !matches!(tier, Tier::Read | Tier::Write) {
            return Ok(());
        }
        Err(Box::new(
            self.at(node.span(), format!("`default = \"{}\"` in a workspace", tier.name()))
                .label("would open everything outside of the workspace")
                .help(
                    "a workspace file may say `deny` or `prompt`; put this into the user \
                     configuration, or into a --policy file outside the workspace",
                ),
        ))
    }

    /// Decodes the list of patterns `field`. Each is checked as far as possible without the disk.
    pub(super) fn patterns(
        &mut self,
        field: &'static str,
        node: &Node<'_>,
    ) -> Decoded<Vec<String>> {
        let patterns: Vec<Spanned<String>> = self.read(node)?;
        for pattern in &patterns {
            if let Err(problem) = Pattern::check(pattern.get_ref()) {
                return Err(Box::new(
                    self.at(pattern.span(), "not a pattern of paths")
                        .label(problem.to_string())
                        .help("patterns are of whole absolute paths: `*` is within one name, `**` across them"),
                ));
            }
            self.note_pattern(field, pattern.get_ref(), pattern.span().start);
        }
        Ok(patterns.into_iter().map(Spanned::into_inner).collect())
    }
}
