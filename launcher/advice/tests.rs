//! Tests suggestions for each kind of request: the least that satisfies the evaluator.

mod already;
mod filled;
mod names;
mod staying;
mod withheld;

use std::sync::LazyLock;

use jp_confine_engine::build::Origin;
use jp_confine_engine::decide::Request;
use jp_confine_engine::net::Net;
use jp_confine_engine::report_protocol::EXCHANGE;
use jp_confine_engine::tier::Restraint;
use jp_confine_engine::tiers::Tiers;

use super::*;
use crate::advice::options::options_for;
use crate::config::edit::rule_places::RulePlaces;
use crate::config::edit::user_lists::OwnLists;

const R: Capabilities = Capabilities::READ;
const C: Capabilities = Capabilities::CREATE;
const U: Capabilities = Capabilities::UPDATE;
const D: Capabilities = Capabilities::DELETE;
const X: Capabilities = Capabilities::EXECUTE;

fn grant(anchor: &str, caps: Capabilities) -> Grant {
    let origin = Origin::Product { why: anchor.to_owned() };
    Grant::new(anchor.into(), caps, GrantKind::Plain, origin)
}

fn flag(anchor: &str, caps: Capabilities) -> Grant {
    Grant { origin: Origin::Flag { text: String::new() }, ..grant(anchor, caps) }
}

fn denial(call: &str, path: &str, missing: Capabilities) -> Denial {
    let by = (1, b"/bin/sh".to_vec());
    let denial = Denial::by_supervisor(Reason::Rule, path.as_bytes(), by, call.as_bytes());
    Denial { missing, layer: crate::record::denial::Layer::Shim, ..denial }
}

fn pair(call: &str, from: &str, to: &str, missing: Capabilities, second: bool) -> Denial {
    let (path, other) = if second { (to, from) } else { (from, to) };
    Denial { second, other: other.into(), ..denial(call, path, missing) }
}

fn advisor<'a>(grants: &'a [Grant], unapproved: &'a [Grant], tiers: &'a Tiers) -> Advisor<'a> {
    static HERE: CommandHint = CommandHint::INSIDE;
    static FREE: LazyLock<Net> = LazyLock::new(Net::default);
    static LISTS: LazyLock<OwnLists> = LazyLock::new(OwnLists::of_nobody);
    Advisor {
        grants,
        workspace: Path::new("/w"),
        here: &HERE,
        tiers,
        exposed: None,
        person: Person::Absent,
        began: None,
        denials: None,
        unapproved,
        mounts: &[],
        unsupervised: Unsupervised::Ordered,
        declared: true,
        net: &FREE,
        without_network: None,
        programs: None,
        rule_places: RulePlaces::of_nobody(),
        own_lists: &LISTS,
        rights: |_, _| Ok(()),
    }
}

fn advise(grants: &[Grant], denial: &Denial) -> Advice {
    advisor(grants, &[], &Tiers::default()).advise(denial)
}

fn line(grants: &[Grant], denial: &Denial) -> String {
    in_line(advise(grants, denial))
}

/// A suggestion as one line: options, then rules.
fn in_line(advice: Advice) -> String {
    match advice {
        Advice::Never(why) => why,
        Advice::Withheld { first, options, written, question } => {
            let then = Advice::Grant { first: None, options, written, question: None };
            let question = question.map(|words| format!("; {words}")).unwrap_or_default();
            format!("{}; then {}{question}", first.words(&CommandHint::INSIDE), in_line(then))
        }
        Advice::Connection(way) => way.typed,
        Advice::Command { .. } => unreachable!("no programs are listed"),
        Advice::Approve { rules, options } => {
            format!("approve {}; {}", rules.join(" "), quote::words(&options))
        }
        Advice::Grant { options, written, .. } => {
            let options = options.iter().map(|(flag, path)| format!("{flag} {}", path.display()));
            let rules = written.rules.iter().map(|(path, caps)| format!("{path}: {caps}"));
            let patterns = &written.patterns;
            let patterns = patterns.iter().map(|(tier, text)| format!("{} {text}", tier.field()));
            let entries = written.entries.iter();
            let entries = entries.map(|(path, caps)| format!("profile {path}: {caps}"));
            options.chain(rules).chain(patterns).chain(entries).collect::<Vec<_>>().join("; ")
        }
    }
}

