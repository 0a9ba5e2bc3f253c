//! Recognises plain moves, which change nothing that the policy is about. Most moves are plain. Used by
//! [`crate::moves`], which judges the others.

use core::ptr;

use crate::autorun;
use crate::capability::Capabilities;
use crate::decide::arrival::are_siblings;
use crate::image::walk::Walk;
use crate::image::{Image, TierLayer};
use crate::layout::Rule;
use crate::request::Request;

/// Whether the policy treats both ends of a move alike and allows everything that a move takes. That needs three
/// things:
///
/// - The same rule decides at both ends and everywhere below.
/// - No pattern is about either end, and patterns say the same below both.
/// - No auto-run file is at or below either end.
#[inline(never)] // keeps its stack use from adding up with that of the full judgement
pub(crate) fn is_plain(image: &Image<'_>, ends: [&Request<'_>; 2]) -> bool {
    image.forms(ends.map(|end| end.path)).all(|(_, form)| {
        form.is_some_and(|image| {
            let [from, to] = ends.map(|end| plain_end(image, end));
            let is_same = from.zip(to).is_some_and(|((rule, is_top), (other, other_is_top))| {
                ptr::eq(rule, other) && is_top == other_is_top
            });
            is_same && image.tiers().is_none_or(|tiers| are_alike(tiers, ends.map(|end| end.path)))
        })
    })
}

/// Whether patterns say the same below the ends. Siblings only, because the names that a symlink lends at another place
/// take more to judge.
fn are_alike(tiers: &TierLayer<'_>, [from, to]: [&[u8]; 2]) -> bool {
    are_siblings(from, to) && tiers.automaton.alike_below(from, to)
}

