//! Implements `authorize`, which a host of tools calls before each of their operations (spec §15). One process can pass
//! another only a path. A host that uses the library holds the object, too.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_engine::authorize::{Authorized, Authorizer, Refusal};
use jp_confine_engine::workspace::Workspace;
use serde::Serialize;

use crate::cli::{AccessRequest, Options, Request};
use crate::commands::query::common;
use crate::error::Failure;
use crate::host::context::Context;
use crate::text::quote;
use crate::{compile, output};

/// Prints an answer for each path. Returns 0 if all are authorised, 1 otherwise.
pub(crate) fn authorize(
    context: &Context,
    options: &Options,
    request: &Request,
) -> Result<u8, Failure> {
    let mut folders = folder(Authorizer::new(), context, options)?;
    for root in &request.roots {
        let root = context.spelled_cwd.join(root);
        let named = format!("--root {}", quote::path(&root.to_string_lossy()));
        folders = match root.canonicalize() {
            Ok(_) => {
                let options = Options { workspace: Some(root), ..options.clone() };
                folder(folders, context, &options).map_err(|failure| failure.of(&named))?
            }
            Err(error) => {
                output::warning(&format!("{named}: {error}; it authorises nothing"));
                folders.with_workspace(Path::new(&root), None)
            }
        };
    }
    let source = request.source.as_deref().or(options.tool.as_deref()).unwrap_or("authorize");
    let answer = |path| Answer::from(authorized(&folders, request, path, source));
    let answers: Vec<Answer> = request.paths.iter().map(answer).collect();
    output::result(request.json, &answers, |answers| words(answers))?;
    Ok(u8::from(answers.iter().any(|answer| matches!(answer, Answer::No(_)))))
}

/// Adds the workspace that `options` select, under its policy, to the directories.
fn folder(
    folders: Authorizer,
    context: &Context,
    options: &Options,
) -> Result<Authorizer, Failure> {
    let found = compile::find_workspace(context, options)?;
    let policy = common::prepared(context, options, None)?;
    let workspace = Workspace::compiled(policy.root, policy.grants, policy.image);
    let spelled = found.spelled.as_deref().unwrap_or(&found.root);
    Ok(folders.with_workspace(spelled, Some(workspace)))
}

fn authorized(
    folders: &Authorizer,
    request: &Request,
    path: &OsString,
    source: &str,
) -> Result<Authorized, Refusal> {
    let path = Path::new(path);
    let authorized = match request.access {
        AccessRequest::Read => folders.authorize_read(path, source),
        AccessRequest::Write => folders.authorize_write(path, source),
    }?;
    if request.json { authorized.in_utf8(source) } else { Ok(authorized) }
}

/// One element of the array that `--json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Answer {
    Yes(Authorized),
    No(Refusal),
}

impl From<Result<Authorized, Refusal>> for Answer {
    fn from(result: Result<Authorized, Refusal>) -> Self {
        result.map_or_else(Self::No, Self::Yes)
    }
}

fn words(answers: &[Answer]) -> String {
    let mut text = String::new();
    for answer in answers {
        let _ = match answer {
            Answer::Yes(path) => {
                writeln!(
                    text,
                    "ok {}",
                    quote::printable(path.resolved_path().as_os_str().as_bytes())
                )
            }
            Answer::No(refusal) => writeln!(text, "refused {}", quote::path(refusal.message())),
        };
    }
    text
}
