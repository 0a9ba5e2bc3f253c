//! Files that are mounted a second time, and the kernel's own file systems wherever they are mounted (spec §12.1). As
//! root, each row makes its mounts in a mount namespace of its own, and runs there as root and as an ordinary user.

use std::path::PathBuf;

use macro_rules_attribute::apply;

use crate::attacks_busybox::busybox;
use crate::layers::{Holder, row};
use crate::run::{Mode, Outcome, PRODUCT, Run, have, note, skip};
use crate::scratch::{NOBODY, Scratch};

/// A line for `sh` that must succeed without confinement, and fail with it.
#[derive(Clone, Copy)]
struct Row {
    /// Commands that root runs first, in the workspace. `$P` is a process outside the run, with a secret.
    before: &'static str,
    flags: &'static str,
    line: &'static str,
}

const fn row(before: &'static str, line: &'static str) -> Row {
    Row { before, flags: "", line }
}

const fn denying(before: &'static str, flags: &'static str, line: &'static str) -> Row {
    Row { before, flags, line }
}

/// The process outside belongs to the same user.
const PROCESSES: &[Row] = &[
    row("mount -t proc proc m", "grep -q TOPSECRET m/$P/environ"),
    row("mount -t proc proc m", "grep -q TOPSECRET m/$P/task/$P/environ"),
    row("mount -t proc proc m", "exec 3<>m/$P/mem"),
    row("mount -t proc proc m", "cd m/$P && grep -q TOPSECRET environ"),
    row("mount -t proc proc m; ln -s m/$P l", "grep -q TOPSECRET l/environ"),
    row("mount -t proc proc m", "grep -q TOPSECRET m/self/cwd/m/$P/environ"),
    row("mount -t proc proc m", "cat m/self/root$OUT/secret"),
    row("mount -t proc proc m", "cat m/$P/root$OUT/secret"),
    row("mount -t proc -o subset=pid proc m", "grep -q TOPSECRET m/$P/environ"),
    row("mount -t proc -o hidepid=invisible proc m", "grep -q TOPSECRET m/$P/environ"),
    row("mount --bind /proc m", "grep -q TOPSECRET m/$P/environ"),
    row("mount --bind /proc m", "exec 3<>m/$P/mem"),
    row("mount --bind /proc/$P m", "grep -q TOPSECRET m/environ"),
    row("mount --bind /proc/$P m", "grep -q TOPSECRET m/task/$P/environ"),
    row("mount --bind /proc/$P/task m", "grep -q TOPSECRET m/$P/environ"),
    row("mount --bind /proc/$P/environ f", "grep -q TOPSECRET f"),
    row("mount -t proc proc m; mount --bind m/$P n", "grep -q TOPSECRET n/environ"),
    row("mkdir -p a/b/c; mount -t proc proc a/b/c", "grep -q TOPSECRET a/b/c/$P/environ"),
    row("mount --bind $OUT/dir m; mount -t proc proc m", "grep -q TOPSECRET m/$P/environ"),
    denying("mount -t proc proc $OUT/dir", "-w $OUT", "grep -q TOPSECRET $OUT/dir/$P/environ"),
    denying("mount -t proc proc $OUT/dir", "-r $OUT", "grep -q TOPSECRET $OUT/dir/$P/environ"),
];

/// The library alone judges a program by the path, as in `/proc`. It takes the kernel or a supervisor to tell processes
/// apart, as these rows need.
const SECRETS_OF_PROCESSES: &[Row] = &[
    row("mount -t proc proc m", "grep -q . m/$P/maps"),
    row("mount -t proc proc m", "readlink m/$P/fd/0"),
    row("mount --bind /proc/$P m", "grep -q . m/auxv"),
    row("mount --bind /proc/$P m", "cat m/cwd/../out/secret"),
];

/// Files of the kernel that nobody but root may change or read.
const KERNEL: &[Row] = &[
    row("mount -t proc proc m", "exec 3>m/sys/kernel/core_pattern"),
    row("mount -t proc proc m", "exec 3>m/sysrq-trigger"),
    row("mount --bind /proc/sys m", "exec 3>m/kernel/core_pattern"),
    row("mount --bind /proc/sys/kernel/core_pattern f", "exec 3>f"),
    row("mount -t sysfs sysfs m", "exec 3>m/kernel/mm/transparent_hugepage/enabled"),
    row("mount --bind /sys/kernel m", "exec 3>m/mm/transparent_hugepage/enabled"),
    row("mount --rbind /sys m", "exec 3>m/kernel/mm/transparent_hugepage/enabled"),
    row("mount -t devtmpfs dev m", "exec 3<m/kmsg"),
    row("mount --bind /dev m", "exec 3<m/kmsg"),
    row("mount --bind /dev/kmsg f", "exec 3<f"),
    row("mknod kmsg c 1 11", "exec 3<kmsg"),
    row("mknod -m 666 kmsg c 1 11; ln -s kmsg l", "exec 3<l"),
    row("mkdir dev; mknod dev/memory c 1 11", "exec 3>dev/memory"),
    row("mkdir -p rootfs/dev; mknod rootfs/dev/x c 1 11", "exec 3<rootfs/dev/x"),
];

