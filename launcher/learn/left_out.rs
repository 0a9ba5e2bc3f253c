//! Leaves out of the rules: changes of auto-run files, which are never learned, and needless rules that shut
//! directories. Used by the search for rules.

use std::collections::BTreeSet;

use jp_confine_engine::Capabilities;

use super::replay::ReplayStage;
use super::tree::{self, LearnedRule};
use crate::learn::learned::Learned;
use crate::record::usage::{self, Use};

impl Learned<'_> {
    /// The uses that change no auto-run file. Records the files that the others changed.
    pub(super) fn leave_out_autorun<'u>(
        &mut self,
        stage: &ReplayStage<'_>,
        uses: Vec<&'u Use>,
    ) -> Vec<&'u Use> {
        let changed = uses.iter().flat_map(|one| stage.changed_autorun(one));
        self.autorun = changed.map(<[u8]>::to_owned).collect();
        uses.into_iter().filter(|one| stage.changed_autorun(one).next().is_none()).collect()
    }

    /// Leaves changed git configurations to the rule around them, if that allows changing files. Then the next run
    /// allows ordinary changes, and prompts for others.
    pub(super) fn leave_to_vetting(&mut self, stage: &ReplayStage<'_>) {
        let changes = Capabilities::READ.union(Capabilities::CREATE).union(Capabilities::UPDATE);
        let is_left = |rules: &[LearnedRule], path: &[u8]| {
            let around = tree::nearest(rules, usage::directory(path)).and_then(|at| rules.get(at));
            stage.is_git_config(path) && around.is_some_and(|rule| rule.caps.contains(changes))
        };
        let rules = self.rules.clone();
        let left: BTreeSet<_> =
            self.autorun.iter().filter(|path| is_left(&rules, path)).cloned().collect();
        self.rules.retain(|rule| !left.contains(&rule.path));
        self.autorun.retain(|path| !left.contains(path));
    }

    /// Leaves out rules that shut a directory, if nothing around it opens it and the rule denies no use.
    pub(super) fn leave_out_shut(&mut self, stage: &ReplayStage<'_>) {
        let rules = self.rules.clone();
        let asked = self.refused.iter().flat_map(|one| one.parts());
        let asked = asked.filter_map(|part| stage.inside(part.path));
        let refusing: BTreeSet<usize> =
            asked.filter_map(|path| tree::nearest(&rules, path)).collect();
        let refuses =
            |rule: &LearnedRule| refusing.iter().any(|place| rules.get(*place) == Some(rule));
        let is_open = |rule: &LearnedRule| {
            let around = (!rule.path.is_empty()).then(|| usage::directory(&rule.path));
            let above = around.and_then(|around| tree::nearest(&rules, around));
            above.and_then(|above| rules.get(above)).is_some_and(|above| !above.caps.is_empty())
        };
        self.rules
            .retain(|rule| !self.shut.contains_key(&rule.path) || is_open(rule) || refuses(rule));
    }
}
