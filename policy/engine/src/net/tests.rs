//! Rows: the rules, a URL, and the verdict.

use std::string::ToString;
use std::vec::Vec;

use Coverage::{Allowed, Denied, Uncovered};

use super::*;

/// A rule as `[!][SCHEME://]HOST[:PORT][/PATH]`, where `!` denies.
fn rule(text: &str) -> NetRule {
    let (allow, text) = text.strip_prefix('!').map_or((true, text), |text| (false, text));
    let (scheme, text) = text.split_once("://").map_or((None, text), |(s, t)| (Some(s), t));
    let (text, path) = text.find('/').map_or((text, None), |at| (&text[..at], Some(&text[at..])));
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => (host, port.parse().ok()),
        _ => (text, None),
    };
    let owned = |text: Option<&str>| text.map(ToString::to_string);
    let (host, scheme, path_prefix) = (host.to_string(), owned(scheme), owned(path));
    NetRule { host, scheme, port, path_prefix, allow, ..NetRule::default() }
}

#[track_caller]
fn row(rules: &str, url: &str, expected: Coverage) {
    let rules: Vec<NetRule> = rules.split(' ').map(rule).collect();
    let net = Net::new(&rules).unwrap();
    assert_eq!(net.judge(&Url::parse(url).unwrap()), expected, "{url}");
}

// conformance: 076-93, 076-96, 076-97, 076-99, 076-100, 076-101, 076-112
#[test]
fn hosts_are_equal_or_not() {
    for (host, url, expected) in [
        ("api.github.com", "https://api.github.com/repos", Allowed),
        ("api.github.com", "https://API.GitHub.com./", Allowed),
        ("api.github.com.", "https://api.github.com/", Allowed),
        ("api.github.com", "https://api.github.com.evil.com/", Uncovered),
        ("api.github.com", "https://evil.com/api.github.com", Uncovered),
        ("api.github.com", "https://api.github.com@evil.com/", Uncovered),
        ("api.github.com", "https://u:p@api.github.com/", Allowed),
        ("github.com", "https://api.github.com/", Uncovered),
        ("münchen.de", "https://xn--mnchen-3ya.de/", Allowed),
        ("xn--mnchen-3ya.de", "https://MÜNCHEN.de/", Allowed),
        ("127.0.0.1", "http://0x7f.1/", Allowed),
        ("[::1]", "http://[0:0::1]/", Allowed),
        ("127.0.0.1", "http://localhost/", Uncovered),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]/", Allowed),
        ("![::ffff:127.0.0.1] 127.0.0.2", "http://127.0.0.1/", Denied),
        ("*.github.com", "https://api.github.com/", Allowed),
        ("*.GitHub.com.", "https://a.b.api.github.com./", Allowed),
        ("*.github.com", "https://github.com/", Uncovered),
        ("*.github.com", "https://evilgithub.com/", Uncovered),
        ("*.github.com", "https://api.github.com.evil.com/", Uncovered),
        ("*.münchen.de", "https://x.xn--mnchen-3ya.de/", Allowed),
        // conformance: 076-110
        // One host counts more than all below a name, and a longer name more than a shorter one.
        ("!api.github.com *.github.com", "https://api.github.com/", Denied),
        ("api.github.com !*.github.com:443/x", "https://api.github.com/x", Allowed),
        ("!*.api.github.com *.github.com", "https://v1.api.github.com/", Denied),
        ("*.github.com !*.github.com/x", "https://api.github.com/x", Denied),
        ("*.github.com/x", "https://api.github.com/x%2fy", Denied),
    ] {
        row(host, url, expected);
    }
}

// conformance: 076-105, 076-106, 076-107, 076-108
/// The examples of RFD 076.
#[test]
fn examples_of_hosts_and_paths() {
    for (url, expected) in [
        ("https://api.github.com/repos", Allowed),
        ("https://api.github.com/admin/users", Denied),
        ("https://api.github.com.evil.com/", Uncovered),
        ("https://example.com", Uncovered),
    ] {
        row("api.github.com !api.github.com/admin", url, expected);
    }
}

