//! Finds approved links that `--mount` left (spec §8.3) and that no rule of this run names.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jp_confine_engine::build::{Grant, GrantKind};
use jp_confine_engine::canonical::Root;
use jp_confine_engine::external::External;

use crate::cli::mount::MountOption;
use crate::external::approvals::store::{ApprovalKind, Store};
use crate::host::invocation::CommandHint;

/// One such link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Idle {
    /// Canonical.
    pub(crate) target: PathBuf,
    /// The link's path, relative to the workspace.
    pub(crate) name: String,
    /// The value of `--mount` to use it again, as typed in the working directory.
    pub(crate) word: PathBuf,
}

/// The unused links of the workspace `root` that still lead to their approved target. Names are as typed `here`. Looks
/// at the disk.
pub(crate) fn idle(root: &Root, here: &CommandHint, store: &Store, grants: &[Grant]) -> Vec<Idle> {
    let is_ruled = |name: &str| {
        let names = |grant: &Grant| matches!(&grant.kind, GrantKind::External { lexical_path } if lexical_path == name);
        grants.iter().any(names)
    };
    let names = store.entries(ApprovalKind::Mount).iter().map(|entry| entry.rule_path.as_str());
    names
        .filter(|name| !is_ruled(name))
        .filter_map(|name| match External::look(root, name.into(), store) {
            External::Approved { target } => {
                let (word, name) = (word(name, &target, here)?.into(), name.to_owned());
                Some(Idle { target, name, word })
            }
            _ => None,
        })
        .collect()
}

/// The value of `--mount`, as typed `here`, that makes the link `name` lead to `target`.
pub(crate) fn word(name: &str, target: &Path, here: &CommandHint) -> Option<OsString> {
    let (name, path) = (here.name(name)?, target.to_owned());
    Some(shortest(&MountOption { tool: None, name, path, writable: false }))
}

/// The shortest word with this meaning, without the default mode.
fn shortest(mount: &MountOption) -> OsString {
    let mut word = OsString::from(format!("{}=", mount.name));
    word.push(&mount.path);
    if MountOption::parse(&word).as_ref() == Ok(mount) { word } else { mount.word() }
}
