//! Faults inside the library or the launcher fail closed (spec §13). Each system call that they make fails here with
//! some of many errnos. Nothing forbidden may then succeed, nothing may crash, and nothing may run unconfined.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::attack::{arena, call, set_up};
use crate::run::{Mode, Outcome, PRODUCT, Run, is_whole};
use crate::scratch::Scratch;

/// Calls that must never succeed.
const FORBIDDEN: [&str; 38] = [
    "open $OUT/secret",
    "open ../out/secret",
    "open link",
    "open parent/secret",
    "sys_openat $OUT/secret",
    "path_reopen $OUT/secret",
    "chdir parent open secret",
    "fopen $OUT/secret",
    "opendir parent",
    "open $HOME/.private/key",
    "stat $HOME/.private/key",
    "write_trunc $OUT/target",
    "write_creat dangling",
    "creat $OUT/new",
    "unlink parent/target",
    "rmdir $OUT/empty",
    "rename $OUT/target got",
    "rename file parent/new",
    "exchange file $OUT/target",
    "link $OUT/secret got",
    "symlink file $OUT/new",
    "mkdir parent/new",
    "mkfifo $OUT/new",
    "bind $OUT/new",
    "chmod $OUT/target",
    "truncate parent/target",
    "utimes $OUT/target",
    "mkstemp $OUT/XXXXXX",
    "exec $OUT/program stat file",
    "exec_self open $OUT/secret",
    "empty_env exec_self open $OUT/secret",
    "unset LD_PRELOAD sys_execve_self open parent/secret",
    "close_range fexecve_self open $OUT/secret",
    "vfork_self open $OUT/secret",
    "empty_env spawn_self open $OUT/secret",
    "spawn_addopen $OUT/secret",
    "system_self open $OUT/secret",
    "popen_self open $OUT/secret",
];

/// Calls that succeed where nothing fails.
const ALLOWED: [&str; 14] = [
    "open file",
    "open dir/l",
    "stat dir/l",
    "opendir dir",
    "chdir dir open l",
    "write_creat new",
    "mkdir made",
    "rename made moved",
    "rmdir moved",
    "rename new newer",
    "chmod newer",
    "exec_self open dir/l",
    "close_range empty_env spawn_self open file",
    "popen_self open file",
];

const SETUP: &str = "ln -s $OUT/secret link; ln -s $OUT parent; ln -s $OUT/new dangling; \
    ln -s ../file dir/l; cp $ATTACK $OUT/program";

/// The errnos that the call `number` fails with here: one for each call, so that all calls try all errnos between them.
/// `make layers` tries all of them with each call.
fn errnos(number: i64) -> Vec<i32> {
    if is_whole() {
        return ERRNOS.to_vec();
    }
    let first = usize::try_from(number).expect("the number of a call");
    vec![ERRNOS[first % ERRNOS.len()]]
}

/// Time limit of a run that may lack something.
const LIMIT: Duration = Duration::from_secs(30);

/// Errnos of system calls that lack memory, descriptors or permission, or that the kernel does not have.
const ERRNOS: [i32; 7] = [
    libc::EPERM,
    libc::ENOENT,
    libc::ENOMEM,
    libc::EINVAL,
    libc::EMFILE,
    libc::ENOSYS,
    libc::ELOOP,
];

