//! Workspaces and grants so wide that the system's own programs may be changed.

use crate::layers::Holder;
use crate::run::{Mode, Run};
use crate::scratch::Scratch;

/// A path below is denied that may appear later. So the supervisor judges each start of a program.
const WIDE: &[&str] = &["-w", "/usr", "--deny", "/usr/share/not-there"];

/// Where other layers confine programs without the library, the loader is a program like others.
#[test]
fn programs_start_where_the_loader_may_be_changed() {
    let scratch = Scratch::new();
    let run = |line: &str| Run::sh(&scratch, &scratch.expand(line)).flags(WIDE).run();
    if Holder::under_test() == Holder::Library && Mode::under_test() == Mode::Confined {
        let refused = run("cat file");
        refused.assert_code(126).assert_stderr("the run may change it").assert_stderr("doctor");
        return;
    }
    run("cat file").assert_ok().assert_stdout("inside");
    run("cat $OUT/secret").assert_no_secret();
}

/// The library alone says why no program runs, and what to do.
#[test]
fn the_library_alone_refuses_a_loader_that_may_be_changed() {
    let scratch = Scratch::new();
    let flags = [WIDE, &["--enforce=cooperative"]].concat();
    let run = Run::new(&scratch, "true", &[]).flags(&flags).run();
    run.assert_code(126).assert_stderr("the run may change it").assert_stderr("smaller workspace");
}