// conformance: 076-95, 076-134
#[test]
fn what_a_rule_leaves_out() {
    let rule: NetRule = serde_json::from_str(r#"{"host": "a.b"}"#).unwrap();
    assert_eq!(rule, NetRule { host: "a.b".to_string(), ..NetRule::default() });
    let net = Net::new(&[rule]).unwrap();
    assert_eq!(net.judge(&Url::parse("http://a.b/x").unwrap()), Denied);
    assert!(serde_json::from_str::<NetRule>(r#"{"allow": true}"#).is_err());
}

// conformance: 076-99, 076-102, 076-109, 076-111, 076-113
#[test]
fn ports_and_schemes() {
    for (rules, url, expected) in [
        ("a.b", "https://a.b:443/", Allowed),
        ("a.b", "http://a.b:80/", Allowed),
        ("a.b", "https://a.b:80/", Uncovered),
        ("a.b", "https://a.b:8443/", Uncovered),
        ("a.b:8443", "https://a.b:8443/", Allowed),
        ("a.b:8443", "https://a.b/", Uncovered),
        ("a.b:443", "https://a.b/", Allowed),
        ("https://a.b", "http://a.b/", Uncovered),
        ("HTTPS://a.b", "https://a.b/", Allowed),
        ("a.b !http://a.b", "http://a.b/", Denied),
        ("a.b !http://a.b", "https://a.b/", Allowed),
        ("a.b !a.b", "https://a.b/", Denied),
        ("!a.b a.b", "https://a.b/", Allowed),
        ("!https://a.b a.b:443", "https://a.b/", Allowed),
        ("!https://a.b:443 a.b/x", "https://a.b/x", Denied),
        ("!https://a.b:443 a.b/x/y", "https://a.b/x/y", Allowed),
    ] {
        row(rules, url, expected);
    }
}

// conformance: 076-103, 076-104, 076-109
#[test]
fn paths_begin_with_whole_segments() {
    for (url, expected) in [
        ("https://a.b/", Allowed),
        ("https://a.b/administration", Allowed),
        ("https://a.b/Admin", Allowed),
        ("https://a.b/admin", Denied),
        ("https://a.b/admin/", Denied),
        ("https://a.b/admin/users", Denied),
        ("https://a.b//admin/users", Denied),
        ("https://a.b/x/../admin", Denied),
        ("https://a.b/x/%2e%2E/admin", Denied),
        ("https://a.b/%61dmin", Denied),
        ("https://a.b/\\admin", Denied),
        ("https://a.b/admin?x", Denied),
        ("https://a.b/?/admin", Allowed),
        ("https://a.b/admin%2Fusers", Denied),
        ("https://a.b/x%2f..%2fadmin", Denied),
        ("https://a.b/x/%252e%252e/admin", Denied),
        ("https://a.b/admin/public", Allowed),
        ("https://a.b/admin/public/x", Allowed),
        ("https://a.b/admin/public/..", Denied),
    ] {
        row("a.b !a.b/admin a.b/admin/public/", url, expected);
    }
    row("a.b/a%c3%bc", "https://a.b/aü/x", Allowed);
    row("a.b", "https://a.b/x%2fy", Allowed);
}

// conformance: 076-98
#[test]
fn rules_that_cannot_stand() {
    for host in [
        "",
        "*",
        "*.",
        "*a.b",
        "a.*.b",
        "*.*.b",
        "*.10.0.0.1",
        "a.b:80",
        "http://a.b",
        "a.b/x",
        "u@a.b",
        "a b",
        "[::1",
        "%61.b",
        ":",
    ] {
        let rule = NetRule { host: host.to_string(), allow: true, ..NetRule::default() };
        let error = Net::new(&[rule]).map(drop);
        assert!(error.is_err(), "{host}");
    }
    let rule = NetRule { scheme: Some("ht tp".to_string()), ..rule("a.b") };
    assert_eq!(
        Net::new(&[rule]).unwrap_err().to_string(),
        "access.net: `scheme = \"ht tp\"` is no scheme: write `https` or `http`"
    );
}

#[track_caller]
fn reach(rules: &str, target: &str, expected: HostReach) {
    let rules: Vec<NetRule> = rules.split(' ').map(rule).collect();
    let (name, port) = target.rsplit_once(' ').unwrap();
    let reach = Net::new(&rules).unwrap().reach(&host(name).unwrap(), port.parse().unwrap());
    assert_eq!(reach, expected, "{target}");
}

#[test]
fn connections_show_host_and_port() {
    for (rules, target, expected) in [
        ("a.b", "a.b 443", HostReach::Everything),
        ("a.b", "A.B. 80", HostReach::Everything),
        ("a.b", "a.b 21", HostReach::Everything),
        ("a.b", "a.b 22", HostReach::Uncovered),
        ("a.b", "x.a.b 443", HostReach::Uncovered),
        ("a.b:22", "a.b 22", HostReach::Everything),
        ("a.b:22", "a.b 443", HostReach::Uncovered),
        ("ssh://a.b", "a.b 22", HostReach::Everything),
        ("https://a.b", "a.b 443", HostReach::Everything),
        ("https://a.b", "a.b 80", HostReach::Uncovered),
        ("https://a.b:8443", "a.b 8443", HostReach::Everything),
        ("https://a.b !http://a.b", "a.b 80", HostReach::Nothing),
        ("a.b !a.b", "a.b 443", HostReach::Nothing),
        ("!a.b a.b", "a.b 443", HostReach::Everything),
        ("a.b !a.b:443", "a.b 443", HostReach::Nothing),
        ("a.b !ws://a.b", "a.b 80", HostReach::Everything),
        ("a.b:1 !http://a.b:1", "a.b 1", HostReach::Everything),
        ("münchen.de", "xn--mnchen-3ya.de 443", HostReach::Everything),
        ("[::1]:53", "0:0::1 53", HostReach::Everything),
        ("127.0.0.1", "::ffff:7f00:1 80", HostReach::Everything),
        ("[::ffff:127.0.0.1]", "127.0.0.1 80", HostReach::Everything),
        ("0x7f.1", "127.0.0.1 80", HostReach::Everything),
        ("*.a.b:22", "x.a.b 22", HostReach::Everything),
        ("*.a.b:22", "a.b 22", HostReach::Uncovered),
        ("*.a.b !x.a.b:443", "x.a.b 443", HostReach::Nothing),
        ("*.a.b !x.a.b:443", "x.a.b 80", HostReach::Everything),
    ] {
        reach(rules, target, expected);
    }
}

#[test]
fn the_path_decides_where_not_all_paths_are_alike() {
    for (rules, target, expected) in [
        ("a.b/v1", "a.b 443", HostReach::Parts),
        ("a.b !a.b/admin", "a.b 443", HostReach::Parts),
        ("a.b !a.b/admin", "a.b 22", HostReach::Uncovered),
        ("a.b a.b/admin", "a.b 443", HostReach::Everything),
        ("!a.b/admin", "a.b 443", HostReach::Nothing),
        ("a.b !http://a.b/admin", "a.b 443", HostReach::Everything),
        ("a.b !http://a.b/admin", "a.b 80", HostReach::Parts),
        ("a.b/", "a.b 443", HostReach::Everything),
    ] {
        reach(rules, target, expected);
    }
    let rules = ["c.d", "a.b", "!a.b:8080/x", "a.b:8080"].map(rule);
    let divided = Net::new(&rules).unwrap().divided().unwrap();
    assert_eq!((divided.port, divided.rule), (8080, rules[2].clone()));
    assert_eq!(Net::new(&rules[..3]).unwrap().divided(), None);
    let below = Net::new(&["*.a.b", "!*.a.b/x"].map(rule)).unwrap();
    assert_eq!(below.divided().unwrap().host.to_string(), "*.a.b");
    // Only one host has the rule that makes a difference.
    let one = Net::new(&["*.a.b:8080/x", "ssh://c.a.b"].map(rule)).unwrap();
    assert_eq!(one.divided().unwrap().port, 8080);
}

#[test]
fn names_are_admitted_for_whatever_port() {
    let net = Net::new(&["a.b:5432", "!c.d", "e.f/x", "*.i.j"].map(rule)).unwrap();
    let admits = |name| net.admits(&host(name).unwrap());
    assert_eq!(["a.b", "c.d", "e.f", "g.h"].map(admits), [true, false, true, false]);
    assert_eq!(["x.i.j", "i.j"].map(admits), [true, false]);
    assert_eq!(net.hosts().len(), 3);
}

#[test]
fn a_rule_is_told_as_it_is_written() {
    let told = rule("!https://a.b:1/x").to_string();
    assert_eq!(
        told,
        r#"host = "a.b", scheme = "https", port = 1, path_prefix = "/x", allow = false"#
    );
}
