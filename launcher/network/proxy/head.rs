//! Parses the head of a request to the proxy (RFC 9112), and builds the one to forward.

use std::io::Read;

use jp_confine_engine::net::Host;
use url::Url;

use crate::network::address;

/// The longest head that is accepted.
const LONGEST: usize = 64 * 1024;
/// The most fields that are accepted.
const FIELDS: usize = 128;

/// The only blanks around values and words (RFC 9110 §5.6.3). Nothing else is trimmed, so the forwarded text is as
/// written.
const SPACE: [char; 2] = [' ', '\t'];

/// Fields that only concern two neighbours, or that the proxy sets itself (RFC 9110 §7.6.1).
const NOT_SENT_ON: [&str; 9] = [
    "connection",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// Why a request cannot be served: the status and the message.
pub(super) type Fault = (u16, &'static str);

/// A request's head.
#[derive(Debug)]
pub(super) struct RequestHead {
    method: String,
    pub(super) target: RequestTarget,
    fields: Vec<(String, Vec<u8>)>,
    pub(super) body: Body,
}

/// The target of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestTarget {
    /// A tunnel for any content.
    Tunnel(Host, u16),
    /// A document.
    Document(Url),
}

/// How the end of the body is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Length(u64),
    Chunked,
}

impl RequestHead {
    /// Reads a head, and the bytes after it. `None` if there is no request.
    ///
    /// # Errors
    /// Fails with the fault in it.
    pub(super) fn read(from: &mut impl Read) -> Result<Option<(Self, Vec<u8>)>, Fault> {
        let mut bytes = Vec::new();
        loop {
            let mut fields = [httparse::EMPTY_HEADER; FIELDS];
            let mut request = httparse::Request::new(&mut fields);
            match request.parse(&bytes).map_err(|_| (400, "this is no HTTP request"))? {
                httparse::Status::Complete(end) => {
                    let head = Self::of(&request)?;
                    return Ok(Some((head, bytes.split_off(end))));
                }
                httparse::Status::Partial if bytes.len() >= LONGEST => {
                    return Err((431, "the head of the request is too long"));
                }
                httparse::Status::Partial => {}
            }
            let mut piece = [0; 4096];
            match from.read(&mut piece) {
                Ok(0) | Err(_) => return Ok(None),
                Ok(count) => bytes.extend_from_slice(piece.get(..count).unwrap_or_default()),
            }
        }
    }

    fn of(request: &httparse::Request<'_, '_>) -> Result<Self, Fault> {
        let method = request.method.unwrap_or_default().to_owned();
        let path = request.path.unwrap_or_default();
        let target = if method == "CONNECT" { tunnel(path) } else { document(path) };
        let fields: Vec<(String, Vec<u8>)> = request
            .headers
            .iter()
            .map(|field| (field.name.to_ascii_lowercase(), field.value.to_vec()))
            .collect();
        let body = body(&fields)?;
        Ok(Self { method, target: target?, fields, body })
    }

    /// The head for the document's server. It names the judged target. It asks the server to close after its answer, so
    /// that nothing follows.
    pub(super) fn sent_on(&self, url: &Url) -> Vec<u8> {
        let named: Vec<String> = self
            .fields
            .iter()
            .filter(|(name, _)| name == "connection")
            .flat_map(|(_, value)| words(value))
            .filter(|name| !is_framing(name))
            .collect();
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let host = url.host_str().unwrap_or_default();
        let Self { method, .. } = self;
        let first = format!("{method} {}{query} HTTP/1.1\r\nhost: {host}{port}\r\n", url.path());
        let mut text = first.into_bytes();
        for (name, value) in &self.fields {
            if !NOT_SENT_ON.contains(&name.as_str()) && !named.contains(name) {
                text.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
            }
        }
        text.extend(b"connection: close\r\n\r\n");
        text
    }
}

fn tunnel(text: &str) -> Result<RequestTarget, Fault> {
    match address::parse(text) {
        Some((host, Some(port))) => Ok(RequestTarget::Tunnel(host, port)),
        _ => Err((400, "CONNECT takes HOST:PORT")),
    }
}

