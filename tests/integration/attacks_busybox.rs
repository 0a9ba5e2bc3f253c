//! Runs ordinary tools without any libc that the library supports: a static busybox, which only the supervisor and
//! Landlock confine. Each row must end as it does for the system's own tools under the library.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use macro_rules_attribute::apply;

use crate::attack::set_up;
use crate::layers::{Holder, row, share};
use crate::run::{Mode, Run, skip};
use crate::scratch::{SECRET, Scratch};

/// Where Debian's package `busybox-static` installs it. `JP_CONFINE_TEST_BUSYBOX` names another.
pub(crate) fn busybox() -> Option<PathBuf> {
    let named = std::env::var_os("JP_CONFINE_TEST_BUSYBOX").map(PathBuf::from);
    let program = named.unwrap_or_else(|| "/bin/busybox".into());
    // The loader of a dynamic program would complain.
    let run = Command::new(&program).arg("true").env("LD_PRELOAD", "/nowhere").output().ok()?;
    (run.status.success() && run.stderr.is_empty()).then_some(program)
}

/// In `a/` everything may be read, in `b/` entries may be created, and in `c/` everything may be changed but `c/kept`.
const POLICY: &str = "
[[access.fs]]\npath = 'bin'\nread = true\nexecute = true
[[access.fs]]\npath = 'a'\nread = true
[[access.fs]]\npath = 'b'\nread = true\ncreate = true
[[access.fs]]\npath = 'c'\nread = true\nwrite = true
[[access.fs]]\npath = 'c/kept'\nread = true
";

const SETUP: &str = "mkdir -p a/d b c/d c/kept; echo text > a/f; echo text > b/f; echo text > c/f;
    echo text > c/g; echo text > c/kept/f; ln -s $OUT/secret c/link; ln -s $OUT c/out; cp a/f c/kept/g;
    ln -s c ways; tar -cf a/archive c/f; printf 'out\\n' > a/new; printf '#!/bin/sh\\ntrue\\n' > c/script";

/// The tools that the rows call.
const TOOLS: &str = "sh cat ls grep head cp touch rm mv mkdir rmdir chmod ln mkfifo tar sed dd truncate find test readlink";

/// A line for the shell, and whether it must succeed.
const ROWS: &[(&str, bool)] = &[
    ("cat a/f", true),
    ("cat $OUT/secret", false),
    ("cat c/link", false),
    ("cat c/out/secret", false),
    ("cat c/../../out/secret", false),
    ("cd $OUT && cat secret", false),
    ("cat < $OUT/secret", false),
    ("ls a", true),
    ("ls $OUT", false),
    ("ls c/out/", false),
    ("grep -r TOP $OUT", false),
    ("head -1 c/f", true),
    ("cp a/f c/copied", true),
    ("cp a/f b/copied", true),
    ("cp a/f a/copied", false),
    ("cp $OUT/secret c/got", false),
    ("cp c/link c/got", false),
    ("cp c/f b/f", false),
    ("cp c/f $OUT/new", false),
    ("cp c/f c/out/new", false),
    ("echo x > c/f", true),
    ("echo x > c/fresh", true),
    ("echo x > b/fresh", true),
    ("echo x > b/f", false),
    ("echo x >> b/f", false),
    ("echo x > a/f", false),
    ("echo x > $OUT/target", false),
    ("echo x > c/link", false),
    ("echo x > c/kept/f", false),
    ("echo x > ways/f", true),
    ("echo x > ways/kept/new", false),
    ("touch c/fresh", true),
    ("touch c/f", true),
    ("touch a/f", false),
    ("touch a/fresh", false),
    ("touch $OUT/fresh", false),
    ("rm -f c/f", true),
    ("rm -f c/link && test -e $OUT/secret", true),
    ("rm a/f", false),
    ("rm b/f", false),
    ("rm c/kept/f", false),
    ("rm -rf c", false),
    ("rm $OUT/target", false),
    ("rm c/out/target", false),
    ("mv c/f c/moved", true),
    ("mv c/f b/moved", true),
    ("mv c/f a/moved", false),
    ("mv a/f c/moved", false),
    ("mv b/f c/moved", false),
    ("mv -f c/f c/g", true),
    ("mv -f c/f b/f", false),
    ("mv c/f $OUT/moved", false),
    ("mv c/kept c/d/kept", false),
    ("mv $OUT/secret c/got", false),
    ("mv $OUT/dir c/got", false),
    ("mkdir c/new", true),
    ("mkdir -p c/n/e/w", true),
    ("mkdir b/new", true),
    ("mkdir a/new.d", false),
    ("mkdir $OUT/new", false),
    ("mkdir c/out/new", false),
    ("mkdir c/kept/new", false),
    ("rmdir c/d", true),
    ("rmdir a/d", false),
    ("rmdir $OUT/empty", false),
    ("chmod 600 c/f", true),
    ("chmod 600 a/f", false),
    ("chmod 600 c/kept/f", false),
    ("chmod 600 $OUT/target", false),
    ("chmod 600 c/link", false),
    ("ln c/f c/other", true),
    ("ln a/f c/other", false),
    ("ln c/kept/f c/other", false),
    ("ln $OUT/secret c/got", false),
    ("ln -s anything c/other", true),
    ("ln -s anything b/other", true),
    ("ln -s anything a/other", false),
    ("ln -s anything $OUT/other", false),
    ("mkfifo c/fifo", true),
    ("mkfifo $OUT/fifo", false),
    ("tar -xf a/archive -C c", true),
    ("tar -xf a/archive -C b", false),
    ("tar -xf a/archive -C $OUT", false),
    ("tar -cf c/packed $OUT", false),
    ("tar -cf c/packed a", true),
    ("sed -i s/text/other/ c/f", true),
    ("sed -i s/text/other/ a/f", false),
    ("sed -i s/text/other/ c/kept/f", false),
    ("sed -i s/T/t/ $OUT/target", false),
    ("dd if=$OUT/secret of=c/got", false),
    ("dd if=a/f of=c/got", true),
    ("dd if=a/f of=$OUT/target conv=notrunc", false),
    ("truncate -s 0 c/f", true),
    ("truncate -s 0 a/f", false),
    ("truncate -s 0 $OUT/target", false),
    ("find c/d", true),
    ("find $OUT", false),
    ("chmod 700 c/script && ./c/script", false),
    ("cat /proc/self/status", true),
    ("cat /proc/self/environ", true),
    ("readlink c/link", true),
];

