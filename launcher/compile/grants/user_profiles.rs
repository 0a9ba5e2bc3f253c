//! Applies a person's own profiles inside the workspace. Their denials count there, their grants do not.

use jp_confine_engine::build::{Grant, GrantKind};
use jp_confine_engine::canonical;

use super::{Parts, holds};
use crate::error::Failure;
use crate::text::quote;

impl Parts<'_> {
    /// The grants and denials of these profiles inside the workspace.
    pub(super) fn own_inside(&self) -> impl Iterator<Item = &Grant> {
        let own = self.tables.iter().filter(|table| table.own).flat_map(|table| &table.grants);
        own.filter(|grant| canonical::below(&self.workspace.root, &grant.anchor).is_some())
    }

    /// The denials inside the workspace, where nothing is hidden.
    pub(super) fn denied_inside(&self) -> impl Iterator<Item = Grant> {
        let denied = self.own_inside().filter(|grant| grant.caps.is_empty());
        denied.map(|grant| Grant { kind: GrantKind::Plain, ..grant.clone() })
    }

    /// A warning about their grants in the workspace that `grants` do not include. Looks at the disk.
    pub(super) fn idle(&self, grants: &[Grant]) -> Result<Option<String>, Failure> {
        let mut idle = Vec::new();
        for grant in self.own_inside().filter(|grant| !grant.caps.is_empty()) {
            if !holds(grants, grant, &self.workspace.root)? {
                idle.push(quote::path(&grant.origin.to_string()));
            }
        }
        Ok(idle.first().map(|first| {
            let more = quote::and_more(idle.len() - 1);
            format!(
                "{first}{more}: left out, because inside the workspace only its rules and options grant"
            )
        }))
    }
}
