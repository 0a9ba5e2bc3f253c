//! Pins: they use the judged object, or nothing.

use std::fs;
use std::io::{self, ErrorKind};

use jp_confine_engine::check::Reason;
use jp_confine_engine::pin::Pin;

use crate::place::{Place, capability};

/// The pin for `call`, a letter and a path.
fn pin(place: &Place, rules: &str, call: &str) -> Pin {
    let (letter, input) = call.split_once(' ').unwrap();
    let capability = capability(letter.chars().next().unwrap());
    place.policy(rules, "").context().pin(input.as_bytes(), capability).unwrap()
}

fn kind<T: std::fmt::Debug>(result: io::Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[test]
fn each_method_does_what_it_says() {
    let place = Place::new("w/d/a w/l=d w/out=../o o/a");
    fs::write(place.path("w/d/a"), "old and long").unwrap();
    let text = |pin: &Pin| io::read_to_string(pin.open().unwrap()).unwrap();
    assert_eq!(text(&pin(&place, "", "r l/a")), "old and long");
    pin(&place, "", "u l/a").write(b"new").unwrap();
    assert_eq!(text(&pin(&place, "", "r d/a")), "new");
    pin(&place, "", "c l/b").write(b"b").unwrap();
    assert_eq!(fs::read(place.path("w/d/b")).unwrap(), b"b");
    pin(&place, "", "c d/e").create_dir().unwrap();
    let mut names = pin(&place, "", "r d").names().unwrap();
    names.sort();
    assert_eq!(names, ["a", "b", "e"]);
    for name in ["d/e", "d/b", "out"] {
        pin(&place, "", &format!("d {name}")).remove().unwrap();
        assert!(place.path("w").join(name).symlink_metadata().is_err(), "{name}");
    }
    assert!(place.path("o/a").exists());
}

#[test]
fn a_pin_gives_no_more_than_was_asked_for() {
    let place = Place::new("w/a");
    let denied = ErrorKind::PermissionDenied;
    let read = pin(&place, "", "r a");
    assert_eq!(kind(read.write(b"x")), denied);
    assert_eq!(kind(read.open_to_write()), denied);
    assert_eq!(kind(read.remove()), denied);
    assert_eq!(kind(read.create_new()), denied);
    assert_eq!(kind(read.create_dir()), denied);
    assert_eq!(kind(pin(&place, "", "u a").open()), denied);
    assert_eq!(kind(pin(&place, "", "d a").open()), denied);
    assert_eq!(kind(pin(&place, "", "r .").names().and(read.names())), ErrorKind::NotADirectory);
}

#[test]
fn what_was_held_is_used_whatever_takes_its_name() {
    let place = Place::new("w/d/a o/a");
    fs::write(place.path("w/d/a"), "inside").unwrap();
    fs::write(place.path("o/a"), "outside").unwrap();
    let (read, update) = (pin(&place, "", "r d/a"), pin(&place, "", "u d/a"));
    let (create, delete) = (pin(&place, "", "c d/new"), pin(&place, "", "d d/a"));
    fs::rename(place.path("w/d"), place.path("w/moved")).unwrap();
    place.add("w/d=../o");
    assert_eq!(io::read_to_string(read.open().unwrap()).unwrap(), "inside");
    update.write(b"changed").unwrap();
    create.write(b"made").unwrap();
    assert_eq!(fs::read(place.path("w/moved/a")).unwrap(), b"changed");
    assert_eq!(fs::read(place.path("w/moved/new")).unwrap(), b"made");
    delete.remove().unwrap();
    assert!(!place.path("w/moved/a").exists());
    assert_eq!(fs::read(place.path("o/a")).unwrap(), b"outside");
    assert!(!place.path("o/new").exists());
}

#[test]
fn a_link_that_comes_later_is_not_followed() {
    let place = Place::new("w/ o/a");
    let create = pin(&place, "", "c new");
    let (read, update) = (pin(&place, "", "r new"), pin(&place, "", "u new"));
    let deep = pin(&place, "", "c deep/new");
    assert_eq!(kind(read.open()), ErrorKind::NotFound);
    assert_eq!(kind(deep.create_new()), ErrorKind::NotFound);
    place.add("w/new=../o/a");
    place.add("w/deep=../o");
    assert_eq!(kind(create.create_new()), ErrorKind::AlreadyExists);
    assert!(read.open().is_err() && update.open_to_write().is_err());
    assert!(deep.create_new().is_err() && deep.create_dir().is_err());
    assert!(!place.path("o/new").exists());
}

#[test]
fn metadata_is_that_of_what_is_meant() {
    let place = Place::new("w/d/ w/l=d");
    assert!(pin(&place, "", "r l").metadata().unwrap().is_dir());
    assert!(pin(&place, "", "d l").metadata().unwrap().is_symlink());
    assert_eq!(kind(pin(&place, "", "c new").metadata()), ErrorKind::NotFound);
}

#[test]
fn a_refusal_holds_nothing() {
    let place = Place::new("w/a w/out=../o o/a");
    let policy = place.policy(".:r", "");
    for (input, letter, reason) in [
        ("a", 'u', Reason::Denied),
        ("out/a", 'r', Reason::Escape),
        ("../o/a", 'r', Reason::InputEscape),
        ("a/b", 'r', Reason::ResolutionFailed),
    ] {
        let refused = policy.context().pin(input.as_bytes(), capability(letter)).unwrap_err();
        assert_eq!(refused.result().reason, Some(reason), "{input}");
    }
}

/// A program that may write in the workspace could otherwise block a reader for ever.
#[test]
fn a_pipe_keeps_nobody_waiting() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let place = Place::new("w/d/");
    mknodat(CWD, place.path("w/pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let text = io::read_to_string(pin(&place, "", "r pipe").open().unwrap()).unwrap();
    assert_eq!(text, "");
    assert!(pin(&place, "", "u pipe").open_to_write().is_err());
}
