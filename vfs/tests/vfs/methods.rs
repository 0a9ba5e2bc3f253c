//! A table of requests for each method, each with its result or the number of its error.

use serde_json::{Value, json};

use crate::both::{FILES, POLICY, Place, STAYING, answer, answer_in_full, rows};

const DENIED: i32 = -32001;
const NOT_FOUND: i32 = -32002;
const EXISTS: i32 = -32003;
const PARAMS: i32 = -32602;
const TOO_LARGE: i32 = -32006;

fn path(path: &str) -> Value {
    json!({ "path": path })
}

fn write(path: &str, content: &str) -> Value {
    json!({"path": path, "content": content})
}

fn rename(from: &str, to: &str) -> Value {
    json!({"from": from, "to": to})
}

// conformance: 076-51
// conformance: d11-3, d11-10, d11-14, d11-26, d11-32, d11-40, d11-41, d11-42, d11-43, d11-44, d11-45, d11-46, d11-47
// conformance: d11-48, d11-49, d11-138, d11-159, d11-160, d11-161, d11-162, d11-200, d11-212
#[test]
fn read() {
    let text = json!({"content": "kept", "size": 4});
    rows(
        POLICY,
        &[
            ("fs.read", path("rw/kept/file"), text.clone()),
            ("fs.read", path("./rw//x/../kept/file"), text),
            (
                "fs.read",
                path("rw/bytes"),
                json!({"content": "//4=", "encoding": "base64", "size": 2}),
            ),
            ("fs.read", path("empty/file"), json!({"content": "", "size": 0})),
            ("fs.read", path("rw"), json!(PARAMS)),
            ("fs.read", path("."), json!(PARAMS)),
            ("fs.read", path("gone"), json!(NOT_FOUND)),
            ("fs.read", path("gone/gone"), json!(NOT_FOUND)),
            ("fs.read", path("a.txt/x"), json!(DENIED)),
            ("fs.read", path("none/secret.txt"), json!(DENIED)),
            ("fs.read", path("none/gone"), json!(DENIED)),
            ("fs.read", path("../project/a.txt"), json!(DENIED)),
            ("fs.read", path("/etc/passwd"), json!(DENIED)),
            ("fs.read", path(""), json!(DENIED)),
            ("fs.read", path("a\u{0}b"), json!(DENIED)),
            ("fs.read", json!({}), json!(PARAMS)),
            ("fs.read", json!({"path": 1}), json!(PARAMS)),
            ("fs.read", json!(["a.txt"]), json!(PARAMS)),
            ("read", path("a.txt"), json!(-32601)),
        ],
    );
}

// conformance: 076-54, 076-55
// conformance: d11-15, d11-25, d11-50, d11-51, d11-52, d11-53, d11-136, d11-139, d11-151, d11-161, d11-194, d11-212
#[test]
fn write_files() {
    let long = "x".repeat(201);
    let base64 = |text: &str| json!({"path": "rw/new", "content": text, "encoding": "base64"});
    rows(
        POLICY,
        &[
            ("fs.write", write("rw/new", "one"), json!({})),
            ("fs.read", path("rw/new"), json!({"content": "one", "size": 3})),
            ("fs.write", write("rw/new", ""), json!({})),
            ("fs.read", path("rw/new"), json!({"content": "", "size": 0})),
            ("fs.write", base64("//4="), json!({})),
            (
                "fs.read",
                path("rw/new"),
                json!({"content": "//4=", "encoding": "base64", "size": 2}),
            ),
            ("fs.write", base64("%"), json!(PARAMS)),
            (
                "fs.write",
                json!({"path": "rw/new", "content": "", "encoding": "hex"}),
                json!(PARAMS),
            ),
            ("fs.write", write("rw/deep/er/new", "two"), json!({})),
            ("fs.read", path("rw/deep/er/new"), json!({"content": "two", "size": 3})),
            ("fs.write", write("rw/new", &long[1..]), json!({})),
            ("fs.write", write("rw/new", &long), json!(TOO_LARGE)),
            ("fs.write", write("rw", "x"), json!(PARAMS)),
            ("fs.write", write("rw/new/x", "x"), json!(DENIED)),
            ("fs.write", write("a.txt", "x"), json!(DENIED)),
            ("fs.write", write("new", "x"), json!(DENIED)),
            ("fs.write", write("rw/kept/file", "x"), json!(DENIED)),
            ("fs.write", write("jp-confine.toml", "x"), json!(DENIED)),
            ("fs.write", write("create/new", "x"), json!({})),
            ("fs.write", write("create/sub/new", "x"), json!({})),
            ("fs.write", write("create/old", "x"), json!(DENIED)),
            ("fs.write", write("update/old", "x"), json!({})),
            ("fs.write", write("update/new", "x"), json!(DENIED)),
        ],
    );
}

