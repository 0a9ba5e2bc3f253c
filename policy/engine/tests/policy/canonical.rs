//! Resolves paths on disk, as spec §4 says.

use std::ffi::OsStr;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::canonical::{Op, ResolveError, Root, resolve};
use jp_confine_engine::lexical::normalise;

use crate::place::Place;

/// The physical target of a path from the workspace. A `?` follows a missing path.
fn leads(place: &Place, path: &str, op: Op) -> String {
    let path = path.replace('@', place.path("").to_str().unwrap().trim_end_matches('/'));
    match resolve(place.root.as_path(), Path::new(&path), op) {
        Ok(found) if found.exists => place.short(&found.path),
        Ok(missing) => place.short(&missing.path) + "?",
        Err(ResolveError::Io { error, .. }) => format!("{}", error.kind()),
        Err(ResolveError::TooManyLinks { .. }) => "loop".to_owned(),
        Err(ResolveError::NotADirectory { .. }) => "not a directory".to_owned(),
        Err(ResolveError::ParentOfMissing { .. }) => "parent of missing".to_owned(),
        Err(ResolveError::NotAPath { .. }) => "not a path".to_owned(),
    }
}

macro_rules! rows {
    ($($name:ident: $tree:literal, $op:ident $path:literal => $expected:literal;)*) => {$(
        #[test]
        fn $name() {
            assert_eq!(leads(&Place::new($tree), $path, Op::$op), $expected);
        }
    )*};
}

rows! {
    file: "w/a", Content "a" => "w/a";
    root: "", Content "." => "w";
    empty_is_the_base: "", Content "" => "w";
    absolute: "o/a", Content "@/o/a" => "o/a";
    slash: "", Content "/" => "/";
    above_slash: "", Content "/../.." => "/";
    double_slash: "w/d/a", Content "d//a" => "w/d/a";
    trailing_slash: "w/d/", Content "d/" => "w/d";
    trailing_slash_on_file: "w/a", Content "a/" => "not a directory";
    dot_in_file: "w/a", Content "a/." => "not a directory";
    below_file: "w/a", Content "a/b" => "not a directory";
    parent_of_file: "w/a", Content "a/.." => "not a directory";

    missing: "", Content "a" => "w/a?";
    // conformance: 076-84
    missing_suffix: "w/d/", Content "d/a/b/c" => "w/d/a/b/c?";
    missing_with_dot: "", Content "a/./b/" => "w/a/b?";
    parent_of_missing: "", Content "a/../b" => "parent of missing";

    link: "w/a w/l=a", Content "l" => "w/a";
    link_entry: "w/a w/l=a", Entry "l" => "w/l";
    link_entry_with_slash: "w/d/ w/l=d", Entry "l/" => "w/l";
    link_content_with_slash: "w/d/ w/l=d", Content "l/" => "w/d";
    // conformance: 076-82
    link_in_the_middle: "w/d/a w/l=d", Content "l/a" => "w/d/a";
    link_in_the_middle_entry: "w/d/a w/d/k=a w/l=d", Entry "l/k" => "w/d/k";
    // conformance: 076-82
    link_to_link: "w/a w/l=k w/k=a", Content "l" => "w/a";
    absolute_link: "w/a w/l=@/w/a", Content "l" => "w/a";
    link_out: "o/a w/l=../o", Content "l/a" => "o/a";
    link_out_and_back: "w/a o/back=../w w/l=../o", Content "l/back/a" => "w/a";
    link_to_file_as_directory: "w/a w/l=a", Content "l/b" => "not a directory";
    link_with_slash_to_file: "w/a w/l=a/", Content "l" => "not a directory";
    parent_is_physical: "o/d/ o/a w/l=../o/d", Content "l/../a" => "o/a";
    parent_is_physical_entry: "o/d/ o/a w/l=../o/d", Entry "l/../a" => "o/a";

    dangling_inside: "w/d/ w/l=d/new", Content "l" => "w/d/new?";
    dangling_outside: "o/ w/l=../o/new", Content "l" => "o/new?";
    dangling_absolute: "o/ w/l=@/o/new", Content "l/x" => "o/new/x?";
    dangling_twice: "o/ w/l=k w/k=../o/new", Content "l" => "o/new?";
    dangling_entry: "o/ w/l=../o/new", Entry "l" => "w/l";
    dangling_parent_out: "o/ w/l=../o/new", Entry "l/x" => "o/new/x?";
    dangling_through_parent: "w/l=no/../../o", Content "l" => "parent of missing";

    own_loop: "w/l=l", Content "l" => "loop";
    own_loop_entry: "w/l=l", Entry "l" => "w/l";
    pair_loop: "w/l=k w/k=l", Content "l/a" => "loop";
    growing_loop: "w/l=l/a", Content "l" => "loop";
    proc_root: "o/a", Content "/proc/self/root/@/o/a" => "o/a";
    proc_net_is_ordinary: "", Content "/proc/mounts/x" => "not a directory";
    proc_namespace: "", Content "/proc/self/ns/mnt" => "not a path";
    proc_thread_namespace: "", Content "/proc/thread-self/ns/mnt" => "not a path";
}

