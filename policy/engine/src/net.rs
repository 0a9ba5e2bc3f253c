//! Rules about hosts (spec §11.1). They are matched against parsed URLs, never against their text. [`HostReach`] is their
//! effect on connections, whose path is not known.

mod host_name;
mod named;
mod own;
mod pattern;
mod reach;

use std::fmt;
use std::string::{String, ToString as _};
use std::vec::Vec;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::coverage::Coverage;
use crate::model::RuleSource;
use host_name::host_of;
pub use host_name::{Host, host};
pub use named::may_stand_for;
pub use own::is_own;
use pattern::HostPattern;
pub use reach::{Divided, HostReach};

/// One rule as written (spec §2.4).
///
/// Two rules are equal when they say the same, wherever they were written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NetRule {
    /// A host name or address and nothing else, or `*.` and a name: every name below that one.
    pub host: String,
    /// Limits the rule to this scheme.
    #[serde(default)]
    pub scheme: Option<String>,
    /// Limits the rule to this port. Absent: the scheme's own.
    #[serde(default)]
    pub port: Option<u16>,
    /// Limits the rule to paths that begin with these segments.
    #[serde(default)]
    pub path_prefix: Option<String>,
    /// Whether the target is allowed. Without it: no.
    #[serde(default)]
    pub allow: bool,
    /// Where it was written.
    #[serde(skip)]
    pub source: RuleSource,
}

impl NetRule {
    /// The rule with its host in the form that programs compare: ASCII and lower case.
    #[must_use]
    pub fn normal(&self) -> Self {
        let host = HostPattern::new(&self.host).map(|pattern| pattern.example().to_string());
        Self { host: host.unwrap_or_else(|| self.host.clone()), ..self.clone() }
    }
}

impl PartialEq for NetRule {
    fn eq(&self, other: &Self) -> bool {
        (&self.host, &self.scheme, self.port) == (&other.host, &other.scheme, other.port)
            && (&self.path_prefix, self.allow) == (&other.path_prefix, other.allow)
    }
}

impl Eq for NetRule {}

/// Formatted as a person would write it: `host = "a.b", port = 8443`.
impl fmt::Display for NetRule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "host = {:?}", self.host)?;
        if let Some(scheme) = &self.scheme {
            write!(out, ", scheme = {scheme:?}")?;
        }
        if let Some(port) = self.port {
            write!(out, ", port = {port}")?;
        }
        if let Some(prefix) = &self.path_prefix {
            write!(out, ", path_prefix = {prefix:?}")?;
        }
        write!(out, ", allow = {}", self.allow)
    }
}

/// An invalid rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("access.net: `{field} = \"{value}\"` {problem}")]
pub struct NetError {
    /// The wrong field.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    problem: &'static str,
}

/// The rules of a policy, compiled.
#[derive(Debug, Clone, Default)]
pub struct Net(Vec<Compiled>);

#[derive(Debug, Clone)]
struct Compiled {
    written: NetRule,
    host: HostPattern,
    scheme: Option<String>,
    port: Option<u16>,
    /// `None`: any path.
    prefix: Option<Vec<String>>,
    allow: bool,
}

/// The properties that rules match, except the host.
#[derive(Debug, Clone, Copy)]
struct Target<'a> {
    scheme: &'a str,
    port: Option<u16>,
    /// Whether `port` is the scheme's own.
    is_own_port: bool,
    path: &'a [String],
}

impl Net {
    /// Compiles rules in declared order.
    ///
    /// # Errors
    /// [`NetError`] for the first invalid rule.
    pub fn new(rules: &[NetRule]) -> Result<Self, NetError> {
        rules.iter().map(Compiled::of).collect::<Result<_, _>>().map(Self)
    }

    /// Whether there are rules.
    #[must_use]
    pub fn is_declared(&self) -> bool {
        !self.0.is_empty()
    }

    /// The verdict of the most specific rule. A rule about one host is more specific than one about all names below a
    /// name, whatever else they have. Of equals the last wins. A path with an encoded separator is denied if
    /// rules tell paths apart, because servers do not agree about where it leads.
    #[must_use]
    pub fn judge(&self, url: &Url) -> Coverage {
        match self.deciding(url) {
            Some(rule) => Coverage::of(rule.allow),
            None if self.is_ambiguous(url) => Coverage::Denied,
            None => Coverage::Uncovered,
        }
    }

