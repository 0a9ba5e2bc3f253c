//! Lists the paths that no run may change: policy files, and the product's own files.

use std::path::PathBuf;

use jp_confine_engine::canonical::Root;
use jp_confine_engine::control;

use crate::host::context::Context;

/// The paths that the run must never be able to change (spec §8.1): the files that decide about its access, and those
/// of the product. Leaves out paths that only exist during the run.
pub(crate) fn control(
    context: &Context,
    root: &Root,
    policy_files: &[PathBuf],
) -> Vec<(PathBuf, String)> {
    let of_file = |file: &PathBuf| (file.clone(), "a policy file, never writable from inside");
    let kept = control::policy_file(root)
        .chain(policy_files.iter().map(of_file))
        .chain(context.homes.kept())
        .map(|(path, why)| (path, why.to_owned()));
    let mut kept: Vec<_> = kept.collect();
    kept.dedup_by(|a, b| a.0 == b.0);
    kept
}
