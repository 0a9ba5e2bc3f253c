//! Answers questions about hosts, variables and programs.

use std::ffi::OsString;

use jp_confine_engine::Capability;

use crate::cli::{Beyond, Options};
use crate::commands::query::answer::{ExplainedVerdict, TargetVerdict};
use crate::commands::query::common::status;
pub(super) use crate::commands::query::programs::refused_alone;
use crate::compile::prepared::Prepared;
use crate::error::Failure;
use crate::host::context::Context;
use crate::output;

/// The policy that questions are about.
pub(crate) struct QueriedPolicy<'a> {
    pub(crate) context: &'a Context,
    pub(crate) options: &'a Options,
    pub(crate) prepared: Prepared,
}

impl<'a> QueriedPolicy<'a> {
    fn of(context: &'a Context, options: &'a Options) -> Result<Self, Failure> {
        let prepared = crate::commands::query::common::prepared(context, options, None)?;
        Ok(Self { context, options, prepared })
    }

    /// The answers about the targets. A program and its arguments are one target.
    fn answers(
        &self,
        topic: Beyond,
        targets: &[OsString],
    ) -> Result<Vec<ExplainedVerdict>, Failure> {
        match topic {
            Beyond::Net => targets.iter().map(|target| self.net(target)).collect(),
            Beyond::Env => targets.iter().map(|target| self.env(target)).collect(),
            Beyond::Command => Ok(vec![self.command(targets)?]),
        }
    }

    /// The layers that decide which programs are started.
    pub(crate) fn holders_of_programs(&self) -> Result<String, Failure> {
        let plan =
            crate::commands::query::common::plan(self.context, self.options, &self.prepared)?;
        let mut holders = plan.holders.iter();
        let holder = holders.find(|holder| holder.capability == Capability::Execute);
        Ok(holder.map(|holder| holder.layers()).unwrap_or_default())
    }
}

/// Runs `check net`, `check env` and `check command`: prints one verdict for each target. The exit status is that of
/// `check`.
pub(crate) fn check(
    context: &Context,
    options: &Options,
    topic: Beyond,
    targets: &[OsString],
    json: bool,
) -> Result<u8, Failure> {
    let answers = QueriedPolicy::of(context, options)?.answers(topic, targets)?;
    let answers: Vec<TargetVerdict> =
        answers.into_iter().map(|explained| explained.answer).collect();
    output::result(json, &answers, |all| all.iter().map(TargetVerdict::line).collect())?;
    Ok(status(&answers.iter().map(|answer| answer.verdict).collect::<Vec<_>>()))
}

/// Runs `explain net`, `explain env` and `explain command`: prints the rules, which of them decides, and the layers.
pub(crate) fn explain(
    context: &Context,
    options: &Options,
    topic: Beyond,
    targets: &[OsString],
    json: bool,
) -> Result<u8, Failure> {
    let answers = QueriedPolicy::of(context, options)?.answers(topic, targets)?;
    let text = |all: &Vec<_>| {
        let text: Vec<String> = all.iter().map(ExplainedVerdict::text).collect();
        text.join("\n")
    };
    output::result(json, &answers, text)?;
    Ok(0)
}
