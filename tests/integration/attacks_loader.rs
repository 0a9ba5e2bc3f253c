//! Libraries that a program may not read, but names in the environment for the loader of the next program.

use macro_rules_attribute::apply;

use crate::attack::set_up;
use crate::attacks_programs::scripts;
use crate::layers::{Holder, row};
use crate::run::{Run, given};
use crate::scratch::Scratch;

scripts! {
    preload_upwards: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c",
        "LD_PRELOAD=../out/p.so /bin/true";
    preload_absolute: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c",
        "LD_PRELOAD=$OUT/p.so /bin/true";
    preload_through_what_is_granted: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c",
        "LD_PRELOAD=./dir/../../out/p.so /bin/true";
    preload_by_a_symlink: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c; ln -s $OUT/p.so p.so",
        "LD_PRELOAD=./p.so /bin/true";
    preload_by_a_symlink_in_the_middle: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c; ln -s $OUT d",
        "LD_PRELOAD=./dir/../d/p.so /bin/true";
    preload_before_ours: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c",
        "LD_PRELOAD=../out/p.so:$LD_PRELOAD /bin/true";
    preload_behind_ours: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c",
        "LD_PRELOAD=$LD_PRELOAD:../out/p.so /bin/true";
    preload_behind_a_space: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c",
        "LD_PRELOAD=\"$LD_PRELOAD /missing ../out/p.so\" /bin/true";
    preload_from_another_directory: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c",
        "cd dir; LD_PRELOAD=../../out/p.so /bin/true";
    preload_with_nothing_else: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c",
        "env -i LD_PRELOAD=../out/p.so /bin/true";
    preload_by_directory: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c",
        "LD_LIBRARY_PATH=../out LD_PRELOAD=p.so /bin/true";
    preload_by_a_later_directory: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c",
        "LD_LIBRARY_PATH=dir:/missing:$OUT LD_PRELOAD=p.so /bin/true";
    preload_by_a_directory_behind_a_semicolon: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c",
        "LD_LIBRARY_PATH='dir;../out' LD_PRELOAD=p.so /bin/true";
    preload_by_a_symlink_to_a_directory: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c; ln -s $OUT d",
        "LD_LIBRARY_PATH=d LD_PRELOAD=p.so /bin/true";
    preload_by_a_symlink_in_a_directory: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c; ln -s $OUT/p.so dir/p.so",
        "LD_LIBRARY_PATH=dir LD_PRELOAD=p.so /bin/true";
    preload_by_the_working_directory: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c; ln -s $OUT/p.so p.so",
        "LD_LIBRARY_PATH=dir: LD_PRELOAD=p.so /bin/true";
    preload_by_lib: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c; for d in lib lib64 lib/x86_64-linux-gnu lib/aarch64-linux-gnu; do mkdir -p l/$d; ln -sf $OUT/p.so l/$d/p.so; done",
        "LD_PRELOAD='./l/${LIB}/p.so' /bin/true";
    preload_by_platform: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c; for d in x86_64 haswell aarch64; do mkdir -p l/$d; ln -sf $OUT/p.so l/$d/p.so; done",
        "LD_PRELOAD='./l/$PLATFORM/p.so' /bin/true";
    preload_by_origin: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c; cp /bin/true yes",
        "LD_PRELOAD='$ORIGIN/../out/p.so' ./yes";
    a_needed_library_by_directory: "cc", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c; mv $OUT/p.so $OUT/libp.so; echo 'int main(void) { return 0; }' >m.c; cc -Wl,--no-as-needed -o m m.c -L$OUT -lp",
        "LD_LIBRARY_PATH=../out ./m";
    preload_spawned: "python3", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c",
        "python3 -c \"import os; os.waitpid(os.posix_spawn('/bin/true', ['true'], {'LD_PRELOAD': '../out/p.so'}), 0)\"";
    preload_by_descriptor: "python3", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c",
        "python3 -c \"import os; os.execve(os.open('/bin/true', os.O_RDONLY), ['true'], {'LD_PRELOAD': '../out/p.so'})\"";
    preload_by_a_shell: "python3", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c",
        "python3 -c \"import os; os.environ['LD_PRELOAD'] = '../out/p.so'; os.system('/bin/true')\"";
    preload_by_popen: "python3", "cc -shared -fPIC -DSAYS=\"\\\"TOPSECRET\\\"\" -o $OUT/p.so $PRELOADS/says.c",
        "python3 -c \"import os; os.environ['LD_PRELOAD'] = '../out/p.so'; print(os.popen('/bin/true').read())\"";
}

/// Readable libraries are loaded as ever. The report names the others, which are left out.
#[apply(row!)]
fn only_what_may_not_be_read_is_left_out() {
    let Some(scratch) = given(&["cc"], Scratch::new) else { return };
    let compile = |says: &str, to: &str| {
        let says = format!("-DSAYS='\"{says}\"'");
        set_up(&scratch, &format!("cc -shared -fPIC {says} -o {to} $PRELOADS/says.c"));
    };
    compile("TOPSECRET", "$OUT/p.so");
    compile("one ", "dir/one.so");
    compile("two ", "two.so");
    for script in [
        "LD_PRELOAD=dir/one.so:../out/p.so:./two.so /bin/true",
        "LD_PRELOAD=\"./two.so ../out/p.so $LD_PRELOAD dir/one.so\" /bin/true",
        "LD_LIBRARY_PATH=:/missing:dir:../out LD_PRELOAD=one.so:$OUT/p.so:two.so /bin/true",
        "LD_LIBRARY_PATH=../out:dir: LD_PRELOAD=two.so:one.so:../out/p.so /bin/true",
    ] {
        let run = Run::sh(&scratch, &scratch.expand(script)).run();
        run.assert_no_secret().assert_stdout("one ").assert_stdout("two ");
        // Where only Landlock enforces reads, only the loader reports the denial.
        if Holder::under_test() == Holder::Library {
            run.assert_stderr(&scratch.expand("denied read $OUT"));
        }
    }
    let run = Run::sh(
        &scratch,
        "LD_LIBRARY_PATH=dir LD_PRELOAD=one.so /bin/true; env LD_PRELOAD=./two.so /bin/true",
    );
    let run = run.run();
    run.assert_ok().assert_stdout("one ").assert_stdout("two ");
    assert!(!run.stderr.contains("denied"), "{run}");
}
