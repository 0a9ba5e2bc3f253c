//! Answers questions about hosts.

use std::ffi::OsStr;

use jp_confine_engine::check::{CheckVerdict, Reason};
use jp_confine_engine::coverage::Coverage;
use jp_confine_engine::net::{Net, NetRule};
use jp_confine_engine::rule_name::RuleName;
use url::Url;

use super::answer::{Candidate, ExplainedVerdict, TargetVerdict};
use super::resources::QueriedPolicy;
use crate::error::Failure;

impl QueriedPolicy<'_> {
    /// Whether a program may request the URL. `HOST[:PORT]` stands for one of https, as for `--net`.
    pub(crate) fn net(&self, target: &OsStr) -> Result<ExplainedVerdict, Failure> {
        let text = target.to_string_lossy().into_owned();
        let parse = |text: &str| Url::parse(text).ok().filter(Url::has_host);
        let url = parse(&text).or_else(|| parse(&format!("https://{text}")));
        let Some(url) = url else {
            return Err(Failure::advised(
                format!("`{text}` is no URL with a host"),
                "write `https://HOST/PATH`",
            ));
        };
        let rules = &self.prepared.written.net;
        let net = &self.prepared.resources.net;
        let winner = winner(rules, &url);
        let without = !net.is_declared() && self.options.has_no_network();
        let (allowed, otherwise) = match net.judge(&url) {
            Coverage::Allowed => (true, None),
            Coverage::Denied => (false, None),
            Coverage::Uncovered if without => (false, Some("an option takes the network away")),
            Coverage::Uncovered if net.is_declared() => (false, None),
            Coverage::Uncovered => (true, Some("no rules are declared, so every host is free")),
        };
        let rule = winner.and_then(|at| rules.get(at)).map(described);
        let answer = TargetVerdict {
            target: text,
            capability: "net",
            verdict: if allowed { CheckVerdict::Allow } else { CheckVerdict::Deny },
            reason: (!allowed).then_some(Reason::Denied),
            resolved: None,
            rule: rule.or_else(|| otherwise.map(RuleName::from)),
            granting: rules.iter().filter(|rule| rule.allow).map(shown).collect(),
        };
        let about = rules.iter().enumerate().filter(|(_, rule)| is_about(rule, &url));
        let candidates = about.map(|(at, rule)| Candidate {
            rule: described(rule),
            says: format!("allow = {}", rule.allow),
            wins: winner == Some(at),
        });
        let held_by = self.holder_of_hosts()?.to_owned();
        Ok(ExplainedVerdict { answer, candidates: candidates.collect(), held_by })
    }

    /// The layer that enforces the rules about hosts.
    fn holder_of_hosts(&self) -> Result<&'static str, Failure> {
        let plan =
            crate::commands::query::common::plan(self.context, self.options, &self.prepared)?;
        Ok(match plan.network {
            Some(holder) => holder,
            None if self.options.has_no_network() => "the filter: only local sockets are made",
            None => "nobody: no rules about hosts are declared",
        })
    }
}

/// Whether the rule alone covers the URL.
fn is_about(rule: &NetRule, url: &Url) -> bool {
    judge(std::slice::from_ref(rule), url) != Coverage::Uncovered
}

/// The index of the rule that decides. The evaluator compares the rules in pairs.
fn winner(rules: &[NetRule], url: &Url) -> Option<usize> {
    let about = rules.iter().enumerate().filter(|(_, rule)| is_about(rule, url));
    about
        .reduce(|first, second| {
            let pair = [
                NetRule { allow: true, ..first.1.clone() },
                NetRule { allow: false, ..second.1.clone() },
            ];
            if judge(&pair, url) == Coverage::Allowed { first } else { second }
        })
        .map(|(at, _)| at)
}

fn judge(rules: &[NetRule], url: &Url) -> Coverage {
    Net::new(rules).map_or(Coverage::Uncovered, |net| net.judge(url))
}

fn described(rule: &NetRule) -> RuleName {
    let words = format!("access.net {}", shown(rule));
    RuleName::written(words, rule.source.place().as_ref())
}

/// The subject of a rule, as a URL.
fn shown(rule: &NetRule) -> String {
    let port = rule.port.map(|port| format!(":{port}")).unwrap_or_default();
    let scheme = rule.scheme.as_ref().map(|scheme| format!("{scheme}://")).unwrap_or_default();
    let path = rule.path_prefix.as_deref().unwrap_or_default();
    let slash = if path.is_empty() || path.starts_with('/') { "" } else { "/" };
    format!("{scheme}{}{port}{slash}{path}", rule.host)
}
