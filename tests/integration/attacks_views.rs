//! Nothing that a run does to the place of a view lands there, whatever it calls and however it is linked.

use macro_rules_attribute::apply;

use crate::attack::{answers, arena, set_up};
use crate::layers::{Holder, row};
use crate::run::{Run, skip};
use crate::scratch::Scratch;

/// The backing has the names of the place.
const SETUP: &str = "mkdir -p $HOME/backing/dir $HOME/backing/empty; \
    for f in secret target dir/inner; do echo shown >$HOME/backing/$f; done; \
    ln -s / root; ln -s $OUT way; ln -s $OUT/target link";

/// Calls by name, through symlinks, by system call and by instruction.
const CALLS: &[&str] = &[
    "append $OUT/target",
    "bind_from $OUT /proc/self/fd/N/new",
    "bind_from $OUT /proc/thread-self/cwd/new",
    "chdir $OUT open secret",
    "chmod $OUT/target",
    "chown $OUT/target",
    "creat $OUT/%ff%fe",
    "creat $OUT/new",
    "creat $OUT/target",
    "deep open $OUT/secret",
    "deep symlink $OUT/new l , creat l",
    "deep symlink $OUT/secret l , open l",
    "dlopen $OUT/lib.so",
    "fchdir $OUT open secret",
    "fchmodat $OUT/target",
    "fchownat $OUT/target",
    "fchownat_held $OUT/target",
    "fdopendir $OUT",
    "fopen $OUT/secret",
    "fopen64 $OUT/secret",
    "fopen_w $OUT/new",
    "fopen_w $OUT/target",
    "freopen $OUT/secret",
    "freopen_w $OUT/target",
    "fts $OUT",
    "getxattr $OUT/target user.k",
    "glob $OUT/*",
    "i_after_chdir $OUT secret",
    "i_by_descriptor $OUT/secret",
    "i_chmod $OUT/target",
    "i_chown $OUT/target",
    "i_connect $OUT/socket",
    "i_creat $OUT/new",
    "i_exec $OUT/program",
    "i_getxattr $OUT/target",
    "i_link $OUT/secret got",
    "i_link file $OUT/got",
    "i_marked , i_chmod $OUT/target",
    "i_marked , i_chown $OUT/target",
    "i_marked , i_open $OUT/secret",
    "i_marked , i_setxattr $OUT/target",
    "i_marked , i_unlink $OUT/target",
    "i_marked , i_utimes $OUT/target",
    "i_marked , i_watch $OUT/target",
    "i_mkdir $OUT/new",
    "i_mkfifo $OUT/new",
    "i_open $OUT/secret",
    "i_open /proc/self/root$OUT/secret",
    "i_openat2 $OUT/secret",
    "i_opendir $OUT",
    "i_rename $OUT/secret got",
    "i_rename file $OUT/got",
    "i_rmdir $OUT/empty",
    "i_setxattr $OUT/target",
    "i_symlink x $OUT/got",
    "i_tmpfile $OUT",
    "i_truncate $OUT/target",
    "i_unlink $OUT/target",
    "i_utimes $OUT/target",
    "i_watch $OUT/target",
    "i_write $OUT/target",
    "inotify $OUT",
    "lchown $OUT/target",
    "link $OUT/secret got , open got",
    "link $OUT/target got , write got",
    "link file $OUT/new",
    "link_fd $OUT/secret got , open got",
    "lsetxattr $OUT/target user.k",
    "mkdir $OUT/new",
    "mkdirat $OUT/new",
    "mkdtemp $OUT/XXXXXX",
    "mkfifo $OUT/new",
    "mknod $OUT/new",
    "mkostemp $OUT/XXXXXX",
    "mkstemp $OUT/XXXXXX",
    "mkstemps $OUT/XXXXXX.c",
    "nftw $OUT",
    "old_glob $OUT/*",
    "old_glob_by_name $OUT/*",
    "old_spawn $OUT/secret",
    "open $OUT/%ff",
    "open $OUT/secret",
    "open /../..$OUT/secret",
    "open //$OUT//./dir/..//secret",
    "open /proc/self/root$OUT/secret",
    "open /proc/thread-self/root$OUT/secret",
    "open root$OUT/secret",
    "open64 $OUT/secret",
    "open_dir $OUT/dir/",
    "openat $OUT/secret",
    "opendir $OUT",
    "path_openat $OUT secret",
    "path_reopen $OUT/secret",
    "raw_inotify $OUT",
    "raw_open_wide $OUT/secret",
    "rdwr $OUT/target",
    "read_creat $OUT/new",
    "read_trunc $OUT/target",
    "remove $OUT/target",
    "removexattr $OUT/target user.k",
    "removexattrat $OUT/target user.k",
    "rename $OUT/dir got",
    "rename $OUT/secret got",
    "rename $OUT/target $OUT/new",
    "rename file $OUT/new",
    "rename file $OUT/target",
    "rename_noreplace $OUT/secret got",
    "renameat $OUT/secret got",
    "rmdir $OUT/empty",
    "scandir $OUT",
    "setxattr $OUT/target user.k",
    "symlink $OUT parent , open parent/secret",
    "symlink $OUT/secret link , open link",
    "symlink $WS/file $OUT/new",
    "symlinkat $WS/file $OUT/new",
    "sys_creat $OUT/target",
    "sys_open $OUT/secret",
    "sys_openat $OUT/secret",
    "sys_openat2 $OUT/secret",
    "sys_rename $OUT/secret got",
    "sys_renameat2 $OUT/secret got",
    "sys_unlink $OUT/target",
    "sys_unlinkat $OUT/target",
    "tmpfile_in $OUT",
    "tmpfile_link $OUT $OUT/new",
    "tmpfile_link . $OUT/new",
    "truncate $OUT/target",
    "unlink $OUT/target",
    "unlinkat $OUT/target",
    "utime $OUT/target",
    "utimensat $OUT/target",
    "utimensat_held $OUT/target",
    "utimes $OUT/target",
    "write $OUT/target",
    "write_creat $OUT/new",
    "write_creat known , i_open $OUT/secret",
    "write_excl $OUT/new",
    "write_trunc $OUT/target",
    "creat way/new2",
    "write link",
    "unlink way/target",
    "rename way/dir way/moved",
    "mkdir way/../out/new3",
    "i_creat way/new4",
    "i_unlink way/secret",
    "i_rename way/empty way/full",
    "bind $OUT/socket",
    "bind way/socket2",
    "fts way",
];

