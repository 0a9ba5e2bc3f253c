//! Finds the hosts that a name stands for. Used by `--net-preset`.

use std::collections::BTreeMap;

use crate::error::diagnostic::nearest;

const PRESETS: &str = include_str!("../../profiles/hosts.toml");

/// The hosts of the preset `name`, each as `--net` takes it.
///
/// # Errors
/// A message with the names that there are.
pub(crate) fn hosts(name: &str) -> Result<Vec<String>, String> {
    let mut presets = presets();
    presets.remove(name).ok_or_else(|| {
        let names: Vec<&str> = presets.keys().map(String::as_str).collect();
        match nearest(name, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are: {}", names.join(", ")),
        }
    })
}

/// All names, sorted.
pub(crate) fn names() -> impl Iterator<Item = String> {
    presets().into_keys()
}

/// A test reads the built-in table, so it is never empty.
fn presets() -> BTreeMap<String, Vec<String>> {
    toml::from_str(PRESETS).unwrap_or_default()
}
