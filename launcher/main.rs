//! `jp-confine`: runs a program so that it touches only what a path policy grants.
//!
//! Each directory imports only from those before it in this order (`tests/layout.rs`):
//!
//! text · sys · record · error · files · output · host · config · cli · prompt · external · plan · network ·
//! compile · supervisor · launch · advice · report · learn · commands
//!
//! The data flow: `cli` reads the options and `config` the files. `compile` turns both into grants and these into an
//! image. `plan` says which layer holds what. `launch` starts the program, and `supervisor` answers its trapped calls.
//! `report` lists the denials.

mod advice;
mod cli;
mod commands;
mod compile;
mod config;
mod error;
mod external;
mod files;
mod host;
mod launch;
mod learn;
mod network;
mod output;
mod plan;
mod prompt;
mod record;
mod report;
mod supervisor;
mod sys;
mod text;

use std::path::Path;
use std::process::ExitCode;

use cli::{Approvals, Cache, Command, Mounts, Options, Profiles, Topic};
use commands::{
    allow, approvals, authorize, cache, completions, doctor, init, manual, mcp, mounts, profiles,
    query, run, serve, shell, vfs,
};
use config::environment::EnvOption;
use config::host_context::{self, HostContext};
use error::Failure;
use host::context::Context;
use report::why;
use sys::signals;

/// musl's allocator would map and unmap memory hundreds of times in each start.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    #[cfg(panic = "unwind")]
    end_at_panic();
    ExitCode::from(dispatch().unwrap_or_else(|failure| {
        output::failure(&failure);
        failure.status()
    }))
}

/// Ends the process at a panic in any thread, as the release does. Other builds can unwind, so that they share the
/// dependencies of the tests.
#[cfg(panic = "unwind")]
fn end_at_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        std::process::abort();
    }));
}

/// The options with the workspace and the rules of a host's `Context`, if one is named.
fn in_host_context(context: &Context, mut options: Options) -> Result<Options, Failure> {
    let Some(name) = options.context.take() else { return Ok(options) };
    let received = HostContext::read(context, &name)?;
    options.workspace = Some(received.root);
    if name == Path::new(host_context::STDIN) {
        options.received = Some(received.text);
    } else {
        options.policies.insert(0, name);
    }
    Ok(options)
}

fn dispatch() -> Result<u8, Failure> {
    let (options, command) = match cli::parse() {
        Err(asked) if !asked.use_stderr() => return output::help(&asked).map(|()| 0),
        parsed => parsed.map_err(Failure::Usage)?,
    };
    // Not for `vfs` and `mcp`: the programs that they run would inherit the ignored signal.
    if !matches!(command, Command::Vfs { .. } | Command::Mcp) {
        signals::survive_limit_of_length();
    }
    output::set_color(options.color);
    let mut context = Context::capture()?;
    context.set_variables(options.env.iter().filter_map(EnvOption::assignment));
    let options = in_host_context(&context, options)?;
    match command {
        Command::Run { program, .. } | Command::Learn { program, .. } if options.dry_run => {
            query::dry_run::dry_run(&context, &options, Some(&program))
        }
        Command::Run { program, arguments } => {
            let end = run::run(&context, &options, &program, &arguments, None)?.end;
            Ok(end.follow())
        }
        Command::Learn { lesson, program, arguments } => {
            commands::learn::learn(&context, &options, &lesson, &program, &arguments)
        }
        Command::Check { topic: Topic::Path(capability), targets, json } => {
            query::check(&context, &options, capability, &targets, json)
        }
        Command::Check { topic: Topic::Beyond(topic), targets, json } => {
            query::resources::check(&context, &options, topic, &targets, json)
        }
        Command::ExplainBeyond { topic, targets, json } => {
            query::resources::explain(&context, &options, topic, &targets, json)
        }
        Command::Authorize(request) => authorize::authorize(&context, &options, &request),
        Command::Serve { roots } => serve::serve(&context, &options, &roots),
        Command::Explain { path, json } => query::explain(&context, &options, &path, json),
        Command::Compile | Command::Vfs { .. } | Command::Mcp if options.dry_run => {
            query::dry_run::dry_run(&context, &options, None)
        }
        Command::Compile => query::compile(&context, &options),
        Command::Plan { format, program } => {
            query::plan::print(&context, &options, format, program.as_deref())
        }
        Command::Vfs { call, program, arguments } => {
            vfs::serve(&context, &options, &call, &program, &arguments)
        }
        Command::Mcp => mcp::serve(&context, &options),
        Command::Shell { arguments } => shell::shell(&mut context, &options, arguments),
        Command::Profiles(Profiles::List { json }) => profiles::list(&context, &options, json),
        Command::Profiles(Profiles::Show { name }) => profiles::show(&context, &options, &name),
        Command::Why { json } => why::last(&context, &options, json),
        Command::Allow { which, yes, json } => allow::allow(&context, &options, which, yes, json),
        Command::Status { json } => commands::status::status(&context, json),
        Command::Doctor { json } => doctor::doctor(&context, json),
        Command::Mounts(Mounts::List { json }) => mounts::mounts(&context, &options, json),
        Command::Mounts(Mounts::Add { mount, yes }) => {
            mounts::changes::add(&context, options, mount, yes)
        }
        Command::Mounts(Mounts::Remove { names, yes }) => {
            mounts::changes::remove(&context, options, names, yes)
        }
        Command::Approvals(Approvals::List { json }) => approvals::list(&context, &options, json),
        Command::Approvals(Approvals::Approve { name }) => {
            approvals::approve(&context, &options, &name)
        }
        Command::Approvals(Approvals::Revoke { name }) => {
            approvals::revoke(&context, &options, &name)
        }
        Command::Cache(Cache::List { json }) => cache::list(&context, &options, json),
        Command::Cache(Cache::Clear { unused, workspaces }) => {
            cache::clear(&context, &options, unused, &workspaces)
        }
        Command::Init => init::init(&context, &options),
        Command::Man => manual::page(),
        Command::Completions { shell } => completions::print(shell),
    }
}
