//! Compiles the command line and the policy files into a policy that can be sealed. This happens before anything runs,
//! and is all that `check`, `explain` and `compile` need.

pub(crate) mod builtin_grants;
pub(crate) mod caches;
pub(crate) mod device_nodes;
pub(crate) mod external_rules;
pub(crate) mod grants;
pub(crate) mod image;
pub(crate) mod json;
pub(crate) mod led_path;
mod outer_views;
pub(crate) mod planted_links;
pub(crate) mod prepared;
pub(crate) mod private_files;
pub(crate) mod profiles;
pub(crate) mod programs;
mod purpose;
pub(crate) mod second_mounts;
mod seeding;
pub(crate) mod tiers;
mod typed_program;
pub(crate) mod views;

use std::ffi::OsStr;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Beyond, Grant, ImageSpec, Volume};
use jp_confine_engine::canonical::{self, Root};
use jp_confine_engine::case;
use jp_confine_engine::commands::Listed;
use jp_confine_engine::compile::Compiled;
use jp_confine_engine::resources::{Resources, Written};
use jp_confine_engine::tiers::Tiers;
use jp_confine_engine::warning::{self, Warning};

use crate::cli::{Enforce, Options};
use crate::compile::builtin_grants::ReadyMade;
use crate::compile::grants::{Flags, Parts};
use crate::compile::image::{build_image, parse_image};
use crate::compile::json::WireForm;
use crate::compile::prepared::Prepared;
use crate::compile::profiles::Resolved;
use crate::compile::second_mounts::{Ground, SecondMounts};
use crate::compile::tiers::{TierGrants, TierLayer};
use crate::compile::views::Views;
use crate::config::edit::rule_places::RulePlaces;
use crate::config::environment::Environment;
use crate::config::layers::Layers;
use crate::error::Failure;
use crate::external::control_paths;
use crate::external::mounts::MountRequest;
use crate::host::context::Context;
use crate::host::data_dirs;
use crate::host::invocation::CommandHint;
use crate::host::machine::Machine;
use crate::host::workspace::{self, Workspace};
use crate::network;
use crate::plan::{Plan, PlanInput};
use crate::sys::landlock_bounds::LandlockRule;
use crate::sys::mount_table::{MountTable, ParsedMounts};
use crate::text::quote;
pub(crate) use purpose::{Run, Stage};