/// Tests for each system call: in a process that is already confined, and from before the launcher starts.
macro_rules! faults {
    ($tests:ident, $calls:ident: $($(#[$condition:meta])? $call:ident: $number:ident;)*) => {
        const $calls: &[&str] = &[$(stringify!($number)),*];
        $($(#[$condition])? mod $call { $tests!($number); })*
    };
}

macro_rules! within {
    ($number:ident) => {
        #[test]
        fn within() {
            super::assert_closed(libc::$number);
        }
    };
}

macro_rules! within_and_from_the_start {
    ($number:ident) => {
        within!($number);

        #[test]
        fn from_the_start() {
            super::assert_refused_or_confined(libc::$number);
        }
    };
}

faults! { within_and_from_the_start, CALLS:
    bind: SYS_bind;
    brk: SYS_brk;
    chdir: SYS_chdir;
    clone: SYS_clone;
    clone3: SYS_clone3;
    close_range: SYS_close_range;
    connect: SYS_connect;
    dup3: SYS_dup3;
    execveat: SYS_execveat;
    faccessat: SYS_faccessat;
    faccessat2: SYS_faccessat2;
    fchdir: SYS_fchdir;
    fchmod: SYS_fchmod;
    fchmodat: SYS_fchmodat;
    fchown: SYS_fchown;
    fchownat: SYS_fchownat;
    fcntl: SYS_fcntl;
    flock: SYS_flock;
    fremovexattr: SYS_fremovexattr;
    fsetxattr: SYS_fsetxattr;
    fstat: SYS_fstat;
    ftruncate: SYS_ftruncate;
    getcwd: SYS_getcwd;
    getdents64: SYS_getdents64;
    getpgid: SYS_getpgid;
    getrlimit: SYS_getrlimit;
    getxattr: SYS_getxattr;
    fgetxattr: SYS_fgetxattr;
    inotify_add_watch: SYS_inotify_add_watch;
    ioctl: SYS_ioctl;
    lgetxattr: SYS_lgetxattr;
    kill: SYS_kill;
    linkat: SYS_linkat;
    listxattr: SYS_listxattr;
    llistxattr: SYS_llistxattr;
    lseek: SYS_lseek;
    madvise: SYS_madvise;
    memfd_create: SYS_memfd_create;
    mkdirat: SYS_mkdirat;
    mknodat: SYS_mknodat;
    mq_open: SYS_mq_open;
    mq_unlink: SYS_mq_unlink;
    munmap: SYS_munmap;
    openat2: SYS_openat2;
    pidfd_open: SYS_pidfd_open;
    pipe2: SYS_pipe2;
    prctl: SYS_prctl;
    readlinkat: SYS_readlinkat;
    removexattr: SYS_removexattr;
    renameat2: SYS_renameat2;
    sched_setparam: SYS_sched_setparam;
    sched_setscheduler: SYS_sched_setscheduler;
    sched_yield: SYS_sched_yield;
    sendmmsg: SYS_sendmmsg;
    sendmsg: SYS_sendmsg;
    sendto: SYS_sendto;
    setpgid: SYS_setpgid;
    setresgid: SYS_setresgid;
    setresuid: SYS_setresuid;
    setrlimit: SYS_setrlimit;
    setsid: SYS_setsid;
    setxattr: SYS_setxattr;
    socket: SYS_socket;
    socketpair: SYS_socketpair;
    statfs: SYS_statfs;
    statx: SYS_statx;
    symlinkat: SYS_symlinkat;
    truncate: SYS_truncate;
    unlinkat: SYS_unlinkat;
    unshare: SYS_unshare;
    utimensat: SYS_utimensat;
    writev: SYS_writev;
    #[cfg(target_arch = "x86_64")]
    access: SYS_access;
    #[cfg(target_arch = "x86_64")]
    mkdir: SYS_mkdir;
    #[cfg(target_arch = "x86_64")]
    readlink: SYS_readlink;
    #[cfg(target_arch = "x86_64")]
    rmdir: SYS_rmdir;
    #[cfg(target_arch = "x86_64")]
    unlink: SYS_unlink;
    #[cfg(target_arch = "x86_64")]
    vfork: SYS_vfork;
}

// If one of these fails, no program starts, including the launcher. Or the launcher's runtime aborts early, because it
// expects them never to fail. Or the launcher cannot print anything.
faults! { within, CALLS_NEEDED_TO_START:
    close: SYS_close;
    execve: SYS_execve;
    getegid: SYS_getegid;
    geteuid: SYS_geteuid;
    getgid: SYS_getgid;
    getpid: SYS_getpid;
    getrandom: SYS_getrandom;
    getuid: SYS_getuid;
    mmap: SYS_mmap;
    mprotect: SYS_mprotect;
    newfstatat: SYS_newfstatat;
    openat: SYS_openat;
    pread64: SYS_pread64;
    read: SYS_read;
    rt_sigaction: SYS_rt_sigaction;
    rt_sigprocmask: SYS_rt_sigprocmask;
    wait4: SYS_wait4;
    write: SYS_write;
}

/// Each call that the library makes has its tests. The sources name a call where they make it.
#[test]
fn every_call_of_the_library_is_here() {
    let mut sources =
        vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/shim/src"))];
    let mut missing = BTreeSet::new();
    while let Some(path) = sources.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a folder of sources");
            sources.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else if !path.ends_with("hooks/syscall.rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let calls = words.filter(|word| word.starts_with("SYS_") && *word != "SYS_exit_group");
            missing.extend(
                calls
                    .filter(|call| !CALLS.contains(call) && !CALLS_NEEDED_TO_START.contains(call))
                    .map(str::to_owned),
            );
        }
    }
    assert!(missing.is_empty(), "no faults are tested of {missing:?}");
    assert_eq!(Mode::under_test(), Mode::Confined, "where nothing is mediated nothing is tested");
}

/// Linux 5.5 and older containers do not have `openat2`.
#[test]
fn what_is_allowed_works_without_openat2() {
    let (_, outcome) = run(libc::SYS_openat2, &[libc::ENOSYS], Mode::under_test());
    outcome.assert_no_secret();
    let steps = steps(&outcome);
    let asked = |step: &&Step<'_>| step.errno == libc::ENOSYS && step.index >= FORBIDDEN.len();
    assert_eq!(steps.iter().filter(asked).count(), ALLOWED.len(), "{outcome}");
    assert_none(steps.iter().filter(asked).filter(|step| !step.succeeded()));
}

/// The output of one step, and how the step ended.
struct Step<'a> {
    errno: i32,
    index: usize,
    printed: Vec<&'a str>,
    end: &'a str,
}

impl Step<'_> {
    fn succeeded(&self) -> bool {
        self.printed.iter().any(|line| line.starts_with("ok"))
    }

    /// Whether the step's process, or one that it started, crashed. The alarm that ends its waiting does not count.
    fn crashed(&self) -> bool {
        let mut ends = self.printed.iter().chain([&self.end]);
        ends.any(|end| end.starts_with("signal ") && *end != "signal 14")
    }
}

impl std::fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { errno, index, printed, end } = self;
        let step = FORBIDDEN.iter().chain(&ALLOWED).nth(*index).unwrap_or(&"?");
        write!(f, "`{step}` with errno {errno}: {printed:?}, {end}")
    }
}

