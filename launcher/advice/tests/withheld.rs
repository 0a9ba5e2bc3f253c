//! Tests suggestions where tiers withhold a grant.

use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::pattern::Places;
use jp_confine_engine::tiers::Tiers;

use super::*;

#[test]
fn who_said_no_is_not_nobody() {
    let question =
        Denial { restraint: Some(Restraint::Prompt), question: true, ..denial("open", "/w/a", R) };
    let (grants, tiers) = ([grant("/w", R)], Tiers::default());
    let told = |person| {
        let advisor = Advisor { person, ..advisor(&grants, &[], &tiers) };
        in_line(advisor.advise(&question))
    };
    assert_eq!(told(Person::Absent), "nobody consented; in a terminal it is asked about");
    assert!(told(Person::Unwanted).contains("--non-interactive keeps it from"));
    assert!(told(Person::Uninformed(Unsupervised::Ordered)).contains("--enforce layered"));
    let withdrawn = "the question was withdrawn unanswered; the next run asks again";
    assert_eq!(told(Person::Asked), withdrawn);
    let refused = Denial { reason: Reason::Refused, ..question.clone() };
    // The terminal may be gone by now, or may be new.
    for person in [Person::Asked, Person::Absent] {
        let advisor = Advisor { person, ..advisor(&grants, &[], &tiers) };
        let told = in_line(advisor.advise(&refused));
        assert_eq!(told, "a person said no; the next run asks again");
    }
    let moved = Denial { question: false, other: "/w/b".into(), ..question };
    let advice = advisor(&grants, &[], &tiers).advise(&moved);
    assert!(in_line(advice).contains("take the pattern out, or make a copy (`cp`), which asks"));
}

/// Typing a program's path is consent, unless nobody could be prompted. That consent does not cover the interpreter of
/// a script.
#[test]
fn what_starts_a_typed_program_is_to_be_typed() {
    let (grants, tiers) = ([grant("/w", R)], Tiers::default());
    let advisor = Advisor { person: Person::Asked, ..advisor(&grants, &[], &tiers) };
    let told = |program: &Path| {
        in_line(advisor.advise(&Denial {
            restraint: Some(Restraint::Prompt),
            question: true,
            layer: crate::record::denial::Layer::Launcher,
            program: program.as_os_str().as_bytes().to_owned(),
            ..denial("execve", "/w/a", X)
        }))
    };
    assert_eq!(told(&crate::host::program_lookup::own_path()), "allow: --enforce layered");
    assert!(told(Path::new("/w/script")).ends_with("type it in front"));
}

pub(super) fn tiers(policy: &FilePolicy) -> Tiers {
    let places = Places::without_home(Path::new("/w"));
    Tiers::new(policy, Some(&[]), places).expect("patterns")
}

/// A pattern of the user's own also opens a path that nobody was there to consent to.
#[test]
fn a_default_that_asks_is_outweighed_by_a_pattern() {
    let tiers = tiers(&FilePolicy { default: Some(Tier::Prompt), ..FilePolicy::default() });
    let grants = [flag("/w", R)];
    let asked =
        Denial { restraint: Some(Restraint::Default), question: true, ..denial("open", "/w/a", R) };
    let of = |person| Advisor { person, ..advisor(&grants, &[], &tiers) }.advise(&asked);
    let Advice::Grant { first: Some(first), options, written, .. } = of(Person::Absent) else {
        panic!("{:?}", of(Person::Absent));
    };
    assert_eq!(first, "nobody consented; in a terminal it is asked about");
    assert!(options.is_empty(), "{options:?}");
    assert_eq!(written.patterns, [(Tier::Read, "/w/a".to_owned())]);
    assert!(in_line(of(Person::Asked)).contains("withdrawn"));
}

