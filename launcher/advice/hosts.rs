//! Suggests a rule for a denied connection, tried on the evaluator.

use std::net::IpAddr;

use jp_confine_engine::coverage::Coverage;
use jp_confine_engine::net::{self, Host, HostReach, Net, NetRule, may_stand_for};
use jp_confine_engine::rule_name::RuleName;
use url::Url;

use crate::network::address;
use crate::record::denial::{Denial, Reason};

/// A rule that allows a denied connection, as an option and for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The word for `--net`.
    pub(crate) typed: String,
    /// The rule for a policy file.
    pub(crate) rule: NetRule,
}

impl Way {
    /// Whether `later`, placed behind its rule, would deny the connection again.
    pub(crate) fn is_outweighed_by(&self, later: &NetRule, denial: &Denial) -> bool {
        let both = Net::new(&[self.rule.clone(), later.clone()]);
        !both.is_ok_and(|both| allows(&both, denial))
    }

    /// The value to type for a port that is no scheme's default. A program that only looks up a name does not reveal
    /// its port.
    pub(crate) fn at_other_ports(&self) -> Option<String> {
        let typed = || format!("on another port than its scheme's: {}:PORT", self.typed);
        self.rule.port.is_none().then(typed)
    }
}

/// The rule that denies the connection, for people.
pub(crate) fn rule(rules: &Net, denial: &Denial) -> Option<RuleName> {
    let (host, port) = target(denial)?;
    let forbidding = |host: &Host| rules.forbidding(host, port.unwrap_or_default());
    let rule = forbidding(&host).or_else(|| names_here(rules, &host).find_map(forbidding))?;
    let words = format!("access.net rule {rule}");
    Some(RuleName::written(words, rule.source.place().as_ref()))
}

/// The names in rules that may stand for an address of this machine. Programs know these without a lookup.
fn names_here<'r>(rules: &'r Net, host: &Host) -> impl Iterator<Item = &'r Host> {
    let address = match *host {
        Host::Ipv4(address) => Some(IpAddr::from(address)),
        Host::Ipv6(address) => Some(IpAddr::from(address)),
        Host::Domain(_) => None,
    };
    let here = address.filter(IpAddr::is_loopback);
    let is_name = move |host: &&Host| match (host, here) {
        (Host::Domain(name), Some(here)) => may_stand_for(name, here, true),
        _ => false,
    };
    rules.hosts().into_iter().filter(is_name)
}

/// The suggestion for a denial, or the reason why there is none.
pub(crate) fn advise(rules: &Net, denial: &Denial) -> Result<Way, String> {
    if denial.reason == Reason::Listen {
        return Err(
            "with network rules programs listen on loopback only: bind 127.0.0.1".to_owned()
        );
    }
    if denial.reason == Reason::Peer {
        return Err("its server is outside the run, and no rule is about such sockets".to_owned());
    }
    if denial.reason == Reason::Near {
        return Err(near(&String::from_utf8_lossy(&denial.path)));
    }
    let useless = || "no rule can allow it".to_owned();
    let url = url(denial);
    let (host, port) = target(denial).ok_or_else(useless)?;
    let is_divided = port.is_some_and(|port| rules.reach(&host, port) == HostReach::Parts);
    if url.is_none() && is_divided {
        return Err("the path decides there, which only the proxy sees, by plain HTTP".to_owned());
    }
    let typed = port.map_or_else(|| host.to_string(), |port| format!("{host}:{port}"));
    let rule = NetRule { host: bare(&host), port, allow: true, ..NetRule::default() };
    let suffices = |rule: &NetRule| rules.with(rule).is_ok_and(|rules| allows(&rules, denial));
    if suffices(&rule) {
        // If rules distinguish paths, the suggested rule opens only this path. An option cannot name a path.
        let path = url.as_ref().map(Url::path).filter(|path| is_divided && *path != "/");
        let narrower =
            path.map(|path| NetRule { path_prefix: Some(path.to_owned()), ..rule.clone() });
        return Ok(Way { typed, rule: narrower.filter(suffices).unwrap_or(rule) });
    }
    let forbidding = rules.forbidding(&host, port.unwrap_or_default());
    Err(forbidding.map_or_else(useless, |rule| format!("access.net rule {rule}: take it out")))
}

/// The suggestion for a name that only stands for addresses of this machine or its link.
fn near(name: &str) -> String {
    format!(
        "it stands for this machine or its link, which is for who runs the program to say: \
         --resolve {name}=ADDRESS"
    )
}

/// Whether these rules allow the denied connection.
fn allows(rules: &Net, denial: &Denial) -> bool {
    if let Some(url) = url(denial).filter(|url| url.port_or_known_default().is_some()) {
        return rules.judge(&url) == Coverage::Allowed;
    }
    target(denial).is_some_and(|(host, port)| match port {
        Some(port) => rules.reach(&host, port) == HostReach::Everything,
        None => rules.admits(&host),
    })
}