// conformance: 076-52
// conformance: d11-54, d11-55, d11-57, d11-58, d11-59, d11-60, d11-61, d11-138, d11-162, d11-212
#[test]
fn edit() {
    let edit = |path: &str, old: &str, new: &str| json!({"path": path, "old": old, "new": new});
    let all = json!({"path": "rw/sub/c.txt", "old": "spring", "new": "may", "all": true});
    rows(
        POLICY,
        &[
            ("fs.edit", edit("rw/a.txt", "spring\r", "may"), json!({"replaced": 1})),
            ("fs.read", path("rw/a.txt"), json!({"content": "may\nwinter", "size": 10})),
            ("fs.edit", edit("rw/a.txt", "spring", "may"), json!(PARAMS)),
            ("fs.edit", edit("rw/a.txt", "", "may"), json!(PARAMS)),
            ("fs.edit", edit("rw/sub/c.txt", "spring", "may"), json!(PARAMS)),
            ("fs.edit", all, json!({"replaced": 2})),
            ("fs.edit", edit("update/old", "old", ""), json!({"replaced": 1})),
            ("fs.read", path("update/old"), json!({"content": "", "size": 0})),
            ("fs.edit", edit("rw/seasons", "summer", &"x".repeat(201)), json!(TOO_LARGE)),
            ("fs.edit", edit("rw/gone", "a", "b"), json!(NOT_FOUND)),
            ("fs.edit", edit("rw/sub", "a", "b"), json!(PARAMS)),
            ("fs.edit", edit("a.txt", "spring", "may"), json!(DENIED)),
            ("fs.edit", edit("none/gone", "a", "b"), json!(DENIED)),
            ("fs.edit", edit("jp-confine.toml", "a", "b"), json!(DENIED)),
        ],
    );
}

#[test]
fn look() {
    let entry = |path: &str, kind: &str| json!({"path": path, "kind": kind});
    let listing = json!({"entries": [
        entry("a.txt", "file"), entry("create", "dir"), entry("empty", "dir"), entry("rw", "dir"),
        entry("update", "dir"),
    ]});
    rows(
        POLICY,
        &[
            ("fs.exists", path("a.txt"), json!({"exists": true})),
            ("fs.exists", path("rw/"), json!({"exists": true})),
            ("fs.exists", path("gone"), json!({"exists": false})),
            ("fs.exists", path("none/secret.txt"), json!(DENIED)),
            ("fs.exists", path("none/gone"), json!(DENIED)),
            ("fs.metadata", path("a.txt"), json!({"kind": "file", "size": 21})),
            ("fs.metadata", path("rw"), json!({"kind": "dir", "size": 0})),
            ("fs.metadata", path("gone"), json!(NOT_FOUND)),
            ("fs.metadata", path("none/gone"), json!(DENIED)),
            ("fs.list_dir", path("."), listing),
            ("fs.list_dir", path("empty"), json!({"entries": [entry("file", "file")]})),
            ("fs.list_dir", path("none"), json!(DENIED)),
            ("fs.list_dir", path("gone"), json!(NOT_FOUND)),
            ("fs.list_dir", path("a.txt"), json!(PARAMS)),
        ],
    );
}

