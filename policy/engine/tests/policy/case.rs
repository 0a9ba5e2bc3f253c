//! Names that differ in case and are equal (spec §4.4). A denial holds for every spelling, and a grant for its own
//! spelling alone.

use std::fs;
use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, ImageSpec, Volume, build};
use jp_confine_engine::case;
use jp_confine_engine::decide::{self, Destination, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::tiers::Tiers;

use crate::place::file_policy;
use crate::tiers::{places, rule};

const ALL: Capabilities = Capabilities::ALL;
const NONE: Capabilities = Capabilities::NONE;

fn grants() -> Vec<Grant> {
    vec![
        rule("/w", ALL, GrantKind::Plain),
        rule("/w/secret", NONE, GrantKind::Plain),
        rule("/w/RO", Capabilities::READ, GrantKind::Plain),
        rule("/w/jp-confine.toml", NONE, GrantKind::Control),
        rule("/w/Dir/file", NONE, GrantKind::Plain),
        rule("/w/Größe", NONE, GrantKind::Plain),
        rule("/w/각", NONE, GrantKind::Plain),
        rule("/v/Out", ALL, GrantKind::Plain),
        rule("/v/Out/Deep", NONE, GrantKind::Plain),
        rule("/exact", ALL, GrantKind::Plain),
        rule("/exact/secret", NONE, GrantKind::Plain),
    ]
}

struct Judge(Vec<u8>);

impl Judge {
    /// `/w` is on a file system whose names may have aliases, `/v` on one without.
    fn of(tiers: &str) -> Self {
        let tiers = Tiers::new(&file_policy(tiers), Some(&[]), places()).expect("patterns");
        let volumes = [("/v", false), ("/w", true)];
        let volumes = volumes.map(|(root, aliased)| Volume { root: root.into(), aliased });
        let grants = grants();
        let image = build(&ImageSpec {
            tiers: Some(&tiers),
            volumes: &volumes,
            ..ImageSpec::to_ask(&grants, Path::new("/w"))
        });
        Self(image.expect("an image"))
    }

    fn left(&self, path: &str) -> Capabilities {
        self.left_of(path.as_bytes())
    }

    fn left_of(&self, path: &[u8]) -> Capabilities {
        let image = Image::read(&self.0).expect("an image");
        decide::lookup(&image, &Request::canonical(path)).caps
    }

    fn may_move(&self, from: &str, to: &str) -> bool {
        let image = Image::read(&self.0).expect("an image");
        let [from, to] = [from, to].map(|path| Request::canonical(path.as_bytes()));
        [
            decide::rename(&image, &from, &to, Destination::Missing),
            decide::relocate(&image, &from, &to),
        ]
        .iter()
        .all(|verdict| *verdict == Verdict::Allow)
    }
}

#[test]
fn denials_hold_in_every_spelling() {
    let judge = Judge::of("");
    for path in [
        "/w/secret/k",
        "/w/SECRET/K",
        "/w/Secret",
        "/w/ſecret/k",
        "/w/se\u{200b}cret/k",
        "/w/dir/FILE",
        "/w/DIR/ﬁle",
        "/w/GRÖSSE",
        "/w/gro\u{308}ße/k",
        "/w/\u{1100}\u{1161}\u{11a8}",
    ] {
        assert_eq!(judge.left(path), NONE, "{path}");
    }
    for path in ["/w/JP-CONFINE.TOML", "/w/jp-conﬁne.toml/x", "/w/Jp-Confine.Toml"] {
        assert!(!judge.left(path).intersects(Capabilities::WRITE), "{path}");
    }
    assert_eq!(judge.left("/w/ro/f"), Capabilities::READ);
    for path in ["/w/f", "/w/F", "/w/secrets", "/w/Dir", "/w/dir/g", "/w/갂", "/w/jp-confine.tom"]
    {
        assert_eq!(judge.left(path), ALL, "{path}");
    }
}

#[test]
fn grants_hold_in_their_own_spelling() {
    let judge = Judge::of("");
    for (path, expected) in [
        ("/v/Out/f", ALL),
        ("/v/Out/F", ALL),
        ("/v/OUT/f", NONE),
        ("/V/Out/f", NONE),
        ("/W/f", NONE),
        ("/v/Out/deep", NONE),
        ("/v/Out/DEEP/f", NONE),
        ("/v/Out/a~1", ALL),
        ("/exact/SECRET", ALL),
        ("/exact/secret", NONE),
    ] {
        assert_eq!(judge.left(path), expected, "{path}");
    }
    assert_eq!(judge.left_of(b"/v/Out/\xff"), ALL, "it is equal to no other");
}

/// Names that may be equal to unknown others.
#[test]
fn possible_aliases_are_denied() {
    let judge = Judge::of("");
    for path in ["/w/SECRET~1", "/w/secre~1/k", "/w/a/lo~10.txt", "/w/f:x", "/w/secret ", "/w/f."] {
        assert_eq!(judge.left(path), NONE, "{path}");
    }
    assert_eq!(judge.left_of(b"/w/\xe9"), NONE);
    for path in ["/w/f~", "/w/~f", "/w/longername~1", "/w/a.tar.gz", "/w/a~1.html", "/w/.a"] {
        assert_eq!(judge.left(path), ALL, "{path}");
    }
}

#[test]
fn patterns_restrict_in_every_spelling() {
    let judge = Judge::of(
        "deny=**/*.KEY deny=/w/[è-ë].k deny=**/straSSe deny=**/q?z read=/w/RD/** deny=**/[!x]y",
    );
    for path in [
        "/w/a.key",
        "/w/A.Key",
        "/w/É.K",
        "/w/e\u{301}.k",
        "/w/Straße",
        "/w/STRASSE",
        "/w/Qéz",
        "/w/qßz",
        "/w/QSSZ",
        "/w/.ENV",
        "/w/a/.env.Local",
        "/w/xy",
        "/w/AY",
    ] {
        assert_eq!(judge.left(path), NONE, "{path}");
    }
    assert!(!judge.left("/w/rd/f").intersects(Capabilities::WRITE));
    for path in ["/w/a.keys", "/w/f.k", "/w/qabz", "/w/env", "/exact/a.key", "/exact/xy"] {
        assert_eq!(judge.left(path), ALL, "{path}");
    }
    assert_eq!(judge.left("/exact/a.KEY"), NONE);
}

#[test]
fn moves_are_judged_in_every_spelling() {
    let judge = Judge::of("deny=/w/p/*.key");
    for (from, to) in [
        ("/w/DIR", "/w/d"),
        ("/w/f", "/w/SECRET"),
        ("/w/Secret", "/w/f"),
        ("/w/P", "/w/q"),
        ("/w/ro/f", "/w/f"),
        ("/w/f", "/w/JP-CONFINE.toml"),
    ] {
        assert!(!judge.may_move(from, to), "{from} {to}");
    }
    for (from, to) in [("/w/a", "/w/B"), ("/w/A", "/w/a"), ("/w/f", "/w/dir/g"), ("/w/q", "/w/r")] {
        assert!(judge.may_move(from, to), "{from} {to}");
    }
}

/// The tests' own disk is case-sensitive, whatever is in the directory.
#[test]
fn directories_are_asked() {
    let dir = tempfile::tempdir().expect("a directory");
    let top = dir.path().canonicalize().expect("canonical");
    let asked = || {
        let grants = [rule(top.to_str().expect("UTF-8"), ALL, GrantKind::Plain)];
        case::volumes(&grants, None, &top, [Path::new("/proc")].into_iter())
    };
    assert_eq!(asked(), [], "empty");
    fs::write(top.join("a"), "").expect("written");
    assert_eq!(asked(), [], "one file");
    fs::hard_link(top.join("a"), top.join("A")).expect("linked");
    assert_eq!(asked(), [], "two names of a file");
    fs::create_dir(top.join("B")).expect("made");
    assert_eq!(asked(), []);
}
