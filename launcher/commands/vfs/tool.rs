//! Runs the tool as a confined program that is granted only its own file and the system's libraries.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::Command;

use jp_confine_engine::coverage::Coverage;
use jp_confine_engine::env::Env;
use jp_confine_engine::tiers::Tiers;
use jp_confine_engine::variables;
use serde_json::json;
use tempfile::{NamedTempFile, TempDir};

use crate::cli::Options;
use crate::commands::inner_run;
use crate::compile::programs;
use crate::config::layers::Layers;
use crate::error::Failure;
use crate::host::context::Context;
use crate::host::workspace::Workspace;
use crate::host::{machine, program_lookup};
use crate::launch::outer_run::Outer;
use crate::prompt::turns::PromptQueue;
use crate::text::quote;

/// Variables by which this program finds the user's policy and its own files.
const OWN: [&str; 4] = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR", machine::WITHOUT];

/// Prefix of the names of its temporary files.
const PREFIX: &str = "jp-confine-tool-";

/// A tool that was found.
#[derive(Debug)]
pub(super) struct Hosted {
    launcher: PathBuf,
    file: PathBuf,
    /// The tool's home and workspace: an empty directory, deleted on drop.
    folder: TempDir,
    /// Further files that the tool may execute.
    libraries: Vec<PathBuf>,
    /// A policy file with the patterns that the service's policy withholds from everybody, if there are any.
    withheld: Option<NamedTempFile>,
    /// The paths of typed `--deny` options.
    denied: Vec<PathBuf>,
    /// The canonical home of the hosting user, unless nothing is to be hidden.
    hidden: Option<PathBuf>,
    /// The turns at the terminal.
    turns: PromptQueue,
    environment: Vec<(OsString, OsString)>,
    verbose: bool,
}

impl Hosted {
    /// Finds `name`, in `PATH` if it has no slash. `env` says which variables it gets, and `tiers` which paths it must
    /// not touch whatever it is granted.
    pub(super) fn find(
        context: &Context,
        options: &Options,
        env: &Env,
        tiers: &Tiers,
        name: &OsStr,
    ) -> Result<Self, Failure> {
        let is_program = |file: &PathBuf| programs::is_program(&context.absolute(file));
        let file = program_lookup::candidates(context, name).into_iter().find(is_program);
        let file = file.ok_or_else(|| Failure::NotFound { program: name.into() })?;
        let no_room = |error| {
            let dir = quote::place(&context.temp);
            Failure::own(format!("no temporary files can be made in {dir}: {error}"))
        };
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&context.temp);
        let folder = folder.map_err(no_room)?;
        let withheld = withheld(context, tiers).map_err(no_room)?;
        let is_granted = |name: &OsStr| match env.judge(name.as_bytes()) {
            Coverage::Allowed => true,
            Coverage::Denied => false,
            Coverage::Uncovered => is_base(name),
        };
        let granted = context.environment.iter().filter(|(name, _)| is_granted(name));
        let mut environment: Vec<_> = granted.cloned().collect();
        environment.push(("HOME".into(), folder.path().into()));
        environment.push(("TMPDIR".into(), context.temp.clone().into()));
        Ok(Self {
            launcher: inner_run::launcher()?,
            file: context.absolute(&file),
            folder,
            libraries: options.exec.iter().map(|path| context.absolute(path)).collect(),
            withheld,
            denied: options.deny.iter().map(|path| context.absolute(path)).collect(),
            hidden: context.canonical_home.clone().filter(|_| !options.show_denied),
            turns: PromptQueue::of(context),
            environment,
            verbose: options.verbose,
        })
    }

    /// The name of the tool, for people.
    pub(super) fn name(&self) -> String {
        self.file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The command that runs the tool strictly confined, in an empty workspace, by this same program.
    pub(super) fn command(&self, arguments: &[OsString]) -> Command {
        let mut command = Command::new(&self.launcher);
        command.args(["--enforce", "strict", "--no-net", "--non-interactive", "--profile", "none"]);
        command.args(["--hosted", "--kill-leftovers", if self.verbose { "-v" } else { "-q" }]);
        command.arg("--host").arg(std::process::id().to_string());
        command.arg("-C").arg(self.folder.path());
        if let Some(withheld) = &self.withheld {
            command.arg("-p").arg(withheld.path());
        }
        for path in self.libraries.iter().chain([&self.file]) {
            command.arg("-x").arg(path);
        }
        for path in &self.denied {
            command.arg("--deny").arg(path);
        }
        if let Some(home) = &self.hidden {
            command.arg("--hidden").arg(home);
        }
        if let Some(file) = self.turns.file() {
            command.arg("--turns").arg(file);
        }
        command.arg("--").arg(&self.file).args(arguments);
        command.current_dir(self.folder.path());
        command.env_clear().envs(self.environment.iter().cloned());
        command
    }
}

/// The program of `--tool` and its arguments, as the policy files name them.
///
/// # Errors
/// No file names a command of the tool, or it has parts that a host would fill in.
pub(super) fn configured(
    context: &Context,
    options: &Options,
    workspace: &Workspace,
) -> Result<(OsString, Vec<OsString>), Failure> {
    let layers = Layers::load(context, &workspace.root, options.named_policies())?;
    let words = options.tool.as_deref().map_or(&[][..], |tool| layers.command_of(tool));
    let problem = match words {
        [] => "no tool is named, and no policy file has a `command` of the one that --tool names",
        [..] if words.iter().any(|word| word.contains("{{")) => {
            "`command` of the tool has parts that its host fills in"
        }
        [program, arguments @ ..] => {
            return Ok((program.into(), arguments.iter().map(OsString::from).collect()));
        }
    };
    Err(Failure::advised(problem, "name the tool: jp-confine vfs -- TOOL"))
}

/// A policy that denies a tool every path that `tiers` withhold or ask about: a tool has nobody to prompt.
fn withheld(context: &Context, tiers: &Tiers) -> io::Result<Option<NamedTempFile>> {
    let patterns: Vec<&str> = tiers.withholding().collect();
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut builder = tempfile::Builder::new();
    let mut file = builder.prefix(PREFIX).suffix(".json").tempfile_in(&context.temp)?;
    serde_json::to_writer(&mut file, &json!({"file_policy": {"deny_paths": patterns}}))?;
    Ok(Some(file))
}

/// Rejects hosting a tool inside another run. There is no supervisor to enforce `strict`, and that run's library would
/// not see the service's operations for the tool (`docs/decisions/0016`).
///
/// # Errors
/// There is a run around this one, or nobody can find out.
pub(super) fn refuse_inside(context: &Context) -> Result<(), Failure> {
    if Outer::find(context)?.is_none() {
        return Ok(());
    }
    Err(Failure::advised(
        "a tool cannot be held inside another run: there is no supervisor for it, and that run's library \
         does not see what the service does",
        "start the service outside of that run",
    ))
}

/// The variables of the tool's programs, before rules.
pub(super) fn surroundings(context: &Context) -> Vec<(OsString, OsString)> {
    let is_own = |name: &OsStr| OWN.iter().any(|known| name == *known);
    let kept = context.environment.iter().filter(|(name, _)| is_base(name) || is_own(name));
    kept.cloned().collect()
}

fn is_base(name: &OsStr) -> bool {
    variables::is_base(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_is_withheld_there_is_no_policy_that_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let context = Context::bare(folder.path());
        assert!(withheld(&context, &Tiers::default()).expect("written").is_none());
        assert_eq!(folder.path().read_dir().expect("listed").count(), 0);
    }
}
