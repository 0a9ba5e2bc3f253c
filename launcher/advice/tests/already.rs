//! Tests denials about hidden entries, which programs take for missing or for another kind.

use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::pattern::Places;
use jp_confine_engine::tiers::Tiers;

use super::*;

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

/// An existing entry cannot be created, and a program that sees it goes on. A missing directory is created and filled.
#[test]
fn what_is_there_already_is_to_be_seen() {
    let (_folder, grants) = home();
    let (directory, file, new) = (at(&grants, "d"), at(&grants, "d/f"), at(&grants, "new"));
    let seen = |path: &str| format!("-r {path}; read_paths {path}");
    let filled = format!("-w {new}; write_paths {new}; write_paths {new}/**");
    let rows = [
        ("mkdir", &directory, seen(&directory)),
        ("mkdir 0700", &directory, seen(&directory)),
        ("symlinkat", &directory, seen(&directory)),
        ("mkfifo", &file, seen(&file)),
        ("mkdir", &new, filled),
        ("open", &file, format!("-w {file}; write_paths {file}")),
        ("open O_EXCL", &directory, seen(&directory)),
        ("creat", &directory, seen(&directory)),
    ];
    for (call, path, expected) in rows {
        assert_eq!(line(&grants, &denial(call, path, C)), expected, "{call}");
    }
    for (path, told) in [(&directory, "a grant on what is to be in it"), (&file, "to be seen")] {
        let Advice::Grant { first, .. } = advise(&grants, &denial("mkdir", path, C)) else {
            panic!("no grant")
        };
        assert!(first.is_some_and(|it| it.starts_with("it is there") && it.contains(told)));
    }
    // If the directory was visible, the denial has another cause.
    let seen = [grants.to_vec(), vec![flag(&directory, R)]].concat();
    assert!(line(&seen, &denial("mkdir", &directory, C)).starts_with("-w "));
}

/// An entry moved to a hidden directory's path goes into it, under its own name. A program that sees the directory
/// means to replace it.
#[test]
fn what_goes_to_where_a_hidden_directory_is_goes_into_it() {
    let (_folder, hidden) = home();
    let directory = at(&hidden, "d");
    let grants = [hidden.to_vec(), vec![grant("/w", Capabilities::ALL)]].concat();
    for (call, name) in [("rename", "new"), ("renameat2", "f"), ("linkat", "new")] {
        let inside = format!("{directory}/{name}");
        let put = pair(call, &format!("/w/{name}"), &directory, C, true);
        assert_eq!(line(&grants, &put), format!("-w {inside}; write_paths {inside}"), "{call}");
    }
    let inside = format!("{directory}/new");
    let moved = pair("rename", "/w/new", &directory, D, false);
    let both = line(&hidden, &moved);
    assert!(both.contains("-w /w/new; ") && both.contains(&format!("-w {inside}; ")), "{both}");
    let exchanged = pair(EXCHANGE.to_str().expect("ASCII"), "/w/new", &directory, D.union(U), true);
    assert!(!line(&grants, &exchanged).contains(&inside));
    let seen = [grants.clone(), vec![flag(&directory, R)]].concat();
    let told = line(&seen, &pair("rename", "/w/new", &directory, C, true));
    assert!(told.starts_with(&format!("-w {directory}")) && !told.contains(&inside), "{told}");
}

/// A program that was only kept from looking for the directory needs nothing else. One that lists it needs to read it.
#[test]
fn who_looks_where_to_put_something_needs_what_that_takes() {
    let (_folder, hidden) = home();
    let (directory, empty, moved) = (at(&hidden, "d"), at(&hidden, "empty"), at(&hidden, "moved"));
    std::fs::create_dir(&empty).expect("a directory");
    std::fs::create_dir(&moved).expect("a directory");
    let grants =
        [hidden.to_vec(), vec![grant("/w", Capabilities::ALL), flag(&moved, Capabilities::ALL)]]
            .concat();
    let look = |call, path: &str| Denial { hidden: true, ..denial(call, path, R) };
    let tiers = Tiers::default();
    let told = |denials: &Denials, denial: &Denial| {
        let denials = Some(denials);
        in_line(Advisor { denials, ..advisor(&grants, &[], &tiers) }.advise(denial))
    };
    let mut denials = Denials::default();
    denials.add(pair("rename", "/w/new", &directory, C, true));
    let inside = format!("-w {directory}/new; write_paths {directory}/new");
    assert_eq!(told(&denials, &look("stat", &directory)), inside);
    let listed = told(&denials, &look("opendir", &directory));
    assert_eq!(listed, format!("-r {directory}; read_paths {directory}"));
    let other = Denial { program: b"/bin/ls".to_vec(), ..look("stat", &directory) };
    assert_eq!(told(&denials, &other), listed);
    // A directory replaces an empty one, unless the program looks first.
    let replaces = pair("rename", &moved, &empty, C, true);
    assert!(told(&denials, &replaces).starts_with(&format!("-w {empty}; ")));
    denials.add(look("stat", &empty));
    assert!(told(&denials, &replaces).starts_with(&format!("-w {empty}/moved; ")));
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
