//! Runs inside runs: a denial by either policy counts. If a program makes up an image for an inner run, it gains
//! nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Beyond, Grant, GrantKind, ImageSpec, Origin, build};
use macro_rules_attribute::apply;

use crate::attack::{Linking, arena_with};
use crate::layers::row;
use crate::run::{Mode, Outcome, PRODUCT, Run, have, skip};
use crate::scratch::Scratch;

/// A scratch tree with the product in its workspace.
pub(crate) fn with_product() -> Scratch {
    stocked(Scratch::new())
}

/// The same for an ordinary user, who has the library among their own data.
fn ordinary_with_product() -> Scratch {
    stocked(Scratch::for_ordinary_user())
}

fn stocked(scratch: Scratch) -> Scratch {
    scratch.copy_program(Path::new(PRODUCT), "ws/bin/inner");
    scratch.write("ws/dir/file", "inside\n");
    scratch.hand_over();
    scratch
}

/// Runs `script` in runs with these options, the outermost first. Bare, there are no runs around it.
pub(crate) fn nested(scratch: &Scratch, runs: &[&str], script: &str) -> Outcome {
    nested_by(scratch, &[], runs, script)
}

/// As [`nested`], with `starter` in front of what the outermost run starts.
pub(crate) fn nested_by(
    scratch: &Scratch,
    starter: &[&str],
    runs: &[&str],
    script: &str,
) -> Outcome {
    let script = scratch.expand(script);
    let Some((outermost, inner)) = runs.split_first() else { panic!("no run") };
    let mut words: Vec<String> = starter.iter().map(|word| scratch.expand(word)).collect();
    if Mode::under_test() == Mode::Confined {
        for options in inner {
            words.push("bin/inner".to_owned());
            words.extend(scratch.expand(options).split_whitespace().map(str::to_owned));
            words.push("--".to_owned());
        }
    }
    words.extend(["sh".to_owned(), "-c".to_owned(), script]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outermost = scratch.expand(outermost);
    let flags: Vec<&str> = outermost.split_whitespace().collect();
    Run::new(scratch, words[0], &words[1..]).flags(&flags).run()
}

#[apply(row!)]
fn the_inner_policy_restricts() {
    let scratch = with_product();
    let run = nested(&scratch, &["", "-v --deny dir"], "cat file; ! cat dir/file; ! rm dir/file");
    assert_restricted(&run);
    run.assert_stderr("denied read dir/file").assert_stderr("flag --deny dir");
}

#[apply(row!)]
fn the_outer_policy_restricts() {
    let scratch = with_product();
    let run = nested(&scratch, &["--deny dir", "-w dir"], "cat file; ! cat dir/file");
    assert_restricted(&run);
}

/// If the product looks at the machine, that is no denial either.
#[apply(row!)]
fn a_look_at_the_machine_is_no_denial() {
    let scratch = with_product();
    let doctor =
        nested(&scratch, &["--deny dir"], "cat file; ! cat dir/file; bin/inner doctor >&2");
    assert_restricted(&doctor);
    doctor.assert_stderr("1 denial did not matter").assert_stderr("userns      no");
}

/// Data that the inner run would keep about itself does not appear in the outer run's report.
#[apply(row!)]
fn the_outer_report_is_of_programs() {
    let scratch = with_product();
    let run = nested(&scratch, &["--deny dir", ""], "cat file; ! cat dir/file");
    assert_restricted(&run);
    assert!(!run.stderr.contains("jp-confine's own data"), "{run}");
}

#[apply(row!)]
fn a_grant_inside_gives_nothing() {
    let scratch = with_product();
    let script = "cat file; ! cat $OUT/secret; ! touch $OUT/new";
    let run = nested(&scratch, &["", "-w $OUT -r /"], script);
    run.assert_no_secret();
    assert_restricted(&run);
    assert!(!scratch.out().join("new").exists());
}

#[apply(row!)]
fn the_library_alone_outside() {
    let scratch = with_product();
    let runs = ["--enforce=cooperative --deny dir", ""];
    assert_restricted(&nested(&scratch, &runs, "cat file; ! cat dir/file"));
}

#[apply(row!)]
fn three_runs() {
    let scratch = with_product();
    assert_restricted(&nested(&scratch, &["", "", "--deny dir"], "cat file; ! cat dir/file"));
}

/// Whatever home the inner run has, its programs load the library that the outer run installed.
fn assert_restricted_by(scratch: &Scratch, starter: &[&str]) {
    for runs in [["", "--deny dir"], ["", "--deny dir --enforce=cooperative"]] {
        let run = nested_by(scratch, starter, &runs, "cat file; ! cat dir/file");
        assert_restricted(&run);
    }
}

#[apply(row!)]
fn another_home_inside() {
    let scratch = with_product();
    assert_restricted_by(&scratch, &["env", "HOME=$OUT/home"]);
    assert_restricted_by(&scratch, &["env", "XDG_DATA_HOME=$OUT/data"]);
}

#[apply(row!)]
fn another_home_inside_for_an_ordinary_user() {
    let scratch = ordinary_with_product();
    assert_restricted_by(&scratch, &["env", "HOME=$OUT/home"]);
    assert_restricted_by(&scratch, &["env", "HOME=/"]);
}

#[apply(row!)]
fn no_home_inside() {
    let scratch = ordinary_with_product();
    assert_restricted_by(&scratch, &["env", "-u", "HOME"]);
    assert_restricted_by(&scratch, &["env", "-i"]);
}

/// Neither run can install the library among the user's own data.
#[apply(row!)]
fn no_home_at_all() {
    let scratch = ordinary_with_product();
    let line = ["bin/inner", "--deny", "dir", "--", "sh", "-c", "cat file; ! cat dir/file"];
    let line = if Mode::under_test() == Mode::Confined { &line } else { &line[4..] };
    let run = Run::new(&scratch, line[0], &line[1..]).env("HOME", "/").run();
    assert_restricted(&run);
}

/// A user who is root outside and not inside would have another place for the library.
#[apply(row!)]
fn root_outside_and_an_ordinary_user_inside() {
    if !rustix::process::geteuid().is_root() || !have("setpriv") {
        return skip("only root becomes another user, by setpriv");
    }
    let scratch = with_product();
    let starter = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let starter = [&starter[..], &["env", "TMPDIR=$WS"]].concat();
    for path in [scratch.path(""), scratch.ws()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("open to all");
    }
    assert_restricted_by(&scratch, &starter);
}

/// The library has room for a limited number of runs.
#[apply(row!)]
fn too_many_runs() {
    let scratch = with_product();
    let run = nested(&scratch, &[""; 9], "touch ran");
    run.assert_code(125).assert_stderr("inside each other");
    assert!(!scratch.ws().join("ran").exists());
}

fn assert_restricted(run: &Outcome) {
    run.assert_ok().assert_stdout("inside").assert_stderr("Permission denied");
    assert_eq!(run.stdout.matches("inside").count(), 1, "{run}");
}

/// The inner policy does not apply to programs that avoid libc, and the start says so. The outer one does.
#[apply(row!)]
fn a_supervised_run_leaves_the_inner_policy_to_the_library() {
    let scratch = arena_with(Linking::Dynamic, with_product());
    let outer = "--enforce=layered --deny dir/target";
    let script =
        "bin/attack i_open dir/target; bin/attack open dir/file; bin/attack landlock open file";
    let run = nested(&scratch, &[outer, "--deny dir"], script);
    run.assert_stderr("this one by the library alone").assert_stderr("by the outer policy only");
    assert_eq!(run.stdout, "EACCES\nEACCES\nEOPNOTSUPP\n", "{run}");
}

/// Where no supervisor acts for programs, Landlock backs the inner policy.
#[apply(row!)]
fn landlock_holds_the_inner_policy_where_there_is_no_supervisor() {
    let scratch = arena_with(Linking::Dynamic, with_product());
    let outer = "--enforce=cooperative -w $OUT";
    let script =
        "bin/attack i_open $OUT/secret; bin/attack i_creat $OUT/new; bin/attack i_open file";
    let run = nested(&scratch, &[outer, ""], script);
    run.assert_stderr("this one by library and Landlock;").assert_no_secret();
    assert_eq!(run.stdout, "EACCES\nEACCES\nok inside\n", "{run}");
}

/// No run goes on with weaker enforcement than was ordered.
#[apply(row!)]
fn strict_is_not_to_be_had_inside() {
    let scratch = with_product();
    for outer in ["--enforce=layered", "--enforce=strict", "--enforce=cooperative"] {
        let run = nested(&scratch, &[outer, "--enforce strict"], "touch ran");
        run.assert_code(125).assert_stderr("start it outside of that run");
        assert!(!scratch.ws().join("ran").exists(), "{run}");
    }
}

/// A program adds an image of its own. It grants everything, names another library, and names a forbidden file as the
/// record of denials.
#[apply(row!)]
fn an_image_made_up_inside() {
    if !have("python3") {
        return skip("no python3");
    }
    let scratch = with_product();
    fs::write(scratch.ws().join("image"), made_up(&scratch)).expect("an image");
    let script = "\
import fcntl, os
fd = os.memfd_create('image', os.MFD_ALLOW_SEALING)
os.write(fd, open('image', 'rb').read())
fcntl.fcntl(fd, 1033, 15)
os.set_inheritable(fd, True)
os.environ['JP_CONFINE'] = os.environ.get('JP_CONFINE', '') + ':%d' % fd
os.execvp('sh', ['sh', '-c', os.environ['SCRIPT']])
";
    let commands =
        scratch.expand("cat $OUT/secret; env -i cat $OUT/secret; touch $OUT/new; cat file");
    let before = scratch.forbidden();
    scratch.hand_over();
    let run = Run::new(&scratch, "python3", &["-c", script]).env("SCRIPT", &commands).run();
    run.assert_stdout("inside").assert_no_secret();
    before.assert_same(&scratch.forbidden());
}

fn made_up(scratch: &Scratch) -> Vec<u8> {
    let origin = Origin::Product { why: "test".to_owned() };
    let everything = Grant::new("/".into(), Capabilities::ALL, GrantKind::Plain, origin);
    let record = scratch.out().join("target");
    build(&ImageSpec {
        grants: &[everything],
        tiers: None,
        beyond: Beyond::default(),
        workspace: Path::new("/"),
        volumes: &[],
        aliases: &[],
        views: &[],
        session: 0,
        shim_path: &scratch.ws().join("other.so"),
        events_path: &record,
        temp_dir: Path::new("/tmp"),
        shared_page: &record,
        json: b"{}",
    })
    .expect("an image")
}