#[apply(row!)]
fn nothing_lands_in_the_real_place() {
    let scratch = arena(Scratch::new());
    set_up(&scratch, SETUP);
    let before = scratch.forbidden();
    let view = scratch.expand("$OUT=$HOME/backing");
    // The library alone sees no call by instruction.
    let is_seen = |line: &&&str| {
        Holder::under_test() != Holder::Library
            || !line.split(' ').any(|verb| verb.starts_with("i_"))
    };
    let calls: Vec<String> =
        CALLS.iter().filter(is_seen).map(|line| scratch.expand(line)).collect();
    let (answers, outcome) = answers(calls.iter().map(String::as_str), |script| {
        Run::sh(&scratch, script).flags(&["--view", &view]).run()
    });
    outcome.assert_no_secret();
    before.assert_same(&scratch.forbidden());
    scratch.assert_nothing_leaked();
    let done = answers.iter().filter(|answer| answer.starts_with("ok")).count();
    let expected = if Holder::under_test() == Holder::Supervisor { 30 } else { 60 };
    assert!(done >= expected, "only {done} of {} succeed: {answers:?} {outcome}", CALLS.len());
}

/// More calls that take a path. They change nothing, or not at the place of a view.
const HARMLESS: &[&str] = &[
    "access $OUT/secret",
    "access $OUT/none",
    "alias_fopen $OUT/secret",
    "alias_open $OUT/secret",
    "alias_popen_cat $OUT/secret",
    "catopen $OUT/secret",
    "chdir $OUT dot_names",
    "chdir $OUT empty_paths",
    "chdir $OUT odd_flags",
    "chdir $OUT odd_names",
    "chdir $OUT resolve_flags",
    "chdir_only $OUT/dir/..",
    "chmod_to $OUT/target 600",
    "connect $OUT/secret",
    "exchange $OUT/secret $OUT/target",
    "exec_line $OUT/secret",
    "file_getattr $OUT/secret",
    "ftok $OUT/secret",
    "linkat_follow $OUT/secret $OUT/linked",
    "listxattr $OUT/secret",
    "nss_fopen $OUT/secret",
    "pathconf $OUT/secret",
    "popen_cat $OUT/secret",
    "raw_inotify $OUT/secret",
    "raw_statfs $OUT/dir",
    "readlink $OUT/secret",
    "refused $OUT/secret",
    "raw_refused $OUT/secret",
    "sendto $OUT/secret",
    "setmntent $OUT/secret",
    "setmntent_w $OUT/secret",
    "stat $OUT/secret",
    "stat $OUT/none",
    "stat $OUT/dir/",
    "statfs $OUT/secret",
    "statvfs $OUT/dir/..",
    "touch $OUT/target",
    "wordexp_cat $OUT/secret",
    "wordexp_list $OUT",
];

