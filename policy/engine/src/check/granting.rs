//! Finds the rules that do grant a capability, for messages about denials (spec §5.3).

use std::borrow::ToOwned as _;
use std::format;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;

use super::Context;
use super::denial::Detail;
use super::result::CheckResult;
use super::wanted::{At, Wanted};
use crate::canonical::{self, Op};
use crate::capability::{Capabilities, Capability};
use crate::decide::{self, Request};
use crate::grant::{self, Grant, GrantKind, Origin};
use crate::image::{Image, RuleId};
use crate::lexical::{bytes, shown};
use crate::model::TYPED;

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
            .and_then(|id| grant::decider(context.grants(), id.index(), capability.into()));
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

impl Context<'_> {
    /// The rule that would allow a denied request on the canonical `path`. Looks at the disk.
    pub(crate) fn wanted(&self, path: &Path, refused: &CheckResult) -> Wanted {
        let winner = refused.rule_id.map(RuleId::index);
        let asked = refused.asked();
        let decider = winner.and_then(|winner| grant::decider(self.grants(), winner, asked));
        if let Some(Grant { kind: GrantKind::External { lexical_path }, origin, .. }) = decider {
            let link = lexical_path.clone();
            return if is_typed(origin) { Wanted::Nothing } else { Wanted::OnLink(link) };
        }
        let Some(below) = canonical::below(self.root().as_path(), path) else {
            return Wanted::Nothing;
        };
        let leads = self.root().resolve(below, Op::Content);
        match path.parent() {
            Some(directory) if leads.is_ok_and(|leads| leads.path != path) => {
                self.wanted_at(directory, At::Directory, asked)
            }
            _ => self.wanted_at(path, At::Path, asked),
        }
    }

    /// As [`Self::wanted`], for the canonical `place` in the workspace.
    fn wanted_at(&self, place: &Path, at: At, asked: Capabilities) -> Wanted {
        let Some(image) = self.image() else { return Wanted::default() };
        let found = decide::lookup(image, &Request::canonical(bytes(place)));
        let decider = found.rule.and_then(|id| grant::decider(self.grants(), id.index(), asked));
        let stands_there = |grant: &&Grant| {
            let is_rule = matches!(grant.origin, Origin::Rule { .. }) && !is_typed(&grant.origin);
            is_rule && grant.kind == GrantKind::Plain && grant.anchor == place
        };
        if decider.as_ref().is_some_and(stands_there) {
            return Wanted::Known(at);
        }
        let is_undeclared =
            |grant: &&Grant| grant.kind == GrantKind::Workspace || is_typed(&grant.origin);
        let whole = decider.filter(is_undeclared).filter(|_| place != self.root().as_path());
        Wanted::New {
            at,
            held: found.granted(image),
            undeclared: whole.map_or(Capabilities::NONE, |grant| grant.caps),
        }
    }
}

/// Whether it is the rule of an option. No file contains it, so none can be changed.
fn is_typed(origin: &Origin) -> bool {
    matches!(origin, Origin::Rule { layer, .. } if **layer == *TYPED)
}
