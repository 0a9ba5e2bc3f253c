//! Tests suggestions for each kind of request: the least that satisfies the evaluator.

mod new_entries;
mod views;
mod withheld;

use std::sync::LazyLock;

use jp_confine_engine::build::Origin;
use jp_confine_engine::decide::Request;
use jp_confine_engine::net::Net;
use jp_confine_engine::tier::Restraint;
use jp_confine_engine::tiers::Tiers;

use super::*;
use crate::advice::advisor::First;
use crate::advice::options::options_for;
use crate::config::edit::rule_places::RulePlaces;
use crate::config::edit::user_lists::OwnLists;
use crate::host::invocation::CommandHint;

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
        image: None,
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
            let first = match first {
                First::TakeOut(words) => words,
                First::Approve(rules) => {
                    format!("first: {}", CommandHint::INSIDE.approvals(&rules))
                }
            };
            format!("{first}; then {}{question}", in_line(then))
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
            "no option allows namespaces: do it outside, or without (`--no-sandbox`)",
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
