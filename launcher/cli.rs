//! The command line, as written. Syntax only: nothing here looks at a file or knows a default that
//! depends on the machine.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use jp_confine_policy::Capability;
use serde_json::Value;

use crate::environment::Granted;
use crate::mounts::grammar::{Mount, Unmount};
use crate::net::order::HostOptions;

/// Run a program so that it touches only what a path policy grants.
#[derive(Debug, Parser)]
#[command(
    name = "jp-confine",
    version,
    override_usage = "jp-confine [OPTIONS] -- PROGRAM [ARGS]...\n       \
                      jp-confine [OPTIONS] check CAPABILITY PATH...\n       \
                      jp-confine [OPTIONS] check net|env|command TARGET...\n       \
                      jp-confine [OPTIONS] authorize read|write PATH...\n       \
                      jp-confine [OPTIONS] explain [net|env|command] TARGET...\n       \
                      jp-confine [OPTIONS] compile\n       \
                      jp-confine [OPTIONS] vfs -- TOOL [ARGS]...\n       \
                      jp-confine mounts\n       \
                      jp-confine approvals list|approve NAME|revoke NAME\n       \
                      jp-confine why --last\n       \
                      jp-confine [OPTIONS] learn -- PROGRAM [ARGS]...\n       \
                      jp-confine doctor\n       \
                      jp-confine init\n       \
                      jp-confine man\n       \
                      jp-confine completions SHELL",
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    after_help = "Exit status: the program's own; 128+N if signal N ended it; 125 jp-confine \
                  failed and nothing was run; 126 the program may not be executed; 127 not found."
)]
pub(crate) struct Line {
    #[command(flatten)]
    options: Options,

    #[command(subcommand)]
    command: Option<Sub>,

