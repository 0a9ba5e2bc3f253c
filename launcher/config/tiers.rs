//! Merges the tiers of all files: the user's files overlay each other, and a workspace's restrict (spec §9.4, §18).

use std::collections::BTreeSet;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jp_confine_engine::approvals::Approval;
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::pattern::{Pattern, Places};
use jp_confine_engine::rule_name::FileLine;
use jp_confine_engine::surroundings::{self, Surroundings};
use jp_confine_engine::tier::Tier;
use jp_confine_engine::tiers::{TierError, Tiers};
use jp_confine_engine::warning;

use super::decode::{File, Tool, Trust};
use super::layers::Layers;
use crate::config::outside_pattern::OutsidePattern;
use crate::error::Failure;
use crate::host::context::Context;
use crate::host::invocation::CommandHint;
use crate::text::quote;

/// Most patterns that a file's warnings name.
const NAMED: usize = 3;

/// The patterns that files add to the built-in lists.
#[derive(Debug, Default)]
pub(crate) struct AddedPatterns {
    /// To the list of sensitive paths.
    pub(crate) sensitive: Vec<String>,
    /// To the list of auto-run files.
    pub(crate) autorun: Vec<String>,
}

impl Layers {
    /// The patterns of the run, with those of `tool` if one is named.
    pub(crate) fn added_patterns(&self, tool: Option<&str>) -> AddedPatterns {
        AddedPatterns { sensitive: self.added(tool), autorun: self.autorun(tool) }
    }

    /// Only the list of sensitive paths.
    ///
    /// # Errors
    /// Those of [`Self::tiers`].
    pub(crate) fn sensitive(
        &self,
        tool: Option<&str>,
        places: Places<'_>,
    ) -> Result<Tiers, Failure> {
        let tiers = Tiers::new(&FilePolicy::default(), Some(&self.added(tool)), places);
        let mut tiers = tiers.map_err(|error| refused(&error))?;
        tiers.locate(|field, text| self.place_of_pattern(field, text));
        Ok(tiers)
    }

