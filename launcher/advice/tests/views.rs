//! Tests how reports name paths that views show.

use std::path::Path;

use jp_confine_engine::build::{ImageSpec, View};

use super::*;
use crate::compile::image;

#[test]
fn paths_are_named_as_programs_know_them() {
    let grants =
        [grant("/w", R), grant("/home/u/cache", R), grant("/home/u/tool", Capabilities::NONE)];
    let views = [View { place: "/home/u/tool".into(), backing: "/home/u/cache".into() }];
    let spec = ImageSpec { views: &views, ..ImageSpec::to_ask(&grants, Path::new("/w")) };
    let image = image::build_image(&spec).expect("an image");
    let image = image::parse_image(&image).expect("an image");
    let tiers = Tiers::default();
    let advisor = Advisor { image: Some(&image), ..advisor(&grants, &[], &tiers) };
    for (path, name) in [
        ("/home/u/cache/x", "/home/u/tool/x"),
        ("/home/u/cache", "/home/u/tool"),
        ("/home/u/caches", "/home/u/caches"),
        ("example.org:443", "example.org:443"),
    ] {
        assert_eq!(*advisor.named(path.as_bytes()), *name.as_bytes());
    }
    let real = in_line(advisor.advise(&denial("open", "/home/u/tool/x", U)));
    assert_eq!(real, "a view shows /home/u/cache/x there: use that path");
    let shown = in_line(advisor.advise(&denial("open", "/home/u/cache/x", U)));
    assert!(shown.starts_with("-w /home/u/cache/x"), "{shown}");
}
