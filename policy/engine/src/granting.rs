//! Finds the rules that do grant a capability, for messages about denials (spec §5.3).

use std::borrow::ToOwned as _;
use std::format;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;

use crate::build::{self, Grant, GrantKind, Origin};
use crate::capability::Capability;
use crate::check::{Context, bytes, shown};
use crate::decide::{self, Request};
use crate::denial::Detail;
use crate::image::Image;

/// The paths that effectively grant a capability. Of several grants on one path only the winner counts. Deeper denials
/// are left out of account.
pub(crate) fn paths(
    context: &Context<'_>,
    image: &Image<'_>,
    capability: Capability,
) -> Vec<String> {
    let root = context.root().as_path();
    let mut paths = Vec::new();
    for grant in context.grants() {
        let Some(path) = tool_path(root, grant) else { continue };
        let route = root.join(&path);
        let request = Request::by_route(bytes(&grant.anchor), bytes(&route));
        let found = decide::lookup(image, &request);
        let decider = found
            .rule
            .and_then(|id| build::decider(context.grants(), id.index(), capability.into()));
        let is_decisive = decider.is_some_and(|decider| std::ptr::eq(decider, grant));
        if is_decisive && found.caps.contains(capability.into()) {
            paths.push(shown(&path));
        }
    }
    paths
}

/// The entry that must stay below the directory `path`, preferably one that nobody may change. `is_granted` says that
/// `path` itself may be deleted.
pub(crate) fn keeper(
    context: &Context<'_>,
    image: &Image<'_>,
    path: &Path,
    is_granted: bool,
) -> Detail {
    let kept = context.grants().iter().enumerate().filter_map(|(index, grant)| {
        let below = grant.anchor.strip_prefix(path).ok().filter(|below| *below != Path::new(""))?;
        let found = decide::lookup(image, &Request::canonical(bytes(&grant.anchor)));
        let wins = found.rule.is_some_and(|id| id.index() == index);
        let is_final = matches!(grant.origin, Origin::Product { .. });
        let stays = wins && !found.caps.contains(Capability::Delete.into());
        stays.then(|| (is_final, format!("`{}` ({})", shown(below), grant.origin)))
    });
    let (is_final, what) = match kept.min_by_key(|(is_final, _)| !is_final) {
        Some((is_final, what)) => (is_final, Some(what)),
        None => (false, None),
    };
    Detail::Keeps { what, is_final, is_granted }
}

/// The path under which a tool knows a grant. `None` if the grant does not concern tools.
fn tool_path(root: &Path, grant: &Grant) -> Option<PathBuf> {
    let inside = grant.anchor.strip_prefix(root).ok().map(Path::to_owned);
    match (&grant.kind, &grant.origin) {
        (GrantKind::External { lexical_path }, _) => Some(PathBuf::from(lexical_path)),
        (GrantKind::Workspace, _) | (_, Origin::Rule { .. }) => inside,
        (_, Origin::Flag { .. } | Origin::Profile { named: true, .. }) => {
            Some(inside.unwrap_or_else(|| grant.anchor.clone()))
        }
        _ => None,
    }
}