    /// The file and the line of the pattern `text` in the list `field`. Of several the last.
    fn place_of_pattern(&self, field: &str, text: &str) -> Option<FileLine> {
        self.files().iter().rev().find_map(|file| {
            let line = file.line_of_pattern(field, text)?;
            Some(FileLine { file: Arc::clone(&file.source.name), line })
        })
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

    /// The patterns that files add to the list of auto-run files.
    pub(crate) fn autorun(&self, tool: Option<&str>) -> Vec<String> {
        let of_tool = |file| tool_of(file, tool).into_iter().flat_map(|tool| &tool.autorun);
        let all = self.files().iter().flat_map(|file| file.autorun.iter().chain(of_tool(file)));
        all.cloned().collect()
    }

    /// Adds the list of auto-run files to `tiers`, without those that `allow_autorun` releases. Looks at the disk.
    ///
    /// # Errors
    /// If a pattern is not valid.
    pub(crate) fn guarding(
        &self,
        tiers: Tiers,
        places: Places<'_>,
        context: &Context,
        (tool, allow_autorun): (Option<&str>, &[String]),
    ) -> Result<Tiers, Failure> {
        let commands = context.commands();
        let around = Surroundings {
            workspace: places.workspace,
            cwd: &context.cwd,
            homes: &context.homes,
            commands: &commands,
        };
        let added = self.autorun(tool);
        let released = allow_autorun.iter().map(|glob| from_here(glob, &context.cwd));
        let released: Vec<String> = released.collect::<Result<_, _>>()?;
        let tiers = tiers.guarding(surroundings::find(around), &added, &released, places);
        let mut tiers = tiers.map_err(|error| refused(&error))?;
        tiers.locate(|field, text| self.place_of_pattern(field, text));
        Ok(tiers)
    }

    /// The tier layer of the run, with that of `tool` if one is named, and warnings. Looks at the disk.
    ///
    /// `warns` says whether the list of sensitive paths counts. `approved` looks up the approval of a pattern of a
    /// workspace file that would grant something outside the workspace.
    ///
    /// # Errors
    /// If a pattern that has to restrict can match nothing.
    pub(crate) fn tiers(
        &self,
        tool: Option<&str>,
        places: Places<'_>,
        warns: bool,
        here: &CommandHint,
        mut approved: impl FnMut(&OutsidePattern) -> Approval,
    ) -> Result<(Tiers, Vec<String>), Failure> {
        let own = || self.files().iter().filter(|file| file.trust == Trust::User);
        let overlays = own().map(|file| file.tiers.as_ref());
        let overlays = overlays.chain(own().map(|file| of_tool(file, tool))).flatten();
        let written = overlays.fold(FilePolicy::default(), FilePolicy::overlaid);
        let theirs =
            self.files().iter().flat_map(|file| [file.tiers.as_ref(), of_tool(file, tool)]);
        let warns = warns || theirs.flatten().any(FilePolicy::opens);
        let sensitive = warns.then(|| self.added(tool));
        let mut tiers =
            Tiers::new(&written, sensitive.as_deref(), places).map_err(|error| refused(&error))?;
        let mut warnings = Vec::new();
        for file in self.files().iter().filter(|file| file.trust == Trust::Workspace) {
            for policy in [file.tiers.as_ref(), of_tool(file, tool)].into_iter().flatten() {
                let mut retargeted = Vec::new();
                let left_out = tiers.restrict(policy, places, |tier, text, stem| {
                    let (text, stem) = (text.to_owned(), stem.to_owned());
                    let tools = self.holders(tier, &text);
                    let wide = OutsidePattern { tier, text, stem, tools };
                    let approval = approved(&wide);
                    let is_approved = approval == Approval::Approved;
                    if let Approval::Retargeted { previous } = approval {
                        retargeted.push((wide, previous));
                    }
                    is_approved
                });
                let left_out = left_out.map_err(|error| refused(&error))?;
                let why = |&(tier, text)| {
                    let name = &file.source.name;
                    if tiers.is_settled {
                        return overruled(tier, text, name);
                    }
                    let mut known = retargeted.iter();
                    let previous =
                        known.find(|(it, _)| (it.tier, it.text.as_str()) == (tier, text));
                    unapproved(tier, text, name, previous, here)
                };
                warnings.extend(left_out.iter().take(NAMED).map(why));
                if let Some(more @ 1..) = left_out.len().checked_sub(NAMED) {
                    warnings
                        .push(format!("and so do {more} more patterns of {}", file.source.name));
                }
            }
        }
        tiers.locate(|field, text| self.place_of_pattern(field, text));
        warnings.extend(warning::left_out(&tiers).map(|warning| warning.to_string()));
        Ok((tiers, warnings))
    }

    /// The tools that have `text` in a list of workspace files. Empty if every run has it.
    fn holders(&self, tier: Tier, text: &str) -> Vec<String> {
        let has = |policy: Option<&FilePolicy>| {
            policy.is_some_and(|policy| policy.list(tier).iter().any(|one| one == text))
        };
        let files = || self.files().iter().filter(|file| file.trust == Trust::Workspace);
        if files().any(|file| has(file.tiers.as_ref())) {
            return Vec::new();
        }
        let tools = files().flat_map(|file| &file.tools);
        let names = tools.filter(|tool| has(tool.tiers.as_ref())).map(|tool| tool.name.clone());
        names.collect::<BTreeSet<String>>().into_iter().collect()
    }

    /// The patterns of workspace files, for a run or any tool, that count only if a person approves their places. Looks
    /// at the disk.
    ///
    /// # Errors
    /// Those of [`Self::tiers`].
    pub(crate) fn wide(
        &self,
        places: Places<'_>,
        here: &CommandHint,
    ) -> Result<Vec<OutsidePattern>, Failure> {
        let tools = self.files().iter().flat_map(|file| &file.tools);
        let mut found = Vec::new();
        for tool in iter::once(None).chain(tools.map(|tool| Some(tool.name.as_str()))) {
            self.tiers(tool, places, false, here, |wide| {
                if !found.contains(wide) {
                    found.push(wide.clone());
                }
                Approval::Unknown
            })?;
        }
        Ok(found)
    }
}

/// A glob of `--allow-autorun`, made relative to the working directory unless it names another place.
pub(crate) fn from_here(glob: &str, cwd: &Path) -> Result<String, Failure> {
    if ["/", "~", "<workspace>", "**"].iter().any(|begin| glob.starts_with(begin)) {
        return Ok(glob.to_owned());
    }
    let here = Pattern::literal(cwd).ok_or_else(|| {
        let problem = format!("--allow-autorun {glob}: the working directory is not UTF-8");
        Failure::advised(problem, "begin the pattern with `**/`")
    })?;
    let below = glob.strip_prefix("./").unwrap_or(glob);
    Ok(format!("{}/{below}", here.trim_end_matches('/')))
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

/// Warns of a pattern of a workspace file that grants nothing, and restricts at most: the user's files set the default
/// for paths that no pattern matches.
fn overruled(tier: Tier, text: &str, file: &str) -> String {
    format!(
        "`{text}` of {} in {file} {}: your own configuration says what holds where no pattern \
         matches",
        tier.field(),
        does(tier),
    )
}

/// Warns of a pattern that leads outside and is not approved. `known` has the approved place if the pattern led
/// elsewhere then.
fn unapproved(
    tier: Tier,
    text: &str,
    file: &str,
    known: Option<&(OutsidePattern, PathBuf)>,
    here: &CommandHint,
) -> String {
    let field = tier.field();
    let why = match known {
        Some((OutsidePattern { stem, .. }, previous)) => {
            let [now, then] = [stem, previous].map(|path| quote::place(path));
            format!("it leads to {now} now, and {then} was approved")
        }
        None => "it leads outside, and nobody approved it".to_owned(),
    };
    format!(
        "`{text}` of {field} in {file} {}: {why}; to allow it: {}",
        does(tier),
        here.approval(&format!("{field} {text}")),
        text = quote::path(text),
    )
}

/// The remaining effect of a pattern that grants nothing.
const fn does(tier: Tier) -> &'static str {
    if matches!(tier, Tier::Read) { "only restricts" } else { "does nothing" }
}
