//! The variables that a program may have missed that failed.

use super::{Explained, Head};
use crate::report;

/// All of them, for people.
pub(super) fn words(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let names = names.join(", ");
    let told =
        format!("\nwithheld of the environment\n  {names}\n  allow: jp-confine --env NAME\n");
    report::folded(&told)
}

/// One of them, for programs.
pub(super) fn explained(name: &str, run: &Head) -> Explained {
    Explained {
        denied: "env".to_owned(),
        capability: vec!["env".to_owned()],
        path: name.to_owned(),
        route: name.to_owned(),
        program: run.command.first().cloned().unwrap_or_default(),
        times: 1,
        reason: "denied".to_owned(),
        layer: "launcher".to_owned(),
        options: Some(format!("--env {}", report::quoted(name.as_bytes()))),
        ..Explained::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_many_lines() {
        let names: Vec<String> = (0..90).map(|number| format!("VARIABLE_{number}")).collect();
        let told = words(&names);
        assert!(told.lines().all(|line| line.len() <= 80), "{told}");
        assert!(names.iter().all(|name| told.contains(name)), "{told}");
        assert_eq!(words(&[]), "");
    }
}
