//! The image's answers against a naive list of anchors (spec §5.1).

use std::path::{Path, PathBuf};

use jp_confine_policy::Capabilities;
use jp_confine_policy::build::{Grant, GrantKind, Origin};
use jp_confine_policy::decide::{self, Request, Verdict};
use jp_confine_policy::image::{Image, RuleId};
use proptest::prelude::*;

use crate::place::image;

const WORKSPACE: &str = "/w";

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec("[ab]|ab|[.]a|w", 0..6).prop_map(|names| format!("/{}", names.join("/")))
}

fn grant() -> impl Strategy<Value = Grant> {
    let kind = prop_oneof![
        3 => Just(GrantKind::Plain),
        2 => "[ab]|a/b".prop_map(|lexical_path| GrantKind::External { lexical_path }),
        1 => Just(GrantKind::Tombstone),
        1 => Just(GrantKind::Hidden),
    ];
    (path(), 0_u8..32, kind).prop_map(|(anchor, bits, kind)| {
        let origin = Origin::Product { why: String::new() };
        Grant::new(PathBuf::from(anchor), Capabilities::from_bits(bits), kind, origin)
    })
}

fn depth(grant: &Grant) -> usize {
    grant.anchor.components().count()
}

/// Longest anchor; then, among the external rules that end the list of those, the one whose route
/// leads to the request's; then the last.
fn oracle(grants: &[Grant], path: &Path, route: &Path) -> Option<usize> {
    let covering =
        || grants.iter().enumerate().filter(|(_, grant)| path.starts_with(&grant.anchor));
    let longest = covering().map(|(_, grant)| depth(grant)).max()?;
    let mut tied: Vec<_> = covering().filter(|(_, grant)| depth(grant) == longest).collect();
    tied.reverse();
    let last = tied.first()?.0;
    let leads = |grant: &Grant| match &grant.kind {
        GrantKind::External { lexical_path } => {
            Some(route.starts_with(Path::new(WORKSPACE).join(lexical_path)))
        }
        _ => None,
    };
    let externals = tied.iter().map_while(|(index, grant)| Some((*index, leads(grant)?)));
    Some(externals.into_iter().find(|(_, leads)| *leads).map_or(last, |(index, _)| index))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn longest_anchor_then_route_then_last(
        grants in prop::collection::vec(grant(), 0..8),
        asked in path(),
        route in path(),
        need in 0_u8..32,
    ) {
        let route = if route.len() > 3 { format!("{WORKSPACE}{route}") } else { asked.clone() };
        let bytes = image(&grants, Path::new(WORKSPACE));
        let policy = Image::parse(&bytes).unwrap();
        let request = Request { path: asked.as_bytes(), route: route.as_bytes() };
        let expected = oracle(&grants, Path::new(&asked), Path::new(&route));
        let found = decide::lookup(&policy, &request);
        prop_assert_eq!(found.rule.map(RuleId::index), expected);

        let held = expected.map_or(Capabilities::NONE, |index| grants[index].caps);
        prop_assert_eq!(found.caps, held);
        let need = Capabilities::from_bits(need);
        let allowed = decide::access(&policy, &request, need) == Verdict::Allow;
        prop_assert_eq!(allowed, held.contains(need));
    }
}
