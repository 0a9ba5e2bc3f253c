//! A workspace under a policy, ready to be asked: what a program keeps that checks its own tools
//! (RFD 076).

use std::borrow::ToOwned as _;
use std::path::{Path, PathBuf};
use std::vec::Vec;

use crate::Capabilities;
use crate::approvals::{Approvals, ApprovedTargets};
use crate::build::{self, BuildError, Grant, GrantKind, ImageSpec, Origin};
use crate::canonical::{Op, ResolveError, Root};
use crate::check::Context;
use crate::compile::{self, Compiled};
use crate::compile_error::CompileError;
use crate::model::Policy;
use crate::pattern::Places;
use crate::tiers::{TierError, Tiers};
use crate::warning::Warning;

/// The policy file of a workspace, which nothing that is held to a policy may change (spec §8.1).
pub const POLICY_FILE: &str = "jp-confine.toml";

/// Why a workspace is not opened; nothing may be done in it then (spec §13).
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its root cannot be resolved.
    #[error("the workspace cannot be used: {0}")]
    Root(#[from] ResolveError),
    /// A rule cannot stand.
    #[error("{0}; {help}", help = .0.help())]
    Rule(#[from] CompileError),
    /// A pattern cannot stand.
    #[error("{0}")]
    Pattern(#[from] TierError),
    /// The rules do not fit an image.
    #[error("the policy cannot be compiled: {0}")]
    Image(#[from] BuildError),
}

/// A workspace and its compiled policy. Rules lead where the disk led when it was opened; what is
/// asked about is resolved anew each time.
#[derive(Debug)]
pub struct Workspace {
    root: Root,
    grants: Vec<Grant>,
    image: Vec<u8>,
    warnings: Vec<Warning>,
}

impl Workspace {
    /// Compiles `policy` for the workspace at `root`, absolute or relative to the current directory.
    /// `~` in patterns is `$HOME`. External rules stand where `approvals` knows their targets, and deny otherwise (spec §6.1);
    /// the workspace's own [`POLICY_FILE`] can be read at most.
    ///
    /// # Errors
    /// [`OpenError`]: where the root is no directory, or a rule cannot stand.
    pub fn open(
        root: &Path,
        policy: &Policy,
        approvals: &dyn Approvals,
    ) -> Result<Self, OpenError> {
        Self::governed(Root::open(root)?, policy, approvals)
    }

    /// Compiles `policy` for a workspace that is not on disk; whoever keeps its files asks with the
    /// same paths. There is nothing outside.
    ///
    /// # Errors
    /// [`OpenError`]: where a rule cannot stand, as none that leads outside can.
    pub fn imagined(policy: &Policy) -> Result<Self, OpenError> {
        Self::governed(Root::imagined(), policy, &ApprovedTargets::default())
    }

    fn governed(root: Root, policy: &Policy, approvals: &dyn Approvals) -> Result<Self, OpenError> {
        let Compiled { grants, warnings, .. } =
            compile::compile(&root, policy.declared_fs(), approvals)?;
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let places = Places { home: home.as_deref(), workspace: root.as_path() };
        let written = policy.file_policy.clone().unwrap_or_default();
        let added = policy.access.as_ref().map(|access| access.sensitive_paths.as_slice());
        let counts = policy.declared_fs().is_some() || written.opens();
        let sensitive = counts.then(|| added.unwrap_or_default());
        let tiers = Tiers::new(&written, sensitive, places)?;
        Ok(Self { warnings, ..Self::under(root, grants, &tiers)? })
    }

    /// The workspace at `root` under `grants`, and its policy file kept.
    pub(crate) fn under(
        root: Root,
        mut grants: Vec<Grant>,
        tiers: &Tiers,
    ) -> Result<Self, OpenError> {
        grants.extend(policy_file(&root));
        let image = build::build(&ImageSpec {
            tiers: (!tiers.is_empty()).then_some(tiers),
            ..ImageSpec::to_ask(&grants, root.as_path())
        })?;
        Ok(Self::compiled(root, grants, image))
    }

    /// The workspace at `root` under the policy of `image`, which was built from `grants`. Where the
    /// image is not usable everything is denied.
    #[must_use]
    pub const fn compiled(root: Root, grants: Vec<Grant>, image: Vec<u8>) -> Self {
        Self { root, grants, image, warnings: Vec::new() }
    }

    /// The canonical root.
    #[must_use]
    pub const fn root(&self) -> &Root {
        &self.root
    }

    /// What a person should know about the policy.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The policy as one can ask it. Reads the whole image: keep it for several questions.
    #[must_use]
    pub fn context(&self) -> Context<'_> {
        Context::new(&self.root, &self.grants, &self.image)
    }
}

/// Denials of change on the policy file, and on what it leads to.
fn policy_file(root: &Root) -> impl Iterator<Item = Grant> {
    let file = root.as_path().join(POLICY_FILE);
    let resolved = root.resolve(Path::new(POLICY_FILE), Op::Content);
    let target = resolved.ok().map(|found| found.path).filter(|target| *target != file);
    [Some(file), target].into_iter().flatten().map(|anchor| {
        let why = "the workspace's policy file, never writable".to_owned();
        Grant::new(anchor, Capabilities::NONE, GrantKind::Control, Origin::Product { why })
    })
}
