//! Merges the rules of all files about hosts, variables and programs.

use jp_confine_engine::layers::{self, Layer, Layered};
use jp_confine_engine::net::NetRule;
use jp_confine_engine::resources::Written;
use jp_confine_engine::warning::Warning;

use super::decode::File;
use super::decode_resources::Resources;
use super::layers::Layers;
use crate::error::Failure;

impl Layers {
    /// The rules for a tool of the file service, and warnings.
    pub(crate) fn resources(&self, tool: Option<&str>) -> (Written, Vec<Warning>) {
        let (net, warnings) = layers::merge(lists(self.files(), tool, |all| all.net.as_ref()));
        let mut warnings: Vec<Warning> =
            warnings.into_iter().map(|warning| warning.about("net")).collect();
        warnings.extend(self.no_host_allowed(&net, tool));
        let (env, more) = layers::merge(lists(self.files(), tool, |all| all.env.as_ref()));
        warnings.extend(more);
        let mut written = Written { net, env, ..Written::default() };
        for resources in self.files().iter().flat_map(|file| of(file, tool)) {
            written.net_env.extend(resources.net_env.iter().cloned());
            if let Some(commands) = &resources.commands {
                written.commands.get_or_insert_default().0.extend(commands.0.clone());
            }
        }
        (written, warnings)
    }

    /// A warning if no host is allowed, and a rule does not say whether it allows its host.
    fn no_host_allowed(&self, net: &[NetRule], tool: Option<&str>) -> Option<Warning> {
        if net.iter().any(|rule| rule.allow) {
            return None;
        }
        let mut resources = self.files().iter().flat_map(|file| of(file, tool));
        let (rule, host) = resources.find_map(|resources| resources.unsaid.clone())?;
        Some(Warning::NoHostAllowed { rule, host })
    }

    /// Rejects keys that do not apply to a run, of `tool` if one is named.
    pub(crate) fn refuse_unheld(&self, tool: Option<&str>) -> Result<(), Failure> {
        let unheld = self.files().iter().find_map(|file| file.unheld(tool));
        unheld.map_or(Ok(()), |diagnostic| Err(Failure::Configuration(Box::new(diagnostic))))
    }
}

/// The rules of a file for every run, and then those for a tool.
pub(super) fn of<'f>(file: &'f File, tool: Option<&str>) -> impl Iterator<Item = &'f Resources> {
    let named = file.tools.iter().find(|known| Some(known.name.as_str()) == tool);
    std::iter::once(&file.resources).chain(named.map(|tool| &tool.resources))
}

fn lists<'f, T: Clone + 'f>(
    files: &'f [File],
    tool: Option<&'f str>,
    list: impl Fn(&'f Resources) -> Option<&'f Layered<T>>,
) -> Vec<Layer<T>> {
    let of_file = |file: &'f File| {
        let lists: Vec<_> = of(file, tool).filter_map(&list).cloned().collect();
        lists.into_iter().map(|list| Layer { name: file.source.name.to_string(), list })
    };
    files.iter().flat_map(of_file).collect()
}