/// The URL that was denied, if the proxy denied it.
fn url(denial: &Denial) -> Option<Url> {
    let url = Url::parse(std::str::from_utf8(&denial.path).ok()?).ok()?;
    url.has_host().then_some(url)
}

fn target(denial: &Denial) -> Option<(Host, Option<u16>)> {
    if let Some(url) = url(denial) {
        return Some((net::host(url.host_str()?)?, url.port_or_known_default()));
    }
    address::parse(std::str::from_utf8(&denial.path).ok()?)
}

/// Without brackets, as in rules.
fn bare(host: &Host) -> String {
    match host {
        Host::Ipv6(address) => address.to_string(),
        host => host.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denial(reason: Reason, target: &str) -> Denial {
        Denial::by_supervisor(reason, target.as_bytes(), (1, b"/bin/sh".to_vec()), b"connect")
    }

    fn net(rules: &[(&str, Option<u16>, bool)]) -> Net {
        let rule = |&(host, port, allow): &(&str, Option<u16>, bool)| NetRule {
            host: host.to_owned(),
            port,
            allow,
            ..NetRule::default()
        };
        Net::new(&rules.iter().map(rule).collect::<Vec<_>>()).expect("rules")
    }

    #[test]
    fn the_option_names_host_and_port() {
        let rules = net(&[("a.b", None, true)]);
        let typed =
            |target: &str| advise(&rules, &denial(Reason::Connect, target)).map(|way| way.typed);
        assert_eq!(typed("127.0.0.1:80"), Ok("127.0.0.1:80".to_owned()));
        assert_eq!(typed("[::1]:80"), Ok("[::1]:80".to_owned()));
        assert_eq!(typed("evil.example"), Ok("evil.example".to_owned()));
        let way = advise(&rules, &denial(Reason::Connect, "[::1]:80")).expect("a way");
        assert_eq!(
            (way.rule.host.as_str(), way.rule.port, way.rule.allow),
            ("::1", Some(80), true)
        );
    }

    #[test]
    fn a_rule_about_this_machine_is_named_for_its_addresses() {
        let rules = net(&[("localhost", Some(80), false), ("a.b", None, false)]);
        for (target, is_named) in
            [("127.0.0.1:80", true), ("[::1]:80", true), ("10.0.0.1:80", false)]
        {
            let told = rule(&rules, &denial(Reason::Connect, target));
            assert_eq!(told.is_some_and(|rule| rule.contains("localhost")), is_named, "{target}");
        }
    }

    #[test]
    fn where_rules_tell_paths_apart_the_way_is_as_narrow() {
        let rule = |prefix: Option<&str>| NetRule {
            host: "a.b".to_owned(),
            port: Some(80),
            path_prefix: prefix.map(str::to_owned),
            allow: prefix.is_some(),
            ..NetRule::default()
        };
        for (rules, target, expected) in [
            (vec![rule(Some("/i"))], "http://a.b/j/k?l", Some("/j/k")),
            (vec![rule(Some("/i"))], "http://a.b/", None),
            (vec![rule(None)], "http://a.b/j", None),
        ] {
            let rules = Net::new(&rules).expect("rules");
            let way = advise(&rules, &denial(Reason::Connect, target)).expect("a way");
            assert_eq!(way.typed, "a.b:80");
            assert_eq!(way.rule.path_prefix.as_deref(), expected, "{target}");
        }
    }

    /// A program that is denied the name never gets to the port.
    #[test]
    fn a_name_that_was_looked_up_may_be_for_any_port() {
        let rules = net(&[("a.b", None, true)]);
        let way = |target| advise(&rules, &denial(Reason::Resolve, target)).expect("a way");
        let told = way("c.d").at_other_ports().expect("a port");
        assert!(told.ends_with(": c.d:PORT"), "{told}");
        assert_eq!(way("c.d:80").at_other_ports(), None);
    }

    #[test]
    fn what_a_rule_forbids_more_narrowly_stays_forbidden() {
        let rule = NetRule {
            host: "a.b".to_owned(),
            scheme: Some("https".to_owned()),
            port: Some(443),
            ..NetRule::default()
        };
        let rules = Net::new(&[rule]).expect("rules");
        let refused = denial(Reason::Connect, "a.b:443");
        // Another scheme may still be used.
        assert!(advise(&rules, &refused).is_ok());
        assert!(super::rule(&rules, &refused).is_some_and(|text| text.contains("port = 443")));
        assert!(advise(&rules, &denial(Reason::Listen, "0.0.0.0:80")).is_err());
    }
}
