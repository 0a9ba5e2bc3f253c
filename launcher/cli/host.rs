//! Parses the options about hosts: `--net [SCHEME://]HOST[:PORT]`, `--net-preset NAME` and `--resolve NAME=ADDRESS`.

use std::ffi::OsStr;
use std::net::IpAddr;

use clap::Args;
use clap::builder::{
    NonEmptyStringValueParser, PossibleValue, StringValueParser, TypedValueParser,
};
use jp_confine_engine::net::{self, Host, Net, NetRule};

use crate::config::host_presets;

/// The address of a host name, which overrides the system's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostAddress {
    /// In ASCII and lower case.
    pub(crate) name: String,
    pub(crate) address: IpAddr,
}

/// Reads a value of `--net` as a rule that allows.
///
/// # Errors
/// A message that says what is wrong or what to write.
pub(crate) fn rule(word: &str) -> Result<NetRule, String> {
    let (scheme, rest) =
        word.split_once("://").map_or((None, word), |(scheme, rest)| (Some(scheme), rest));
    let rest = rest.strip_suffix('/').filter(|_| scheme.is_some()).unwrap_or(rest);
    if rest.contains('/') {
        return Err("paths are for files: `path_prefix` in `[[access.net]]`".to_owned());
    }
    let is_bare_v6 = rest.parse::<std::net::Ipv6Addr>().is_ok();
    let (host, port) = match rest.rsplit_once(':') {
        Some(_) if is_bare_v6 => return Err(format!("write [{rest}], or [{rest}]:PORT")),
        Some((host, port)) if !rest.ends_with(']') => (host, Some(port)),
        _ => (rest, None),
    };
    let port = port.map(|port| port.parse().ok().filter(|port| *port != 0));
    if port == Some(None) {
        return Err("the port is a number from 1 to 65535".to_owned());
    }
    let rule = NetRule {
        host: host.to_owned(),
        scheme: scheme.map(ToOwned::to_owned),
        port: port.flatten(),
        allow: true,
        ..NetRule::default()
    };
    Net::new(std::slice::from_ref(&rule)).map_err(|error| error.to_string())?;
    Ok(rule)
}

/// The value of `--net` that is read as `rule`.
pub(crate) fn word(rule: &NetRule) -> String {
    let scheme = rule.scheme.as_ref().map(|scheme| format!("{scheme}://")).unwrap_or_default();
    let port = rule.port.map(|port| format!(":{port}")).unwrap_or_default();
    format!("{scheme}{}{port}", rule.host)
}

/// Reads a value of `--resolve`.
///
/// # Errors
/// A message that says what to write.
pub(crate) fn resolution(word: &str) -> Result<HostAddress, String> {
    let wrong = || "write NAME=ADDRESS, a host name and the address that it has".to_owned();
    let (name, address) = word.split_once('=').ok_or_else(wrong)?;
    let Some(Host::Domain(name)) = net::host(name) else { return Err(wrong()) };
    let bare = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(address);
    let address: IpAddr = bare.parse().map_err(|_| wrong())?;
    Ok(HostAddress { name, address: address.to_canonical() })
}

/// The rules of a preset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Preset(Vec<NetRule>);

/// Reads a value of `--net-preset`. Shells complete the names.
#[derive(Clone)]
struct Presets;

impl TypedValueParser for Presets {
    type Value = Preset;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Preset, clap::Error> {
        let rules = |name: String| {
            let hosts = host_presets::hosts(&name)?;
            hosts.iter().map(|word| rule(word)).collect::<Result<_, _>>().map(Preset)
        };
        StringValueParser::new().try_map(rules).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(host_presets::names().map(PossibleValue::new)))
    }
}

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct HostOptions {
    /// Allow only this host, or all names below one with `*.NAME`; repeatable. Without a port: the
    /// scheme's, or those of http, https and ftp. --no-net overrides host rules in policy files
    #[arg(long, value_name = "[SCHEME://]HOST[:PORT]")]
    #[arg(value_parser = NonEmptyStringValueParser::new().try_map(|word| rule(&word)))]
    pub(crate) net: Vec<NetRule>,
    /// Allow the hosts of an agent or a registry, as `claude`, `github` or `npm`; repeatable
    #[arg(long = "net-preset", value_name = "NAME")]
    #[arg(value_parser = Presets, hide_possible_values = true)]
    pub(crate) presets: Vec<Preset>,
    /// Use this address for a host name instead of the system's; repeatable
    #[arg(long, value_name = "NAME=ADDRESS")]
    #[arg(value_parser = NonEmptyStringValueParser::new().try_map(|word| resolution(&word)))]
    pub(crate) resolve: Vec<HostAddress>,
    /// Send plain HTTP through a proxy, which applies rules about paths
    #[arg(long)]
    pub(crate) net_proxy: bool,
}

