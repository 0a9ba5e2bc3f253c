//! Implements `--dry-run`: shows what a run would grant and which layers would hold it. Runs nothing.

use std::ffi::OsStr;

use serde::Serialize;

use crate::cli::Options;
use crate::commands::query::common::{plan, prepared};
use crate::commands::status::Status;
use crate::compile::json::CompiledPolicy;
use crate::compile::prepared::Prepared;
use crate::compile::{self, Stage, image};
use crate::error::Failure;
use crate::host::context::Context;
use crate::launch::run_resources::RunResources;
use crate::launch::start::Start;
use crate::output;
use crate::plan::Plan;
use crate::plan::description::DescribedPlan;

/// All of what a run would have.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DryRun<'a> {
    #[serde(flatten)]
    policy: CompiledPolicy<'a>,
    plan: DescribedPlan,
}

/// Prints ten lines about a run of `program`. With `-v` the plan follows. With `--json` all of the compiled policy and
/// of the plan is printed instead.
pub(crate) fn dry_run(
    context: &Context,
    options: &Options,
    program: Option<&OsStr>,
) -> Result<u8, Failure> {
    // The output of `compile` (spec §18) is the same each time, so it contains nothing of a single run.
    let prepared = prepared(context, options, program)?;
    prepared.network.require(options, context.machine())?;
    with_plan(context, options, &prepared, program, |plan| {
        if options.dry_run_json {
            return json(&prepared, plan);
        }
        let status = Status::planned(&image::parse_image(&prepared.image)?, plan.layers());
        output::text(&status.text("would be confined", context))?;
        if options.verbose {
            output::text(&format!("\nplan\n{}", plan.describe()))?;
        }
        Ok(())
    })?;
    Ok(0)
}

/// Prints all of the compiled policy and of the plan.
pub(super) fn json(prepared: &Prepared, plan: &Plan) -> Result<(), Failure> {
    output::json(&DryRun { policy: prepared.compiled(), plan: plan.described() })
}

/// Shows the plan of a run of `program`, with all the resources that it would have. They exist only for this call.
/// Without a program, a run's own resources are left out.
pub(super) fn with_plan<T>(
    context: &Context,
    options: &Options,
    prepared: &Prepared,
    program: Option<&OsStr>,
    show: impl FnOnce(&Plan) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let Some(name) = program else { return show(&plan(context, options, prepared)?) };
    let workspace = compile::find_workspace(context, options)?;
    let premises = RunResources::make(context, options)?;
    let stage = Stage::Rehearsal(premises.parts());
    let mut prepared = compile::prepare(context, &workspace, options, Some(name), stage)?;
    let start = Start { context, options, name, arguments: &[], premises: &premises, lesson: None };
    show(&start.plan(&mut prepared, start.machine())?)
}
