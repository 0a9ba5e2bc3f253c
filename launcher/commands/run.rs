//! Implements `jp-confine -- PROGRAM`: from the options to the program's exit status.

use std::ffi::{OsStr, OsString};
use std::time::{Duration, SystemTime};

use jp_confine_engine::build::View;
use jp_confine_engine::canonical;

use crate::advice::advisor::Advisor;
use crate::advice::nested_launchers::Inner;
use crate::advice::own_temp::NamedFiles;
use crate::advice::path_search;
use crate::advice::person::Person;
use crate::cli::Options;
use crate::commands::run_end::Aftermath;
use crate::compile::prepared::Prepared;
use crate::compile::{self, Run, Stage, image};
use crate::error::Failure;
use crate::host::context::Context;
use crate::host::workspace::Workspace;
use crate::launch::outcome::Ran;
use crate::launch::run_resources::RunResources;
use crate::launch::start::Start;
use crate::launch::terminal_modes::Modes;
use crate::learn::lesson::Lesson;
use crate::network::names;
use crate::output;
use crate::output::event_log::Log;
use crate::plan::Plan;
use crate::prompt::turns::PromptQueue;
use crate::record::denial::{Denial, Record};
use crate::record::denials::Denials;
use crate::record::effort::Effort;
use crate::record::event::RunStart;
use crate::record::lost_records::LostRecords;
use crate::report::exposed_files::Exposed;
use crate::report::why::Ended;
use crate::sys::exit_status::End;
use crate::text::quote;

/// How often the record of denials is read if somebody reads along, or learns.
const WATCHED: Duration = Duration::from_millis(50);

/// The same if nobody does. At the end only the denials since the last time are left to read.
const UNWATCHED: Duration = Duration::from_millis(200);

/// At most this many warnings are shown at the start. The rest are counted.
const WARNINGS: usize = 16;

/// Runs `name` with `arguments` confined, and reports the denials. With a `lesson` it records what the program uses,
/// under the policy without the declared rules.
pub(crate) fn run(
    context: &Context,
    options: &Options,
    name: &OsStr,
    arguments: &[OsString],
    lesson: Option<&mut Lesson>,
) -> Result<Ran, Failure> {
    let workspace = compile::find_workspace(context, options)?;
    let open_log = |target| Log::open(&context.cwd, target);
    let log = options.events.as_ref().map(open_log).transpose()?;
    let log = log.as_ref().inspect(|log| log.start(beginning(context, options, &workspace, name)));
    let ran = run_logged(context, options, (name, arguments), lesson, &workspace, log);
    if let Some(log) = log {
        log.end(ran.as_ref().map_or_else(Failure::status, |ran| ran.end.status()));
    }
    ran
}

/// The first event of a run of `name`.
pub(crate) fn beginning(
    context: &Context,
    options: &Options,
    workspace: &Workspace,
    name: &OsStr,
) -> RunStart {
    RunStart {
        program: name.to_string_lossy().into_owned(),
        directory: context.cwd.to_string_lossy().into_owned(),
        workspace: workspace.root.to_string_lossy().into_owned(),
        tool: options.tool.clone(),
        enforce: options.enforce.unwrap_or_default().name(),
        ..RunStart::default()
    }
}

