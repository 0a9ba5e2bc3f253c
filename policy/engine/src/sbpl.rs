//! Prints a policy as a profile of the sandbox of macOS, for `sandbox-exec -f` (RFD 075; `docs/decisions/0083`).
//!
//! The last rule that matches decides. So broad grants come before specific ones, and what tiers withhold comes last.
//! The profile allows nothing that [`crate::decide`] denies, with two exceptions: create, update and delete are one
//! operation, and a few paths of macOS itself may be read.

mod autorun;
mod syntax;

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::string::{String, ToString as _};
use std::vec::Vec;

use self::syntax::{Filter, Rules};
use crate::autorun::is_free;
use crate::autorun::list::Place;
use crate::capability::Capabilities;
use crate::grant::Grant;
use crate::image::Image;
use crate::image::walk::Walk;
use crate::layout::Rule;
use crate::pattern::Pattern;
use crate::pattern::posix::Extent;
use crate::tier::{Reach, Tier};
use crate::tiers::printed::respelled;
use crate::tiers::{List, Tiers};

/// What a profile is made from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The grants, and the image that was built from them.
    pub grants: &'a [Grant],
    /// Says which grants decide, and how far patterns reach into them.
    pub image: &'a Image<'a>,
    /// The patterns of the image.
    pub tiers: &'a Tiers,
    /// The canonical root of the workspace.
    pub workspace: &'a Path,
    /// Another path of the workspace, which leads through a symlink.
    pub spelled: Option<&'a Path>,
    /// Whether every host may be connected to.
    pub has_network: bool,
}

/// The beginning of every profile.
const HEAD: &str = r#"; A profile for sandbox-exec(1), by jp-confine. The last rule that matches decides.
; create, update and delete are one here: file-write* is allowed if one of them is.
(version 1)
(deny default)
; Every process needs these on macOS.
(allow process-fork)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* (literal "/") (subpath "/private/var/db/dyld") (subpath "/private/var/db/timezone"))
(allow file-read* process-exec* file-map-executable
  (subpath "/System/Library")
  (subpath "/System/Volumes/Preboot/Cryptexes"))
"#;

/// The end of a profile with all of the network. Sockets in the file system are other objects, and stay denied.
const NETWORK: &str = r#"; The network. No profile can name hosts, so rules about hosts allow none here.
(allow network-outbound (remote ip "*:*") (literal "/private/var/run/mDNSResponder"))
(allow network-inbound network-bind (local ip "*:*"))
"#;

const METADATA: &[&str] = &["file-read-metadata"];

/// The profile of a policy.
#[must_use]
pub fn profile(source: &Source<'_>) -> String {
    let printer = Printer::of(source);
    let mut rules = Rules::default();
    printer.open(&mut rules, None);
    for (at, standing) in printer.standings.iter().enumerate() {
        printer.rule(&mut rules, at, standing);
    }
    printer.withhold(&mut rules);
    let network = if source.has_network { NETWORK } else { "" };
    [HEAD, &rules.text, network].concat()
}

/// A grant that decides somewhere.
struct Standing<'a> {
    anchor: PathBuf,
    grant: &'a Grant,
    /// As in the image, where control entries have those of their place.
    caps: Capabilities,
    rule: &'a Rule,
}

impl Standing<'_> {
    fn is_hidden(&self) -> bool {
        self.rule.hidden != 0
    }

    /// How far patterns reach into it.
    fn reach(&self) -> Reach {
        Reach::of(self.rule)
    }
}

struct Printer<'a> {
    /// The root of the workspace in each spelling.
    roots: Vec<&'a Path>,
    tiers: Tiers,
    /// Where the list of auto-run files begins.
    bases: Vec<(Place, PathBuf)>,
    /// Broad ones first.
    standings: Vec<Standing<'a>>,
}

impl<'a> Printer<'a> {
    fn of(source: &Source<'a>) -> Self {
        let &Source { grants, image, workspace, spelled, .. } = source;
        let mut tiers = source.tiers.clone();
        let mut bases = tiers.bases();
        let mut standings = standings(grants, image);
        if let Some(spelled) = spelled {
            let at_spelling = |path: &Path| respelled(path, workspace, spelled);
            tiers.respell(workspace, spelled);
            let more = bases.iter().filter_map(|(place, base)| Some((*place, at_spelling(base)?)));
            bases.extend(more.collect::<Vec<_>>());
            let more = standings
                .iter()
                .filter_map(|it| Some(Standing { anchor: at_spelling(&it.anchor)?, ..*it }));
            standings.extend(more.collect::<Vec<_>>());
        }
        standings.sort_by_key(|standing| standing.anchor.components().count());
        let roots = [workspace].into_iter().chain(spelled).collect();
        Self { roots, tiers, bases, standings }
    }

