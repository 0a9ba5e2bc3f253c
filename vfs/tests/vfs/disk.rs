//! Cases that only a disk has: symlinks, pipes, names that are not UTF-8, and other processes that change it.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;

use crate::both::{LENDING, POLICY, Place, STAYING};

fn linked() -> Place {
    let place = Place::on_disk(POLICY);
    let root = place.root().to_owned();
    std::fs::write(root.parent().expect("a folder").join("outside"), "secret").expect("a file");
    for (name, target) in [
        ("in", "rw/kept/file"),
        ("out", "../outside"),
        ("dangling", "rw/gone"),
        ("dangling-out", "../gone"),
        ("hidden", "none/secret.txt"),
        ("rw/dir", "../empty"),
        ("loop", "loop"),
    ] {
        symlink(target, root.join(name)).expect("a link");
    }
    place
}

// conformance: d11-41, d11-166
/// A directory that replaces the workspace is not the workspace that the tool was started in.
#[test]
fn another_folder_in_the_place_of_the_workspace_is_left_alone() {
    let place = Place::on_disk(POLICY);
    let root = place.root().to_owned();
    let read = || place.ask("fs.read", &json!({"path": "rw/kept/file"}));
    assert_eq!(read(), json!({"content": "kept", "size": 4}));
    let moved = root.with_extension("moved");
    std::fs::rename(&root, &moved).expect("moved");
    assert_eq!(read(), json!(-32603));
    std::fs::create_dir_all(root.join("rw/kept")).expect("another");
    std::fs::write(root.join("rw/kept/file"), "other").expect("a file");
    assert_eq!(read(), json!(-32603));
    let write = json!({"path": "rw/kept/file", "content": "x"});
    assert_eq!(place.ask("fs.write", &write), json!(-32603));
    assert_eq!(std::fs::read(root.join("rw/kept/file")).expect("a file"), b"other");
}

// conformance: d43-242, d11-61
#[test]
fn links_are_what_they_lead_to() {
    let place = linked();
    let ask = |method: &str, path: &str| place.ask(method, &json!({ "path": path }));
    assert_eq!(ask("fs.read", "in"), json!({"content": "kept", "size": 4}));
    assert_eq!(ask("fs.metadata", "in"), json!({"kind": "file", "size": 4}));
    assert_eq!(ask("fs.metadata", "rw/dir"), json!({"kind": "dir", "size": 0}));
    assert_eq!(ask("fs.exists", "dangling"), json!({"exists": false}));
    for path in ["out", "dangling-out", "hidden", "loop"] {
        for method in ["fs.read", "fs.exists", "fs.metadata", "fs.list_dir"] {
            assert_eq!(ask(method, path), json!(-32001), "{method} {path}");
        }
    }
    let write = json!({"path": "dangling-out", "content": "x"});
    assert_eq!(place.ask("fs.write", &write), json!(-32001));
    assert!(!place.root().parent().expect("a folder").join("gone").exists());
    let write = json!({"path": "dangling", "content": "x"});
    assert_eq!(place.ask("fs.write", &write), json!({}));
    assert!(place.root().join("rw/gone").exists());
}

