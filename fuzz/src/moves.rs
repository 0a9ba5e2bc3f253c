//! Judges moves of directories. No allowed move may give a file in the directory more rights, or the same with less of
//! a prompt (spec §4.2, R5). Nor may a name appear that may be created at the source and not at the destination (R31).

use arbitrary::{Arbitrary as _, Unstructured};
use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::moves::{Ends, Kind, Move, Plan, plan};

use crate::tiered::Tiered;

/// Directories that move, and their destinations.
const FOLDERS: [&str; 16] = [
    "/w/a",
    "/w/p",
    "/w/p/a",
    "/w/p/b",
    "/w/ro/a",
    "/o/a",
    "/o/p",
    "/o/p/a",
    "/p/a",
    "/tmp/run/a",
    "/h/a",
    "/h/all",
    "/h/all/a",
    "/h/.config",
    "/q/a",
    "/w/.ssh",
];

/// Names in a directory.
const NAMES: [&str; 12] = [
    "",
    "/k",
    "/x",
    "/.env",
    "/a.pem",
    "/a",
    "/a/k",
    "/d",
    "/d/k",
    "/d/a.pem",
    "/p/a/d",
    "/.ssh/id_rsa",
];

const NEEDS: [Capabilities; 5] = [
    Capabilities::READ,
    Capabilities::CREATE,
    Capabilities::UPDATE,
    Capabilities::DELETE,
    Capabilities::EXECUTE,
];

/// A directory exists at the source, and nothing at the destination.
struct Folder;

impl Ends for Folder {
    fn exists(&self) -> bool {
        false
    }

    fn is_directory(&self) -> bool {
        true
    }

    fn is_symlink(&self) -> bool {
        false
    }
}

/// Makes a policy of `input`, and moves directories between all pairs of places.
///
/// # Panics
/// If a move gives more rights.
pub fn judge(input: &[u8]) {
    let Ok(policy) = Tiered::arbitrary(&mut Unstructured::new(input)) else { return };
    let image = policy.image();
    let image = Image::parse(&image).expect("an image of ours");
    for from in FOLDERS {
        for to in FOLDERS.into_iter().filter(|to| !to.starts_with(from) && goes(&image, from, to)) {
            for name in NAMES {
                compare(&image, from, to, name);
            }
        }
    }
}

fn goes(image: &Image<'_>, from: &str, to: &str) -> bool {
    let [from, to] = [from, to].map(|end| Request::canonical(end.as_bytes()));
    let asked = Move { from, to, kind: Kind::Replace };
    matches!(plan(image, &asked, &Folder), Plan::Go | Plan::OnlyNew(_))
}

fn compare(image: &Image<'_>, from: &str, to: &str, name: &str) {
    let [before, after] = [from, to].map(|end| format!("{end}{name}"));
    for need in NEEDS {
        let [old, new] = [&before, &after].map(|path| rank(image, path, need));
        assert!(new <= old, "{need}: {before} goes to {after}");
        let is_narrower = need == Capabilities::CREATE && !name.is_empty() && new < 2;
        assert!(!is_narrower || old < 2, "{before} brings {after} along");
    }
}

/// How freely it is granted: not at all, after a prompt, or without one.
fn rank(image: &Image<'_>, path: &str, need: Capabilities) -> u8 {
    match decide::access(image, &Request::canonical(path.as_bytes()), need) {
        Verdict::Allow => 2,
        Verdict::Deny(denial) => u8::from(denial.ask),
    }
}
