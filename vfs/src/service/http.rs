//! `http.get` and `http.post` (spec §11.1, §14.3, §14.6). Every hop is checked before it is made.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::Builder;
use std::time::Duration;

use jp_confine_engine::net::Net;
use ureq::Agent;
use ureq::http::header::{HeaderName, HeaderValue, LOCATION};
use ureq::http::{HeaderMap, Request, Response};
use ureq::unversioned::transport::DefaultConnector;
use url::Url;

use super::Service;
use super::advice;
use super::caller::Caller;
use super::resolver::{Forbidden, Judging};
use super::substitution;
use crate::content::Content;
use crate::fault::{Code, Fault};
use crate::method::{HttpParams, HttpReply};
use crate::person::Question;

/// How often to check whether somebody still waits.
const TICK: Duration = Duration::from_millis(20);

/// Time limit of one hop (spec §14.5).
const PATIENCE: Duration = Duration::from_secs(30);

/// How many requests may be in progress: the current one, and abandoned ones that have not ended.
const MOST: usize = 32;

/// How many redirects one request may follow.
const HOPS: usize = 10;

/// Headers that only the client may set. They could send a request to another host than the checked one, or end it
/// elsewhere than its sender expects.
const OF_THE_CLIENT: [&str; 8] = [
    "host",
    "connection",
    "content-length",
    "expect",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers for the original host only.
const OF_ONE_HOST: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// The HTTP client. It follows no redirects, uses no proxy, and treats every status as an answer.
#[derive(Debug)]
pub(super) struct Http {
    agent: Agent,
    /// Each request in progress holds one clone, so the count tells how many there are.
    under_way: Arc<()>,
}

impl Http {
    /// Creates a client that connects to no address that `rules` deny.
    pub(super) fn new(rules: Net) -> Self {
        let config = Agent::config_builder()
            .max_redirects(0)
            .http_status_as_error(false)
            .proxy(None)
            .timeout_global(Some(PATIENCE));
        let (config, connector) = (config.build(), DefaultConnector::default());
        let agent = Agent::with_parts(config, connector, Judging(rules));
        Self { agent, under_way: Arc::default() }
    }

    /// A token that one request in progress holds until it ends.
    fn admit(&self) -> Result<Arc<()>, Fault> {
        if Arc::strong_count(&self.under_way) <= MOST {
            return Ok(Arc::clone(&self.under_way));
        }
        let why = format!("{MOST} requests that were cancelled have not ended yet: wait for them");
        Err(Fault::new(Code::Internal, why))
    }
}

/// One request of a chain of redirects.
#[derive(Clone)]
struct Hop {
    method: &'static str,
    url: Url,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Service<'_> {
    pub(super) fn http(
        &mut self,
        method: &'static str,
        params: HttpParams,
        caller: &mut dyn Caller,
    ) -> Result<HttpReply, Fault> {
        let HttpParams { url, headers, body, encoding } = params;
        let url = Url::parse(&url).map_err(|error| Fault::params(format!("{url}: {error}")))?;
        let mut hop = Hop { method, url, headers: HeaderMap::new(), body: Vec::new() };
        // A variable's value is for one host, as cookies are, whichever header holds it.
        let mut private = OF_ONE_HOST.map(HeaderName::from_static).to_vec();
        for header in headers {
            let name = header_name(&header.name)?;
            let value = substitution::substitute(&header.value, |name| self.variable(name))?;
            if value != header.value {
                private.push(name.clone());
            }
            let value = HeaderValue::from_str(&value);
            // The value may be secret, so the error does not quote it.
            let value = value.map_err(|_| {
                Fault::params(format!("the header {name} has a value that cannot be sent"))
            })?;
            let added = hop.headers.try_append(name, value);
            added.map_err(|_| Fault::params("there are too many headers"))?;
        }
        if method == "POST" {
            let text = body.unwrap_or_default();
            hop.body = Content { text, encoding }.into_bytes()?;
        }
        for _ in 0..=HOPS {
            self.may_connect(&hop, caller)?;
            let (reply, next) = self.make(&hop, caller)?;
            match next {
                Some(url) => hop = hop.redirected(reply.status, url, &private),
                None => return Ok(reply),
            }
        }
        Err(Fault::new(Code::Internal, format!("more than {HOPS} redirects")))
    }

    /// The value of a variable that headers may contain. From now on it is a secret.
    fn variable(&mut self, name: &str) -> Result<String, Fault> {
        use jp_confine_engine::coverage::Coverage;
        let is_granted = self.resources.net_env.judge(name) == Coverage::Allowed;
        let value = (self.variables)(name).filter(|_| is_granted).ok_or_else(|| {
            Fault::denied(format!(
                "cannot put ${{{name}}} into a header: it is not set, or not in access.net_env. To \
                 allow it, ask the user to add it there."
            ))
        })?;
        self.secrets.add(&value);
        Ok(value)
    }

    fn may_connect(&mut self, hop: &Hop, caller: &mut dyn Caller) -> Result<(), Fault> {
        let Hop { method, url, .. } = hop;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Fault::params(format!("{url}: only http and https are known")));
        }
        let shown = without_password(url);
        let host = url.host_str().unwrap_or_default();
        let question = Question {
            action: method.to_lowercase(),
            what: shown.clone(),
            written: None,
            preview: String::new(),
            reason: format!("no rule of access.net is about {host}"),
        };
        let refusal = format!(
            "cannot {} {shown}: access.net does not allow it. {}",
            question.action,
            advice::net(&self.resources.net, url)
        );
        self.gate.pass_covered(self.resources.net.judge(url), question, refusal, caller)
    }

    /// Makes one request. Returns the reply and the redirect's target, if any.
    fn make(
        &mut self,
        hop: &Hop,
        caller: &mut dyn Caller,
    ) -> Result<(HttpReply, Option<Url>), Fault> {
        let (agent, limit, sent) = (self.http.agent.clone(), self.limit, hop.clone());
        let (sender, receiver) = mpsc::channel();
        let under_way = self.http.admit()?;
        let exchange = move || {
            drop(sender.send(exchange(&agent, sent, limit)));
            drop(under_way);
        };
        // When the caller gives up, the thread runs on until its time limit.
        Builder::new().name("http".into()).spawn(exchange).map_err(|error| {
            Fault::new(Code::Internal, format!("the request was not made: {error}"))
        })?;
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(answer) => {
                    let (reply, bytes) = answer?;
                    let next = redirect(&hop.url, &reply);
                    let (bytes, redacted) = self.secrets.scrub(bytes);
                    let Content { text, encoding } = Content::of(bytes);
                    let status = reply.status().as_u16();
                    return Ok((HttpReply { status, body: text, encoding, redacted }, next));
                }
                Err(RecvTimeoutError::Timeout) if caller.is_gone() => {
                    return Err(Fault::cancelled());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Fault::new(Code::Internal, "the request ended without an answer"));
                }
            }
        }
    }
}

