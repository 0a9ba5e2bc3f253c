//! Decides a run's network access: all of it, none, or as rules allow.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use jp_confine_engine::net::{Divided, Net, NetRule};

use super::names::Names;
use super::{Network, proxy};
use crate::cli::host::HostAddress;
use crate::cli::{Enforce, Options};
use crate::error::Failure;
use crate::host::machine::{Feature, Machine};
use crate::plan::filter::Sockets;

/// The network access of a run.
#[derive(Clone, Debug)]
pub(crate) enum NetworkAccess {
    /// Everything, because nothing is declared.
    Free,
    /// Local sockets only.
    Nothing(DisabledBy),
    /// As rules allow.
    Judged(ConnectionRules),
}

/// Why a run has no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DisabledBy {
    /// `--no-net`.
    NoNet,
    /// `--isolated`.
    Isolated,
    /// The program was started for a tool that is served.
    Service,
    /// The program is such a tool, which has no other access either.
    Tool,
}

impl DisabledBy {
    const fn of(options: &Options) -> Self {
        match options {
            Options { hosted: true, .. } => Self::Tool,
            Options { service: true, .. } => Self::Service,
            Options { isolated: true, .. } => Self::Isolated,
            _ => Self::NoNet,
        }
    }

    /// The reason in words for people.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NoNet => "--no-net",
            Self::Isolated => "--isolated",
            Self::Service | Self::Tool => "the file service",
        }
    }

    /// How to get access.
    pub(crate) const fn way_out(self) -> &'static str {
        match self {
            Self::NoNet | Self::Isolated => {
                "leave it out, or allow a host beside it: --net HOST[:PORT]"
            }
            Self::Service => "a tool's programs have no network: it asks for documents by http.get",
            Self::Tool => {
                "a tool has no access of its own: it asks by fs.*, http.* and process.run"
            }
        }
    }
}

/// The rules for connections.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionRules {
    rules: Net,
    typed: Vec<HostAddress>,
    has_proxy: bool,
    proxy: Option<Arc<TcpListener>>,
}

/// Whether rules of files count.
pub(crate) const fn files_count(options: &Options) -> bool {
    options.service || !options.has_no_network()
}

/// The rules that count for a run: those of files, unless overridden, and then those typed.
pub(crate) fn rules(options: &Options, of_files: Vec<NetRule>) -> Vec<NetRule> {
    let of_files = if files_count(options) { of_files } else { Vec::new() };
    of_files.into_iter().chain(options.hosts.net.iter().cloned()).collect()
}

impl NetworkAccess {
    /// The access that `rules`, all that count for the run, and the options give. Served tools have no network of their
    /// own. Their rules are for the services.
    pub(crate) fn of(options: &Options, rules: &Net) -> Self {
        if options.service || options.has_no_network() && options.hosts.net.is_empty() {
            return Self::Nothing(DisabledBy::of(options));
        }
        if !rules.is_declared() {
            return Self::Free;
        }
        Self::Judged(ConnectionRules {
            rules: rules.clone(),
            typed: options.hosts.resolve.clone(),
            has_proxy: options.hosts.net_proxy,
            proxy: None,
        })
    }

    /// The access of a learning run, which observes connections even without rules.
    pub(crate) fn watched(self, options: &Options) -> Self {
        match self {
            Self::Free => Self::Judged(ConnectionRules {
                rules: Net::default(),
                typed: options.hosts.resolve.clone(),
                has_proxy: false,
                proxy: None,
            }),
            order => order,
        }
    }

    /// Fails if the access could not be enforced.
    ///
    /// # Errors
    /// Names the obstacle: rules about paths, which connections do not show, `--resolve` without any lookup for the
    /// run, or a missing supervisor.
    pub(crate) fn require(&self, options: &Options, machine: Machine) -> Result<(), Failure> {
        let Self::Judged(ConnectionRules { rules, has_proxy, .. }) = self else {
            return useless(options);
        };
        if !rules.is_declared() {
            // A learning run itself reports that nobody can watch.
            return if options.hosts.net_proxy { useless(options) } else { Ok(()) };
        }
        if let Some(divided) = rules.divided().filter(|_| !has_proxy) {
            return Err(invisible(&divided));
        }
        let enforce = options.enforce.unwrap_or_default();
        let message = if enforce == Enforce::Cooperative {
            "--enforce cooperative cannot hold network rules, which the library does not judge"
        } else if !machine.supervises() {
            "network rules need a supervisor, which cannot be had here: nothing was run"
        } else if !machine.has(Feature::Descriptors) {
            "network rules need pidfd_getfd(2), which cannot be had here: nothing was run"
        } else {
            return Ok(());
        };
        let advice = "`--no-net` takes the network away; `jp-confine doctor` says what is missing";
        Err(Failure::advised(message, advice))
    }

    /// The sockets that the filter allows.
    pub(crate) fn sockets(&self) -> Sockets {
        match self {
            Self::Free => Sockets::All,
            Self::Nothing(_) => Sockets::Local,
            Self::Judged(_) => Sockets::Judged,
        }
    }

    /// Why there is no network, if there is none.
    pub(crate) const fn without(&self) -> Option<DisabledBy> {
        match self {
            Self::Nothing(without) => Some(*without),
            Self::Free | Self::Judged(_) => None,
        }
    }

