//! One way out of many denials in one directory: who was refused file after file there will be refused the next.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_policy::Capabilities;
use jp_confine_policy::build::Grant;
use jp_confine_policy::decide::{self, Request, Verdict};

use super::{Advisor, granted, option_for, options_of};
use crate::asked::{Asked, Step, path_of};
use crate::events::Denial;
use crate::grants;
use crate::prepare;

/// So many paths in one directory are many.
const MANY: usize = 3;

/// More denials are not looked at.
const MOST: usize = 2000;

/// Denials in one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gathered {
    /// Canonical.
    pub(crate) directory: PathBuf,
    /// Which of the denials, in order.
    pub(crate) members: Vec<usize>,
    /// Options that allow all of them, and what else would be asked for in the directory.
    pub(crate) options: Vec<(&'static str, PathBuf)>,
    /// Rules of `access.fs` that do, workspace-relative; none where rules cannot.
    pub(crate) rules: Vec<(String, Capabilities)>,
}

impl Advisor<'_> {
    /// Those of `denials` that one grant on their directory would allow. Of the workspace as a whole, the
    /// user's home and what is above either nobody is advised to grant more.
    pub(crate) fn gather(&self, denials: &[&Denial]) -> Vec<Gathered> {
        let mut directories: BTreeMap<&Path, Vec<(usize, Asked<'_>)>> = BTreeMap::new();
        for (place, denial) in denials.iter().enumerate().take(MOST) {
            let Ok(asked @ (Asked::Access(..) | Asked::Removal(_))) = self.grantable(denial) else {
                continue;
            };
            let path = asked.paths().first().copied().and_then(Path::parent);
            if let Some(directory) = path.filter(|directory| !self.is_too_much(directory)) {
                directories.entry(directory).or_default().push((place, asked));
            }
        }
        let many = directories.into_iter().filter(|(directory, members)| {
            let paths: BTreeSet<_> = members.iter().flat_map(|(_, asked)| asked.paths()).collect();
            paths.len() >= MANY && count_in(directory, denials) == members.len()
        });
        many.filter_map(|(directory, members)| self.gathered(directory, &members, denials))
            .collect()
    }

    fn gathered(
        &self,
        directory: &Path,
        members: &[(usize, Asked<'_>)],
        denials: &[&Denial],
    ) -> Option<Gathered> {
        let wanted = members.iter().filter_map(|(place, _)| denials.get(*place));
        let missing = wanted.fold(Capabilities::NONE, |all, denial| all.union(denial.missing));
        let options = self.step(directory, missing, members, |missing| option_for(missing).1)?;
        let rules = self.step(directory, missing, members, |missing| missing);
        Some(Gathered {
            directory: directory.to_owned(),
            members: members.iter().map(|(place, _)| *place).collect(),
            options: options_of(&options),
            rules: rules.and_then(|step| self.rules(&[step])).unwrap_or_default(),
        })
    }

    /// A grant on the directory, if it allows all members.
    fn step(
        &self,
        directory: &Path,
        missing: Capabilities,
        members: &[(usize, Asked<'_>)],
        widen: impl Fn(Capabilities) -> Capabilities,
    ) -> Option<Step> {
        let asked = Asked::Access(directory.as_os_str().as_bytes(), missing);
        let before = self.image(self.grants, asked).ok()?;
        let before = prepare::parse_image(&before).ok()?;
        let request = Request::canonical(directory.as_os_str().as_bytes());
        let held = decide::lookup(&before, &request).caps;
        let place = directory.to_owned();
        let step = Step { place, held: held.union(missing).union(widen(missing)), missing };
        let grants: Vec<Grant> = self.grants.iter().cloned().chain([granted(&step)]).collect();
        let paths: Vec<&Path> = members.iter().flat_map(|(_, asked)| asked.paths()).collect();
        let image = grants::image_over(&grants, Some(self.tiers), &paths, self.workspace).ok()?;
        let image = prepare::parse_image(&image).ok()?;
        let allows = |(_, asked): &(usize, Asked<'_>)| asked.judge(&image) == Verdict::Allow;
        members.iter().all(allows).then_some(step)
    }

    fn is_too_much(&self, directory: &Path) -> bool {
        let is_home = |grant: &Grant| {
            grant.kind == super::GrantKind::Hidden && grant.anchor.starts_with(directory)
        };
        self.workspace.starts_with(directory)
            || directory.parent().is_none()
            || self.grants.iter().any(is_home)
    }
}

/// How many denials name something in a directory: a rule there for one of them alone, of a move for instance,
/// would outweigh that on the directory.
fn count_in(directory: &Path, denials: &[&Denial]) -> usize {
    let is_in = |path: &[u8]| path_of(path).parent() == Some(directory);
    denials.iter().take(MOST).filter(|one| is_in(&one.path) || is_in(&one.other)).count()
}
