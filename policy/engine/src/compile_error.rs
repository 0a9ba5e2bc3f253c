//! Errors for rules that cannot be compiled, with the corrected form (spec §6.1).

use std::boxed::Box;
use std::path::PathBuf;
use std::string::{String, ToString as _};
use std::{fmt, format};

use crate::canonical::ResolveError;
use crate::lexical::LexicalError;
use crate::model::{FsRule, RuleSource};

/// A rule that cannot be compiled. It denies the whole run (spec §6.1).
#[derive(Debug, thiserror::Error)]
#[error("{rule}: path `{path}` {problem}")]
pub struct CompileError {
    rule: RuleSource,
    field: &'static str,
    path: String,
    problem: Box<Problem>,
}

impl CompileError {
    /// The error for a rule's path.
    pub(crate) fn on_path(rule: &FsRule, problem: Problem) -> Self {
        Self::on("path", rule, problem)
    }

    /// The error for a rule's `external = true`.
    pub(crate) fn on_external(rule: &FsRule, problem: Problem) -> Self {
        Self::on("external", rule, problem)
    }

    fn on(field: &'static str, rule: &FsRule, problem: Problem) -> Self {
        let path = rule.path().to_string();
        Self { rule: rule.source().clone(), field, path, problem: Box::new(problem) }
    }

    /// Where the rule was written.
    #[must_use]
    pub const fn rule(&self) -> &RuleSource {
        &self.rule
    }

    /// The key whose value is wrong.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        self.field
    }

    /// The rule's path as written.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The problem with the value.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The correction.
    #[must_use]
    pub fn help(&self) -> String {
        self.problem.help(&self.path)
    }
}

/// The problem with a rule.
#[derive(Debug)]
pub enum Problem {
    /// The form of its path is wrong.
    Form(LexicalError),
    /// Its path cannot be resolved.
    Unresolvable(ResolveError),
    /// The path leads outside the workspace and the rule does not say `external = true`.
    Outside {
        /// The target of the path.
        target: PathBuf,
    },
    /// The rule says `external = true`, and its path stays inside.
    ExternalInside {
        /// The target of the path.
        target: PathBuf,
    },
    /// The path has the form of a pattern, nothing has that name, and the rule grants nothing.
    Pattern,
    /// The path leads to a name that the wire form, which is JSON, cannot carry.
    NotUtf8 {
        /// The target of the path.
        target: PathBuf,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form(LexicalError::Empty) => out.write_str("is empty"),
            Self::Form(LexicalError::Absolute) => out.write_str("is absolute"),
            Self::Form(LexicalError::Escape) => out.write_str("leaves the workspace through `..`"),
            Self::Form(LexicalError::Nul) => out.write_str("contains a NUL byte"),
            Self::Unresolvable(error) => write!(out, "cannot be resolved: {error}"),
            Self::Outside { target } => {
                write!(out, "leads outside the workspace, to {}", target.display())
            }
            Self::ExternalInside { target } => write!(
                out,
                "is marked `external = true` but stays inside the workspace, at {}",
                target.display()
            ),
            Self::Pattern => out.write_str("is a literal path, and nothing has this name"),
            Self::NotUtf8 { target } => {
                write!(out, "leads to {}, which is not UTF-8", target.display())
            }
        }
    }
}

impl Problem {
    fn help(&self, path: &str) -> String {
        match self {
            Self::Form(LexicalError::Empty) => "write `.` for the workspace root".to_string(),
            Self::Form(LexicalError::Absolute | LexicalError::Escape) => {
                "rule paths are relative to the workspace root and stay below it; to reach a path \
                 elsewhere make a symbolic link in the workspace and a rule on that link with \
                 `external = true`, or pass the path with a flag such as `--read`"
                    .to_string()
            }
            Self::Form(LexicalError::Nul) => "remove the NUL byte".to_string(),
            Self::Unresolvable(_) => {
                "correct the path, or what stands in its way on disk".to_string()
            }
            Self::Outside { target } => format!(
                "add `external = true` to the rule if it is meant to reach {}; its target then \
                 has to be approved",
                target.display()
            ),
            Self::ExternalInside { .. } => {
                "remove `external = true`, or put the rule on the symbolic link that leads out"
                    .to_string()
            }
            Self::Pattern => format!(
                "to deny by a pattern write `deny_paths = [\"<workspace>/{path}\"]` below `[file_policy]`"
            ),
            Self::NotUtf8 { .. } => "rename the target".to_string(),
        }
    }
}
