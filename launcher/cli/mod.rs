//! Parses the command line. Syntax only: nothing here looks at a file or knows a default that depends on the machine.

mod command;
mod further;
pub(crate) mod host;
mod missing_separator;
pub(crate) mod mount;
mod options;
mod profile_names;
mod topics;
mod usage_error;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use self::command::{
    AccessRequest, Approvals, Beyond, Cache, Call, Command, LearnOptions, Mounts, PlanFormat,
    Profiles, Request, Topic, Which,
};
use self::further::Further;
use self::mount::{MountOption, Unmount};
pub(crate) use self::options::{CacheMode, Enforce, Options};
use self::profile_names::ProfileNames;
use self::topics::Topics;

/// Run a program so that it touches only what a path policy grants.
#[derive(Debug, Parser)]
#[command(
    name = "jp-confine",
    version,
    override_usage = "jp-confine [OPTIONS] -- PROGRAM [ARGS]...\n       \
                      jp-confine [OPTIONS] COMMAND ...",
    subcommand_negates_reqs = true,
    arg_required_else_help = true,
    max_term_width = 80,
    after_help = "Example: jp-confine -- cargo build",
    after_long_help = "Exit status: the program's own; 128+N if signal N ended it; 125 jp-confine \
                       failed and nothing was run; 126 the program may not be executed; 127 not found."
)]
pub(crate) struct Line {
    #[command(flatten)]
    options: Options,

    /// With --dry-run: print the compiled policy and the plan as JSON
    #[arg(long, requires = "dry_run")]
    json: bool,

    #[command(subcommand)]
    command: Option<Sub>,