impl Hop {
    /// The request that a redirect asks for (RFC 9110 §15.4).
    fn redirected(mut self, status: u16, url: Url, private: &[HeaderName]) -> Self {
        if url.origin() != self.url.origin() {
            for name in private {
                self.headers.remove(name);
            }
        }
        if !matches!(status, 307 | 308) {
            self.method = "GET";
            self.body.clear();
            self.headers.remove("content-type");
        }
        Self { url, ..self }
    }
}

/// Sends a request and receives the reply.
fn exchange(agent: &Agent, hop: Hop, limit: u64) -> Result<(Response<()>, Vec<u8>), Fault> {
    try_exchange(agent, hop, limit).map_err(|error| fault(&error))
}

fn try_exchange(
    agent: &Agent,
    hop: Hop,
    limit: u64,
) -> Result<(Response<()>, Vec<u8>), ureq::Error> {
    let mut url = hop.url;
    // User and password are not part of the target. A tool that wants to log in sends a header.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.set_fragment(None);
    let mut request = Request::builder().method(hop.method).uri(url.as_str());
    if let Some(headers) = request.headers_mut() {
        *headers = hop.headers;
    }
    let reply = match hop.method {
        "GET" => agent.run(request.body(())?)?,
        _ => agent.run(request.body(hop.body)?)?,
    };
    let (head, mut body) = reply.into_parts();
    let bytes = body.with_config().limit(limit).read_to_vec()?;
    Ok((Response::from_parts(head, ()), bytes))
}

/// The URL that a reply redirects to.
fn redirect(from: &Url, reply: &Response<()>) -> Option<Url> {
    let location = reply.headers().get(LOCATION)?.to_str().ok()?;
    let redirects = matches!(reply.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    redirects.then(|| from.join(location).ok()).flatten()
}

fn header_name(name: &str) -> Result<HeaderName, Fault> {
    let parsed = HeaderName::from_bytes(name.as_bytes());
    let parsed = parsed.map_err(|_| Fault::params(format!("{name:?} is no name of a header")))?;
    if OF_THE_CLIENT.contains(&parsed.as_str()) {
        return Err(Fault::params(format!("the header {parsed} is not for the tool to set")));
    }
    Ok(parsed)
}

fn without_password(url: &Url) -> String {
    let mut url = url.clone();
    // This fails only for URLs that cannot have a password.
    let _ = url.set_password(None);
    url.into()
}

fn fault(error: &ureq::Error) -> Fault {
    let code = match error {
        ureq::Error::BodyExceedsLimit(_) => Code::TooLarge,
        ureq::Error::Timeout(_) => Code::Timeout,
        ureq::Error::Other(why) if why.is::<Forbidden>() => Code::Denied,
        _ => Code::Internal,
    };
    Fault::new(code, format!("the request failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_were_given_up_are_bounded() {
        let http = Http::new(Net::default());
        let mut under_way: Vec<Arc<()>> = (0..MOST).map(|_| http.admit().expect("room")).collect();
        assert_eq!(http.admit().map_err(|fault| fault.code), Err(Code::Internal));
        under_way.pop();
        assert!(http.admit().is_ok());
    }
}
