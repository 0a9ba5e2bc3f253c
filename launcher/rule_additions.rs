//! What files of rules take more to allow what was denied, and where in them: of rules on one path the last decides.

use std::collections::BTreeMap;
use std::ptr;

use jp_confine_policy::Capabilities;
use jp_confine_policy::build::{Grant, Origin};

use crate::advice::Advisor;
use crate::config::rule_place::RulePlace;
use crate::report;
use crate::rule_text;

/// Rules to add to one file.
#[derive(Clone, Debug)]
pub(crate) struct RuleAddition<'a> {
    place: &'a RulePlace,
    /// The line of the rule there that it is to come after, since it is on the same path.
    pub(crate) after: Option<u32>,
    /// By path, workspace-relative.
    rules: BTreeMap<String, Capabilities>,
}

impl Advisor<'_> {
    /// These rules as an addition to the file in which all of them count.
    pub(crate) fn rule_addition(&self, rules: &[(String, Capabilities)]) -> RuleAddition<'_> {
        let is_meant = |grant: &&Grant| {
            rules.iter().any(|(path, _)| grant.anchor == self.workspace.join(path))
        };
        let there: Vec<&Origin> =
            self.grants.iter().filter(is_meant).map(|grant| &grant.origin).collect();
        let place = self.rule_places.get(|source| {
            there.iter().any(|origin| {
                matches!(origin, Origin::Rule { layer, index, line, .. }
                    if (layer, index, line) == (&source.layer, &source.index, &source.line))
            })
        });
        let lines = there.iter().filter_map(|origin| match origin {
            Origin::Rule { layer, line, .. } if **layer == *place.file() => *line,
            _ => None,
        });
        let after = lines.filter(|line| place.reaches_behind(*line)).max();
        RuleAddition { place, after, rules: rules.iter().cloned().collect() }
    }
}

impl RuleAddition<'_> {
    /// The file, as it was given or found.
    pub(crate) fn file(&self) -> &str {
        self.place.file()
    }

    /// The list that they are to be put into, where they do not bring the header of their table.
    pub(crate) fn list(&self) -> Option<&str> {
        self.place.form().list()
    }

    /// The rules, each as the file takes it.
    pub(crate) fn rules(&self) -> impl Iterator<Item = String> {
        self.rules.iter().map(|(path, caps)| rule_text::added(self.place.form(), path, *caps))
    }

    /// The rules as one text; none where there are none.
    pub(crate) fn text(&self) -> Option<String> {
        (!self.rules.is_empty()).then(|| self.rules().collect::<Vec<_>>().join("\n"))
    }

    /// For people: where they belong, `before` that in the sentence, and as many of them as fit into `room` lines,
    /// with how many do not.
    pub(crate) fn lines(&self, before: &str, room: usize) -> Vec<String> {
        let place = rule_text::place(self.list(), self.file(), self.after);
        let mut lines = report::fitted("  ", &[format!("{before} {place}:")], "");
        let head = lines.len();
        for (rule, left) in self.rules().zip((1..=self.rules.len()).rev()) {
            let line_for_others = usize::from(left > 1);
            if lines.len() + rule.lines().count() + line_for_others > room {
                if lines.len() == head {
                    return Vec::new();
                }
                let noun = if left == 1 { "rule" } else { "rules" };
                lines.push(format!("  and {left} more {noun}"));
                break;
            }
            lines.extend(rule.lines().map(str::to_owned));
        }
        if lines.len() > head { lines } else { Vec::new() }
    }
}

/// Puts `one` with those before it for the same place.
pub(crate) fn add<'a>(all: &mut Vec<RuleAddition<'a>>, one: RuleAddition<'a>) {
    let Some(known) = all.iter_mut().find(|known| ptr::eq(known.place, one.place)) else {
        all.push(one);
        return;
    };
    known.after = known.after.max(one.after);
    for (path, caps) in one.rules {
        let all = known.rules.entry(path).or_default();
        *all = all.union(caps);
    }
}