/// Calls that answer otherwise in a view (`docs/views.md`): libc walks along their files itself.
const DIFFERENT: &[&str] = &["fts $OUT", "fts way"];

/// Whether two runs can answer alike: names are chosen by chance, and directories list in any order.
fn is_certain(line: &str) -> bool {
    !line.contains("XXXXXX") && !line.starts_with("opendir")
}

/// The answer of each call where the directory is seen in a view, and where it is an ordinary one.
#[apply(row!)]
fn calls_answer_as_in_an_ordinary_directory() {
    if Holder::under_test() == Holder::Supervisor {
        return skip("programs without the library meet the real place when they read");
    }
    let calls: Vec<&str> = CALLS
        .iter()
        .chain(HARMLESS)
        .copied()
        .filter(|line| !line.split(' ').any(|verb| verb.starts_with("i_")))
        .filter(|line| is_certain(line) && !DIFFERENT.contains(line))
        .collect();
    let answered = |directory: &str, option: &str| {
        let scratch = arena(Scratch::new());
        set_up(&scratch, &SETUP.replace("$HOME/backing", directory));
        let lines: Vec<String> = calls.iter().map(|line| scratch.expand(line)).collect();
        let option = scratch.expand(option);
        let flags: Vec<&str> = option.split(' ').collect();
        let (answers, _) = answers(lines.iter().map(String::as_str), |script| {
            Run::sh(&scratch, script).flags(&flags).run()
        });
        let tree = scratch.expand("$OUT");
        answers.iter().map(|answer| answer.replace(&tree, "$OUT")).collect::<Vec<_>>()
    };
    let ordinary = answered("$OUT", "-w $OUT -x $OUT");
    let seen = answered("$HOME/backing", "--view $OUT=$HOME/backing");
    assert_eq!([ordinary.len(), seen.len()], [calls.len(); 2]);
    let lines = |answers: &[String]| -> Vec<String> {
        let pairs = calls.iter().zip(answers);
        pairs
            .flat_map(|(call, text)| text.lines().map(move |line| format!("{call}: {line}")))
            .collect()
    };
    let (ordinary, seen) = (lines(&ordinary), lines(&seen));
    assert_eq!(ordinary.len(), seen.len());
    let pairs = ordinary.iter().zip(&seen);
    let different: Vec<_> = pairs.filter(|(ordinary, seen)| ordinary != seen).collect();
    assert!(different.is_empty(), "ordinary, then in a view: {different:#?}");
}

/// Files in the place and in the backing. In the workspace, symlinks to them, and scripts that name them as their
/// interpreters.
const INTERPRETERS: &str = r##"cp /bin/echo $OUT/only; cp /bin/echo $HOME/backing/shown; cp /bin/echo $OUT/plain
    printf '#!/bin/sh\necho real' >$OUT/both; printf '#!/bin/sh\necho shown' >$HOME/backing/both
    chmod +x $OUT/both $HOME/backing/both; cp /bin/echo $HOME/backing/plain; chmod -x $HOME/backing/plain
    for i in only shown both plain; do printf "#!$OUT/$i" >s_$i; chmod +x s_$i; done; ln -s $OUT/only link
    printf '#!link' >s_link; chmod +x s_link; printf "#!$OUT/shown" >s_data
    for i in only both plain; do ln -s $OUT/$i l_$i; done"##;

#[apply(row!)]
fn no_script_runs_what_the_view_does_not_show() {
    let scratch = arena(Scratch::new());
    set_up(&scratch, &format!("mkdir -p $HOME/backing; {INTERPRETERS}"));
    let before = scratch.forbidden();
    let script = "for s in l_* s_*; do ./$s word; done 2>/dev/null";
    let run = Run::sh(&scratch, script).flags(&["--view", &scratch.expand("$OUT=$HOME/backing")]);
    let outcome = run.run();
    assert_eq!(outcome.stdout, "shown\nshown\n./s_shown word\n", "{outcome}");
    before.assert_same(&scratch.forbidden());
}