    /// The program to run confined, and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
// Builds a subcommand's options only when it is used: most runs use none.
#[command(defer = true)]
enum Sub {
    /// Check whether a tool may use workspace paths, hosts, variables or a program: exits with 0 if
    /// all are allowed, 1 if some are denied, 2 if some need a prompt, 125 on an error
    #[command(after_help = "Example: jp-confine check read src/main.rs")]
    Check {
        #[command(flatten)]
        options: Further,
        /// Print one JSON array instead of one line for each target
        #[arg(long)]
        json: bool,
        /// read, create, update, delete or execute; net, env or command
        #[arg(value_parser = Topics, value_name = "CAPABILITY", hide_possible_values = true)]
        topic: Topic,
        /// Workspace-relative paths, URLs, names of variables, or a program and its arguments; put
        /// `--` before arguments that begin with a dash
        #[arg(required = true, value_name = "TARGET")]
        targets: Vec<OsString>,
    },
    /// Check whether a tool may use absolute paths, and where they lead: exits with 0 if it may use
    /// all, 1 if not, 125 on an error
    #[command(after_help = "Example: jp-confine authorize read /home/me/notes.txt")]
    Authorize {
        #[command(flatten)]
        options: Further,
        /// Print one JSON array instead of one line for each path
        #[arg(long)]
        json: bool,
        /// Another directory that paths may be in, with its own policy; repeatable
        #[arg(long = "root", value_name = "DIR")]
        roots: Vec<PathBuf>,
        /// Begin messages with this name [default: that of --tool]
        #[arg(long, value_name = "NAME")]
        source: Option<String>,
        /// read or write
        access: AccessRequest,
        /// Absolute paths
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<OsString>,
    },
    /// Answer check, authorize, explain and batches of them as lines of JSON-RPC, from standard input
    /// to standard output, until the input ends
    #[command(after_help = "Example: jp-confine --tool edit serve")]
    Serve {
        #[command(flatten)]
        options: Further,
        /// Another directory that paths to authorize may be in, with its own policy; repeatable
        #[arg(long = "root", value_name = "DIR")]
        roots: Vec<PathBuf>,
    },
    /// Show which rule decides each capability of a path, and how the path was resolved; or which
    /// rule decides about a URL, a variable or a program
    #[command(after_help = "Example: jp-confine explain ~/.ssh/id_ed25519")]
    Explain {
        #[command(flatten)]
        options: Further,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Any path, as a program would use it, or a URL; or net, env or command, then a target as
        /// for check
        #[arg(required = true, value_name = "TARGET")]
        words: Vec<OsString>,
    },
    /// Print the compiled policy as JSON
    #[command(after_help = "Example: jp-confine compile > policy.json")]
    Compile {
        #[command(flatten)]
        options: Further,
    },
    /// Print what each layer would enforce in a run, and run nothing
    #[command(after_help = "Example: jp-confine plan --format landlock -- make")]
    Plan {
        #[command(flatten)]
        options: Further,
        /// The language to print it in
        #[arg(long, value_enum, default_value_t, value_name = "LANGUAGE")]
        format: PlanFormat,
        /// The same as --format json
        #[arg(long, conflicts_with = "format")]
        json: bool,
        /// The program of the run, whose profiles would be chosen; its arguments change nothing
        #[arg(last = true, value_name = "PROGRAM")]
        program: Vec<OsString>,
    },
    /// Run a program, and write the smallest policy that lets it do the same again
    #[command(after_help = "Example: jp-confine learn -- make")]
    Learn {
        #[command(flatten)]
        options: Further,
        #[command(flatten)]
        lesson: LearnOptions,
        /// The program to run confined, and its arguments
        #[arg(last = true, required = true, value_name = "PROGRAM")]
        program: Vec<OsString>,
    },
    /// Run a tool that has no access of its own, and serve it what the policy grants: by default
    /// to read the workspace
    #[command(after_help = "Example: jp-confine --tool notes vfs -- ./notes-tool")]
    Vfs {
        #[command(flatten)]
        options: Further,
        #[command(flatten)]
        call: Call,
        /// The tool, and the arguments of its command line [default: `command` of --tool]
        #[arg(last = true, value_name = "TOOL")]
        line: Vec<OsString>,
    },
    /// Serve an agent the workspace by MCP, on standard input and output: files and programs, as a run
    /// would get them
    #[command(after_help = "Example: claude mcp add jp-confine -- jp-confine mcp")]
    Mcp {
        #[command(flatten)]
        options: Further,
    },
    /// List the symlinks to directories outside the workspace, and whether their targets are
    /// approved; add one for all runs, or remove it
    #[command(after_help = "Example: jp-confine mounts add fork=../forks/serde")]
    #[command(args_conflicts_with_subcommands = true)]
    Mounts {
        #[command(flatten)]
        options: Further,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(subcommand)]
        sub: Option<Box<MountsSub>>,
    },
    /// Start your shell confined, with a marked prompt
    #[command(after_help = "Example: jp-confine --no-net shell")]
    Shell {
        #[command(flatten)]
        options: Further,
        /// The shell's arguments
        #[arg(last = true, value_name = "ARGS")]
        arguments: Vec<OsString>,
    },
    /// List the profiles, and show what one grants
    #[command(after_help = "Example: jp-confine profiles show rust")]
    Profiles {
        #[command(flatten)]
        options: Further,
        #[command(subcommand)]
        sub: Box<ProfilesSub>,
    },
    /// List, give and revoke approvals of targets outside the workspace
    #[command(after_help = "Example: jp-confine approvals approve fork")]
    Approvals {
        #[command(flatten)]
        options: Further,
        #[command(subcommand)]
        sub: Box<ApprovalsSub>,
    },
    /// List and delete the caches that workspaces have of their own
    #[command(after_help = "Example: jp-confine cache clear --unused 30d")]
    Cache {
        #[command(flatten)]
        options: Further,
        #[command(subcommand)]
        sub: Box<CacheSub>,
    },
    /// Show what the last run in this workspace was denied, and what would allow it
    #[command(after_help = "Example: jp-confine why --last")]
    Why {
        #[command(flatten)]
        options: Further,
        /// Of the last run
        #[arg(long, required = true)]
        last: bool,
        /// Print one JSON array
        #[arg(long)]
        json: bool,
    },
    /// Write what denials of the last run need into the policy, after showing the change
    #[command(after_help = "Example: jp-confine allow 1")]
    Allow {
        #[command(flatten)]
        options: Further,
        /// Its number in `why --last` [default: the only one]
        number: Option<usize>,
        /// All of them
        #[arg(long, conflicts_with = "number")]
        all: bool,
        /// Write without asking
        #[arg(short, long)]
        yes: bool,
        /// Print the change as JSON, and write it only with --yes
        #[arg(long)]
        json: bool,
    },
    /// Show, inside a run, what it grants: exits with 0, or with 1 outside of any run
    #[command(after_help = "Example: jp-confine status")]
    Status {
        #[command(flatten)]
        options: Further,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what this machine offers, what is lost without the rest, and how to get it
    #[command(after_help = "Example: jp-confine doctor")]
    Doctor {
        #[command(flatten)]
        options: Further,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a policy to start with, jp-confine.toml, into the workspace
    #[command(after_help = "Example: jp-confine init")]
    Init {
        #[command(flatten)]
        options: Further,
    },
    /// Print the manual page
    #[command(after_help = "Example: jp-confine man > ~/.local/share/man/man1/jp-confine.1")]
    Man {
        #[command(flatten)]
        options: Further,
    },
    /// Print a script that lets a shell complete the command line
    #[command(
        after_help = "Example: jp-confine completions bash > ~/.local/share/bash-completion/completions/jp-confine"
    )]
    Completions {
        #[command(flatten)]
        options: Further,
        /// The shell
        shell: Shell,
    },
}

