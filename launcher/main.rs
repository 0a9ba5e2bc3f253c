//! `jp-confine`: runs a program so that it touches only what a path policy grants.
//!
//! The data flow: `cli` reads the options, `config` the files; `prepare` turns both into an image
//! (`profile`, `grants`, and the policy crate); `seal` and `install` put image and preload library
//! where the program finds them; `supervise` runs it; `events`, `log` and `report` tell what was
//! refused.

mod anchors;
mod authorize;
mod cli;
mod config;
mod context;
mod descendants;
mod doctor;
mod events;
mod failure;
mod filter;
mod front;
mod grants;
mod init;
mod install;
mod log;
mod machine;
mod manual;
mod outer;
mod plan;
mod prepare;
mod profile;
mod program;
mod query;
mod report;
mod run;
mod scratch;
mod seal;
mod spawn;
mod start;
mod supervise;
mod supervisor;
mod sys;
mod workspace;

use std::process::ExitCode;

use cli::Command;
use context::Context;
use failure::Failure;

fn main() -> ExitCode {
    ExitCode::from(dispatch().unwrap_or_else(|failure| {
        report::failure(&failure);
        failure.status()
    }))
}

fn dispatch() -> Result<u8, Failure> {
    let (options, command) = cli::parse().map_err(Failure::Usage)?;
    let context = Context::capture()?;
    match command {
        Command::Run { program, .. } if options.dry_run => {
            query::dry_run(&context, &options, Some(&program))
        }
        Command::Run { program, arguments } => run::run(&context, &options, &program, &arguments),
        Command::Check { capability, paths, json } => {
            query::check(&context, &options, capability, &paths, json)
        }
        Command::Authorize(request) => authorize::authorize(&context, &options, &request),
        Command::Explain { path, json } => query::explain(&context, &options, &path, json),
        Command::Compile if options.dry_run => query::dry_run(&context, &options, None),
        Command::Compile => query::compile(&context, &options),
        Command::Doctor { json } => doctor::doctor(&context, json),
        Command::Init => init::init(&context, &options),
        Command::Man => manual::page(),
        Command::Completions { shell } => Ok(manual::completions(shell)),
    }
}
