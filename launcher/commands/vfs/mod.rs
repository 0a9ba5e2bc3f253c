//! Implements `vfs`: hosts a tool that may touch nothing itself, and performs the operations that the policy grants it
//! (spec §14).

mod prompt;
mod stdin;
mod tool;

use std::cell::{Cell, RefCell};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use jp_confine_engine::check;
use jp_confine_engine::coverage::Coverage;
use jp_confine_engine::env::Env;
use jp_confine_vfs::Fault;
use jp_confine_vfs::files::OnDisk;
use jp_confine_vfs::incoming::Request;
use jp_confine_vfs::message::{Init, ToolCall};
use jp_confine_vfs::service::{FILE_LIMIT, Programs, SHORTEST, Service};
use jp_confine_vfs::session::{Ending, Limits, Session};
use serde_json::{Value, json};

use self::prompt::OnTerminal;
use self::stdin::Talk;
use self::tool::Hosted;
use crate::cli::{Call, Options};
use crate::commands::query::common;
use crate::commands::{inner_run, run};
use crate::compile::external_rules::Made;
use crate::compile::image::parse_image;
use crate::compile::{self, Stage};
use crate::error::Failure;
use crate::host::context::Context;
use crate::host::invocation::CommandHint;
use crate::host::workspace::Workspace;
use crate::output;
use crate::output::event_log::Log;
use crate::prompt::turns::PromptQueue;
use crate::record::service_refusals::{Refusals, ServiceDenial};
use crate::report::exposed_files::Exposed;
use crate::report::why::Served;
use crate::sys::signals::Signals;
use crate::text::quote;

/// Signals by which users end what they wait for.
const ENDING: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Hosts `program`. Returns the exit status: 0 with a result.
pub(crate) fn serve(
    context: &Context,
    options: &Options,
    call: &Call,
    program: &OsStr,
    arguments: &[OsString],
) -> Result<u8, Failure> {
    refuse_what_runs_do(options)?;
    tool::refuse_inside(context)?;
    let workspace = compile::find_workspace(context, options)?;
    let configured;
    let (program, arguments) = if program.is_empty() {
        configured = tool::configured(context, options, &workspace)?;
        (configured.0.as_os_str(), configured.1.as_slice())
    } else {
        (program, arguments)
    };
    let open = |target| Log::open(&context.cwd, target);
    let log = options.events.as_ref().map(open).transpose()?;
    let log = log.as_ref();
    if let Some(log) = log {
        log.start(run::beginning(context, options, &workspace, program));
    }
    let outcome = serve_logged(context, options, call, (program, arguments), &workspace, log);
    if let Some(log) = log {
        log.end(outcome.as_ref().map_or_else(Failure::status, |status| *status));
    }
    outcome
}

/// The same, with a log that has the first event.
fn serve_logged(
    context: &Context,
    options: &Options,
    call: &Call,
    (program, arguments): (&OsStr, &[OsString]),
    workspace: &Workspace,
    log: Option<&Log>,
) -> Result<u8, Failure> {
    let mut prepared = common::prepared_for(context, options, None, Stage::Service { log })?;
    if !options.quiet {
        let guessable = guessable(context, &prepared.resources.net_env);
        for warning in guessable {
            output::warning(&warning);
        }
    }
    if let Some(log) = log {
        prepared.warnings.iter().for_each(|warning| log.warning(warning));
    }
    let env = &prepared.resources.env;
    let hosted = Hosted::find(context, options, env, &prepared.tiers, program)?;
    let policy = check::Context::new(&prepared.root, &prepared.grants, &prepared.image)
        .naming(&prepared.tiers);
    let closed = |error| {
        let root = quote::printable(prepared.root.as_path().as_os_str().as_bytes());
        Failure::own(format!("the workspace {root} cannot be opened: {error}"))
    };
    let made = prepared.made.take();
    let files = OnDisk::at(&prepared.root).map_err(closed)?;
    let programs = Programs {
        wrapper: inner_run::for_tool(context, options, &prepared.root)?,
        directory: files.directory().map_err(closed)?.into(),
        environment: tool::surroundings(context),
        are_judged: false,
    };
    let variables = |name: &str| {
        let mut environment = context.environment.iter();
        let (_, value) = environment.find(|(known, _)| known == name)?;
        value.to_str().map(ToOwned::to_owned)
    };
    let init = init(options, call, &hosted);
    let name = &init.tool.name;
    let turns = PromptQueue::of(context);
    let mut person = OnTerminal::new(options.non_interactive, turns.clone(), name.clone(), log);
    let refusals = RefCell::new(Refusals::default());
    let refused = |request: &Request, fault: &Fault| {
        let refusal = ServiceDenial::of(request, fault);
        if let Some(log) = log {
            log.refusal(name, &refusal);
        }
        refusals.borrow_mut().add(refusal);
    };
    let mut service = Service::new(policy, &files, &mut person)
        .with_resources(prepared.resources, &variables)
        .with_programs(programs)
        .with_witness(&refused)
        .with_limit(call.file_limit.unwrap_or(FILE_LIMIT));

    let signals = Signals::of(&ENDING);
    signals.block();
    let is_over = Cell::new(false);
    let interrupted = || {
        if !is_over.get() {
            is_over.set(!matches!(signals.wait(Some(Duration::ZERO)), Ok(None)));
        }
        is_over.get()
    };
    let session = Session {
        service: &mut service,
        conversation: &mut Talk::new(options.non_interactive, turns),
        diagnostics: &mut output::diagnostics(),
        interrupted: &interrupted,
        limits: limits(call),
    };
    made.map_or(Ok(()), Made::keep)?;
    let begun = Served::begin(context, workspace);
    let ending = session.run(&mut hosted.command(arguments), &init)?;
    let concluded = conclude(&ending, options.verbose);
    let status = concluded.as_ref().map_or_else(Failure::status, |status| *status);
    let refusals = &refusals.borrow();
    let served = Served { tool: name, name: program, arguments, status, refusals };
    let kept = begun.and_then(|()| served.keep(context, workspace));
    if !options.quiet {
        tell(refusals.total(), kept.is_ok(), &workspace.here);
        let exposed = prepared.exposed.as_ref();
        let exposed = exposed.map(|tiers| Exposed::of(prepared.root.as_path(), tiers, || false));
        let image = parse_image(&prepared.image)?;
        if let Some(warning) = exposed.and_then(|exposed| exposed.warning(&image)) {
            output::warning(&warning);
        }
    }
    concluded
}

