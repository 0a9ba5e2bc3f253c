//! Implements `mcp`: serves an agent the files and programs of the workspace by the Model Context Protocol, under the
//! policy that a run in this workspace has.
//!
//! ```text
//!   client ── messages ──► server (its own thread) ── calls ──► service, here ──► policy, files, runs
//!          ◄─ elicitation ─                        ◄─ questions ─
//! ```

mod call;
mod client;
mod server;
mod tools;

use std::cell::RefCell;
use std::ffi::OsStr;
use std::sync::mpsc;

use jp_confine_engine::check;
use jp_confine_vfs::Fault;
use jp_confine_vfs::files::OnDisk;
use jp_confine_vfs::incoming::Request;
use jp_confine_vfs::service::{Caller as _, Programs, Service};

use self::call::Call;
use self::client::Client;
use self::server::Server;
use crate::cli::Options;
use crate::commands::query::common;
use crate::commands::status::Status;
use crate::commands::{inner_run, run};
use crate::compile::external_rules::Made;
use crate::compile::prepared::Prepared;
use crate::compile::{self, Stage, image};
use crate::error::Failure;
use crate::host::context::Context;
use crate::launch::outer_run::Outer;
use crate::output::event_log::Log;
use crate::record::service_refusals::ServiceDenial;

/// The name of the server, in place of a tool's.
const NAME: &str = "mcp";

/// Serves until the input ends. Returns the exit status.
pub(crate) fn serve(context: &Context, options: &Options) -> Result<u8, Failure> {
    refuse_inside(context)?;
    let workspace = compile::find_workspace(context, options)?;
    let open = |target| Log::open(&context.cwd, target);
    let log = options.events.as_ref().map(open).transpose()?;
    let log = log.as_ref();
    if let Some(log) = log {
        log.start(run::beginning(context, options, &workspace, OsStr::new(NAME)));
    }
    let outcome = serve_logged(context, options, log);
    if let Some(log) = log {
        log.end(outcome.as_ref().map_or_else(Failure::status, |()| 0));
    }
    outcome.map(|()| 0)
}

/// The same, with a log that has the first event.
fn serve_logged(context: &Context, options: &Options, log: Option<&Log>) -> Result<(), Failure> {
    let mut prepared = common::prepared_for(context, options, None, Stage::Service { log })?;
    if let Some(log) = log {
        prepared.warnings.iter().for_each(|warning| log.warning(warning));
    }
    let (calls, incoming) = mpsc::channel();
    let server = Server::new(calls, resources(context, options, &prepared)?);
    prepared.made.take().map_or(Ok(()), Made::keep)?;

    let policy = check::Context::new(&prepared.root, &prepared.grants, &prepared.image)
        .naming(&prepared.tiers);
    let closed = |error| Failure::own(format!("the workspace cannot be opened: {error}"));
    let files = OnDisk::at(&prepared.root).map_err(closed)?;
    let programs = Programs {
        wrapper: inner_run::for_agent(context, options, &prepared.root)?,
        directory: files.directory().map_err(closed)?.into(),
        environment: context.environment.clone(),
        are_judged: true,
    };
    let current = RefCell::new(None);
    let mut person = Client::new(&current, log);
    let refused = |request: &Request, fault: &Fault| {
        if let Some(log) = log {
            log.refusal(NAME, &ServiceDenial::of(request, fault));
        }
    };
    let mut service =
        Service::new(policy, &files, &mut person).with_programs(programs).with_witness(&refused);
    let serving = server.start()?;
    for Call { request, mut way } in incoming {
        // It may have been cancelled while others were served.
        if !way.is_gone() {
            current.replace(Some(way.clone()));
            let answer = service.answer(&request, &mut way);
            way.answer(answer);
        }
    }
    let ended = serving.join().unwrap_or_else(|_| Err("its thread ended".to_owned()));
    ended.map_err(|why| Failure::own(format!("the server failed: {why}")))
}

/// The policy as `compile` prints it, and as `status` does in a run.
fn resources(
    context: &Context,
    options: &Options,
    prepared: &Prepared,
) -> Result<[(&'static str, &'static str, String); 2], Failure> {
    let policy = serde_json::to_string_pretty(&prepared.compiled());
    let policy = policy.map_err(|error| Failure::own(format!("the policy is no JSON: {error}")))?;
    let layers = common::plan(context, options, prepared)?.layers();
    let status = Status::planned(&image::parse_image(&prepared.image)?, layers);
    Ok([
        ("policy", "application/json", policy),
        ("status", "text/plain", status.text("confined", context)),
    ])
}

/// Rejects to serve inside another run, whose library does not see what the server does (`docs/decisions/0016`).
fn refuse_inside(context: &Context) -> Result<(), Failure> {
    if Outer::find(context)?.is_none() {
        return Ok(());
    }
    Err(Failure::advised(
        "the server cannot be held inside another run, whose library does not see what it does",
        "in a run, the agent's own tools are confined already; else start the server outside",
    ))
}