impl HostOptions {
    /// These options, followed by the `later` ones.
    pub(crate) fn then(mut self, later: Self) -> Self {
        self.net.extend(later.net);
        self.presets.extend(later.presets);
        self.resolve.extend(later.resolve);
        self.net_proxy |= later.net_proxy;
        self
    }

    /// These options with the hosts of presets among those of `--net`.
    pub(super) fn without_presets(mut self) -> Self {
        let presets = std::mem::take(&mut self.presets);
        self.net.extend(presets.into_iter().flat_map(|Preset(rules)| rules));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_typed_with_and_without_more() {
        let parts = |word: &str| {
            let rule = rule(word).expect(word);
            assert!(rule.allow && rule.path_prefix.is_none());
            (rule.host, rule.scheme, rule.port)
        };
        let owned = |text: &str| Some(text.to_owned());
        assert_eq!(parts("a.b"), ("a.b".into(), None, None));
        assert_eq!(parts("a.b:8443"), ("a.b".into(), None, Some(8443)));
        assert_eq!(parts("https://a.b"), ("a.b".into(), owned("https"), None));
        assert_eq!(parts("https://a.b:1/"), ("a.b".into(), owned("https"), Some(1)));
        assert_eq!(parts("*.a.b:8443"), ("*.a.b".into(), None, Some(8443)));
        assert_eq!(parts("[::1]"), ("[::1]".into(), None, None));
        assert_eq!(parts("[::1]:53"), ("[::1]".into(), None, Some(53)));
        assert_eq!(parts("münchen.de:80"), ("münchen.de".into(), None, Some(80)));
    }

    #[test]
    fn each_host_of_a_preset_is_a_rule() {
        let command = clap::Command::new("x");
        let read = |name: &str| Presets.parse_ref(&command, None, OsStr::new(name));
        for name in host_presets::names() {
            assert!(!read(&name).expect(&name).0.is_empty(), "{name}");
        }
        for (agent, _) in crate::config::profiles::AGENTS {
            assert!(read(agent).is_ok(), "{agent}");
        }
        let error = read("gihub").expect_err("no preset");
        assert!(error.to_string().contains("did you mean `github`?"), "{error}");
    }

    #[test]
    fn what_is_no_host_is_refused_with_a_way_out() {
        for (word, way) in [
            ("", "no host"),
            ("::1", "[::1]"),
            ("a.b/x", "path_prefix"),
            ("https://a.b/x", "path_prefix"),
            ("a.b:0", "65535"),
            ("a.b:70000", "65535"),
            ("a.b:", "65535"),
            ("*", "no host"),
            ("a.*.b", "no host"),
            ("*.10.0.0.1", "no host"),
            ("u@a.b", "no host"),
            ("1x://a.b", "no scheme"),
        ] {
            let error = rule(word).expect_err(word);
            assert!(error.contains(way), "{word}: {error}");
        }
    }

    #[test]
    fn resolutions_are_a_name_and_an_address() {
        let read = resolution("MÜNCHEN.de.=::ffff:1.2.3.4").expect("a resolution");
        assert_eq!(read.name, "xn--mnchen-3ya.de");
        assert_eq!(read.address, IpAddr::from([1, 2, 3, 4]));
        assert!(resolution("a.b=[::1]").is_ok());
        for word in ["a.b", "a.b=c.d", "1.2.3.4=5.6.7.8", "=1.2.3.4"] {
            assert!(resolution(word).is_err(), "{word}");
        }
    }
}