/// Reports that the tool was denied requests. The tool itself was told which.
fn tell(refusals: u64, kept: bool, here: &CommandHint) {
    let noun = if refusals == 1 { "request" } else { "requests" };
    let more = if kept {
        format!("; which and why: {}", here.command("why --last"))
    } else {
        String::new()
    };
    if refusals > 0 {
        output::note(&format!("{refusals} {noun} of the tool refused{more}"));
    }
}

/// Rejects options that would have no effect here.
fn refuse_what_runs_do(options: &Options) -> Result<(), Failure> {
    if options.hosts.net_proxy || !options.hosts.resolve.is_empty() {
        return Err(Failure::advised(
            "the file service makes requests itself, and needs no proxy and no other addresses",
            "leave out --net-proxy and --resolve; rules about paths hold here",
        ));
    }
    if options.isolated {
        return Err(Failure::advised(
            "the file service is no run to isolate",
            "leave out --isolated; a tool has no network, and of the environment the base set",
        ));
    }
    Ok(())
}

/// Warnings about variables in headers whose values are too short to be removed from a tool's responses.
fn guessable(context: &Context, net_env: &Env) -> Vec<String> {
    let is_sent = |name: &&str| net_env.judge(name) == Coverage::Allowed;
    let is_short = |name: &&str| {
        let value = context.variable(OsStr::new(name)).unwrap_or_default();
        !value.is_empty() && value.len() < SHORTEST
    };
    let names = context.variable_names().into_iter().filter(is_sent).filter(is_short);
    let warning = |name| {
        format!(
            "the value of {name} is shorter than {SHORTEST} bytes: a tool sees it in what it gets back"
        )
    };
    names.map(warning).collect()
}

fn init(options: &Options, call: &Call, hosted: &Hosted) -> Init {
    let or_empty = |value: &Option<Value>| value.clone().unwrap_or_else(|| json!({}));
    let mut tool = ToolCall::new(options.tool.clone().unwrap_or_else(|| hosted.name()));
    tool.arguments = or_empty(&call.arguments);
    tool.answers = or_empty(&call.answers);
    tool.options = or_empty(&call.configuration);
    Init::new(tool)
}

fn limits(call: &Call) -> Limits {
    let default = Limits::default();
    Limits {
        idle: call.idle.map_or(default.idle, Duration::from_secs),
        grace: call.grace.map_or(default.grace, Duration::from_secs),
    }
}

/// Prints the outcome. Returns the exit status.
fn conclude(ending: &Ending, is_verbose: bool) -> Result<u8, Failure> {
    match ending {
        Ending::Result(contents) => {
            let text = contents.to_text();
            let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            output::output(&format!("{text}{end}"))?;
            return Ok(0);
        }
        Ending::Failed(error) => {
            output::problem(&format!("the tool failed: {}", error.message));
            error.trace.iter().for_each(|cause| output::problem(&format!("  {cause}")));
        }
        Ending::Died { status, .. } => {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            let more = if is_verbose { "" } else { "; -v says what it was refused" };
            output::problem(&format!("the tool ended without a result{more}"));
            return Ok(code.filter(|code| *code != 0).unwrap_or(1));
        }
        Ending::Hung => output::problem("the tool said nothing for too long, and was ended"),
        Ending::Unanswered(_) => {
            output::problem("the tool asked something that nobody answered, and was ended");
        }
        Ending::Cancelled => return Ok(130),
    }
    Ok(1)
}