    /// Whether patterns or the default grant anything there that no rule reaches.
    fn opens(&self, within: Option<&Path>) -> bool {
        let grants = |(tier, it): (Tier, &Pattern)| tier != Tier::Prompt && is_about(it, within);
        !self.tiers.asks && matches!(self.tiers.default, Some(Tier::Read | Tier::Write))
            || self.tiers.opening().any(grants)
    }

    /// What tiers grant where no rule reaches: everywhere, or in a hidden area.
    fn open(&self, rules: &mut Rules, area: Option<&Standing<'_>>) {
        let hidden = area.map(|it| it.anchor.as_path());
        if !self.opens(hidden) {
            return;
        }
        rules.comment("where no rule reaches, by file_policy");
        let within = |filters: Vec<Filter>| Filter::within(hidden, filters);
        if let Some(tier) = self.tiers.default.filter(|_| !self.tiers.asks) {
            let everywhere = hidden.unwrap_or(Path::new("/"));
            rules.allow(tier.capabilities(), &[Filter::subpath(everywhere)]);
        }
        self.opened(rules, hidden, Capabilities::ALL);
        rules.deny(Capabilities::ALL, &within(self.filters(List::Sensitive, hidden)));
        for tier in [Tier::Write, Tier::Read] {
            let outspoken = self.tiers.outspoken_patterns(tier).filter(|it| is_about(it, hidden));
            rules.allow(tier.capabilities(), &within(expressions(outspoken, Extent::AtMost)));
        }
        if self.tiers.default == Some(Tier::Write)
            || self.tiers.opening().any(|(tier, _)| tier == Tier::Write)
        {
            self.guard(rules, hidden, area);
        }
    }

    /// What patterns of `write_paths` and `read_paths` leave of `caps`, without the restrictions that come last.
    fn opened(&self, rules: &mut Rules, within: Option<&Path>, caps: Capabilities) {
        for tier in [Tier::Write, Tier::Read] {
            let patterns = self.tiers.listed_patterns(List::Tier(tier));
            let patterns = patterns.filter(|it| is_about(it, within));
            let filters = Filter::within(within, expressions(patterns, Extent::AtMost));
            rules.allow(caps.intersection(tier.capabilities()), &filters);
        }
    }

    /// A rule, which replaces broader ones.
    fn rule(&self, rules: &mut Rules, at: usize, standing: &Standing<'_>) {
        let anchor = standing.anchor.as_path();
        let here = [Filter::subpath(anchor)];
        let parent = self.standings[..at].iter().rev().find(|it| anchor.starts_with(&it.anchor));
        let is_hidden_above = parent.is_some_and(Standing::is_hidden);
        let is_covered = parent.is_some() && !is_hidden_above || self.opens(Some(anchor));
        rules.comment(&standing.grant.origin.to_string());
        if standing.is_hidden() {
            let denied = if is_covered { Capabilities::ALL } else { Capabilities::NONE };
            rules.deny(denied, &here);
            if !is_hidden_above {
                rules.print("deny", METADATA, &here);
            }
            return self.hide(rules, standing);
        }
        if is_hidden_above {
            rules.print("allow", METADATA, &here);
        }
        let unmatched = self.unmatched(standing);
        if is_covered {
            rules.deny(Capabilities::ALL.difference(unmatched), &here);
        }
        rules.allow(unmatched, &here);
        if unmatched != standing.caps {
            self.opened(rules, Some(anchor), standing.caps);
        }
        if !standing.caps.is_empty() {
            self.except(rules, standing);
        }
    }

    /// What a rule grants where no pattern matches.
    fn unmatched(&self, standing: &Standing<'_>) -> Capabilities {
        match self.tiers.default.filter(|_| standing.reach().is_declared()) {
            _ if standing.reach().is_declared() && self.tiers.asks => Capabilities::NONE,
            Some(tier) => standing.caps.intersection(tier.capabilities()),
            None => standing.caps,
        }
    }

    /// What a rule does not grant below its anchor: its exclusions, and what takes a prompt.
    fn except(&self, rules: &mut Rules, standing: &Standing<'_>) {
        let anchor = standing.anchor.as_path();
        rules.deny(Capabilities::ALL, &exclusions(anchor, &standing.grant.carve_outs));
        if matches!(standing.reach(), Reach::Declared | Reach::Named) {
            let sensitive = self.filters(List::Sensitive, Some(anchor));
            rules.deny(Capabilities::ALL, &Filter::within(Some(anchor), sensitive));
        }
        if standing.caps.intersects(Capabilities::WRITE) && !is_free(standing.rule) {
            self.guard(rules, Some(anchor), Some(standing));
        }
    }