/// Loads, compiles and assembles the policy for running `program`, if a program will run.
pub(crate) fn prepare(
    context: &Context,
    workspace: &Workspace,
    options: &Options,
    program: Option<&OsStr>,
    stage: Stage<'_>,
) -> Result<Prepared, Failure> {
    let (run, log, _memory) = (stage.run(), stage.log(), canonical::remember());
    let root = workspace.opened()?;
    let mut layers = Layers::load(context, &workspace.root, options.named_policies())?;
    if !options.service {
        // A query about a tool is also allowed if the file service will host the tool.
        layers.refuse_unheld(options.tool.as_deref().filter(|_| program.is_some()))?;
    }
    let (written, resources, resource_warnings) = beyond_files(&layers, options)?;
    let is_learning = run.is_some_and(|run| run.learning);
    let network = network(options, &resources, is_learning);
    let held = Held::of(context, workspace, options, &written, &resources)?;
    let rule_places = rule_places(&layers, options);
    let declared = layers.declared(options.tool.as_deref())?;
    let (declared, set_aside) = declared.counting(is_learning.then_some(&root));
    let asked = MountRequest { context, workspace, root: &root, options, log };
    let outcome = external_rules::compile(&asked, &layers, declared, stage.purpose())?;
    let Compiled { grants: rules, unapproved, rules: wire, warnings } =
        counting(outcome.compiled, options.service && !outcome.declared);

    let ready_made = ReadyMade::pick(context, workspace, options, &layers, program, stage)?;
    let ReadyMade { mut tables, profiles, folders, caches } =
        ready_made.reaching(network.without().is_none());
    let mut flags = Flags::resolve(context, options)?;
    let views = views(&asked, stage, &rules, (&mut tables, &mut flags))?;

    let granted = TierGrants::of(outcome.declared, outcome.only_mounts, flags.grant(), &tables);
    let TierLayer { mut tiers, exposed, warnings: of_tiers } =
        TierLayer::of(&asked, &layers, granted, stage.purpose())?;
    let table = MountTable::read();
    let mounts = table.mounts();
    let mut control = control(context, &root, &layers, workspace, stage);
    let mounted = SecondMounts::of(&mounts, &mut control, &mut tiers);
    let (mut grants, mut left_out) = Parts {
        context,
        workspace,
        options,
        tables: &tables,
        flags: &flags,
        views: &views,
        tiers: &tiers,
        rules,
        temp: run.and_then(|run| run.scratch.temp()),
        shim: run.and_then(|run| run.shim.parent()),
        control,
    }
    .assemble()?;
    left_out.extend(planted_links::distrust(&mut tiers, &grants, root.as_path())?);
    let ground = Ground { tiers: &tiers, exposed: exposed.as_ref(), workspace: root.as_path() };
    let unusual = mounted.hold(context, ground, &mut grants, &mut left_out)?;
    grants.extend(grants::inherited(context, &grants, root.as_path())?);
    let volumes = volumes(&mounts, &grants, &tiers, root.as_path());
    let image = build_image(&ImageSpec {
        grants: &grants,
        tiers: (!tiers.is_empty()).then_some(&tiers),
        volumes: &volumes,
        beyond: held.beyond(),
        aliases: &grants::aliases(workspace, &tables),
        views: &outer_views::with_outer(&context.outer_views, &views.of_image(), &grants),
        session: RandomState::new().build_hasher().finish(),
        json: WireForm::of(&wire, &written, &held.environment).text()?.as_bytes(),
        ..of_run(run, root.as_path())
    })?;

    views.make_backings(stage, context.canonical_home.as_deref())?;
    make_folders(context, stage.begins(options), &root, &image, &folders)?;

    let of_grants = of_grants(&grants, &tiers, root.as_path());
    Ok(Prepared {
        root,
        here: workspace.here.clone(),
        grants,
        unapproved,
        mounts: outcome.idle,
        declared: outcome.declared,
        image,
        views: views.shown(),
        tiers,
        added: layers.added_patterns(options.tool.as_deref()),
        rule_places,
        set_aside,
        workspace_file: layers.workspace_file().cloned(),
        own_lists: layers.own_lists(context, options.tool.as_deref(), &profiles),
        exposed,
        rules: wire,
        resources,
        network,
        written,
        environment: held.environment,
        commands: held.commands,
        private_temp: run.and_then(|run| run.scratch.temp()).map(Path::to_owned),
        warnings: outcome
            .warnings
            .into_iter()
            .chain(resource_warnings.iter().map(ToString::to_string).chain(held.warnings))
            .chain(uncounted(&layers, options, outcome.declared || is_learning))
            .chain(warnings.into_iter().chain(of_grants).map(|it| told(&it, &workspace.here)))
            .chain(flags.warnings.into_iter().chain(left_out).chain(caches.warning.clone()))
            .chain(of_tiers.into_iter().chain(ignored_case(&volumes)))
            .chain(lent(&layers, options, context, stage))
            .collect(),
        caches,
        profiles,
        made: outcome.made,
        unusual,
    })
}

/// The views of profiles and options, with their effect on the grants of both.
fn views(
    asked: &MountRequest<'_>,
    stage: Stage<'_>,
    rules: &[Grant],
    (tables, flags): (&mut Vec<Resolved>, &mut Flags),
) -> Result<Views, Failure> {
    let &MountRequest { context, root, options, .. } = asked;
    let is_granted = |place: &Path| flags.grant_at(|path| path == place);
    let views = Views::resolve(context, root.as_path(), options, tables, is_granted)?;
    views.apply(tables);
    flags.add_views(&views);
    if !stage.has_own_temp(options) {
        return Ok(views);
    }
    let temp = stage.run().and_then(|run| run.scratch.temp());
    let real = |place: &Path| context.outer_views.real(place.to_owned());
    Ok(views.with_private(temp, |place| is_kept(&real(place), flags, tables, rules)))
}

