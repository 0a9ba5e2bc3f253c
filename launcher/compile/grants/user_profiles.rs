//! What profiles that a person wrote say about the workspace: their denials count there, what they grant does not.

use jp_confine_policy::build::{Grant, GrantKind};
use jp_confine_policy::canonical;

use super::{Parts, holds};
use crate::error::Failure;
use crate::text::quote;

impl Parts<'_> {
    /// What these profiles say of places inside the workspace.
    pub(super) fn own_inside(&self) -> impl Iterator<Item = &Grant> {
        let own = self.tables.iter().filter(|table| table.own).flat_map(|table| &table.grants);
        own.filter(|grant| canonical::below(&self.workspace.root, &grant.anchor).is_some())
    }

    /// What is denied inside the workspace, where nothing is hidden.
    pub(super) fn denied_inside(&self) -> impl Iterator<Item = Grant> {
        let denied = self.own_inside().filter(|grant| grant.caps.is_empty());
        denied.map(|grant| Grant { kind: GrantKind::Plain, ..grant.clone() })
    }

    /// What would be granted there that `grants` do not, in words. Looks at the disk.
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
