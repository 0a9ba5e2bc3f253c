//! Limits on the time and memory of a request, and rejection of lines that are not requests.

use std::time::Duration;

use jp_confine_vfs::Code;
use jp_confine_vfs::incoming::{Incoming, Request, parse};
use jp_confine_vfs::person::Nobody;
use jp_confine_vfs::service::{Caller, Patient};
use serde_json::{Value, json};

use crate::both::{POLICY, Place, answer, answer_in_full, rows};

const PARAMS: i32 = -32602;

/// A pattern within the limits that takes hundreds of steps for each byte of [`noise`].
const SLOW: &str = "(?-u)a[ab]{400}[c-z]";

/// A disordered string of the letters `a` and `b`.
fn noise(length: usize) -> String {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { 'a' } else { 'b' }
    };
    (0..length).map(|_| next()).collect()
}

fn request(params: &Value) -> Request {
    let line =
        json!({"jsonrpc": "2.0", "id": 1, "method": "fs.grep", "params": params}).to_string();
    let Ok(Incoming::Request(request)) = parse(line.as_bytes()) else { panic!("{line}") };
    request
}

/// A project with two large files: one has many lines, the other a single one.
fn large() -> Place {
    let place = Place::on_disk(POLICY);
    let lines = (noise(799) + "\n").repeat(10_000);
    std::fs::write(place.root().join("rw/lines"), lines).expect("written");
    std::fs::write(place.root().join("rw/one"), noise(2_000_000)).expect("written");
    place
}

#[test]
fn patterns_and_lists_have_limits() {
    let named = |name: &str, count: usize| json!({"pattern": "x", name: vec!["rw"; count]});
    let refused = [
        json!({"pattern": "((((((a{0,20}){0,20}){0,20}){0,25})))[^a]"}),
        json!({"pattern": "(a{1000}){1000}"}),
        json!({"pattern": "x".repeat(20_000)}),
        json!({"pattern": "(".repeat(200) + &")".repeat(200)}),
        named("paths", 10_001),
        named("extensions", 10_001),
    ];
    for params in refused {
        rows(POLICY, &[("fs.grep", params, json!(PARAMS))]);
    }
    let place = Place::on_disk(POLICY);
    let mut nobody = Nobody;
    let mut service = place.service(&mut nobody);
    for (params, why) in [
        (json!({"pattern": "(a{1000}){1000}"}), "size"),
        (named("paths", 1_500_000), "`paths` has more than 10000 entries: name directories"),
    ] {
        let fault = answer_in_full(&mut service, "fs.grep", &params).expect_err("too much");
        assert!(fault.message.contains(why), "{fault}");
    }
    let usual = r"(?i)\b(fn|let)\s+\w{1,10}\s*[=(]";
    let found = answer(&mut service, "fs.grep", &json!({"pattern": usual, "context": usize::MAX}));
    assert_eq!(found["matches"][0]["path"], "rw/b.rs");
}

// conformance: d11-164
#[test]
fn a_search_that_takes_too_long_is_given_up() {
    let place = large();
    for path in ["rw/lines", "rw/one", "rw"] {
        let mut nobody = Nobody;
        let mut service = place.service(&mut nobody).with_search_limit(Duration::from_millis(1));
        let asked = request(&json!({"pattern": SLOW, "paths": [path]}));
        let fault = service.answer(&asked, &mut Patient).expect_err("it takes long");
        assert_eq!(fault.code, Code::Timeout, "{path}: {fault}");
        assert!(fault.message.contains("narrow the paths"), "{fault}");
        // The session goes on.
        let read = answer(&mut service, "fs.read", &json!({"path": "rw/seasons"}));
        assert_eq!(read["content"], "spring\nsummer\n");
    }
}

/// A caller that gives up after this many checks.
#[derive(Debug)]
struct Impatient(u32);

impl Caller for Impatient {
    fn is_gone(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 == 0
    }

    fn told_to_wait(&mut self, _: &str) {}
}