fn steps(outcome: &Outcome) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut printed = Vec::new();
    for line in outcome.stdout.lines() {
        let Some(summary) = line.strip_prefix("= ") else {
            printed.push(line);
            continue;
        };
        let mut words = summary.splitn(3, ' ');
        let (errno, index) = (words.next().expect("an errno"), words.next().expect("an index"));
        steps.push(Step {
            errno: errno.parse().expect("an errno"),
            index: index.parse().expect("an index"),
            printed: std::mem::take(&mut printed),
            end: words.next().expect("an end"),
        });
    }
    steps
}

/// Runs every step without a fault and then under each of these faults.
fn run(number: i64, errnos: &[i32], mode: Mode) -> (Scratch, Outcome) {
    let scratch = arena(Scratch::new());
    set_up(&scratch, SETUP);
    let before = scratch.forbidden();
    let errnos: Vec<String> = [0].iter().chain(errnos).map(i32::to_string).collect();
    let line = [FORBIDDEN.as_slice(), &ALLOWED].concat().join(" ; ");
    let outcome = call(&scratch, mode, &format!("each_fault {number} {} {line}", errnos.join(":")));
    if mode == Mode::Confined {
        before.assert_same(&scratch.forbidden());
    }
    (scratch, outcome)
}

/// Runs in a process that is already confined. Programs that crash bare as well, such as the loader, may crash.
fn assert_closed(number: i64) {
    let errnos = errnos(number);
    let (scratch, outcome) = run(number, &errnos, Mode::under_test());
    outcome.assert_no_secret();
    scratch.assert_nothing_leaked();
    let steps = steps(&outcome);
    assert_eq!(steps.len(), (1 + errnos.len()) * (FORBIDDEN.len() + ALLOWED.len()), "{outcome}");
    let wrong = |step: &&Step<'_>| {
        let forbidden = step.index < FORBIDDEN.len();
        if forbidden { step.succeeded() } else { step.errno == 0 && !step.succeeded() }
    };
    assert_none(steps.iter().filter(wrong));
    if steps.iter().any(Step::crashed) {
        let (_, bare) = run(number, &errnos, Mode::Bare);
        let bare = self::steps(&bare);
        let pairs = steps.iter().zip(&bare);
        assert_none(
            pairs.filter(|(step, bare)| step.crashed() && !bare.crashed()).map(|(step, _)| step),
        );
    }
}

fn assert_none<'a>(wrong: impl Iterator<Item = &'a Step<'a>>) {
    let wrong: Vec<String> = wrong.map(Step::to_string).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs with the fault from before the launcher starts.
fn assert_refused_or_confined(number: i64) {
    let scratch = arena(Scratch::new());
    let attack = scratch.path("ws/bin/attack");
    let attack = attack.to_str().expect("UTF-8");
    let secret = scratch.expand("$OUT/secret");
    for errno in errnos(number) {
        let errno = errno.to_string();
        let number = number.to_string();
        let mut line = vec!["fault", &number, &errno, "exec"];
        if Mode::under_test() == Mode::Confined {
            line.extend([PRODUCT, "--"]);
        }
        line.extend([attack, "open", &secret]);
        let outcome = Run::new(&scratch, attack, &line).mode(Mode::Bare).limit(LIMIT).run();
        outcome.assert_no_secret();
        assert!(!outcome.stdout.starts_with("ok"), "{outcome}");
        assert!(outcome.code() <= 128, "{outcome}");
        if outcome.code() == 125 {
            outcome.assert_stderr("jp-confine: ");
        }
    }
}
