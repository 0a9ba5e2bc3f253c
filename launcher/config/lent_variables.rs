//! Variables of the user's that a workspace's file, which anybody may have committed, lends to a tool that
//! is served (`docs/decisions/0023`).

use jp_confine_policy::coverage::Coverage;
use jp_confine_policy::env::Env;
use jp_confine_policy::layers::{Layered, Merged};

use super::decode::{File, Trust};
use super::layers::Layers;
use super::resources;

impl Layers {
    /// What a person should know of `tool`, or the tool that has no name: which of `variables`, all that
    /// are set, it gets to see or to send because a workspace's file says so.
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

/// The names that rules let be read.
fn readable(list: Option<&Layered<jp_confine_policy::env::EnvRule>>) -> Vec<String> {
    let Some(Layered::Plain(rules) | Layered::Merged(Merged { value: rules, .. })) = list else {
        return Vec::new();
    };
    rules.iter().filter(|rule| rule.read).map(|rule| rule.name.clone()).collect()
}
