//! Runs the rows that matter most in a Go program, whose runtime has no libc: static, threaded, with its own system
//! calls. Only the supervisor and Landlock confine it.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use macro_rules_attribute::apply;

use crate::attack::{arena, assert_refused_to, set_up};
use crate::layers::{Holder, row};
use crate::run::skip;
use crate::scratch::Scratch;
use crate::session::Session;

const PROGRAM: &str = "ws/bin/go-attack";

/// The program, compiled once by `go` or by the command in `JP_CONFINE_TEST_GO`. `None` without either.
fn compiled() -> Option<&'static PathBuf> {
    static BUILT: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let go = std::env::var("JP_CONFINE_TEST_GO").unwrap_or("go".to_owned());
        let dir = tempfile::tempdir().expect("a folder for the program");
        let path = dir.path().join("go-attack");
        let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/layers/go");
        let mut command = Command::new(go);
        command.args(["build", "-o"]).arg(&path).args(["main.go", "raw.go"]).current_dir(sources);
        command.env("GO111MODULE", "off").env("CGO_ENABLED", "0").env("GOCACHE", dir.path());
        command.env("GOFLAGS", "");
        let output = command.output().ok()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the program does not compile: {errors}");
        Some((dir, path))
    });
    built.as_ref().map(|(_, path)| path)
}

/// Returns a function that plants a scratch tree with the program. If that is impossible, says so and returns `None`.
fn planter(tree: fn() -> Scratch) -> Option<impl Fn() -> Scratch> {
    if Holder::under_test() == Holder::Library {
        skip("the library alone starts no static program");
        return None;
    }
    let Some(program) = compiled() else {
        skip("no go");
        return None;
    };
    Some(move || {
        let scratch = arena(tree());
        scratch.copy_program(program, PROGRAM);
        scratch.hand_over();
        scratch
    })
}

macro_rules! rows {
    ($($name:ident: $setup:literal, $call:literal => $expected:literal;)*) => {
        $(
            crate::layers::row! {
                fn $name() {
                    if let Some(plant) = planter(Scratch::new) {
                        assert_refused_to(PROGRAM, &plant, $setup, $call, $expected);
                    }
                }
            }
        )*
    };
}

rows! {
    open: "", "open $OUT/secret" => "EACCES";
    open_by_link: "ln -s $OUT/secret l", "open l" => "EACCES";
    open_above: "", "open ../out/secret" => "EACCES";
    open_after_chdir: "", "chdir_open $OUT secret" => "EACCES";
    open_by_descriptor: "", "openat $OUT secret" => "EACCES";
    open_by_openat2: "", "openat2 $OUT/secret" => "EACCES";
    hidden: "", "open $HOME/.private/key" => "EACCES|ENOENT";
    write: "", "write $OUT/target" => "EACCES";
    write_by_link: "ln -s $OUT/target l", "write l" => "EACCES";
    append: "", "append $OUT/target" => "EACCES";
    create: "", "creat $OUT/new" => "EACCES";
    create_by_dangling_link: "ln -s $OUT/new l", "creat l" => "EACCES";
    create_exclusively: "", "creat_excl $OUT/new" => "EACCES";
    truncate: "", "truncate $OUT/target" => "EACCES";
    truncate_by_number: "", "raw_truncate $OUT/target" => "EACCES";
    list: "", "opendir $OUT" => "EACCES";
    walk: "", "walk $OUT" => "EACCES";
    make_directory: "", "mkdir $OUT/new" => "EACCES";
    remove: "", "unlink $OUT/target" => "EACCES";
    remove_directory: "", "rmdir $OUT/empty" => "EACCES";
    move_in: "", "rename $OUT/secret got" => "EACCES";
    move_out: "", "rename file $OUT/got" => "EACCES";
    link_in: "", "link $OUT/secret got" => "EACCES";
    link_out: "", "link file $OUT/got" => "EACCES";
    symlink_out: "", "symlink x $OUT/got" => "EACCES";
    fifo: "", "mkfifo $OUT/got" => "EACCES";
    mode: "", "chmod $OUT/target" => "EACCES";
    owner: "", "chown $OUT/target" => "EACCES";
    times: "", "utimes $OUT/target" => "EACCES";
    set_attribute: "", "setxattr $OUT/target" => "EACCES";
    get_attribute: "$ATTACK setxattr $OUT/target user.k", "getxattr $OUT/target" => "EACCES";
    socket: "", "bind $OUT/socket" => "EACCES";
    connection: "bin/go-attack serve $OUT/socket > serving 2>&1 & while ! test -S $OUT/socket; do sleep 0.01; done",
        "connect $OUT/socket" => "EACCES";
    program: "cp $ATTACK $OUT/program", "exec $OUT/program" => "EACCES";
    root: "", "raw_chroot $OUT" => "EPERM";
    ring: "", "raw_io_uring" => "ENOSYS";
}

