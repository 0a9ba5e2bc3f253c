//! Tests programs: dynamic ones, scripts, and those that may not run.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use jp_confine_engine::Capabilities;

use super::{Ground, agree, shown, written};

pub(super) fn script(path: &std::path::Path, text: &str) {
    written(path, text);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("set");
}

pub(super) fn run(name: &str) -> String {
    let output = Command::new(name).arg("a").output();
    match output {
        Ok(output) => format!("{:?} {}\n", output.status, String::from_utf8_lossy(&output.stdout)),
        Err(error) => format!("{:?}\n", error.raw_os_error()),
    }
}

#[test]
fn programs_run() {
    agree(|| {
        let mut text = String::new();
        script("s".as_ref(), "#!/bin/sh\necho script $0 $1\n");
        script("nested".as_ref(), "#!./s\n");
        script("nothing".as_ref(), "#!/none\n");
        script("data".as_ref(), "data");
        written("plain".as_ref(), "#!/bin/sh\n");
        for name in [
            "/bin/echo",
            "./s",
            "./nested",
            "./nothing",
            "./data",
            "./plain",
            "./none",
            "./d",
            "./f/x",
        ] {
            let _ = write!(text, "{name} {}", run(name));
        }
        text
    });
}

#[test]
fn programs_are_refused() {
    let ground = Ground::new(&[("d", Capabilities::READ)]);
    std::fs::copy("/bin/true", ground.path("d/true")).expect("copied");
    script(&ground.path("d/script"), "#!/bin/sh\n");
    script(&ground.path("s"), &format!("#!{}\n", ground.path("d/true").display()));
    let (text, denials) = ground.trapped(|| run("d/true") + &run("d/script") + &run("./s"));
    assert_eq!(text, "Some(13)\n".repeat(3), "{:?}", shown(&denials));
    assert_eq!(denials.len(), 3);
}
