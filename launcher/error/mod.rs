//! Says why the launcher did not run the program, and with which exit status it ends (spec §18).

pub(crate) mod diagnostic;
pub(crate) mod source;

use std::path::{Path, PathBuf};
use std::{fmt, io};

use crate::error::diagnostic::Diagnostic;
use crate::record::denial::Denial;
use crate::text::quote;

/// Why the program was not run.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong.
    Usage(clap::Error),
    /// A configuration file is wrong.
    Configuration(Box<Diagnostic>),
    /// Any other failure of jp-confine itself: no workspace, no image, no shim …
    Own {
        /// The problem.
        message: String,
        /// The suggestion.
        advice: Option<String>,
    },
    /// The program exists, but may not or cannot be run under confinement.
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: NotRun,
    },
    /// There is no such program.
    NotFound {
        /// Its name as typed.
        program: PathBuf,
    },
}

/// Why a program that exists is not run.
#[derive(Debug)]
pub(crate) enum NotRun {
    /// The policy does not grant the program, or its interpreter or loader.
    Denied(Box<Denial>),
    /// The file itself cannot be run, whatever the policy says.
    Unfit(String),
}

impl Failure {
    /// A failure of jp-confine itself, without a suggestion.
    pub(crate) fn own(message: impl Into<String>) -> Self {
        Self::Own { message: message.into(), advice: None }
    }

    /// A failure of jp-confine itself, with a suggestion.
    pub(crate) fn advised(message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::Own { message: message.into(), advice: Some(advice.into()) }
    }

    /// Puts `named` before the message, to say which of several items failed. An error in a file already names it.
    pub(crate) fn of(self, named: &str) -> Self {
        match self {
            Self::Own { message, advice } => {
                Self::Own { message: format!("{named}: {message}"), advice }
            }
            other => other,
        }
    }

    /// The denial that kept the program from being run.
    pub(crate) fn denial(&self) -> Option<&Denial> {
        match self {
            Self::NotExecutable { reason: NotRun::Denied(denial), .. } => Some(denial),
            _ => None,
        }
    }

    /// The exit status of this process.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Configuration(_) | Self::Own { .. } => 125,
            Self::NotExecutable { .. } => 126,
            Self::NotFound { .. } => 127,
        }
    }
}

/// An error of a system call that the launcher made before the program started.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let message = format!("nothing was run: {error}");
        match error.raw_os_error() {
            Some(libc::EFBIG) => Self::advised(
                message,
                "it keeps a policy, a record and a library in files: allow longer ones (`ulimit -f`)",
            ),
            _ => Self::own(message),
        }
    }
}

impl NotRun {
    /// Puts the `role` of the file at `path` before the reason. A denial already names its file.
    pub(crate) fn of(self, role: &str, path: &Path) -> Self {
        match self {
            Self::Unfit(reason) => Self::Unfit(format!("{role} {}: {reason}", quote::place(path))),
            denied @ Self::Denied(_) => denied,
        }
    }
}

impl fmt::Display for NotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denial) => {
                write!(f, "denied {} {}", denial.missing, quote::printable(&denial.path))
            }
            Self::Unfit(reason) => f.write_str(reason),
        }
    }
}