    /// What a hidden area shows: the way to what is granted in it, and what patterns grant.
    fn hide(&self, rules: &mut Rules, standing: &Standing<'_>) {
        let anchor = standing.anchor.as_path();
        rules.print("allow", METADATA, &self.ways(anchor));
        self.open(rules, Some(standing));
        if self.opens(Some(anchor)) && standing.reach() == Reach::Control {
            rules.deny(Capabilities::WRITE, &[Filter::subpath(anchor)]);
        }
    }

    /// The restrictions of tiers, which hold in every grant.
    fn withhold(&self, rules: &mut Rules) {
        for (list, withheld) in [
            (List::Tier(Tier::Read), Capabilities::WRITE),
            (List::Limit, Capabilities::WRITE),
            (List::Question, Capabilities::ALL),
            (List::Tier(Tier::Prompt), Capabilities::ALL),
            (List::Tier(Tier::Deny), Capabilities::ALL),
        ] {
            let filters = self.filters(list, None);
            if !filters.is_empty() {
                rules.comment(list.field());
                rules.deny(withheld, &filters);
            }
        }
    }

    /// Denies changes of auto-run files, which take a prompt.
    fn guard(&self, rules: &mut Rules, within: Option<&Path>, standing: Option<&Standing<'_>>) {
        let declared = standing.filter(|it| it.reach().is_declared());
        let is_outside = |anchor: &&Path| !self.roots.iter().any(|root| anchor.starts_with(root));
        let by_anchor = declared.map(|it| it.anchor.as_path()).filter(is_outside);
        let by_anchor = by_anchor.filter(|_| !self.bases.is_empty());
        let mut files = autorun::filters(&self.bases, by_anchor, within);
        files.extend(self.filters(List::Autorun, within));
        let released = self.tiers.listed_patterns(List::Released);
        let released = Filter::none(expressions(released, Extent::AtMost));
        let files =
            files.into_iter().map(|file| Filter::all(released.iter().cloned().chain([file])));
        rules.deny(Capabilities::WRITE, &Filter::within(within, files.collect()));
    }

    /// The directories on the way to grants in a hidden area. They may be looked at.
    fn ways(&self, hidden: &Path) -> Vec<Filter> {
        let inside = self.standings.iter().filter(|it| !it.caps.is_empty() && !it.is_hidden());
        let ways = inside.flat_map(|it| it.anchor.ancestors().skip(1));
        let ways: BTreeSet<&Path> = ways.filter(|way| way.starts_with(hidden)).collect();
        [hidden]
            .into_iter()
            .chain(ways)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .map(Filter::literal)
            .collect()
    }

    /// What a list withholds below a directory.
    fn filters(&self, list: List, within: Option<&Path>) -> Vec<Filter> {
        let patterns = self.tiers.listed_patterns(list).filter(|it| is_about(it, within));
        expressions(patterns, Extent::AtLeast)
    }
}

fn is_about(pattern: &Pattern, within: Option<&Path>) -> bool {
    let near = |stem: &Path, it: &Path| stem.starts_with(it) || it.starts_with(stem);
    within.is_none_or(|within| pattern.named().any(|stem| near(&stem, within)))
}

fn expressions<'p>(patterns: impl Iterator<Item = &'p Pattern>, extent: Extent) -> Vec<Filter> {
    let expressions: BTreeSet<String> = patterns.flat_map(|it| it.posix(extent)).collect();
    expressions.into_iter().map(|it| Filter::regex(it.as_bytes())).collect()
}

/// The grants that decide somewhere, with what the image knows about them.
fn standings<'a>(grants: &'a [Grant], image: &'a Image<'a>) -> Vec<Standing<'a>> {
    let decides = |grant: &Grant| {
        let anchor = grant.anchor.as_os_str().as_bytes();
        let (id, rest) = Walk::along(image, anchor).winner(anchor)?;
        rest.is_empty().then_some(id)
    };
    let deciding: BTreeSet<u32> = grants.iter().filter_map(decides).collect();
    let standing = |id: u32| {
        let (grant, rule) = (grants.get(id as usize)?, image.rule(id)?);
        let caps = Capabilities::from_bits(rule.caps);
        Some(Standing { anchor: grant.anchor.clone(), grant, caps, rule })
    };
    deciding.into_iter().filter_map(standing).collect()
}

/// What a rule excludes below its anchor.
fn exclusions(anchor: &Path, patterns: &[String]) -> Vec<Filter> {
    let exclusion = |pattern: &String| {
        let mut expression = syntax::anchored(anchor);
        for name in pattern.split('/').filter(|name| !name.is_empty()) {
            expression.push(b'/');
            let literals = name.split('*').map(|part| syntax::literal(part.as_bytes()));
            expression.extend(literals.collect::<Vec<_>>().join(&b"[^/]*"[..]));
        }
        expression.extend(b"(/[^/]+)*$");
        Filter::regex(&expression)
    };
    patterns.iter().map(exclusion).collect()
}
