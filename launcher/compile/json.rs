//! Writes the compiled policy as JSON, for tools and for `compile`.

use std::borrow::Cow;
use std::path::Path;

use jp_confine_engine::Capability;
use jp_confine_engine::build::{Grant, GrantKind, View};
use jp_confine_engine::commands::Commands;
use jp_confine_engine::env::EnvRule;
use jp_confine_engine::model::CompiledRule;
use jp_confine_engine::net::NetRule;
use jp_confine_engine::resources::Written;
use serde::Serialize;
use serde_json::{Value, json};

use crate::compile::prepared::Prepared;
use crate::config::environment::Environment;
use crate::error::Failure;

impl Prepared {
    /// The compiled policy for people and programs: the wire form of spec §2.3 and §2.5, with the anchor and origin of
    /// each grant.
    pub(crate) fn to_json(&self) -> Value {
        let mut value = json!(WireForm::of(&self.rules, &self.written, &self.environment));
        let grants: Vec<Value> = self.grants.iter().map(grant_json).collect();
        if let Value::Object(fields) = &mut value {
            fields.insert("workspace".to_owned(), lossy(self.root.as_path()));
            fields.insert("profiles".to_owned(), json!(self.profiles));
            fields.insert("grants".to_owned(), Value::Array(grants));
            fields.insert("views".to_owned(), self.views.iter().map(view_json).collect());
        }
        value
    }
}

/// The rules as tools receive them (spec §2.3, §2.5).
#[derive(Debug, Serialize)]
pub(crate) struct WireForm<'a> {
    fs: &'a [CompiledRule],
    net: &'a [NetRule],
    env: Cow<'a, [EnvRule]>,
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
        Self { fs, net, env, commands: commands.as_ref() }
    }

    /// The JSON text.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        let text = serde_json::to_string(self);
        text.map_err(|error| Failure::own(format!("no JSON: {error}")))
    }
}

fn grant_json(grant: &Grant) -> Value {
    let caps: Vec<&str> = grant.caps.iter().map(Capability::as_str).collect();
    let mut value = json!({
        "anchor": lossy(&grant.anchor),
        "capabilities": caps,
        "tombstone": matches!(grant.kind, GrantKind::Tombstone { .. }),
        "origin": grant.origin,
        "except": grant.carve_outs,
    });
    // The kind serialises as separate fields: its name, and data that some kinds have.
    if let (Value::Object(fields), Ok(Value::Object(kind))) =
        (&mut value, serde_json::to_value(&grant.kind))
    {
        fields.extend(kind);
    }
    value
}

fn view_json(view: &View) -> Value {
    json!({ "from": lossy(&view.place), "to": lossy(&view.backing) })
}

fn lossy(path: &Path) -> Value {
    Value::String(path.to_string_lossy().into_owned())
}
