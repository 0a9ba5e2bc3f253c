//! What the files say of tiers, together: the user's overlay each other, a workspace's restrict (spec
//! §9.4, §18).

use jp_confine_policy::file_policy::FilePolicy;
use jp_confine_policy::pattern::Places;
use jp_confine_policy::tier::Tier;
use jp_confine_policy::tiers::{TierError, Tiers};

use super::decode::{File, Tool, Trust};
use super::layers::Layers;
use crate::failure::Failure;

/// The tier layer of a run, as written.
#[derive(Debug, Default)]
struct Written {
    policy: FilePolicy,
    sensitive: Vec<String>,
    warnings: Vec<String>,
}

impl Layers {
    /// The tier layer of the run, with that of `tool` if one is named, and what the person should know.
    /// `warns` says whether the list of sensitive paths counts. Looks at the disk.
    ///
    /// # Errors
    /// Where a pattern that would have to restrict can match nothing.
    pub(crate) fn tiers(
        &self,
        tool: Option<&str>,
        places: Places<'_>,
        warns: bool,
    ) -> Result<(Tiers, Vec<String>), Failure> {
        let mut written = Written::default();
        for file in self.files().iter().filter(|file| file.trust == Trust::User) {
            written.overlay(file.tiers.as_ref());
        }
        for file in self.files().iter().filter(|file| file.trust == Trust::User) {
            written.overlay(of_tool(file, tool));
        }
        for file in self.files() {
            let of_tool = tool_of(file, tool).into_iter().flat_map(|tool| &tool.sensitive);
            written.sensitive.extend(file.sensitive.iter().chain(of_tool).cloned());
        }
        let sensitive = warns.then_some(written.sensitive.as_slice());
        let failure = |error: TierError| {
            Failure::advised(error.to_string(), "nothing was run: what it denies would be allowed")
        };
        let mut tiers = Tiers::new(&written.policy, sensitive, places).map_err(failure)?;
        for file in self.files().iter().filter(|file| file.trust == Trust::Workspace) {
            for policy in [file.tiers.as_ref(), of_tool(file, tool)].into_iter().flatten() {
                let left_out = tiers.restrict(policy, places).map_err(failure)?;
                written.warnings.extend(left_out_words(&left_out, &file.source.name));
            }
        }
        let dropped = tiers.dropped.iter().map(|error| format!("left out: {error}"));
        written.warnings.extend(dropped);
        Ok((tiers, written.warnings))
    }
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
}

/// What to say of patterns of a workspace file that do not count.
fn left_out_words(left_out: &[(Tier, &str)], file: &str) -> Option<String> {
    let ((tier, first), others) = left_out.split_first()?;
    let field = tier.field();
    let subject = match others.len() {
        0 => format!("`{first}` of {field} in {file} was"),
        more => format!("`{first}` of {field} in {file} and {more} more were"),
    };
    Some(format!(
        "{subject} left out: the user configuration may open that, a workspace file may \
         not"
    ))
}
