//! The tools that an agent is offered. Each is a method of the file service, and takes its parameters.

use std::fmt::Write as _;

use jp_confine_vfs::Fault;
use jp_confine_vfs::incoming::Request;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ToolAnnotations, object};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

/// A tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// The method of the service.
    method: &'static str,
    about: &'static str,
    /// Whether it changes nothing.
    only_reads: bool,
    /// The parameters that it needs, and those that it may have, as JSON Schema has them.
    parameters: fn() -> (Value, Value),
    /// An answer of the service in words.
    words: fn(&Value) -> String,
}

/// All of them.
pub(super) const ALL: [Tool; 6] = [
    Tool {
        name: "read",
        method: "fs.read",
        about: "Read a file. Contents that are not UTF-8 are JSON with base64.",
        only_reads: true,
        parameters: || (json!({"path": path("The file")}), json!({})),
        words: contents,
    },
    Tool {
        name: "write",
        method: "fs.write",
        about: "Write all contents of a file. Creates it and its directories as needed.",
        only_reads: false,
        parameters: || {
            let content = json!({"type": "string", "description": "The complete new contents"});
            let encoding = json!({"type": "string", "enum": ["base64"]});
            (json!({"path": path("The file"), "content": content}), json!({"encoding": encoding}))
        },
        words: |_| "written".to_owned(),
    },
    Tool {
        name: "edit",
        method: "fs.edit",
        about: "Replace a text in a file, exactly. It has to occur once, unless `all` is set.",
        only_reads: false,
        parameters: || {
            let text = |about: &str| json!({"type": "string", "description": about});
            let (old, new) = (text("The text to replace"), text("The text in its place"));
            let all = json!({"type": "boolean", "description": "Replace each occurrence"});
            (json!({"path": path("The file"), "old": old, "new": new}), json!({"all": all}))
        },
        words: |answer| format!("replaced: {}", answer["replaced"]),
    },
    Tool {
        name: "list",
        method: "fs.list_dir",
        about: "List what a directory has that may be read. Directories end in a slash.",
        only_reads: true,
        parameters: || (json!({"path": path("The directory; `.` is the workspace")}), json!({})),
        words: listing,
    },
    Tool {
        name: "search",
        method: "fs.grep",
        about: "Search the lines of files that may be read, except those that .gitignore names.",
        only_reads: true,
        parameters: || {
            let texts = |about: &str| json!({"type": "array", "items": {"type": "string"}, "description": about});
            let pattern = json!({"type": "string", "description": "A regular expression, as ripgrep takes it"});
            let context =
                json!({"type": "integer", "minimum": 0, "description": "Lines around each match"});
            let may = json!({
                "paths": texts("Files and directories [default: all]"),
                "extensions": texts("Extensions of names, without the dot [default: all]"),
                "context": context,
            });
            (json!({"pattern": pattern}), may)
        },
        words: matches,
    },
    Tool {
        name: "run",
        method: "process.run",
        about: "Run a program in the workspace, confined, to its end. Its denials follow its output. For a shell: \
                program `sh`, args [`-c`, SCRIPT].",
        only_reads: false,
        parameters: || {
            let program = json!({"type": "string", "description": "A path, or a name in PATH"});
            let args = json!({"type": "array", "items": {"type": "string"}});
            (json!({"program": program}), json!({"args": args}))
        },
        words: output,
    },
];

/// Statuses by which jp-confine says that a program was not run.
const NOT_RUN: [i64; 3] = [125, 126, 127];

impl Tool {
    /// The tool as the client learns of it.
    pub(super) fn described(&self) -> rmcp::model::Tool {
        let (needed, optional) = (self.parameters)();
        let (mut properties, optional) = (object(needed), object(optional));
        let required: Vec<String> = properties.keys().cloned().collect();
        properties.extend(optional);
        let schema = json!({
            "type": "object", "properties": properties, "required": required,
            "additionalProperties": false,
        });
        let hints = ToolAnnotations::new().read_only(self.only_reads);
        let hints = hints.open_world(self.name == "run");
        rmcp::model::Tool::new(self.name, self.about, object(schema)).with_annotations(hints)
    }

    /// The request to the service.
    pub(super) fn request(&self, arguments: &JsonObject) -> Result<Request, serde_json::Error> {
        Ok(Request::new(self.method, to_raw_value(arguments)?))
    }

    /// The result for the client. A denial is a result, too: the agent should read it.
    pub(super) fn result(&self, answer: Result<Box<RawValue>, Fault>) -> CallToolResult {
        match answer {
            Err(fault) => CallToolResult::error(vec![ContentBlock::text(fault.message)]),
            Ok(answer) => {
                let answer: Value = serde_json::from_str(answer.get()).unwrap_or_default();
                let is_error = answer["exit_code"].as_i64().is_some_and(|it| NOT_RUN.contains(&it));
                let words = vec![ContentBlock::text((self.words)(&answer))];
                if is_error { CallToolResult::error(words) } else { CallToolResult::success(words) }
            }
        }
    }
}

fn path(about: &str) -> Value {
    json!({"type": "string", "description": format!("{about}, relative to the workspace")})
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> + Clone {
    value.as_array().into_iter().flatten()
}

fn contents(answer: &Value) -> String {
    if answer.get("encoding").is_some() {
        answer.to_string()
    } else {
        text(&answer["content"]).to_owned()
    }
}

fn listing(answer: &Value) -> String {
    list(&answer["entries"]).fold(String::new(), |all, entry| {
        let slash = if entry["kind"] == "dir" { "/" } else { "" };
        all + text(&entry["path"]) + slash + "\n"
    })
}

/// Matches as `grep -n` prints them.
fn matches(answer: &Value) -> String {
    let mut lines = String::new();
    for file in list(&answer["matches"]) {
        for line in list(&file["lines"]) {
            let sign = if line["is_match"] == true { ':' } else { '-' };
            let (path, content) = (text(&file["path"]), text(&line["content"]));
            let _ = writeln!(lines, "{path}{sign}{}{sign}{content}", line["line_number"]);
        }
    }
    lines
}

/// The output of a program, then what it wrote to standard error, then its status.
fn output(answer: &Value) -> String {
    let mut words = String::new();
    for (name, part) in [("", "stdout"), ("[stderr]\n", "stderr")] {
        let part = text(&answer[part]);
        if !part.is_empty() {
            let end = if part.ends_with('\n') { "" } else { "\n" };
            let _ = write!(words, "{name}{part}{end}");
        }
    }
    words + &format!("[exit status {}]", answer["exit_code"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_has_a_schema_of_an_object() {
        for tool in &ALL {
            let described = tool.described();
            let schema = Value::Object(described.input_schema.as_ref().clone());
            let required = list(&schema["required"]);
            assert!(required.clone().count() > 0, "{schema}");
            for name in required {
                assert!(schema["properties"].get(text(name)).is_some(), "{schema}");
            }
        }
    }

    #[test]
    fn output_says_where_each_part_ends() {
        for (stdout, stderr, words) in [
            ("", "", "[exit status 3]"),
            ("a", "", "a\n[exit status 3]"),
            ("a\n", "b\n", "a\n[stderr]\nb\n[exit status 3]"),
        ] {
            let answer = json!({"stdout": stdout, "stderr": stderr, "exit_code": 3});
            assert_eq!(output(&answer), words);
        }
    }
}
