//! Decides which typed mounts are approved without a prompt, and asks about the others (spec §8.3, R10).
//!
//! A mount's own rule lasts for one run. Its approval counts for all rules on that name, in all runs. If files grant
//! more there than was typed, typing the mount does not approve that.

use jp_confine_engine::Capabilities;

use super::{Mounted, PlannedMounts};
use crate::cli::Options;
use crate::config::scope::{self, Scope};
use crate::error::Failure;
use crate::external::approvals::question::{ApprovalContext, Wanted, was_and_now};
use crate::external::approvals::store::{ApprovalKind, Store};
use crate::host::invocation::CommandHint;
use crate::prompt::terminal::Terminal;
use crate::text::quote;

impl PlannedMounts {
    /// The mounts to ask about: those for the run itself, and those on whose name files grant more. Approved mounts are
    /// left out.
    fn open(&self, scopes: &[Scope]) -> impl Iterator<Item = &Mounted> {
        let is_open = |mounted: &&Mounted| mounted.typed.tool.is_none() || mounted.exceeded(scopes);
        self.mounted.iter().filter(|mounted| !mounted.approved).filter(is_open)
    }

    /// Whether there is one to ask about.
    pub(crate) fn has_open(&self, scopes: &[Scope]) -> bool {
        self.open(scopes).next().is_some()
    }

    /// Asks whether the person means these mounts.
    pub(crate) fn confirm(
        &self,
        terminal: &mut Terminal,
        about: &ApprovalContext<'_>,
        options: &Options,
        store: &mut Store,
    ) -> Result<(), Failure> {
        for mounted in self.open(about.scopes) {
            let words = mounted.question(about, options.tool.as_deref());
            let (name, target) = (&mounted.name, &mounted.target);
            let wanted = Wanted { kind: ApprovalKind::Mount, name, target };
            if !about.confirm(terminal, &words, wanted, store) {
                return Err(Failure::own(format!(
                    "nothing was run: no to --mount {}",
                    mounted.typed
                )));
            }
        }
        Ok(())
    }

    /// Used if nobody can be asked. Approves mounts on whose name files grant more for this run alone, in which their
    /// own rules decide. Returns warnings about that.
    pub(crate) fn keep_to_this_run(
        &self,
        scopes: &[Scope],
        store: &mut Store,
        here: &CommandHint,
    ) -> Vec<String> {
        let exceeded = |mounted: &&Mounted| !mounted.approved && mounted.exceeded(scopes);
        let mut warnings = Vec::new();
        for mounted in self.mounted.iter().filter(exceeded) {
            store.keep_to_this_run(&mounted.name);
            warnings.push(format!(
                "--mount {} is for this run alone, because rules of files grant more there; for those: {}",
                mounted.typed,
                here.approval(mounted.name.as_str())
            ));
        }
        warnings
    }
}

impl Mounted {
    /// The rights that the typed mount grants.
    fn caps(&self) -> Capabilities {
        self.rule().capabilities()
    }

    /// Whether rules of files grant more on the name.
    fn exceeded(&self, scopes: &[Scope]) -> bool {
        let granted = scope::grants_on(scopes, &self.name);
        granted.iter().any(|(_, caps)| !self.caps().contains(*caps))
    }

    fn question(&self, about: &ApprovalContext<'_>, tool: Option<&str>) -> String {
        let who = tool.map_or("this run".to_owned(), |tool| format!("tool {tool}"));
        // In this run the mount's own rule is the last one on its path.
        let heading = "What rules of files grant there in other runs:";
        let effect = about.effect(heading, &self.name, &self.target);
        let [name, target] =
            [&self.name, &self.target].map(|path| quote::short_name(path.as_str().as_bytes()));
        let places = match &self.previous {
            Some(previous) => {
                format!("{name}\n{}", was_and_now(previous.as_std_path(), &self.target))
            }
            None => format!("{name} → {target}\n"),
        };
        format!(
            "jp-confine: mount from outside the workspace\n  {places}  {who}: {}\n{effect}Mount it?",
            self.caps(),
        )
    }
}

#[cfg(test)]
mod tests {
    use jp_confine_engine::Capability;
    use jp_confine_engine::model::FsRule;

    use super::*;
    use crate::cli::mount::MountOption;

    /// Whether this rule of the tool `edit` exceeds a mount on `fork` that was typed like this.
    fn exceeded(writable: bool, rule: FsRule) -> bool {
        let typed = MountOption {
            tool: Some("edit".to_owned()),
            name: "fork".into(),
            path: "/t".into(),
            writable,
        };
        let mounted = Mounted {
            typed,
            name: "fork".into(),
            target: "/t".into(),
            linked: true,
            approved: false,
            previous: None,
        };
        let scope = Scope { tool: Some("edit".to_owned()), rules: vec![rule.with_external(true)] };
        mounted.exceeded(&[scope])
    }

    // conformance: d43-135, d43-237
    #[test]
    fn typing_a_mount_consents_to_what_is_typed() {
        let rule = |path: &str| FsRule::new(path).with(Capability::Read, true);
        assert!(!exceeded(false, rule("./fork/")));
        assert!(exceeded(false, rule("./fork/").with_write(true)));
        assert!(!exceeded(false, rule("other").with_write(true)));
        assert!(!exceeded(true, rule("fork").with_write(true)));
        assert!(exceeded(true, rule("fork").with(Capability::Execute, true)));
    }
}
