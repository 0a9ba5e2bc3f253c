//! Tests which addresses a run may connect to.

use jp_confine_engine::net::NetRule;

use super::*;
use crate::cli::host::{resolution, rule};

/// A network with rules as `--net` takes them, with `!` before those that deny, and resolutions.
fn network(rules: &[&str], resolutions: &[&str]) -> Network {
    let rule = |word: &&str| {
        let plain = word.trim_start_matches('!');
        let rule = rule(plain).expect(plain);
        NetRule { allow: !word.starts_with('!'), ..rule }
    };
    let rules: Vec<NetRule> = rules.iter().map(rule).collect();
    let typed = resolutions.iter().map(|word| resolution(word).expect(word)).collect();
    Network::open(Net::new(&rules).expect("rules"), Names::new(typed), None).expect("sockets")
}

fn allows(network: &Network, target: &str) -> bool {
    network.allows(target.parse().expect(target))
}

#[test]
fn addresses_are_those_of_rules_or_of_their_names() {
    let network = network(
        &["a.test:80", "10.0.0.1:443", "!c.test", "[::1]:5"],
        &["a.test=10.0.0.2", "a.test=fd00::2", "b.test=10.0.0.3", "c.test=10.0.0.4"],
    );
    for (target, expected) in [
        ("10.0.0.2:80", true),
        ("[fd00::2]:80", true),
        ("10.0.0.2:81", false),
        ("10.0.0.1:443", true),
        ("10.0.0.1:80", false),
        ("10.0.0.3:80", false),
        ("10.0.0.4:80", false),
        ("[::1]:5", true),
        ("[::1]:6", false),
        ("127.0.0.1:80", false),
    ] {
        assert_eq!(allows(&network, target), expected, "{target}");
    }
}

#[test]
fn a_rule_about_the_address_outweighs_its_names() {
    let network = network(&["a.test:80", "!10.0.0.2:80"], &["a.test=10.0.0.2", "a.test=10.0.0.3"]);
    assert!(!allows(&network, "10.0.0.2:80"));
    assert!(allows(&network, "10.0.0.3:80"));
    let shown = |target: &str| network.shown(target.parse().expect(target));
    assert_eq!(
        shown("10.0.0.2:80"),
        "10.0.0.2:80",
        "what is advised about must be what was refused"
    );
    assert_eq!(shown("10.0.0.2:81"), "a.test:81");
}

#[test]
fn names_of_other_hosts_do_not_help() {
    let network = network(&["a.test:80", "!b.test:80"], &["a.test=10.0.0.2", "b.test=10.0.0.2"]);
    // An allowed name also has the address, and no connection shows which name was meant.
    assert!(allows(&network, "10.0.0.2:80"));
}
