//! Holds the external rules of a run, or of one of the tools (RFD D43).

use camino::Utf8Path;
use jp_confine_engine::Capabilities;
use jp_confine_engine::model::FsRule;

/// The external rules of a run, or of one tool with those of every run.
#[derive(Debug)]
pub(crate) struct Scope {
    /// `None` for a run without `--tool`.
    pub(crate) tool: Option<String>,
    /// In the order declared.
    pub(crate) rules: Vec<FsRule>,
}

/// The capabilities that each of `scopes` grants on `name`, a rule path in normal form. A tool is listed only if it
/// differs from a run without a tool.
pub(crate) fn grants_on<'a>(
    scopes: &'a [Scope],
    name: &Utf8Path,
) -> Vec<(&'a Scope, Capabilities)> {
    let of_a_run = scopes.iter().find(|scope| scope.tool.is_none());
    let of_a_run = of_a_run.and_then(|scope| scope.grants_on(name));
    let own = |scope: &Scope| {
        let caps = scope.grants_on(name)?;
        (scope.tool.is_none() || Some(caps) != of_a_run).then_some(caps)
    };
    scopes.iter().filter_map(|scope| Some((scope, own(scope)?))).collect()
}

impl Scope {
    /// The capabilities that the rules on `name` grant. The last rule on a path decides (R2).
    fn grants_on(&self, name: &Utf8Path) -> Option<Capabilities> {
        let on_name = |rule: &&FsRule| rule.lexical_path().is_ok_and(|path| path == name);
        self.rules.iter().rev().find(on_name).map(FsRule::capabilities)
    }

    /// Its name in messages.
    pub(crate) fn words(&self) -> String {
        holder(self.tool.as_deref())
    }
}

/// The name in messages of a run of this tool, or without one.
pub(crate) fn holder(tool: Option<&str>) -> String {
    match tool {
        Some(tool) => format!("tool {tool}"),
        None => "a run".to_owned(),
    }
}
