//! Rules about environment variables (spec §11.2).

use std::string::{String, ToString as _};
use std::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::coverage::Coverage;

/// One rule as written (spec §2.4).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvRule {
    /// A name or, with `*` at its end, the beginning of names.
    pub name: String,
    /// Whether it may be read.
    #[serde(default)]
    pub read: bool,
}

/// A name that cannot stand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no name of variables: `*` stands at the end or nowhere, and `=` nowhere")]
pub struct EnvError {
    /// What was written.
    pub name: String,
}

/// The rules of a policy, ready to be asked.
#[derive(Debug, Clone, Default)]
pub struct Env(Vec<Compiled>);

#[derive(Debug, Clone)]
struct Compiled {
    literal: String,
    is_prefix: bool,
    read: bool,
}

impl Env {
    /// Compiles rules in the order declared.
    ///
    /// # Errors
    /// [`EnvError`] for the first that cannot stand.
    pub fn new(rules: &[EnvRule]) -> Result<Self, EnvError> {
        rules.iter().map(Compiled::of).collect::<Result<_, _>>().map(Self)
    }

    /// Compiles a list of names that may be read.
    ///
    /// # Errors
    /// [`EnvError`] for the first that cannot stand.
    pub fn readable(names: &[String]) -> Result<Self, EnvError> {
        let rule = |name: &String| Compiled::of(&EnvRule { name: name.clone(), read: true });
        names.iter().map(rule).collect::<Result<_, _>>().map(Self)
    }

    /// Whether there are rules.
    #[must_use]
    pub fn is_declared(&self) -> bool {
        !self.0.is_empty()
    }

    /// What the rule with the longest literal part says; of equals an exact one, then the last.
    #[must_use]
    pub fn judge(&self, name: &str) -> Coverage {
        let matching = self.0.iter().filter(|rule| rule.matches(name));
        let winner = matching.max_by_key(|rule| (rule.literal.len(), !rule.is_prefix));
        winner.map_or(Coverage::Uncovered, |rule| Coverage::of(rule.read))
    }
}

impl Compiled {
    fn of(rule: &EnvRule) -> Result<Self, EnvError> {
        let (literal, is_prefix) =
            rule.name.strip_suffix('*').map_or((rule.name.as_str(), false), |name| (name, true));
        if rule.name.is_empty() || literal.contains(['*', '=', '\0']) {
            return Err(EnvError { name: rule.name.clone() });
        }
        Ok(Self { literal: literal.to_string(), is_prefix, read: rule.read })
    }

    fn matches(&self, name: &str) -> bool {
        if self.is_prefix { name.starts_with(&self.literal) } else { name == self.literal }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Coverage::{Allowed, Denied, Uncovered};

    fn env(rules: &[(&str, bool)]) -> Env {
        let rule = |&(name, read): &(&str, bool)| EnvRule { name: name.to_string(), read };
        Env::new(&rules.iter().map(rule).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn the_longest_literal_wins() {
        let rules = env(&[
            ("GITHUB_TOKEN", true),
            ("AWS_*", true),
            ("AWS_SECRET_*", false),
            ("AWS_SECRET_ACCESS_KEY", false),
            ("AWS_SECRET_NAME", true),
        ]);
        for (name, expected) in [
            ("GITHUB_TOKEN", Allowed),
            ("GITHUB_TOKEN_LOG", Uncovered),
            ("github_token", Uncovered),
            ("AWS_", Allowed),
            ("AWS_REGION", Allowed),
            ("AWS_SECRET_X", Denied),
            ("AWS_SECRET_ACCESS_KEY", Denied),
            ("AWS_SECRET_NAME", Allowed),
            ("HOME", Uncovered),
        ] {
            assert_eq!(rules.judge(name), expected, "{name}");
        }
    }

    #[test]
    fn on_ties_an_exact_rule_wins_and_then_the_last() {
        assert_eq!(env(&[("A", false), ("A*", true)]).judge("A"), Denied);
        assert_eq!(env(&[("A*", true), ("A*", false)]).judge("AB"), Denied);
        assert_eq!(env(&[("A", false), ("A", true)]).judge("A"), Allowed);
        assert_eq!(env(&[("*", true)]).judge("anything"), Allowed);
    }

    #[test]
    fn names_that_cannot_stand() {
        for name in ["", "A*B", "*A", "**", "A=B"] {
            let rule = EnvRule { name: name.to_string(), read: true };
            assert_eq!(Env::new(&[rule]).map(drop).unwrap_err().name, name);
        }
    }
}