/// A chain of symlinks `l1 → l2 → … → end`, followed from `l1`.
fn chain(length: usize) -> String {
    let place = Place::new("w/end");
    for link in 1..=length {
        let next = if link == length { "end".to_owned() } else { format!("l{}", link + 1) };
        place.add(&format!("w/l{link}={next}"));
    }
    leads(&place, "l1", Op::Content)
}

#[test]
fn forty_links_and_no_more() {
    assert_eq!(chain(40), "w/end");
    assert_eq!(chain(41), "loop");
}

#[test]
fn name_too_long() {
    let name = "n".repeat(256);
    let Err(ResolveError::Io { error, .. }) =
        resolve(Path::new("/"), Path::new(&name), Op::Content)
    else {
        panic!("a name of 256 bytes cannot be resolved");
    };
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidFilename);
}

#[test]
fn names_are_bytes() {
    let place = Place::new("w/d/");
    let name = Path::new(OsStr::from_bytes(b"d/\xff\xfe"));
    std::fs::write(place.path("w").join(name), "").unwrap();
    std::os::unix::fs::symlink(name, place.path("w/l")).unwrap();
    let found = resolve(place.root.as_path(), Path::new("l"), Op::Content).unwrap();
    assert_eq!(found.path, place.path("w").join(name));
    assert!(found.exists);
}

#[test]
fn pipes_have_no_path() {
    let (reader, _writer) = std::io::pipe().unwrap();
    let path = PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
    let error = resolve(Path::new("/"), &path, Op::Content).unwrap_err();
    assert!(matches!(error, ResolveError::NotAPath { .. }), "{error}");
}

#[test]
fn descriptors_lead_to_their_file() {
    let place = Place::new("o/a");
    let file = std::fs::File::open(place.path("o/a")).unwrap();
    let path = PathBuf::from(format!("/dev/fd/{}", file.as_raw_fd()));
    let found = resolve(Path::new("/"), &path, Op::Content).unwrap();
    assert_eq!(found.path, place.path("o/a"));
}

#[test]
fn followed_links_are_recorded() {
    let place = Place::new("o/d/a w/l=k w/k=@/o w/m=l/d");
    let found = resolve(place.root.as_path(), Path::new("m/a"), Op::Content).unwrap();
    let steps: Vec<String> = found
        .steps
        .iter()
        .map(|step| place.anonymous(&format!("{}={}", step.link.display(), step.text.display())))
        .collect();
    assert_eq!(steps, ["@/w/m=l/d", "@/w/l=k", "@/w/k=@/o"]);
}

#[test]
fn root_is_canonical_wherever_it_is_opened_from() {
    let place = Place::new("w/a alias=w");
    assert_eq!(Root::open(&place.path("alias")).unwrap(), place.root);
    assert_eq!(Root::open(&place.path("w/.")).unwrap(), place.root);
}

#[test]
fn root_must_be_an_existing_directory() {
    let place = Place::new("w/a");
    assert!(Root::open(&place.path("no")).is_err());
    assert!(matches!(Root::open(&place.path("w/a")), Err(ResolveError::NotADirectory { .. })));
}

#[test]
fn containment_is_by_component() {
    let place = Place::new("w/a ww/a");
    assert!(place.root.contains(&place.path("w")));
    assert!(place.root.contains(&place.path("w/a")));
    assert!(!place.root.contains(&place.path("ww/a")));
    assert!(!place.root.contains(&place.path("")));
}

/// Tool input is normalised before it is resolved. The path of a system call is not [R1].
#[test]
fn lexical_and_physical_parents_differ() {
    let place = Place::new("o/d/ o/a w/a w/l=../o/d");
    let lexical = normalise(b"l/../a").unwrap();
    assert_eq!(leads(&place, lexical.to_str().unwrap(), Op::Content), "w/a");
    assert_eq!(leads(&place, "l/../a", Op::Content), "o/a");
}