/// If nothing is granted, removing the deny pattern is not enough.
#[test]
fn what_is_denied_and_not_granted_takes_both() {
    let tiers = tiers(&FilePolicy { deny_paths: vec!["/srv/**".into()], ..FilePolicy::default() });
    let denied = Denial { restraint: Some(Restraint::Deny), ..denial("open", "/srv/a", R) };
    let first = "to be taken out first: `/srv/**` of deny_paths";
    let then = "-r /srv/a; read_paths /srv/a";
    let told = |grants: &[Grant]| in_line(advisor(grants, &[], &tiers).advise(&denied));
    assert_eq!(told(&[]), format!("{first}; then {then}"));
    assert_eq!(
        told(&[flag("/srv", R)]),
        "no option and no rule outweighs it; take the pattern out"
    );
}

/// No suggestion contains a grant that a tier would withhold. If a prompt would follow, the suggestion says so.
#[test]
fn tiers_withhold_what_is_granted_for_advice() {
    let list = |pattern: &str| vec![format!("<workspace>/{pattern}")];
    let tiers = tiers(&FilePolicy {
        deny_paths: list("no/**"),
        prompt_paths: list("asked/**"),
        read_paths: list("read/**"),
        ..FilePolicy::default()
    });
    let grants = [flag("/w", R)];
    let told = |denial: &Denial| match advisor(&grants, &[], &tiers).advise(denial) {
        Advice::Grant { question: Some(question), .. } => question,
        advice => in_line(advice),
    };
    let rows = [
        (denial("open", "/w/no/a", U), "to be taken out first: `<workspace>/no/**` of deny_paths"),
        (
            denial("unlink", "/w/no/a", D),
            "to be taken out first: `<workspace>/no/**` of deny_paths; then -w /w/no/a",
        ),
        (
            denial("open", "/w/read/a", U),
            "to be taken out first: `<workspace>/read/**` of read_paths",
        ),
        (denial("open", "/w/asked/a", U), "then a person is asked, for `<workspace>/asked/**`"),
        (pair("rename", "/w/a", "/w/no/a", D, false), "`<workspace>/no/**` of deny_paths"),
    ];
    for (denial, expected) in rows {
        assert!(told(&denial).contains(expected), "{expected}: {}", told(&denial));
    }
}

/// The rule of an option covers paths below it that patterns open, maybe further. Then only the other means are
/// suggested.
#[test]
fn an_option_that_takes_something_away_is_not_advised() {
    let list = |patterns: &[&str]| patterns.iter().map(|it| (*it).to_owned()).collect();
    let tiers = tiers(&FilePolicy {
        read_paths: list(&["/srv/r/**", "/srv/some/*.md"]),
        write_paths: list(&["/srv/w/**"]),
        ..FilePolicy::default()
    });
    let grants = [grant("/w", R)];
    let advisor = advisor(&grants, &[], &tiers);
    for (path, missing, expected) in [
        ("/srv/r", R, "read_paths /srv/r"),
        ("/srv/w", R, "read_paths /srv/w"),
        ("/srv/w", R.union(U), "write_paths /srv/w"),
        ("/srv/r", R.union(X), "-x /srv/r; read_paths /srv/r"),
        ("/srv/other", R, "-r /srv/other; read_paths /srv/other"),
        ("/srv/some/a", R, "-r /srv/some/a; read_paths /srv/some/a"),
    ] {
        assert_eq!(in_line(advisor.advise(&denial("open", path, missing))), expected, "{path}");
    }
    let gather = |directory: &str| {
        let three = ["a", "b", "c"].map(|name| denial("open", &format!("{directory}/{name}"), U));
        advisor.gather(&three.each_ref()).len()
    };
    assert_eq!((gather("/srv/some"), gather("/srv/other")), (0, 1));
}