// conformance: d11-203
#[test]
fn listings_leave_out_what_leads_where_nothing_may_be_read() {
    let place = linked();
    let listing = place.ask("fs.list_dir", &json!({"path": "."})).to_string();
    assert!(listing.contains(r#""path":"in""#), "{listing}");
    for name in ["out", "dangling", "hidden", "loop", "none"] {
        assert!(!listing.contains(&format!(r#""path":"{name}""#)), "{name}: {listing}");
    }
    let found = place.ask("fs.grep", &json!({"pattern": "secret"}));
    assert_eq!(found, json!({"matches": []}));
}

// conformance: d11-62
#[test]
fn entries_are_removed_and_renamed_not_what_they_lead_to() {
    let place = linked();
    symlink("../a.txt", place.root().join("rw/link")).expect("a link");
    let renamed = place.ask("fs.rename", &json!({"from": "rw/link", "to": "rw/other"}));
    assert_eq!(renamed, json!({}));
    assert_eq!(place.ask("fs.delete", &json!({"path": "rw/other"})), json!({}));
    let renamed = place.ask("fs.rename", &json!({"from": "rw/bytes", "to": "rw/dir"}));
    assert_eq!(renamed, json!({}));
    assert!(place.root().join("a.txt").exists() && place.root().join("empty").is_dir());
}

// conformance: d11-59
#[test]
fn what_is_no_file_is_not_read() {
    let place = Place::on_disk(POLICY);
    let pipe = place.root().join("rw/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .expect("a pipe");
    for method in ["fs.read", "fs.metadata", "fs.list_dir"] {
        assert_eq!(place.ask(method, &json!({"path": "rw/pipe"})), json!(-32602), "{method}");
    }
    assert_eq!(place.ask("fs.write", &json!({"path": "rw/pipe", "content": ""})), json!(-32602));
    let name = std::ffi::OsStr::from_bytes(b"rw/\xff");
    std::fs::write(place.root().join(name), "").expect("a file");
    let listing = place.ask("fs.list_dir", &json!({"path": "rw/sub"}));
    assert_eq!(listing, json!({"entries": [{"path": "c.txt", "kind": "file"}]}));
}

/// A directory and a symlink to the outside swap places all the time.
#[test]
fn a_race_gains_nothing() {
    let place = Place::on_disk(POLICY);
    let root = place.root().to_owned();
    let outside = root.parent().expect("a folder").join("elsewhere");
    std::fs::create_dir(&outside).expect("a folder");
    std::fs::write(outside.join("file"), "secret").expect("a file");
    std::fs::create_dir(root.join("rw/real")).expect("a folder");
    std::fs::write(root.join("rw/real/file"), "mine").expect("a file");
    symlink(&outside, root.join("rw/link")).expect("a link");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap(&root.join("rw/real"), &root.join("rw/link"));
            }
        });
        for _ in 0..50 {
            let read = place.ask("fs.read", &json!({"path": "rw/real/file"})).to_string();
            assert!(!read.contains("secret"), "{read}");
            place.ask("fs.write", &json!({"path": "rw/real/new", "content": "x"}));
            place.ask("fs.rename", &json!({"from": "rw/real/new", "to": "rw/real/newer"}));
            place.ask("fs.delete", &json!({"path": "rw/real/newer"}));
        }
        done.store(true, Ordering::Relaxed);
    });
    let names = std::fs::read_dir(&outside).expect("a folder").count();
    assert_eq!(names, 1, "nothing came to be outside");
    assert_eq!(std::fs::read(outside.join("file")).expect("a file"), b"secret");
}

/// A symlink would provide names that the policy denies to create.
#[test]
fn no_symlink_is_renamed_to_a_name_above_a_denied_one() {
    let place = Place::on_disk(LENDING);
    symlink("rw/sub", place.root().join("link")).expect("a symlink");
    let rename = |from: &str, to: &str| place.ask("fs.rename", &json!({"from": from, "to": to}));
    assert_eq!(rename("link", "up"), json!(-32001));
    assert!(place.root().join("link").is_symlink() && !place.root().join("up").is_symlink());
    assert_eq!(rename("link", "other"), json!({}));
    assert_eq!(rename("a.txt", "up"), json!({}));
    assert!(place.root().join("other").is_symlink() && place.root().join("up").is_file());
}

/// A file and a directory swap places all the time. The test renames the file to a place where the directory may not
/// go.
#[test]
fn no_directory_goes_where_a_file_was_looked_at() {
    let place = Place::on_disk(STAYING);
    let [file, dir, new] = ["rw/a.txt", "rw/sub", "rw/x/new"].map(|name| place.root().join(name));
    std::fs::write(dir.join(".env"), "secret").expect("a file");
    std::fs::create_dir(place.root().join("rw/x")).expect("a folder");
    let done = AtomicBool::new(false);
    let mut renamed = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap(&file, &dir);
            }
        });
        for round in 0..400 {
            if round % 2 == 0 {
                std::fs::write(&new, "old").expect("a file");
            }
            place.ask("fs.rename", &json!({"from": "rw/a.txt", "to": "rw/x/new"}));
            if new.is_dir() {
                break;
            }
            // Moves the renamed object back to the name that is free.
            let gone = [&file, &dir].into_iter().find(|path| !path.exists());
            renamed += usize::from(gone.is_some());
            let _ = match gone {
                Some(gone) => std::fs::rename(&new, gone),
                None => std::fs::remove_file(&new),
            };
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(!new.is_dir(), "a folder is where it may not go");
    assert!(renamed > 0, "files are renamed");
}

fn swap(one: &Path, other: &Path) {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let _ = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
}
