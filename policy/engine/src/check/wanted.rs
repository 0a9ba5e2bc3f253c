//! Finds the rule that would allow a denied request, and puts it into words. The longest anchor decides alone. So a new
//! rule must also grant what is granted without it, or the person would lose rights.

use std::format;
use std::string::String;
use std::vec::Vec;

use crate::capability::{Capabilities, Capability};

/// The rule of `access.fs` that would allow a denied request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A new one.
    New {
        /// The place of the rule.
        at: At,
        /// The capabilities that are granted there without it.
        held: Capabilities,
        /// The capabilities that the whole workspace has while there are no rules.
        undeclared: Capabilities,
    },
    /// The deciding rule, which is at that place. A second one would conflict with it.
    Known(At),
    /// The rule on this symlink, because no path behind it can have one.
    OnLink(String),
    /// No rule can.
    Nothing,
}

/// The path that a rule is wanted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// The path in question.
    Path,
    /// Its directory, because a rule on a symlink is about its target.
    Directory,
}

impl Default for Wanted {
    fn default() -> Self {
        Self::New { at: At::Path, held: Capabilities::NONE, undeclared: Capabilities::NONE }
    }
}

impl Wanted {
    /// The request for `asked` in words, with `flag` as an alternative.
    pub(crate) fn words(&self, asked: Capabilities, flag: &str) -> String {
        let flag = match self {
            Self::New { at: At::Directory, .. } | Self::Known(At::Directory) => {
                format!("the flag `{flag}` on that directory")
            }
            // A flag does not follow a symlink that a run could have created.
            Self::OnLink(_) => format!("the flag `{flag}` on what the link leads to"),
            _ => format!("the flag `{flag}`"),
        };
        let rule = match self {
            Self::New { at, held, undeclared } => {
                let on_it = format!("on {} with {}", at.words(), keys(held.union(asked)));
                if undeclared.is_empty() {
                    format!("an `access.fs` rule {on_it}")
                } else {
                    // The first rules make sensitive files need a prompt.
                    format!(
                        "`access.fs` rules: on `.` with {}, and {on_it}, with which sensitive files such as \
                         `.env` are no longer open",
                        keys(*undeclared)
                    )
                }
            }
            Self::Known(at) => format!("{} in the `access.fs` rule on {}", keys(asked), at.words()),
            Self::OnLink(link) => format!("{} in the `access.fs` rule on `{link}`", keys(asked)),
            Self::Nothing => return flag,
        };
        format!("{rule}, or for {flag}")
    }

    /// Whether a rule can be on the very path.
    pub(crate) const fn can_be_on_path(&self) -> bool {
        matches!(self, Self::New { .. } | Self::Known(_))
    }
}

impl At {
    const fn words(self) -> &'static str {
        match self {
            Self::Path => "this path",
            Self::Directory => "the directory that it is in",
        }
    }
}

/// The keys of a rule that grants these capabilities.
pub(crate) fn keys(caps: Capabilities) -> String {
    joined(&granted(caps))
}

/// The keys of a rule on a symlink that leads out of the workspace.
pub(crate) fn keys_of_external(caps: Capabilities) -> String {
    let mut names = granted(caps);
    names.insert(0, "external");
    joined(&names)
}

fn granted(caps: Capabilities) -> Vec<&'static str> {
    let whole = caps.contains(Capabilities::WRITE);
    let is_said = |one: &Capability| !(whole && Capabilities::WRITE.contains((*one).into()));
    let mut names: Vec<_> = caps.iter().filter(is_said).map(Capability::as_str).collect();
    if whole {
        names.push("write");
    }
    names
}

fn joined(names: &[&str]) -> String {
    let keys: Vec<String> = names.iter().map(|name| format!("`{name} = true`")).collect();
    match keys.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}