/// No store can hold a file with such a name, whatever else on the path is missing.
#[test]
fn what_is_too_long_for_a_name_is_none() {
    let long = format!("rw/{}", "n".repeat(256));
    let within = format!("rw/{}", "n".repeat(255));
    let deep = format!("rw/{}", "d/".repeat(2048));
    for (path, expected) in [
        (long.clone(), DENIED),
        (format!("{long}/x"), DENIED),
        (format!("rw/gone/{long}"), DENIED),
        (format!("gone/{long}"), DENIED),
        (deep, DENIED),
        (within, NOT_FOUND),
    ] {
        let path = path.as_str();
        let mut expected = vec![
            ("fs.read", json!({ "path": path }), json!(expected)),
            ("fs.metadata", json!({ "path": path }), json!(expected)),
            ("fs.list_dir", json!({ "path": path }), json!(expected)),
            ("fs.delete", json!({ "path": path }), json!(expected)),
            ("fs.grep", json!({"pattern": "x", "paths": [path]}), json!(expected)),
            ("fs.rename", rename(path, "rw/new"), json!(expected)),
        ];
        if path.len() > 258 {
            expected.push(("fs.exists", json!({ "path": path }), json!(DENIED)));
            expected.push(("fs.write", write(path, "x"), json!(DENIED)));
            expected.push(("fs.rename", rename("rw/seasons", path), json!(DENIED)));
        } else {
            expected.push(("fs.exists", json!({ "path": path }), json!({"exists": false})));
            expected.push(("fs.write", write(path, "x"), json!({})));
        }
        // The denial to delete comes before everything else.
        expected.retain(|(method, ..)| !path.starts_with("gone") || *method != "fs.write");
        rows(POLICY, &expected);
    }
}

// conformance: d11-51
/// The host looks only once for the directories above, however many are missing.
#[test]
fn many_directories_are_made_at_once() {
    let deep = format!("rw/{}f", "d/".repeat(600));
    rows(
        POLICY,
        &[
            ("fs.write", write(&deep, "x"), json!({})),
            ("fs.read", path(&deep), json!({"content": "x", "size": 1})),
            ("fs.write", write(&deep, "y"), json!({})),
        ],
    );
}

// conformance: 076-56
// conformance: d11-62, d11-63, d11-136, d11-212
#[test]
fn delete() {
    rows(
        POLICY,
        &[
            ("fs.delete", path("rw/a.txt"), json!({})),
            ("fs.exists", path("rw/a.txt"), json!({"exists": false})),
            ("fs.delete", path("rw/a.txt"), json!(NOT_FOUND)),
            ("fs.delete", path("rw/sub"), json!(PARAMS)),
            ("fs.delete", path("rw/sub/c.txt"), json!({})),
            ("fs.exists", path("rw/sub"), json!({"exists": true})),
            ("fs.delete", path("a.txt"), json!(DENIED)),
            ("fs.delete", path("gone"), json!(DENIED)),
            ("fs.delete", path("rw/kept/file"), json!(DENIED)),
        ],
    );
}