    /// The program to run confined, and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
enum Sub {
    /// Say whether a tool may use workspace paths, hosts, variables or a program: 0 all allowed,
    /// 1 some denied, 2 some to be asked about, 125 error
    Check {
        #[command(flatten)]
        options: Options,
        /// Print one JSON array instead of one line for each target
        #[arg(long)]
        json: bool,
        /// read, create, update, delete or execute; net, env or command
        #[arg(value_parser = topic, value_name = "CAPABILITY")]
        topic: Topic,
        /// Workspace-relative paths; URLs; names of variables; a program and its arguments, behind
        /// `--` if they begin with a dash
        #[arg(required = true, value_name = "TARGET")]
        targets: Vec<OsString>,
    },
    /// Say whether a tool may use absolute paths, and where they lead: 0 all, 1 not all, 125 error
    Authorize {
        #[command(flatten)]
        options: Options,
        /// Print one JSON array instead of one line for each path
        #[arg(long)]
        json: bool,
        /// One more folder that paths may be in, under its own policy; repeatable
        #[arg(long = "root", value_name = "DIR")]
        roots: Vec<PathBuf>,
        /// What messages begin with [default: the name that --tool gives]
        #[arg(long, value_name = "NAME")]
        source: Option<String>,
        /// read or write
        access: Access,
        /// Absolute paths
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<OsString>,
    },
    /// Say which rule decides each capability of a path, and how the path was resolved; or which
    /// decides about a URL, a variable or a program
    Explain {
        #[command(flatten)]
        options: Options,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Any path, as a program would use it; or net, env or command, and a target as of check
        #[arg(required = true, value_name = "TARGET")]
        words: Vec<OsString>,
    },
    /// Print the compiled policy as JSON
    Compile {
        #[command(flatten)]
        options: Options,
    },
    /// Run a program, and write the smallest policy that lets it do the same again
    Learn {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        lesson: Lesson,
        /// The program to run confined, and its arguments
        #[arg(last = true, required = true, value_name = "PROGRAM")]
        program: Vec<OsString>,
    },
    /// Run a tool that touches nothing itself, and do for it what the policy grants: the
    /// workspace to read, unless files or options say otherwise
    Vfs {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        call: Call,
        /// The tool, and the arguments of its command line
        #[arg(last = true, required = true, value_name = "TOOL")]
        line: Vec<OsString>,
    },
    /// List the links to folders outside the workspace, and whether their targets are approved
    Mounts {
        #[command(flatten)]
        options: Options,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List, give and take back approvals of targets outside the workspace
    #[command(subcommand)]
    Approvals(ApprovalsSub),
    /// Explain what the last run in this workspace was refused, and what would allow it
    Why {
        #[command(flatten)]
        options: Options,
        /// Of the last run
        #[arg(long, required = true)]
        last: bool,
        /// Print one JSON array
        #[arg(long)]
        json: bool,
    },
    /// Say what this machine offers, what is lost without the rest, and how to get it
    Doctor {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a policy to start with, jp-confine.toml, into the workspace
    Init {
        #[command(flatten)]
        options: Options,
    },
    /// Print the manual page
    Man,
    /// Print what a shell needs to complete the command line
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// What a tool is told that it is called to do.
#[derive(Args, Clone, Debug)]
pub(crate) struct Call {
    /// What the tool is to do, a JSON value [default: {}]
    #[arg(long, value_name = "JSON", value_parser = json_value)]
    pub(crate) arguments: Option<Value>,
    /// What was answered to its questions before [default: {}]
    #[arg(long, value_name = "JSON", value_parser = json_value)]
    pub(crate) answers: Option<Value>,
    /// How it is configured [default: {}]
    #[arg(long = "tool-options", value_name = "JSON", value_parser = json_value)]
    pub(crate) configuration: Option<Value>,
    /// The longest file that is read or written [default: 10485760]
    #[arg(long, value_name = "BYTES")]
    pub(crate) file_limit: Option<u64>,
    /// For how long the tool may say nothing [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) idle: Option<u64>,
    /// For how long a tool that is to end may go on [default: 5]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) grace: Option<u64>,
}

/// What is to be done with approvals.
#[derive(Debug, Subcommand)]
enum ApprovalsSub {
    /// Print them: the rule's path, what it may lead to, and since when
    List {
        #[command(flatten)]
        options: Options,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Approve what a rule's path leads to now
    Approve {
        #[command(flatten)]
        options: Options,
        /// The rule's path, relative to the workspace
        name: String,
    },
    /// Take an approval back
    Revoke {
        #[command(flatten)]
        options: Options,
        /// The rule's path, relative to the workspace
        name: String,
    },
}

/// What was asked for.
#[derive(Debug)]
pub(crate) enum Command {
    /// Run a program: its name as typed, and its arguments.
    Run { program: OsString, arguments: Vec<OsString> },
    /// `check`.
    Check { topic: Topic, targets: Vec<OsString>, json: bool },
    /// `authorize`.
    Authorize(Request),
    /// `explain`.
    Explain { path: OsString, json: bool },
    /// `explain` of something else than a path.
    ExplainBeyond { topic: Beyond, targets: Vec<OsString>, json: bool },
    /// `compile`.
    Compile,
    /// `learn`: a program's name as typed, and its arguments.
    Learn { lesson: Lesson, program: OsString, arguments: Vec<OsString> },
    /// `vfs`: the tool's name as typed, and its arguments.
    Vfs { call: Call, program: OsString, arguments: Vec<OsString> },
    /// `why --last`.
    Why { json: bool },
    /// `doctor`.
    Doctor { json: bool },
    /// `mounts`.
    Mounts { json: bool },
    /// `approvals`.
    Approvals(Approvals),
    /// `init`.
    Init,
    /// `man`.
    Man,
    /// `completions`.
    Completions { shell: Shell },
}

/// What is to be done with approvals; names are rule paths as typed.
#[derive(Debug)]
pub(crate) enum Approvals {
    /// `approvals list`.
    List { json: bool },
    /// `approvals approve`.
    Approve { name: String },
    /// `approvals revoke`.
    Revoke { name: String },
}

/// What can be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// A capability on paths.
    Path(Capability),
    /// Something else.
    Beyond(Beyond),
}

/// What can be asked about beside paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// Hosts, by URL.
    Net,
    /// Variables.
    Env,
    /// A program and its arguments.
    Command,
}

impl Beyond {
    /// As it is typed.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Net => "net",
            Self::Env => "env",
            Self::Command => "command",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::Net, Self::Env, Self::Command].into_iter().find(|it| it.as_str() == name)
    }
}

/// What `authorize` is asked.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) access: Access,
    pub(crate) paths: Vec<OsString>,
    /// Folders beside the workspace.
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) source: Option<String>,
    pub(crate) json: bool,
}

