//! Names the rule, the pattern or the reason behind a verdict, for people and for programs.

use std::fmt;
use std::ops::Deref;
use std::string::String;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The rule, pattern or reason that decided, in words, and the place where it is written. It displays as its words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleName {
    /// The rule in words, with its place.
    pub text: String,
    /// The policy file that has it. `null` if it is built in, or comes from a flag.
    pub file: Option<String>,
    /// Its line in that file, from 1.
    pub line: Option<u32>,
}

/// A line of a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLine {
    /// The file, by the name of its layer.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
}

impl RuleName {
    /// The rule that is written at `place`, in words.
    #[must_use]
    pub fn written(text: String, place: Option<&FileLine>) -> Self {
        let file = place.map(|place| String::from(&*place.file));
        Self { text, file, line: place.map(|place| place.line) }
    }

    /// The same rule in other words.
    #[must_use]
    pub fn in_words(self, words: impl FnOnce(&str) -> String) -> Self {
        Self { text: words(&self.text), ..self }
    }
}

/// A reason that is in no file.
impl<T: Into<String>> From<T> for RuleName {
    fn from(text: T) -> Self {
        Self { text: text.into(), file: None, line: None }
    }
}

impl Deref for RuleName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for RuleName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl fmt::Display for FileLine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.file, self.line)
    }
}