/// Several patterns may withhold a path, each in another list.
#[test]
fn all_patterns_that_withhold_it_are_named_at_once() {
    let list = |patterns: &[&str]| patterns.iter().map(|it| (*it).to_owned()).collect();
    let tiers = tiers(&FilePolicy {
        deny_paths: list(&["**/*.pem", "<workspace>/src/**", "<workspace>/no/**"]),
        read_paths: list(&["<workspace>/src/a*"]),
        prompt_paths: list(&["<workspace>/src/a.*"]),
        ..FilePolicy::default()
    });
    let grants = [flag("/w", R)];
    let told = |denial: &Denial| in_line(advisor(&grants, &[], &tiers).advise(denial));
    let withheld = Denial { restraint: Some(Restraint::Deny), ..denial("open", "/w/src/a.pem", R) };
    let pem = "`**/*.pem` of deny_paths";
    let asked = "then a person is asked, for `<workspace>/src/a.*` of prompt_paths";
    assert_eq!(
        told(&withheld),
        format!(
            "no option and no rule outweighs it; take the pattern out; also in the way: {pem}; {asked}"
        )
    );
    assert!(told(&denial("open", "/w/src/a.pem", U)).ends_with(&format!("update; {asked}")));
    let both = format!("`<workspace>/src/**` of deny_paths, {pem}");
    assert_eq!(
        told(&denial("open", "/w/src/ab.pem", U)),
        format!(
            "to be taken out first: {both}, `<workspace>/src/a*` of read_paths; then -w /w/src/ab.pem; src/ab.pem: read, update"
        )
    );
    let moved = pair("rename", "/w/x.pem", "/w/no/x", D, false);
    assert_eq!(
        told(&moved),
        format!(
            "to be taken out first: {pem}, `<workspace>/no/**` of deny_paths; then -w /w/x.pem; -w /w/no/x; x.pem: read, create, delete; no/x: read, create"
        )
    );
}

/// A pattern of the user's own alone outweighs the `default`.
#[test]
fn a_default_that_refuses_gives_way_to_a_pattern() {
    let deny = tiers(&FilePolicy { default: Some(Tier::Deny), ..FilePolicy::default() });
    let read = tiers(&FilePolicy { default: Some(Tier::Read), ..FilePolicy::default() });
    let withheld = |path: &str, missing| Denial {
        restraint: Some(Restraint::Default),
        ..denial("open", path, missing)
    };
    let grants = [flag("/w", R)];
    let rows = [
        (&deny, withheld("/w/a", R), "read_paths /w/a"),
        (&deny, withheld("/srv/a", R), "read_paths /srv/a"),
        (&deny, denial("open", "/w/a", U), "a: read, update; write_paths /w/a"),
        (&read, withheld("/srv/a", U), "write_paths /srv/a"),
        (
            &read,
            withheld("/proc/7/stat", U),
            "no option and no rule outweighs it; a pattern for such names does",
        ),
    ];
    for (tiers, denial, expected) in rows {
        assert_eq!(in_line(advisor(&grants, &[], tiers).advise(&denial)), expected);
    }
}

/// A pattern for one end of a move does not release a path at the other end that needs a prompt.
#[test]
fn what_a_default_hides_of_the_other_end_is_told_at_once() {
    let tiers = tiers(&FilePolicy {
        default: Some(Tier::Read),
        prompt_paths: vec!["<workspace>/asked/**".to_owned()],
        ..FilePolicy::default()
    });
    let grants = [flag("/w", Capabilities::ALL)];
    for call in ["link", "rename"] {
        let denial = Denial {
            restraint: Some(Restraint::Default),
            ..pair(call, "/w/asked/f", "/w/h", C, true)
        };
        let told = in_line(advisor(&grants, &[], &tiers).advise(&denial));
        let taken_out = "to be taken out first: `<workspace>/asked/**` of prompt_paths; then ";
        assert!(told.starts_with(taken_out), "{told}");
        assert!(
            ["/w/h", "/w/asked/f"].iter().all(|it| told.contains(&format!("write_paths {it}")))
        );
    }
}

/// An exclusion of the baseline takes a profile. A profile's denial takes an option and a pattern.
#[test]
fn a_default_that_refuses_leaves_a_way_to_what_is_left_out() {
    let tiers = tiers(&FilePolicy { default: Some(Tier::Deny), ..FilePolicy::default() });
    let ready_made = |origin, place: &str, caps| Grant { origin, ..grant(place, caps) };
    let entry = "/etc".to_owned();
    let baseline = ready_made(Origin::Baseline { entry }, "/etc", R);
    let left_out = Grant { carve_outs: vec!["passwd".to_owned()], ..baseline.clone() };
    let (name, entry) = ("mine".to_owned(), "/etc/passwd".to_owned());
    let by_profile = Origin::Profile { name, entry, named: true };
    let taken = ready_made(by_profile, "/etc/passwd", Capabilities::NONE);
    let refused = denial("open", "/etc/passwd", R);
    let told = |grants: &[Grant]| in_line(advisor(grants, &[], &tiers).advise(&refused));
    assert_eq!(told(&[left_out]), "profile /etc/passwd: read");
    let both = "it takes -r /etc/passwd, and `/etc/passwd` in read_paths";
    assert_eq!(told(&[baseline, taken]), both);
}

