//! Warns of the user's variables that a workspace file lends to a tool of the file service (`docs/decisions/0023`).
//! Anybody may have committed that file.

use jp_confine_engine::coverage::Coverage;
use jp_confine_engine::env::Env;
use jp_confine_engine::layers::{Layered, Merged};

use super::decode::{File, Trust};
use super::layers::Layers;
use super::resources;

impl Layers {
    /// Warnings about `tool`, or the tool without a name: which of `variables`, all that are set, a workspace file
    /// allows it to see or to send.
    pub(crate) fn lent(&self, tool: Option<&str>, variables: &[&str]) -> Vec<String> {
        let of_workspace = self.files().iter().filter(|file| file.trust == Trust::Workspace);
        of_workspace.filter_map(|file| warning(file, tool, variables)).collect()
    }
}

fn warning(file: &File, tool: Option<&str>, variables: &[&str]) -> Option<String> {
    let granted = |names: Vec<String>| {
        let env = Env::readable(&names).unwrap_or_default();
        let granted = variables.iter().filter(|name| env.judge(name) == Coverage::Allowed);
        granted.copied().collect::<Vec<&str>>().join(", ")
    };
    let of = || resources::of(file, tool);
    let seen = granted(of().flat_map(|all| readable(all.env.as_ref())).collect());
    let sent = granted(of().flat_map(|all| all.net_env.clone()).collect());
    let parts = [("to see", seen), ("to send in headers", sent)];
    let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> = parts.map(|(what, names)| format!("{what} {names}")).collect();
    let name = &file.source.name;
    (!parts.is_empty()).then(|| format!("{name} allows the tool {}", parts.join(", and ")))
}

/// The names of variables that rules allow to be read.
fn readable(list: Option<&Layered<jp_confine_engine::env::EnvRule>>) -> Vec<String> {
    let Some(Layered::Plain(rules) | Layered::Merged(Merged { value: rules, .. })) = list else {
        return Vec::new();
    };
    rules.iter().filter(|rule| rule.read).map(|rule| rule.name.clone()).collect()
}
