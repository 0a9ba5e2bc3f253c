//! Captures the environment of this process once. Further in, only `TERM` and `NO_COLOR` are read, for the terminal.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::control::Homes;

use crate::error::Failure;
use crate::host::machine::{Absent, Machine, WITHOUT};
use crate::host::outer_views::OuterViews;
use crate::sys::child;

/// The environment of this process.
#[derive(Debug)]
pub(crate) struct Context {
    /// The working directory, canonical.
    pub(crate) cwd: PathBuf,
    /// The working directory as the shell spells it, if `$PWD` is the same directory.
    pub(crate) spelled_cwd: PathBuf,
    /// The user's own directories.
    pub(crate) homes: Homes,
    /// The canonical form of the home: `$HOME`, or the account's if that is unset.
    pub(crate) canonical_home: Option<PathBuf>,
    /// The views of the run around this one. Of the other fields only `temp` is led through them.
    pub(crate) outer_views: OuterViews,
    /// The host's directory for temporary files, canonical if it exists.
    pub(crate) temp: PathBuf,
    /// `PATH`, where programs are looked up.
    pub(crate) path: OsString,
    /// The whole environment, for profile entries that name variables.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Whether the sockets that this process was started with are for it (`sd_listen_fds(3)`), and so for its program.
    pub(crate) is_activated: bool,
    /// The kernel features to treat as absent.
    pub(crate) absent: Absent,
}

impl Context {
    /// Captures the environment. Fails if the working directory is gone.
    pub(crate) fn capture() -> Result<Self, Failure> {
        // Now, because nothing is open yet but what the program inherits.
        child::inherited_descriptors();
        let cwd = env::current_dir().map_err(|error| {
            Failure::own(format!("the working directory cannot be resolved: {error}"))
        })?;
        let homes = Homes::of_environment();
        let outer_views = OuterViews::find(env::var_os(HANDLES).as_deref());
        let temp = env::temp_dir();
        let without = env::var_os(WITHOUT).unwrap_or_default();
        Ok(Self {
            spelled_cwd: spelled_cwd(&cwd),
            canonical_home: homes.protected.first().and_then(|home| home.canonicalize().ok()),
            temp: outer_views.real(temp.canonicalize().unwrap_or(temp)),
            path: env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()),
            environment: env::vars_os().collect(),
            is_activated: env::var(LISTEN_PID).is_ok_and(|it| it == std::process::id().to_string()),
            absent: Absent::parse(&without.to_string_lossy())?,
            outer_views,
            homes,
            cwd,
        })
    }

    /// The user's configuration file, whether it exists or not.
    pub(crate) fn configuration(&self) -> Option<PathBuf> {
        self.homes.configuration()
    }

    /// `path` made absolute from the working directory. No I/O.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    /// Replaces `~` and `~/…` with the home directory. Any other leading `~` is part of a name.
    pub(crate) fn with_home(&self, typed: &Path) -> Result<PathBuf, String> {
        let Ok(rest) = typed.strip_prefix("~") else { return Ok(typed.to_owned()) };
        let home = self.homes.user.as_ref().ok_or("`~` means nothing: HOME is not set")?;
        Ok(home.join(rest))
    }

    /// Sets the variables of `--env NAME=VALUE`, for the programs that are started.
    pub(crate) fn set_variables<'v>(&mut self, set: impl Iterator<Item = (&'v str, &'v OsStr)>) {
        for (name, value) in set {
            self.environment.retain(|(known, _)| known != name);
            self.environment.push((name.into(), value.to_owned()));
        }
    }

    /// An environment variable. An empty one counts as unset.
    pub(crate) fn variable(&self, name: &OsStr) -> Option<&OsStr> {
        let (_, value) = self.environment.iter().find(|(known, _)| known == name)?;
        (!value.is_empty()).then_some(value)
    }

    /// The directories of `PATH`.
    pub(crate) fn commands(&self) -> Vec<PathBuf> {
        let path = self.variable(OsStr::new("PATH"));
        path.map(std::env::split_paths).into_iter().flatten().collect()
    }

    /// The names of the environment's variables that rules can name: those in UTF-8.
    pub(crate) fn variable_names(&self) -> Vec<&str> {
        self.environment.iter().filter_map(|(name, _)| name.to_str()).collect()
    }
}

impl Context {
    /// The kernel features of this machine, without those to treat as absent.
    pub(crate) fn machine(&self) -> Machine {
        Machine::look(&self.absent, self.variable(HANDLES.as_ref()).is_some())
    }
}

fn absolute(value: Option<OsString>) -> Option<PathBuf> {
    value.map(PathBuf::from).filter(|path| path.is_absolute())
}

/// `$PWD`, if it still names the working directory. Otherwise the canonical path.
fn spelled_cwd(cwd: &Path) -> PathBuf {
    let same = |pwd: &PathBuf| {
        let (Ok(there), Ok(here)) = (pwd.metadata(), cwd.metadata()) else { return false };
        there.dev() == here.dev() && there.ino() == here.ino()
    };
    absolute(env::var_os("PWD")).filter(same).unwrap_or_else(|| cwd.to_owned())
}

#[cfg(test)]
impl Context {
    /// An empty environment with the working directory `cwd`.
    pub(crate) fn bare(cwd: &Path) -> Self {
        Self {
            cwd: cwd.to_owned(),
            spelled_cwd: cwd.to_owned(),
            homes: Homes::default(),
            canonical_home: None,
            outer_views: OuterViews::default(),
            temp: cwd.to_owned(),
            path: OsString::new(),
            environment: Vec::new(),
            is_activated: false,
            absent: Absent::NONE,
        }
    }
}

/// The variable that names the process that inherited sockets are for (`sd_listen_fds(3)`).
pub(crate) const LISTEN_PID: &str = "LISTEN_PID";

/// The variable that names the descriptors for the library.
pub(crate) const HANDLES: &str = "JP_CONFINE";

/// The variable that tells programs, such as a coding agent, that they are confined, and its value.
pub(crate) const NOTE: (&str, &str) = (
    "JP_CONFINE_NOTE",
    "jp-confine confines this program: it can touch only what was granted, and other paths look absent or say \
     \"Permission denied\". `jp-confine status` lists what is granted; the person who started the run can allow more \
     with options such as -r PATH, -w PATH or --net HOST.",
);
