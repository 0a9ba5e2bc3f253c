//! Shares code between the answers about paths and those about other resources.

use std::ffi::OsStr;
use std::fmt::Write as _;

use jp_confine_engine::check::CheckVerdict;

use crate::cli::Options;
use crate::compile::prepared::Prepared;
use crate::compile::{self, Stage};
use crate::error::Failure;
use crate::host::context::Context;
use crate::launch::outer_run::{self, Outer};
use crate::output;
use crate::plan::Plan;
use crate::text::wrap;

/// The exit status for these verdicts.
pub(crate) fn status(verdicts: &[CheckVerdict]) -> u8 {
    match (verdicts.contains(&CheckVerdict::Deny), verdicts.contains(&CheckVerdict::Prompt)) {
        (true, _) => 1,
        (false, true) => 2,
        (false, false) => 0,
    }
}

pub(crate) const fn word(verdict: CheckVerdict) -> &'static str {
    match verdict {
        CheckVerdict::Allow => "allow",
        CheckVerdict::Prompt => "prompt",
        CheckVerdict::Deny => "deny",
    }
}

pub(crate) fn plan(
    context: &Context,
    options: &Options,
    prepared: &Prepared,
) -> Result<Plan, Failure> {
    let machine = outer_run::machine(context, Outer::find(context)?.as_ref());
    prepared.plan(context, machine, options.enforce.unwrap_or_default(), &[])
}

/// The policy that the options select, for a question about it. Prints its warnings.
pub(crate) fn prepared(
    context: &Context,
    options: &Options,
    program: Option<&OsStr>,
) -> Result<Prepared, Failure> {
    prepared_for(context, options, program, Stage::Question)
}

/// Like [`prepared`], for another stage that runs no program itself.
pub(crate) fn prepared_for(
    context: &Context,
    options: &Options,
    program: Option<&OsStr>,
    stage: Stage<'_>,
) -> Result<Prepared, Failure> {
    let workspace = compile::find_workspace(context, options)?;
    let prepared = compile::prepare(context, &workspace, options, program, stage)?;
    if !options.quiet {
        for warning in &prepared.warnings {
            output::warning(warning);
        }
    }
    Ok(prepared)
}

/// Puts `parts` on one line, or on several if that would be too long.
pub(crate) fn lines(text: &mut String, indent: &str, parts: &[String], between: &str) {
    for line in wrap::fitted(indent, parts, between) {
        let _ = writeln!(text, "{line}");
    }
}