#[test]
fn an_option_is_named_once() {
    let step = |extent| {
        let step = Step::of(Request::canonical(b"/w/a"), Capabilities::NONE);
        Step { extent, missing: C, ..step }
    };
    let options = options_for(&[step(Extent::Along), step(Extent::Whole)]);
    assert_eq!(options, [("-w", PathBuf::from("/w/a"))]);
}

#[test]
fn rules_restate_what_holds_and_options_need_not() {
    let grants = [grant("/w", R), grant("/w/bin", R.union(X))];
    let rows = [
        (denial("open", "/w/a", U), "-w /w/a; a: read, update"),
        (denial("open", "/w/bin/a", U), "-w /w/bin/a; bin/a: read, update, execute"),
        (denial("execve", "/w/a", X), "-x /w/a; a: read, execute"),
        (denial("symlink", "/w/new", C), "-w /w; .: read, create"),
        (denial("unlink", "/w/a", D), "-w /w/a; a: read, delete"),
        (denial("open", "/w", C), "-w /w; .: read, create, update"),
        (denial("open", "/srv/a", R), "-r /srv/a; read_paths /srv/a"),
        (denial("open", "/srv/a[1]", R), "-r /srv/a[1]; read_paths /srv/a[[]1[]]"),
        (denial("open", "/srv/a", U.union(R)), "-w /srv/a; write_paths /srv/a"),
        (denial("execve", "/srv/a", R.union(X)), "-x /srv/a; read_paths /srv/a"),
    ];
    for (denial, expected) in rows {
        assert_eq!(line(&grants, &denial), expected);
    }
}

#[test]
fn both_ends_of_a_rename_and_of_a_link_are_granted() {
    let grants = [grant("/w", R)];
    let rename = pair("rename", "/w/missing-a", "/w/missing-b", D, false);
    assert_eq!(
        line(&grants, &rename),
        "-w /w/missing-a; -w /w/missing-b; missing-a: read, create, delete; missing-b: read, create"
    );
    let link = pair("link", "/w/a", "/w/b", C, true);
    assert_eq!(line(&grants, &link), "-w /w/b; -w /w/a; b: read, create; a: read, create");
    let out = pair("rename", "/w/missing-a", "/srv/missing-b", D, false);
    assert_eq!(
        line(&grants, &out),
        "-w /w/missing-a; -w /srv/missing-b; missing-a: read, create, update, delete, execute; write_paths /srv/missing-b"
    );
}

/// Each entry must be allowed in the other's place.
#[test]
fn both_ends_of_an_exchange_are_granted_for_each_other() {
    let grants = [grant("/w", Capabilities::ALL), grant("/w/b", R)];
    let call = EXCHANGE.to_str().expect("ASCII");
    let denied = pair(call, "/w/a", "/w/b/g", D.union(U), true);
    assert_eq!(
        line(&grants, &denied),
        "-w /w/b/g; -x /w/b/g; b/g: read, create, update, delete, execute"
    );
    let denied = pair(call, "/w/b/g", "/w/a", D.union(U), false);
    assert!(
        line(&grants, &denied).starts_with("-w /w/b/g; -x /w/b/g"),
        "{}",
        line(&grants, &denied)
    );
}