/// Whether the real files at `place` are meant: somebody wrote about the place itself, or lets the run create files
/// around it. This includes the workspace.
fn is_kept(place: &Path, flags: &Flags, tables: &[Resolved], rules: &[Grant]) -> bool {
    let of_persons = tables.iter().filter(|table| table.own).flat_map(|table| &table.grants);
    let written = of_persons.chain(rules).map(|grant| (grant.anchor.as_path(), grant.caps));
    written.chain(flags.at_paths()).any(|(anchor, caps)| {
        anchor == place || caps.contains(Capabilities::CREATE) && place.starts_with(anchor)
    })
}

/// The launcher's own files and directories, each with its purpose.
fn control(
    context: &Context,
    root: &Root,
    layers: &Layers,
    workspace: &Workspace,
    stage: Stage<'_>,
) -> Vec<(PathBuf, String)> {
    let mut control = control_paths::control(context, root, &layers.policy_files);
    control.extend(workspace.kept().into_iter().chain(stage.control()));
    control
}

/// The rules that count for a tool that is `served` without any: those that let it read.
fn counting(compiled: Compiled, served: bool) -> Compiled {
    if served { compiled.for_service() } else { compiled }
}

/// A warning about rules for tools that do not count, unless some rules are `counted`.
fn uncounted(layers: &Layers, options: &Options, counted: bool) -> Option<String> {
    if counted { None } else { layers.uncounted(options.tool.as_deref(), options.service) }
}

/// Warnings about variables that the file service passes on to its tools.
fn lent(layers: &Layers, options: &Options, context: &Context, stage: Stage<'_>) -> Vec<String> {
    match stage {
        Stage::Service { .. } => layers.lent(options.tool.as_deref(), &context.variable_names()),
        _ => Vec::new(),
    }
}

/// If a program begins, creates directories that must exist before: the launcher's own, and `builds` in the workspace.
fn make_folders(
    context: &Context,
    begins: bool,
    root: &Root,
    image: &[u8],
    builds: &[String],
) -> Result<(), Failure> {
    if begins {
        let image = parse_image(image)?;
        data_dirs::make_where_reachable(context, &image)?;
        builtin_grants::make_in_workspace(root, &image, builds);
    }
    Ok(())
}

/// A warning, with the command that approves the rule if it is meant.
fn told(warning: &Warning, here: &CommandHint) -> String {
    match warning.approvable() {
        Some(rule) => {
            let told = quote::path(&warning.to_string());
            format!("{told}; if it is meant: {}", here.approval(rule))
        }
        None => warning.to_string(),
    }
}

/// The image's paths for a run in the canonical `workspace`.
fn of_run<'a>(run: Option<Run<'a>>, workspace: &'a Path) -> ImageSpec<'a> {
    ImageSpec {
        shim_path: run.map_or(nowhere(), |run| run.shim),
        events_path: run.map_or(nowhere(), |run| run.scratch.denials()),
        temp_dir: run.map_or(nowhere(), |run| run.temp),
        shared_page: run.map_or(nowhere(), |run| &run.page.path),
        ..ImageSpec::to_ask(&[], workspace)
    }
}

/// Warnings about grants that may not mean what a person intended.
fn of_grants(grants: &[Grant], tiers: &Tiers, root: &Path) -> Vec<Warning> {
    let mut warnings: Vec<_> = warning::covered_baseline(grants).into_iter().collect();
    warnings.extend(warning::named(grants, tiers, root));
    warnings
}

/// The network access that rules and options give.
fn network(
    options: &Options,
    resources: &Resources,
    is_learning: bool,
) -> network::access::NetworkAccess {
    let network = network::access::NetworkAccess::of(options, &resources.net);
    if is_learning { network.watched(options) } else { network }
}

