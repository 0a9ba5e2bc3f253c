//! Checks JSON against the schemas of `docs/schema/`: what the product prints in any test, and policies of the documents.
//!
//! It knows the keywords that occur in these schemas, and fails for others. A crate for all of JSON Schema would build
//! the engine of the tests with other features than the product's (`docs/decisions/0079`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use crate::run::PRODUCT;

/// The names of the properties that a schema describes.
type Described = BTreeSet<String>;

/// A schema, with the definitions that it refers to.
#[derive(Debug)]
pub(crate) struct Schema(Value);

impl Schema {
    /// The schema of this name in `docs/schema/`.
    pub(crate) fn named(name: &str) -> &'static Self {
        static ALL: OnceLock<BTreeMap<String, Schema>> = OnceLock::new();
        let all = ALL.get_or_init(|| {
            let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema");
            let files = fs::read_dir(directory).expect("schemas").map(|file| file.expect("a file"));
            let schema = |file: fs::DirEntry| {
                let text = fs::read_to_string(file.path()).expect("a schema");
                let name = file.file_name().into_string().expect("UTF-8");
                (name, Self(serde_json::from_str(&text).expect("JSON")))
            };
            files.map(schema).collect()
        });
        all.get(&format!("{name}.json")).unwrap_or_else(|| panic!("no schema {name}"))
    }

    /// The fault of `value`, if it has one by the definition `name`.
    pub(crate) fn check_part(&self, name: &str, value: &Value) -> Result<(), String> {
        let definition = &self.0["definitions"][name];
        Checker { root: &self.0, whole: true }.at_place(definition, value, "$")
    }

    /// The fault of `value`, if it has one. With `whole`, a field that the schema does not describe is one, too.
    pub(crate) fn check(&self, value: &Value, whole: bool) -> Result<(), String> {
        Checker { root: &self.0, whole }.at_place(&self.0, value, "$")
    }
}

struct Checker<'s> {
    root: &'s Value,
    whole: bool,
}

impl Checker<'_> {
    /// Checks a value at a place of its own.
    fn at_place(&self, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
        let described = self.described(schema, value, place)?;
        let object = value.as_object().filter(|_| self.whole);
        let unknown = object.and_then(|object| object.keys().find(|key| !described.contains(*key)));
        unknown.map_or(Ok(()), |key| Err(format!("{place}: no schema describes `{key}`")))
    }

    /// Checks a value, and returns the properties that the schema describes.
    fn described(&self, schema: &Value, value: &Value, place: &str) -> Result<Described, String> {
        let Value::Object(schema) = schema else {
            let all = || value.as_object().into_iter().flat_map(Map::keys).cloned().collect();
            return if *schema == Value::Bool(true) { Ok(all()) } else { Err(place.to_owned()) };
        };
        let mut described = Described::new();
        for (keyword, argument) in schema {
            described.extend(self.keyword(keyword, argument, schema, value, place)?);
        }
        if schema.keys().all(|keyword| ANNOTATIONS.contains(&keyword.as_str())) {
            described.extend(value.as_object().into_iter().flat_map(Map::keys).cloned());
        }
        Ok(described)
    }

    fn keyword(
        &self,
        keyword: &str,
        argument: &Value,
        schema: &Map<String, Value>,
        value: &Value,
        place: &str,
    ) -> Result<Described, String> {
        let none = Described::new();
        let holds = |is: bool| {
            let wrong = || format!("{place}: {value} is not {keyword} {argument}");
            if is { Ok(none.clone()) } else { Err(wrong()) }
        };
        let list = || argument.as_array().into_iter().flatten();
        let fits = |one: &Value| self.described(one, value, place);
        match (keyword, value) {
            _ if ANNOTATIONS.contains(&keyword) => Ok(none),
            ("$ref", _) => {
                let name = argument.as_str().and_then(|it| it.strip_prefix("#/definitions/"));
                let definition = &self.root["definitions"][name.expect("a definition")];
                self.described(definition, value, place)
            }
            ("type", _) => {
                let one = std::iter::once(argument).filter(|it| it.is_string());
                holds(one.chain(list()).any(|name| is_a(value, name.as_str().unwrap_or_default())))
            }
            ("const", _) => holds(value == argument),
            ("enum", _) => holds(list().any(|one| one == value)),
            ("minimum", Value::Number(_)) => holds(value.as_f64() >= argument.as_f64()),
            ("maximum", Value::Number(_)) => holds(value.as_f64() <= argument.as_f64()),
            ("minItems", Value::Array(items)) => {
                holds(Some(items.len() as u64) >= argument.as_u64())
            }
            ("maxItems", Value::Array(items)) => {
                holds(Some(items.len() as u64) <= argument.as_u64())
            }
            ("pattern", Value::String(text)) => holds(is_source(text)),
            ("allOf", _) => list().try_fold(none, |all, one| Ok(&all | &fits(one)?)),
            ("anyOf" | "oneOf", _) => {
                let fitting: Vec<Result<Described, String>> = list().map(fits).collect();
                let count = fitting.iter().filter(|one| one.is_ok()).count();
                if count == 0 || keyword == "oneOf" && count > 1 {
                    let why: Vec<String> = fitting.into_iter().filter_map(Result::err).collect();
                    return Err(format!("{place}: {count} of {keyword}: {}", why.join("; ")));
                }
                Ok(fitting.into_iter().flatten().flatten().collect())
            }
            ("not", _) => holds(fits(argument).is_err()),
            ("if", _) if fits(argument).is_ok() => schema.get("then").map_or(Ok(none), fits),
            ("required", Value::Object(object)) => {
                holds(list().all(|name| object.contains_key(name.as_str().unwrap_or_default())))
            }
            ("propertyNames", Value::Object(object)) => {
                let name = |name: &String| self.described(argument, &name.as_str().into(), place);
                object.keys().try_for_each(|key| name(key).map(drop))?;
                Ok(none)
            }
            ("properties", Value::Object(object)) => {
                let known = argument.as_object().expect("properties");
                for (name, schema) in known {
                    if let Some(value) = object.get(name) {
                        self.at_place(schema, value, &format!("{place}.{name}"))?;
                    }
                }
                Ok(known.keys().cloned().collect())
            }
            ("additionalProperties", Value::Object(object)) => {
                let known = schema.get("properties");
                let is_known = |name: &str| known.is_some_and(|known| known.get(name).is_some());
                for (name, value) in object.iter().filter(|(name, _)| !is_known(name)) {
                    self.at_place(argument, value, &format!("{place}.{name}"))?;
                }
                Ok(object.keys().cloned().collect())
            }
            ("items", Value::Array(items)) => {
                let tuple = argument.as_array();
                for (index, item) in items.iter().enumerate() {
                    let schema = tuple.map_or(Some(argument), |tuple| tuple.get(index));
                    let schema = schema.unwrap_or(&Value::Bool(true));
                    self.at_place(schema, item, &format!("{place}[{index}]"))?;
                }
                Ok(none)
            }
            _ if KEYWORDS.contains(&keyword) => Ok(none),
            _ => panic!("{place}: the keyword {keyword} is unknown to this test"),
        }
    }
}

