//! The home directory: out of reach but for what is granted in it.

use std::path::Path;

use jp_confine_policy::Capabilities;
use jp_confine_policy::build::{Grant, GrantKind, Origin};

use super::{Ceilings, Parts};

impl Parts<'_> {
    /// The home directory, hidden; not where the workspace contains it, because then it was named
    /// as the workspace, nor where it is the root directory, which is nobody's home, nor where a profile among `grants`
    /// is about it. Where nothing is to be hidden it is denied still, if more is granted around it. An option that denies
    /// it openly, with all around it, decides alone.
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
