//! If the preload library finds anything else in place of its policy, it allows nothing (spec §13). The damaged policy
//! here grants everything, so that the tests notice if the library believes it.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Beyond, Grant, GrantKind, ImageSpec, Origin, build};
use macro_rules_attribute::apply;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::FdFlags;

use crate::attack::{Linking, answer, arena_with};
use crate::layers::row;
use crate::run::{Mode, Outcome, Run};
use crate::scratch::Scratch;

const SEALS: SealFlags =
    SealFlags::SEAL.union(SealFlags::SHRINK).union(SealFlags::GROW).union(SealFlags::WRITE);

/// Offset of the version in the header, and length of the header.
const VERSION: usize = 8;
const HEADER: usize = 124;

/// An image that grants everything.
fn image() -> Vec<u8> {
    let origin = Origin::Product { why: "test".to_owned() };
    let grants = [Grant::new("/".into(), Capabilities::ALL, GrantKind::Plain, origin)];
    let nowhere = Path::new("/nowhere");
    let spec = ImageSpec {
        grants: &grants,
        tiers: None,
        beyond: Beyond::default(),
        workspace: Path::new("/"),
        volumes: &[],
        aliases: &[],
        views: &[],
        session: 1,
        shim_path: nowhere,
        events_path: nowhere,
        temp_dir: nowhere,
        shared_page: nowhere,
        json: b"{}",
    };
    build(&spec).expect("an image")
}

/// A memfd with these seals, which processes started here inherit.
fn sealed(bytes: &[u8], seals: SealFlags) -> OwnedFd {
    let memory = memfd_create("image", MemfdFlags::ALLOW_SEALING).expect("a memfd");
    let mut file = File::from(memory);
    file.write_all(bytes).expect("room in memory");
    fcntl_add_seals(&file, seals).expect("seals");
    file.into()
}

fn inherited(file: File) -> OwnedFd {
    rustix::io::fcntl_setfd(&file, FdFlags::empty()).expect("a descriptor");
    file.into()
}

/// Path of the preload library that the launcher installed. For an ordinary user it is in the home.
fn library() -> &'static str {
    static PLACE: OnceLock<(Scratch, String)> = OnceLock::new();
    let (_, path) = PLACE.get_or_init(|| {
        let scratch = Scratch::new();
        let run = Run::sh(&scratch, "echo $LD_PRELOAD").mode(Mode::Confined).run();
        let path = run.assert_ok().stdout.trim().to_owned();
        (scratch, path)
    });
    path
}

/// Runs the attack program with the library preloaded and this handle. Where the tests must fail, it runs without the
/// library.
fn open_secret(scratch: &Scratch, handle: Option<&str>) -> Outcome {
    let secret = scratch.expand("$OUT/secret");
    let attack = scratch.path("ws/bin/attack");
    let mut run = Run::new(scratch, attack.to_str().expect("UTF-8"), &["open", &secret]);
    run = run.mode(Mode::Bare);
    if Mode::under_test() == Mode::Confined {
        run = run.env("LD_PRELOAD", library());
    }
    match handle {
        Some(handle) => run.env("JP_CONFINE", handle).run(),
        None => run.run(),
    }
}

fn assert_denied(handle: Option<&str>) {
    let scratch = arena_with(Linking::Dynamic, Scratch::new());
    let outcome = open_secret(&scratch, handle);
    outcome.assert_no_secret();
    assert_eq!(answer(&outcome), "EACCES", "{handle:?}: {outcome}");
}

fn assert_descriptor_denied(fd: &OwnedFd) {
    let page = sealed(&[0; 4096], SealFlags::SHRINK);
    assert_denied(Some(&format!("{}:{}", fd.as_raw_fd(), page.as_raw_fd())));
}

fn assert_image_denied(bytes: &[u8]) {
    assert_descriptor_denied(&sealed(bytes, SEALS));
}

/// Without this test the others would prove nothing.
#[apply(row!)]
fn what_is_intact_is_believed() {
    let (fd, page) = (sealed(&image(), SEALS), sealed(&[0; 4096], SealFlags::SHRINK));
    let handle = format!("{}:{}", fd.as_raw_fd(), page.as_raw_fd());
    let scratch = arena_with(Linking::Dynamic, Scratch::new());
    let outcome = open_secret(&scratch, Some(&handle));
    assert_eq!(answer(&outcome), "ok TOPSECRET", "{outcome}");
    assert_eq!(Mode::under_test(), Mode::Confined, "without the library it proves nothing");
}

#[apply(row!)]
fn truncated() {
    let image = image();
    let json = 2;
    for length in [0, 1, VERSION, HEADER - 1, HEADER, image.len() / 2, image.len() - json - 1] {
        assert_image_denied(&image[..length]);
    }
}

#[apply(row!)]
fn any_part_of_it_changed() {
    let image = image();
    for at in (0..image.len() - 2).step_by(3) {
        let mut damaged = image.clone();
        damaged[at] ^= 0x41;
        assert_image_denied(&damaged);
    }
}

#[apply(row!)]
fn of_another_version() {
    let own = image();
    let own = own[VERSION..].first_chunk().copied().map(u32::from_le_bytes).expect("a version");
    for version in [0, own - 1, own + 1, u32::MAX] {
        let mut other = image();
        other[VERSION..VERSION + 4].copy_from_slice(&version.to_le_bytes());
        assert_image_denied(&other);
    }
}

#[apply(row!)]
fn nothing_but_noise() {
    assert_image_denied(&[0; 4096]);
    assert_image_denied(&[0xff; 4096]);
}

#[apply(row!)]
fn not_sealed() {
    for missing in [SealFlags::SEAL, SealFlags::SHRINK, SealFlags::GROW, SealFlags::WRITE, SEALS] {
        assert_descriptor_denied(&sealed(&image(), SEALS - missing));
    }
}

#[apply(row!)]
fn not_in_memory() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("image"), image()).expect("a file");
    for path in [scratch.path("image"), scratch.ws(), "/dev/zero".into()] {
        assert_descriptor_denied(&inherited(File::open(path).expect("a file")));
    }
}

#[apply(row!)]
fn a_descriptor_that_is_closed() {
    assert_denied(Some("1000000:1000001"));
}

#[apply(row!)]
fn no_descriptor_at_all() {
    for handle in
        ["", ":", "x", "x:y", "1", "-1:-1", "99999999999:1", "0:0", "1:2", "\u{ff}:3", " 3:4"]
    {
        assert_denied(Some(handle));
    }
    assert_denied(None);
}

#[apply(row!)]
fn a_page_that_is_none() {
    let scratch = arena_with(Linking::Dynamic, Scratch::new());
    let fd = sealed(&image(), SEALS);
    let mut options = File::options();
    let empty = options.create(true).truncate(true).read(true).write(true);
    let empty = inherited(empty.open(scratch.path("empty")).expect("a file"));
    for page in [-1, 1_000_000, 0, empty.as_raw_fd(), fd.as_raw_fd()] {
        let handle = format!("{}:{page}", fd.as_raw_fd());
        let outcome = open_secret(&scratch, Some(&handle));
        assert!(["ok TOPSECRET", "EACCES"].contains(&answer(&outcome)), "{page}: {outcome}");
    }
    assert_eq!(Mode::under_test(), Mode::Confined, "without the library it proves nothing");
}
