//! Defines the commands that a command line can ask for.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use clap_complete::Shell;
use jp_confine_engine::Capability;
use serde::Deserialize;
use serde_json::Value;

use crate::cli::mount::{MountOption, Unmount};

/// The command that was asked for.
#[derive(Debug)]
pub(crate) enum Command {
    /// Run a program: its name as typed, and its arguments.
    Run { program: OsString, arguments: Vec<OsString> },
    /// `check`.
    Check { topic: Topic, targets: Vec<OsString>, json: bool },
    /// `authorize`.
    Authorize(Request),
    /// `serve`, with further directories.
    Serve { roots: Vec<PathBuf> },
    /// `explain`.
    Explain { path: OsString, json: bool },
    /// `explain` of something other than a path.
    ExplainBeyond { topic: Beyond, targets: Vec<OsString>, json: bool },
    /// `compile`.
    Compile,
    /// `plan`: a program's name as typed, if one is named.
    Plan { format: PlanFormat, program: Option<OsString> },
    /// `learn`: a program's name as typed, and its arguments.
    Learn { lesson: LearnOptions, program: OsString, arguments: Vec<OsString> },
    /// `vfs`: the tool's name as typed, and its arguments.
    Vfs { call: Call, program: OsString, arguments: Vec<OsString> },
    /// `mcp`.
    Mcp,
    /// `why --last`.
    Why { json: bool },
    /// `allow`.
    Allow { which: Which, yes: bool, json: bool },
    /// `status`.
    Status { json: bool },
    /// `doctor`.
    Doctor { json: bool },
    /// `mounts`.
    Mounts(Mounts),
    /// `shell`.
    Shell { arguments: Vec<OsString> },
    /// `profiles`.
    Profiles(Profiles),
    /// `approvals`.
    Approvals(Approvals),
    /// `cache`.
    Cache(Cache),
    /// `init`.
    Init,
    /// `man`.
    Man,
    /// `completions`.
    Completions { shell: Shell },
}

/// A subcommand of `approvals`. Names are rule paths as typed.
#[derive(Debug)]
pub(crate) enum Approvals {
    /// `approvals list`.
    List { json: bool },
    /// `approvals approve`.
    Approve { name: String },
    /// `approvals revoke`.
    Revoke { name: String },
}

/// A subcommand of `mounts`.
#[derive(Debug)]
pub(crate) enum Mounts {
    /// `mounts`.
    List { json: bool },
    /// `mounts add`.
    Add { mount: MountOption, yes: bool },
    /// `mounts remove`.
    Remove { names: Vec<Unmount>, yes: bool },
}

/// The denials of the last run that `allow` is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The only one.
    Only,
    /// Those with this number.
    Number(usize),
    All,
}

/// A subcommand of `profiles`.
#[derive(Debug)]
pub(crate) enum Profiles {
    /// `profiles list`.
    List { json: bool },
    /// `profiles show`.
    Show { name: String },
}

/// A subcommand of `cache`.
#[derive(Debug)]
pub(crate) enum Cache {
    /// `cache list`.
    List { json: bool },
    /// `cache clear`.
    Clear { unused: Option<Duration>, workspaces: Vec<PathBuf> },
}

/// A subject that `check` can be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// A capability on paths.
    Path(Capability),
    /// Something else.
    Beyond(Beyond),
}

/// A subject other than paths that `check` and `explain` can be asked about.
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
    pub(super) const ALL: [Self; 3] = [Self::Net, Self::Env, Self::Command];

    /// The word that is typed for it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Net => "net",
            Self::Env => "env",
            Self::Command => "command",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }
}

/// The request to `authorize`.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) access: AccessRequest,
    pub(crate) paths: Vec<OsString>,
    /// Directories beside the workspace.
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) source: Option<String>,
    pub(crate) json: bool,
}

/// The language of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// For people: each grant, and the layers that hold each capability
    #[default]
    Text,
    /// The ruleset that the kernel gets
    Landlock,
    /// A profile for sandbox-exec on macOS
    Sbpl,
    /// The compiled policy and the plan, as --dry-run --json prints them
    Json,
}

/// The access to a path that a tool wants (spec §15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum AccessRequest {
    /// Read a file, list a directory
    Read,
    /// Create what does not exist, update what does
    Write,
}

// The options of `learn`: where its results go.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LearnOptions {
    /// Write the policy to this TOML file; `-` means standard output, and moves the program's own
    /// output to standard error [default: jp-confine.learned.toml in the workspace]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    pub(crate) force: bool,
    /// Write a page that shows each access, for a browser
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

// The options of `vfs`: the call that a tool gets, and its limits.
#[derive(Args, Clone, Debug)]
pub(crate) struct Call {
    /// The tool's arguments, a JSON value [default: {}]
    #[arg(long, value_name = "JSON", value_parser = json_value)]
    pub(crate) arguments: Option<Value>,
    /// Earlier answers to the tool's questions, a JSON value [default: {}]
    #[arg(long, value_name = "JSON", value_parser = json_value)]
    pub(crate) answers: Option<Value>,
    /// The tool's options, a JSON value [default: {}]
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

fn json_value(word: &str) -> Result<Value, String> {
    serde_json::from_str(word).map_err(|error| format!("not JSON: {error}"))
}
