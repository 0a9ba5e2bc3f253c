//! Defines the options that every command takes.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, ColorChoice, ValueEnum, ValueHint};

use super::profile_names::ProfileNames;
use crate::cli::host::HostOptions;
use crate::cli::mount::{MountOption, Unmount};
use crate::config::environment::EnvOption;
use crate::config::policy_files::Named;
use crate::config::written_view::WrittenView;
use crate::output::event_target::EventTarget;

/// How far enforcement must reach (spec §18).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Enforce {
    /// The preload library alone: precise, but a program can avoid it
    Cooperative,
    /// With the kernel behind it
    #[default]
    Layered,
    /// Kernel decisions only
    Strict,
}

impl Enforce {
    /// Its name as a value of the option.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cooperative => "cooperative",
            Self::Layered => "layered",
            Self::Strict => "strict",
        }
    }
}

/// Which caches the tools of a run have (spec §12.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheMode {
    /// The workspace's own
    #[default]
    Own,
    /// The user's own, which unconfined programs use, too
    Shared,
    /// None: tools' caches look absent
    None,
}

impl CacheMode {
    /// Its name as a value of the option.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Shared => "shared",
            Self::None => "none",
        }
    }
}

// No `///` here: clap would make it the description of each command that the struct is flattened into.
#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one switch of the command line")]
pub(crate) struct Options {
    /// Workspace root [default: nearest directory upwards with jp-confine.toml or .git, else here]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Policy file, TOML or JSON; repeatable, later ones on top
    #[arg(short, long = "policy", value_name = "FILE")]
    pub(crate) policies: Vec<PathBuf>,
    /// Take the workspace and the rules from a host's Context, as JSON; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "workspace")]
    #[arg(hide_short_help = true)]
    pub(crate) context: Option<PathBuf>,
    /// A Context that standard input had.
    #[arg(skip)]
    pub(crate) received: Option<Vec<u8>>,
    /// Apply [tools.NAME] of the policy
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other)]
    #[arg(hide_short_help = true)]
    pub(crate) tool: Option<String>,
    /// Grant read
    #[arg(short, long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// Grant read, create, update and delete
    #[arg(short, long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,
    /// Grant read and execute
    #[arg(short = 'x', long, value_name = "PATH")]
    pub(crate) exec: Vec<PathBuf>,
    /// Deny everything there and below, except what other options grant
    #[arg(long, value_name = "PATH")]
    pub(crate) deny: Vec<PathBuf>,
    /// Let this run change auto-run files that match, as `.vscode/tasks.json` or `.git/hooks/**`
    #[arg(long = "allow-autorun", value_name = "GLOB", value_hint = ValueHint::FilePath)]
    #[arg(hide_short_help = true)]
    pub(crate) allow_autorun: Vec<String>,
    /// Link a path outside the workspace as NAME and grant it for this run; the symlink stays
    #[arg(long = "mount", value_name = "[TOOL:]NAME=PATH[:ro|rw]")]
    #[arg(value_parser = OsStringValueParser::new().try_map(|word| MountOption::parse(&word)))]
    #[arg(hide_short_help = true)]
    pub(crate) mounts: Vec<MountOption>,
    /// Remove such a symlink with its rules and approval; without NAME all of them
    #[arg(long = "no-mount", value_name = "NAME", num_args = 0..=1)]
    #[arg(default_missing_value = Unmount::ALL)]
    #[arg(value_parser = OsStringValueParser::new().try_map(|word| Unmount::parse(&word)))]
    #[arg(hide_short_help = true)]
    pub(crate) no_mounts: Vec<Unmount>,
    /// Show the directory TO to programs that name FROM, and grant it
    #[arg(long = "view", value_name = "FROM=TO[:ro|rw]")]
    #[arg(value_parser = OsStringValueParser::new().try_map(|word| WrittenView::parse(&word)))]
    #[arg(hide_short_help = true)]
    pub(crate) views: Vec<WrittenView>,
    /// Caches that tools fill [default: own]
    #[arg(long = "cache", value_name = "CACHES")]
    #[arg(hide_short_help = true)]
    pub(crate) caches: Option<CacheMode>,
    /// Use this profile instead of those chosen by the program's name; `none` for no profile
    #[arg(long = "profile", value_name = "NAME")]
    #[arg(value_parser = ProfileNames, hide_possible_values = true)]
    #[arg(hide_short_help = true)]
    pub(crate) profiles: Vec<String>,
    /// Leave out the built-in grants on system directories, devices and /proc
    #[arg(long)]
    #[arg(hide_short_help = true)]
    pub(crate) no_baseline: bool,
    /// Grant the host's /tmp instead of a private directory
    #[arg(long)]
    #[arg(hide_short_help = true)]
    pub(crate) share_tmp: bool,
    /// Which hosts the program may connect to
    #[command(flatten)]
    pub(crate) hosts: HostOptions,
    /// No network: allow only local sockets
    #[arg(long)]
    pub(crate) no_net: bool,
    /// Pass a variable on, or all with a prefix (`AWS_*`), or set one; then only these and the base set
    /// are passed on
    #[arg(long, value_name = "NAME[=VALUE]")]
    #[arg(value_parser = OsStringValueParser::new().try_map(|word| EnvOption::parse(&word)))]
    pub(crate) env: Vec<EnvOption>,
    /// No network, and only the base set of variables, except what other options grant
    #[arg(long)]
    #[arg(hide_short_help = true)]
    pub(crate) isolated: bool,
    /// Answer EACCES, never ENOENT: nothing is hidden
    #[arg(long)]
    #[arg(hide_short_help = true)]
    pub(crate) show_denied: bool,
    /// Layers that must enforce the policy [default: layered]
    #[arg(long, value_name = "LAYERS")]
    #[arg(hide_short_help = true)]
    pub(crate) enforce: Option<Enforce>,
    /// End processes that the program leaves running, instead of waiting for them
    #[arg(long)]
    #[arg(hide_short_help = true)]
    pub(crate) kill_leftovers: bool,
    /// Without a terminal, too, wait for processes that the program leaves running, not only for 10 s
    #[arg(long, conflicts_with = "kill_leftovers")]
    #[arg(hide_short_help = true)]
    pub(crate) wait_leftovers: bool,
    /// Never prompt
    #[arg(long)]
    pub(crate) non_interactive: bool,
    /// Append one JSON line for each denial, warning and layer decision; FILE may be unix:SOCKET, on which a collector
    /// or the journal listens, or fd:N
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(value_parser = OsStringValueParser::new().try_map(|word| EventTarget::parse(&word)))]
    #[arg(hide_short_help = true)]
    pub(crate) events: Option<EventTarget>,
    /// Show what a run would grant, and run nothing; with -v the layers, with --json all of it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Whether that is JSON. Commands have this option of their own.
    #[arg(skip)]
    pub(crate) dry_run_json: bool,
    /// By the file service's rules, for what it starts for a tool after judging it
    #[arg(long, hide = true)]
    pub(crate) service: bool,
    /// For a tool that the file service hosts: there is no access to advise
    #[arg(long, hide = true)]
    pub(crate) hosted: bool,
    /// For the same: what is hidden in place of its home, which is an empty folder
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) hidden: Option<PathBuf>,
    /// For the same: the file by which turns at its host's terminal are taken
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) turns: Option<PathBuf>,
    /// For what the file service starts: the process whose end is the run's
    #[arg(long, value_name = "PID", hide = true)]
    pub(crate) host: Option<i32>,
    /// When to use colours [default: on a terminal]
    #[arg(long, value_name = "WHEN", hide_short_help = true)]
    pub(crate) color: Option<ColorChoice>,
    /// No warnings and no report of denials
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print the choices that jp-confine makes
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

