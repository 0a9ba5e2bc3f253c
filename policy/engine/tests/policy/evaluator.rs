//! Compares the image's answers with a naive list of anchors (spec §5.1).

use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, ImageSpec, Origin, build};
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::{Image, RuleId};
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
        2 => prop::option::of("[ab]|a/b")
            .prop_map(|lexical_path| GrantKind::Tombstone { lexical_path }),
        1 => Just(GrantKind::Hidden),
        1 => Just(GrantKind::Control),
    ];
    (path(), 0_u8..32, kind).prop_map(|(anchor, bits, kind)| {
        let origin = Origin::Product { why: String::new() };
        Grant::new(PathBuf::from(anchor), Capabilities::from_bits(bits), kind, origin)
    })
}

/// A grant that means the same for any workspace.
fn plain_grant() -> impl Strategy<Value = Grant> {
    grant().prop_map(|grant| match grant.kind {
        GrantKind::External { .. } => Grant { kind: GrantKind::Plain, ..grant },
        GrantKind::Tombstone { .. } => {
            Grant { kind: GrantKind::Tombstone { lexical_path: None }, ..grant }
        }
        _ => grant,
    })
}

fn depth(grant: &Grant) -> usize {
    grant.anchor.components().count()
}

/// The longest anchor decides. Of the external rules and tombstones that end the list of grants on it, the one whose
/// route leads to the request's wins. Otherwise the last grant wins.
fn oracle(grants: &[Grant], path: &Path, route: &Path) -> Option<usize> {
    let covering = || {
        let candidates = grants.iter().enumerate().filter(|(_, grant)| counts(grants, grant));
        candidates.filter(|(_, grant)| path.starts_with(&grant.anchor))
    };
    let longest = covering().map(|(_, grant)| depth(grant)).max()?;
    let mut tied: Vec<_> = covering().filter(|(_, grant)| depth(grant) == longest).collect();
    tied.reverse();
    let last = tied.first()?.0;
    let leads = |grant: &Grant| match &grant.kind {
        GrantKind::External { lexical_path }
        | GrantKind::Tombstone { lexical_path: Some(lexical_path) } => {
            Some(route.starts_with(Path::new(WORKSPACE).join(lexical_path)))
        }
        _ => None,
    };
    let externals = tied.iter().map_while(|(index, grant)| Some((*index, leads(grant)?)));
    Some(externals.into_iter().find(|(_, leads)| *leads).map_or(last, |(index, _)| index))
}

/// Nothing below a control entry grants more.
fn counts(grants: &[Grant], grant: &Grant) -> bool {
    let mut controls = grants.iter().filter(|other| other.kind == GrantKind::Control);
    let closes = matches!(grant.kind, GrantKind::Control | GrantKind::Tombstone { .. });
    closes || !controls.any(|control| grant.anchor.starts_with(&control.anchor))
}

/// The capabilities of a grant. A control entry has those that hold there without any such entry, except writing.
fn granted(grants: &[Grant], grant: &Grant) -> Capabilities {
    if grant.kind != GrantKind::Control {
        return grant.caps;
    }
    let holds = |other: &&Grant| {
        other.kind != GrantKind::Control && grant.anchor.starts_with(&other.anchor)
    };
    let holder = grants.iter().filter(holds).max_by_key(|other| depth(other));
    holder.map_or(Capabilities::NONE, |holder| holder.caps.difference(Capabilities::WRITE))
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
        let request = Request::by_route(asked.as_bytes(), route.as_bytes());
        let expected = oracle(&grants, Path::new(&asked), Path::new(&route));
        let found = decide::lookup(&policy, &request);
        prop_assert_eq!(found.rule.map(RuleId::index), expected);

        let held = expected.map_or(Capabilities::NONE, |index| granted(&grants, &grants[index]));
        prop_assert_eq!(found.caps, held);
        let need = Capabilities::from_bits(need);
        let allowed = decide::access(&policy, &request, need) == Verdict::Allow;
        prop_assert_eq!(allowed, held.contains(need));
    }

    /// The walk to the workspace is done once, when an image is read. It must not change any answer.
    #[test]
    fn the_workspace_changes_no_answer(
        grants in prop::collection::vec(plain_grant(), 0..8),
        links in prop::collection::vec((path(), path()), 0..3),
        workspace in path(),
        asked in prop::collection::vec(path(), 1..8),
        below in path(),
    ) {
        let links: Vec<_> = links.into_iter().map(|(at, to)| (at.into(), to.into())).collect();
        let written = |workspace: &Path| {
            let spec = ImageSpec { aliases: &links, ..ImageSpec::to_ask(&grants, workspace) };
            build(&spec).unwrap()
        };
        let bytes = [written(Path::new(&workspace)), written(Path::new("/"))];
        let [image, plain] = [&bytes[0], &bytes[1]].map(|bytes| Image::parse(bytes).unwrap());
        let around = [workspace.clone(), format!("{workspace}a"), format!("{workspace}{below}")];
        for asked in around.iter().chain(&asked) {
            let asked = asked.as_bytes();
            let request = Request::canonical(asked);
            prop_assert_eq!(decide::lookup(&image, &request), decide::lookup(&plain, &request));
            prop_assert_eq!(decide::alias(&image, asked), decide::alias(&plain, asked));
            let shown = [&image, &plain].map(|image| decide::shows_everything(image, asked));
            prop_assert_eq!(shown[0], shown[1]);
            let looked = [&image, &plain].map(|image| decide::metadata(image, &request));
            prop_assert_eq!(looked[0], looked[1]);
        }
    }
}

#[test]
fn an_exclusion_matters_on_the_way_to_what_it_may_match() {
    let origin = Origin::Product { why: String::new() };
    let mut grant = Grant::new("/etc".into(), Capabilities::READ, GrantKind::Plain, origin);
    grant.carve_outs = vec!["ssh/*_key".into(), "*/keys/private".into()];
    let image = image(&[grant], Path::new(WORKSPACE));
    let image = Image::parse(&image).expect("an image");
    for (directory, expected) in [
        ("/etc", true),
        ("/etc/ssh", true),
        ("/etc/tls", true),
        ("/etc/tls/keys", true),
        ("/etc/tls/public", false),
        ("/etc/tls/keys/private", false),
        ("/etc/ssh/a_key", false),
        ("/usr", false),
    ] {
        let found = decide::excludes_below(&image, directory.as_bytes());
        assert_eq!(found, expected, "{directory}");
    }
}
