//! Who has which external rules: a run, or one of the tools (RFD D43).

use camino::Utf8Path;
use jp_confine_policy::Capabilities;
use jp_confine_policy::model::FsRule;

/// The external rules of a run, or of one tool with those of every run.
#[derive(Debug)]
pub(crate) struct Scope {
    /// `None`: of a run without `--tool`.
    pub(crate) tool: Option<String>,
    /// In the order declared.
    pub(crate) rules: Vec<FsRule>,
}

/// What each of `scopes` grants on `name`, a rule path in normal form; of tools only what differs from a
/// run without one.
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
    /// What the rules on `name` grant: the last one, as of all on one path (R2).
    fn grants_on(&self, name: &Utf8Path) -> Option<Capabilities> {
        let on_name = |rule: &&FsRule| rule.lexical_path().is_ok_and(|path| path == name);
        self.rules.iter().rev().find(on_name).map(FsRule::capabilities)
    }

    /// How people call it.
    pub(crate) fn words(&self) -> String {
        holder(self.tool.as_deref())
    }
}

/// How people call a run of this tool, or without one.
pub(crate) fn holder(tool: Option<&str>) -> String {
    match tool {
        Some(tool) => format!("tool {tool}"),
        None => "a run".to_owned(),
    }
}
