//! Attacks with programs that every system has: shells, interpreters, the loader, static programs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use macro_rules_attribute::apply;

use crate::attack::{answer, arena, set_up};
use crate::cli_status::product;
use crate::layers::{Difference, Holder, leave_out_like_rows, once_in_a_row, row};
use crate::run::{Mode, Outcome, Run, given, have, skip};
use crate::scratch::{SECRET, Scratch};

/// `name: "program", "script";` or `name: "program", "setup", "script";`. The setup runs bare first. The script prints
/// `started`, and then the secret if it can.
macro_rules! scripts {
    ($($name:ident: $program:literal, $($script:literal),+;)*) => {
        $(
            crate::layers::row! {
                fn $name() {
                    let (script, setup) = [$($script),+].split_last().map_or(("", ""), |(last, first)| {
                        (*last, first.first().copied().unwrap_or_default())
                    });
                    crate::attacks_programs::assert_script_fails($program, setup, script);
                }
            }
        )*
    };
}

pub(crate) use scripts;

scripts! {
    cat: "cat", "cat $OUT/secret";
    redirection: "sh", "read line < $OUT/secret; echo $line";
    redirection_to_write: "sh", "echo x > $OUT/new && echo TOPSECRET";
    redirection_to_append: "bash", "bash -c 'echo x >> $OUT/target' && echo TOPSECRET";
    shell_glob: "sh", "for f in $OUT/se*; do case $f in *secret) echo TOPSECRET;; esac; done";
    empty_environment: "env", "env -i cat $OUT/secret";
    empty_environment_shell: "env", "env -i sh -c 'cat $OUT/secret'";
    preload_taken_away: "sh", "unset LD_PRELOAD; cat $OUT/secret";
    preload_replaced: "sh", "LD_PRELOAD=libm.so.6 cat $OUT/secret";
    libc_preloaded: "sh", "LD_PRELOAD=libc.so.6 cat $OUT/secret";
    libc_preloaded_before: "sh", "LD_PRELOAD=libc.so.6:$LD_PRELOAD cat $OUT/secret";
    handle_taken_away: "sh", "unset JP_CONFINE; cat $OUT/secret";
    descriptors_closed: "bash", "bash -c 'for fd in {3..255}; do eval \"exec $fd>&-\"; done; exec cat $OUT/secret'";
    pipeline: "xargs", "echo $OUT/secret | xargs cat";
    find_exec: "find", "find file -exec cat $OUT/secret ';'";
    background_session: "setsid", "setsid -w cat $OUT/secret";
    double_fork: "setsid", "(setsid -w sh -c '(cat $OUT/secret; :) & wait') & wait";
    nohup: "nohup", "nohup cat $OUT/secret";
    planted_link: "ln", "ln -s $OUT d; cat d/secret";
    copied_out: "cp", "cp file $OUT/new && echo TOPSECRET";
    hard_link: "ln", "ln $OUT/secret got && cat got";
    moved_in: "mv", "mv $OUT/secret got && cat got";
    archive: "tar", "tar -C $OUT -cf got.tar secret && tar -xOf got.tar secret";
    mapped_by_dd: "dd", "dd if=$OUT/secret status=none";
    mapped_by_grep: "grep", "grep -r TOP $OUT";
    tail: "tail", "tail -n1 $OUT/secret";
    head: "head", "head -n1 $OUT/secret";
    sed: "sed", "sed -n p $OUT/secret";
    awk: "awk", "awk 1 $OUT/secret";
    python_closes_descriptors: "python3", "python3 -c \"import subprocess; subprocess.run(['cat', '$OUT/secret'], close_fds=True)\"";
    python_empty_environment: "python3", "python3 -c \"import subprocess; subprocess.run(['/bin/cat', '$OUT/secret'], env={})\"";
    python_open: "python3", "python3 -c \"print(open('$OUT/secret').read())\"";
    python_directory_descriptor: "python3", "python3 -c \"import os; d = os.open('..', os.O_RDONLY | os.O_DIRECTORY); print(os.read(os.open('out/secret', os.O_RDONLY, dir_fd=d), 99))\"";
    python_asks_the_loader: "python3", "python3 -c \"import ctypes, os; libc = ctypes.CDLL('libc.so.6'); print(os.read(libc.open(b'$OUT/secret', 0), 99))\"";
    python_asks_the_loader_for_a_stream: "python3", "python3 -c \"import ctypes; libc = ctypes.CDLL('libc.so.6'); libc.fopen.restype = libc.fgets.restype = ctypes.c_void_p; f = libc.fopen(b'$OUT/secret', b'r'); s = ctypes.create_string_buffer(99); f and libc.fgets(s, 99, ctypes.c_void_p(f)); print(s.value)\"";
    perl_open: "perl", "perl -e 'open(F, \"$ARGV[0]\") && print <F>' $OUT/secret";
    loader_called_directly: "sh", "for ld in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do test ! -e $ld || $ld /bin/cat $OUT/secret; done";
    loader_called_with_empty_environment: "sh", "for ld in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do test ! -e $ld || env -i $ld /bin/cat $OUT/secret; done";
    loader_told_to_audit: "cc",
        "printf '#include <fcntl.h>\n#include <unistd.h>\nunsigned la_version(unsigned v) { char s[99]; \
            int f = open(FILE, O_RDONLY); return f < 0 || write(1, s, read(f, s, 99)) < 0 ? v : v; }' > a.c
        cc -shared -fPIC -DFILE=\"\\\"$OUT/secret\\\"\" -o audit.so a.c",
        "LD_AUDIT=$WS/audit.so cat file";
    loader_told_to_log: "sh",
        "LD_DEBUG=files LD_DEBUG_OUTPUT=$OUT/log cat file; for f in $OUT/log*; do test ! -e $f || echo TOPSECRET; done";
    loader_told_to_profile: "sh",
        "LD_PROFILE=libc.so.6 LD_PROFILE_OUTPUT=$OUT cat file; test ! -e $OUT/libc.so.6.profile || echo TOPSECRET";
    program_that_profiles_itself: "gcc",
        "echo 'int main(void) { return 0; }' > p.c; gcc -pg -o profiled p.c",
        "GMON_OUT_PREFIX=$OUT/counts ./profiled; for f in $OUT/counts*; do test ! -e $f || echo TOPSECRET; done";
    loader_told_to_preload: "sh", "for ld in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do test ! -e $ld || $ld --preload libm.so.6 /bin/cat $OUT/secret; done";
}

