//! Tests entries that do not exist yet, and generated names: the suggestion is the least that also suffices next.

use jp_confine_engine::tiers::Tiers;

use super::*;

/// A grant for a generated name is on its directory, and covers the program's further steps.
#[test]
fn names_that_are_others_next_time_are_granted_with_their_directory() {
    let home = Grant::new(
        "/home/u".into(),
        Capabilities::NONE,
        GrantKind::Hidden,
        Origin::Product { why: "home".to_owned() },
    );
    let grants = [grant("/w", R), grant("/w/x", R.union(X)), home];
    let too_much = "its name is another one each time, and its directory too much to grant";
    let rows = [
        (
            denial("symlinkat", "/w/x/CuAb3dEf", C),
            "-w /w/x; x: read, create, update, delete, execute",
        ),
        (
            denial("mkstemp", "/w/x/sedabcdef", C),
            "-w /w/x; x: read, create, update, delete, execute",
        ),
        (
            denial("open O_EXCL", "/w/x/foo9ymizrse", C),
            "-w /w/x; x: read, create, update, delete, execute",
        ),
        (
            denial("open O_EXCL 0600", "/w/x/job_xkcdqwrt.json", C),
            "-w /w/x; x: read, create, update, delete, execute",
        ),
        (
            denial("open O_EXCL", "/w/x/job_xkcdqwrt.json", C),
            "-w /w/x/job_xkcdqwrt.json; x/job_xkcdqwrt.json: read, create, update, execute",
        ),
        (
            denial("open O_EXCL 0600", "/w/x/.list.psqcfd", C),
            "-w /w/x; x: read, create, update, delete, execute",
        ),
        (
            denial("mkdir 0700", "/w/x/bzkqwtrpd", C),
            "-w /w/x; x: read, create, update, delete, execute",
        ),
        (
            denial("mkdir", "/w/x/bzkqwtrpd", C),
            "-w /w/x/bzkqwtrpd; x/bzkqwtrpd: read, create, update, delete, execute",
        ),
        (
            denial("bind", "/w/x/dbus-gBHHSRvfkt", C),
            "-w /w/x; x: read, create, update, delete, execute",
        ),
        (
            denial("bind", "/w/x/app-Server", C),
            "-w /w/x/app-Server; x/app-Server: read, create, execute",
        ),
        (
            denial("open O_EXCL 0600", "/w/x/a.lock", C),
            "-w /w/x/a.lock; x/a.lock: read, create, update, delete, execute",
        ),
        (
            Denial {
                program: b"/bin/cargo".to_vec(),
                ..denial("mkdir", "/w/x/cargo-installimYdCs", C)
            },
            "-w /w/x; x: read, create, update, delete, execute",
        ),
        (
            denial("open", "/w/x/foo9ymizrse", C),
            "-w /w/x/foo9ymizrse; x/foo9ymizrse: read, create, update, execute",
        ),
        (
            denial("open", "/w/x/.a.swp", C),
            "-w /w/x/.a.swp; x/.a.swp: read, create, update, delete, execute",
        ),
        (
            denial("open O_EXCL", "/w/x/a.lock", C),
            "-w /w/x/a.lock; x/a.lock: read, create, update, delete, execute",
        ),
        (
            Denial { pid: 4715, ..denial("open", "/w/core.4711", C) },
            "-w /w; .: read, create, update, delete",
        ),
        (
            Denial { pid: 27701, ..denial("open O_EXCL", "/w/f~27701", C) },
            "-w /w; .: read, create, update, delete",
        ),
        (
            Denial { pid: 27701, ..denial("open", "/w/notes-2024", C) },
            "-w /w/notes-2024; notes-2024: read, create, update",
        ),
        (denial("open", "/srv/x/tmp1fkhn_2_", C), "-w /srv/x; write_paths /srv/x/*"),
        (denial("mkstemp", "/home/u/a/bcdefgh", C), "-w /home/u/a; write_paths /home/u/a/*"),
        (denial("mkstemp", "/home/u/bcdefgh", C), too_much),
        (denial("mkstemp", "/bcdefgh", C), too_much),
        // These names stay the same.
        (denial("open", "/srv/x/core.4711", R), "-r /srv/x/core.4711; read_paths /srv/x/core.4711"),
        (
            denial("open", "/srv/x/Cargo.lock.tmp", C),
            "-w /srv/x/Cargo.lock.tmp; write_paths /srv/x/Cargo.lock.tmp",
        ),
    ];
    for (denial, expected) in rows {
        assert_eq!(line(&grants, &denial), expected);
    }
    // A denial on the directory itself needs its own pattern.
    let both = [denial("mkstemp", "/srv/x/a", C), denial("chmod", "/srv/x", U)];
    let tiers = Tiers::default();
    let advice = advisor(&grants, &[], &tiers).advise_all(&both.each_ref());
    assert_eq!(
        advice.into_iter().map(in_line).collect::<Vec<_>>(),
        ["-w /srv/x; write_paths /srv/x/*", "-w /srv/x; write_paths /srv/x"]
    );
    let three = ["a", "b", "c"].map(|name| denial("mkstemp", &format!("/w/x/{name}"), C));
    let gathered = advisor(&grants, &[], &tiers).gather(&three.each_ref());
    assert_eq!(gathered[0].written.rules, [("x".to_owned(), Capabilities::ALL)]);
}

/// A directory above the workspace is never suggested by its path. For the shared directory for temporary files there
/// is an option.
#[test]
fn names_in_the_directory_for_everybodys_temporary_files() {
    let shared = std::fs::canonicalize("/tmp").expect("there");
    let workspace = shared.join("w");
    let grants =
        [Grant::new(workspace.clone(), R, GrantKind::Plain, Origin::Flag { text: String::new() })];
    let path = shared.join("dbus-gBHHSRvfkt");
    let told = denial("bind", path.to_str().expect("ASCII"), C);
    let tiers = Tiers::default();
    let advisor = Advisor { workspace: &workspace, ..advisor(&grants, &[], &tiers) };
    let Advice::Never(told) = advisor.advise(&told) else { panic!("granted") };
    assert_eq!(told, "its name is another one each time; --share-tmp grants all that is in /tmp");
}

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
