//! `go`, which makes system calls without libc, with the workspace's own caches.

use std::time::Duration;

use crate::run::{Mode, Run, given};
use crate::scratch::Scratch;

/// A build inside fills the workspace's own caches, and finds the modules that the user has.
#[test]
fn builds_use_the_workspaces_own_caches() {
    let Some(scratch) = given(&["go"], Scratch::new) else { return };
    let module = "home/go/pkg/mod/cache/download/example.org/m/@v";
    scratch.write(&format!("{module}/v1.0.0.info"), "{\"Version\": \"v1.0.0\"}\n");
    scratch.write(&format!("{module}/v1.0.0.mod"), "module example.org/m\n");
    scratch.write(&format!("{module}/v1.0.0.zip"), "");
    scratch.write(
        &format!("{module}/v1.0.0.ziphash"),
        "h1:0000000000000000000000000000000000000000000=",
    );
    scratch.write(
        "home/go/pkg/mod/example.org/m@v1.0.0/m.go",
        "package m\n\nconst Word = \"theirs\"\n",
    );
    scratch.write("ws/go.mod", "module app\n\nrequire example.org/m v1.0.0\n");
    scratch.write(
        "ws/main.go",
        "package main\n\nimport \"example.org/m\"\n\nfunc main() { println(m.Word) }\n",
    );
    let before = scratch.whole_home();
    let build = || {
        Run::new(&scratch, "go", &["build", "-o", "app", "."])
            .limit(Duration::from_secs(400))
            .env("GOFLAGS", "-mod=mod")
            .env("GONOSUMDB", "*")
            .env("GONOSUMCHECK", "1")
            .env("GOFLAGS", "-mod=mod")
            .env("GOPROXY", "off")
            .env("GOTOOLCHAIN", "local")
            .run()
    };
    build().assert_ok();
    let again = build();
    again.assert_ok();
    assert!(!again.stderr.contains("denied"), "{again}");
    Run::new(&scratch, "./app", &[]).mode(Mode::Confined).run().assert_ok().assert_stderr("theirs");
    before.assert_same(&scratch.whole_home());
}
