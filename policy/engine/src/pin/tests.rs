//! Tests pinning without `openat2`, a path that a kernel with `openat2` never takes.

use std::os::unix::fs::{MetadataExt as _, symlink};
use std::{fs, thread};

use rustix::fs::{RenameFlags, renameat_with};

use super::*;

/// A directory with `d/a` that contains "inside", and a symlink `l` to a directory where `a` contains "outside".
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    for (dir, text) in [("d", "inside"), ("o", "outside")] {
        fs::create_dir(base.join(dir)).unwrap();
        fs::write(base.join(dir).join("a"), text).unwrap();
    }
    symlink("o", base.join("l")).unwrap();
    (folder, base)
}

fn hold(path: &Path) -> Result<OwnedFd, Errno> {
    hold_and_compare(path, OFlags::PATH | OFlags::CLOEXEC)
}

#[test]
fn only_what_is_at_the_path_itself_is_held() {
    let (_folder, base) = folder();
    assert!(hold(&base.join("d/a")).is_ok());
    assert!(hold(&base.join("d")).is_ok());
    assert_eq!(hold(&base.join("l/a")).unwrap_err(), Errno::LOOP);
    assert_eq!(hold(&base.join("l")).unwrap_err(), Errno::LOOP);
    assert_eq!(hold(&base.join("d/b")).unwrap_err(), Errno::NOENT);
    fs::write(base.join("d/a (deleted)"), "").unwrap();
    assert_eq!(hold(&base.join("d/a (deleted)")).unwrap_err(), Errno::LOOP);
}

#[test]
fn no_exchange_of_a_directory_makes_it_hold_outside() {
    let (_folder, base) = folder();
    let (dir, link) = (base.join("d"), base.join("l"));
    let file = dir.join("a");
    let inside = fs::metadata(&file).unwrap().ino();
    thread::scope(|scope| {
        let exchange = scope.spawn(|| {
            for _ in 0..3000 {
                renameat_with(CWD, &dir, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        while !exchange.is_finished() {
            if let Ok(held) = hold(&file) {
                assert_eq!(File::from(held).metadata().unwrap().ino(), inside);
            }
        }
    });
}
