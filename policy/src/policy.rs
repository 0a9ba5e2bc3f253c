//! What a policy says, with a person's approvals.

use std::path::Path;

use jp_confine_engine::approvals::ApprovedTargets;
use jp_confine_engine::model;

use crate::{Error, ErrorKind};

/// What a policy says, and which targets outside the workspace a person approved. The default declares nothing: the
/// whole workspace may be used.
///
/// ```
/// use jp_confine_policy::Policy;
///
/// let policy = Policy::from_json(
///     r#"{"access": {"fs": [{"path": "notes", "external": true, "read": true}]}}"#,
/// )?
/// .approve("notes", "/home/me/notes");
/// # Ok::<(), jp_confine_policy::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Policy {
    pub(crate) written: model::Policy,
    pub(crate) approved: ApprovedTargets,
}

impl Policy {
    /// Reads a policy, as policy files have it, from JSON.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`] if it is no policy.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let written =
            serde_json::from_str(text).map_err(|error| Error::new(ErrorKind::Policy, error))?;
        Ok(Self { written, approved: ApprovedTargets::default() })
    }

    /// The same, with the approval of `target`, absolute and canonical, for the external rule on `rule_path`. External
    /// rules without an approval deny.
    #[must_use]
    pub fn approve(mut self, rule_path: &str, target: impl AsRef<Path>) -> Self {
        self.approved.approve(rule_path, target.as_ref());
        self
    }
}
