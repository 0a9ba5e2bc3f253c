//! Judges the reader of images and the evaluator. No bytes may make them panic, hang or contradict themselves, and
//! damage without a repaired checksum must change no answer.

use std::path::{Path, PathBuf};

use arbitrary::{Arbitrary as _, Result, Unstructured};
use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Destination, OpenRequest, OpenVerdict, Request, Verdict};
use jp_confine_engine::image::offsets::{CHECKSUM, COVERED, END};
use jp_confine_engine::image::{Image, Text, checksum};
use jp_confine_engine::invocation::{self, Admission, Invocation};
use jp_confine_engine::variables;

use crate::policy::Policy;

/// Makes an image, a damage and two paths of `input`, and asks everything.
///
/// # Panics
/// If an answer is wrong.
pub fn judge(input: &[u8]) {
    let _ = judge_generated(&mut Unstructured::new(input));
}

fn judge_generated(u: &mut Unstructured<'_>) -> Result<()> {
    let damage = *u.choose(&[Damage::None, Damage::Plain, Damage::Repaired, Damage::Raw])?;
    let paths = [path(u)?, path(u)?];
    let intact = if damage == Damage::Raw {
        let mut bytes = u.bytes(u.len())?.to_vec();
        check(&bytes, &paths);
        repair(&mut bytes);
        bytes
    } else {
        let alias = u.ratio(1, 3)?.then(|| (PathBuf::from("/w/b/l"), PathBuf::from("/w/c")));
        Policy::arbitrary(u)?.image(Path::new("/w"), alias)
    };
    let mut bytes = intact.clone();
    if damage != Damage::Raw {
        repair(&mut bytes);
        assert_eq!(bytes, intact, "an intact image needs no repair");
    }
    if damage != Damage::None {
        while !u.is_empty() {
            let at = u.int_in_range(0..=bytes.len().saturating_sub(1))?;
            let value = u.arbitrary()?;
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
    }
    if damage == Damage::Repaired {
        repair(&mut bytes);
    }
    check(&bytes, &paths);
    if damage == Damage::None {
        Image::parse(&bytes).expect("what the writer wrote can be read");
    }
    if matches!(damage, Damage::None | Damage::Plain)
        && let Ok(damaged) = Image::parse(&bytes)
    {
        let intact = Image::parse(&intact).expect("what the writer wrote can be read");
        for path in &paths {
            let request = Request::canonical(path);
            let found = decide::lookup(&damaged, &request);
            assert_eq!(decide::lookup(&intact, &request), found);
            // Two tables say what is hidden. In the form that the writer writes, they agree.
            assert_eq!(decide::metadata(&damaged, &request) != Verdict::Allow, found.hidden);
        }
    }
    Ok(())
}

/// The damage to an image before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    None,
    /// Bytes are replaced.
    Plain,
    /// Bytes are replaced, and the checksum agrees with them.
    Repaired,
    /// The bytes were never an image.
    Raw,
}

/// A path, mostly through places with grants, sometimes of any bytes.
fn path(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    if u.ratio(1, 8)? {
        let length = u.int_in_range(0..=32)?;
        return Ok(u.bytes(length.min(u.len()))?.to_vec());
    }
    let mut path = b"/w".to_vec();
    for _ in 0..u.int_in_range(0..=5)? {
        path.extend_from_slice(u.choose(&["/a", "/b", "/c", "/ab", "/l", "/"])?.as_bytes());
    }
    Ok(path)
}

/// Makes the checksum agree, so that the tables are read.
fn repair(bytes: &mut [u8]) {
    let Some(end) = bytes.get(END..).and_then(|rest| rest.first_chunk()) else { return };
    let end = u32::from_le_bytes(*end) as usize;
    let Some(sum) = bytes.get(COVERED..end).map(checksum) else { return };
    bytes[CHECKSUM..CHECKSUM + 8].copy_from_slice(&sum.to_le_bytes());
}