// conformance: 076-57, 076-58
// conformance: d11-64, d11-65, d11-136, d11-163, d11-212
#[test]
fn rename_files() {
    rows(
        POLICY,
        &[
            ("fs.rename", rename("rw/a.txt", "rw/new"), json!({})),
            ("fs.exists", path("rw/a.txt"), json!({"exists": false})),
            ("fs.rename", rename("rw/new", "rw/b.rs"), json!({})),
            ("fs.read", path("rw/b.rs"), json!({"content": "spring\r\nwinter", "size": 14})),
            ("fs.rename", rename("rw/b.rs", "rw/x/y/z"), json!({})),
            ("fs.exists", path("rw/x/y/z"), json!({"exists": true})),
            ("fs.rename", rename("rw/x/y/z", "rw/sub"), json!(EXISTS)),
            ("fs.rename", rename("rw/gone", "rw/new"), json!(NOT_FOUND)),
            ("fs.rename", rename("rw/sub", "rw/new"), json!(PARAMS)),
            ("fs.rename", rename("rw/bytes", "a.txt"), json!(DENIED)),
            ("fs.rename", rename("rw/bytes", "../x"), json!(DENIED)),
            ("fs.rename", rename("a.txt", "rw/new"), json!(DENIED)),
            ("fs.rename", rename("rw/bytes", "create/new"), json!({})),
            ("fs.rename", rename("create/new", "rw/bytes"), json!(DENIED)),
            ("fs.rename", rename("rw/binary", "update/old"), json!({})),
        ],
    );
}

#[test]
fn nothing_moves_to_where_more_is_allowed() {
    let policy = r#"{"access": {"fs": [{"path": ".", "read": true, "write": true},
        {"path": "rw", "delete": true}]}}"#;
    rows(policy, &[("fs.rename", rename("rw/a.txt", "a.txt"), json!(DENIED))]);
}

// conformance: d11-163
#[test]
fn files_go_where_no_directory_may() {
    rows(
        STAYING,
        &[
            ("fs.rename", rename("rw/a.txt", "rw/x/new"), json!({})),
            ("fs.exists", path("rw/a.txt"), json!({"exists": false})),
            ("fs.rename", rename("rw/b.rs", "rw/x/new"), json!({})),
            ("fs.exists", path("rw/b.rs"), json!({"exists": false})),
            ("fs.read", path("rw/x/new"), json!({"content": "fn spring() {}\n", "size": 15})),
            ("fs.rename", rename("rw/bytes", "rw/x"), json!(EXISTS)),
            ("fs.rename", rename("rw/sub", "rw/x/sub"), json!(PARAMS)),
            ("fs.rename", rename("rw/gone", "rw/x/sub"), json!(NOT_FOUND)),
        ],
    );
}

