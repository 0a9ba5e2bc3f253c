//! Answers the questions of `serve`: their parameters, and the functions of the commands that answer them.

use std::ffi::OsStr;
use std::mem;
use std::path::Path;

use jp_confine_engine::Capability;
use jp_confine_engine::authorize::Authorizer;
use jp_confine_engine::batch::{Judge, Operation};
use jp_confine_engine::check::CheckResult;
use jp_confine_vfs::{Code, Fault};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::Policy;
use crate::cli::AccessRequest;
use crate::commands::authorize::{self, Answer};
use crate::commands::query;
use crate::error::Failure;
use crate::output;

/// Of `check`.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckParams {
    capability: Capability,
    /// Workspace-relative, or without `--tool` also absolute.
    paths: Vec<String>,
}

/// Of `explain`.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainParams {
    /// Absolute, or workspace-relative.
    path: String,
}

/// Of `authorize`.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AuthorizeParams {
    access: AccessRequest,
    /// Absolute.
    path: String,
    /// The name of the tool, with which messages begin.
    source: Option<String>,
    /// Whether symlinks in a workspace may lead out of it. Then the spelling of the path decides.
    allow_symlinks_outside_workspace: Option<bool>,
}

/// Of `batch`.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchParams {
    operations: Vec<Operation>,
}

/// Of `reload`, and its result.
#[derive(Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// The questions about one loaded policy.
pub(super) struct Questions<'p> {
    policy: &'p Policy<'p>,
    judge: Judge<'p>,
    folders: Authorizer,
}

impl<'p> Questions<'p> {
    pub(super) fn about(policy: &'p Policy<'p>, folders: Authorizer) -> Self {
        let judge = query::judge(&policy.prepared, policy.options);
        Self { policy, judge, folders }
    }

    /// The result of a method.
    pub(super) fn answer(
        &mut self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, Fault> {
        match method {
            "check" => result(&self.check(&read(params)?)),
            "explain" => self.explain(&read(params)?),
            "authorize" => result(&self.authorize(&read(params)?)),
            "batch" => self.batch(read(params)?),
            _ => Err(Fault::new(Code::UnknownMethod, format!("there is no method `{method}`"))),
        }
    }

    fn check(&self, params: &CheckParams) -> Vec<CheckResult> {
        let check = |path: &String| self.judge.check(path.as_bytes(), params.capability).in_utf8();
        params.paths.iter().map(check).collect()
    }

    fn explain(&self, params: &ExplainParams) -> Result<Box<RawValue>, Fault> {
        let prepared = &self.policy.prepared;
        let failed = |failure: Failure| Fault::params(output::in_words(&failure));
        let holders = self.policy.holders().map_err(failed)?;
        let path = OsStr::new(&params.path);
        result(&query::explained(prepared, prepared.root.as_path(), path, holders).map_err(failed)?)
    }

    fn authorize(&mut self, params: &AuthorizeParams) -> Answer {
        let setting = params.allow_symlinks_outside_workspace;
        self.folders = mem::take(&mut self.folders).allow_symlinks_outside_workspace(setting);
        let source = authorize::source(params.source.as_deref(), self.policy.options);
        let path = Path::new(&params.path);
        let authorized = authorize::authorized(&self.folders, params.access, path, source);
        authorized.and_then(|path| path.in_utf8(source)).into()
    }

    fn batch(&self, params: BatchParams) -> Result<Box<RawValue>, Fault> {
        match params.operations.iter().find_map(Operation::fault) {
            Some(fault) => Err(Fault::params(fault)),
            None => result(&self.judge.batch(params.operations)),
        }
    }
}

/// The parameters of a method.
pub(super) fn read<'a, T: Deserialize<'a>>(params: Option<&'a RawValue>) -> Result<T, Fault> {
    let params = params.map_or("{}", RawValue::get);
    // serde would accept a list as an object whose field names are left out.
    if params.starts_with('[') {
        return Err(Fault::params("the parameters are no object"));
    }
    serde_json::from_str(params).map_err(Fault::params)
}

pub(super) fn result(result: &impl Serialize) -> Result<Box<RawValue>, Fault> {
    to_raw_value(result).map_err(|error| Fault::new(Code::Internal, error.to_string()))
}