/// The same, with a log that has the first event.
fn run_logged(
    context: &Context,
    options: &Options,
    (name, arguments): (&OsStr, &[OsString]),
    mut lesson: Option<&mut Lesson>,
    workspace: &Workspace,
    log: Option<&Log>,
) -> Result<Ran, Failure> {
    let began = SystemTime::now();
    let memory = canonical::remember();
    let premises = RunResources::make(context, options)?;
    let parts = Run { log, learning: lesson.is_some(), ..premises.parts() };
    let mut prepared =
        compile::prepare(context, workspace, options, Some(name), Stage::Run(parts))?;
    let (told, noted) = (premises.scratch.open_told()?, premises.scratch.open_denials()?);
    let recording = lesson.as_ref().map(|lesson| lesson.recording()).transpose()?;
    let start = Start {
        context,
        options,
        name,
        arguments,
        premises: &premises,
        lesson: recording.as_ref(),
    };
    let modes = Modes::of_job();
    let mut exposed = None;
    // This costs no time, since nobody waits for it yet.
    let meanwhile = |prepared: &Prepared, goes_on: &dyn Fn() -> bool| {
        premises.scratch.sweep();
        let tiers = prepared.exposed.as_ref().filter(|_| tells_exposed(options, &premises));
        exposed = tiers.map(|tiers| Exposed::of(&workspace.root, tiers, goes_on));
    };
    let announced = |prepared: &Prepared, plan: &Plan| announce(options, prepared, plan, log);
    let started = start.run(&mut prepared, memory, announced, meanwhile);

    let image = image::parse_image(&prepared.image)?;
    let unsupervised = start.unsupervised();
    let alone = (!image.behind().supervisor).then_some(unsupervised);
    // There are no prompts if no tier asks.
    let person = if prepared.tiers.is_empty() {
        Person::Absent
    } else {
        Person::present(&PromptQueue::of_run(context, options), options.non_interactive, alone)
    };
    let advisor = Advisor::of(context, &prepared, &image);
    let advisor = Advisor { person, unsupervised, began: Some(began), ..advisor };
    let mut denials = Denials::default();
    let mut inner = Inner::of(context);
    let mut take = |denial: Denial| {
        if let Some(log) = log {
            log.denial(&denial, advisor);
        }
        // Some denials are not reported: those of a resolver that finds no service, of operations that fail in any
        // case, and of a nested launcher's own lookups.
        let is_news = !names::is_service(&denial.path)
            && !path_search::finds_elsewhere(context, &denial)
            && !path_search::stays_in_any_case(workspace, &denial)
            && !inner.looks_up_its_own(&denial);
        if is_news {
            denials.add(denial);
        }
    };
    let aftermath = Aftermath { context, options, workspace, premises: &premises };
    let mut running = match started {
        Ok(running) => running,
        Err(failure) => {
            if let Some(denial) = failure.denial() {
                take(denial.clone());
                let status = failure.status();
                let denials = &denials;
                let ended = Ended { name, arguments, status, denials, advisor, missed: &[] };
                aftermath.tell(&ended, false);
            }
            return Err(failure);
        }
    };
    let mut record = Record::new(if running.is_supervised() { told } else { noted });
    let is_watched = log.is_some() || lesson.is_some();
    let mut watch = || {
        // A denial that cannot be read now is read at the end, or is reported as lost there.
        let _ = record.drain(&mut take);
        if let Some(log) = log {
            log.deliver();
        }
        if let Some(lesson) = &mut lesson {
            lesson.look();
        }
    };
    let end = running.wait(if is_watched { WATCHED } else { UNWATCHED }, &mut watch);
    if let Some(modes) = modes.filter(|_| !matches!(end, Ok(End::Exited(_)))) {
        modes.restore(&PromptQueue::of_run(context, options));
    }
    lesson.map(Lesson::end).transpose()?;
    // Denials from before the supervisor was killed are valid, too.
    let end = end.map_err(|error| Failure::own(format!("waiting failed: {error}")));
    let status = end.as_ref().map_or_else(Failure::status, |end| end.status());
    let lost = record.drain(&mut take).is_err();
    let named = NamedFiles::find(&image, &context.cwd, arguments);
    named.denials(&image, name, status).into_iter().for_each(&mut take);
    denials.gap = if lost { Some(LostRecords::Damaged) } else { record.gap(running.unrecorded()) };
    if let (Some(log), Some(gap)) = (log, denials.gap) {
        log.warning(&gap.to_string());
    }
    for (times, what) in running.answered() {
        output::note(&format!("the supervisor answered {times}: {what}"));
    }
    denials.effort = Some(Effort::begin());
    let advisor = Advisor { person: person.to_the_end(), denials: Some(&denials), ..advisor };
    let missed = prepared.environment.missed(&context.environment, status);
    let ended = Ended { name, arguments, status, denials: &denials, advisor, missed: &missed };
    let lost = named.lost().filter(|_| !options.quiet && !options.service);
    let exposed = exposed.and_then(|exposed| exposed.warning(&image));
    exposed.iter().chain(&lost).for_each(|warning| output::warning(warning));
    aftermath.tell(&ended, true);
    Ok(Ran { end: end?, prepared, denials })
}

/// Whether to look for sensitive files, for a warning. Not for a tool that gets this standard error. Not inside a run:
/// a lookup might be denied, and that run looks itself.
fn tells_exposed(options: &Options, premises: &RunResources) -> bool {
    !options.quiet && !options.service && premises.outer.is_none()
}

/// Shows the warnings: as many as people read, or `all`.
fn warn(warnings: &[String], all: bool) {
    let shown = if all { warnings.len() } else { WARNINGS };
    warnings.iter().take(shown).for_each(|warning| output::warning(warning));
    if let Some(more) = warnings.len().checked_sub(shown).filter(|&more| more > 0) {
        output::warning(&format!("{more} more warnings: -v shows them"));
    }
}

/// Prints the messages before the program starts.
fn announce(options: &Options, prepared: &Prepared, plan: &Plan, log: Option<&Log>) {
    // The person who started the service saw these there. Here the tool gets standard error.
    if !options.quiet && !options.service {
        warn(&prepared.warnings, options.verbose);
        if let Some(weaker) = &plan.weaker {
            output::warning(weaker);
        }
    }
    if options.verbose {
        output::note(&format!("workspace {}", prepared.root.as_path().display()));
        let profiles = match prepared.profiles.as_slice() {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        output::note(&format!("profiles: {profiles}"));
        let files = if prepared.declared { "by access.fs" } else { "everything inside" };
        output::note(&format!("workspace access: {files}"));
        for View { place, backing } in &prepared.views {
            let [place, backing] = [place, backing].map(|path| quote::place(path));
            output::note(&format!("view: {place} shows {backing}"));
        }
        for holder in &plan.holders {
            output::note(&format!("{} is held by: {}", holder.capability, holder.layers()));
        }
        if let Some(network) = plan.network {
            output::note(&format!("net is held by: {network}"));
        }
        for note in &plan.notes {
            output::note(note);
        }
    }
    if let Some(log) = log {
        for holder in plan.holders {
            log.layer(holder);
        }
        if let Some(network) = plan.network {
            log.network(network);
        }
        for warning in &prepared.warnings {
            log.warning(warning);
        }
    }
}
