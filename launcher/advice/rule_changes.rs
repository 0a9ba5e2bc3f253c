//! Turns suggestions into changes of rule files, and finds their place: of rules on one path the last decides.

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::commands::CommandRule;

use crate::advice::advisor::{Advisor, Written};
use crate::advice::hosts::Way;
use crate::advice::user_changes;
use crate::config::edit::change::Change;
use crate::config::edit::rule_place::RulePlace;
use crate::config::edit::rule_text::RuleText;
use crate::record::denial::Denial;

impl Advisor<'_> {
    /// All that is `written`, as changes of the files where it counts.
    pub(crate) fn changes(&self, written: &Written) -> Vec<Change> {
        let rules = self.rules(&written.rules);
        rules.into_iter().chain(user_changes::changes(self.own_lists, written)).collect()
    }

    /// These rules as a change of the file where all of them count.
    fn rules(&self, rules: &[(String, Capabilities)]) -> Option<Change> {
        let is_meant = |grant: &&Grant| {
            rules.iter().any(|(path, _)| {
                grant.anchor == self.workspace.join(path) || is_external(grant, path)
            })
        };
        let there: Vec<&Origin> =
            self.grants.iter().filter(is_meant).map(|grant| &grant.origin).collect();
        let place = self.rule_places.files.get(|rule| {
            let source = rule.source();
            there.iter().any(|origin| {
                matches!(origin, Origin::Rule { layer, index, line, .. }
                    if (layer, index, line) == (&source.layer, &source.index, &source.line))
            })
        });
        let named = || self.grants.iter().chain(self.unapproved);
        let leads_out = |path: &str| named().any(|grant| is_external(grant, path));
        let rules = rules.iter().map(|(path, caps)| {
            let kind = if leads_out(path) { RuleText::External } else { RuleText::File };
            kind(path.clone(), *caps)
        });
        change(place, place.list(), rules)
    }

    /// The suggestion for `denial` as a change, unless rules about hosts in files do not count.
    pub(crate) fn host_change(&self, denial: &Denial, way: &Way) -> Option<Change> {
        let places = self.rule_places.hosts.as_ref()?;
        let place = places.get(|later| way.is_outweighed_by(later, denial));
        change(place, place.list(), [RuleText::Host(way.rule.clone())])
    }

    /// The rule that grants reading the variable `name` as a change, unless rules in files grant none.
    pub(crate) fn variable_change(&self, name: &str) -> Option<Change> {
        let place = self.rule_places.variables.as_ref()?.get(|later| later.name == name);
        change(place, place.list(), [RuleText::Variable(name.to_owned())])
    }

    /// The rule about the program `key` as a change. It `replaces` an existing rule of the same file, and outweighs
    /// those of lower files, and those of a tool's run without it.
    pub(crate) fn program_change(
        &self,
        key: &str,
        rule: &CommandRule,
        replaces: bool,
    ) -> Option<Change> {
        let place = &self.rule_places.programs;
        let known = if replaces { place.list_with(key, &rule.source) } else { None };
        let list = known.as_deref().unwrap_or(place.list());
        change(place, list, [RuleText::Program(key.to_owned(), rule.clone())])
    }
}

/// Whether the grant is of a rule on the link at `path`.
fn is_external(grant: &Grant, path: &str) -> bool {
    matches!(&grant.kind, GrantKind::External { lexical_path } if lexical_path == path)
}

/// The rules as a change. `None` if there are none.
fn change(
    place: &RulePlace,
    list: &[String],
    rules: impl IntoIterator<Item = RuleText>,
) -> Option<Change> {
    let add: Vec<_> = rules.into_iter().map(|rule| rule.addition()).collect();
    (!add.is_empty()).then(|| Change { file: place.file().to_owned(), list: list.to_owned(), add })
}
