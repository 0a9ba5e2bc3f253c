//! Prepares folders, for both benchmarks. Used by `programs` and `scale`.

pub(crate) mod measure;
pub(crate) mod page;
pub(crate) mod sandboxes;

use std::path::Path;
use std::process::Command;

/// Whether the user can run `program` by its name.
pub(crate) fn have(program: &str) -> bool {
    let script = format!("command -v {program} > /dev/null");
    Command::new("sh").args(["-c", &script]).status().is_ok_and(|status| status.success())
}

/// Runs a script in `folder`, which must succeed.
pub(crate) fn shell(folder: &Path, script: &str) {
    let status = Command::new("sh").args(["-euc", script]).current_dir(folder).status();
    assert!(status.expect("sh").success(), "cannot prepare: {script}");
}

/// Compiles `loops` and `kernel` into `folder`.
pub(crate) fn compile(folder: &Path) {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/common");
    for name in ["loops", "kernel"] {
        shell(folder, &format!("cc -O2 -o {name} '{sources}/{name}.c'"));
    }
}

/// Splits a command line at its spaces.
pub(crate) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}
