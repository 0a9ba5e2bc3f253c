//! Reads the policy that a tool receives from its host (spec §2.3, §2.5): compiled, and as JSON.

use std::borrow::ToOwned as _;
use std::path::{Path, PathBuf};
use std::string::ToString as _;
use std::vec;
use std::vec::Vec;

use camino::Utf8PathBuf;
use serde::Deserialize;

use crate::canonical::{self, Op, Root};
use crate::compile_error::{CompileError, Problem};
use crate::control::Homes;
use crate::grant::{Grant, GrantKind, Origin};
use crate::model::{CompiledAccess, CompiledRule};
use crate::tiers::Tiers;
use crate::workspace::{OpenError, Workspace};
use crate::{Capabilities, compile, lexical};

/// A host's information for a tool about where it runs. Other keys are ignored.
///
/// ```
/// # use jp_confine_engine::Capability;
/// # use jp_confine_engine::received::Received;
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path().display();
/// let json = format!(
///     r#"{{"root": "{root}", "action": "run",
///         "access": {{"fs": [{{"lexical_path": "", "read": true}}], "net": [], "env": []}}}}"#
/// );
/// let workspace = serde_json::from_str::<Received>(&json)?.open()?;
/// let context = workspace.context();
/// assert!(context.check(b"notes", Capability::Read).into_path().is_ok());
/// assert!(context.check(b"notes", Capability::Create).into_path().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Received {
    /// The workspace root.
    pub root: Utf8PathBuf,
    /// The rules. Absent: the file system is unrestricted inside the workspace.
    #[serde(default)]
    pub access: Option<CompiledAccess>,
}

impl Received {
    /// The workspace under these rules.
    ///
    /// # Errors
    /// [`OpenError`] if the root is not a directory, or a rule is not in the form that hosts send.
    pub fn open(&self) -> Result<Workspace, OpenError> {
        let root = Root::open(self.root.as_std_path())?;
        let rules = self.access.as_ref().map_or(&[][..], |access| &access.fs);
        let mut grants = vec![compile::ground(&root, !rules.is_empty())];
        for (index, rule) in rules.iter().enumerate() {
            grants.extend(received(&root, index, rule)?);
        }
        Workspace::under(root, grants, &Tiers::default(), &Homes::of_environment())
    }
}

/// The grants of one rule.
fn received(root: &Root, index: usize, rule: &CompiledRule) -> Result<Vec<Grant>, CompileError> {
    let lexical = match rule.lexical_path.as_str() {
        "" => PathBuf::new(),
        path => lexical::normalise(path.as_bytes())
            .map_err(|error| CompileError::on_path(&rule.written(), Problem::Form(error)))?,
    };
    let place = root.as_path().join(&lexical);
    let caps = rule.written().capabilities();
    let lexical_path = lexical.to_string_lossy().into_owned();
    let grants = match &rule.approved_target {
        Some(target) if rule.external => {
            vec![(target.as_std_path().to_owned(), caps, GrantKind::External { lexical_path })]
        }
        _ if rule.external || caps.is_empty() => denials(root, &lexical, place),
        _ => vec![(place, caps, GrantKind::Plain)],
    };
    let origin = || Origin::Rule {
        layer: "the host's policy".into(),
        index,
        line: None,
        path: rule.lexical_path.to_string(),
    };
    let grant = |(anchor, caps, kind)| Grant::new(anchor, caps, kind, origin());
    Ok(grants.into_iter().map(grant).collect())
}

/// The denials of a rule that grants nothing. It may replace a dropped rule, so it also denies the target of its path
/// (spec §6.4).
fn denials(root: &Root, lexical: &Path, place: PathBuf) -> Vec<(PathBuf, Capabilities, GrantKind)> {
    let resolved = |op| canonical::resolve(root.as_path(), lexical, op).map(|found| found.path);
    let mut anchors = vec![place];
    anchors.extend([Op::Entry, Op::Content].into_iter().filter_map(|op| resolved(op).ok()));
    anchors.dedup();
    let kind = |anchor: &Path| GrantKind::Tombstone {
        lexical_path: (!root.contains(anchor)).then(|| lexical.to_string_lossy().into_owned()),
    };
    let denial = |anchor: PathBuf| {
        let kind = kind(&anchor);
        (anchor, Capabilities::NONE, kind)
    };
    anchors.into_iter().map(denial).collect()
}
