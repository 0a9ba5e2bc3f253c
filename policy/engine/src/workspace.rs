//! A workspace and its compiled policy, ready for questions. Used by programs that check their own tools (RFD 076).

use std::borrow::ToOwned as _;
use std::path::Path;
use std::vec::Vec;

use crate::approvals::{Approvals, ApprovedTargets};
use crate::build::{self, ImageSpec};
use crate::build_error::BuildError;
use crate::canonical::{self, Op, ResolveError, Root};
use crate::check::Context;
use crate::compile::{self, Compiled};
use crate::compile_error::CompileError;
use crate::control::{self, Homes};
use crate::decide::{self, Request};
use crate::grant::{Grant, GrantKind, Origin};
use crate::image::Image;
use crate::model::Policy;
use crate::pattern::Places;
use crate::surroundings::{self, Surroundings};
use crate::tiers::{TierError, Tiers};
use crate::verdict::Verdict;
use crate::warning::{self, Warning};
use crate::{Capabilities, lexical};

/// Why a workspace could not be opened. Nothing is allowed in it then (spec §13).
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its root cannot be resolved.
    #[error("the workspace cannot be used: {0}")]
    Root(#[from] ResolveError),
    /// A rule is invalid.
    #[error("{0}; {help}", help = .0.help())]
    Rule(#[from] CompileError),
    /// A pattern is invalid.
    #[error("{0}")]
    Pattern(#[from] TierError),
    /// The rules do not fit an image.
    #[error("the policy cannot be compiled: {0}")]
    Image(#[from] BuildError),
}

/// A workspace and its compiled policy. The paths of rules were resolved when it was opened. The path of a request is
/// resolved anew each time.
#[derive(Debug)]
pub struct Workspace {
    root: Root,
    grants: Vec<Grant>,
    image: Vec<u8>,
    warnings: Vec<Warning>,
}

impl Workspace {
    /// Compiles `policy` for the workspace at `root`, absolute or relative to the current directory. `~` in patterns is
    /// `$HOME`.
    ///
    /// External rules apply if `approvals` knows their targets, and deny otherwise (spec §6.1). The workspace's own
    /// [`POLICY_FILE`], and jp-confine's files in the user's home, can be read at most. Patterns do not grant the
    /// target of a symlink that leads out of the workspace, see [`Warning::NotFollowed`].
    ///
    /// # Errors
    /// [`OpenError`] if the root is not a directory, or a rule is invalid.
    pub fn open(
        root: &Path,
        policy: &Policy,
        approvals: &dyn Approvals,
    ) -> Result<Self, OpenError> {
        Self::governed(Root::open(root)?, policy, approvals, &Homes::of_environment())
    }

    /// Compiles `policy` for a workspace that is not on disk. A program that stores its files asks with the same paths.
    /// There is nothing outside.
    ///
    /// # Errors
    /// [`OpenError`] if a rule is invalid. A rule that leads outside always is.
    pub fn without_directory(policy: &Policy) -> Result<Self, OpenError> {
        // No control file on disk is in it.
        let homes = Homes { user: Homes::of_environment().user, ..Homes::default() };
        Self::governed(Root::without_directory(), policy, &ApprovedTargets::default(), &homes)
    }

    fn governed(
        root: Root,
        policy: &Policy,
        approvals: &dyn Approvals,
        homes: &Homes,
    ) -> Result<Self, OpenError> {
        let Compiled { grants, mut warnings, .. } =
            compile::compile(&root, policy.declared_fs(), approvals)?;
        let places = Places::of(homes, &root);
        let written = policy.file_policy.clone().unwrap_or_default();
        let added = policy.access.as_ref().map(|access| access.sensitive_paths.as_slice());
        let counts = policy.declared_fs().is_some() || written.opens();
        let sensitive = counts.then(|| added.unwrap_or_default());
        let mut tiers = Tiers::new(&written, sensitive, places)?;
        let added = policy.access.as_ref().map(|access| access.autorun_paths.as_slice());
        tiers = tiers.guarding(Vec::new(), added.unwrap_or_default(), &[], places)?;
        warnings.extend(distrust(&mut tiers, &grants, &root)?);
        warnings.extend(warning::named_sensitive(&grants, &tiers, root.as_path()));
        warnings.extend(warning::left_out(&tiers));
        Ok(Self { warnings, ..Self::under(root, grants, &tiers, homes)? })
    }

    /// The workspace at `root` under `grants`, with the control files protected.
    pub(crate) fn under(
        root: Root,
        mut grants: Vec<Grant>,
        tiers: &Tiers,
        homes: &Homes,
    ) -> Result<Self, OpenError> {
        grants.extend(control(&root, homes));
        let workspace = root.as_path();
        let bases =
            surroundings::find(Surroundings { workspace, cwd: workspace, homes, commands: &[] });
        let tiers = tiers.clone().guarding(bases, &[], &[], Places::of(homes, &root))?;
        let image = image(&root, &grants, &tiers)?;
        Ok(Self::compiled(root, grants, image))
    }

    /// The workspace at `root` under the policy of `image`, which was built from `grants`. An unusable image denies
    /// everything.
    #[must_use]
    pub const fn compiled(root: Root, grants: Vec<Grant>, image: Vec<u8>) -> Self {
        Self { root, grants, image, warnings: Vec::new() }
    }

    /// The canonical root.
    #[must_use]
    pub const fn root(&self) -> &Root {
        &self.root
    }

    /// Warnings about the policy for a person.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The policy, ready for questions. Reads the whole image, so keep the result for several questions.
    #[must_use]
    pub fn context(&self) -> Context<'_> {
        Context::new(&self.root, &self.grants, &self.image)
    }
}

fn image(root: &Root, grants: &[Grant], tiers: &Tiers) -> Result<Vec<u8>, BuildError> {
    let tiers = (!tiers.is_empty()).then_some(tiers);
    #[cfg(target_os = "linux")]
    let volumes = crate::case::volumes(grants, tiers, root.as_path(), core::iter::empty());
    #[cfg(not(target_os = "linux"))]
    let volumes = [];
    build::build(&ImageSpec {
        tiers,
        volumes: &volumes,
        ..ImageSpec::to_ask(grants, root.as_path())
    })
}

/// Limits granting patterns to their spelling if a symlink on it leads out of the workspace, or could be created under
/// this policy. The author of the pattern need not have meant its target then.
fn distrust(tiers: &mut Tiers, grants: &[Grant], root: &Root) -> Result<Vec<Warning>, BuildError> {
    if tiers.opening_links().next().is_none() {
        return Ok(Vec::new());
    }
    let bytes = image(root, grants, tiers)?;
    let image = Image::read(&bytes).ok();
    let could_be_made = |link: &Path| {
        let request = Request::canonical(lexical::bytes(link));
        let judge = |image| decide::access(image, &request, Capabilities::CREATE);
        image.as_ref().is_none_or(|image| judge(image) == Verdict::Allow)
    };
    let leads_out = |link: &Path| {
        let leads = canonical::resolve(Path::new("/"), link, Op::Content);
        root.contains(link) && !leads.is_ok_and(|leads| root.contains(&leads.path))
    };
    let not_followed = tiers.distrust(|link| leads_out(link) || could_be_made(link)).into_iter();
    let told = not_followed.map(|(tier, pattern, link)| {
        let field = tier.field();
        Warning::NotFollowed { pattern, field, link }
    });
    Ok(told.collect())
}

/// Denials of changes to control files.
fn control(root: &Root, homes: &Homes) -> impl Iterator<Item = Grant> {
    control::policy_file(root).chain(homes.kept()).map(|(anchor, why)| {
        let origin = Origin::Product { why: why.to_owned() };
        Grant::new(anchor, Capabilities::NONE, GrantKind::Control, origin)
    })
}

#[cfg(test)]
mod tests {
    use std::string::{String, ToString};

    use super::*;

    #[test]
    fn what_a_person_should_know_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let told = |policy: &str| {
            let policy: Policy = serde_json::from_str(policy).unwrap();
            let root = Root::open(dir.path()).unwrap();
            let approvals = ApprovedTargets::default();
            // The home is unknown.
            let workspace = Workspace::governed(root, &policy, &approvals, &Homes::default());
            let workspace = workspace.unwrap();
            workspace.warnings().iter().map(ToString::to_string).collect::<Vec<String>>()
        };
        assert_eq!(told(r#"{"access": {"fs": [{"path": ".", "read": true}]}}"#), [""; 0]);
        assert_eq!(
            told(
                r#"{"access": {"fs": [{"path": "d/.env", "read": true, "create": true}]},
                    "file_policy": {"read_paths": ["~/x/**"]}}"#
            ),
            [
                "programs may use sensitive files, because rules name them: rule `d/.env` (rule 1)",
                "left out: `~/x/**` cannot be one of `read_paths`: `~` is not known, because HOME is not \
                 set to an absolute path"
            ]
        );
    }
}
