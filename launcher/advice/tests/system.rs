//! Tests requests that the system also denies.

use jp_confine_engine::tiers::Tiers;
use rustix::fs::Access;
use rustix::io::Errno;

use super::*;
use crate::advice::rights::Rights;

/// A user who may look at everything but `/w/locked`, execute nothing, and change only `/w`. No other paths exist.
/// Nobody may change anything below `/ro`.
fn rights(place: &Path, access: Access) -> Result<(), Errno> {
    let is_there = ["/", "/w", "/w/file", "/srv", "/srv/file", "/ro", "/ro/file"];
    let is_own = || place.starts_with("/w");
    match () {
        () if place.starts_with("/w/locked") => Err(Errno::ACCESS),
        () if !is_there.iter().any(|known| Path::new(known) == place) => Err(Errno::NOENT),
        () if access.contains(Access::WRITE_OK) && place.starts_with("/ro") => Err(Errno::ROFS),
        () if access.contains(Access::WRITE_OK) && !is_own() => Err(Errno::ACCESS),
        () if access.contains(Access::READ_OK) && !is_own() => Err(Errno::ACCESS),
        () if access.contains(Access::EXEC_OK) => Err(Errno::ACCESS),
        () => Ok(()),
    }
}

#[test]
fn what_the_system_refuses_too_is_not_advised() {
    let (grants, tiers) = ([], Tiers::default());
    let advisor = Advisor { rights, ..advisor(&grants, &[], &tiers) };
    let rows = [
        (denial("openat", "/srv/file", R), "the user may not read /srv/file"),
        (denial("openat", "/srv/file", U), "the user may not change /srv/file"),
        (denial("openat", "/ro/file", U), "/ro/file is on a read-only file system"),
        (denial("execve", "/w/file", X), "the user may not execute file"),
        (denial("mkdir", "/srv/a/b", C), "the user may not change /srv"),
        (denial("utimensat", "/srv/a", U), "the user may not change /srv"),
        (denial("unlink", "/srv/file", D), "the user may not change /srv"),
        (denial("stat", "/w/locked/a", R), "the user may not look at locked/a"),
        (pair("rename", "/w/file", "/srv/a", D, false), "the user may not change /srv"),
        (pair("rename", "/srv/file", "/w/a", C, true), "the user may not change /srv"),
        (pair("link", "/w/file", "/srv/a", C, true), "the user may not change /srv"),
    ];
    for (denial, why) in rows {
        let told = in_line(advisor.advise(&denial));
        assert_eq!(told, format!("no option and no rule helps: {why}"), "{denial:?}");
    }
    for denial in [
        denial("openat", "/w/file", U),
        denial("openat", "/w/a", C),
        denial("openat", "/srv/a", R),
        denial("stat", "/srv/file", R),
        denial("chdir", "/srv", R),
        denial("dlopen", "/w/file", X),
        denial("mq_open", "/srv/queue", C),
        pair("link", "/srv/file", "/w/a", C, true),
    ] {
        assert!(matches!(advisor.advise(&denial), Advice::Grant { .. }), "{denial:?}");
    }
}

/// The owner of a file may change its mode and its other owner-only attributes.
#[test]
fn owners_change_what_they_may_not_write() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    let (grants, tiers) = ([], Tiers::default());
    let rights: Rights =
        |_, access| if access.contains(Access::WRITE_OK) { Err(Errno::ACCESS) } else { Ok(()) };
    let advisor = Advisor { rights, ..advisor(&grants, &[], &tiers) };
    let told = |call| in_line(advisor.advise(&denial(call, path, U)));
    assert!(told("openat").contains("may not change"));
    assert!(!told("fchmodat").contains("may not change"), "{}", told("fchmodat"));
}
