//! Runs inside runs with views: an inner run sees its directories through the views of the runs around it.

use macro_rules_attribute::apply;

use crate::layers::row;
use crate::policy_nested::{nested, nested_by, with_product};
use crate::run::Outcome;
use crate::scratch::Scratch;

/// The view of the outermost run.
const VIEW: &str = "--view $OUT/place=$OUT/back";

/// A scratch tree in which the view shows a file, and another directory has one, too.
fn scene() -> Scratch {
    let scratch = with_product();
    for (path, text) in
        [("out/back/f", "shown\n"), ("out/back/proj/file", "project\n"), ("out/other/f", "other\n")]
    {
        scratch.write(path, text);
    }
    scratch.hand_over();
    scratch
}

fn assert_stdout(scratch: &Scratch, run: &Outcome, expected: &str) {
    assert_eq!(run.stdout, scratch.expand(expected), "{run}");
    assert!(!scratch.out().join("place").exists(), "the real place: {run}");
}

#[apply(row!)]
fn an_outer_view_is_seen_inside() {
    let scratch = scene();
    let script =
        "cat $OUT/place/f; echo new >$OUT/place/new; cd $OUT/place; pwd -P; ls; cd ..; pwd -P";
    let outer = format!("{VIEW} -r $OUT");
    let run = nested(&scratch, &[&outer, "-w $OUT/place -r $OUT"], script);
    assert_stdout(&scratch, &run, "shown\n$OUT/place\nf\nnew\nproj\n$OUT\n");
    assert_eq!(scratch.read("out/back/new"), "new\n");
}

/// The inner policy decides about what the outer view shows.
#[apply(row!)]
fn an_outer_view_grants_nothing_inside() {
    let scratch = scene();
    let script = "cat file; cat $OUT/place/f; echo x >$OUT/place/new";
    let run = nested(&scratch, &[VIEW, ""], script);
    assert_stdout(&scratch, &run, "inside\n");
    run.assert_stderr(&scratch.expand("denied read $OUT/place/f"));
    assert!(!scratch.path("out/back/new").exists(), "{run}");
}

#[apply(row!)]
fn an_inner_view_of_the_same_place_wins() {
    let scratch = scene();
    let script = "cat $OUT/place/f; echo x >$OUT/place/new; ls $OUT/place";
    let outer = format!("{VIEW} -w $OUT/other");
    let run = nested(&scratch, &[&outer, "--view $OUT/place=$OUT/other"], script);
    assert_stdout(&scratch, &run, "other\nf\nnew\n");
    assert!(!scratch.path("out/back/new").exists(), "{run}");
}

#[apply(row!)]
fn an_inner_view_shows_what_an_outer_one_shows() {
    let scratch = scene();
    let script = "cat $OUT/mine/f; echo x >$OUT/mine/new; cd $OUT/mine/proj; pwd -P; cat file";
    let run = nested(&scratch, &[VIEW, "--view $OUT/mine=$OUT/place"], script);
    assert_stdout(&scratch, &run, "shown\n$OUT/mine/proj\nproject\n");
    assert_eq!(scratch.read("out/back/new"), "x\n");
}

#[apply(row!)]
fn three_runs_with_views() {
    let scratch = scene();
    let runs = [
        VIEW,
        "--view $OUT/second=$OUT/place/proj -w $OUT/place",
        "--view $OUT/third=$OUT/second -w $OUT/place/f",
    ];
    let script = "cat $OUT/place/f $OUT/second/file $OUT/third/file; echo x >$OUT/third/new";
    let run = nested(&scratch, &runs, script);
    assert_stdout(&scratch, &run, "shown\nproject\nproject\n");
    assert_eq!(scratch.read("out/back/proj/new"), "x\n");
}

/// The workspace of an inner run that starts in a view stays there, even if the inner run has a view around it.
#[apply(row!)]
fn an_inner_run_starts_in_a_view() {
    let scratch = scene();
    for (inner, listed) in [("-r $OUT/place", "f\nproj\n"), ("--view $OUT/place=$OUT/other", "f\n")]
    {
        let script = scratch.expand(&format!(
            "cd $OUT/place/proj && $WS/bin/inner {inner} -- \
             sh -c 'cat file; pwd -P; echo x >new; cat $OUT/place/proj/new; ls ..'"
        ));
        let run = nested(&scratch, &[&format!("{VIEW} -w $OUT/other")], &script);
        let expected = format!("project\n$OUT/place/proj\nx\n{listed}");
        assert_stdout(&scratch, &run, &expected);
        assert_eq!(scratch.read("out/back/proj/new"), "x\n");
    }
}

/// The inner run's own directory for temporary files may be in an outer view.
#[apply(row!)]
fn the_inner_runs_temporary_files_are_in_a_view() {
    let scratch = scene();
    for starter in [&[][..], &["env", "TMPDIR=$OUT/place"]] {
        let script =
            "echo a >$TMPDIR/x; cat $TMPDIR/x $(mktemp); cat $OUT/place/f; echo b >$OUT/place/y";
        let run = nested_by(&scratch, starter, &[VIEW, "-w $OUT/place"], script);
        assert_stdout(&scratch, &run, "a\nshown\n");
        assert_eq!(scratch.read("out/back/y"), "b\n");
    }
}

/// The inner launcher finds its program and its policy in the outer view.
#[apply(row!)]
fn programs_and_policies_in_an_outer_view() {
    let scratch = scene();
    scratch.copy_program(std::path::Path::new("/bin/cat"), "out/back/reads");
    scratch.write("out/back/p.toml", "[[access.fs]]\npath = \".\"\nread = true\n");
    scratch.hand_over();
    let script = scratch.expand(
        "bin/inner -x $OUT/place -p $OUT/place/p.toml -- $OUT/place/reads file; \
         bin/inner -x $OUT/place -p $OUT/place/p.toml -- sh -c 'echo x >file'",
    );
    let run = nested(&scratch, &[VIEW], &script);
    assert_stdout(&scratch, &run, "inside\n");
    run.assert_stderr("Permission denied");
}
