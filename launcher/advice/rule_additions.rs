//! Turns suggestions into additions to rule files, and finds their place: of rules on one path the last decides.

use std::collections::BTreeMap;
use std::ptr;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::commands::CommandRule;

use crate::advice::advisor::Advisor;
use crate::advice::hosts::Way;
use crate::config::edit::rule_place::{Form, RulePlace};
use crate::config::edit::rule_text::{self, RuleText};
use crate::record::denial::Denial;
use crate::text::wrap;

/// Rules to add to one file.
#[derive(Clone, Debug)]
pub(crate) struct RuleAddition<'a> {
    place: &'a RulePlace,
    form: Form,
    /// The existing rule that it replaces, for people.
    pub(crate) instead: Option<String>,
    /// By their subjects.
    rules: BTreeMap<String, RuleText>,
}

impl<'a> Advisor<'a> {
    /// These rules as an addition to the file where all of them count.
    pub(crate) fn rule_addition(&self, rules: &[(String, Capabilities)]) -> RuleAddition<'a> {
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
        RuleAddition::new(place, rules)
    }

    /// The suggestion for `denial` as an addition, unless rules about hosts in files do not count.
    pub(crate) fn host_addition(&self, denial: &Denial, way: &Way) -> Option<RuleAddition<'a>> {
        let places = self.rule_places.hosts.as_ref()?;
        let place = places.get(|later| way.is_outweighed_by(later, denial));
        Some(RuleAddition::new(place, [RuleText::Host(way.rule.clone())]))
    }

    /// The rule that grants reading the variable `name` as an addition, unless rules in files grant none.
    pub(crate) fn variable_addition(&self, name: &str) -> Option<RuleAddition<'a>> {
        let place = self.rule_places.variables.as_ref()?.get(|later| later.name == name);
        Some(RuleAddition::new(place, [RuleText::Variable(name.to_owned())]))
    }

    /// The rule about the program `key` as an addition, or in place of the existing one. It outweighs rules of lower
    /// files, and those of a tool's run without it.
    pub(crate) fn program_addition(
        &self,
        key: &str,
        rule: &CommandRule,
        instead: Option<&String>,
    ) -> RuleAddition<'a> {
        let place = &self.rule_places.programs;
        let addition = RuleAddition::new(place, [RuleText::Program(key.to_owned(), rule.clone())]);
        match instead.and_then(|_| place.form_of(key, &rule.source)) {
            Some(form) => RuleAddition { form, instead: instead.cloned(), ..addition },
            None => addition,
        }
    }
}

/// Whether the grant is of a rule on the link at `path`.
fn is_external(grant: &Grant, path: &str) -> bool {
    matches!(&grant.kind, GrantKind::External { lexical_path } if lexical_path == path)
}

impl<'a> RuleAddition<'a> {
    fn new(place: &'a RulePlace, rules: impl IntoIterator<Item = RuleText>) -> Self {
        let rules = rules.into_iter().map(|rule| (rule.subject(), rule)).collect();
        Self { place, form: place.form().clone(), instead: None, rules }
    }

    /// The file, by the path that was given or found.
    pub(crate) fn file(&self) -> &str {
        self.place.file()
    }

    /// The list that the rules go into, unless they come with the header of their table.
    pub(crate) fn list(&self) -> Option<&str> {
        self.form.list()
    }

    /// Whether that list has to be started.
    pub(crate) const fn is_for_new_list(&self) -> bool {
        self.form.is_new()
    }

    /// The place for the rules, for people.
    pub(crate) fn place(&self) -> String {
        rule_text::place(self.list(), self.is_for_new_list(), self.file())
    }

    /// The rules, in the file's own format.
    pub(crate) fn rules(&self) -> impl Iterator<Item = String> {
        let text = |rule: &RuleText| match self.instead {
            Some(_) => rule.written(&self.form),
            None => rule.added(&self.form),
        };
        self.rules.values().map(text)
    }

    /// The rules as one text. `None` if there are none.
    pub(crate) fn text(&self) -> Option<String> {
        (!self.rules.is_empty()).then(|| self.rules().collect::<Vec<_>>().join("\n"))
    }

    /// For people: the place, with `before` in front of it, and as many rules as fit into `room` lines. The last line
    /// says how many rules are left.
    pub(crate) fn lines(&self, before: &str, room: usize) -> Vec<String> {
        let mut lines = wrap::fitted("  ", &[format!("{before} {}:", self.place())], "");
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

/// Joins `one` with the earlier additions for the same place.
pub(crate) fn add<'a>(all: &mut Vec<RuleAddition<'a>>, one: RuleAddition<'a>) {
    let Some(known) = all.iter_mut().find(|known| ptr::eq(known.place, one.place)) else {
        all.push(one);
        return;
    };
    for (subject, rule) in one.rules {
        match known.rules.get_mut(&subject) {
            Some(known) => known.join(rule),
            None => drop(known.rules.insert(subject, rule)),
        }
    }
}