/// A pattern that names a path through a link restricts only that spelling.
#[test]
fn tiers_withhold_by_the_spelling_too() {
    let list = |pattern: &str| vec![pattern.to_owned()];
    let tiers = tiers(&FilePolicy {
        deny_paths: list("**/no/*"),
        prompt_paths: list("**/asked/*"),
        ..FilePolicy::default()
    });
    let grants = [flag("/w", R)];
    let by = |route: &str| Denial { route: route.into(), ..denial("open", "/w/real/a", U) };
    let told = |denial: &Denial| advisor(&grants, &[], &tiers).advise(denial);
    let free = "-w /w/real/a; real/a: read, update";
    assert_eq!(in_line(told(&by("/w/link/a"))), free);
    let taken_out = "to be taken out first: `**/no/*` of deny_paths";
    assert_eq!(in_line(told(&by("/w/no/a"))), format!("{taken_out}; then {free}"));
    let Advice::Grant { question: Some(question), .. } = told(&by("/w/asked/a")) else {
        panic!("a person is asked")
    };
    assert!(question.contains("`**/asked/*`"), "{question}");
    let moved = Denial { route: "/w/no/a".into(), ..pair("rename", "/w/x", "/w/real/a", C, true) };
    assert_eq!(
        in_line(told(&moved)),
        format!(
            "{taken_out}; then -w /w/x; -w /w/real/a; x: read, create, delete; real/a: read, create"
        )
    );
}

/// A move has one denial, whatever its other end lacks.
#[test]
fn both_ends_of_a_move_are_told_where_both_are_refused() {
    let tiers =
        tiers(&FilePolicy { deny_paths: vec!["/srv/no/**".to_owned()], ..FilePolicy::default() });
    let grants = [grant("/w", R), grant("/w/free", C.union(U)), flag("/srv/no", Capabilities::ALL)];
    let moved = |to: &str, missing, second| pair("rename", "/w/missing-a", to, missing, second);
    let beside = |denial: &Denial| advisor(&grants, &[], &tiers).beside(denial);
    assert_eq!(beside(&moved("/w/missing-b", D, false)), C);
    assert_eq!(beside(&moved("/srv/no/b", D, false)), C);
    assert_eq!(beside(&moved("/", D, false)), U);
    assert_eq!(beside(&moved("/w/free/b", D, false)), Capabilities::NONE);
    assert_eq!(beside(&moved("/w/missing-b", C, true)), Capabilities::NONE);
    assert_eq!(beside(&denial("unlink", "/w/missing-a", D)), Capabilities::NONE);
}

