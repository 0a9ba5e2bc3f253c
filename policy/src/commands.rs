//! Rules about programs that may be started on request (spec §11.3).

use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::coverage::Coverage;

/// As the last word of a pattern: any further arguments.
const REST: &str = "**";

/// What is allowed of one program (spec §2.4).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRule {
    /// The patterns of which the arguments must match one; absent: any arguments.
    #[serde(default)]
    pub args: Option<Vec<Vec<String>>>,
    /// Names of variables that it may have of the environment.
    #[serde(default)]
    pub envs: Vec<String>,
}

/// The rules of a policy by the program as it is invoked: a bare name, or a path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Commands(pub BTreeMap<String, CommandRule>);

impl Commands {
    /// What the rule for `program` says of `args`.
    #[must_use]
    pub fn judge(&self, program: &str, args: &[String]) -> Coverage {
        let Some(rule) = self.0.get(program) else { return Coverage::Uncovered };
        let matches = |patterns: &Vec<Vec<String>>| patterns.iter().any(|it| matches(it, args));
        Coverage::of(rule.args.as_ref().is_none_or(matches))
    }

    /// The names of variables that `program` may have.
    #[must_use]
    pub fn envs(&self, program: &str) -> &[String] {
        self.0.get(program).map_or(&[], |rule| &rule.envs)
    }
}

/// Word by word; [`REST`] is something else than a word only at the end.
fn matches(pattern: &[String], args: &[String]) -> bool {
    match pattern.split_last() {
        Some((last, words)) if last == REST => args.starts_with(words),
        _ => pattern == args,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Coverage::{Allowed, Denied, Uncovered};
    use std::string::ToString;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(ToString::to_string).collect()
    }

    #[test]
    fn arguments_match_a_whole_pattern() {
        let commands: Commands = serde_json::from_str(
            r#"{"git": {"args": [["log", "**"], ["status"], ["a", "**", "b"]]},
                "true": {}, "false": {"args": []}, "/bin/ls": {"args": [[]]}, "any": {"args": [["**"]]}}"#,
        )
        .unwrap();
        for (line, expected) in [
            ("git log", Allowed),
            ("git log -p x", Allowed),
            ("git logs", Denied),
            ("git status", Allowed),
            ("git status -s", Denied),
            ("git a ** b", Allowed),
            ("git a x b", Denied),
            ("git", Denied),
            ("/usr/bin/git status", Uncovered),
            ("true", Allowed),
            ("true x y", Allowed),
            ("false", Denied),
            ("/bin/ls", Allowed),
            ("/bin/ls x", Denied),
            ("ls", Uncovered),
            ("any", Allowed),
            ("any x", Allowed),
        ] {
            let words = words(line);
            assert_eq!(commands.judge(&words[0], &words[1..]), expected, "{line}");
        }
    }

    #[test]
    fn unknown_keys_are_errors() {
        assert!(serde_json::from_str::<Commands>(r#"{"git": {"arg": []}}"#).is_err());
    }
}
