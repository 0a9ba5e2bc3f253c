//! Turns the hosts that a run connected to into rules of `access.net`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use jp_confine_engine::net::NetRule;

use super::usage_counts;
use crate::cli::host;
use crate::config::edit::rule_text::RuleText;
use crate::learn::text::short;
use crate::network::access::NetworkAccess;
use crate::record::usage::{UseKind, Uses};
use crate::text::quote;

/// At most this many hosts are named in the summary.
const NAMED: usize = 3;

/// The network use of a run.
#[derive(Debug)]
pub(crate) enum Hosts {
    /// None: the network was closed by an option.
    Closed,
    /// Unknown: only the proxy saw the requests.
    Unseen,
    /// These targets, in the format of `--net`, and the uses that no rule can allow.
    Seen { targets: BTreeMap<String, Visits>, unruled: BTreeSet<String> },
}

/// The number of connections to a target, in all and by program.
#[derive(Debug, Default)]
pub(crate) struct Visits {
    pub(super) times: u64,
    pub(super) programs: BTreeMap<String, u64>,
}

impl Hosts {
    /// Collects them from the uses of a run with this network `order`.
    pub(crate) fn of(order: &NetworkAccess, uses: &Uses) -> Self {
        if order.has_proxy() {
            return Self::Unseen;
        }
        if !order.is_judged() {
            return Self::Closed;
        }
        let mut targets: BTreeMap<String, Visits> = BTreeMap::new();
        let mut unruled = BTreeSet::new();
        for (one, count) in &uses.counts {
            let target = || String::from_utf8_lossy(&one.path).into_owned();
            match one.how {
                UseKind::Connected => {
                    let visits = targets.entry(target()).or_default();
                    visits.times += count;
                    *visits.programs.entry(short(&one.program)).or_default() += count;
                }
                UseKind::Unruled => {
                    unruled.insert(target());
                }
                _ => {}
            }
        }
        Self::Seen { targets, unruled }
    }

    /// Whether the policy file gets rules about hosts from this.
    pub(crate) fn has_rules(&self) -> bool {
        let Self::Seen { targets, unruled } = self else { return false };
        !targets.is_empty() && unruled.is_empty()
    }

    /// The end of the policy file: the rules, or the reason why there are none. `tool` holds the keys of the tool's
    /// table if the rules are a tool's.
    pub(super) fn policy(&self, tool: &[&str]) -> String {
        let (targets, unruled) = match self {
            Self::Closed => return String::new(),
            Self::Unseen => {
                return "\n# What the proxy was asked for is not learned: add [[access.net]].\n"
                    .into();
            }
            Self::Seen { targets, unruled } => (targets, unruled),
        };
        if targets.is_empty() {
            return "\n# It connected to no host: `--no-net` takes the network away.\n".to_owned();
        }
        let mut text = String::new();
        for target in targets {
            text.push('\n');
            text.push_str(&rule(tool, target));
        }
        if unruled.is_empty() {
            return text;
        }
        let mut why = String::from(
            "\n# With rules about hosts it could not do the following, and so they are left out:\n",
        );
        for one in unruled {
            let _ = writeln!(why, "#   {}", quote::path(one));
        }
        let commented = text.trim_start().lines().map(|line| format!("# {line}"));
        why + &commented.map(|line| line.trim_end().to_owned() + "\n").collect::<String>()
    }

    /// A line for the summary, if there is anything to say.
    pub(super) fn summary(&self) -> Option<String> {
        let Self::Seen { targets, unruled } = self else { return None };
        if targets.is_empty() {
            return Some("it connected to no host: `--no-net` takes the network away".to_owned());
        }
        let names: Vec<String> = targets.keys().take(NAMED).map(|name| quote::path(name)).collect();
        let more = targets.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" (+{more})") } else { String::new() };
        let names = names.join(", ");
        Some(match unruled.first() {
            None => format!("hosts: {names}{more}"),
            Some(first) => format!(
                "hosts, left out as rules would not let it {}: {names}{more}",
                quote::path(first)
            ),
        })
    }
}

/// The rule that allows one target, with a comment on its use.
fn rule(tool: &[&str], (target, visits): (&String, &Visits)) -> String {
    let Visits { times, programs } = visits;
    // The recorder wrote the target in this format.
    let rule: Option<NetRule> = host::rule(target).ok();
    let rule = rule.map(|rule| RuleText::Host(rule).text(tool)).unwrap_or_default();
    format!("# connected {times}× by {}\n{rule}", usage_counts::named(programs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(targets: &[&str], unruled: &[&str]) -> Hosts {
        let visits = || Visits { times: 2, programs: BTreeMap::from([("curl".to_owned(), 2)]) };
        let targets = targets.iter().map(|target| ((*target).to_owned(), visits())).collect();
        Hosts::Seen { targets, unruled: unruled.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn targets_become_rules() {
        let rules = "\n# connected 2× by curl\n[[access.net]]\nhost = \"[::1]\"\nport = 5\n\
                     allow = true\n\n# connected 2× by curl\n[[access.net]]\nhost = \"a.test\"\n\
                     port = 443\nallow = true\n";
        let hosts = seen(&["a.test:443", "[::1]:5"], &[]);
        assert_eq!(hosts.policy(&[]), rules);
        assert!(hosts.policy(&["tools", "t"]).contains("[[tools.t.access.net]]"));
        assert_eq!(hosts.summary().as_deref(), Some("hosts: [::1]:5, a.test:443"));
    }

    #[test]
    fn rules_that_would_break_the_command_are_left_out() {
        let hosts = seen(&["a.test:443"], &["listen on 0.0.0.0:80"]);
        let text = hosts.policy(&[]);
        assert!(text.lines().all(|line| line.is_empty() || line.starts_with('#')), "{text}");
        assert!(text.contains("\n# host = \"a.test\"\n") && text.contains("0.0.0.0:80"), "{text}");
        assert!(seen(&[], &[]).policy(&[]).contains("--no-net"));
    }
}
