//! Implements `init`: writes a first policy, based on the files in the workspace. It narrows what a workspace without a
//! policy grants, but not what the usual build needs.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use jp_confine_engine::canonical::{self, Op};

use crate::cli::Options;
use crate::error::Failure;
use crate::files::{Unsafe, WritePlace};
use crate::host::context::Context;
use crate::host::workspace::{FILE, Workspace};
use crate::text::quote;
use crate::{compile, output};

const STARTER: &str = include_str!("init/starter.toml");

/// Writes the policy file of the workspace, and prints its path. Never overwrites an existing file.
pub(crate) fn init(context: &Context, options: &Options) -> Result<u8, Failure> {
    let Workspace { root, here, .. } = compile::find_workspace(context, options)?;
    let file = root.join(FILE);
    let shown = quote::path(&file.to_string_lossy());
    let text = starter(&root);
    let create = |place: WritePlace| Ok(place.create(text.as_bytes())?);
    WritePlace::of(&root, FILE.as_ref()).and_then(create).map_err(|why| match why {
        Unsafe::Error(error) if error.kind() == io::ErrorKind::AlreadyExists => Failure::advised(
            format!("{shown} exists, and is left as it is"),
            "edit it, or move it away to get a new one",
        ),
        Unsafe::Error(error) => Failure::advised(
            format!("{shown} cannot be written: {error}"),
            "name another workspace with -C",
        ),
        why @ Unsafe::Symlink { .. } => why.failure("init", &file),
    })?;
    let next = format!("look at it, then try: {}", here.command("-- PROGRAM"));
    output::text(&format!("wrote {shown}\n{next}\n"))?;
    Ok(0)
}

/// A rule to write, and its reason.
struct Rule {
    why: &'static str,
    path: &'static str,
    grants: &'static [&'static str],
}

const READ: &[&str] = &["read"];
const ALL: &[&str] = &["read", "write", "execute"];

/// Directories in which a build, or a package it installs, has programs to run. Each with the file that identifies the
/// build even before the directory exists.
const WORKSHOPS: [(&str, Rule); 6] = [
    ("Cargo.toml", Rule { why: "What cargo builds", path: "target", grants: ALL }),
    ("CMakeLists.txt", Rule { why: "What CMake builds", path: "build", grants: ALL }),
    ("package.json", Rule { why: "Packages of JavaScript", path: "node_modules", grants: ALL }),
    ("pyproject.toml", Rule { why: "The environment of Python", path: ".venv", grants: ALL }),
    ("pom.xml", Rule { why: "What Maven builds", path: "target", grants: ALL }),
    ("build.gradle", Rule { why: "What Gradle builds", path: "build", grants: ALL }),
];

/// Paths that are restricted if they exist.
const KEPT: [Rule; 2] = [
    Rule {
        why: "History, for reading: `write` would allow commits, and hooks that act on you",
        path: ".git",
        grants: READ,
    },
    Rule { why: "Usually secrets", path: ".env", grants: &[] },
];

/// The text of the policy for the workspace at `root`, which is canonical.
fn starter(root: &Path) -> String {
    let text: String = rules(root).iter().map(|rule| written(root, rule)).collect();
    STARTER.replace("{rules}\n", &text)
}

/// Build directories get no more rights than the root. Tools create them under another name and move them, and a move
/// must not gain rights (spec R5).
fn rules(root: &Path) -> Vec<Rule> {
    let there = |name: &str| root.join(name).symlink_metadata().is_ok();
    let mut rules = vec![Rule { why: "Everything here", path: ".", grants: ALL }];
    for (mark, rule) in WORKSHOPS {
        let is_new = rules.iter().all(|known| known.path != rule.path);
        if is_new && (there(mark) || there(rule.path)) {
            rules.push(rule);
        }
    }
    rules.extend(KEPT.into_iter().filter(|rule| there(rule.path)));
    rules
}

/// A rule as TOML. If its path leads out of the workspace, it is a commented-out example: it needs an approval.
fn written(root: &Path, rule: &Rule) -> String {
    let inside = canonical::resolve(root, Path::new(rule.path), Op::Content)
        .is_ok_and(|resolved| canonical::below(root, &resolved.path).is_some());
    let (mark, external) = if inside { ("", "") } else { ("#", "#external = true\n") };
    let mut text = format!("# {}.\n{mark}[[access.fs]]\n", rule.why);
    let _ = writeln!(text, "{mark}path = \"{}\"", rule.path);
    text.push_str(external);
    for capability in rule.grants {
        let _ = writeln!(text, "{mark}{capability} = true");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;
