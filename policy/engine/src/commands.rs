//! Rules about programs that may be started on request (spec §11.3).

use std::borrow::ToOwned;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::string::String;
use std::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::coverage::Coverage;
use crate::env::{Env, EnvError};
use crate::invocation;
use crate::model::RuleSource;

/// As the last word of a pattern: any further arguments.
pub const REST: &str = "**";

/// A rule about one program (spec §2.4).
///
/// Two rules are equal when they say the same, wherever they were written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommandRule {
    /// The patterns of arguments, one of which must match. Absent: any arguments.
    #[serde(default)]
    pub args: Option<Vec<Vec<String>>>,
    /// Names of environment variables that the program may read, as in `access.env`.
    #[serde(default)]
    pub envs: Vec<String>,
    /// Where it was written.
    #[serde(skip)]
    pub source: RuleSource,
}

impl PartialEq for CommandRule {
    fn eq(&self, other: &Self) -> bool {
        self.args == other.args && self.envs == other.envs
    }
}

impl Eq for CommandRule {}

impl CommandRule {
    /// The variables that the program may read, compiled.
    ///
    /// # Errors
    /// [`EnvError`] for the first invalid name.
    pub fn variables(&self) -> Result<Env, EnvError> {
        Env::readable(&self.envs)
    }
}

/// A rule about a program whose file is known.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The key. Its last component is the name that the program must have.
    pub key: String,
    /// The canonical absolute path of the file.
    pub program: PathBuf,
    /// The rule itself.
    pub rule: CommandRule,
}

impl Listed {
    /// The name that the program must have.
    #[must_use]
    pub fn name(&self) -> &str {
        self.key.rsplit('/').next().unwrap_or_default()
    }
}

/// The rules of a policy by the program as it is invoked: a bare name, or a path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Commands(pub BTreeMap<String, CommandRule>);

impl Commands {
    /// The verdict of the rule for `program` on `args`.
    #[must_use]
    pub fn judge(&self, program: &str, args: &[String]) -> Coverage {
        let Some(rule) = self.0.get(program) else { return Coverage::Uncovered };
        let mut is = |place: usize, word: &[u8]| args[place].as_bytes() == word;
        let mut matches = |pattern: &[String]| {
            let (words, rest) = words(pattern);
            invocation::fits(words.iter().map(String::as_bytes), rest, args.len(), &mut is)
        };
        let mut any = |patterns: &Vec<Vec<String>>| patterns.iter().any(|it| matches(it));
        Coverage::of(rule.args.as_ref().is_none_or(&mut any))
    }

    /// The names of variables that `program` may read.
    #[must_use]
    pub fn envs(&self, program: &str) -> &[String] {
        self.0.get(program).map_or(&[], |rule| &rule.envs)
    }
}

/// Most words written into a rule. Longer ones are hard to read.
const MOST: usize = 48;

/// The narrowest pattern that allows `count` arguments, of which these are the first. It lists the arguments
/// themselves, unless they are too many, and puts [`REST`] for those that are left out.
#[must_use]
pub fn pattern<'a>(first: impl Iterator<Item = &'a str>, count: usize) -> Vec<String> {
    let mut pattern: Vec<String> = first.take(MOST).map(ToOwned::to_owned).collect();
    if pattern.len() < count {
        pattern.push(REST.to_owned());
    }
    pattern
}

/// The words of a pattern, and whether more may follow. [`REST`] is special only at the end.
pub(crate) fn words(pattern: &[String]) -> (&[String], bool) {
    match pattern.split_last() {
        Some((last, words)) if last == REST => (words, true),
        _ => (pattern, false),
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