// conformance: d11-157, d11-165
#[test]
fn a_search_that_nobody_waits_for_ends() {
    let place = large();
    let mut nobody = Nobody;
    let mut service = place.service(&mut nobody);
    let asked = request(&json!({"pattern": SLOW}));
    let answer = service.answer(&asked, &mut Impatient(3)).map(|_| ());
    assert_eq!(answer.map_err(|fault| fault.code), Err(Code::Cancelled));
}

// conformance: d11-70
/// Large files are searched in parts, with the same result.
#[test]
fn lines_are_found_wherever_they_are() {
    let place = Place::on_disk(POLICY);
    let lines: Vec<String> = (0..20_000).map(|number| format!("line {number} end")).collect();
    let long = format!("x{}y", "z".repeat(100_000));
    let text = format!("{}\n\n{long}\n{}", lines.join("\n"), "last");
    std::fs::write(place.root().join("rw/many"), text).expect("written");
    let mut nobody = Nobody;
    let mut service = place.service(&mut nobody);
    let mut numbers = |pattern: &str| -> Vec<u64> {
        let asked = json!({"pattern": pattern, "paths": ["rw/many"]});
        let found = answer(&mut service, "fs.grep", &asked);
        let lines = found["matches"][0]["lines"].as_array().cloned().unwrap_or_default();
        lines.iter().filter_map(|line| line["line_number"].as_u64()).collect()
    };
    let every: Vec<u64> = (1..=20_000).collect();
    assert_eq!(numbers(r"^line \d+ end$"), every);
    assert_eq!(numbers("line (0|777|19999) end"), [1, 778, 20_000]);
    assert_eq!(numbers("^$"), [20_001]);
    assert_eq!(numbers("^xz*y$"), [20_002]);
    assert_eq!(numbers(r"\blast\b|^x"), [20_002, 20_003]);
    assert_eq!(numbers("no such line"), [0; 0]);
}

// conformance: d11-151, d11-152
#[test]
fn a_file_may_have_ten_mebibytes() {
    let place = Place::on_disk(POLICY);
    let mut nobody = Nobody;
    let mut service = place.service(&mut nobody);
    let mut read = |size: usize| {
        std::fs::write(place.root().join("rw/large"), "x".repeat(size)).expect("a file");
        answer(&mut service, "fs.read", &json!({"path": "rw/large"}))
    };
    assert_eq!(read(10 << 20)["size"], 10 << 20);
    assert_eq!(read((10 << 20) + 1), json!(-32006));
}

// conformance: d11-203
#[test]
fn a_large_directory_is_listed_at_once() {
    let place = Place::on_disk(POLICY);
    for number in 0..3000 {
        std::fs::write(place.root().join(format!("rw/sub/{number}")), "").expect("a file");
    }
    let mut nobody = Nobody;
    let mut service = place.service(&mut nobody);
    let listing = answer(&mut service, "fs.list_dir", &json!({"path": "rw/sub"}));
    assert_eq!(listing["entries"].as_array().map(Vec::len), Some(3001));
}

// conformance: d11-160
#[test]
fn unknown_parameters_are_named() {
    let place = Place::on_disk(POLICY);
    let mut nobody = Nobody;
    let mut service = place.service(&mut nobody);
    for (method, params, unknown) in [
        ("fs.grep", json!({"pattern": "x", "path": "rw"}), "path"),
        ("fs.read", json!({"path": "rw/a.txt", "encoding": "base64"}), "encoding"),
        ("fs.write", json!({"path": "rw/a", "content": "", "mode": 1}), "mode"),
        ("fs.exists", json!({"path": "rw", "paths": []}), "paths"),
        ("fs.rename", json!({"from": "rw/a.txt", "to": "rw/z", "force": true}), "force"),
        ("http.get", json!({"url": "http://a.test/", "header": []}), "header"),
        (
            "http.get",
            json!({"url": "http://a.test/", "headers": [{"name": "a", "value": "b", "c": 1}]}),
            "c",
        ),
        ("process.run", json!({"program": "true", "arguments": []}), "arguments"),
    ] {
        let fault = answer_in_full(&mut service, method, &params).expect_err(method);
        assert_eq!(i32::from(fault.code), PARAMS, "{method}: {fault}");
        assert!(fault.message.contains(&format!("unknown field `{unknown}`")), "{fault}");
    }
}