/// Programs often look at the root, at the home and above the workspace. A suggestion for that opens no contents.
#[test]
fn nobody_is_advised_to_grant_the_home_or_what_is_above() {
    let home = Grant::new(
        "/home/u".into(),
        Capabilities::NONE,
        GrantKind::Hidden,
        Origin::Product { why: "home".to_owned() },
    );
    let grants = [grant("/w/p", R), home];
    let tiers = Tiers::default();
    let advisor = Advisor { workspace: Path::new("/w/p"), ..advisor(&grants, &[], &tiers) };
    let too_much = "nothing narrower than all that is there allows it";
    let rows = [
        (denial("open", "/", R), "read_paths /"),
        (denial("open", "/home/u", R), "read_paths /home/u"),
        (denial("open", "/w", R), "read_paths /w"),
        (denial("chmod", "/home", U), "write_paths /home"),
        (denial("fts_open", "/", R), too_much),
        (denial("open", "/w/p", U), "-w /w/p; .: read, update"),
        (denial("open", "/home/u/a", R), "-r /home/u/a; read_paths /home/u/a"),
    ];
    for (denial, expected) in rows {
        assert_eq!(in_line(advisor.advise(&denial)), expected);
    }
    // A rule covers the root here, so it would take a profile.
    let grants = [grants.to_vec(), vec![grant("/", R)]].concat();
    assert_eq!(line(&grants, &denial("chmod", "/", U)), too_much);
}

/// A path in the home that a profile denies is opened by an option. For a directory no suggestion opens the contents.
#[test]
fn what_a_profile_denies_in_the_home_is_opened_by_its_name() {
    let hidden = |anchor: &str, origin| {
        Grant::new(anchor.into(), Capabilities::NONE, GrantKind::Hidden, origin)
    };
    let profile = |anchor: &str| {
        let (name, entry) = ("p".to_owned(), anchor.to_owned());
        hidden(anchor, Origin::Profile { name, entry, named: true })
    };
    let grants = [
        grant("/w", R),
        hidden("/home/u", Origin::Product { why: "home".to_owned() }),
        flag("/home/u", R),
        profile("/home/u/.netrc"),
        profile("/home/u/big/sub"),
    ];
    let drawn = "its name is another one each time, and its directory too much to grant";
    let too_much = "nothing narrower than all that is there allows it";
    let rows = [
        (denial("open", "/home/u/.netrc", R), "-r /home/u/.netrc; read_paths /home/u/.netrc"),
        (denial("open", "/home/u/.netrc", U), "-w /home/u/.netrc; write_paths /home/u/.netrc"),
        (denial("opendir", "/home/u/big/sub", R), "-r /home/u/big/sub; read_paths /home/u/big/sub"),
        (
            denial("open", "/home/u/big/sub/a", R),
            "-r /home/u/big/sub/a; read_paths /home/u/big/sub/a",
        ),
        (denial("mkstemp", "/home/u/big/sub/bcdefgh", C), drawn),
        (denial("chmod", "/home/u", U), too_much),
    ];
    for (denial, expected) in rows {
        assert_eq!(line(&grants, &denial), expected);
    }
    let many = ["a", "b", "c"].map(|name| denial("open", &format!("/home/u/big/sub/{name}"), R));
    let tiers = Tiers::default();
    assert_eq!(advisor(&grants, &[], &tiers).gather(&many.each_ref()), []);
}

/// No option helps: the tool gets only what the service gives it.
#[test]
fn a_hosted_tool_is_advised_to_ask() {
    let (grants, tiers) = ([grant("/w", R)], Tiers::default());
    let advisor =
        Advisor { without_network: Some(DisabledBy::Tool), ..advisor(&grants, &[], &tiers) };
    let socket = Denial { reason: Reason::Socket, ..denial("socket", "", R) };
    for denial in [denial("open", "/w/a", C), denial("open", "/srv/a", R), socket] {
        let advice = advisor.advise(&denial);
        assert_eq!(advice, Advice::Never(DisabledBy::Tool.way_out().to_owned()));
    }
    let many = ["/srv/x/a", "/srv/x/b", "/srv/x/c"].map(|path| denial("open", path, R));
    assert_eq!(advisor.gather(&many.iter().collect::<Vec<_>>()), []);
}

#[test]
fn what_is_denied_below_a_directory_must_be_granted_to_remove_it() {
    let grants = [grant("/w", Capabilities::ALL), grant("/w/dir/kept", R)];
    assert_eq!(
        line(&grants, &denial("rmdir", "/w/dir", D)),
        "-w /w/dir/kept; dir/kept: read, delete"
    );
}

