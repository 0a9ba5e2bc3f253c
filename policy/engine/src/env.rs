//! Rules about environment variables (spec §11.2).

use std::string::{String, ToString as _};
use std::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::coverage::Coverage;
use crate::model::RuleSource;
use crate::variables::{self, LONGEST, VariableRule};

/// One rule as written (spec §2.4).
///
/// Two rules are equal when they say the same, wherever they were written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EnvRule {
    /// A name, or the beginning of names with `*` at its end.
    pub name: String,
    /// Whether a program may read it. Without it: no.
    #[serde(default)]
    pub read: bool,
    /// Where it was written.
    #[serde(skip)]
    pub source: RuleSource,
}

impl PartialEq for EnvRule {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.read == other.read
    }
}

impl Eq for EnvRule {}

/// An invalid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{name}` is no name of variables: `*` stands at the end or nowhere, `=` nowhere, and {LONGEST} \
     bytes are the most"
)]
pub struct EnvError {
    /// The name as written.
    pub name: String,
}

/// The rules of a policy, compiled.
#[derive(Debug, Clone, Default)]
pub struct Env(Vec<Compiled>);

#[derive(Debug, Clone)]
struct Compiled {
    literal: String,
    is_prefix: bool,
    read: bool,
}

/// A rule that is about a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvCandidate {
    /// Its place in declared order.
    pub index: usize,
    /// Whether it decides.
    pub wins: bool,
}

impl Env {
    /// Compiles rules in the order declared.
    ///
    /// # Errors
    /// [`EnvError`] for the first invalid name.
    pub fn new(rules: &[EnvRule]) -> Result<Self, EnvError> {
        rules
            .iter()
            .map(|rule| Compiled::of(&rule.name, rule.read))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Compiles a list of names that may be read.
    ///
    /// # Errors
    /// [`EnvError`] for the first invalid name.
    pub fn readable(names: &[String]) -> Result<Self, EnvError> {
        names.iter().map(|name| Compiled::of(name, true)).collect::<Result<_, _>>().map(Self)
    }

    /// Whether there are rules.
    #[must_use]
    pub fn is_declared(&self) -> bool {
        !self.0.is_empty()
    }

    /// The verdict of the rule with the longest literal part. Of equals an exact rule wins, then the last.
    #[must_use]
    pub fn judge(&self, name: impl AsRef<[u8]>) -> Coverage {
        variables::judge(self.rules(), name.as_ref())
    }

    /// The rules that are about `name`, in declared order.
    #[must_use]
    pub fn candidates(&self, name: &[u8]) -> Vec<EnvCandidate> {
        let winner = variables::winner(self.rules(), name).map(|(index, _)| index);
        let matching = self.rules().enumerate().filter(|(_, rule)| rule.matches(name));
        matching.map(|(index, _)| EnvCandidate { index, wins: winner == Some(index) }).collect()
    }

    /// The rules in the form that is judged.
    pub(crate) fn rules(&self) -> impl Iterator<Item = VariableRule<'_>> {
        self.0.iter().map(|rule| VariableRule {
            literal: rule.literal.as_bytes(),
            is_prefix: rule.is_prefix,
            read: rule.read,
        })
    }
}

impl Compiled {
    fn of(name: &str, read: bool) -> Result<Self, EnvError> {
        let (literal, is_prefix) =
            name.strip_suffix('*').map_or((name, false), |name| (name, true));
        let is_sound = !name.is_empty() && literal.len() <= LONGEST;
        if !is_sound || literal.contains(['*', '=', '\0']) {
            return Err(EnvError { name: name.to_string() });
        }
        Ok(Self { literal: literal.to_string(), is_prefix, read })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Coverage::{Allowed, Denied, Uncovered};

    fn env(rules: &[(&str, bool)]) -> Env {
        let rule = |&(name, read): &(&str, bool)| EnvRule {
            name: name.to_string(),
            read,
            ..EnvRule::default()
        };
        Env::new(&rules.iter().map(rule).collect::<Vec<_>>()).unwrap()
    }

    // conformance: 076-115, 076-116, 076-117, 076-118, 076-119, 076-120, 076-121, 076-122, 076-123
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

    // conformance: 076-123, 076-125, 076-164
    /// Both have two parts.
    #[test]
    fn bytes_count_and_not_parts() {
        let rules = env(&[("AWS_SECRET*", true), ("AWS_SEC*", false)]);
        assert_eq!(rules.judge("AWS_SECRET_KEY"), Allowed);
        assert_eq!(rules.judge("AWS_SECURITY"), Denied);
    }

    // conformance: 076-135
    #[test]
    fn what_a_rule_leaves_out() {
        let rule: EnvRule = serde_json::from_str(r#"{"name": "A"}"#).unwrap();
        assert_eq!(Env::new(&[rule]).unwrap().judge("A"), Denied);
    }

    // conformance: 076-124
    #[test]
    fn on_ties_an_exact_rule_wins_and_then_the_last() {
        assert_eq!(env(&[("AWS_TOKEN", true), ("AWS_TOKEN*", false)]).judge("AWS_TOKEN"), Allowed);
        assert_eq!(env(&[("A", false), ("A*", true)]).judge("A"), Denied);
        assert_eq!(env(&[("A*", true), ("A*", false)]).judge("AB"), Denied);
        assert_eq!(env(&[("A", false), ("A", true)]).judge("A"), Allowed);
        assert_eq!(env(&[("*", true)]).judge("anything"), Allowed);
    }

    // conformance: 076-126
    #[test]
    fn names_that_cannot_stand() {
        for name in ["", "A*B", "*A", "**", "A=B", &"A".repeat(LONGEST + 1)] {
            assert_eq!(Env::readable(&[name.to_string()]).map(drop).unwrap_err().name, name);
        }
    }
}
