//! Implements `authorize`, which a host of tools calls before each of their operations (spec §15). One process can pass
//! another only a path. A host that uses the library holds the object, too.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::authorize::{Authorized, Authorizer, Refusal};
use jp_confine_engine::workspace::Workspace;
use serde::Serialize;

use crate::cli::{AccessRequest, Options, Request};
use crate::commands::query::common;
use crate::compile::prepared::Prepared;
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
    let prepared = common::prepared(context, options, None)?;
    let folders = folders(context, options, &prepared, &request.roots)?;
    let source = source(request.source.as_deref(), options);
    let answer = |path| {
        let authorized = authorized(&folders, request.access, Path::new(path), source);
        if request.json { authorized.and_then(|path| path.in_utf8(source)) } else { authorized }
    };
    let answers: Vec<Answer> =
        request.paths.iter().map(|path| Answer::from(answer(path))).collect();
    output::result(request.json, &answers, |answers| words(answers))?;
    Ok(u8::from(answers.iter().any(|answer| matches!(answer, Answer::No(_)))))
}

/// The directories that paths may be in: the workspace that `options` select, under the `prepared` policy, and `roots`,
/// each under its own.
pub(crate) fn folders(
    context: &Context,
    options: &Options,
    prepared: &Prepared,
    roots: &[PathBuf],
) -> Result<Authorizer, Failure> {
    let mut folders = folder(Authorizer::new(), context, options, prepared)?;
    for root in roots {
        let root = context.spelled_cwd.join(root);
        let named = format!("--root {}", quote::path(&root.to_string_lossy()));
        folders = match root.canonicalize() {
            Ok(_) => {
                let options = Options { workspace: Some(root), ..options.clone() };
                common::prepared(context, &options, None)
                    .and_then(|prepared| folder(folders, context, &options, &prepared))
                    .map_err(|failure| failure.of(&named))?
            }
            Err(error) => {
                output::warning(&format!("{named}: {error}; it authorises nothing"));
                folders.with_workspace(Path::new(&root), None)
            }
        };
    }
    Ok(folders)
}

/// The name with which messages begin.
pub(crate) fn source<'a>(named: Option<&'a str>, options: &'a Options) -> &'a str {
    named.or(options.tool.as_deref()).unwrap_or("authorize")
}

/// Adds the workspace that `options` select, under its policy, to the directories.
fn folder(
    folders: Authorizer,
    context: &Context,
    options: &Options,
    policy: &Prepared,
) -> Result<Authorizer, Failure> {
    let found = compile::find_workspace(context, options)?;
    let Prepared { root, grants, image, .. } = policy;
    let workspace = Workspace::compiled(root.clone(), grants.clone(), image.clone());
    let spelled = found.spelled.as_deref().unwrap_or(&found.root);
    Ok(folders.with_workspace(spelled, Some(workspace)))
}

pub(crate) fn authorized(
    folders: &Authorizer,
    access: AccessRequest,
    path: &Path,
    source: &str,
) -> Result<Authorized, Refusal> {
    match access {
        AccessRequest::Read => folders.authorize_read(path, source),
        AccessRequest::Write => folders.authorize_write(path, source),
    }
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