/// A shell and the tools that it finds.
#[derive(Clone, Copy)]
struct Tools<'a> {
    /// Shell code to run before each row.
    prologue: &'a str,
    /// Creates the tree, with the shell as `bin/sh`.
    plant: &'a dyn Fn() -> Scratch,
}

impl Tools<'_> {
    /// Whether a row succeeds in a fresh tree. It may neither show nor change anything forbidden.
    fn succeed(self, line: &str, mode: Mode) -> bool {
        let scratch = (self.plant)();
        set_up(&scratch, SETUP);
        let policy = scratch.path("policy.toml");
        std::fs::write(&policy, POLICY).expect("a policy");
        scratch.hand_over();
        let before = scratch.forbidden();
        let flags = ["-p", policy.to_str().expect("UTF-8")];
        let line = scratch.expand(&format!("{}\n{line}", self.prologue));
        let run = Run::new(&scratch, "bin/sh", &["-c", &line]).flags(&flags).mode(mode).run();
        if mode == Mode::Confined {
            assert!(!run.stdout.contains(SECRET), "{run}");
            before.assert_same(&scratch.forbidden());
            scratch.assert_nothing_leaked();
        }
        run.code() == 0
    }

    /// Fails, and lists the rows that end otherwise than the table says. Each row is for one of `holders`.
    fn assert_rows(self, holders: &'static [Holder], mode: Mode) {
        let differs = |&&(line, succeeds): &&(&str, bool)| {
            self.succeed(line, mode) != (succeeds || mode == Mode::Bare)
        };
        let different: Vec<_> =
            share(holders, ROWS).filter(differs).map(|(line, _)| line).collect();
        assert!(different.is_empty(), "otherwise than expected: {different:#?}");
    }
}

fn assert_rows_of_busybox(tree: fn() -> Scratch) {
    let Some(program) = busybox() else { return skip("no static busybox") };
    if Holder::under_test() == Holder::Library {
        return skip("the library alone starts no static program");
    }
    let plant = || {
        let scratch = tree();
        scratch.copy_program(&program, "ws/bin/busybox");
        for tool in TOOLS.split(' ') {
            symlink("busybox", scratch.path("ws/bin").join(tool)).expect("a link");
        }
        scratch.hand_over();
        scratch
    };
    let tools = Tools { prologue: "PATH=$PWD/bin", plant: &plant };
    tools.assert_rows(&Holder::OF_STATIC, Mode::under_test());
    assert_eq!(Mode::under_test(), Mode::Confined, "every row succeeds bare");
}

/// Without confinement all rows must succeed, or they would prove nothing.
#[apply(row!)]
fn rows_of_the_system_s_tools() {
    let plant = || {
        let scratch = Scratch::new();
        scratch.copy_program("/bin/sh".as_ref(), "ws/bin/sh");
        scratch
    };
    let tools = Tools { prologue: "", plant: &plant };
    tools.assert_rows(&Holder::ALL, Mode::Bare);
    tools.assert_rows(&Holder::ALL, Mode::under_test());
    assert_eq!(Mode::under_test(), Mode::Confined, "every row succeeds bare");
}

/// Landlock's right to execute moves along with the directory that it applies to.
#[apply(row!)]
fn programs_do_not_start_where_they_were_moved_to() {
    let Some(program) = busybox() else { return skip("no static busybox") };
    if Holder::under_test() == Holder::Library {
        return skip("the library alone starts no static program");
    }
    let rule =
        |path: &str, caps: &str| format!("[[access.fs]]\npath = '{path}'\nread = true\n{caps}");
    let scratch = Scratch::new();
    scratch.copy_program(&program, "ws/bin/busybox");
    set_up(&scratch, "mkdir data");
    let execute = rule(".", "execute = true\n") + &rule("bin", "write = true\nexecute = true\n");
    scratch.write("policy.toml", &(execute + &rule("data", "write = true\n")));
    let policy = scratch.path("policy.toml");
    let line = "bin/busybox mv bin data/bin && ! data/bin/busybox echo TOPSECRET";
    let run = Run::new(&scratch, "bin/busybox", &["sh", "-c", line]);
    let run = run.flags(&["-v", "-p", policy.to_str().expect("UTF-8")]).run();
    run.assert_ok().assert_no_secret().assert_stderr("denied execute data/bin/busybox");
}

#[apply(row!)]
fn rows_of_a_static_busybox() {
    assert_rows_of_busybox(Scratch::new);
}

#[apply(row!)]
fn rows_of_a_static_busybox_for_an_ordinary_user() {
    assert_rows_of_busybox(Scratch::for_ordinary_user);
}
