//! Advice for each kind of request: the least that the evaluator is content with.

use super::*;

const R: Capabilities = Capabilities::READ;
const C: Capabilities = Capabilities::CREATE;
const U: Capabilities = Capabilities::UPDATE;
const D: Capabilities = Capabilities::DELETE;
const X: Capabilities = Capabilities::EXECUTE;

fn grant(anchor: &str, caps: Capabilities) -> Grant {
    let origin = Origin::Product { why: anchor.to_owned() };
    Grant::new(anchor.into(), caps, GrantKind::Plain, origin)
}

fn denial(call: &str, path: &str, missing: Capabilities) -> Denial {
    Denial {
        pid: 1,
        rule: None,
        missing,
        hidden: false,
        second: false,
        question: false,
        restraint: None,
        reason: Reason::Rule,
        layer: crate::events::Layer::Shim,
        path: path.into(),
        route: path.into(),
        program: b"/bin/sh".to_vec(),
        call: call.into(),
    }
}

fn pair(call: &str, from: &str, to: &str, missing: Capabilities, second: bool) -> Denial {
    let (path, route) = if second { (to, from) } else { (from, to) };
    Denial { second, route: route.into(), ..denial(call, path, missing) }
}

fn advise(grants: &[Grant], denial: &Denial) -> Advice {
    Advisor {
        grants,
        workspace: Path::new("/w"),
        tiers: &Tiers::default(),
        declared: true,
        net: &Net::default(),
        programs: None,
    }
    .advise(denial)
}

/// Advice as one line: options, then rules.
fn line(grants: &[Grant], denial: &Denial) -> String {
    match advise(grants, denial) {
        Advice::Never(why) => why,
        Advice::Connection(way) => way.typed,
        Advice::Command { .. } => unreachable!("no programs are listed"),
        Advice::Grant { options, rules } => {
            let options = options.iter().map(|(flag, path)| format!("{flag} {}", path.display()));
            let rules = rules.iter().map(|(path, caps)| format!("{path}: {caps}"));
            options.chain(rules).collect::<Vec<_>>().join("; ")
        }
    }
}

#[test]
fn rules_restate_what_holds_and_options_need_not() {
    let grants = [grant("/w", R), grant("/w/bin", R.union(X))];
    let rows = [
        (denial("open", "/w/a", U), "-w /w/a; a: read, update"),
        (denial("open", "/w/bin/a", U), "-w /w/bin/a; bin/a: read, update, execute"),
        (denial("execve", "/w/a", X), "-x /w/a; a: read, execute"),
        (denial("mkdir", "/w/new", C), "-w /w/new; new: read, create"),
        (denial("unlink", "/w/a", D), "-w /w/a; a: read, delete"),
        (denial("open", "/w", C), "-w /w; .: read, create"),
        (denial("open", "/srv/a", R), "-r /srv/a"),
        (denial("open", "/srv/a", U.union(R)), "-w /srv/a"),
        (denial("execve", "/srv/a", R.union(X)), "-x /srv/a"),
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
    assert_eq!(line(&grants, &out), "-w /w/missing-a; -w /srv/missing-b");
}

#[test]
fn what_is_denied_below_a_directory_must_be_granted_to_remove_it() {
    let grants = [grant("/w", Capabilities::ALL), grant("/w/dir/kept", R)];
    assert_eq!(
        line(&grants, &denial("rmdir", "/w/dir", D)),
        "-w /w/dir/kept; dir/kept: read, delete"
    );
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
    let grants = [grant("/w", R), control, flag];
    let rows = [
        (denial("open", "/w/jp-confine.toml", U), "the policy: cannot be allowed"),
        (denial("open", "/w/.env", R), "leave out `--deny /w/.env`"),
        (denial("open", "/w/a", R), "the policy allows it now; a run around this one may not"),
        (denial("open", "not/absolute", R), "no option and no rule can allow it"),
        (
            Denial { reason: Reason::Namespace, ..denial("unshare", "/w", R) },
            "it would change what paths mean",
        ),
    ];
    for (denial, expected) in rows {
        assert_eq!(line(&grants, &denial), expected);
    }
}
