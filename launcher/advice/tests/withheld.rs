//! Tests suggestions where tiers withhold a grant, or keep a directory in its place.

use std::fs;

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

fn tiers(policy: &FilePolicy) -> Tiers {
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

/// A hidden home in which `d` is a directory with a file.
fn home() -> (tempfile::TempDir, [Grant; 1]) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a folder");
    std::fs::create_dir(root.join("d")).expect("a directory");
    std::fs::write(root.join("d/f"), "").expect("a file");
    let origin = Origin::Product { why: "home".to_owned() };
    (folder, [Grant::new(root, Capabilities::NONE, GrantKind::Hidden, origin)])
}

fn at(grants: &[Grant], name: &str) -> String {
    grants[0].anchor.join(name).to_str().expect("UTF-8").to_owned()
}

/// No option opens all sensitive entries of a directory only to make it visible, declared or not. A call that names an
/// entry in it shows which option suffices.
#[test]
fn a_directory_with_what_is_sensitive_is_not_opened_to_be_seen() {
    let (_folder, hidden) = home();
    let (root, directory) = (at(&hidden, ""), at(&hidden, "d"));
    let inside = format!("{directory}/new");
    let free = Tiers::default();
    for pattern in [format!("{directory}/**"), format!("{directory}/in/key"), directory.clone()] {
        let places = Places::without_home(Path::new("/w"));
        let tiers = Tiers::new(&FilePolicy::default(), Some(&[pattern]), places).expect("patterns");
        let declared = advisor(&hidden, &[], &tiers);
        let undeclared = Advisor { exposed: Some(&tiers), ..advisor(&hidden, &[], &free) };
        for advisor in [declared, undeclared] {
            let made = denial("mkdir", &directory, C);
            let advice = advisor.advise(&made);
            let Advice::Grant { first: Some(first), .. } = &advice else { panic!("{advice:?}") };
            assert!(first.ends_with(&format!("shows it, too, as -w {directory}/NAME")), "{first}");
            assert_eq!(in_line(advice), format!("read_paths {directory}"));
            let mut denials = Denials::default();
            denials.add(made.clone());
            let looked = Denial { hidden: true, ..denial("fstatat", &directory, R) };
            let named = denial("open", &inside, C);
            let advisor = Advisor { denials: Some(&denials), ..advisor };
            for advice in advisor.advise_all(&[&made, &looked, &named]) {
                assert_eq!(in_line(advice), format!("-w {inside}; write_paths {inside}"));
            }
        }
    }
    let elsewhere = [format!("{root}other/**"), "**/.env".to_owned()];
    let places = Places::without_home(Path::new("/w"));
    let tiers = Tiers::new(&FilePolicy::default(), Some(&elsewhere), places).expect("patterns");
    let told = in_line(advisor(&hidden, &[], &tiers).advise(&denial("mkdir", &directory, C)));
    assert_eq!(told, format!("-r {directory}; read_paths {directory}"));
}

/// The suggestion for moving `dir` to `new` under these rules. Paths are relative to the workspace.
fn told(rules: &[(&str, Capabilities, &[&str])], policy: &FilePolicy) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a folder");
    let [from, to] = ["dir", "new"].map(|name| root.join(name));
    fs::create_dir(&from).expect("a folder");
    let [from, to] = [&from, &to].map(|path| path.to_str().expect("UTF-8"));
    let rule = |(path, caps, left_out): &(&str, Capabilities, &[&str])| {
        let origin = Origin::Flag { text: format!("RULE {path}") };
        let grant =
            Grant::new(root.join(path).components().collect(), *caps, GrantKind::Plain, origin);
        let carve_outs = left_out.iter().map(|&one| one.to_owned()).collect();
        Grant { carve_outs, ..grant }
    };
    let grants: Vec<Grant> = rules.iter().map(rule).collect();
    let tiers = tiers(policy);
    let advisor = Advisor { workspace: &root, ..advisor(&grants, &[], &tiers) };
    let advice = advisor.advise(&pair("rename", from, to, D, false));
    in_line(advice).replace(&format!("{}/", root.display()), "")
}

/// If equal grants at both ends do not let it move either, the suggestion names the cause.
#[test]
fn what_keeps_a_folder_that_has_the_same_there_is_told() {
    let free = FilePolicy::default();
    let asked = FilePolicy { default: Some(Tier::Prompt), ..FilePolicy::default() };
    let change = R.union(Capabilities::WRITE);
    let named = ("new/.env", R, &[][..]);
    let may_be = "what is asked about in it here may be granted there by flag RULE new/.env: a copy takes that \
                 question";
    let left_out = "there what the rule leaves out would be granted, too: copy what may be read";
    for (policy, rules, expected) in [
        (&free, &[("dir", change, &[][..]), ("new", change, &[]), named][..], may_be),
        (&free, &[("dir", change, &[]), ("new", R.union(C), &[]), named], may_be),
        (&asked, &[("dir", change, &[]), ("new", change, &[]), named], may_be),
        (&free, &[("", change, &["dir/k"])], left_out),
        (&free, &[("", change, &["dir/k"]), ("new", R, &[])], left_out),
    ] {
        assert_eq!(told(rules, policy), expected, "{rules:?}");
    }
}