/// Devices where the start did not look. The supervisor knows them by their number when it judges an open.
const DEEP_DEVICES: &[Row] = &[
    row("mkdir -p a/b/c; mknod a/b/c/kmsg c 1 11", "exec 3>a/b/c/kmsg"),
    row("mkdir -p a/b/c; mknod a/b/c/x c 1 11; ln -s a/b/c/x l", "exec 3>l"),
    denying("mkdir -p a/b/c; mknod a/b/c/x c 1 11", "--deny secret", "exec 3<a/b/c/x"),
];

/// A file that is denied by one name is denied by the others.
const COPIES: &[Row] = &[
    denying("mount --bind secret m", "--deny secret", "cat m/k"),
    denying("mount --bind secret/k f", "--deny secret", "cat f"),
    denying("mount --bind secret/k f", "--deny secret/k", "cat f"),
    denying("mount --bind secret/deep m", "--deny secret", "cat m/k"),
    denying("mkdir top; mv secret top; mount --bind top m", "--deny top/secret", "cat m/secret/k"),
    denying("mount --bind $OUT/dir m", "--deny $OUT/dir", "cat m/inner"),
    denying("mount --bind $OUT m", "--deny $OUT/dir", "cat m/dir/inner"),
    denying("mount --rbind . $OUT/empty", "--deny secret -w $OUT", "cat $OUT/empty/secret/k"),
    denying("mount --bind secret m; mount --bind m n", "--deny secret", "cat n/k"),
    denying("mount --bind secret m", "--deny m", "cat secret/k"),
    denying("mount --bind secret m", "--deny secret", "echo x >m/new"),
    denying(
        "mount -t tmpfs t secret/deep; cp secret/k secret/deep/k; mount --bind secret/deep m",
        "--deny secret",
        "cat m/k",
    ),
    denying("mount -t tmpfs t m; cp secret/k m/k", "--deny $OUT/..", "cat m/k"),
    denying("mount --bind secret m", "--deny $OUT/.. -r dir", "cat m/k"),
    denying("mount --bind secret $OUT/empty", "--deny . -r $OUT", "cat $OUT/empty/k"),
    denying("mount --bind secret $OUT/empty", "--deny $WS -w $OUT", "cat $OUT/empty/deep/k"),
    denying("mount --bind secret m", "-p $OUT/rule.toml", "cat m/k"),
    denying("mount --bind secret m", "-p $OUT/readonly.toml", "echo x >m/k"),
    denying("mount --bind secret m", "-p $OUT/pattern.toml", "cat m/k"),
    denying("mount --bind secret/k f", "-p $OUT/pattern.toml", "cat f"),
    denying("mount --bind secret m", "-p $OUT/names.toml", "cat m/k.key"),
    row("mount --bind $HOME/.ssh m", "cat m/id"),
    row("mount --bind $HOME/.ssh/id f", "cat f"),
    row("mount --bind $HOME m", "cat m/.ssh/id"),
    row("mount --bind . m", "echo >m/jp-confine.toml"),
    row("echo >jp-confine.toml; mount --bind jp-confine.toml f", "echo >f"),
];

/// Lines that still work.
const ALLOWED: &[Row] = &[
    row("mount -t proc proc m", "cat m/version m/self/status m/$P/comm && ls m/self/fd/"),
    row("mount -t proc proc m", "cat m/self/cwd/file"),
    row("mount --bind /proc/$P m", "cat m/comm"),
    row("mount -t sysfs sysfs m", "cat m/kernel/mm/transparent_hugepage/enabled"),
    row("mount -t devtmpfs dev m", "echo >m/null && head -c 1 m/zero m/urandom"),
    row(
        "mknod -m 666 n0 c 1 3; mkdir dev; mknod -m 666 dev/zero c 1 5",
        "echo >n0 && head -c 1 dev/zero",
    ),
    row("mount --bind /dev/null f", "echo >f"),
    denying("mount --bind dir m", "--deny secret", "echo >m/new && cat dir/new"),
    denying("mount --bind . m", "--deny secret", "echo >m/dir/new && cat dir/new"),
];

const SETUP: &str = "\
mkdir -p m n secret/deep $HOME/.ssh; touch f
echo TOPSECRET | tee secret/k secret/k.key secret/deep/k $HOME/.ssh/id >/dev/null
echo '[[access.fs]]\npath = \".\"\nread = true\nwrite = true\n[[access.fs]]\npath = \"secret\"' >$OUT/rule.toml
echo '[[access.fs]]\npath = \".\"\nread = true\nwrite = true\n[[access.fs]]\npath = \"secret\"\nread = true' >$OUT/readonly.toml
echo \"[file_policy]\ndeny_paths = ['$WS/secret/**']\" >$OUT/pattern.toml
echo \"[file_policy]\ndeny_paths = ['$WS/secret/*.key']\" >$OUT/names.toml
chmod -R a+rX $HOME $OUT .";