fn run(scratch: &Scratch, mode: Mode, script: &str) -> Outcome {
    let script = scratch.expand(&format!("echo started; {script}"));
    Run::sh(scratch, &script).mode(mode).run()
}

pub(crate) fn assert_script_fails(program: &str, setup: &str, script: &str) {
    if !have(program) {
        return;
    }
    leave_out_like_rows();
    once_in_a_row(&format!("{setup}, {script}"), || {
        let scratch = Scratch::new();
        set_up(&scratch, setup);
        let bare = run(&scratch, Mode::Bare, script);
        let seen = bare.stdout.contains(SECRET) || bare.stderr.contains(SECRET);
        assert!(seen, "the attack itself does not work: {bare}");
        seen
    });
    let scratch = Scratch::new();
    set_up(&scratch, setup);
    let before = scratch.forbidden();
    let confined = run(&scratch, Mode::under_test(), script);
    confined.assert_stdout("started").assert_no_secret();
    before.assert_same(&scratch.forbidden());
    scratch.assert_nothing_leaked();
}

/// A program that the preload cannot reach does not start, and the record says why.
fn assert_not_started(scratch: &Scratch, why: &str) {
    let line = scratch.expand("bin/unreachable open $OUT/secret");
    Run::sh(scratch, &line).mode(Mode::Bare).run().assert_stdout(SECRET);
    let confined = Run::sh(scratch, &line).run();
    confined.assert_no_secret().assert_code(126).assert_stderr(why);
    assert!(!confined.stderr.contains("ld.so"), "the loader was asked: {confined}");
    Run::new(scratch, "bin/unreachable", &["stat", "/"]).run().assert_code(126).assert_stderr(why);
}

/// The attack program, linked without a loader in one of two ways. The library alone cannot confine it, the other
/// layers can. `compile` is a compiler with its options for linking.
fn assert_static_program_held(compile: &str) {
    let scratch = arena(Scratch::new());
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attacks");
    let compile =
        format!("{compile} -DSTATIC -o bin/unreachable {sources}/*.c -pthread 2>/dev/null || :");
    set_up(&scratch, &compile);
    if !scratch.path("ws/bin/unreachable").exists() {
        return skip("no static libc");
    }
    if Holder::under_test() == Holder::Library {
        return assert_not_started(&scratch, "statically linked");
    }
    let secret = scratch.out().join("secret");
    let args = ["open", secret.to_str().expect("UTF-8")];
    let program = scratch.path("ws/bin/unreachable");
    let run = Run::new(&scratch, program.to_str().expect("UTF-8"), &args).run();
    assert_eq!(answer(&run), "EACCES", "{run}");
    run.assert_no_secret();
}

