//! One compiled rule, from any source, and the source that declared it.

mod origin;

use std::path::PathBuf;
use std::string::String;
use std::vec::Vec;

use serde::Serialize;

pub use self::origin::Origin;
use crate::capability::Capabilities;

/// One compiled rule, from any source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Canonical absolute path that the grant stands on: bytes, no `.` or `..` components.
    pub anchor: PathBuf,
    /// The capabilities that it grants there and below.
    pub caps: Capabilities,
    /// The kind of grant.
    pub kind: GrantKind,
    /// The source that declared it.
    pub origin: Origin,
    /// Patterns relative to the anchor, with `*` matching within one component. The grant excludes everything at or
    /// below a path that matches one.
    pub carve_outs: Vec<String>,
    /// It is ready-made for the state of a program. Changes of auto-run files in it need no prompt.
    pub is_state: bool,
}

impl Grant {
    /// A grant without exclusions, and for no state.
    #[must_use]
    pub fn new(anchor: PathBuf, caps: Capabilities, kind: GrantKind, origin: Origin) -> Self {
        Self { anchor, caps, kind, origin, carve_outs: Vec::new(), is_state: false }
    }
}

/// The kinds of grants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GrantKind {
    /// An ordinary rule, a flag, a baseline or profile entry.
    Plain,
    /// An approved external rule (RFD D43); the anchor is its approved target.
    External {
        /// The rule's own path, workspace-relative and normalised.
        lexical_path: String,
    },
    /// Replaces a dropped rule, and denies everything (spec §6.4).
    Tombstone {
        /// For a rule outside the workspace, where routes tell rules apart (spec §5.1): the rule's own path, as in an
        /// external rule.
        #[serde(skip_serializing_if = "Option::is_none")]
        lexical_path: Option<String>,
    },
    /// Denies everything at the workspace root, because rules were declared, even if all were dropped.
    Sentinel,
    /// The home directory: paths that no deeper grant covers look absent (spec §12.1).
    Hidden,
    /// The whole workspace, because no rules were declared.
    Workspace,
    /// A file or directory of the launcher's own: never writable, whatever the rules say (spec §8.1).
    Control,
}

pub(crate) fn is_control(grant: &Grant) -> bool {
    grant.kind == GrantKind::Control
}

/// The description of a grant that `compile` and `explain` print.
impl std::fmt::Display for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {} ({})", self.caps, self.anchor.display(), self.origin)?;
        if self.carve_outs.is_empty() {
            return Ok(());
        }
        write!(f, " except {}", self.carve_outs.join(", "))
    }
}

/// The grant that decides about `wanted` if an image of `grants` has the one at `winner`. A control entry only decides
/// about changes. The rest is up to the grant that would hold there without it. `None` if there is none.
#[must_use]
pub fn decider(grants: &[Grant], winner: usize, wanted: Capabilities) -> Option<&Grant> {
    let won = grants.get(winner)?;
    if !is_control(won) || wanted.intersects(Capabilities::WRITE) {
        return Some(won);
    }
    let holds = |grant: &&Grant| !is_control(grant) && won.anchor.starts_with(&grant.anchor);
    grants.iter().filter(holds).max_by_key(|grant| grant.anchor.components().count())
}