/// The user who runs a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Root,
    Ordinary,
}

impl Row {
    /// Runs the row in a fresh tree.
    fn run(self, user: User, mode: Mode) -> Outcome {
        let mut scratch = match user {
            User::Root => Scratch::new(),
            User::Ordinary => Scratch::for_ordinary_user(),
        };
        let shell = shell();
        let shell = shell.to_str().expect("UTF-8");
        let sh = if shell.ends_with("busybox") { format!("{shell} sh") } else { shell.to_owned() };
        let product = match mode {
            Mode::Bare => String::new(),
            Mode::Confined => {
                format!("{PRODUCT} {} {} --", Holder::options().join(" "), self.flags)
            }
        };
        let become_it = match user {
            User::Root => String::new(),
            User::Ordinary => {
                format!("setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups")
            }
        };
        let Self { before, line, .. } = self;
        let hand_over = match user {
            User::Root => String::new(),
            User::Ordinary => format!("chown -R {NOBODY}:{NOBODY} $ROOT || exit 99"),
        };
        let script = format!(
            "export WS=$PWD OUT=$PWD/../out; ROOT=$(dirname $PWD); OUT=$ROOT/out
             {SETUP}\n{hand_over}
             KEY=TOPSECRET {become_it} sleep 100 </dev/null >/dev/null 2>&1 &
             export P=$!; until read name </proc/$P/comm && [ $name = sleep ]; do :; done
             {{ {before}; }} || {{ kill $P; exit 98; }}
             {become_it} {product} {sh} -c '{line}'
             code=$?; kill $P; exit $code"
        );
        // Only root may mount.
        scratch.uid = None;
        Run::new(&scratch, "unshare", &["-m", "sh", "-c", &script]).mode(Mode::Bare).run()
    }
}

/// A shell that the holder under test can confine.
fn shell() -> PathBuf {
    match Holder::under_test() {
        Holder::Supervisor => busybox().unwrap_or_else(|| "sh".into()),
        _ => "sh".into(),
    }
}

/// The reason why no rows can run here, if there is one.
fn obstacle() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("only root can mount anything");
    }
    let scratch = Scratch::new();
    let probe = Run::sh(&scratch, "unshare -m mount -t proc proc dir").mode(Mode::Bare).run();
    (probe.code() != 0).then_some("there can be no mount namespace")
}

/// Each row must succeed bare, as far as this machine allows it, and fail confined.
fn assert_denied(rows: &[Row], users: &[User]) {
    if !have("unshare") || !have("setpriv") {
        return;
    }
    if let Some(why) = obstacle() {
        return skip(why);
    }
    let mut wrong = Vec::new();
    let mut tried = 0;
    for &user in users {
        for row in rows {
            if row.run(user, Mode::Bare).code() != 0 {
                note(&format!("cannot be done here by {user:?}: {}; {}", row.before, row.line));
                continue;
            }
            tried += 1;
            let run = row.run(user, Mode::under_test());
            let leaked = run.stdout.contains("TOPSECRET");
            if matches!(run.code(), 0 | 98 | 99 | 125..) || leaked {
                wrong.push(format!("{user:?}: {}; {} {}: {run}", row.before, row.flags, row.line));
            }
        }
    }
    assert!(wrong.is_empty(), "not denied: {}", wrong.join("\n"));
    assert!(tried > rows.len() / 2, "only {tried} of {} rows say anything here", rows.len());
}

const BOTH: &[User] = &[User::Root, User::Ordinary];

#[apply(row!)]
fn processes_outside_are_out_of_reach_by_another_mount() {
    assert_denied(PROCESSES, BOTH);
}

#[apply(row!)]
fn their_secrets_are_too() {
    if Holder::under_test() == Holder::Library {
        return skip("the library alone tells processes apart by their paths");
    }
    assert_denied(SECRETS_OF_PROCESSES, BOTH);
}

#[apply(row!)]
fn the_kernel_is_out_of_reach_by_another_mount() {
    assert_denied(KERNEL, &[User::Root]);
}

#[apply(row!)]
fn devices_are_known_by_their_numbers() {
    if matches!(Holder::under_test(), Holder::Library | Holder::Layers) {
        return skip("the library looks for devices where root file systems have them");
    }
    assert_denied(DEEP_DEVICES, &[User::Root]);
}

#[apply(row!)]
fn a_second_mount_is_denied_like_the_first() {
    assert_denied(COPIES, BOTH);
}

/// Ordinary use of other mounts goes on. Only these rows succeed under confinement.
#[apply(row!)]
fn other_mounts_go_on_as_before() {
    if !have("unshare") || !have("setpriv") {
        return;
    }
    if let Some(why) = obstacle() {
        return skip(why);
    }
    for &user in BOTH {
        for row in ALLOWED {
            row.run(user, Mode::under_test()).assert_ok();
        }
    }
    assert_eq!(Mode::under_test(), Mode::Confined, "they succeed bare");
}