impl Options {
    /// Whether the program may create local sockets only.
    pub(crate) const fn has_no_network(&self) -> bool {
        self.no_net || self.isolated
    }

    /// The policies that are named.
    pub(crate) fn named_policies(&self) -> Named<'_> {
        Named { context: self.received.as_deref(), files: &self.policies }
    }

    /// Merges the options before the subcommand's name with the `later` ones after it. Lists are joined in order.
    /// Of two single values the later counts.
    pub(super) fn then(mut self, later: Self) -> Self {
        self.policies.extend(later.policies);
        self.read.extend(later.read);
        self.write.extend(later.write);
        self.exec.extend(later.exec);
        self.deny.extend(later.deny);
        self.allow_autorun.extend(later.allow_autorun);
        self.mounts.extend(later.mounts);
        self.no_mounts.extend(later.no_mounts);
        self.views.extend(later.views);
        self.profiles.extend(later.profiles);
        self.env.extend(later.env);
        Self {
            workspace: later.workspace.or(self.workspace),
            context: later.context.or(self.context),
            tool: later.tool.or(self.tool),
            enforce: later.enforce.or(self.enforce),
            caches: later.caches.or(self.caches),
            hidden: later.hidden.or(self.hidden),
            turns: later.turns.or(self.turns),
            host: later.host.or(self.host),
            events: later.events.or(self.events),
            color: later.color.or(self.color),
            no_baseline: self.no_baseline | later.no_baseline,
            share_tmp: self.share_tmp | later.share_tmp,
            show_denied: self.show_denied | later.show_denied,
            hosts: self.hosts.then(later.hosts),
            no_net: self.no_net | later.no_net,
            isolated: self.isolated | later.isolated,
            non_interactive: self.non_interactive | later.non_interactive,
            kill_leftovers: self.kill_leftovers | later.kill_leftovers,
            wait_leftovers: self.wait_leftovers | later.wait_leftovers,
            dry_run: self.dry_run | later.dry_run,
            service: self.service | later.service,
            hosted: self.hosted | later.hosted,
            quiet: self.quiet | later.quiet,
            verbose: self.verbose | later.verbose,
            ..self
        }
    }
}
