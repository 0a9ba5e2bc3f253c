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

impl Scope {
    /// What the rules on `name`, in normal form, grant: the last one, as of all on one path (R2).
    pub(crate) fn grants_on(&self, name: &Utf8Path) -> Option<Capabilities> {
        let on_name = |rule: &&FsRule| rule.lexical_path().is_ok_and(|path| path == name);
        self.rules.iter().rev().find(on_name).map(FsRule::capabilities)
    }

    /// How people call it.
    pub(crate) fn words(&self) -> String {
        match &self.tool {
            Some(tool) => format!("tool {tool}"),
            None => "a run".to_owned(),
        }
    }
}
