//! Implements `plan`: prints what each layer would enforce in a run. Runs nothing.

use std::ffi::OsStr;
use std::fmt::Write as _;

use jp_confine_engine::build::GrantKind;
use jp_confine_engine::sbpl;

use super::common::prepared;
use super::dry_run::{self, with_plan};
use crate::cli::{Options, PlanFormat};
use crate::compile::prepared::Prepared;
use crate::compile::{self, image};
use crate::error::Failure;
use crate::host::context::Context;
use crate::network::access::NetworkAccess;
use crate::output;
use crate::plan::{Plan, landlock_text};
use crate::text::quote;

/// Prints the plan of a run of `program`, or of a program that chooses no profile.
pub(crate) fn print(
    context: &Context,
    options: &Options,
    format: PlanFormat,
    program: Option<&OsStr>,
) -> Result<u8, Failure> {
    let prepared = prepared(context, options, program)?;
    prepared.network.require(options, context.machine())?;
    let text = match format {
        PlanFormat::Text => with_plan(context, options, &prepared, program, |plan| {
            Ok(grants(&prepared) + &plan.describe())
        }),
        PlanFormat::Landlock => with_plan(context, options, &prepared, program, ruleset),
        PlanFormat::Sbpl => profile(context, options, &prepared),
        PlanFormat::Json => {
            with_plan(context, options, &prepared, program, |plan| dry_run::json(&prepared, plan))?;
            return Ok(0);
        }
    }?;
    output::output(&text)?;
    Ok(0)
}

/// Every grant of the policy, which the library and the supervisor judge by.
fn grants(prepared: &Prepared) -> String {
    let mut text = "policy\n".to_owned();
    let is_dropped = |kind: &GrantKind| matches!(kind, GrantKind::Tombstone { .. });
    for grant in prepared.grants.iter().filter(|grant| !is_dropped(&grant.kind)) {
        let _ = writeln!(text, "  {}", quote::path(&grant.to_string()));
    }
    text
}

fn ruleset(plan: &Plan) -> Result<String, Failure> {
    let Some(bounds) = &plan.bounds else {
        return Err(Failure::advised(
            "Landlock would take no part in this run",
            "`jp-confine plan` says which layers would",
        ));
    };
    landlock_text::text(bounds).map_err(|error| Failure::own(error.to_string()))
}

fn profile(context: &Context, options: &Options, prepared: &Prepared) -> Result<String, Failure> {
    let workspace = compile::find_workspace(context, options)?;
    Ok(sbpl::profile(&sbpl::Source {
        grants: &prepared.grants,
        image: &image::parse_image(&prepared.image)?,
        tiers: &prepared.tiers,
        workspace: prepared.root.as_path(),
        spelled: workspace.spelled.as_deref(),
        has_network: matches!(prepared.network, NetworkAccess::Free),
    }))
}
