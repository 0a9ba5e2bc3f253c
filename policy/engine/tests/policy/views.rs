//! Where names lead through views, and back.

use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, ImageSpec, Origin, View, build};
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::views;

fn view(place: &str, backing: &str) -> View {
    View { place: place.into(), backing: backing.into() }
}

fn grant(path: &str, caps: Capabilities) -> Grant {
    let origin = Origin::Baseline { entry: String::new() };
    Grant::new(path.into(), caps, GrantKind::Plain, origin)
}

/// `/tmp` is private, and `/tmp/pad` in it is another directory. The workspace and a granted directory lie in `/tmp`.
fn image(links: &[(PathBuf, PathBuf)]) -> Vec<u8> {
    let grants = [
        grant("/tmp", Capabilities::NONE),
        grant("/tmp/pad", Capabilities::NONE),
        grant("/tmp/jp/run", Capabilities::ALL),
        grant("/tmp/work/ws", Capabilities::ALL),
        grant("/tmp/in/pad", Capabilities::READ),
        grant("/home/u/.cargo/registry", Capabilities::NONE),
        grant("/home/u/.cache/jp/registry", Capabilities::ALL),
        grant("/home/u/.cache/jp/pad", Capabilities::ALL),
    ];
    let shown = [
        view("/tmp", "/tmp/jp/run"),
        view("/tmp/pad", "/home/u/.cache/jp/pad"),
        view("/home/u/.cargo/registry", "/home/u/.cache/jp/registry"),
    ];
    let workspace = Path::new("/tmp/work/ws");
    let spec = ImageSpec { views: &shown, aliases: links, ..ImageSpec::to_ask(&grants, workspace) };
    build(&spec).expect("an image")
}

#[test]
fn names_lead_to_the_backing_of_the_deepest_view() {
    let bytes = image(&[]);
    let image = Image::parse(&bytes).expect("an image");
    for (name, expected) in [
        ("/tmp", "/tmp/jp/run"),
        ("/tmp/", "/tmp/jp/run/"),
        ("/tmp/x", "/tmp/jp/run/x"),
        ("/tmp/x/y", "/tmp/jp/run/x/y"),
        ("/tmpx", "/tmpx"),
        ("/", "/"),
        // A view below a view, by both its names.
        ("/tmp/pad/x", "/home/u/.cache/jp/pad/x"),
        ("/tmp/jp/run/pad/x", "/home/u/.cache/jp/pad/x"),
        ("/tmp/paddle", "/tmp/jp/run/paddle"),
        // Rules below a view's place are about the files that are there, and the way to them is seen.
        ("/tmp/work/ws/x", "/tmp/work/ws/x"),
        ("/tmp/work/ws", "/tmp/work/ws"),
        ("/tmp/work", "/tmp/work"),
        ("/tmp/work/", "/tmp/work/"),
        ("/tmp/work/other", "/tmp/jp/run/work/other"),
        ("/tmp/in/pad/x", "/tmp/in/pad/x"),
        ("/tmp/jp/run/work/ws/x", "/tmp/work/ws/x"),
        // The backing has its own name, too.
        ("/tmp/jp/run/x", "/tmp/jp/run/x"),
        ("/home/u/.cargo/registry/src/x", "/home/u/.cache/jp/registry/src/x"),
        ("/home/u/.cargo/bin", "/home/u/.cargo/bin"),
    ] {
        let led = views::led(&image, name.as_bytes());
        assert_eq!(String::from_utf8_lossy(&led), expected, "{name}");
    }
}

#[test]
fn the_system_paths_are_led_back_to_names() {
    let bytes = image(&[]);
    let image = Image::parse(&bytes).expect("an image");
    for (path, expected) in [
        ("/tmp/jp/run", "/tmp"),
        ("/tmp/jp/run/x", "/tmp/x"),
        ("/tmp/jp/runner", "/tmp/jp/runner"),
        ("/home/u/.cache/jp/pad/x", "/tmp/pad/x"),
        ("/home/u/.cache/jp/registry", "/home/u/.cargo/registry"),
        ("/home/u/.cargo/registry/x", "/home/u/.cargo/registry/x"),
        ("/tmp/work/ws/x", "/tmp/work/ws/x"),
    ] {
        let led = views::seen(&image, path.as_bytes());
        assert_eq!(String::from_utf8_lossy(&led), expected, "{path}");
    }
}

#[test]
fn a_workspace_in_a_backing_is_led_back() {
    let (grants, shown) = ([grant("/jp/run/ws", Capabilities::ALL)], [view("/tmp", "/jp/run")]);
    let spec = ImageSpec { views: &shown, ..ImageSpec::to_ask(&grants, Path::new("/jp/run/ws")) };
    let bytes = build(&spec).expect("an image");
    let image = Image::parse(&bytes).expect("an image");
    assert_eq!(views::seen(&image, b"/jp/run/ws/x").as_ref(), b"/tmp/ws/x");
    assert_eq!(views::seen(&image, b"/jp/running").as_ref(), b"/jp/running");
}

#[test]
fn a_known_symlink_counts_before_a_view() {
    let bytes = image(&[("/scratch".into(), "/tmp".into())]);
    let image = Image::parse(&bytes).expect("an image");
    let alias = decide::alias(&image, b"/scratch/x").expect("the symlink");
    assert!(!alias.is_view && alias.target == b"/tmp" && alias.end == "/scratch".len());
}

#[test]
fn verdicts_are_about_backings() {
    let bytes = image(&[]);
    let image = Image::parse(&bytes).expect("an image");
    let judge = |path: &str| {
        let request = Request::canonical(path.as_bytes());
        decide::access(&image, &request, Capabilities::CREATE) == Verdict::Allow
    };
    assert!(judge("/tmp/jp/run/x") && judge("/home/u/.cache/jp/registry/x"));
    assert!(!judge("/tmp/x") && !judge("/home/u/.cargo/registry/x"));
}
