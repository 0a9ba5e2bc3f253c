//! What the policy holds at each anchor, and what the anchors above it hold.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_policy::Capabilities;
use jp_confine_policy::build::{Grant, GrantKind};
use jp_confine_policy::decide::{self, Request};
use jp_confine_policy::image::Image;

/// A place that some grant stands on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing<'a> {
    pub(super) path: &'a Path,
    /// What holds here, by whatever route.
    pub(super) caps: Capabilities,
    /// The part of it that depends on the route.
    pub(super) by_route: Capabilities,
    /// What holds at the anchors above, all together: Landlock's rules add up.
    pub(super) above: Capabilities,
}

impl Standing<'_> {
    /// What is granted above and not here.
    pub(super) fn lost(&self) -> Capabilities {
        self.above.difference(self.caps)
    }
}

/// The anchors of `grants`, each directory before what is in it.
pub(super) fn of<'a>(
    grants: &'a [Grant],
    image: &Image<'_>,
    workspace: &Path,
) -> Vec<Standing<'a>> {
    let mut sorted: Vec<&Grant> = grants.iter().collect();
    sorted.sort_by(|a, b| in_order(&a.anchor).cmp(in_order(&b.anchor)));
    let mut standings: Vec<Standing<'a>> = Vec::with_capacity(sorted.len());
    let mut around: Vec<usize> = Vec::new();
    for same in sorted.chunk_by(|a, b| a.anchor.as_os_str() == b.anchor.as_os_str()) {
        let [first, ..] = same else { continue };
        let path = first.anchor.as_path();
        while around.last().is_some_and(|&last| !path.starts_with(standings[last].path)) {
            around.pop();
        }
        let above = around
            .last()
            .map_or(Capabilities::NONE, |&last| standings[last].above.union(standings[last].caps));
        let (caps, by_route) = held(same, image, workspace);
        around.push(standings.len());
        standings.push(Standing { path, caps, by_route, above });
    }
    standings
}

/// What the evaluator says about the anchor of these grants: by any route, and not by every route.
fn held(same: &[&Grant], image: &Image<'_>, workspace: &Path) -> (Capabilities, Capabilities) {
    let Some(first) = same.first() else { return Default::default() };
    let path = first.anchor.as_os_str().as_bytes();
    let plain = decide::lookup(image, &Request::canonical(path)).caps;
    let mut either = (plain, plain);
    for grant in same {
        if let GrantKind::External { lexical_path }
        | GrantKind::Tombstone { lexical_path: Some(lexical_path) } = &grant.kind
        {
            let route = workspace.join(lexical_path);
            let request = Request { path, route: route.as_os_str().as_bytes() };
            let caps = decide::lookup(image, &request).caps;
            either = (either.0.union(caps), either.1.intersection(caps));
        }
    }
    (either.0, either.0.difference(either.1))
}

/// A path as bytes that sort a directory right before what is in it.
fn in_order(path: &Path) -> impl Iterator<Item = u8> {
    path.as_os_str().as_bytes().iter().map(|&byte| if byte == b'/' { 0 } else { byte })
}