/// What a tool wants to do with a path (spec §15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Access {
    /// Read a file, list a directory
    Read,
    /// Create what does not exist, update what does
    Write,
}

/// What becomes of what `learn` has learned.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Lesson {
    /// Where the policy goes, `-` for standard output [default: jp-confine.learned.toml in the
    /// workspace]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    pub(crate) force: bool,
    /// Write a report of what was touched, to look at in a browser
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

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

/// The options that every command takes.
#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one switch of the command line")]
pub(crate) struct Options {
    /// Workspace root [default: nearest directory upwards with jp-confine.toml or .git, else here]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Policy file, TOML or JSON; repeatable, later ones on top
    #[arg(short, long = "policy", value_name = "FILE")]
    pub(crate) policies: Vec<PathBuf>,
    /// Apply [tools.NAME] of the policy
    #[arg(long, value_name = "NAME")]
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
    /// Deny everything
    #[arg(long, value_name = "PATH")]
    pub(crate) deny: Vec<PathBuf>,
    /// Link a path outside the workspace as NAME and grant it for this run; the link stays
    #[arg(long = "mount", value_name = "[TOOL:]NAME=PATH[:ro|rw]")]
    #[arg(value_parser = OsStringValueParser::new().try_map(|word| Mount::parse(&word)))]
    pub(crate) mounts: Vec<Mount>,
    /// Remove such a link with its rules and approval; without NAME all of them
    #[arg(long = "no-mount", value_name = "NAME", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = Unmount::ALL)]
    #[arg(value_parser = OsStringValueParser::new().try_map(|word| Unmount::parse(&word)))]
    pub(crate) no_mounts: Vec<Unmount>,
    /// Use this profile instead of those chosen by the program's name; `none` for no profile
    #[arg(long = "profile", value_name = "NAME")]
    pub(crate) profiles: Vec<String>,
    /// Leave out the built-in grants on system directories, devices and /proc
    #[arg(long)]
    pub(crate) no_baseline: bool,
    /// Grant the host's /tmp instead of a private directory
    #[arg(long)]
    pub(crate) share_tmp: bool,
    /// Which hosts the program may connect to
    #[command(flatten)]
    pub(crate) hosts: HostOptions,
    /// No network: only local sockets are made
    #[arg(long)]
    pub(crate) no_net: bool,
    /// Grant a variable, a beginning of names with `*` behind it, or set one; then no other is handed on
    /// but the base set
    #[arg(long, value_name = "NAME[=VALUE]")]
    #[arg(value_parser = OsStringValueParser::new().try_map(|word| Granted::parse(&word)))]
    pub(crate) env: Vec<Granted>,
    /// No network, and of the environment the base set alone, but for what options grant
    #[arg(long)]
    pub(crate) isolated: bool,
    /// Answer EACCES, never ENOENT: nothing is hidden
    #[arg(long)]
    pub(crate) show_denied: bool,
    /// What must hold the policy [default: layered]
    #[arg(long, value_name = "LAYERS")]
    pub(crate) enforce: Option<Enforce>,
    /// End what the program leaves running, instead of waiting for it
    #[arg(long)]
    pub(crate) kill_leftovers: bool,
    /// Never ask
    #[arg(long)]
    pub(crate) non_interactive: bool,
    /// Append one JSON line for each denial, warning and layer decision
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Print the compiled policy and the plan, run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// By the file service's rules, for what it starts for a tool after judging it
    #[arg(long, hide = true)]
    pub(crate) service: bool,
    /// No warnings and no report of denials
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say what was chosen
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

impl Options {
    /// Whether the program makes no sockets but local ones.
    pub(crate) const fn has_no_network(&self) -> bool {
        self.no_net || self.isolated
    }

