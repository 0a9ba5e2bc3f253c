//! Merges the rules for several programs of a tool at one path: of rules on one path the last decides.

use std::collections::BTreeMap;

use jp_confine_engine::{Capabilities, Capability};

use super::Ended;
use crate::advice::advisor::Written;
use crate::report::why::record::{ExplainedDenial, Rules};

impl Rules {
    /// The rights that they grant on each path.
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
        let mut rules: Vec<&mut Rules> =
            earlier.iter_mut().chain(explained).map(|one| &mut one.rules).collect();
        let mut all: BTreeMap<String, Capabilities> = BTreeMap::new();
        for (path, caps) in rules.iter().flat_map(|rules| rules.granted()) {
            let known = all.entry(path.clone()).or_default();
            *known = known.union(caps);
        }
        for rules in rules.iter_mut().filter(|rules| !rules.grants.is_empty()) {
            let whole = |path: &String| all.get(path).map(|caps| (path.clone(), *caps));
            let whole = rules.grants.keys().filter_map(whole).collect();
            let written = Written { rules: whole, ..Written::default() };
            **rules = Rules::of_written(&written, &self.advisor);
        }
    }
}