    /// Whether connections are judged.
    pub(crate) fn is_judged(&self) -> bool {
        matches!(self, Self::Judged(_))
    }

    /// Whether programs may use a proxy.
    pub(crate) fn has_proxy(&self) -> bool {
        matches!(self, Self::Judged(ConnectionRules { has_proxy: true, .. }))
    }

    /// The rules for the supervisor, if any, with the proxy's socket.
    ///
    /// # Errors
    /// Fails if a proxy is wanted and cannot be opened.
    pub(crate) fn judged(&self) -> io::Result<Option<ConnectionRules>> {
        let Self::Judged(judged) = self else { return Ok(None) };
        let proxy = judged.has_proxy.then(proxy::open).transpose()?;
        Ok(Some(ConnectionRules { proxy, ..judged.clone() }))
    }
}

impl ConnectionRules {
    /// Opens the sockets. Called by the process that judges.
    ///
    /// # Errors
    /// Fails if the sockets cannot be opened.
    pub(crate) fn open(self) -> io::Result<Network> {
        Network::open(self.rules, Names::new(self.typed), self.proxy)
    }

    /// The proxy's address, if there is one.
    pub(crate) fn proxy(&self) -> Option<SocketAddr> {
        self.proxy.as_ref()?.local_addr().ok()
    }
}

/// Fails if options are useless without rules.
fn useless(options: &Options) -> Result<(), Failure> {
    let advice = "allow hosts as well: --net HOST, or [[access.net]] in a policy file";
    let message = match options.hosts.resolve.first() {
        _ if options.hosts.net_proxy => "--net-proxy has no rule that it could hold".to_owned(),
        Some(one) => format!("--resolve {}=… serves no rule about hosts", one.name),
        None => return Ok(()),
    };
    Err(Failure::advised(message, advice))
}

fn invisible(Divided { host, port, rule }: &Divided) -> Failure {
    Failure::advised(
        format!(
            "a connection to {host}:{port} does not show the path, which a rule decides by: {rule}"
        ),
        "`--net-proxy` makes plain HTTP show it; or leave out path_prefix",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::host::{self, HostOptions};
    use crate::host::machine::Absent;

    fn rule(word: &str) -> NetRule {
        host::rule(word).expect(word)
    }

    /// The access and the rules that count. With `has_file` a file has the rule `file.test`.
    fn ordered(options: &Options, has_file: bool) -> (NetworkAccess, Vec<String>) {
        let of_files = if has_file { vec![rule("file.test")] } else { Vec::new() };
        let rules = rules(options, of_files);
        let order = NetworkAccess::of(options, &Net::new(&rules).expect("rules"));
        (order, rules.into_iter().map(|rule| rule.host).collect())
    }

    fn options(no_net: bool, service: bool, net: &[&str]) -> Options {
        let net = net.iter().map(|word| rule(word)).collect();
        let hosts = HostOptions { net, ..HostOptions::default() };
        Options { hosts, no_net, service, ..Options::default() }
    }

    #[test]
    fn no_net_takes_back_what_files_allow_and_not_what_is_typed() {
        let row = |no_net, net: &[&str], has_file| {
            let (order, rules) = ordered(&options(no_net, false, net), has_file);
            (order.sockets(), rules.join(" "))
        };
        assert_eq!(row(false, &[], false), (Sockets::All, String::new()));
        assert_eq!(row(false, &[], true), (Sockets::Judged, "file.test".to_owned()));
        assert_eq!(row(false, &["a.test"], true), (Sockets::Judged, "file.test a.test".to_owned()));
        assert_eq!(row(true, &[], true), (Sockets::Local, String::new()));
        assert_eq!(row(true, &["a.test"], true), (Sockets::Judged, "a.test".to_owned()));
    }

    #[test]
    fn tools_that_are_served_keep_their_rules_and_have_no_network() {
        let (order, rules) = ordered(&options(true, true, &["a.test"]), true);
        assert_eq!((order.sockets(), rules.len()), (Sockets::Local, 2));
        let tool = Options { hosted: true, ..options(true, false, &[]) };
        assert_eq!(ordered(&tool, true).0.without(), Some(DisabledBy::Tool));
    }

    #[test]
    fn nothing_runs_that_could_not_be_held() {
        let machine = Machine::look(&Absent::NONE, false);
        let with = |net: &[&str], enforce| Options { enforce, ..options(false, false, net) };
        let fails = |options: &Options, machine: Machine| {
            ordered(options, false).0.require(options, machine).is_err()
        };
        assert!(fails(&with(&["a.test"], Some(Enforce::Cooperative)), machine));
        assert!(fails(&with(&["a.test"], None), machine.without_listener()));
        assert!(!fails(&with(&[], None), machine.without_listener()));
        assert_eq!(fails(&with(&["a.test"], None), machine), !machine.supervises());
        let mut divided = with(&[], None);
        divided.hosts.net = vec![NetRule { path_prefix: Some("/x".to_owned()), ..rule("a.test") }];
        assert!(fails(&divided, machine));
        divided.hosts.net_proxy = true;
        assert_eq!(fails(&divided, machine), !machine.supervises());
    }
}
