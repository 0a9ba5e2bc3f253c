//! Records the requests that the file service denied a tool.

use std::ffi::{OsStr, OsString};
use std::io;

use super::last_run::{forget, of_last_run, replace};
use crate::host::context::Context;
use crate::host::workspace::Workspace;
use crate::record::event::LayerName;
use crate::record::service_refusals::{Refusals, ServiceDenial};
use crate::report::why::record::{ExplainedDenial, MOST, RunHead, command, now};
use crate::text::quote;

/// The run of a tool that has ended.
#[derive(Debug)]
pub(crate) struct Served<'a> {
    pub(crate) tool: &'a str,
    pub(crate) name: &'a OsStr,
    pub(crate) arguments: &'a [OsString],
    pub(crate) status: u8,
    pub(crate) refusals: &'a Refusals,
}

impl Served<'_> {
    /// Deletes the record of the previous run, so that runs started for the tool are not added to it.
    ///
    /// # Errors
    /// The record cannot be deleted.
    pub(crate) fn begin(context: &Context, workspace: &Workspace) -> io::Result<()> {
        let dir = workspace.data_dir(context).ok_or(io::ErrorKind::NotFound)?;
        forget(&dir)
    }

    /// Stores the tool's denials, after those of the programs started for it.
    ///
    /// # Errors
    /// The record cannot be written.
    pub(crate) fn keep(&self, context: &Context, workspace: &Workspace) -> io::Result<()> {
        let dir = workspace.data_dir(context).ok_or(io::ErrorKind::NotFound)?;
        let denials = self.refusals.distinct().iter().take(MOST);
        let denials = denials.map(|(refusal, times)| self.explain(refusal, *times)).collect();
        let head = RunHead {
            workspace: workspace.label(),
            directory: context.cwd.to_str().map(str::to_owned),
            command: command(self.name, self.arguments),
            status: self.status,
            denials: self.refusals.total(),
            ended: now(),
            ..RunHead::default()
        };
        replace(&dir, head, denials, of_last_run(context, workspace)?)
    }

    fn explain(&self, refusal: &ServiceDenial, times: u64) -> ExplainedDenial {
        let about = quote::printable(refusal.about.as_bytes());
        let net = refusal.method.starts_with("http.").then(|| "net".to_owned());
        ExplainedDenial {
            denied: quote::printable(refusal.method.as_bytes()),
            capability: net.into_iter().collect(),
            path: about.clone(),
            route: about,
            arguments: refusal.arguments.clone(),
            program: quote::printable(self.tool.as_bytes()),
            call: quote::printable(refusal.method.as_bytes()),
            times,
            layer: LayerName::Service,
            message: Some(refusal.message.clone()),
            ..ExplainedDenial::default()
        }
    }
}
