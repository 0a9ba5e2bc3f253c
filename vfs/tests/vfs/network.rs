//! `http.get` and `http.post`, against a server on the loopback interface.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use jp_confine_engine::resources::Written;
use jp_confine_vfs::content::{Content, Encoding};
use jp_confine_vfs::person::Nobody;
use serde_json::{Value, json};

use crate::both::{POLICY, Place, answer, answer_in_full};

/// A server that returns the request it receives, and redirects `/to/PORT/PATH`.
struct Server {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.expect("a connection"));
                let mut lines = String::new();
                while !lines.ends_with("\r\n\r\n")
                    && stream.read_line(&mut lines).expect("text") > 0
                {}
                let header = |name: &str| {
                    let line = lines.lines().find_map(|line| line.strip_prefix(name));
                    line.map(str::trim).unwrap_or_default().to_owned()
                };
                let length = header("content-length:").parse().unwrap_or(0);
                let mut body = vec![0; length];
                stream.read_exact(&mut body).expect("a body");
                let path = lines.split(' ').nth(1).expect("a path");
                let said = [lines.as_bytes(), &body].concat();
                told.lock().expect("whole").push(String::from_utf8_lossy(&said).into_owned());
                let (status, body) =
                    match path.strip_prefix("/to/").and_then(|to| to.split_once('/')) {
                        Some((port, path)) => (
                            format!("302 Found\r\nlocation: http://127.0.0.1:{port}/{path}"),
                            Vec::new(),
                        ),
                        None => ("404 Not Found".to_owned(), said),
                    };
                let length = body.len();
                let start = format!(
                    "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
                );
                stream.get_mut().write_all(&[start.as_bytes(), &body].concat()).expect("written");
            }
        });
        Self { port, heard }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("whole").clone()
    }
}

#[test]
fn more_headers_than_fit_are_refused() {
    let header = |number: u32| json!({"name": format!("x-{number}"), "value": ""});
    let headers: Vec<Value> = (0..40_000).map(header).collect();
    let params = json!({"url": "http://127.0.0.1:1/", "headers": headers});
    assert_eq!(ask(&[1], "http.get", &params), json!(-32602));
}

/// The answer of a service whose rules allow `ports`, except for `/private`.
fn ask(ports: &[u16], method: &str, params: &Value) -> Value {
    let place = Place::on_disk(POLICY);
    let mut nobody = Nobody;
    let variables = |name: &str| match name {
        "TOKEN" => Some("t0ps3cret".to_owned()),
        "OTHER" => Some("0ther".to_owned()),
        _ => None,
    };
    let mut written =
        Written { net_env: vec!["TOKEN".to_owned(), "UNSET".to_owned()], ..Written::default() };
    for port in ports {
        for (path, allow) in [(Value::Null, true), (json!("/private"), false)] {
            let rule =
                json!({"host": "127.0.0.1", "port": port, "path_prefix": path, "allow": allow});
            written.net.push(serde_json::from_value(rule).expect("a rule"));
        }
    }
    let resources = written.compile().expect("rules");
    let mut service =
        place.service(&mut nobody).with_resources(resources, &variables).with_limit(2000);
    match answer_in_full(&mut service, method, params) {
        Err(fault) if fault.message.contains("t0ps3cret") => panic!("{fault}"),
        Err(fault) => json!(i32::from(fault.code)),
        Ok(result) => result,
    }
}

// conformance: d11-2, d11-76, d11-79, d11-85, d11-86
#[test]
fn what_is_allowed_is_fetched_whatever_it_says() {
    let server = Server::start();
    let reply = ask(&[server.port], "http.get", &json!({"url": server.url("/x")}));
    assert_eq!(reply["status"], 404);
    assert!(reply["body"].as_str().expect("text").starts_with("GET /x HTTP/1.1\r\n"), "{reply}");
    let post = json!({"url": server.url("/x"), "body": "spring",
        "headers": [{"name": "Content-Type", "value": "text/plain"}]});
    let reply = ask(&[server.port], "http.post", &post)["body"].to_string();
    assert!(reply.contains("content-type: text/plain") && reply.ends_with("spring\""), "{reply}");
    let long = json!({"url": server.url("/x"), "body": "x".repeat(3000)});
    assert_eq!(ask(&[server.port], "http.post", &long), json!(-32006));
}

// conformance: d11-84
#[test]
fn a_body_that_is_no_text_is_base64() {
    let server = Server::start();
    let post = json!({"url": server.url("/x"), "body": "//4=", "encoding": "base64"});
    let reply = ask(&[server.port], "http.post", &post);
    assert_eq!(reply["encoding"], "base64", "{reply}");
    let text = reply["body"].as_str().expect("text").to_owned();
    let bytes = Content { text, encoding: Some(Encoding::Base64) }.into_bytes().expect("base64");
    assert!(bytes.ends_with(b"\r\n\r\n\xff\xfe"), "{bytes:?}");
}