/// Keywords that say nothing about a value.
const ANNOTATIONS: [&str; 8] =
    ["$schema", "$id", "title", "description", "default", "definitions", "format", "version"];

/// Keywords about another kind of value, or read together with another keyword.
const KEYWORDS: [&str; 12] = [
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "pattern",
    "if",
    "then",
    "required",
    "propertyNames",
    "properties",
    "additionalProperties",
    "items",
];

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("no type is called {name}"),
    }
}

/// The only pattern of the schemas: the origin of a tool.
fn is_source(text: &str) -> bool {
    matches!(text.split('.').next(), Some("local" | "builtin" | "mcp"))
}

/// The commands that print JSON with `--json`.
const COMMANDS: [&str; 11] = [
    "check",
    "authorize",
    "explain",
    "why",
    "allow",
    "status",
    "doctor",
    "mounts",
    "approvals",
    "cache",
    "profiles",
];

/// Fails if a command line of the product printed JSON, or wrote events, that its schema does not describe whole.
pub(crate) fn check_output(line: &[String], cwd: &Path, stdout: &str) {
    let Some(start) = line.iter().position(|word| word == PRODUCT) else { return };
    let words: Vec<&str> = line[start + 1..].iter().map(String::as_str).collect();
    let own = words.split(|word| *word == "--").next().unwrap_or_default();
    let command = own.iter().find(|word| COMMANDS.contains(word)).copied();
    let command = command.filter(|_| own.contains(&"--json"));
    let is_plan = own.contains(&"--dry-run") || own.contains(&"plan");
    let of_policy = match (is_plan, own.contains(&"--json")) {
        (true, true) => Some("dry-run"),
        (false, _) if own.contains(&"compile") => Some("compile"),
        _ => None,
    };
    if let Some(name) = command.or(of_policy)
        && let Ok(value) = serde_json::from_str(stdout)
    {
        checked(&format!("{name}.v1"), &value);
    }
    let Some(at) = own.iter().position(|word| *word == "--events") else { return };
    let file = cwd.join(own.get(at + 1).copied().unwrap_or_default());
    if !file.is_file() || file.starts_with("/dev") {
        return;
    }
    // Some tests name a file of other contents, which the product then leaves as it is.
    let text = fs::read_to_string(file).unwrap_or_default();
    for line in text.lines().filter(|_| text.starts_with('{')) {
        checked("events.v1", &serde_json::from_str(line).expect("JSON"));
    }
}

/// Fails unless the schema of this name describes the whole value.
pub(crate) fn checked(name: &str, value: &Value) {
    let wrong = Schema::named(name).check(value, true).err();
    assert!(wrong.is_none(), "{name}: {}\n{value:#}", wrong.unwrap_or_default());
}
