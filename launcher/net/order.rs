//! What a run is to have of the network: all of it, nothing, or what rules allow.

use std::io;

use clap::Args;
use clap::builder::{NonEmptyStringValueParser, TypedValueParser as _};
use jp_confine_policy::net::{Divided, Net, NetRule};

use super::Network;
use super::names::Names;
use super::typed::{self, Resolution};
use crate::cli::{Enforce, Options};
use crate::failure::Failure;
use crate::filter::Sockets;
use crate::machine::Machine;

/// The options about hosts.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct HostOptions {
    /// Connect to this host, and else to none; without a port to the scheme's own, or those of http,
    /// https and ftp; repeatable. With --no-net rules in files do not count
    #[arg(long, value_name = "[SCHEME://]HOST[:PORT]")]
    #[arg(value_parser = NonEmptyStringValueParser::new().try_map(|word| typed::rule(&word)))]
    pub(crate) net: Vec<NetRule>,
    /// An address that a host name has, whatever the system says; repeatable
    #[arg(long, value_name = "NAME=ADDRESS")]
    #[arg(value_parser = NonEmptyStringValueParser::new().try_map(|word| typed::resolution(&word)))]
    pub(crate) resolve: Vec<Resolution>,
}

impl HostOptions {
    /// These, and then those that came later.
    pub(crate) fn then(mut self, later: Self) -> Self {
        self.net.extend(later.net);
        self.resolve.extend(later.resolve);
        self
    }
}

/// What a run has of the network.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    /// All, because nothing is said.
    Free,
    /// Local sockets alone.
    Nothing,
    /// What rules allow.
    Judged(Judged),
}

/// What connections are judged by.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    rules: Net,
    typed: Vec<Resolution>,
}

/// The rules that count for a run: those of files, unless they are taken back, and then those typed.
pub(crate) fn rules(options: &Options, of_files: Vec<NetRule>) -> Vec<NetRule> {
    let of_files = if options.no_net && !options.service { Vec::new() } else { of_files };
    of_files.into_iter().chain(options.hosts.net.iter().cloned()).collect()
}

impl Order {
    /// What `rules`, all that count for the run, and the options come to. Tools that are served have no
    /// network of their own; their rules are for what they are served.
    pub(crate) fn of(options: &Options, rules: &Net) -> Self {
        if options.service || options.no_net && options.hosts.net.is_empty() {
            return Self::Nothing;
        }
        if !rules.is_declared() {
            return Self::Free;
        }
        Self::Judged(Judged { rules: rules.clone(), typed: options.hosts.resolve.clone() })
    }

    /// Fails where a run could not be held to it.
    ///
    /// # Errors
    /// What is in the way: rules about paths, which connections do not show; `--resolve` where nobody looks
    /// up names for the run; no supervisor.
    pub(crate) fn require(&self, options: &Options, machine: Machine) -> Result<(), Failure> {
        let Self::Judged(Judged { rules, .. }) = self else {
            return options.hosts.resolve.first().map_or(Ok(()), |one| Err(useless(&one.name)));
        };
        if let Some(divided) = rules.divided() {
            return Err(invisible(&divided));
        }
        let enforce = options.enforce.unwrap_or_default();
        let message = if enforce == Enforce::Cooperative {
            "--enforce cooperative cannot hold network rules, which the library does not judge"
        } else if !machine.supervises() {
            "network rules need a supervisor, which cannot be had here: nothing was run"
        } else {
            return Ok(());
        };
        let advice = "`--no-net` takes the network away; `jp-confine doctor` says what is missing";
        Err(Failure::advised(message, advice))
    }

    /// Which sockets the filter lets through.
    pub(crate) fn sockets(&self) -> Sockets {
        match self {
            Self::Free => Sockets::All,
            Self::Nothing => Sockets::Local,
            Self::Judged(_) => Sockets::Judged,
        }
    }

    /// Whether connections are judged.
    pub(crate) fn is_judged(&self) -> bool {
        matches!(self, Self::Judged(_))
    }

    /// What the supervisor is to judge by, if anything.
    pub(crate) fn judged(&self) -> Option<Judged> {
        match self {
            Self::Judged(judged) => Some(judged.clone()),
            Self::Free | Self::Nothing => None,
        }
    }
}

impl Judged {
    /// Begins to judge; for the process that is to do so.
    ///
    /// # Errors
    /// Where there can be no sockets for it.
    pub(crate) fn open(self) -> io::Result<Network> {
        Network::open(self.rules, Names::new(self.typed))
    }
}

fn useless(name: &str) -> Failure {
    Failure::advised(
        format!(
            "--resolve {name}=… serves nobody: names are looked up for runs with rules about hosts"
        ),
        format!("allow the host as well: --net {name}"),
    )
}

fn invisible(Divided { host, port, rule }: &Divided) -> Failure {
    Failure::advised(
        format!(
            "a connection to {host}:{port} does not show the path, which a rule decides by: {rule}"
        ),
        "leave out path_prefix, or serve the program as a tool: `jp-confine vfs`",
    )
}