/// Rules on one path are combined, and so is what they gain for each other. Options add up, and each is for its own
/// denial.
#[test]
fn what_is_advised_for_one_path_is_one_rule() {
    let grants = [grant("/w", R)];
    let rename = pair("rename", "/w/missing-a", "/w/missing-b", D, false);
    let denials = [
        denial("open", "/w/a", U),
        denial("execve", "/w/a", X),
        denial("open", "/w/other", U),
        rename,
        denial("open", "/w/missing-b", X),
    ];
    let denials: Vec<&Denial> = denials.iter().collect();
    let tiers = Tiers::default();
    let shown: Vec<String> =
        advisor(&grants, &[], &tiers).advise_all(&denials).into_iter().map(in_line).collect();
    let both = ["-w", "-x"].map(|option| format!("{option} /w/a; a: read, update, execute"));
    assert_eq!(shown[..2], both);
    assert_eq!(shown[2], "-w /w/other; other: read, update");
    // A file that may be executed at the new place must already be executable at the old one.
    assert!(shown[3].contains("missing-a: read, create, delete, execute"), "{shown:?}");
    assert!(shown[3].contains("missing-b: read, create, execute"), "{shown:?}");
}

/// A rule on a longer path decides alone, so it grants all that the denials there need, and no more. Options on longer
/// paths add to the others.
#[test]
fn what_is_advised_for_a_longer_path_takes_nothing_away() {
    let grants =
        [grant("/w", R.union(X)), grant("/w/d", Capabilities::NONE), grant("/w/d/kept", R)];
    let tiers = Tiers::default();
    let make = || denial("symlink", "/w/d/missing", C);
    let rows = [
        (
            [make(), denial("open", "/w/d/missing", R)],
            "-w /w/d; d: create; d/missing: read, create",
        ),
        (
            [denial("unlink", "/w/d/missing", D), denial("open", "/w/d/missing/below", R)],
            "-w /w/d/missing; d/missing: delete; d/missing/below: read, delete",
        ),
        ([make(), denial("open", "/w/d/other", R)], "-w /w/d; d: create"),
    ];
    for (denials, expected) in rows {
        for denials in [[&denials[0], &denials[1]], [&denials[1], &denials[0]]] {
            let all = advisor(&grants, &[], &tiers).advise_all(&denials);
            let shown: Vec<String> = all.into_iter().map(in_line).collect();
            assert!(shown.iter().any(|one| one == expected), "{expected}: {shown:?}");
        }
    }
}

/// Many denials in one directory get one suggestion, unless it is the workspace itself or the home.
#[test]
fn many_denials_in_one_directory_are_gathered() {
    let hidden = Grant::new(
        "/home/u".into(),
        Capabilities::NONE,
        GrantKind::Hidden,
        Origin::Product { why: "home".to_owned() },
    );
    let grants = [grant("/w", R), hidden];
    let tiers = Tiers::default();
    let gather = |denials: &[Denial]| {
        let denials: Vec<&Denial> = denials.iter().collect();
        advisor(&grants, &[], &tiers).gather(&denials)
    };
    let three = |directory: &str| {
        let at = |(name, caps)| denial("open", &format!("{directory}/{name}"), caps);
        [("a", C), ("b", U), ("c", U)].map(at)
    };
    let found = gather(&three("/w/dir"));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].members, [0, 1, 2]);
    assert_eq!(found[0].options, [("-w", PathBuf::from("/w/dir"))]);
    assert_eq!(found[0].written.rules, [("dir".to_owned(), R.union(C).union(U))]);
    let outside = gather(&three("/srv/x"));
    assert_eq!(outside[0].written.patterns, [(Tier::Write, "/srv/x/*".to_owned())]);
    let of_home = gather(&three("/home/u/.private"));
    assert_eq!(of_home[0].written, Written::default(), "nothing wide of a home");
    for directory in ["/w", "/home/u", "/home", ""] {
        assert_eq!(gather(&three(directory)), [], "{directory}");
    }
    assert_eq!(gather(&three("/srv/x")[..2]), []);
    let moved = pair("rename", "/srv/x/a", "/srv/y/a", D, false);
    let [a, b, c] = three("/srv/x");
    assert_eq!(gather(&[a, b, c, moved]), [], "a move has rules of its own");
    let same = denial("open", "/srv/x/a", C);
    assert_eq!(gather(&[same.clone(), same.clone(), same]), [], "one path is not many");
}

