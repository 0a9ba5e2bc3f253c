//! Builds the tier layer of a run from files and from a person's approvals.

use jp_confine_engine::approvals::Approval;
use jp_confine_engine::pattern::Places;
use jp_confine_engine::tiers::Tiers;

use crate::compile::external_rules::Purpose;
use crate::compile::profiles::Resolved;
use crate::config::layers::Layers;
use crate::config::outside_pattern::OutsidePattern;
use crate::error::Failure;
use crate::external::approvals::question::ApprovalContext;
use crate::external::approvals::store::Store;
use crate::external::mounts::MountRequest;
use crate::prompt::terminal::Terminal;
use crate::prompt::turns::PromptQueue;

/// The tier layer.
#[derive(Debug)]
pub(crate) struct TierLayer {
    pub(crate) tiers: Tiers,
    /// Sensitive paths that all programs may use, because nothing is declared.
    pub(crate) exposed: Option<Tiers>,
    /// Warnings for the person.
    pub(crate) warnings: Vec<String>,
}

/// Which grants there are, as far as tiers depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TierGrants {
    /// Rules are declared.
    by_rules: bool,
    /// Options, or a profile that they name, grant something.
    by_flags: bool,
}

impl TierGrants {
    /// Combines the facts. Rules that are `declared` as `only_mounts` count as options. So do `flags`, and `tables`
    /// that options name.
    pub(crate) fn of(declared: bool, only_mounts: bool, flags: bool, tables: &[Resolved]) -> Self {
        let by_flags = flags || only_mounts || tables.iter().any(Resolved::is_meant);
        Self { by_rules: declared && !only_mounts, by_flags }
    }
}

impl TierLayer {
    /// Builds the layer. For a run it asks about patterns in a workspace file that would open something outside. A
    /// query only uses existing approvals.
    pub(crate) fn of(
        asked: &MountRequest<'_>,
        layers: &Layers,
        granted: TierGrants,
        purpose: Purpose,
    ) -> Result<Self, Failure> {
        let MountRequest { context, workspace, root, options, log } = *asked;
        let tool = options.tool.as_deref();
        let places = Places::of(&context.homes, root);
        let about = ApprovalContext { context, root, scopes: &[], log };
        // Opened on demand, because runs rarely have anything to approve.
        let mut means = None;
        let open = || {
            let terminal = match purpose {
                Purpose::Run => {
                    Terminal::wait_for(&PromptQueue::of(context), options.non_interactive)
                }
                Purpose::Question => None,
            };
            (Store::open(context, workspace), terminal)
        };
        let approved = |wide: &OutsidePattern| {
            let (store, terminal) = means.get_or_insert_with(open);
            let approval = wide.approval(store, terminal.as_mut(), &about);
            if approval != Approval::Approved {
                // After one no, nothing else is asked.
                *terminal = None;
            }
            approval
        };
        let warns = granted.by_rules || granted.by_flags;
        let (tiers, warnings) = layers.tiers(tool, places, warns, &workspace.here, approved)?;
        let tiers = layers.guarding(tiers, places, context, (tool, &options.allow_autorun))?;
        if let Some((mut store, _)) = means {
            store.save()?;
        }
        let exposed = if granted.by_rules { None } else { Some(layers.sensitive(tool, places)?) };
        Ok(Self { tiers, exposed, warnings })
    }
}