    /// The rule by which [`Self::judge`] decides about a URL, as written. `None` if no rule is about it, or if rules do
    /// not count because of an encoded separator in its path.
    #[must_use]
    pub fn deciding(&self, url: &Url) -> Option<&NetRule> {
        if self.is_ambiguous(url) {
            return None;
        }
        let target = Target {
            scheme: url.scheme(),
            port: url.port_or_known_default(),
            // The parser leaves out the scheme's own port.
            is_own_port: url.port().is_none(),
            path: &segments(url.path()),
        };
        self.winner(&host_of(url)?, target).map(|rule| &rule.written)
    }

    /// Whether the path has an encoded separator, and rules tell paths of this host apart.
    fn is_ambiguous(&self, url: &Url) -> bool {
        let tells_apart = |host: Host| self.about(&host).any(|rule| rule.prefix.is_some());
        has_encoded_separator(url.path()) && host_of(url).is_some_and(tells_apart)
    }

    /// The rules about a host, in declared order.
    fn about(&self, host: &Host) -> impl Iterator<Item = &Compiled> {
        self.0.iter().filter(|rule| rule.host.matches(host))
    }

    /// The most specific rule about the target. Of equals the last wins.
    fn winner(&self, host: &Host, target: Target<'_>) -> Option<&Compiled> {
        let matching = self.about(host).filter(|rule| rule.matches(target));
        matching.max_by_key(|rule| rule.specificity())
    }
}

impl Compiled {
    fn of(rule: &NetRule) -> Result<Self, NetError> {
        let wrong = |field, value: &str, problem| {
            Err(NetError { field, value: value.to_string(), problem })
        };
        let Some(host) = HostPattern::new(&rule.host) else {
            let problem = "is no host: write a name or an address alone, or `*.` before a name";
            return wrong("host", &rule.host, problem);
        };
        if let Some(scheme) = rule.scheme.as_deref().filter(|scheme| !is_scheme(scheme)) {
            return wrong("scheme", scheme, "is no scheme: write `https` or `http`");
        }
        Ok(Self {
            written: rule.clone(),
            host,
            scheme: rule.scheme.as_deref().map(str::to_ascii_lowercase),
            port: rule.port,
            prefix: rule.path_prefix.as_deref().map(prefix),
            allow: rule.allow,
        })
    }

    fn matches(&self, target: Target<'_>) -> bool {
        let port = match self.port {
            Some(port) => target.port == Some(port),
            None => target.is_own_port,
        };
        port && self.scheme.as_deref().is_none_or(|scheme| scheme == target.scheme)
            && self.prefix.as_deref().is_none_or(|prefix| target.path.starts_with(prefix))
    }

    fn specificity(&self) -> (usize, usize) {
        let path = self.prefix.as_ref().map_or(0, Vec::len);
        let rest = usize::from(self.scheme.is_some()) + usize::from(self.port.is_some()) + path;
        (self.host.specificity(), rest)
    }
}

fn is_scheme(text: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(part)
}

/// The path of a rule, in the form that the parser gives it in a URL.
fn prefix(text: &str) -> Vec<String> {
    let Ok(mut url) = Url::parse("http://host") else { return Vec::new() };
    url.set_path(text);
    segments(url.path())
}

/// The segments of a path in which the parser has resolved dots. None is empty, and characters that need no escape are
/// not escaped.
fn segments(path: &str) -> Vec<String> {
    path.split('/').filter(|segment| !segment.is_empty()).map(unescaped).collect()
}

/// The text without escapes of unreserved characters (RFC 3986 §6.2.2). Other escapes are in upper case.
fn unescaped(segment: &str) -> String {
    let mut text = String::new();
    let mut parts = segment.split('%');
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (digits, part.get(2..)) {
            (Some(byte), Some(rest)) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                text.push(char::from(byte));
                text.push_str(rest);
            }
            (Some(byte), Some(rest)) => text.extend([&escaped(byte), rest]),
            _ => {
                text.push('%');
                text.push_str(part);
            }
        }
    }
    text
}

fn escaped(byte: u8) -> String {
    std::format!("%{byte:02X}")
}

fn has_encoded_separator(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    // If a text was escaped twice, a server that unescapes twice makes a separator of it.
    ["%2f", "%5c", "%252f", "%255c", "%252e"].iter().any(|escape| lower.contains(escape))
}

#[cfg(test)]
mod tests;
