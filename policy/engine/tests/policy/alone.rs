//! Moves of entries that take nothing along. The destination exists until the other steps are sure to succeed.

use std::fs::{self, Permissions};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::thread;

use jp_confine_engine::moves::{Movable, TRIAL, Way, trial_name};
use jp_confine_engine::moves_alone::{move_alone, replace};
use rustix::fs::{Mode, OFlags, RenameFlags, open};
use rustix::io::Errno;
use rustix::process::{Uid, geteuid};
use rustix::thread::set_thread_res_uid;

use crate::place::Place;

const WAY: Way = Way { movable: Movable::NoDirectory, tries: true };

fn held(path: &Path) -> OwnedFd {
    open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

/// Moves `a/file` to `b/file`.
fn moved(place: &Place, way: Way, flags: RenameFlags) -> Result<(), Errno> {
    let [from, to] = ["a", "b"].map(|name| held(&place.path(name)));
    move_alone((from.as_fd(), "file"), (to.as_fd(), "file"), flags, way)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The contents of the two files, or `-` if one is missing.
fn contents(place: &Place) -> [String; 2] {
    let read = |name| fs::read_to_string(place.path(name)).unwrap_or_else(|_| "-".to_owned());
    ["a/file", "b/file"].map(read)
}

#[test]
fn what_exists_is_replaced_and_nothing_is_left_beside_it() {
    for movable in [Movable::NoDirectory, Movable::NoSymlink] {
        let place = Place::new("a/file b/file");
        fs::write(place.path("a/file"), "new").unwrap();
        moved(&place, Way { movable, tries: true }, RenameFlags::empty()).unwrap();
        assert_eq!(contents(&place), ["-", "new"]);
        assert_eq!(names(&place.path("b")), ["file"]);
    }
}

#[test]
fn what_may_not_be_tried_replaces_nothing() {
    let place = Place::new("a/file b/file");
    fs::write(place.path("a/file"), "new").unwrap();
    fs::write(place.path("b/file"), "old").unwrap();
    let way = Way { tries: false, ..WAY };
    assert_eq!(moved(&place, way, RenameFlags::empty()), Err(Errno::XDEV));
    assert_eq!(moved(&place, WAY, RenameFlags::NOREPLACE), Err(Errno::EXIST));
    assert_eq!(contents(&place), ["new", "old"]);
    fs::remove_file(place.path("b/file")).unwrap();
    moved(&place, way, RenameFlags::empty()).unwrap();
    assert_eq!(contents(&place), ["-", "new"]);
}

/// The kernel creates no hard link to another user's file (`fs.protected_hardlinks`), and removes no other user's file
/// from a sticky directory.
#[test]
fn what_cannot_be_moved_costs_no_destination() {
    if !geteuid().is_root() {
        return;
    }
    for (mode, sticky, expected) in [
        (0o644, 0o777, [Errno::XDEV, Errno::XDEV]),
        (0o666, 0o1777, [Errno::XDEV, Errno::PERM]),
        (0o666, 0o755, [Errno::ACCESS, Errno::ACCESS]),
    ] {
        let place = Place::new("a/file b/file");
        for (name, mode) in [("", 0o755), ("b", 0o777), ("a", sticky), ("a/file", mode)] {
            fs::set_permissions(place.path(name), Permissions::from_mode(mode)).unwrap();
        }
        fs::write(place.path("a/file"), "new").unwrap();
        fs::write(place.path("b/file"), "old").unwrap();
        let [replaced, new] = expected;
        let as_another = || as_another_user(|| moved(&place, WAY, RenameFlags::empty()));
        assert_eq!(as_another(), Err(replaced), "{mode:o}");
        assert_eq!(contents(&place), ["new", "old"]);
        fs::remove_file(place.path("b/file")).unwrap();
        assert_eq!(as_another(), Err(new), "{mode:o}");
        assert_eq!(contents(&place), ["new", "-"]);
        assert!(names(&place.path("b")).is_empty());
    }
}

fn as_another_user<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    let other = Uid::from_raw(65534);
    let act = || {
        set_thread_res_uid(other, other, other).unwrap();
        act()
    };
    thread::scope(|scope| scope.spawn(act).join().unwrap())
}

#[test]
fn two_names_of_one_file_stay() {
    let place = Place::new("a/file b/");
    fs::hard_link(place.path("a/file"), place.path("b/file")).unwrap();
    moved(&place, WAY, RenameFlags::empty()).unwrap();
    assert!(place.path("a/file").exists() && place.path("b/file").exists());
}

#[test]
fn a_symlink_that_must_not_go_costs_no_destination() {
    let place = Place::new("a/ b/file");
    fs::write(place.path("b/file"), "old").unwrap();
    symlink("nowhere", place.path("a/file")).unwrap();
    let way = Way { movable: Movable::NoSymlink, tries: true };
    assert_eq!(moved(&place, way, RenameFlags::empty()), Err(Errno::LOOP));
    assert_eq!(contents(&place), ["-", "old"]);
    moved(&place, WAY, RenameFlags::empty()).unwrap();
    assert!(place.path("b/file").is_symlink());
}

#[test]
fn names_of_trials_are_letters() {
    let name = trial_name([255; 16]);
    assert_eq!(&name, b".jp-confine-pppppppppppppppp");
    assert_eq!(name.len(), TRIAL);
}

/// It is replaced in one step, and nothing else happens.
#[test]
fn what_may_only_be_replaced_is() {
    let place = Place::new("a/file a/dir/ b/file b/dir/");
    fs::write(place.path("a/file"), "new").unwrap();
    symlink("file", place.path("a/link")).unwrap();
    let [from, to] = ["a", "b"].map(|name| held(&place.path(name)));
    let replaced = |old, new| replace((from.as_fd(), old), (to.as_fd(), new), Movable::NoSymlink);
    assert_eq!(replaced("dir", "file"), Err(Errno::ISDIR));
    assert_eq!(replaced("file", "dir"), Err(Errno::ISDIR));
    assert_eq!(replaced("link", "file"), Err(Errno::LOOP));
    assert_eq!(replaced("file", "missing"), Err(Errno::NOENT));
    replaced("file", "file").unwrap();
    assert_eq!(contents(&place), ["-", "new"]);
}