// conformance: d11-15, d11-77, d11-136, d11-140, d11-214
#[test]
fn what_is_not_allowed_is_not_asked_for() {
    let server = Server::start();
    for (ports, url) in [
        (vec![], server.url("/x")),
        (vec![server.port], server.url("/private")),
        (vec![server.port], server.url("/x/../private/y")),
        (vec![server.port], server.url("/%70rivate")),
        (vec![server.port], format!("http://localhost:{}/x", server.port)),
        (vec![server.port], "http://127.0.0.1/x".to_owned()),
    ] {
        assert_eq!(ask(&ports, "http.get", &json!({ "url": url })), json!(-32001), "{url}");
    }
    for url in ["x", "file:///etc/passwd", "ftp://127.0.0.1/"] {
        assert_eq!(ask(&[server.port], "http.get", &json!({ "url": url })), json!(-32602), "{url}");
    }
    for name in ["Host", "Content-Length", "a b", "Transfer-Encoding"] {
        let headers = json!([{"name": name, "value": "x"}]);
        let params = json!({"url": server.url("/x"), "headers": headers});
        assert_eq!(ask(&[server.port], "http.get", &params), json!(-32602), "{name}");
    }
    assert!(server.heard().is_empty());
}

// conformance: d11-77
#[test]
fn every_hop_is_judged() {
    let (first, second) = (Server::start(), Server::start());
    let params = json!({"url": first.url(&format!("/to/{}/there", second.port))});
    assert_eq!(ask(&[first.port], "http.get", &params), json!(-32001));
    assert!(second.heard().is_empty());
    assert_eq!(ask(&[first.port, second.port], "http.get", &params)["status"], 404);
    let inside = json!({"url": first.url(&format!("/to/{}/private", first.port))});
    assert_eq!(ask(&[first.port], "http.get", &inside), json!(-32001));
    let circle = json!({"url": first.url("/to/PORT/").replace("PORT", &first.port.to_string())});
    assert_eq!(ask(&[first.port], "http.get", &circle)["status"], 404);
}

/// The policy judges a name, and judges its address again when the connection is made.
#[test]
fn a_name_leads_to_no_address_that_rules_forbid() {
    let server = Server::start();
    let place = Place::on_disk(POLICY);
    let url = json!({"url": format!("http://localhost:{}/x", server.port)});
    let asked = |forbidden: &[&str]| {
        let rule = |host: &str, allow: bool| {
            let rule = json!({"host": host, "port": server.port, "allow": allow});
            serde_json::from_value(rule).expect("a rule")
        };
        let mut written = Written { net: vec![rule("localhost", true)], ..Written::default() };
        written.net.extend(forbidden.iter().map(|host| rule(host, false)));
        let mut nobody = Nobody;
        let resources = written.compile().expect("rules");
        let mut service = place.service(&mut nobody).with_resources(resources, &|_| None);
        answer(&mut service, "http.get", &url)
    };
    assert_eq!(asked(&["127.0.0.1", "::1"]), json!(-32001));
    assert!(server.heard().is_empty());
    assert_eq!(asked(&[])["status"], 404);
}

// conformance: d11-78, d11-80, d11-81, d11-82, d11-83
#[test]
fn values_go_where_they_are_meant_for_and_do_not_come_back() {
    let (first, second) = (Server::start(), Server::start());
    let get = |url: String, value: &str| {
        let headers = json!([{"name": "X-Key", "value": value}]);
        ask(&[first.port, second.port], "http.get", &json!({"url": url, "headers": headers}))
    };
    let reply = get(first.url("/x"), "Bearer ${TOKEN}").to_string();
    assert!(first.heard()[0].contains("x-key: Bearer t0ps3cret"), "{:?}", first.heard());
    assert!(reply.contains("Bearer [REDACTED]") && !reply.contains("t0ps3cret"), "{reply}");
    assert!(reply.contains("\"redacted\":1"), "{reply}");
    get(first.url(&format!("/to/{}/there", second.port)), "${TOKEN}");
    assert!(!second.heard().concat().contains("t0ps3cret"), "{:?}", second.heard());
    let heard = first.heard().len();
    for value in ["${OTHER}", "${UNSET}", "${HOME}"] {
        assert_eq!(get(first.url("/x"), value), json!(-32001), "{value}");
    }
    assert_eq!(get(first.url("/x"), "${TOKEN"), json!(-32602));
    assert_eq!(get(first.url("/x"), "${TOKEN}\r\nX: y"), json!(-32602));
    assert_eq!(first.heard().len(), heard);
}