#[test]
fn what_cannot_be_allowed_says_so() {
    let control = Grant::new(
        "/w/jp-confine.toml".into(),
        Capabilities::NONE,
        GrantKind::Control,
        Origin::Product { why: "the policy".to_owned() },
    );
    let flag = Origin::Flag { text: "--deny /w/.env".to_owned() };
    let flag = Grant::new("/w/.env".into(), Capabilities::NONE, GrantKind::Plain, flag);
    let typed = Origin::Flag { text: "--deny a\u{1b}\nb".to_owned() };
    let typed = Grant::new("/w/a\u{1b}\nb".into(), Capabilities::NONE, GrantKind::Plain, typed);
    let grants = [grant("/w", R), control, flag, typed];
    let rows = [
        (denial("open", "/w/a\u{1b}\nb", R), r"leave out `--deny $'a\x1b\x0ab'`"),
        (denial("open", "/w/jp-confine.toml", U), "cannot be allowed"),
        (denial("open", "/w/.env", R), "leave out `--deny /w/.env`"),
        (denial("open", "/w/a", R), "the policy allows it now; a run around this one may not"),
        (denial("open", "not/absolute", R), "no option and no rule can allow it"),
        (
            denial("open", "/proc/1/environ", R),
            "no option allows it, as it is another process's: do it outside of the run",
        ),
        (
            Denial { reason: Reason::Namespace, ..denial("unshare", "/w", R) },
            "no option allows it, as it changes what names mean: do it outside of the run",
        ),
        (
            Denial { reason: Reason::Static, ..denial("execve", "/w/a", Capabilities::NONE) },
            "statically linked: nothing else holds it; allow: --enforce layered",
        ),
    ];
    for (denial, expected) in rows {
        assert_eq!(line(&grants, &denial), expected);
    }
}

/// If only an approval is missing, nothing else is suggested. If an approval is not enough, the rest is suggested.
#[test]
fn what_is_not_approved_is_to_be_approved() {
    let at = |anchor: &str, caps, kind| {
        let origin =
            Origin::Rule { layer: "f".into(), index: 0, line: Some(1), path: "fork".to_owned() };
        Grant::new(anchor.into(), caps, kind, origin)
    };
    let tombstone = |lexical_path| GrantKind::Tombstone { lexical_path };
    let external = GrantKind::External { lexical_path: "fork".to_owned() };
    let grants = [
        grant("/w", R),
        at("/w/fork", Capabilities::NONE, tombstone(None)),
        at("/srv/fork", Capabilities::NONE, tombstone(Some("fork".to_owned()))),
    ];
    let unapproved = [at("/srv/fork", R, external)];
    let tiers = Tiers::default();
    let wider = [Grant { caps: R.union(U), ..unapproved[0].clone() }];
    let read = Denial { rule: Some(2), ..denial("open", "/srv/fork/a", R) };
    let advice = self::advisor(&grants, &wider, &tiers).advise(&read);
    assert_eq!(in_line(advice), "approve fork; -r /srv/fork/a", "or less than that");
    let advisor = advisor(&grants, &unapproved, &tiers);
    let asked = |missing| Denial { rule: Some(2), ..denial("open", "/srv/fork/a", missing) };
    assert_eq!(in_line(advisor.advise(&asked(R))), "approve fork; ");
    let options = vec![("-w", "/srv/fork/a".into())];
    let written = Written { entries: vec![("/srv/fork/a".to_owned(), U)], ..Written::default() };
    assert_eq!(
        advisor.advise(&asked(U)),
        Advice::Grant { first: None, options, written, question: None }
    );
}

