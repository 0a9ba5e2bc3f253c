//! Hides the home directory except for grants in it.

use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, Origin};

use super::{Ceilings, Parts};

impl Parts<'_> {
    /// The grant that hides the home directory. If it is not to be hidden, it is still denied if grants around it allow
    /// more.
    ///
    /// There is none in these cases:
    /// * The workspace contains it, because then it was chosen as the workspace.
    /// * It is the root directory, which is nobody's home.
    /// * A profile among `grants` is about it.
    /// * An option denies it openly with everything around it, and so decides alone.
    pub(super) fn home(&self, grants: &[Grant], ceilings: &Ceilings<'_>) -> Option<Grant> {
        let home = self.options.hidden.as_ref().or(self.context.canonical_home.as_ref())?;
        let nobodys = home.parent().is_none() || home.starts_with(&self.workspace.root);
        let granting = || grants.iter().filter(|grant| !grant.caps.is_empty());
        let is_denied = ceilings.left(home).is_some_and(Capabilities::is_empty);
        if nobodys || is_denied || granting().any(|grant| grant.anchor == *home) {
            return None;
        }
        let is_around = |anchor: &Path| home.starts_with(anchor);
        let (kind, how) = if !self.options.show_denied {
            (GrantKind::Hidden, "hidden")
        } else if granting().any(|grant| is_around(&grant.anchor)) || self.flags.grant_at(is_around)
        {
            (GrantKind::Plain, "denied")
        } else {
            return None;
        };
        let origin =
            Origin::Product { why: format!("the home directory, {how} where nothing is granted") };
        Some(Grant::new(home.clone(), Capabilities::NONE, kind, origin))
    }
}
