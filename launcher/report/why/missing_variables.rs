//! Lists the variables that a failed program may have needed.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::advice::advisor::Advisor;
use crate::config::edit::change::Change;
use crate::host::invocation::CommandHint;
use crate::output::Style;
use crate::record::event::LayerName;
use crate::report::why::record::{ExplainedDenial, RunHead};
use crate::text::quote;
use crate::text::wrap;

/// One such variable, and the change of a file that grants it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Missed {
    /// The number by which `allow` is told of it.
    pub(crate) number: usize,
    name: String,
    pub(crate) changes: Vec<Change>,
}

impl Missed {
    pub(super) fn of(number: usize, name: &str, advisor: &Advisor<'_>) -> Self {
        let changes = advisor.variable_change(name).into_iter().collect();
        Self { number, name: name.to_owned(), changes }
    }

    /// Whether a change of a file grants it.
    pub(crate) fn is_written(&self) -> bool {
        !self.changes.is_empty()
    }

    /// The option that grants it, as words for a shell.
    pub(crate) fn option(&self) -> String {
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
            layer: LayerName::Launcher,
            options: Some(self.option()),
            number: self.number,
            changes: self.changes.clone(),
            ..ExplainedDenial::default()
        }
    }
}

/// All of them, for people: the options, and the numbers for `allow`.
pub(super) fn words(all: &[Missed], here: &CommandHint, style: Style) -> String {
    let Some(first) = all.first() else { return String::new() };
    let options: Vec<String> = all.iter().map(Missed::option).collect();
    let options = style.bright(&format!("jp-confine {}", options.join(" ")));
    let number = first.number;
    let mut text = format!("\n{number} withheld of the environment\n  allow: {options}\n");
    if first.is_written() {
        let allow = style.bright(&here.command(&format!("allow {number}")));
        let _ = writeln!(text, "  for good: {allow}");
    }
    wrap::folded(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_many_lines() {
        let names: Vec<String> = (0..90).map(|number| format!("VARIABLE_{number}")).collect();
        let missed = |name: &String| Missed { number: 1, name: name.clone(), changes: Vec::new() };
        let all: Vec<Missed> = names.iter().map(missed).collect();
        let told = words(&all, &CommandHint::INSIDE, Style::PLAIN);
        assert!(told.lines().all(|line| line.len() <= 80), "{told}");
        assert!(names.iter().all(|name| told.contains(name)), "{told}");
        assert_eq!(words(&[], &CommandHint::INSIDE, Style::PLAIN), "");
    }
}
