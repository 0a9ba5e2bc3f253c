//! Merges the rules for several programs of a tool at one path: of rules on one path the last decides.

use std::collections::BTreeMap;

use jp_confine_engine::{Capabilities, Capability};

use super::Ended;
use crate::advice::advisor::Written;
use crate::report::why::record::ExplainedDenial;

impl ExplainedDenial {
    /// The rights that its rules grant on each path.
    fn granted(&self) -> impl Iterator<Item = (&String, Capabilities)> {
        let one = |name: &String| Capability::from_name(name).map(Capabilities::from);
        self.grants.iter().map(move |(path, names)| {
            let all = names.iter().filter_map(one);
            (path, all.fold(Capabilities::NONE, Capabilities::union))
        })
    }
}

impl Ended<'_> {
    /// Makes each of these rules grant what the others grant on its paths.
    pub(super) fn unite(&self, earlier: &mut [ExplainedDenial], explained: &mut [ExplainedDenial]) {
        let mut denials: Vec<&mut ExplainedDenial> = earlier.iter_mut().chain(explained).collect();
        let mut all: BTreeMap<String, Capabilities> = BTreeMap::new();
        for (path, caps) in denials.iter().flat_map(|one| one.granted()) {
            let known = all.entry(path.clone()).or_default();
            *known = known.union(caps);
        }
        for denial in denials.iter_mut().filter(|one| !one.grants.is_empty()) {
            let whole = |path: &String| all.get(path).map(|caps| (path.clone(), *caps));
            let whole = denial.grants.keys().filter_map(whole).collect();
            let written = Written { rules: whole, ..Written::default() };
            let others = denial.changes.iter().skip(1).cloned();
            denial.changes = self.advisor.changes(&written).into_iter().chain(others).collect();
        }
    }
}