/// Every question must have one answer, for any bytes.
fn check(bytes: &[u8], paths: &[Vec<u8>; 2]) {
    let Ok(image) = Image::parse(bytes) else { return };
    assert_eq!(image.as_bytes(), &bytes[..image.as_bytes().len()]);
    use Text::{EventsPath, SharedPage, ShimPath, TempDir, Workspace};
    for text in [ShimPath, EventsPath, TempDir, SharedPage, Workspace] {
        assert!(image.text(text).len() <= bytes.len());
    }
    assert!(image.json().len() <= bytes.len());
    let [one, two] = paths;
    check_beyond(&image, one, two);
    for request in [Request::canonical(one), Request::by_route(one, two)] {
        check_one(&image, &request);
    }
    let (one, two) = (Request::canonical(one), Request::canonical(two));
    for destination in [Destination::Missing, Destination::Exists, Destination::Exchange] {
        if decide::rename(&image, &one, &two, destination) == Verdict::Allow {
            let held = decide::lookup(&image, &one).caps;
            let gained = decide::lookup(&image, &two);
            let gained = gained.caps.difference(gained.withheld);
            assert!(held.contains(gained), "gained by a rename");
        }
    }
    if decide::link(&image, &one, &two) == Verdict::Allow {
        let held = decide::lookup(&image, &one).caps;
        assert!(held.contains(decide::lookup(&image, &two).caps), "gained by a link");
    }
}

/// Any bytes may be the path of a program, its name, an argument, or the name of a variable.
fn check_beyond(image: &Image<'_>, one: &[u8], two: &[u8]) {
    for arguments in 0..3 {
        let invocation = Invocation { program: one, called: two, arguments };
        let judged = invocation::judge(image, &invocation, &mut |_, word| word == two);
        assert!(judged.is_ok() || invocation::is_limited(image));
        for name in [one, two] {
            let admission = judged.unwrap_or(Admission::FREE);
            let withheld = variables::is_withheld(image, &admission, name);
            assert!(!withheld || variables::are_withheld(image));
        }
        for name in variables::OWNED {
            assert!(!variables::is_withheld(image, &Admission::FREE, name.as_bytes()));
        }
    }
}

fn check_one(image: &Image<'_>, request: &Request<'_>) {
    let found = decide::lookup(image, request);
    assert!(found.visible <= request.path.len());
    let granted = |need| decide::access(image, request, need) == Verdict::Allow;
    for bits in 1..32 {
        let need = Capabilities::from_bits(bits);
        assert_eq!(granted(need), found.caps.contains(need));
    }
    let _ = decide::metadata(image, request);
    if decide::remove(image, request) == Verdict::Allow {
        assert!(granted(Capabilities::DELETE));
    }
    if decide::loader(image, request) == Verdict::Allow {
        assert!(granted(Capabilities::EXECUTE) && !found.caps.intersects(Capabilities::WRITE));
    }
    for bits in 0..16_u8 {
        let [read, write, create, exclusive] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
        let how = OpenRequest { read, write, create, exclusive, bare: false };
        let existing = Capabilities::NONE
            .with_if(read, Capabilities::READ)
            .with_if(write, Capabilities::UPDATE);
        match decide::open(image, request, how) {
            OpenVerdict::Allow if create && exclusive => assert!(granted(Capabilities::CREATE)),
            OpenVerdict::Allow => assert!(granted(existing)),
            OpenVerdict::OnlyNew(_) => assert!(granted(Capabilities::CREATE)),
            OpenVerdict::OnlyExisting(_) => assert!(granted(existing)),
            OpenVerdict::Deny(_) => {}
        }
    }
    if let Some(decide::Alias { end: consumed, .. }) = decide::alias(image, request.path) {
        assert!(consumed <= request.path.len());
    }
    let _ = decide::shows_everything(image, request.path);
    if decide::grants_beneath(image, request.path, Capabilities::READ) {
        assert!(granted(Capabilities::READ) || request.route != request.path);
    }
}
