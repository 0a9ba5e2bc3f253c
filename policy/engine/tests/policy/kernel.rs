//! Compares the resolver with the kernel's own answer, on random trees of symlinks.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;

use jp_confine_engine::canonical::{Op, ResolveError, Resolved, remember, resolve};
use proptest::prelude::*;

use crate::place::Place;

/// The kernel's number for a loop. Its name in std is not stable yet.
const ELOOP: i32 = 40;

#[derive(Debug, Clone)]
enum Entry {
    Directory,
    File,
    Link(String),
}

/// Names are few, so that symlinks often meet existing entries.
fn path() -> impl Strategy<Value = String> {
    let name = prop_oneof![4 => "[abc]", 1 => Just("..".to_owned()), 1 => Just(".".to_owned())];
    (prop::collection::vec(name, 1..5), any::<bool>())
        .prop_map(|(names, slash)| names.join("/") + if slash { "/" } else { "" })
}

fn entry() -> impl Strategy<Value = Entry> {
    prop_oneof![
        2 => Just(Entry::Directory),
        1 => Just(Entry::File),
        3 => path().prop_map(Entry::Link),
        1 => path().prop_map(|path| Entry::Link(format!("@/{path}"))),
    ]
}

/// Creates the entries that can be created, none through symlinks that lead out of the scratch directory. The other
/// names stay missing.
fn grow(place: &Place, entries: &[(String, Entry)]) {
    let base = place.path("");
    for (name, entry) in entries {
        let path = place.root.as_path().join(name);
        if fs::symlink_metadata(&path).is_ok() || !stays_within(&base, &path) {
            continue;
        }
        let _ = match entry {
            Entry::Directory => fs::create_dir_all(&path),
            Entry::File => fs::write(&path, ""),
            Entry::Link(text) => symlink(text.replace("@/", base.to_str().unwrap()), &path),
        };
    }
}

/// Whether the existing part of the way to `path` is in the directory, whose path is canonical.
fn stays_within(folder: &Path, path: &Path) -> bool {
    let mut ancestors = path.ancestors().skip(1);
    let existing = ancestors.find(|ancestor| fs::symlink_metadata(ancestor).is_ok());
    let place = existing.and_then(|existing| fs::canonicalize(existing).ok());
    place.is_some_and(|place| place.starts_with(folder))
}

/// Whether a path leads out of the scratch directory, where nothing may be created or removed.
fn leads_out(place: &Place, found: &Result<Resolved, ResolveError>) -> bool {
    found.as_ref().is_ok_and(|found| !found.path.starts_with(place.path("")))
}

fn names() -> impl Strategy<Value = Vec<(String, Entry)>> {
    let name = prop::collection::vec("[abc]", 1..4).prop_map(|names| names.join("/"));
    prop::collection::vec((name, entry()), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    // conformance: 076-165
    #[test]
    fn agrees_with_realpath(entries in names(), asked in path()) {
        let place = Place::new("");
        grow(&place, &entries);
        let ours = resolve(place.root.as_path(), Path::new(&asked), Op::Content);
        let theirs = fs::canonicalize(place.root.as_path().join(&asked));
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                prop_assert!(ours.exists);
                prop_assert_eq!(ours.path, theirs);
            }
            (Ok(ours), Err(error)) => {
                prop_assert!(!ours.exists);
                prop_assert_eq!(error.kind(), ErrorKind::NotFound);
            }
            (Err(ResolveError::ParentOfMissing { .. }), Err(error)) => {
                prop_assert_eq!(error.kind(), ErrorKind::NotFound);
            }
            (Err(ResolveError::TooManyLinks { .. }), Err(error)) => {
                prop_assert_eq!(error.raw_os_error(), Some(ELOOP));
            }
            (Err(ResolveError::NotADirectory { .. }), Err(error)) => {
                prop_assert_eq!(error.kind(), ErrorKind::NotADirectory);
            }
            (Err(ours), theirs) => prop_assert!(false, "{ours} but the kernel: {theirs:?}"),
        }
    }

    // conformance: 076-166
    /// Earlier lookups must not change the answer of a resolution.
    #[test]
    fn remembered_look_ups_change_no_answer(
        entries in names(),
        asked in prop::collection::vec((path(), any::<bool>()), 1..10),
    ) {
        let place = Place::new("");
        grow(&place, &entries);
        let asked: Vec<(&Path, Op)> = asked
            .iter()
            .map(|(path, content)| (Path::new(path), if *content { Op::Content } else { Op::Entry }))
            .collect();
        let answers = || {
            let resolve = |&(path, op): &(&Path, Op)| format!("{:?}", place.root.resolve(path, op));
            asked.iter().map(resolve).collect::<Vec<_>>()
        };
        let alone = answers();
        let _memory = remember();
        prop_assert_eq!(answers(), alone);
    }

    /// A file created through any spelling must appear where the resolver said.
    #[test]
    fn knows_where_a_create_lands(entries in names(), asked in path()) {
        let place = Place::new("");
        grow(&place, &entries);
        let ours = resolve(place.root.as_path(), Path::new(&asked), Op::Content);
        prop_assume!(!leads_out(&place, &ours));
        let spelled = place.root.as_path().join(&asked);
        let before = fs::canonicalize(&spelled).is_ok();
        let made = OpenOptions::new().write(true).create(true).truncate(false).open(&spelled);
        if made.is_ok() && !before {
            let ours = ours.unwrap();
            prop_assert!(!ours.exists);
            prop_assert_eq!(ours.path, fs::canonicalize(&spelled).unwrap());
        }
    }

    /// A name removed through any spelling must disappear where the resolver said.
    #[test]
    fn knows_which_entry_is_removed(entries in names(), asked in path()) {
        let place = Place::new("");
        grow(&place, &entries);
        let ours = resolve(place.root.as_path(), Path::new(&asked), Op::Entry);
        prop_assume!(!leads_out(&place, &ours));
        let spelled = place.root.as_path().join(&asked);
        let there = ours.as_ref().is_ok_and(|ours| fs::symlink_metadata(&ours.path).is_ok());
        if fs::remove_file(&spelled).is_ok() {
            let ours = ours.unwrap();
            prop_assert!(ours.exists && there);
            prop_assert!(fs::symlink_metadata(&ours.path).is_err());
        }
    }
}