    /// The options before and after the subcommand's name, as one: lists in order, the later of two
    /// single values.
    fn then(mut self, later: Self) -> Self {
        self.policies.extend(later.policies);
        self.read.extend(later.read);
        self.write.extend(later.write);
        self.exec.extend(later.exec);
        self.deny.extend(later.deny);
        self.mounts.extend(later.mounts);
        self.no_mounts.extend(later.no_mounts);
        self.profiles.extend(later.profiles);
        self.env.extend(later.env);
        Self {
            workspace: later.workspace.or(self.workspace),
            tool: later.tool.or(self.tool),
            enforce: later.enforce.or(self.enforce),
            events: later.events.or(self.events),
            no_baseline: self.no_baseline | later.no_baseline,
            share_tmp: self.share_tmp | later.share_tmp,
            show_denied: self.show_denied | later.show_denied,
            hosts: self.hosts.then(later.hosts),
            no_net: self.no_net | later.no_net,
            isolated: self.isolated | later.isolated,
            non_interactive: self.non_interactive | later.non_interactive,
            kill_leftovers: self.kill_leftovers | later.kill_leftovers,
            dry_run: self.dry_run | later.dry_run,
            service: self.service | later.service,
            quiet: self.quiet | later.quiet,
            verbose: self.verbose | later.verbose,
            ..self
        }
    }
}

/// Reads the command line of this process.
///
/// The error is clap's: a usage error, or the text that `--help` and `--version` ask for.
pub(crate) fn parse() -> Result<(Options, Command), clap::Error> {
    from(std::env::args_os())
}

/// What the command line can be, for the manual page and for shells.
pub(crate) fn definition() -> clap::Command {
    Line::command()
}

fn from(arguments: impl IntoIterator<Item = OsString>) -> Result<(Options, Command), clap::Error> {
    let line = Line::try_parse_from(arguments)?;
    Ok(match line.command {
        None => {
            let (program, arguments) = split(line.program);
            (line.options, Command::Run { program, arguments })
        }
        Some(Sub::Learn { options, lesson, program }) => {
            let (program, arguments) = split(program);
            (line.options.then(options), Command::Learn { lesson, program, arguments })
        }
        Some(Sub::Check { options, json, topic, targets }) => {
            (line.options.then(options), Command::Check { topic, targets, json })
        }
        Some(Sub::Authorize { options, json, roots, source, access, paths }) => {
            let request = Request { access, paths, roots, source, json };
            (line.options.then(options), Command::Authorize(request))
        }
        Some(Sub::Explain { options, json, words }) => {
            (line.options.then(options), explained(words, json)?)
        }
        Some(Sub::Vfs { options, call, line: tool }) => {
            let mut words = tool.into_iter();
            let program = words.next().unwrap_or_default();
            let command = Command::Vfs { call, program, arguments: words.collect() };
            (Options { service: true, ..line.options.then(options) }, command)
        }
        Some(Sub::Compile { options }) => (line.options.then(options), Command::Compile),
        Some(Sub::Why { options, json, last: _ }) => {
            (line.options.then(options), Command::Why { json })
        }
        Some(Sub::Doctor { json }) => (line.options, Command::Doctor { json }),
        Some(Sub::Mounts { options, json }) => {
            (line.options.then(options), Command::Mounts { json })
        }
        Some(Sub::Approvals(sub)) => {
            let (options, approvals) = match sub {
                ApprovalsSub::List { options, json } => (options, Approvals::List { json }),
                ApprovalsSub::Approve { options, name } => (options, Approvals::Approve { name }),
                ApprovalsSub::Revoke { options, name } => (options, Approvals::Revoke { name }),
            };
            (line.options.then(options), Command::Approvals(approvals))
        }
        Some(Sub::Init { options }) => (line.options.then(options), Command::Init),
        Some(Sub::Man) => (line.options, Command::Man),
        Some(Sub::Completions { shell }) => (line.options, Command::Completions { shell }),
    })
}

/// The program's name, and its arguments.
fn split(words: Vec<OsString>) -> (OsString, Vec<OsString>) {
    let mut words = words.into_iter();
    (words.next().unwrap_or_default(), words.collect())
}

/// One word is a path, whatever it is; of more the first says what they are about.
fn explained(words: Vec<OsString>, json: bool) -> Result<Command, clap::Error> {
    let (first, targets) = split(words);
    if targets.is_empty() {
        return Ok(Command::Explain { path: first, json });
    }
    match first.to_str().and_then(Beyond::from_name) {
        Some(topic) => Ok(Command::ExplainBeyond { topic, targets, json }),
        None => Err(Line::command().error(
            clap::error::ErrorKind::InvalidValue,
            "explain takes one path, or net, env or command and what that is about",
        )),
    }
}

fn json_value(word: &str) -> Result<Value, String> {
    serde_json::from_str(word).map_err(|error| format!("not JSON: {error}"))
}

fn topic(word: &str) -> Result<Topic, String> {
    let capability = Capability::from_name(word).map(Topic::Path);
    capability.or_else(|| Beyond::from_name(word).map(Topic::Beyond)).ok_or_else(|| match word {
        "write" => "`write` is an alias in rules; ask for create, update or delete".to_owned(),
        _ => "expected read, create, update, delete, execute, net, env or command".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &str) -> Result<(Options, Command), clap::Error> {
        from(words.split_whitespace().map(OsString::from))
    }

    #[test]
    fn options_stand_on_either_side_of_the_subcommand() {
        let (options, command) =
            line("jp-confine -r a --deny b check -r c read p q --json --deny d").expect("right");
        assert_eq!(options.read, [PathBuf::from("a"), PathBuf::from("c")]);
        assert_eq!(options.deny, [PathBuf::from("b"), PathBuf::from("d")]);
        let Command::Check { topic, targets, json } = command else { panic!("not check") };
        assert_eq!((topic, targets.len(), json), (Topic::Path(Capability::Read), 2, true));
    }

    #[test]
    fn one_word_to_explain_is_a_path_and_more_say_what_they_are() {
        for (words, topic) in [
            ("jp-confine explain net", None),
            ("jp-confine explain -- -x", None),
            ("jp-confine explain env HOME", Some(Beyond::Env)),
            ("jp-confine explain --json command -- git log -p", Some(Beyond::Command)),
            ("jp-confine explain command git log -q", Some(Beyond::Command)),
        ] {
            let (_, command) = line(words).expect(words);
            match command {
                Command::Explain { .. } => assert_eq!(topic, None, "{words}"),
                Command::ExplainBeyond { topic: found, .. } => assert_eq!(topic, Some(found)),
                _ => panic!("{words}"),
            }
        }
        let (_, command) = line("jp-confine check command -- git log -p").expect("right");
        assert!(matches!(command, Command::Check { targets, .. } if targets.len() == 3));
    }

    #[test]
    fn what_follows_the_dashes_is_the_programs() {
        let (options, command) = line("jp-confine -q -- check -v -- --events").expect("right");
        assert!(options.quiet && !options.verbose && options.events.is_none());
        let Command::Run { program, arguments } = command else { panic!("not a run") };
        assert_eq!(program, "check");
        assert_eq!(arguments, ["-v", "--", "--events"]);
    }

    #[test]
    fn wrong_lines_are_refused() {
        for words in [
            "jp-confine",
            "jp-confine --",
            "jp-confine true",
            "jp-confine check write p",
            "jp-confine check read",
            "jp-confine explain",
            "jp-confine explain a b",
            "jp-confine check env",
            "jp-confine --env A*B -- true",
            "jp-confine why",
            "jp-confine vfs",
            "jp-confine vfs tool",
            "jp-confine vfs --arguments { -- tool",
            "jp-confine authorize create /p",
            "jp-confine authorize read",
            "jp-confine completions csh",
            "jp-confine --enforce soft -- true",
            "jp-confine --net ::1 -- true",
            "jp-confine approvals",
            "jp-confine approvals approve",
            "jp-confine approvals list fork",
            "jp-confine --mount fork -- true",
            "jp-confine --mount fork=/p:rw -- true",
            "jp-confine --no-mount= -- true",
            "jp-confine -q -v -- true",
        ] {
            let failure = line(words).expect_err(words);
            assert!(failure.use_stderr(), "{words}");
        }
    }

    #[test]
    fn mounts_are_read_where_they_stand() {
        let (options, _) =
            line("jp-confine --mount a=/p --no-mount --no-mount=b --mount t:c=/q:rw -- true")
                .expect("right");
        let names: Vec<&str> = options.mounts.iter().map(|mount| mount.name.as_str()).collect();
        assert_eq!(names, ["a", "c"]);
        assert_eq!(options.no_mounts, [Unmount::All, Unmount::Named("b".to_owned())]);
        let (_, command) = line("jp-confine approvals approve -C ws fork").expect("right");
        assert!(
            matches!(command, Command::Approvals(Approvals::Approve { name }) if name == "fork")
        );
    }

    #[test]
    fn the_definition_is_consistent() {
        definition().debug_assert();
    }
}
