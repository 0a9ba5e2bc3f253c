//! The tier layer of a run: what files say of tiers, with what a person approved of that.

use jp_confine_policy::approvals::Approval;
use jp_confine_policy::pattern::Places;
use jp_confine_policy::tiers::Tiers;

use crate::compile::external_rules::Purpose;
use crate::compile::profiles::Resolved;
use crate::config::layers::Layers;
use crate::config::outside_pattern::Wide;
use crate::error::Failure;
use crate::external::approvals::question::About;
use crate::external::approvals::store::Store;
use crate::external::mounts::Asked;
use crate::prompt::terminal::Terminal;
use crate::prompt::turns::Turns;

/// The tier layer.
#[derive(Debug)]
pub(crate) struct TierLayer {
    pub(crate) tiers: Tiers,
    /// What is sensitive and yet free to all programs, because nothing is declared.
    pub(crate) exposed: Option<Tiers>,
    /// What a person should know.
    pub(crate) warnings: Vec<String>,
}

/// What grants there are, as far as tiers care.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    /// Rules are declared.
    by_rules: bool,
    /// Options grant something, or a profile that they name.
    by_flags: bool,
}

impl Granted {
    /// Where rules are `declared`, maybe `only_mounts`, which are options, and `flags` grant something, or one of the
    /// `tables` that they name.
    pub(crate) fn of(declared: bool, only_mounts: bool, flags: bool, tables: &[Resolved]) -> Self {
        let by_flags = flags || only_mounts || tables.iter().any(Resolved::is_meant);
        Self { by_rules: declared && !only_mounts, by_flags }
    }
}

impl TierLayer {
    /// Puts the layer together. For a run a person is asked about what a workspace file would open
    /// outside; a question about the policy goes by what is approved already.
    pub(crate) fn of(
        asked: &Asked<'_>,
        layers: &Layers,
        granted: Granted,
        purpose: Purpose,
    ) -> Result<Self, Failure> {
        let Asked { context, workspace, root, options, log } = *asked;
        let tool = options.tool.as_deref();
        let places = Places::of(&context.homes, root);
        let about = About { context, root, scopes: &[], log };
        // Hardly a run has anything to approve.
        let mut means = None;
        let open = || {
            let terminal = match purpose {
                Purpose::Run => Terminal::wait_for(&Turns::of(context), options.non_interactive),
                Purpose::Question => None,
            };
            (Store::open(context, workspace), terminal)
        };
        let approved = |wide: &Wide| {
            let (store, terminal) = means.get_or_insert_with(open);
            let approval = wide.approval(store, terminal.as_mut(), &about);
            if approval != Approval::Approved {
                // Nobody shall have to refuse one after the other.
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