// conformance: d11-66, d11-67, d11-68, d11-69, d11-70, d11-71, d11-72, d11-73, d11-74, d11-75, d11-183, d11-212
#[test]
fn grep() {
    let line = |number: u64, content: &str, is_match: bool| json!({"line_number": number, "content": content, "is_match": is_match});
    let file = |path: &str, lines: &[Value]| json!({"path": path, "lines": lines});
    let everything = json!({"matches": [
        file("a.txt", &[line(1, "spring", true)]),
        file("rw/a.txt", &[line(1, "spring", true)]),
        file("rw/b.rs", &[line(1, "fn spring() {}", true)]),
        file("rw/seasons", &[line(1, "spring", true)]),
        file("rw/sub/c.txt", &[line(2, "two spring", true), line(5, "five spring", true)]),
    ]});
    let near = json!({"matches": [file("rw/sub/c.txt", &[
        line(1, "one", false), line(2, "two spring", true), line(3, "three", false),
        line(4, "four", false), line(5, "five spring", true),
    ])]});
    let spots = json!({"matches": [
        file("none/secret.txt", &[line(1, "spring secret", true)]),
        file("rw/sub/c.txt", &[line(2, "two spring", true), line(5, "five spring", true)]),
    ]});
    let source = json!({"matches": [file("rw/b.rs", &[line(1, "fn spring() {}", true)])]});
    let spring = |paths: Value| json!({"pattern": "spring", "paths": paths});
    rows(
        POLICY,
        &[
            ("fs.grep", json!({"pattern": "spring"}), everything.clone()),
            ("fs.grep", spring(json!(["."])), everything),
            ("fs.grep", json!({"pattern": "^(two|five)", "paths": ["rw/sub"], "context": 1}), near),
            ("fs.grep", json!({"pattern": "spr", "extensions": ["rs"]}), source.clone()),
            ("fs.grep", spring(json!(["rw/b.rs"])), source.clone()),
            ("fs.grep", json!({"pattern": "Spring"}), json!({"matches": []})),
            ("fs.grep", spring(json!([])), json!({"matches": []})),
            ("fs.grep", spring(json!(["none"])), json!(DENIED)),
            ("fs.grep", spring(json!(["a.txt", "none/secret.txt"])), json!(DENIED)),
            ("fs.grep", spring(json!(["../project"])), json!(DENIED)),
            ("fs.grep", spring(json!(["gone"])), json!(NOT_FOUND)),
            ("fs.grep", json!({"pattern": "("}), json!(PARAMS)),
            ("fs.grep", json!({"pattern": "a\nb"}), json!(PARAMS)),
        ],
    );
    // Readable files below unreadable directories.
    let policy = r#"{"access": {"fs": [
        {"path": "rw/sub", "read": true}, {"path": "none/secret.txt", "read": true},
        {"path": "gone/gone", "read": true}, {"path": "a.txt", "update": true}]}}"#;
    rows(
        policy,
        &[
            ("fs.grep", json!({"pattern": "spring"}), spots),
            ("fs.grep", spring(json!(["."])), json!(DENIED)),
            ("fs.grep", spring(json!(["rw"])), json!(DENIED)),
        ],
    );
    let policy = r#"{"access": {"fs": [
        {"path": ".", "read": true}, {"path": "rw"}, {"path": "rw/b.rs", "read": true},
        {"path": "none"}, {"path": "a.txt"}]}}"#;
    let none = r#"{"access": {"fs": [{"path": ".", "write": true}]}}"#;
    let everything = json!({"pattern": "spring"});
    rows(policy, &[("fs.grep", everything.clone(), source)]);
    rows(none, &[("fs.grep", everything, json!({"matches": []}))]);
}