/// Volumes on which names that differ only in case are equal.
fn volumes(mounts: &ParsedMounts<'_>, grants: &[Grant], tiers: &Tiers, root: &Path) -> Vec<Volume> {
    let in_force = (!tiers.is_empty()).then_some(tiers);
    case::volumes(grants, in_force, root, mounts.places())
}

/// A warning about such volumes, with the consequences.
fn ignored_case(volumes: &[Volume]) -> Option<String> {
    let places = volumes.iter().map(|volume| quote::path(&volume.root.to_string_lossy()));
    let places = places.collect::<Vec<_>>().join(", ");
    (!volumes.is_empty()).then(|| {
        format!(
            "{places}: the file system ignores case, so what is denied there is denied in every spelling; what is \
             granted is granted as it is written"
        )
    })
}

/// A placeholder for paths that only a run has.
fn nowhere() -> &'static Path {
    Path::new("/")
}

/// The rules of files and options about hosts, variables and programs, with warnings.
fn beyond_files(
    layers: &Layers,
    options: &Options,
) -> Result<(Written, Resources, Vec<Warning>), Failure> {
    let (mut written, warnings) = layers.resources(options.tool.as_deref());
    written.net = network::access::rules(options, written.net);
    if options.isolated {
        // Variables granted by files do not count, because `--isolated` was typed.
        written.env.retain(|rule| !rule.read);
    }
    written.env.extend(options.env.iter().enumerate().map(|(index, env)| env.rule(index)));
    let resources = written.compile().map_err(|error| Failure::own(error.to_string()))?;
    Ok((written, resources, warnings))
}

/// The places for new rules that would count for a run with these options.
fn rule_places(layers: &Layers, options: &Options) -> RulePlaces {
    let with_hosts = network::access::files_count(options);
    layers.rule_places(options.tool.as_deref(), with_hosts, !options.isolated)
}

/// The rules of a run besides those for files. For programs that the file service starts, the service has already
/// applied them.
#[derive(Debug, Default)]
struct Held {
    environment: Environment,
    commands: Option<Vec<Listed>>,
    warnings: Vec<String>,
}

impl Held {
    fn of(
        context: &Context,
        workspace: &Workspace,
        options: &Options,
        written: &Written,
        resources: &Resources,
    ) -> Result<Self, Failure> {
        if options.service {
            return Ok(Self::default());
        }
        let rules = resources.env.clone();
        let is_declared = options.isolated || rules.is_declared();
        let find = |it| programs::find(context, &workspace.root, it);
        let (commands, warnings) = written.commands.as_ref().map(find).transpose()?.unzip();
        Ok(Self {
            environment: Environment { rules, is_declared },
            commands,
            warnings: warnings.unwrap_or_default(),
        })
    }

    fn beyond(&self) -> Beyond<'_> {
        Beyond { env: Some(&self.environment.rules), commands: self.commands.as_deref() }
    }
}

/// The workspace that the options select.
pub(crate) fn find_workspace(context: &Context, options: &Options) -> Result<Workspace, Failure> {
    let _memory = canonical::remember();
    workspace::find(context, options.workspace.as_deref())
}

impl Prepared {
    /// The plan: which layer holds which part of this policy on this machine. `own` are the rules that the product
    /// itself needs inside the run.
    pub(crate) fn plan(
        &self,
        context: &Context,
        machine: Machine,
        enforce: Enforce,
        own: &[LandlockRule],
    ) -> Result<Plan, Failure> {
        let image = parse_image(&self.image)?;
        let mut plan = Plan::of(&PlanInput {
            grants: &self.grants,
            image: &image,
            tiers: &self.tiers,
            workspace: self.root.as_path(),
            own,
            user: rustix::process::geteuid(),
            machine,
            enforce,
            judges_network: self.network.is_judged(),
            lists_programs: self.commands.is_some(),
            has_devices: self.unusual.device.is_some(),
            kernel_mounts: &self.unusual.mounts,
            own_caches: self.caches.directory.as_deref(),
        })?;
        plan.notes.extend(self.environment.note(&context.environment));
        plan.notes.extend(programs::notes(self.commands.as_deref().unwrap_or_default(), &image));
        Ok(plan)
    }
}
