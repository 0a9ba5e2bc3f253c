//! `jp-confine -- PROGRAM`: from the options to the program's exit status.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use jp_confine_policy::Capability;

use crate::cli::Options;
use crate::context::Context;
use crate::events::{Denial, Record};
use crate::failure::Failure;
use crate::log::Log;
use crate::prepare::{self, Prepared, Run};
use crate::report::{self, Circumstances, Denials};
use crate::scratch::Scratch;
use crate::seal::{self, SharedPage};
use crate::supervise::Confined;
use crate::{install, program};

/// Runs `name` with `arguments` confined, and returns the exit status that says how it ended.
pub(crate) fn run(
    context: &Context,
    options: &Options,
    name: &OsStr,
    arguments: &[OsString],
) -> Result<u8, Failure> {
    prepare::require_layers(options.enforce)?;
    let workspace = prepare::find_workspace(context, options)?;
    let mut log = match &options.events {
        Some(path) => Some(Log::open(context, &workspace.root, path)?),
        None => None,
    };
    let scratch = Scratch::new(&context.temp, options.share_tmp)
        .map_err(|error| no_scratch(context, &error))?;
    let shim = install::ensure(context)
        .map_err(|error| Failure::own(format!("the preload library cannot be written: {error}")))?;
    let own = |error: std::io::Error| Failure::own(format!("nothing was run: {error}"));
    let page = SharedPage::new().map_err(own)?;
    let events = log.as_ref().map(|log| log.path.clone());
    let temp = scratch.temp().unwrap_or(&context.temp);
    let parts =
        Run { scratch: &scratch, shim: &shim, page: &page, temp, events: events.as_deref() };
    let prepared = prepare::prepare(context, &workspace, options, Some(name), Some(parts))?;
    announce(options, &prepared, log.as_mut());

    let image = prepare::parse_image(&prepared.image)?;
    let file = program::find(context, name, &image, &prepared.grants)?;
    let mut record = Record::new(scratch.open_denials().map_err(own)?);
    let sealed = seal::seal(&prepared.image).map_err(own)?;
    let handles = [&sealed, &page.file];
    let confined = Confined { file: &file, name, arguments, shim: &shim, handles, temp };
    let running = confined.start(context)?;
    // Now, when it costs no time: the program has only begun.
    scratch.sweep();

    let mut denials = Denials::default();
    let mut take = |denial: Denial, log: Option<&mut Log>| {
        if let Some(log) = log {
            log.denial(&denial, &prepared.grants);
        }
        denials.add(denial);
    };
    let status = if log.is_some() {
        let mut watch = || {
            // What cannot be read now is read at the end, or reported as lost there.
            let _ = record.drain(|denial| take(denial, log.as_mut()));
        };
        running.wait(Some(&mut watch))
    } else {
        running.wait(None)
    };
    let status = status.map_err(|error| Failure::own(format!("waiting failed: {error}")))?;
    let lost = record.drain(|denial| take(denial, log.as_mut())).is_err();
    let damaged = record.damaged || lost;
    if !options.quiet {
        conclude(options, &prepared, &denials, workspace.root.as_path(), damaged);
    }
    Ok(status)
}

fn no_scratch(context: &Context, error: &std::io::Error) -> Failure {
    let dir = context.temp.display();
    Failure::advised(
        format!("no temporary files can be made in {dir}: {error}"),
        "set TMPDIR to a directory that you may write to",
    )
}

/// What is to say before the program starts.
fn announce(options: &Options, prepared: &Prepared, log: Option<&mut Log>) {
    if !options.quiet {
        for warning in &prepared.warnings {
            report::warning(warning);
        }
    }
    if options.verbose {
        report::note(&format!("workspace {}", prepared.root.as_path().display()));
        let profiles = match prepared.profiles.as_slice() {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        report::note(&format!("profiles: {profiles}"));
        let files = if prepared.declared { "by access.fs" } else { "everything inside" };
        report::note(&format!("workspace access: {files}; held by: shim (cooperative)"));
    }
    if let Some(log) = log {
        for capability in Capability::ALL {
            log.layer(capability);
        }
        for warning in &prepared.warnings {
            log.warning(warning);
        }
    }
}

fn conclude(
    options: &Options,
    prepared: &Prepared,
    denials: &Denials,
    workspace: &Path,
    damaged: bool,
) {
    report::denials(
        denials,
        Circumstances {
            grants: &prepared.grants,
            workspace,
            declared: prepared.declared,
            logged: options.events.is_some(),
            verbose: options.verbose,
            damaged,
        },
    );
}
