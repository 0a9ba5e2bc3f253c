//! The outer tables of a policy file, for `docs/schema/policy.json`. `decode` reads them key by key, to point at each wrong
//! word. Serde reads all that is below them. `tests/book.rs` compares the keys.

use std::collections::BTreeMap;

use jp_confine_engine::commands::Commands;
use jp_confine_engine::env::EnvRule;
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::layers::Layered;
use jp_confine_engine::model::FsRule;
use jp_confine_engine::net::NetRule;
use schemars::JsonSchema;

use super::decode_profile::ProfileTable;
use super::decode_sandbox::{Filesystem, Network};
use super::decode_tools::WrittenCommand;

/// The keys of a file that is not one of JP's.
const TOP: [&str; 5] = ["$schema", "access", "file_policy", "tools", "profiles"];

/// A policy of jp-confine.
#[derive(JsonSchema)]
#[schemars(extend("if" = { "not": { "required": ["conversation"] } }))]
#[schemars(extend("then" = { "propertyNames": { "enum": TOP } }))]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct PolicyFile {
    /// The schema of this file, for editors. It means nothing to jp-confine.
    #[schemars(rename = "$schema")]
    schema: Option<String>,
    /// Rules for every run.
    access: Option<Access>,
    /// Patterns that hold wherever they match.
    file_policy: Option<FilePolicy>,
    /// More for a tool, chosen with `--tool NAME`.
    tools: Option<BTreeMap<String, Tool>>,
    /// Grants chosen by a program's name. Not in a workspace's own file.
    profiles: Option<BTreeMap<String, ProfileTable>>,
    /// In a file with this table, `conversation.tools` is the same as `tools`, and other keys are ignored.
    conversation: Option<Conversation>,
}

/// The part of the table `conversation` that jp-confine reads.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Conversation {
    /// More for a tool, chosen with `--tool NAME`. Keys that jp-confine does not know are ignored.
    tools: Option<BTreeMap<String, OtherTool>>,
}

/// `[access]`
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Access {
    /// Rules about files in the workspace.
    fs: Option<Layered<FsRule>>,
    /// Patterns of more files that cause a prompt, as `.env` does.
    sensitive_paths: Option<Vec<String>>,
    /// Patterns of more auto-run files.
    autorun_paths: Option<Vec<String>>,
    /// Rules about hosts. Without any, all hosts can be reached.
    net: Option<Layered<NetRule>>,
    /// Rules about variables. Without any, all are passed on.
    env: Option<Layered<EnvRule>>,
    /// Programs that may be started. Without any, every executable program may be.
    commands: Option<Commands>,
    /// Names of variables that a tool of the file service may use in requests, without seeing them.
    net_env: Option<Vec<String>>,
}

/// `[tools.NAME]`
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Tool {
    /// Rules for this tool. They hold together with those for every run.
    access: Option<Access>,
    /// An older form of `access`.
    sandbox: Option<Sandbox>,
    /// Patterns for this tool.
    file_policy: Option<FilePolicy>,
    /// `local`, `builtin` or `mcp`, with or without a name behind a dot. Only `local` tools can have rules.
    #[schemars(regex(pattern = r"^(local|builtin|mcp)(\.|$)"))]
    source: Option<String>,
    /// What starts the tool: `vfs --tool NAME` does. A line, a list of words, or a table of `program`, `args` and `shell`.
    command: Option<WrittenCommand>,
    /// How a host talks to the tool. Ignored here.
    runtime: Option<Runtime>,
}

/// `[conversation.tools.NAME]`
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct OtherTool {
    /// Rules for this tool. They hold together with those for every run.
    access: Option<Access>,
    /// An older form of `access`.
    sandbox: Option<Sandbox>,
    /// Patterns for this tool.
    file_policy: Option<FilePolicy>,
    /// `local`, `builtin` or `mcp`, with or without a name behind a dot. Only `local` tools can have rules.
    #[schemars(regex(pattern = r"^(local|builtin|mcp)(\.|$)"))]
    source: Option<String>,
    /// What starts the tool, as below `tools`.
    command: Option<WrittenCommand>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Runtime {
    Stdio,
    Vfs,
}

/// `[tools.NAME.sandbox]`. It always grants reading the workspace.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Sandbox {
    /// Paths.
    filesystem: Option<Filesystem>,
    /// Hosts.
    network: Option<Network>,
    /// Programs, as in `access`.
    commands: Option<Commands>,
    /// Patterns, as in `access`.
    sensitive_paths: Option<Vec<String>>,
}
