//! Tests that a suggestion for a new entry also covers the program's next steps.

use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::tiers::Tiers;

use super::*;

#[test]
fn what_is_to_be_made_is_granted_with_what_its_maker_needs_next() {
    let grants = [grant("/w/x", X)];
    let rows = [
        ("mkdir", "d", "read, create, update, delete, execute"),
        ("open", "f", "read, create, update, execute"),
        ("open O_EXCL", "f", "read, create, update, execute"),
        ("open", "f-journal", "read, create, update, delete, execute"),
        ("open O_EXCL", "f.lock", "read, create, update, delete, execute"),
        // A file of this name lasts.
        ("open", "Cargo.lock", "read, create, update, execute"),
        ("mkfifo", "f", "read, create, update, execute"),
        ("bind", "f", "create, execute"),
    ];
    // `touch` sets the times first, and creates a missing file.
    let touched = denial("utimensat", "/w/x/f", U);
    assert_eq!(line(&grants, &touched), "-w /w/x/f; x/f: read, create, update, execute");
    for (call, name, caps) in rows {
        let denied = denial(call, &format!("/w/x/{name}"), C);
        assert_eq!(line(&grants, &denied), format!("-w /w/x/{name}; x/{name}: {caps}"), "{call}");
    }
    // Once a link exists, a rule on its name counts for its target.
    let link = denial("symlink", "/w/x/f", C);
    assert_eq!(line(&grants, &link), "-w /w/x; x: create, execute");
}

#[test]
fn what_an_interpreter_reads_is_granted_to_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a folder");
    let (grants, tiers) = ([grant("/usr", R)], Tiers::default());
    let advisor = Advisor { workspace: &root, ..advisor(&grants, &[], &tiers) };
    let elf = std::fs::read("/bin/true").expect("a binary");
    let rows: [(&str, &[u8], &str); 3] = [
        ("named", b"#!/bin/sh\n", "read, execute"),
        ("of a shell", b"exit\n", "read, execute"),
        ("binary", &elf, "execute"),
    ];
    for (name, content, caps) in rows {
        let path = root.join(name);
        std::fs::write(&path, content).expect("written");
        let path = path.to_str().expect("UTF-8");
        let told = in_line(advisor.advise(&denial("execve", path, X)));
        assert_eq!(told, format!("-x {path}; {name}: {caps}"));
    }
}

/// For an existing directory nobody knows which program filled it.
#[test]
fn what_is_there_already_is_granted_as_far_as_it_was_refused() {
    let grants = [grant("/", R)];
    let there = std::env::temp_dir().join("..").canonicalize().expect("above");
    let there = there.to_str().expect("UTF-8");
    let advice = advisor(&grants, &[], &Tiers::default()).advise(&denial("mkdir", there, C));
    assert!(!in_line(advice).contains("delete"));
}

#[test]
fn what_was_to_be_put_into_a_directory_needs_nothing_else() {
    let grants = [grant("/w", R), grant("/w/o/kept", R)];
    let tiers = Tiers::default();
    let denials = [
        denial("open", "/w/o/a", C),
        denial("mkdir", "/w/o", C),
        denial("open O_EXCL", "/w/o/sub/b", C),
        denial("open", "/w/o/kept/c", C),
        denial("execve", "/w/o/run", X),
        denial("open", "/w/other", C),
    ];
    let advice = advisor(&grants, &[], &tiers).advise_all(&denials.each_ref());
    let directory = "-w /w/o; o: read, create, update, delete";
    assert_eq!(
        advice.into_iter().map(in_line).collect::<Vec<_>>(),
        [
            directory,
            directory,
            directory,
            "-w /w/o/kept/c; o/kept/c: read, create, update",
            "-x /w/o/run; o/run: read, execute",
            "-w /w/other; other: read, create, update",
        ]
    );
}

/// A pattern matches one name, so the directory's contents need a second pattern.
#[test]
fn what_was_to_be_put_into_a_directory_outside_has_its_patterns() {
    let home = Grant::new(
        "/home/u".into(),
        Capabilities::NONE,
        GrantKind::Hidden,
        Origin::Product { why: "home".to_owned() },
    );
    let grants = [grant("/w", R), home];
    let told = |tiers: &Tiers, denials: &[Denial]| {
        let denials: Vec<&Denial> = denials.iter().collect();
        let advice = advisor(&grants, &[], tiers).advise_all(&denials);
        advice.into_iter().map(in_line).collect::<Vec<_>>()
    };
    let free = Tiers::default();
    let made = [
        denial("mkdir", "/home/u/d", C),
        denial("open", "/home/u/d/f", C),
        denial("mkdir", "/home/u/d/sub", C),
        denial("open", "/home/u/d/sub/f", C),
    ];
    let filled = "-w /home/u/d; write_paths /home/u/d; write_paths /home/u/d/**";
    assert_eq!(told(&free, &made), [filled; 4]);
    assert_eq!(told(&free, &[denial("mkdir", "/home/u", C)]), ["write_paths /home/u"]);
    let drawn = [denial("mkdtemp", "/srv/x/abc", C), denial("mkdir", "/srv/objects/4b", C)];
    assert_eq!(
        told(&free, &drawn),
        ["-w /srv/x; write_paths /srv/x/**", "-w /srv/objects; write_paths /srv/objects/**"]
    );
    let three = ["a", "b", "c"].map(|name| denial("mkdir", &format!("/srv/x/{name}"), C));
    let gathered = advisor(&grants, &[], &free).gather(&three.each_ref());
    assert_eq!(gathered[0].written.patterns, [(Tier::Write, "/srv/x/**".to_owned())]);

    let closed =
        super::withheld::tiers(&FilePolicy { default: Some(Tier::Deny), ..FilePolicy::default() });
    let made = [denial("mkdir", "/w/d", C), denial("open", "/w/d/f", C)];
    let filled = "d: read, create, update, delete; write_paths /w/d; write_paths /w/d/**";
    assert_eq!(told(&closed, &made), [filled; 2]);
}