#[apply(row!)]
fn static_program() {
    assert_static_program_held("cc -static");
}

#[apply(row!)]
fn static_program_for_musl() {
    if have("musl-gcc") {
        assert_static_program_held("musl-gcc -static");
    }
}

#[apply(row!)]
fn static_program_at_any_address() {
    assert_static_program_held("cc -static-pie");
}

/// A program for another kind of processor has another loader, for which the library is the wrong one. That loader
/// would say so, and go on without the library.
#[apply(row!)]
fn program_of_32_bits() {
    let scratch = arena(Scratch::new());
    let program = scratch.path("ws/bin/unreachable");
    std::fs::write(&program, print_in_32_bits(SECRET)).expect("the program");
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("chmod");
    if !Run::sh(&scratch, "bin/unreachable").mode(Mode::Bare).run().stdout.contains(SECRET) {
        return skip("this processor does not run 32-bit programs");
    }
    assert_not_started(&scratch, "another architecture");
}

/// A program for the 80386 that prints `text`: one segment, with the header, the code and the text.
fn print_in_32_bits(text: &str) -> Vec<u8> {
    const BASE: u32 = 0x0804_8000;
    const HEADERS: u32 = 52 + 32;
    /// `write(1, BASE + HEADERS + 34, length)`, `exit(0)`: 34 bytes.
    const CODE: [&[u8]; 5] = [
        b"\xb8\x04\0\0\0\xbb\x01\0\0\0\xb9",
        &(BASE + HEADERS + 34).to_le_bytes(),
        b"\xba",
        b"\xcd\x80",
        b"\xb8\x01\0\0\0\xbb\0\0\0\0\xcd\x80",
    ];
    let length = u32::try_from(text.len()).expect("a short text");
    let [write, address, size, call, exit] = CODE;
    let code = [write, address, size, &length.to_le_bytes(), call, exit].concat();
    let size = HEADERS + u32::try_from(code.len()).expect("short code") + length;
    let header: [u32; 9] = [3 << 16 | 2, 1, BASE + HEADERS, 52, 0, 0, 32 * 0x1_0000 + 52, 1, 0];
    let segment: [u32; 8] = [1, 0, BASE, BASE, size, size, 5, 4096];
    let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend(header.iter().chain(&segment).flat_map(|word| word.to_le_bytes()));
    file.extend(code);
    file.extend(text.bytes());
    file
}

/// A program for the other libc is either confined too or does not start.
#[apply(row!)]
fn program_for_musl() {
    let Some(scratch) = given(&["musl-gcc"], || arena(Scratch::new())) else { return };
    scratch.write(
        "ws/cat.c",
        "#include <stdio.h>\nint main(int n, char **a) { char s[99]; FILE *f = fopen(a[n - 1], \"r\");\
         return f && fgets(s, 99, f) ? puts(s) < 0 : 1; }\n",
    );
    set_up(&scratch, "musl-gcc -o bin/cat cat.c");
    let line = scratch.expand("bin/cat $OUT/secret");
    Run::sh(&scratch, &line).mode(Mode::Bare).run().assert_stdout(SECRET);
    Run::sh(&scratch, &line).run().assert_no_secret();
}

/// musl's glob lists directories where no hook sees it. Either the layers behind the library deny that, or it lists
/// nothing.
#[apply(row!)]
fn listing_by_musl() {
    let Some(scratch) = given(&["musl-gcc"], || arena(Scratch::new())) else { return };
    scratch.write(
        "ws/list.c",
        "#include <glob.h>\n#include <stdio.h>\nint main(int n, char **a) { glob_t found;\
         if (glob(a[n - 1], 0, NULL, &found)) return 1;\
         for (size_t i = 0; i < found.gl_pathc; i++) puts(found.gl_pathv[i]); return 0; }\n",
    );
    set_up(
        &scratch,
        "musl-gcc -o bin/list list.c; mkdir inside; touch inside/name; ln -s $OUT led",
    );
    let list = |pattern: &str, mode| {
        let line = scratch.expand(&format!("bin/list '{pattern}'"));
        Run::sh(&scratch, &line).mode(mode).run().stdout
    };
    for pattern in ["$OUT/*", "led/*"] {
        assert!(list(pattern, Mode::Bare).contains("secret"), "{pattern}");
        assert_eq!(list(pattern, Mode::under_test()), "", "{pattern}");
    }
    let inside = list("inside/*", Mode::under_test());
    assert!(matches!(inside.as_str(), "inside/name\n" | ""), "{inside}");
    let layered = product(&scratch, &["--", "bin/list", "inside/*"]).run();
    assert_eq!(
        (layered.status.code(), layered.stdout.as_str()),
        (Some(0), "inside/name\n"),
        "{layered}"
    );
}

