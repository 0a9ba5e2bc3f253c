//! Which rules do grant a capability, for the messages of refusals (spec §5.3).

use std::borrow::ToOwned as _;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;

use crate::build::{Grant, GrantKind, Origin};
use crate::capability::Capability;
use crate::check::{Context, bytes, shown};
use crate::decide::{self, Request};
use crate::image::Image;

/// The paths that effectively grant a capability: of grants on one path only the one that wins
/// there, deeper denials notwithstanding.
pub(crate) fn paths(
    context: &Context<'_>,
    image: &Image<'_>,
    capability: Capability,
) -> Vec<String> {
    let root = context.root().as_path();
    let mut paths = Vec::new();
    for (index, grant) in context.grants().iter().enumerate() {
        let Some(path) = tool_path(root, grant) else { continue };
        let route = root.join(&path);
        let request = Request::by_route(bytes(&grant.anchor), bytes(&route));
        let found = decide::lookup(image, &request);
        let wins = found.rule.is_some_and(|id| id.index() == index);
        if wins && found.caps.contains(capability.into()) {
            paths.push(shown(&path));
        }
    }
    paths
}

/// The path under which a tool knows a grant; `None` for what is not about tools.
fn tool_path(root: &Path, grant: &Grant) -> Option<PathBuf> {
    let inside = grant.anchor.strip_prefix(root).ok().map(Path::to_owned);
    match (&grant.kind, &grant.origin) {
        (GrantKind::External { lexical_path }, _) => Some(PathBuf::from(lexical_path)),
        (GrantKind::Workspace, _) | (_, Origin::Rule { .. }) => inside,
        (_, Origin::Flag { .. }) => Some(inside.unwrap_or_else(|| grant.anchor.clone())),
        _ => None,
    }
}
