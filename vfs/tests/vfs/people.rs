//! The prompts that a person gets, and the effects of the answers (spec §14.8).

use jp_confine_vfs::person::{Answer, Person, Question};
use serde_json::{Value, json};

use crate::both::{Place, answer};

/// No rule applies to most of the project.
const POLICY: &str = r#"{"access": {"fs": [
    {"path": "rw", "read": true},
    {"path": "rw/kept"}
]}, "file_policy": {"prompt_paths": ["<workspace>/rw/sub/**"]}}"#;

/// A person who always gives one answer, and the prompts so far.
#[derive(Debug)]
struct Somebody(Answer, Vec<Vec<String>>);

impl Person for Somebody {
    fn is_there(&self) -> bool {
        true
    }

    fn ask(&mut self, questions: &[Question], _: &mut dyn FnMut() -> bool) -> Answer {
        let short = |question: &Question| {
            let name = question.what.rsplit('/').next().unwrap_or_default();
            format!("{} {name}", question.action)
        };
        self.1.push(questions.iter().map(short).collect());
        self.0
    }
}

/// A person who notes the texts that would be written.
#[derive(Debug)]
struct Previewed(Vec<String>);

impl Person for Previewed {
    fn is_there(&self) -> bool {
        true
    }

    fn ask(&mut self, questions: &[Question], _: &mut dyn FnMut() -> bool) -> Answer {
        self.0.extend(questions.iter().map(|question| question.preview.clone()));
        Answer::Once
    }
}

fn asked(answered: Answer, requests: &[(&str, Value)]) -> (Vec<Value>, Vec<Vec<String>>) {
    let place = Place::on_disk(POLICY);
    let mut somebody = Somebody(answered, Vec::new());
    let mut service = place.service(&mut somebody);
    let answers =
        requests.iter().map(|(method, params)| answer(&mut service, method, params)).collect();
    (answers, somebody.1)
}

// conformance: tiers-50
// conformance: d11-42, d11-43
#[test]
fn a_rule_that_says_no_is_not_asked_about() {
    let refused = [
        ("fs.read", json!({"path": "rw/kept/file"})),
        ("fs.write", json!({"path": "rw/a.txt", "content": ""})),
        ("fs.read", json!({"path": "/etc/passwd"})),
        ("fs.read", json!({"path": "../x"})),
        ("fs.write", json!({"path": "jp-confine.toml", "content": ""})),
    ];
    let (answers, questions) = asked(Answer::Session, &refused);
    assert_eq!(answers, vec![json!(-32001); refused.len()]);
    assert!(questions.is_empty(), "{questions:?}");
}

// conformance: d11-146, d11-148, d11-149
#[test]
fn what_no_rule_is_about_is_asked_about() {
    let requests = [
        ("fs.read", json!({"path": "update/old"})),
        ("fs.read", json!({"path": "update/old"})),
        ("fs.read", json!({"path": "rw/sub/c.txt"})),
    ];
    let (answers, questions) = asked(Answer::Once, &requests);
    assert_eq!(answers[0], json!({"content": "old", "size": 3}));
    assert_eq!(questions, [["read old"], ["read old"], ["read c.txt"]]);
    let (answers, questions) = asked(Answer::Session, &requests);
    assert_eq!(answers[1], json!({"content": "old", "size": 3}));
    assert_eq!(questions, [["read old"], ["read c.txt"]]);
    let (answers, _) = asked(Answer::No, &requests);
    assert_eq!(answers, vec![json!(-32001); 3]);
}

#[test]
fn all_that_a_request_needs_is_one_question() {
    let requests = [
        ("fs.rename", json!({"from": "update/old", "to": "create/old"})),
        ("fs.write", json!({"path": "new/er/file", "content": ""})),
        ("fs.edit", json!({"path": "empty/file", "old": "a", "new": "b"})),
    ];
    let (answers, questions) = asked(Answer::Once, &requests);
    assert_eq!(answers, [json!({}), json!({}), json!(-32602)]);
    assert_eq!(questions[0], ["delete old", "update old"]);
    assert_eq!(questions[1], ["create file", "create er", "create new"]);
    assert_eq!(questions[2], ["read file", "update file"]);
}

#[test]
fn a_prompt_shows_nothing_of_an_earlier_request() {
    let requests = [
        ("fs.write", json!({"path": "rw/kept/file", "content": "of the first"})),
        ("fs.read", json!({"path": "update/old"})),
    ];
    let place = Place::on_disk(POLICY);
    let mut somebody = Previewed(Vec::new());
    let mut service = place.service(&mut somebody);
    for (method, params) in &requests {
        answer(&mut service, method, params);
    }
    assert_eq!(somebody.0, [""]);
}

#[test]
fn what_is_listed_or_searched_is_never_asked_about() {
    let requests = [("fs.grep", json!({"pattern": "spring", "paths": ["rw"]}))];
    let (answers, questions) = asked(Answer::Once, &requests);
    assert!(questions.is_empty(), "{questions:?}");
    assert!(!answers[0].to_string().contains("c.txt"), "{}", answers[0]);
}

// conformance: d11-142
/// The list of sensitive paths is part of a policy that declares rules.
#[test]
fn a_sensitive_path_is_asked_about() {
    let policy = r#"{"access": {"fs": [{"path": ".", "read": true, "write": true}],
        "sensitive_paths": ["**/seasons"]}}"#;
    for (answered, is_read) in [(Answer::Once, true), (Answer::No, false)] {
        let place = Place::on_disk(policy);
        let mut somebody = Somebody(answered, Vec::new());
        let mut service = place.service(&mut somebody);
        let read = answer(&mut service, "fs.read", &json!({"path": "rw/seasons"}));
        assert_eq!(read != json!(-32001), is_read, "{read}");
        assert_eq!(somebody.1, [["read seasons"]]);
    }
}
