//! `jp-confine`: runs a program so that it touches only what a path policy grants.
//!
//! The data flow: `cli` reads the options, `config` the files; `prepare` turns both into an image
//! (`profile`, `grants`, and the policy crate); `seal` and `install` put image and preload library
//! where the program finds them; `supervise` runs it; `events`, `log` and `report` tell what was
//! refused.

mod advice;
mod aftermath;
mod anchors;
mod approvals;
mod asked;
mod authorize;
mod cli;
mod command_line;
mod commands;
mod completions;
mod config;
mod consent;
mod context;
mod countersign;
mod denials;
mod descendants;
mod device_nodes;
mod doctor;
mod ending;
mod environment;
mod events;
mod exposed;
mod externals;
mod failure;
mod filter;
mod front;
mod gap;
mod grants;
mod here;
mod host_files;
mod host_process;
mod in_vain;
mod inherited;
mod init;
mod inner;
mod install;
mod learn;
mod lines;
mod log;
mod machine;
mod made_up;
mod manual;
mod marks;
mod modes;
mod mount_table;
mod mounts;
mod net;
mod orphaned;
mod outer;
mod own_additions;
mod own_folders;
mod plan;
mod planted;
mod premises;
mod prepare;
mod profile;
mod program;
mod query;
mod ready_made;
mod refused_calls;
mod reply;
mod report;
mod resumption;
mod rule_additions;
mod rule_text;
mod run;
mod scratch;
mod seal;
mod search;
mod second_mounts;
mod sight;
mod spawn;
mod start;
mod supervise;
mod supervisor;
mod sys;
mod terminal;
mod tier_layer;
mod turns;
mod typing;
mod unsupervised;
mod vfs;
mod why;
mod wire_form;
mod workspace;

use std::process::ExitCode;

use cli::{Approvals, Command, Topic};
use context::Context;
use failure::Failure;
use sys::signals;

fn main() -> ExitCode {
    ExitCode::from(dispatch().unwrap_or_else(|failure| {
        report::failure(&failure);
        failure.status()
    }))
}

fn dispatch() -> Result<u8, Failure> {
    let (options, command) = match cli::parse() {
        Err(asked) if !asked.use_stderr() => return report::help(&asked).map(|()| 0),
        parsed => parsed.map_err(Failure::Usage)?,
    };
    // What is ignored here would be in a tool that is hosted.
    if !matches!(command, Command::Vfs { .. }) {
        signals::survive_limit_of_length();
    }
    let mut context = Context::capture()?;
    context.set_variables(&options.env);
    match command {
        Command::Run { program, .. } | Command::Learn { program, .. } if options.dry_run => {
            query::dry_run(&context, &options, Some(&program))
        }
        Command::Run { program, arguments } => {
            let end = run::run(&context, &options, &program, &arguments, None)?.end;
            Ok(end.follow())
        }
        Command::Learn { lesson, program, arguments } => {
            learn::learn(&context, &options, &lesson, &program, &arguments)
        }
        Command::Check { topic: Topic::Path(capability), targets, json } => {
            query::check(&context, &options, capability, &targets, json)
        }
        Command::Check { topic: Topic::Beyond(topic), targets, json } => {
            query::beyond::check(&context, &options, topic, &targets, json)
        }
        Command::ExplainBeyond { topic, targets, json } => {
            query::beyond::explain(&context, &options, topic, &targets, json)
        }
        Command::Authorize(request) => authorize::authorize(&context, &options, &request),
        Command::Explain { path, json } => query::explain(&context, &options, &path, json),
        Command::Compile | Command::Vfs { .. } if options.dry_run => {
            query::dry_run(&context, &options, None)
        }
        Command::Compile => query::compile(&context, &options),
        Command::Vfs { call, program, arguments } => {
            vfs::serve(&context, &options, &call, &program, &arguments)
        }
        Command::Why { json } => why::last(&context, &options, json),
        Command::Doctor { json } => doctor::doctor(&context, json),
        Command::Mounts { json } => mounts::list::mounts(&context, &options, json),
        Command::Approvals(Approvals::List { json }) => {
            approvals::commands::list(&context, &options, json)
        }
        Command::Approvals(Approvals::Approve { name }) => {
            approvals::commands::approve(&context, &options, &name)
        }
        Command::Approvals(Approvals::Revoke { name }) => {
            approvals::commands::revoke(&context, &options, &name)
        }
        Command::Init => init::init(&context, &options),
        Command::Man => manual::page(),
        Command::Completions { shell } => completions::print(shell),
    }
}