// The subcommands of `approvals`. With `///` this line would become the description of `approvals`.
#[derive(Debug, Subcommand)]
enum ApprovalsSub {
    /// Print each approval: the rule's path, its target, and since when
    #[command(after_help = "Example: jp-confine approvals list")]
    List {
        #[command(flatten)]
        options: Further,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Approve the target that a rule's path leads to now
    #[command(after_help = "Example: jp-confine approvals approve fork")]
    Approve {
        #[command(flatten)]
        options: Further,
        /// The rule's path, relative to the workspace
        name: String,
    },
    /// Revoke an approval
    #[command(after_help = "Example: jp-confine approvals revoke fork")]
    Revoke {
        #[command(flatten)]
        options: Further,
        /// The rule's path, relative to the workspace
        name: String,
    },
}

// The subcommands of `mounts`. With `///` this line would become the description of `mounts`.
#[derive(Debug, Subcommand)]
enum MountsSub {
    /// Create a symlink to a path outside the workspace, approve its target, and write a rule for
    /// it into the policy, after showing the change
    #[command(after_help = "Example: jp-confine mounts add fork=../forks/serde:rw")]
    Add {
        #[command(flatten)]
        options: Further,
        /// The symlink, where it leads, and whether programs may write there [default: ro]
        #[arg(value_name = "[TOOL:]NAME=PATH[:ro|rw]")]
        #[arg(value_parser = OsStringValueParser::new().try_map(|word| MountOption::parse(&word)))]
        mount: MountOption,
        /// Do it without asking
        #[arg(short, long)]
        yes: bool,
    },
    /// Remove such a symlink with its approval and its rules, after showing the change
    #[command(after_help = "Example: jp-confine mounts remove fork")]
    Remove {
        #[command(flatten)]
        options: Further,
        /// The symlinks
        #[arg(value_name = "NAME", required_unless_present = "all")]
        #[arg(value_parser = OsStringValueParser::new().try_map(|word| Unmount::parse(&word)))]
        names: Vec<Unmount>,
        /// All of them
        #[arg(long, conflicts_with = "names")]
        all: bool,
        /// Do it without asking
        #[arg(short, long)]
        yes: bool,
    },
}

// The subcommands of `profiles`. With `///` this line would become the description of `profiles`.
#[derive(Debug, Subcommand)]
enum ProfilesSub {
    /// Print each profile, and the programs that choose it
    #[command(after_help = "Example: jp-confine profiles list")]
    List {
        #[command(flatten)]
        options: Further,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a profile as it is written
    #[command(after_help = "Example: jp-confine profiles show rust")]
    Show {
        #[command(flatten)]
        options: Further,
        #[arg(value_parser = ProfileNames, hide_possible_values = true)]
        name: String,
    },
}

// The subcommands of `cache`. With `///` this line would become the description of `cache`.
#[derive(Debug, Subcommand)]
enum CacheSub {
    /// Print the size and the last use of each workspace's caches
    #[command(after_help = "Example: jp-confine cache list")]
    List {
        #[command(flatten)]
        options: Further,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete the caches of workspaces; without WORKSPACE and --unused those of this one
    #[command(after_help = "Example: jp-confine cache clear --unused 30d")]
    Clear {
        #[command(flatten)]
        options: Further,
        /// Those of all workspaces that no run used for so long, as `30d` or `12h`
        #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
        unused: Option<Duration>,
        /// Their directories
        #[arg(value_name = "WORKSPACE")]
        workspaces: Vec<PathBuf>,
    },
}

/// Reads the command line of this process.
///
/// The error is clap's: a usage error, or the text that `--help` and `--version` ask for.
pub(crate) fn parse() -> Result<(Options, Command), clap::Error> {
    let (options, command) = from(std::env::args_os())?;
    Ok((Options { hosts: options.hosts.without_presets(), ..options }, command))
}

/// The grammar of the command line, for the manual page and for shell completions.
pub(crate) fn definition() -> clap::Command {
    Line::command()
}

fn from(arguments: impl IntoIterator<Item = OsString>) -> Result<(Options, Command), clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(plain) = without_options(&arguments) {
        return Ok(plain);
    }
    by_grammar(arguments)
}

/// The meaning of `jp-confine -- PROGRAM [ARGS]`. Agents start every command so, and clap would first build a grammar of
/// all options.
fn without_options(arguments: &[OsString]) -> Option<(Options, Command)> {
    let [_, separator, program, arguments @ ..] = arguments else { return None };
    let run = Command::Run { program: program.clone(), arguments: arguments.to_vec() };
    (separator == "--").then(|| (Options::default(), run))
}

fn by_grammar(arguments: Vec<OsString>) -> Result<(Options, Command), clap::Error> {
    let mut line = Line::try_parse_from(arguments)
        .map_err(|error| usage_error::plain(missing_separator::tipped(error)))?;
    line.options.dry_run_json = line.json;
    Ok(match line.command {
        None => {
            let (program, arguments) = split(line.program);
            (line.options, Command::Run { program, arguments })
        }
        Some(Sub::Learn { options, lesson, program }) => {
            let (program, arguments) = split(program);
            (line.options.then(options.0), Command::Learn { lesson, program, arguments })
        }
        Some(Sub::Check { options, json, topic, targets }) => {
            (line.options.then(options.0), Command::Check { topic, targets, json })
        }
        Some(Sub::Authorize { options, json, roots, source, access, paths }) => {
            let request = Request { access, paths, roots, source, json };
            (line.options.then(options.0), Command::Authorize(request))
        }
        Some(Sub::Serve { options, roots }) => {
            (line.options.then(options.0), Command::Serve { roots })
        }
        Some(Sub::Explain { options, json, words }) => {
            (line.options.then(options.0), explained(words, json)?)
        }
        Some(Sub::Vfs { options, call, line: tool }) => {
            let (program, arguments) = split(tool);
            let command = Command::Vfs { call, program, arguments };
            (Options { service: true, ..line.options.then(options.0) }, command)
        }
        Some(Sub::Mcp { options }) => {
            // The terminal, if there is one, is the agent's.
            let options = Options { non_interactive: true, ..line.options.then(options.0) };
            (options, Command::Mcp)
        }
        Some(Sub::Compile { options }) => (line.options.then(options.0), Command::Compile),
        Some(Sub::Plan { options, format, json, program }) => {
            let format = if json { PlanFormat::Json } else { format };
            let program = program.into_iter().next();
            (line.options.then(options.0), Command::Plan { format, program })
        }
        Some(Sub::Why { options, json, last: _ }) => {
            (line.options.then(options.0), Command::Why { json })
        }
        Some(Sub::Allow { options, number, all, yes, json }) => {
            let which = match number {
                Some(number) => Which::Number(number),
                None if all => Which::All,
                None => Which::Only,
            };
            (line.options.then(options.0), Command::Allow { which, yes, json })
        }
        Some(Sub::Status { options, json }) => {
            (line.options.then(options.0), Command::Status { json })
        }
        Some(Sub::Doctor { options, json }) => {
            (line.options.then(options.0), Command::Doctor { json })
        }
        Some(Sub::Mounts { options, json, sub }) => {
            let (later, mounts) = mounts(sub.map(|sub| *sub), json);
            (line.options.then(options.0).then(later.0), Command::Mounts(mounts))
        }
        Some(Sub::Shell { options, arguments }) => {
            (line.options.then(options.0), Command::Shell { arguments })
        }
        Some(Sub::Profiles { options, sub }) => {
            let (later, profiles) = match *sub {
                ProfilesSub::List { options, json } => (options, Profiles::List { json }),
                ProfilesSub::Show { options, name } => (options, Profiles::Show { name }),
            };
            (line.options.then(options.0).then(later.0), Command::Profiles(profiles))
        }
        Some(Sub::Approvals { options, sub }) => {
            let (later, approvals) = match *sub {
                ApprovalsSub::List { options, json } => (options, Approvals::List { json }),
                ApprovalsSub::Approve { options, name } => (options, Approvals::Approve { name }),
                ApprovalsSub::Revoke { options, name } => (options, Approvals::Revoke { name }),
            };
            (line.options.then(options.0).then(later.0), Command::Approvals(approvals))
        }
        Some(Sub::Cache { options, sub }) => {
            let (later, cache) = match *sub {
                CacheSub::List { options, json } => (options, Cache::List { json }),
                CacheSub::Clear { options, unused, workspaces } => {
                    (options, Cache::Clear { unused, workspaces })
                }
            };
            (line.options.then(options.0).then(later.0), Command::Cache(cache))
        }
        Some(Sub::Init { options }) => (line.options.then(options.0), Command::Init),
        Some(Sub::Man { options }) => (line.options.then(options.0), Command::Man),
        Some(Sub::Completions { options, shell }) => {
            (line.options.then(options.0), Command::Completions { shell })
        }
    })
}

/// What to do with mounts, and the options behind that.
fn mounts(sub: Option<MountsSub>, json: bool) -> (Further, Mounts) {
    match sub {
        None => (Further::default(), Mounts::List { json }),
        Some(MountsSub::Add { options, mount, yes }) => (options, Mounts::Add { mount, yes }),
        Some(MountsSub::Remove { options, names, all, yes }) => {
            let names = if all { vec![Unmount::All] } else { names };
            (options, Mounts::Remove { names, yes })
        }
    }
}

/// The program's name, and its arguments.
fn split(words: Vec<OsString>) -> (OsString, Vec<OsString>) {
    let mut words = words.into_iter();
    (words.next().unwrap_or_default(), words.collect())
}

/// Reads the words of `explain`. A single word is a URL if it has a scheme, or else a path. With more words, the first
/// is the subject.
fn explained(words: Vec<OsString>, json: bool) -> Result<Command, clap::Error> {
    let (first, targets) = split(words);
    if targets.is_empty() {
        let is_url = first.to_str().is_some_and(|word| word.contains("://"));
        return Ok(if is_url {
            Command::ExplainBeyond { topic: Beyond::Net, targets: vec![first], json }
        } else {
            Command::Explain { path: first, json }
        });
    }
    match first.to_str().and_then(Beyond::from_name) {
        Some(topic) => Ok(Command::ExplainBeyond { topic, targets, json }),
        None => Err(Line::command().error(
            clap::error::ErrorKind::InvalidValue,
            "explain takes one path, or net, env or command and a target",
        )),
    }
}

#[cfg(test)]
mod tests;
