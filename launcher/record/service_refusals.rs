//! Collects the requests of a tool that the file service denied. Used by reports and the event log.

use std::collections::HashMap;

use jp_confine_vfs::Fault;
use jp_confine_vfs::incoming::Request;
use serde_json::Value;
use url::Url;

/// Most denied requests that are told apart. The rest is only counted.
const DISTINCT: usize = 200;

/// Most characters of a text, and most words of a list, that are kept: a tool may send any number.
const LONGEST: usize = 4096;
const MOST_ARGUMENTS: usize = 48;

/// A request that was denied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ServiceDenial {
    pub(crate) method: String,
    /// Its object as the tool wrote it: one or more paths, a URL or a program.
    pub(crate) about: String,
    /// The arguments for a program.
    pub(crate) arguments: Option<Vec<String>>,
    /// The message that the tool got.
    pub(crate) message: String,
}

impl ServiceDenial {
    /// The denial of `request`, which ended with `fault`.
    pub(crate) fn of(request: &Request, fault: &Fault) -> Self {
        let params: Value = serde_json::from_str(request.params.get()).unwrap_or_default();
        let about = ["path", "from", "paths", "url", "program"].map(|key| params.get(key));
        let about = about.into_iter().flatten().next().unwrap_or_default();
        let words = |value: &Value| -> Vec<String> {
            let words = value.as_array().into_iter().flatten().filter_map(Value::as_str);
            words.take(MOST_ARGUMENTS).map(|word| cut(&without_passwords(word))).collect()
        };
        Self {
            method: cut(&request.method),
            about: about.as_str().map_or_else(|| words(about).join(" "), |text| cut(&shown(text))),
            arguments: params.get("program").and(params.get("args")).map(words),
            message: cut(&without_passwords(&fault.message)),
        }
    }
}

/// `text`. If it is a URL, its password is removed, since that must not be kept.
fn shown(text: &str) -> String {
    let with_password = |url: &Url| url.password().is_some();
    let Some(mut url) = Url::parse(text).ok().filter(with_password) else { return text.to_owned() };
    let _ = url.set_password(None);
    url.into()
}

/// `text` without the passwords of the URLs in it, as far as the URLs can be told from the text around them.
pub(crate) fn without_passwords(text: &str) -> String {
    let mut parts = text.split("://");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let ends = |one: char| one.is_whitespace() || "/?#'\"`".contains(one);
        let (place, rest) = part.split_at(part.find(ends).unwrap_or(part.len()));
        shown.push_str("://");
        match place.rsplit_once('@') {
            Some((user, host)) => {
                let name = user.split_once(':').map_or(user, |(name, _)| name);
                shown.extend([name, "@", host]);
            }
            None => shown.push_str(place),
        }
        shown.push_str(rest);
    }
    shown
}

/// The beginning of a text.
fn cut(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

/// All denied requests with their counts, in the order in which they first occurred.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    places: HashMap<ServiceDenial, usize>,
    distinct: Vec<(ServiceDenial, u64)>,
    total: u64,
}

impl Refusals {
    /// Counts one denied request.
    pub(crate) fn add(&mut self, refusal: ServiceDenial) {
        self.total += 1;
        let next = self.distinct.len();
        let place = self.places.get(&refusal).copied();
        match place.and_then(|place| self.distinct.get_mut(place)) {
            Some((_, times)) => *times += 1,
            None if next < DISTINCT => {
                self.places.insert(refusal.clone(), next);
                self.distinct.push((refusal, 1));
            }
            None => {}
        }
    }

    /// The different requests, each with its count.
    pub(crate) fn distinct(&self) -> &[(ServiceDenial, u64)] {
        &self.distinct
    }

    /// The number of all denied requests.
    pub(crate) const fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use jp_confine_vfs::incoming::{Incoming, parse};

    use super::*;

    fn refused(method: &str, params: &str) -> ServiceDenial {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let Ok(Incoming::Request(request)) = parse(line.as_bytes()) else { panic!("{line}") };
        ServiceDenial::of(&request, &Fault::denied("no"))
    }

    #[test]
    fn each_method_says_what_it_was_about() {
        for (method, params, about) in [
            ("fs.read", r#"{"path":"a"}"#, "a"),
            ("fs.rename", r#"{"from":"a","to":"b"}"#, "a"),
            ("fs.grep", r#"{"pattern":"x","paths":["a","b"]}"#, "a b"),
            ("http.get", r#"{"url":"http://a"}"#, "http://a"),
            ("http.get", r#"{"url":"http://u:hush@a/b"}"#, "http://u@a/b"),
            ("process.run", r#"{"program":"ls","args":["-l"]}"#, "ls"),
            ("fs.read", "[]", ""),
        ] {
            assert_eq!(refused(method, params).about, about, "{method}");
        }
        let run = refused("process.run", r#"{"program":"ls","args":["-l"]}"#);
        assert_eq!(run.arguments.as_deref(), Some(&["-l".to_owned()][..]));
        assert_eq!(refused("fs.read", r#"{"path":"a","args":["-l"]}"#).arguments, None);
    }

    #[test]
    fn passwords_are_kept_out_of_what_programs_were_to_be_given() {
        let line = r#"{"jsonrpc":"2.0","id":1,"method":"process.run",
            "params":{"program":"git","args":["clone","http://me:HUSH@h/x"]}}"#;
        let Ok(Incoming::Request(request)) = parse(line.as_bytes()) else { panic!("{line}") };
        let advice = r#"add args = [["clone", "http://me:HUSH@h/x"]]"#;
        let kept = ServiceDenial::of(&request, &Fault::denied(advice));
        assert!(!format!("{kept:?}").contains("HUSH"), "{kept:?}");
        assert_eq!(kept.message, r#"add args = [["clone", "http://me@h/x"]]"#);
        for (text, kept) in [
            ("--url=ssh://u:hush@h:22 'http://:hush@a?b' c", "--url=ssh://u@h:22 'http://@a?b' c"),
            ("http://h/a:b@c ://", "http://h/a:b@c ://"),
        ] {
            assert_eq!(without_passwords(text), kept);
        }
    }

    #[test]
    fn little_is_kept_of_much() {
        let long = "\u{e9}".repeat(LONGEST);
        let path = refused("fs.read", &format!(r#"{{"path":"a{long}"}}"#)).about;
        assert_eq!((path.chars().count(), path.starts_with('a')), (LONGEST, true));
        let many = vec![format!("\"{long}\""); 1000].join(",");
        let run = refused("process.run", &format!(r#"{{"program":"ls","args":[{many}]}}"#));
        assert_eq!(run.arguments.map(|words| words.len()), Some(MOST_ARGUMENTS));
    }

    #[test]
    fn equal_ones_are_counted_and_no_more_are_kept_than_that() {
        let mut all = Refusals::default();
        for count in 0..DISTINCT + 2 {
            all.add(refused("fs.read", &format!(r#"{{"path":"{count}"}}"#)));
            all.add(refused("fs.read", r#"{"path":"0"}"#));
        }
        let times = all.distinct()[0].1;
        assert_eq!((all.distinct().len(), times), (DISTINCT, DISTINCT as u64 + 3));
        assert_eq!(all.total(), 2 * (DISTINCT as u64 + 2));
    }
}
