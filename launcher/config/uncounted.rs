//! Warns of rules for tools that do not count in a run, because it names no tool or another one. Used by `compile`.

use jp_confine_engine::layers::{Layered, Merged};

use super::decode_tools::Tool;
use super::layers::Layers;

impl Layers {
    /// A warning for a run, or a service, of `tool` if no rule of `access.fs` counts in it. It names the tools with
    /// rules.
    pub(crate) fn uncounted(&self, tool: Option<&str>, is_service: bool) -> Option<String> {
        let tools =
            self.files().iter().flat_map(|file| file.tools.iter().map(move |it| (file, it)));
        let ruled: Vec<_> = tools.filter(|(_, tool)| has_rules(tool)).collect();
        let (file, first) = ruled.first()?;
        let start = first.access.as_ref().map_or(0, |span| span.start);
        let line = file.source.breaks(0..start) + 1;
        let mut names: Vec<&str> = ruled.iter().map(|(_, tool)| tool.name.as_str()).collect();
        names.dedup();
        let whose = tool.map_or("a run without `--tool`".to_owned(), |tool| format!("`{tool}`"));
        let what = match (is_service, tool) {
            (true, None) => "the tool may read the workspace and change nothing".to_owned(),
            (true, Some(_)) => format!("{whose} may read the workspace and change nothing"),
            (false, _) => format!("{whose} may use everything in the workspace"),
        };
        let name = &file.source.name;
        Some(format!(
            "{name}:{line}: only `--tool {}` has rules of access.fs: {what}",
            names.join("|")
        ))
    }
}

fn has_rules(tool: &Tool) -> bool {
    match &tool.fs {
        Some(Layered::Plain(rules) | Layered::Merged(Merged { value: rules, .. })) => {
            !rules.is_empty()
        }
        None => false,
    }
}
