//! The rules of a policy about other things than files, for programs that serve them to tools.

use std::string::String;
use std::vec::Vec;

use crate::commands::Commands;
use crate::env::{Env, EnvError, EnvRule};
use crate::net::{Net, NetError, NetRule};

/// The rules as written (spec §2.1), for a tool or a run, after the layers are merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// `access.net`.
    pub net: Vec<NetRule>,
    /// `access.env`.
    pub env: Vec<EnvRule>,
    /// `access.commands`. Absent: none.
    pub commands: Option<Commands>,
    /// `access.net_env`: variables that may stand in headers.
    pub net_env: Vec<String>,
}

/// The compiled rules. The default allows nothing.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    /// Hosts.
    pub net: Net,
    /// Variables that programs may read.
    pub env: Env,
    /// Programs.
    pub commands: Commands,
    /// Variables that may stand in headers.
    pub net_env: Env,
}

/// An invalid rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    /// In `access.net`.
    #[error(transparent)]
    Net(#[from] NetError),
    /// In `access.env` or `access.net_env`.
    #[error("access: {0}")]
    Env(#[from] EnvError),
}

impl Written {
    /// Compiles the rules.
    ///
    /// # Errors
    /// [`ResourceError`] for the first invalid rule.
    pub fn compile(&self) -> Result<Resources, ResourceError> {
        Ok(Resources {
            net: Net::new(&self.net)?,
            env: Env::new(&self.env)?,
            commands: self.commands.clone().unwrap_or_default(),
            net_env: Env::readable(&self.net_env)?,
        })
    }
}
