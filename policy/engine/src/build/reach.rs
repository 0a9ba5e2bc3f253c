//! How far tiers reach into a grant (spec §9.6, §10).

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::automaton::Marks;
use crate::grant::{Grant, GrantKind, Origin};
use crate::model::TYPED;
use crate::table::Table;
use crate::tier::Reach;

/// The workspace if nothing is declared. Paths that it grants to everybody need no prompt.
pub(super) fn open_ground(grants: &[Grant]) -> Option<&Path> {
    let ground = grants.iter().find(|grant| grant.kind == GrantKind::Workspace);
    ground.map(|ground| ground.anchor.as_path())
}

/// How far tiers reach into `grant`. `open` is the open workspace, and `table` has the patterns.
pub(super) fn of(grant: &Grant, open: Option<&Path>, table: &Table) -> Reach {
    let on_open_ground = || open.is_some_and(|open| grant.anchor.starts_with(open));
    match (&grant.kind, &grant.origin) {
        (GrantKind::Workspace, _) => Reach::Outspoken,
        (GrantKind::Control, _) => Reach::Control,
        (GrantKind::Plain, Origin::Profile { named: true, .. })
            if !on_open_ground() && !is_sensitive(&grant.anchor, table) =>
        {
            Reach::Named
        }
        (_, Origin::Baseline { .. } | Origin::Profile { .. } | Origin::Inherited { .. }) => {
            Reach::ReadyMade
        }
        (GrantKind::Plain, Origin::Product { .. }) => Reach::Own,
        // It stands for a workspace in which nothing is declared.
        (GrantKind::Plain, Origin::Rule { layer, .. }) if **layer == *TYPED => Reach::Outspoken,
        (_, Origin::Flag { .. }) if on_open_ground() => Reach::Outspoken,
        _ if is_sensitive(&grant.anchor, table) => Reach::Outspoken,
        _ => Reach::Declared,
    }
}

fn is_sensitive(anchor: &Path, table: &Table) -> bool {
    table.look(anchor.as_os_str().as_bytes()).here.intersects(Marks::SENSITIVE)
}
