//! What a policy says of other things than files, for those who serve them to tools.

use std::string::String;
use std::vec::Vec;

use crate::commands::Commands;
use crate::env::{Env, EnvError, EnvRule};
use crate::net::{Net, NetError, NetRule};

/// The rules as written (spec §2.1), of a tool or a run, after the layers are merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// `access.net`.
    pub net: Vec<NetRule>,
    /// `access.env`.
    pub env: Vec<EnvRule>,
    /// `access.commands`; absent: none.
    pub commands: Option<Commands>,
    /// `access.net_env`: variables that may stand in headers.
    pub net_env: Vec<String>,
}

/// The rules, ready to be asked. The default allows nothing.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    /// Hosts.
    pub net: Net,
    /// Variables that programs may have.
    pub env: Env,
    /// Programs.
    pub commands: Commands,
    /// Variables that may stand in headers.
    pub net_env: Env,
}

/// A rule that cannot stand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    /// Of `access.net`.
    #[error(transparent)]
    Net(#[from] NetError),
    /// Of `access.env` or `access.net_env`.
    #[error("access: {0}")]
    Env(#[from] EnvError),
}

impl Written {
    /// Compiles the rules.
    ///
    /// # Errors
    /// [`ResourceError`] for the first that cannot stand.
    pub fn compile(&self) -> Result<Resources, ResourceError> {
        Ok(Resources {
            net: Net::new(&self.net)?,
            env: Env::new(&self.env)?,
            commands: self.commands.clone().unwrap_or_default(),
            net_env: Env::readable(&self.net_env)?,
        })
    }
}
