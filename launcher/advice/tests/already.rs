//! What is there and hidden, so that programs take it for something else.

use super::*;

/// A home in which `d` is a directory with a file, and all of it is hidden.
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

/// It cannot be made, and whoever sees it goes on; what is not there is made and filled.
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
    // Where it was seen something else was the matter.
    let seen = [grants.to_vec(), vec![flag(&directory, R)]].concat();
    assert!(line(&seen, &denial("mkdir", &directory, C)).starts_with("-w "));
}

/// Who sees a directory empties it first, or moves things into it; but `rmdir` knows of it, and fails.
#[test]
fn a_directory_that_was_not_seen_is_no_obstacle() {
    let (_folder, grants) = home();
    let directory = at(&grants, "d");
    let allowed = format!("-w {directory}; write_paths {directory}");
    let full = format!("no option and no rule helps: {directory} is");
    let seen = [grants.to_vec(), vec![flag(&directory, R)]].concat();
    for call in ["unlinkat", "unlink", "remove"] {
        let removed = denial(call, &directory, D);
        assert_eq!(line(&grants, &removed), allowed, "{call}");
        assert!(line(&seen, &removed).starts_with(&full), "{call}");
        let tiers = Tiers::default();
        assert!(!advisor(&grants, &[], &tiers).is_in_vain(&removed), "{call}");
    }
    assert!(line(&grants, &denial("rmdir", &directory, D)).starts_with(&full));
    let moved = pair("rename", &at(&grants, "d/f"), &directory, C, true);
    assert!(!line(&grants, &moved).contains("helps"), "{}", line(&grants, &moved));
}