// conformance: 076-53
// conformance: d11-14
/// Readable files are found even if the directories above them are denied.
#[test]
fn grep_finds_what_may_be_read() {
    let rules = |rules: &str, tiers: &str| {
        format!(r#"{{"access": {{"fs": [{rules}]}}, "file_policy": {{{tiers}}}}}"#)
    };
    let read = r#""default": "deny", "read_paths": ["<workspace>/rw/**"]"#;
    let everywhere = r#"{"path": ".", "read": true}"#;
    for (policy, expected) in [
        (format!(r#"{{"file_policy": {{{read}}}}}"#), 4),
        (rules(everywhere, read), 4),
        (rules(r#"{"path": "rw/sub", "read": true}"#, r#""deny_paths": ["<workspace>/*"]"#), 1),
        (rules(everywhere, r#""deny_paths": ["<workspace>/*"]"#), 5),
        (rules(everywhere, r#""deny_paths": ["<workspace>/r?"]"#), 6),
        (rules(everywhere, r#""deny_paths": ["<workspace>/r?/**"]"#), 2),
        (rules(everywhere, r#""prompt_paths": ["<workspace>/rw/s*"]"#), 5),
        (r#"{"file_policy": {"default": "deny", "read_paths": ["**/*.txt"]}}"#.to_owned(), 4),
    ] {
        for place in [Place::on_disk(&policy), Place::in_memory(&policy)] {
            let mut nobody = jp_confine_vfs::person::Nobody;
            let mut service = place.service(&mut nobody);
            let found = answer(&mut service, "fs.grep", &json!({"pattern": "spring"}));
            let found = found["matches"].as_array().cloned().unwrap_or_default();
            let found: Vec<&str> = found.iter().filter_map(|file| file["path"].as_str()).collect();
            let mut is_read = |path: &&str| {
                let file = answer(&mut service, "fs.read", &json!({"path": path}));
                let text = file["content"].as_str().unwrap_or_default();
                file["encoding"] != "base64" && text.contains("spring")
            };
            let mut readable: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
            readable.retain(&mut is_read);
            assert_eq!(found, readable, "{policy}");
            assert_eq!(found.len(), expected, "{policy}");
        }
    }
}

/// Empty lines take little space on disk and much in a reply.
#[test]
fn a_reply_has_an_end_however_little_is_in_its_lines() {
    let place = Place::in_memory(POLICY);
    let mut nobody = jp_confine_vfs::person::Nobody;
    let mut service = place.service(&mut nobody);
    let mut found = |lines: usize, context: u64| {
        let content = "\n".repeat(lines);
        let written = json!({"path": "rw/sub/lines", "content": content});
        assert_eq!(answer(&mut service, "fs.write", &written), json!({}));
        let asked = json!({"pattern": "^$", "paths": ["rw/sub"], "context": context});
        let found = answer(&mut service, "fs.grep", &asked);
        let lines = found["matches"][0]["lines"].as_array();
        lines.map_or_else(|| found.clone(), |lines| lines.len().into())
    };
    assert_eq!(found(99_999, 0), json!(99_999));
    assert_eq!(found(200_000, 0), json!(-32006));
    assert_eq!(found(10, u64::from(u32::MAX)), json!(10));
}

// conformance: tiers-56
// conformance: d11-3, d11-188
/// Different words would reveal whether the file exists.
#[test]
fn what_is_denied_is_denied_in_the_same_words_whether_it_exists_or_not() {
    // One policy has a rule that denies it. The other has no rule about it, and there is nobody to prompt.
    let uncovered = r#"{"access": {"fs": [{"path": "rw", "read": true, "write": true}]}}"#;
    let places = [POLICY, uncovered];
    for place in places.iter().flat_map(|it| [Place::on_disk(it), Place::in_memory(it)]) {
        let mut nobody = jp_confine_vfs::person::Nobody;
        let mut service = place.service(&mut nobody);
        let requests = [
            ("fs.read", json!({"path": "none/NAME"})),
            ("fs.write", json!({"path": "none/NAME", "content": ""})),
            ("fs.delete", json!({"path": "none/NAME"})),
            ("fs.rename", json!({"from": "rw/a.txt", "to": "none/NAME"})),
        ];
        for (method, params) in requests {
            let mut message = |name: &str| {
                let params = params.to_string().replace("NAME", name);
                let params = serde_json::from_str(&params).expect("JSON");
                let fault = answer_in_full(&mut service, method, &params).expect_err("denied");
                fault.message.replace(name, "NAME")
            };
            assert_eq!(message("secret.txt"), message("gone"), "{method}");
        }
    }
}

// conformance: d11-143
/// The suggestion covers both creating and updating, because naming only one would reveal whether the file exists.
#[test]
fn a_denied_write_is_advised_what_allows_it_whether_it_exists_or_not() {
    let policy = |rule: &str| {
        let all = r#"{"access": {"fs": [{"path": ".", "read": true}RULE]}}"#;
        all.replace("RULE", rule)
    };
    let advised =
        "with `read = true`, `create = true` and `update = true`, or for the flag `--write PATH`.";
    for name in ["a.txt", "rw/gone"] {
        let place = Place::in_memory(&policy(""));
        let mut nobody = jp_confine_vfs::person::Nobody;
        let mut service = place.service(&mut nobody);
        let params = write(name, "x");
        let fault = answer_in_full(&mut service, "fs.write", &params).expect_err("denied");
        assert!(fault.message.ends_with(advised), "{}", fault.message);
        let rule =
            format!(r#", {{"path": "{name}", "read": true, "update": true, "create": true}}"#);
        let written = json!({"content": "x", "size": 1});
        let reading = json!({"path": name});
        rows(&policy(&rule), &[("fs.write", params, json!({})), ("fs.read", reading, written)]);
    }
}
