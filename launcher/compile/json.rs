//! Writes the compiled policy as JSON, for tools and for `compile`.

use std::borrow::Cow;
use std::path::Path;

use jp_confine_engine::Capability;
use jp_confine_engine::build::{Grant, GrantKind, Origin, View};
use jp_confine_engine::commands::Commands;
use jp_confine_engine::env::EnvRule;
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::model::CompiledRule;
use jp_confine_engine::net::NetRule;
use jp_confine_engine::resources::Written;
use serde::Serialize;

use crate::compile::prepared::Prepared;
use crate::config::environment::Environment;
use crate::error::Failure;

/// The compiled policy, as `compile` and `--dry-run` print it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CompiledPolicy<'a> {
    #[serde(flatten)]
    rules: WireForm<'a>,
    /// Patterns that hold wherever they match.
    #[serde(skip_serializing_if = "FilePolicy::is_empty")]
    file_policy: FilePolicy,
    /// Patterns that policy files add to the list of sensitive paths.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    sensitive_paths: &'a [String],
    /// Patterns that policy files add to the list of auto-run files.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    autorun_paths: &'a [String],
    /// Variables that a tool of the file service may use in requests.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    net_env: &'a [String],
    workspace: String,
    /// The profiles that count, by name.
    profiles: &'a [String],
    /// All grants, from rules, options, profiles and the baseline.
    grants: Vec<CompiledGrant<'a>>,
    /// Directories that programs see in another's place.
    views: Vec<CompiledView>,
}

/// A grant on a path and everything below it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CompiledGrant<'a> {
    /// The path: canonical and absolute.
    anchor: String,
    capabilities: Vec<Capability>,
    /// Whether it replaces a dropped rule, and denies everything.
    tombstone: bool,
    origin: &'a Origin,
    /// Patterns of paths below the anchor that it does not grant.
    except: &'a [String],
    #[serde(flatten)]
    kind: &'a GrantKind,
}

/// A view.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CompiledView {
    /// The path that programs name.
    from: String,
    /// The directory that they get.
    to: String,
}

impl Prepared {
    /// The compiled policy for people and programs: the wire form of spec §2.3 and §2.5, with the anchor and origin of
    /// each grant.
    pub(crate) fn compiled(&self) -> CompiledPolicy<'_> {
        CompiledPolicy {
            rules: WireForm::of(&self.rules, &self.written, &self.environment),
            file_policy: self.tiers.written(),
            sensitive_paths: &self.added.sensitive,
            autorun_paths: &self.added.autorun,
            net_env: &self.written.net_env,
            workspace: lossy(self.root.as_path()),
            profiles: &self.profiles,
            grants: self.grants.iter().map(CompiledGrant::of).collect(),
            views: self.views.iter().map(CompiledView::of).collect(),
        }
    }
}

impl<'a> CompiledGrant<'a> {
    fn of(grant: &'a Grant) -> Self {
        Self {
            anchor: lossy(&grant.anchor),
            capabilities: grant.caps.iter().collect(),
            tombstone: matches!(grant.kind, GrantKind::Tombstone { .. }),
            origin: &grant.origin,
            except: &grant.carve_outs,
            kind: &grant.kind,
        }
    }
}

impl CompiledView {
    fn of(view: &View) -> Self {
        Self { from: lossy(&view.place), to: lossy(&view.backing) }
    }
}

/// The rules as tools receive them (spec §2.3, §2.5).
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WireForm<'a> {
    /// Rules about files. Empty: everything in the workspace is free.
    fs: &'a [CompiledRule],
    /// Rules about hosts. Empty: all are free.
    net: Vec<NetRule>,
    /// Rules about variables. Empty: all are free.
    env: Cow<'a, [EnvRule]>,
    /// Rules about programs. Missing: all are free.
    #[serde(skip_serializing_if = "Option::is_none")]
    commands: Option<&'a Commands>,
}

impl<'a> WireForm<'a> {
    /// The wire form of the compiled rules `fs` and the other `written` rules.
    pub(crate) fn of(
        fs: &'a [CompiledRule],
        written: &'a Written,
        environment: &Environment,
    ) -> Self {
        let Written { net, env, commands, .. } = written;
        // For tools, an empty list means that everything is free.
        let nothing = || vec![EnvRule { name: "*".to_owned(), ..EnvRule::default() }];
        let is_free = !environment.is_declared || !env.is_empty();
        let env = if is_free { Cow::Borrowed(env.as_slice()) } else { Cow::Owned(nothing()) };
        let net = net.iter().map(NetRule::normal).collect();
        Self { fs, net, env, commands: commands.as_ref() }
    }

    /// The JSON text.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        let text = serde_json::to_string(self);
        text.map_err(|error| Failure::own(format!("no JSON: {error}")))
    }
}

fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
