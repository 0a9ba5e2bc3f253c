//! Runs the same requests, under one policy, against a project on disk and one in memory.

use std::collections::BTreeMap;
use std::path::Path;

use jp_confine_engine::approvals::ApprovedTargets;
use jp_confine_engine::workspace::Workspace;
use jp_confine_vfs::files::{InMemory, OnDisk, ProjectFiles};
use jp_confine_vfs::incoming::{Incoming, parse};
use jp_confine_vfs::person::{Nobody, Person};
use jp_confine_vfs::service::{Patient, Service};
use serde_json::{Value, json};

/// The policy of most tests.
pub(crate) const POLICY: &str = r#"{"access": {"fs": [
    {"path": ".", "read": true},
    {"path": "rw", "read": true, "write": true},
    {"path": "none"},
    {"path": "create", "read": true, "create": true},
    {"path": "update", "read": true, "update": true},
    {"path": "rw/kept", "read": true}
]}}"#;

/// A directory directly in `rw` may not move deeper: a `.env` in it would no longer be denied.
pub(crate) const STAYING: &str = r#"{
    "access": {"fs": [{"path": ".", "read": true, "write": true}]},
    "file_policy": {"deny_paths": ["<workspace>/rw/*/.env"]}}"#;

/// A symlink called `up` would provide the name `up/in/name`.
pub(crate) const LENDING: &str = r#"{
    "access": {"fs": [{"path": ".", "read": true, "write": true}]},
    "file_policy": {"deny_paths": ["<workspace>/up/in/name"]}}"#;

/// The files of a new project.
pub(crate) const FILES: [(&str, &[u8]); 12] = [
    ("a.txt", b"spring\nsummer\nautumn\n"),
    ("none/secret.txt", b"spring secret\n"),
    ("rw/a.txt", b"spring\r\nwinter"),
    ("rw/b.rs", b"fn spring() {}\n"),
    ("rw/binary", b"spring\0\xff"),
    ("rw/seasons", b"spring\nsummer\n"),
    ("rw/bytes", b"\xff\xfe"),
    ("rw/sub/c.txt", b"one\ntwo spring\nthree\nfour\nfive spring\n"),
    ("rw/kept/file", b"kept"),
    ("create/old", b"old"),
    ("update/old", b"old"),
    ("empty/file", b""),
];

/// A project that answers requests.
pub(crate) struct Place {
    pub(crate) workspace: Workspace,
    pub(crate) files: Box<dyn ProjectFiles>,
    /// Removes the directory when the place is dropped.
    folder: Option<tempfile::TempDir>,
}

impl Place {
    /// The project on disk.
    pub(crate) fn on_disk(policy: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("project");
        for (name, contents) in FILES {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("a folder");
            std::fs::write(path, contents).expect("a file");
        }
        let policy = serde_json::from_str(policy).expect("a policy");
        let workspace = Workspace::open(&root, &policy, &ApprovedTargets::default());
        let workspace = workspace.expect("a workspace");
        let files = OnDisk::at(workspace.root()).expect("a folder");
        Self { workspace, files: Box::new(files), folder: Some(folder) }
    }

    /// The project in memory.
    pub(crate) fn in_memory(policy: &str) -> Self {
        let policy = serde_json::from_str(policy).expect("a policy");
        let workspace = Workspace::without_directory(&policy).expect("a workspace");
        let root = workspace.root().as_path();
        let with = |files: InMemory, (name, contents): (&str, &[u8])| {
            files.with(&root.join(name), contents)
        };
        let files = FILES.into_iter().fold(InMemory::new(root), with);
        Self { files: Box::new(files), workspace, folder: None }
    }

    pub(crate) fn root(&self) -> &Path {
        self.workspace.root().as_path()
    }

    /// The answer to a request: its result, or the number of its error.
    pub(crate) fn ask(&self, method: &str, params: &Value) -> Value {
        self.ask_with(&mut Nobody, method, params)
    }

    /// Like [`Self::ask`], with a person behind the service.
    pub(crate) fn ask_with(&self, person: &mut dyn Person, method: &str, params: &Value) -> Value {
        let mut service = self.service(person).with_limit(200);
        answer(&mut service, method, params)
    }

    /// The outcome of reading each file, whatever the policy of this place says about it.
    pub(crate) fn tree(&self) -> BTreeMap<String, Value> {
        let everything = json!({"access": {"fs": [{"path": ".", "read": true}]}});
        let policy = serde_json::from_value(everything).expect("a policy");
        let workspace = match &self.folder {
            Some(_) => Workspace::open(self.root(), &policy, &ApprovedTargets::default()),
            None => Workspace::without_directory(&policy),
        };
        let workspace = workspace.expect("a workspace");
        let mut nobody = Nobody;
        let mut service = Service::new(workspace.context(), &*self.files, &mut nobody);
        let mut tree = BTreeMap::new();
        let mut open = vec![".".to_owned()];
        while let Some(dir) = open.pop() {
            let listed = answer(&mut service, "fs.list_dir", &json!({"path": dir}));
            for entry in listed["entries"].as_array().expect("a list") {
                let path = format!("{dir}/{}", entry["path"].as_str().expect("a name"));
                let path = path.trim_start_matches("./").to_owned();
                if entry["kind"] == "dir" {
                    open.push(path);
                } else {
                    let read = answer(&mut service, "fs.read", &json!({"path": path}));
                    tree.insert(path, read);
                }
            }
        }
        tree
    }

    pub(crate) fn service<'a>(&'a self, person: &'a mut dyn Person) -> Service<'a> {
        Service::new(self.workspace.context(), &*self.files, person)
    }
}

/// The answer of `service`: its result, or the number of its error.
pub(crate) fn answer(service: &mut Service<'_>, method: &str, params: &Value) -> Value {
    match answer_in_full(service, method, params) {
        Ok(result) => result,
        Err(fault) => json!(i32::from(fault.code)),
    }
}

pub(crate) fn answer_in_full(
    service: &mut Service<'_>,
    method: &str,
    params: &Value,
) -> Result<Value, jp_confine_vfs::Fault> {
    let line = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let Ok(Incoming::Request(request)) = parse(line.as_bytes()) else { panic!("{line}") };
    let result = service.answer(&request, &mut Patient)?;
    Ok(serde_json::from_str(result.get()).expect("JSON"))
}

/// Sends the requests to both places, one after the other, and compares each answer.
#[track_caller]
pub(crate) fn rows(policy: &str, rows: &[(&str, Value, Value)]) {
    for place in [Place::on_disk(policy), Place::in_memory(policy)] {
        for (method, params, expected) in rows {
            let answer = place.ask(method, params);
            assert_eq!(&answer, expected, "{method} {params} of {:?}", place.files);
        }
    }
}
