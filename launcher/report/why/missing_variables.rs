//! Lists the variables that a failed program may have needed.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::advice::advisor::Advisor;
use crate::report::why::record::{ExplainedDenial, Rules, RunHead};
use crate::text::quote;
use crate::text::wrap;

/// One such variable, and the rule that grants it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Missed {
    name: String,
    #[serde(flatten)]
    pub(super) rules: Rules,
}

impl Missed {
    pub(super) fn of(name: &str, advisor: &Advisor<'_>) -> Self {
        let addition = advisor.variable_addition(name);
        Self { name: name.to_owned(), rules: addition.as_ref().map(Rules::of).unwrap_or_default() }
    }

    /// The option that grants it, as words for a shell.
    fn option(&self) -> String {
        format!("--env {}", quote::quoted(self.name.as_bytes()))
    }

    /// As an entry of the `--json` output.
    pub(super) fn explained(&self, run: &RunHead) -> ExplainedDenial {
        let name = quote::printable(self.name.as_bytes());
        ExplainedDenial {
            denied: "env".to_owned(),
            capability: vec!["env".to_owned()],
            path: name.clone(),
            route: name,
            program: run.command.first().cloned().unwrap_or_default(),
            times: 1,
            reason: "denied".to_owned(),
            layer: "launcher".to_owned(),
            options: Some(self.option()),
            rules: self.rules.clone(),
            ..ExplainedDenial::default()
        }
    }
}

/// All of them, for people: the options, and the rules for each file.
pub(super) fn words(all: &[Missed]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let options: Vec<String> = all.iter().map(Missed::option).collect();
    let options = options.join(" ");
    let mut text =
        wrap::folded(&format!("\nwithheld of the environment\n  allow: jp-confine {options}\n"));
    let with_rules: Vec<&Missed> = all.iter().filter(|one| one.rules.toml.is_some()).collect();
    for of_one_place in with_rules.chunk_by(|one, next| one.rules.place() == next.rules.place()) {
        let place = of_one_place.first().map_or_else(String::new, |one| one.rules.place());
        let _ = writeln!(text, "  or add to {place}:");
        let rules: Vec<&str> = of_one_place.iter().flat_map(|one| one.rules.each()).collect();
        for line in rules.join("\n\n").lines() {
            let _ = writeln!(text, "{}", format!("    {line}").trim_end());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(name: &str, toml: Option<&str>) -> Missed {
        let rules = Rules { toml: toml.map(str::to_owned), ..Rules::default() };
        Missed { name: name.to_owned(), rules }
    }

    #[test]
    fn many_names_are_many_lines() {
        let names: Vec<String> = (0..90).map(|number| format!("VARIABLE_{number}")).collect();
        let all: Vec<Missed> = names.iter().map(|name| missed(name, None)).collect();
        let told = words(&all);
        assert!(told.lines().all(|line| line.len() <= 80), "{told}");
        assert!(names.iter().all(|name| told.contains(name)), "{told}");
        assert_eq!(words(&[]), "");
    }

    #[test]
    fn rules_for_one_file_are_shown_together() {
        let all = [missed("A B", Some("[[a]]\nn = 1\n")), missed("C", Some("[[b]]\n"))];
        let told = "\nwithheld of the environment\n  allow: jp-confine --env 'A B' --env C\n  or add to the policy \
                    file:\n    [[a]]\n    n = 1\n\n    [[b]]\n";
        assert_eq!(words(&all), told);
    }
}