/// Rules that Landlock cannot express, in one tree.
const POLICY: &str = "
[[access.fs]]\npath = 'bin'\nread = true\nexecute = true
[[access.fs]]\npath = 'readable'\nread = true
[[access.fs]]\npath = 'readable/not'
[[access.fs]]\npath = 'new'\ncreate = true
[[access.fs]]\npath = 'old'\nread = true\nupdate = true
[[access.fs]]\npath = 'free'\nread = true\nwrite = true
[[access.fs]]\npath = 'free/kept'\nread = true
";

const ANSWERS: &[(&str, &str)] = &[
    ("open readable/f", "ok"),
    ("open readable/not/f", "EACCES"),
    ("open readable/missing", "ENOENT"),
    ("open new/f", "EACCES"),
    ("creat_excl new/fresh", "ok"),
    ("creat new/f", "EACCES"),
    ("mkdir new/d", "ok"),
    ("unlink new/f", "EACCES"),
    ("write old/f", "ok"),
    ("append old/f", "ok"),
    ("truncate old/f", "ok"),
    ("chmod old/f", "ok"),
    ("setxattr old/f", "ok"),
    ("getxattr old/f", "ok"),
    ("creat old/fresh", "EACCES"),
    ("unlink old/f", "EACCES"),
    ("write free/f", "ok"),
    ("rename free/f free/g", "ok"),
    ("rename free/g old/g", "EACCES"),
    ("link free/g free/h", "ok"),
    ("symlink x free/l", "ok"),
    ("unlink free/h", "ok"),
    ("write free/kept/f", "EACCES"),
    ("unlink free/kept/f", "EACCES"),
    ("rename free/kept free/moved", "EACCES"),
    ("rmdir free/d", "ok"),
    ("mkfifo free/fifo", "ok"),
    ("bind free/socket", "ok"),
    ("exec bin/attack", "ok"),
    ("walk free", "ok"),
    ("open /proc/self/status", "ok"),
];

fn assert_answers(tree: fn() -> Scratch) {
    let Some(plant) = planter(tree) else { return };
    let scratch = plant();
    let setup = "for d in readable readable/not new old free free/kept free/d; do mkdir -p $d;
        test $d = free/d || echo x > $d/f; done";
    set_up(&scratch, setup);
    let policy = scratch.path("policy.toml");
    std::fs::write(&policy, POLICY).expect("a policy");
    scratch.hand_over();
    let mut session = Session::start(&scratch, PROGRAM, &format!("-p {}", policy.display()));
    for (line, expected) in ANSWERS {
        let said = session.call(&scratch, line);
        assert_eq!(said.split(' ').next(), Some(*expected), "{line}: {said}");
    }
}

#[apply(row!)]
fn narrow_rules_under_broad_ones() {
    assert_answers(Scratch::new);
}

#[apply(row!)]
fn narrow_rules_for_an_ordinary_user() {
    assert_answers(Scratch::for_ordinary_user);
}