/// The rule that decides at one end and everywhere below it, and whether repositories may be anywhere below. `None` if
/// more than that rule decides. Looks at this image alone.
fn plain_end<'a>(image: &Image<'a>, end: &Request<'_>) -> Option<(&'a Rule, bool)> {
    let walk = Walk::along(image, end.path);
    let (id, rest) = walk.winner(end.path)?;
    let rule = image.rule(id)?;
    let is_alone = !image.is_tied()
        && walk.reached.is_none()
        && end.is_by_own_name()
        && image.tiers().is_none_or(|tiers| tiers.pass(end, (rule, rest)))
        && rule.patterns.count.get() == 0
        && rule.hidden == 0
        && Capabilities::from_bits(rule.caps).contains(Capabilities::WRITE);
    if !is_alone {
        return None;
    }
    Some((rule, autorun::ordinary(image, end.path, Some((rule, rest)))?))
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::path::{Path, PathBuf};
    use std::string::{String, ToString};
    use std::vec::Vec;
    use std::{format, vec};

    use super::*;
    use crate::autorun::list::Place;
    use crate::build::{ImageSpec, Origin, build};
    use crate::file_policy::FilePolicy;
    use crate::grant::{Grant, GrantKind};
    use crate::moves::{self, Ends, Kind, Move, Plan};
    use crate::pattern::Places;
    use crate::tier::Tier;
    use crate::tiers::Tiers as Patterns;

    /// The names in paths: ordinary ones, and names in rules and in the list of auto-run files.
    const NAMES: [&str; 10] =
        ["a", "b", ".git", "x.git", "hooks", "config", ".vscode", "tasks.json", ".envrc", "sub"];

    /// An entry of some kind, which may exist.
    struct End(bool, u8);

    impl Ends for End {
        fn exists(&self) -> bool {
            self.0
        }

        fn is_directory(&self) -> bool {
            self.1 == 1
        }

        fn is_symlink(&self) -> bool {
            self.1 == 2
        }
    }

    fn image(patterns: &FilePolicy) -> Vec<u8> {
        let bases = [
            (Place::Top, "/w"),
            (Place::Top, "/w/a"),
            (Place::Repository, "/hub/.git"),
            (Place::Hooks, "/w/sub/hooks"),
            (Place::Bare, "/w"),
            (Place::Home, "/h"),
            (Place::Config, "/h/config"),
        ];
        let bases = bases.map(|(place, path)| (place, PathBuf::from(path)));
        let places = Places { home: None, protected: &[], workspace: Path::new("/w") };
        let tiers = Patterns::new(patterns, None, places).expect("patterns");
        let tiers = tiers.guarding(bases.into(), &[], &[], places).expect("patterns");
        let rule = |anchor: &str, caps: Capabilities| {
            let path = anchor.into();
            let origin = Origin::Rule { layer: "test".into(), index: 0, line: None, path };
            Grant::new(anchor.into(), caps, GrantKind::Plain, origin)
        };
        let profile = |anchor: &str, excluded: &str| Grant {
            origin: Origin::Profile { name: "p".into(), entry: "e".into(), named: false },
            carve_outs: vec![excluded.into()],
            ..rule(anchor, Capabilities::ALL)
        };
        let all = ["/w", "/w/sub/a", "/w/.envrc", "/hub", "/h", "/o/.git"];
        let mut grants = all.map(|anchor| rule(anchor, Capabilities::ALL)).to_vec();
        grants.push(rule("/w/b/sub", Capabilities::READ));
        grants.push(profile("/p", "*/hooks"));
        let spec = ImageSpec { tiers: Some(&tiers), ..ImageSpec::to_ask(&grants, Path::new("/w")) };
        build(&spec).expect("an image")
    }

    fn paths() -> Vec<String> {
        let join = |above: &[String]| -> Vec<String> {
            above.iter().flat_map(|it| NAMES.map(|name| format!("{it}/{name}"))).collect()
        };
        let roots = ["/w", "/hub", "/h", "/o", "/p"].map(String::from);
        let first = join(&roots);
        let second = join(&first);
        roots.into_iter().chain(first).chain(second).collect()
    }

    /// How many pairs of paths are plain under these patterns. Checks that each plain move is allowed whatever the ends
    /// are.
    fn count_plain(patterns: &FilePolicy) -> usize {
        let bytes = image(patterns);
        let image = Image::parse(&bytes).expect("an image");
        let paths = paths();
        let requests: Vec<_> = paths.iter().map(|it| Request::canonical(it.as_bytes())).collect();
        let pairs = requests.iter().flat_map(|from| requests.iter().map(move |to| (*from, *to)));
        let all = pairs.filter(|(from, to)| is_plain(&image, [from, to]));
        let check = |(from, to)| {
            for kind in [Kind::Replace, Kind::KeepIt, Kind::Exchange] {
                for ends in [End(true, 0), End(false, 1), End(true, 2)] {
                    let judged = moves::judged(&image, &Move { from, to, kind }, &ends);
                    assert_eq!(judged, Plan::Go, "{patterns:?} {from:?} {to:?} {kind:?}");
                }
            }
        };
        all.map(check).count()
    }

    #[test]
    fn what_is_plain_goes_whatever_it_is() {
        let policy = |deny: &[&str], prompt: &[&str], read: &[&str], default| FilePolicy {
            default,
            deny_paths: deny.iter().map(ToString::to_string).collect(),
            prompt_paths: prompt.iter().map(ToString::to_string).collect(),
            read_paths: read.iter().map(ToString::to_string).collect(),
            ..FilePolicy::default()
        };
        for (patterns, some) in [
            (policy(&[], &[], &[], None), true),
            (policy(&["**/config"], &[], &[], None), true),
            (policy(&["/w/a/*", "**/b/sub"], &["/w/*/hooks/**"], &["/hub/a"], None), true),
            (policy(&["/w/**/a/**/b", "/hub/*/b"], &["**/x.git/**"], &[], None), true),
            (policy(&[], &[], &[], Some(Tier::Prompt)), false),
            (policy(&[], &[], &["/w/a/**"], Some(Tier::Read)), false),
        ] {
            assert_eq!(count_plain(&patterns) > 0, some, "{patterns:?}");
        }
    }
}