/// A second pattern does not change a path that a pattern makes read-only. For several denials on one path, only the
/// list that grants more is suggested.
#[test]
fn patterns_are_advised_where_they_help() {
    assert_eq!(line(&[], &denial("open", "/proc/7/stat", R)), "-r /proc/7/stat");
    let both = [denial("open", "/srv/a", R), denial("open", "/srv/a", U)];
    let both: Vec<&Denial> = both.iter().collect();
    let tiers = Tiers::default();
    for advice in advisor(&[], &[], &tiers).advise_all(&both) {
        let Advice::Grant { written, .. } = advice else { panic!("{advice:?}") };
        assert_eq!(written.patterns, [(Tier::Write, "/srv/a".to_owned())]);
    }
    for (caps, way_out) in [(U, "belongs into write_paths"), (X, "have read_paths leave it out")] {
        let denied = Denial { restraint: Some(Restraint::Read), ..denial("open", "/srv/a", caps) };
        assert!(line(&[], &denied).contains(way_out), "{caps}");
    }
}

/// If a rule covers a place outside, a profile is suggested, unless it would yield to something.
#[test]
fn profiles_are_advised_where_no_pattern_helps() {
    let by = |origin: Origin, kind| Grant { origin, kind, ..grant("/etc", R) };
    let baseline = by(Origin::Baseline { entry: "/etc".to_owned() }, GrantKind::Plain);
    let baseline = Grant { carve_outs: vec!["group".to_owned()], ..baseline };
    let rule = Origin::Rule { layer: "f".into(), index: 0, line: None, path: "fork".to_owned() };
    let external = by(rule, GrantKind::External { lexical_path: "fork".to_owned() });
    let inside = grant("/w", R);
    for covering in [&baseline, &external] {
        let grants = [inside.clone(), covering.clone()];
        let rows = [
            (
                denial("open", "/etc/new-1", C),
                "-w /etc/new-1; profile /etc/new-1: read, create, update",
            ),
            (denial("open", "/etc/passwd", U), "-w /etc/passwd; profile /etc/passwd: read, update"),
            (
                denial("execve", "/etc/passwd", X),
                "-x /etc/passwd; profile /etc/passwd: read, execute",
            ),
            (denial("open", "/etc/none/new", C), "-w /etc/none/new"),
            (denial("execve", "/etc/none", X), "-x /etc/none"),
        ];
        for (denial, expected) in rows {
            assert_eq!(line(&grants, &denial), expected);
        }
    }
    // On one path a file's rule outweighs the profile. Exclusions of ready-made grants add up.
    let whole = denial("chmod", "/etc", U);
    assert_eq!(
        line(&[inside.clone(), baseline.clone()], &whole),
        "-w /etc; profile /etc: read, update"
    );
    assert_eq!(line(&[inside.clone(), external], &whole), "-w /etc");
    let listed = denial("fts_open", "/etc", U);
    assert_eq!(line(&[inside.clone(), baseline.clone()], &listed), "-w /etc");
    // It lifts no `--deny`, and no denying grant on the same path.
    let denied = denial("open", "/etc/passwd", U);
    let closed =
        Grant { anchor: "/etc/passwd".into(), caps: Capabilities::NONE, ..baseline.clone() };
    for closing in [flag("/etc", Capabilities::NONE), closed] {
        let grants = [inside.clone(), baseline.clone(), closing];
        assert_eq!(line(&grants, &denied), "-w /etc/passwd");
    }
    let three = ["passwd", "hosts", "new"].map(|name| denial("open", &format!("/etc/{name}"), U));
    let three: Vec<&Denial> = three.iter().collect();
    let (tiers, grants) = (Tiers::default(), [inside, baseline]);
    let gathered = advisor(&grants, &[], &tiers).gather(&three);
    assert_eq!(gathered[0].written.entries, [("/etc".to_owned(), R.union(U))]);
}