fn document(text: &str) -> Result<RequestTarget, Fault> {
    match Url::parse(text) {
        Ok(url) if url.scheme() == "http" => Ok(RequestTarget::Document(url)),
        Ok(_) => Err((501, "only http is spoken here, and CONNECT for all else")),
        Err(_) => Err((400, "this is a proxy: it takes whole URLs")),
    }
}

/// The words of a list field, in lower case.
fn words(value: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    text.split(',').map(|word| word.trim_matches(SPACE).to_owned()).collect()
}

fn is_framing(name: &str) -> bool {
    matches!(name, "content-length" | "transfer-encoding")
}

/// The body's length. Only one statement of it is accepted, because servers disagree about all else (RFC 9112 §6.3).
fn body(fields: &[(String, Vec<u8>)]) -> Result<Body, Fault> {
    let ambiguous = (400, "the length of the body is told in more than one way");
    let mut framing = fields.iter().filter(|(name, _)| is_framing(name));
    let Some((name, value)) = framing.next() else { return Ok(Body::Length(0)) };
    if framing.next().is_some() {
        return Err(ambiguous);
    }
    if name == "transfer-encoding" {
        let is_chunked = words(value) == ["chunked"];
        return if is_chunked { Ok(Body::Chunked) } else { Err((501, "only chunks are known")) };
    }
    let digits = std::str::from_utf8(value).unwrap_or_default().trim_matches(SPACE);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number).map(Body::Length).ok_or(ambiguous)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<(RequestHead, Vec<u8>)>, Fault> {
        RequestHead::read(&mut text.as_bytes())
    }

    fn sent_on(text: &str) -> String {
        let (head, _) = read(text).expect("a request").expect("whole");
        let RequestTarget::Document(url) = &head.target else { panic!("{head:?}") };
        String::from_utf8(head.sent_on(url)).expect("text")
    }

    #[test]
    fn what_is_sent_on_is_what_was_judged() {
        let text = sent_on(
            "GET http://u:p@A.test:81/x/../%61dmin?q HTTP/1.1\r\nHost: other.test\r\nX-Own: 1\r\n\
             Connection: keep-alive, x-secret, content-length\r\nX-Secret: 1\r\nContent-Length: 2\r\n\
             Proxy-Authorization: x\r\n\r\nok",
        );
        assert_eq!(
            text,
            "GET /%61dmin?q HTTP/1.1\r\nhost: a.test:81\r\nx-own: 1\r\ncontent-length: 2\r\n\
             connection: close\r\n\r\n"
        );
    }

    #[test]
    fn what_came_behind_is_kept() {
        let (head, rest) = read("POST http://a.test/ HTTP/1.1\r\ncontent-length: 2\r\n\r\nokmore")
            .expect("one")
            .expect("whole");
        assert_eq!((head.body, rest.as_slice()), (Body::Length(2), b"okmore".as_slice()));
        let (head, _) = read("CONNECT [::1]:443 HTTP/1.1\r\n\r\n").expect("one").expect("whole");
        assert_eq!(
            head.target,
            RequestTarget::Tunnel(Host::Ipv6(std::net::Ipv6Addr::LOCALHOST), 443)
        );
    }

    #[test]
    fn ambiguous_and_foreign_requests_are_refused() {
        let fault = |text: &str| read(text).map(drop).expect_err(text).0;
        let with =
            |fields: &str| fault(&format!("GET http://a.test/ HTTP/1.1\r\n{fields}\r\n\r\n"));
        assert_eq!(with("content-length: 1\r\ncontent-length: 2"), 400);
        assert_eq!(with("content-length: 1\r\ntransfer-encoding: chunked"), 400);
        assert_eq!(with("content-length: +1"), 400);
        assert_eq!(with("content-length: \u{a0}25"), 400);
        assert_eq!(with("content-length: 25\u{2003}"), 400);
        assert_eq!(with("transfer-encoding: gzip, chunked"), 501);
        assert_eq!(with("transfer-encoding: \u{a0}chunked"), 501);
        assert_eq!(fault("GET / HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(fault("GET ftp://a.test/ HTTP/1.1\r\n\r\n"), 501);
        assert_eq!(fault("CONNECT a.test HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(fault("\0\r\n"), 400);
        let long = format!("GET http://a.test/{} HTTP/1.1\r\n", "x".repeat(LONGEST));
        assert_eq!(fault(&long), 431);
        assert!(read("GET http://a.test/").expect("no fault").is_none());
    }
}
