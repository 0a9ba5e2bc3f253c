//! What the files say of tiers, together: the user's overlay each other, a workspace's restrict (spec
//! §9.4, §18).

use jp_confine_policy::file_policy::FilePolicy;
use jp_confine_policy::pattern::{Pattern, Places};
use jp_confine_policy::tier::Tier;
use jp_confine_policy::tiers::{TierError, Tiers};

use super::decode::{File, Tool, Trust};
use super::layers::Layers;
use crate::approvals::patterns::Wide;
use crate::failure::Failure;

/// The tier layer of a run, as written.
#[derive(Debug, Default)]
struct Written {
    policy: FilePolicy,
    warnings: Vec<String>,
}

impl Layers {
    /// The list of sensitive paths alone.
    ///
    /// # Errors
    /// As [`Self::tiers`].
    pub(crate) fn sensitive(
        &self,
        tool: Option<&str>,
        places: Places<'_>,
    ) -> Result<Tiers, Failure> {
        Tiers::new(&FilePolicy::default(), Some(&self.added(tool)), places)
            .map_err(|error| refused(&error))
    }

    /// The patterns that files add to the list of sensitive paths.
    fn added(&self, tool: Option<&str>) -> Vec<String> {
        let of_tool = |file| tool_of(file, tool).into_iter().flat_map(|tool| &tool.sensitive);
        self.files()
            .iter()
            .flat_map(|file| file.sensitive.iter().chain(of_tool(file)))
            .cloned()
            .collect()
    }

    /// The tier layer of the run, with that of `tool` if one is named, and what the person should know.
    /// `warns` says whether the list of sensitive paths counts, `approved` whether a pattern of a
    /// workspace file may open what lies outside of the workspace. Looks at the disk.
    ///
    /// # Errors
    /// Where a pattern that would have to restrict can match nothing.
    pub(crate) fn tiers(
        &self,
        tool: Option<&str>,
        places: Places<'_>,
        warns: bool,
        mut approved: impl FnMut(&Wide) -> bool,
    ) -> Result<(Tiers, Vec<String>), Failure> {
        let mut written = Written::default();
        for file in self.files().iter().filter(|file| file.trust == Trust::User) {
            written.overlay(file.tiers.as_ref());
        }
        for file in self.files().iter().filter(|file| file.trust == Trust::User) {
            written.overlay(of_tool(file, tool));
        }
        for file in self.files().iter().filter(|file| file.trust == Trust::Workspace) {
            for policy in [file.tiers.as_ref(), of_tool(file, tool)].into_iter().flatten() {
                written.restrict(policy, &file.source.name, places, &mut approved);
            }
        }
        let sensitive = warns.then(|| self.added(tool));
        let tiers = Tiers::new(&written.policy, sensitive.as_deref(), places)
            .map_err(|error| refused(&error))?;
        let dropped = tiers.dropped.iter().map(|error| format!("left out: {error}"));
        written.warnings.extend(dropped);
        Ok((tiers, written.warnings))
    }
}

fn refused(error: &TierError) -> Failure {
    Failure::advised(error.to_string(), "nothing was run: what it denies would be allowed")
}

fn of_tool<'f>(file: &'f File, name: Option<&str>) -> Option<&'f FilePolicy> {
    tool_of(file, name)?.tiers.as_ref()
}

fn tool_of<'f>(file: &'f File, name: Option<&str>) -> Option<&'f Tool> {
    file.tools.iter().find(|tool| Some(tool.name.as_str()) == name)
}

impl Written {
    fn overlay(&mut self, policy: Option<&FilePolicy>) {
        if let Some(policy) = policy {
            self.policy = std::mem::take(&mut self.policy).overlaid(policy);
        }
    }

    /// Adds what anybody who can commit may say: denials and questions; and, where the user has no
    /// default that it would be an exception to, what may be done inside the workspace.
    fn restrict(
        &mut self,
        policy: &FilePolicy,
        file: &str,
        places: Places<'_>,
        approved: &mut impl FnMut(&Wide) -> bool,
    ) {
        let may_open = self.policy.default.is_none();
        self.policy.default = match (self.policy.default, policy.default) {
            (Some(own), Some(theirs)) => Some(own.min(theirs)),
            (own, theirs) => own.or(theirs),
        };
        for tier in Tier::ALL {
            for text in policy.list(tier) {
                let wide = outside(text, tier, places);
                let unwanted = match (tier, wide) {
                    (Tier::Deny, _) | (Tier::Prompt, None) => None,
                    (Tier::Read | Tier::Write, _) if !may_open => Some(overruled(text, tier, file)),
                    (_, Some(wide)) if !approved(&wide) => Some(unapproved(&wide, file)),
                    _ => None,
                };
                if unwanted.is_none() {
                    self.policy.list_mut(tier).push(text.clone());
                } else if tier == Tier::Prompt {
                    // To ask would open it, too.
                    self.policy.deny_paths.push(text.clone());
                }
                self.warnings.extend(unwanted);
            }
        }
    }
}

/// The pattern, where it matches outside of the workspace; one that cannot be expanded is told of later.
fn outside(text: &str, tier: Tier, places: Places<'_>) -> Option<Wide> {
    let stem = Pattern::new(text, places, false).ok()?.stem();
    let inside = stem.starts_with(places.workspace);
    (!inside).then(|| Wide { tier, text: text.to_owned(), stem })
}

fn overruled(text: &str, tier: Tier, file: &str) -> String {
    format!(
        "`{text}` of {} in {file} was left out: the user's own files say what holds where no pattern \
         matches",
        tier.field()
    )
}

fn unapproved(wide: &Wide, file: &str) -> String {
    format!(
        "`{}` of {} in {file} opens nothing: it leads outside, and nobody approved it; to allow it: \
         jp-confine approvals approve '{}'",
        wide.text,
        wide.tier.field(),
        wide.name()
    )
}