/// A move or hard link between read-only patterns gets one suggestion: the patterns to remove and the ones to add.
#[test]
fn patterns_for_reading_give_way_at_both_ends() {
    let list = |patterns: &[&str]| patterns.iter().map(|one| (*one).to_owned()).collect();
    let read = |patterns: &[&str]| {
        tiers(&FilePolicy { read_paths: list(patterns), ..FilePolicy::default() })
    };
    let told = |patterns: &[&str], call, missing, second| {
        let moved = pair(call, "/srv/a/f", "/srv/b/f", missing, second);
        let moved = Denial { restraint: Some(Restraint::Read), ..moved };
        in_line(advisor(&[], &[], &read(patterns)).advise(&moved))
    };
    let [a, b] = ["a", "b"].map(|name| format!("-w /srv/{name}/f; write_paths /srv/{name}/f"));
    let both = |[one, other]: [&String; 2]| {
        let parts = [one, other].map(|it| it.split_once("; ").expect("both"));
        format!("then {}; {}; {}; {}", parts[0].0, parts[1].0, parts[0].1, parts[1].1)
    };
    let [in_a, in_b] = ["a", "b"].map(|name| format!("`/srv/{name}/**` of read_paths"));
    let first = "to be taken out first:";
    assert_eq!(
        told(&["/srv/a/**", "/srv/b/**"], "rename", D, false),
        format!("{first} {in_a}, {in_b}; {}", both([&a, &b]))
    );
    assert_eq!(
        told(&["/srv/a/**", "/srv/b/**"], "link", C, true),
        format!("{first} {in_b}, {in_a}; {}", both([&b, &a]))
    );
    assert_eq!(
        told(&["/srv/**"], "rename", D, false),
        format!("{first} `/srv/**` of read_paths; {}", both([&a, &b]))
    );
}

/// A prompt for entries below a directory stays, and an option on the directory is suggested all the same.
#[test]
fn what_is_asked_about_below_a_folder_is_no_obstacle() {
    let asked = |pattern: &str| FilePolicy {
        prompt_paths: vec![pattern.to_owned()],
        read_paths: vec!["/srv/u/*".to_owned()],
        ..FilePolicy::default()
    };
    for pattern in ["/srv/t/secret", "/srv/t/*"] {
        let tiers = tiers(&asked(pattern));
        let told = |path: &str| in_line(advisor(&[], &[], &tiers).advise(&denial("open", path, R)));
        assert_eq!(told("/srv/t"), "-r /srv/t; read_paths /srv/t");
        assert_eq!(told("/srv/u"), "read_paths /srv/u", "what is open there stays so");
    }
}

/// A directory that is open only by its name takes a profile to move, since no pattern opens the contents that move
/// along.
#[test]
fn a_folder_that_is_open_by_its_name_moves_by_a_profile() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("a folder");
    let name = folder.to_str().expect("UTF-8");
    let tiers = tiers(&FilePolicy { write_paths: vec![name.to_owned()], ..FilePolicy::default() });
    let grants = [flag("/w", Capabilities::ALL)];
    let moved = pair("rename", name, "/w/new", D, false);
    assert_eq!(
        in_line(advisor(&grants, &[], &tiers).advise(&moved)),
        format!("-w {name}; -x {name}; profile {name}: read, create, update, delete, execute")
    );
}

/// The reason why a directory stays is named precisely: the patterns that withhold, not those that open, and the
/// `default` by its name.
#[test]
fn what_keeps_a_folder_in_its_place_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("a folder");
    let name = folder.to_str().expect("UTF-8");
    let list = |end: &str| vec![format!("{name}{end}")];
    let by_profile = Origin::Profile { name: "p".into(), entry: "/p".into(), named: true };
    let grants = [
        flag("/w", Capabilities::ALL),
        flag(name, Capabilities::ALL),
        grant("/own", Capabilities::ALL),
        Grant { origin: by_profile, ..grant("/p", Capabilities::ALL) },
    ];
    let told = |policy: &FilePolicy, to: &str| {
        let tiers = tiers(policy);
        in_line(advisor(&grants, &[], &tiers).advise(&pair("rename", name, to, D, false)))
    };
    let opened = FilePolicy { write_paths: list("/**"), ..FilePolicy::default() };
    let closed = FilePolicy { deny_paths: list("/*/key"), ..opened.clone() };
    let asked =
        FilePolicy { default: Some(Tier::Prompt), write_paths: list(""), ..FilePolicy::default() };
    let pattern = format!(
        "it may hold what has to stay in its place; take the pattern out: `{name}/*/key` of deny_paths"
    );
    assert_eq!(told(&closed, "/w/new"), pattern);
    let question = "there nobody would be asked about what is sensitive in it, as here: a copy \
                    takes that question";
    assert_eq!(told(&opened, "/own/new"), question);
    let default = "there default of file_policy does not count for what is in it, as here: copy what may be read";
    assert_eq!(told(&asked, "/p/new"), default);
}
