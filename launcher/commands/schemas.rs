//! Generates `docs/schema/`: a JSON Schema of policy files, and one of each output that programs read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jp_confine_engine::batch::Batch;
use jp_confine_engine::check::CheckResult;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Value, json};

use super::query::Explained;
use super::query::answer::{ExplainedVerdict, TargetVerdict};
use super::query::dry_run::DryRun;
use super::serve::questions::{AuthorizeParams, BatchParams, CheckParams, ExplainParams, Nothing};
use super::{allow, authorize, cache, doctor, mounts, profiles, status};
use crate::compile::json::CompiledPolicy;
use crate::config::schema::PolicyFile;
use crate::external::approvals::store::Binding;
use crate::record::event::{EventLine, VERSION};
use crate::report::why::record::ExplainedDenial;

/// Where the schemas are published.
const BASE: &str = "https://jp-confine.github.io/jp-confine/schema";

/// An element of the output of `check --json`.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Checked {
    Path(CheckResult),
    /// Of `check net`, `check env` and `check command`.
    Other(TargetVerdict),
}

/// The output of `explain --json`.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum ExplainOutput {
    Path(Box<Explained<'static>>),
    /// Of `explain net`, `explain env` and `explain command`.
    Other(Vec<ExplainedVerdict>),
}

/// A request to `jp-confine serve`, in one line.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ServeRequest {
    jsonrpc: JsonRpc,
    /// Comes back with the reply.
    id: ServeId,
    #[serde(flatten)]
    call: ServeCall,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
enum JsonRpc {
    #[schemars(rename = "2.0")]
    Two,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum ServeId {
    Number(f64),
    Text(String),
}

#[derive(JsonSchema)]
#[schemars(tag = "method", content = "params", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum ServeCall {
    /// The verdict on each path, as `check --json`.
    Check(CheckParams),
    /// The rules about a path, as `explain --json`.
    Explain(ExplainParams),
    /// Whether a tool may use an absolute path, as an element of `authorize --json`.
    Authorize(AuthorizeParams),
    /// One verdict on many operations.
    Batch(BatchParams),
    /// Loads the policy again.
    Reload(Nothing),
}

/// A reply of `jp-confine serve`, in one line. It has a result or an error.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ServeReply {
    jsonrpc: JsonRpc,
    /// Of the request. `null` if it could not be read.
    id: Option<ServeId>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    result: Option<ServeResult>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    error: Option<ServeError>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum ServeResult {
    Check(Vec<CheckResult>),
    Explain(Box<Explained<'static>>),
    Authorize(authorize::Answer),
    Batch(Batch),
    Reload(Nothing),
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ServeError {
    /// -32600 for a line that is no request, -32601 for an unknown method, -32602 for wrong parameters, -32603 if there
    /// is no usable policy.
    code: i32,
    message: String,
}

/// Makes the documentation of a type that of a schema: without references to the specification and to Rust items.
/// Without `null` where the file has no way to say it.
#[derive(Clone, Copy)]
struct ForReaders {
    has_null: bool,
}

impl Transform for ForReaders {
    fn transform(&mut self, schema: &mut schemars::Schema) {
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = plain(text);
        }
        if let Some(object) = schema.as_object_mut() {
            object.remove("default");
            if !self.has_null {
                without_null(object);
            }
        }
        transform_subschemas(self, schema);
    }
}

fn without_null(object: &mut serde_json::Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(forms)) = object.get_mut("anyOf") {
        forms.retain(|form| *form != json!({ "type": "null" }));
        if let [one] = forms.as_slice() {
            let one = one.clone();
            object.remove("anyOf");
            object.insert("allOf".to_owned(), json!([one]));
        }
    }
}

/// The first paragraph in one line, without remarks such as `(spec §5)`, and with `[`name`]` as `name`.
fn plain(text: &str) -> String {
    let first = text.split("\n\n").next().unwrap_or_default();
    let mut text = first.split_whitespace().collect::<Vec<_>>().join(" ");
    for begin in [" (spec ", " (RFD ", " (R"] {
        while let Some(start) = text.find(begin) {
            let Some(length) = text[start..].find(')') else { break };
            text.replace_range(start..=start + length, "");
        }
    }
    text.replace("[`", "`").replace("`]", "`").replace("`None`", "`null`").replace("Self::", "")
}

fn schema<T: JsonSchema>(name: &str, title: &str, is_read: bool) -> Value {
    let settings = SchemaSettings::draft07().with_transform(ForReaders { has_null: !is_read });
    let settings = if is_read { settings } else { settings.for_serialize() };
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    let fields = schema.as_object_mut().expect("an object");
    fields.insert("$id".to_owned(), format!("{BASE}/{name}.json").into());
    fields.insert("title".to_owned(), title.into());
    schema
}

/// All schemas, by the names of their files.
fn all() -> BTreeMap<String, Value> {
    let policy = schema::<PolicyFile>("policy", "A policy of jp-confine", true);
    let mut all = BTreeMap::from([("policy".to_owned(), policy)]);
    // The number goes up when a field changes its meaning or is taken away.
    let mut add = |name: &str, version: u32, make: fn(&str, &str, bool) -> Value, title: &str| {
        let name = format!("{name}.v{version}");
        let mut schema = make(&name, title, false);
        schema["version"] = version.into();
        all.insert(name, schema);
    };
    add("events", VERSION, schema::<EventLine<'_>>, "A line of jp-confine --events");
    add("check", 1, schema::<Vec<Checked>>, "jp-confine check --json");
    add("authorize", 1, schema::<Vec<authorize::Answer>>, "jp-confine authorize --json");
    let requests = |name: &str, title: &str, _| schema::<ServeRequest>(name, title, true);
    add("serve-request", 1, requests, "A request to jp-confine serve");
    add("serve-reply", 1, schema::<ServeReply>, "A reply of jp-confine serve");
    add("explain", 1, schema::<ExplainOutput>, "jp-confine explain --json");
    add("why", 1, schema::<Vec<ExplainedDenial>>, "jp-confine why --last --json");
    add("allow", 1, schema::<allow::Answer>, "jp-confine allow --json");
    add("compile", 1, schema::<CompiledPolicy<'_>>, "jp-confine compile");
    add("dry-run", 1, schema::<DryRun<'_>>, "jp-confine --dry-run --json");
    add("status", 1, schema::<status::Answer>, "jp-confine status --json");
    add("doctor", 1, schema::<doctor::Diagnosis>, "jp-confine doctor --json");
    add("mounts", 1, schema::<Vec<mounts::Line>>, "jp-confine mounts --json");
    add("approvals", 1, schema::<Vec<Binding>>, "jp-confine approvals list --json");
    add("cache", 1, schema::<Vec<cache::Line>>, "jp-confine cache list --json");
    add("profiles", 1, schema::<Vec<profiles::Line>>, "jp-confine profiles list --json");
    all
}

/// `UPDATE_DOCS=1` writes the schemas anew.
#[test]
fn schemas_are_those_of_the_types() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema");
    for (name, schema) in all() {
        let path = directory.join(format!("{name}.json"));
        let text = format!("{}\n", serde_json::to_string_pretty(&schema).expect("JSON"));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::create_dir_all(&directory).expect("a directory");
            fs::write(&path, text).expect("a schema");
            continue;
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == text, "{} is out of date: run with UPDATE_DOCS=1", path.display());
    }
}