/// A set-user-ID program gets no privilege, so its loader keeps the preload.
#[apply(row!)]
fn set_user_id_program() {
    let run = open_secret_by_privileged(|program| {
        std::fs::set_permissions(program, Permissions::from_mode(0o4755)).expect("chmod");
    });
    let Some(run) = run else { return };
    run.assert_no_secret().assert_stdout("EACCES");
    // The library makes the denial.
    let is_recorded = run.stderr.contains("denied read");
    assert_eq!(is_recorded, Difference::of_this_test().is_none(), "{run}");
}

/// A program with capabilities of its own gets no privilege either. But its loader drops the preload, so it runs only
/// where other layers confine it.
#[apply(row!)]
fn program_with_file_capabilities() {
    if !have("setcap") {
        return skip("no setcap");
    }
    let run = open_secret_by_privileged(|program| {
        let program = program.to_str().expect("UTF-8");
        // If the filesystem cannot store them, the program shows that it has none.
        let _ = Command::new("setcap").args(["cap_dac_read_search+ep", program]).status();
    });
    let Some(run) = run else { return };
    run.assert_no_secret();
    if Holder::under_test() == Holder::Library {
        run.assert_code(126);
    } else {
        run.assert_stdout("EACCES");
    }
}

/// An unreadable script names a program that may not be executed, but that Landlock alone would allow. The library
/// cannot judge the script, and leaves that to other layers.
#[apply(row!)]
fn interpreter_of_an_unreadable_script() {
    let scratch = Scratch::new();
    let rules = "[[access.fs]]\npath = '.'\nread = true\nexecute = true\n\
         [[access.fs]]\npath = 'scripts'\nexecute = true\n\
         [[access.fs]]\npath = 'forbidden'\nread = true\n";
    scratch.write("ws/jp-confine.toml", rules);
    let line = "mkdir scripts forbidden; cp -L /bin/cat forbidden/cat; echo TOPSECRET > file
        for s in scripts/kept locked; do printf '#!%s/forbidden/cat\n#TOPSECRET\n' $PWD > $s; chmod 755 $s; done
        chmod 111 locked";
    Run::sh(&scratch, line).mode(Mode::Bare).run().assert_ok();
    for script in ["scripts/kept", "locked"] {
        let line = format!("echo started; ./{script} file; exec ./{script} file");
        let run = Run::sh(&scratch, &line).run();
        run.assert_stdout("started").assert_no_secret();
    }
}

/// Such a script may start anything. So where programs are judged, it is denied and reported.
#[apply(row!)]
fn an_unreadable_program_is_refused_and_reported() {
    if Holder::under_test() == Holder::Library {
        return skip("the library alone tells of itself");
    }
    let scratch = Scratch::for_ordinary_user();
    Run::sh(&scratch, "cp -L /bin/true . && chmod 111 true").mode(Mode::Bare).run().assert_ok();
    let run = Run::sh(&scratch, "./true").flags(&["--deny", "other"]).run();
    run.assert_code(126)
        .assert_stderr("denied execve true")
        .assert_stderr("nobody may look into it");
}

/// The attack program, made privileged by `give`, tries to read a file of the superuser's under confinement. Then it
/// tries to read a file that any user may read. `None` where no program can be made privileged.
fn open_secret_by_privileged(give: impl FnOnce(&Path)) -> Option<Outcome> {
    let scratch = arena(Scratch::for_ordinary_user());
    if scratch.uid.is_none() {
        skip("only the superuser can make one");
        return None;
    }
    let program = scratch.copy_program(&scratch.path("ws/bin/attack"), "ws/bin/privileged");
    let locked = scratch.path("out/locked");
    std::fs::write(&locked, SECRET).expect("a file of the superuser's");
    std::fs::set_permissions(&locked, Permissions::from_mode(0o600)).expect("chmod");
    give(&program);
    let line = scratch.expand("bin/privileged open $OUT/locked");
    if !Run::sh(&scratch, &line).mode(Mode::Bare).run().stdout.contains(SECRET) {
        skip("the filesystem of the temporary folder gives no privilege");
        return None;
    }
    Run::sh(&scratch, &line).run().assert_no_secret();
    let line = scratch.expand("exec bin/privileged open $OUT/secret");
    Some(Run::sh(&scratch, &line).run())
}
