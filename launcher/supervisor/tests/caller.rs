//! Tests that new files belong to the caller, whichever user it has become.

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;

use super::{HERE, address, agree, c, call, said};

/// Creates one of each kind, and lists the owners.
fn makes() -> String {
    let mut text = String::new();
    let create = usize::try_from(libc::O_CREAT | libc::O_WRONLY).expect("positive");
    let names = ["file", "dir", "node", "link"].map(c);
    let [file, dir, node, link] = names.each_ref().map(address);
    let outcomes = [
        call(libc::SYS_open, &[file, create, 0o777]).map(|_| 0),
        call(libc::SYS_mkdir, &[dir, 0o777]),
        call(libc::SYS_mknod, &[node, 0o10_777, 0]),
        call(libc::SYS_symlinkat, &[file, HERE, link]),
    ];
    for (name, outcome) in ["file", "dir", "node", "link"].into_iter().zip(outcomes) {
        let whose = std::fs::symlink_metadata(name)
            .map(|metadata| (metadata.uid(), metadata.gid(), format!("{:o}", metadata.mode())));
        let _ = writeln!(text, "{name} {} {whose:?}", said(outcome));
    }
    text
}

#[test]
fn the_mask_is_the_callers() {
    for mask in [0, 0o22, 0o77, 0o777] {
        agree(|| {
            let _ = call(libc::SYS_umask, &[mask]);
            makes()
        });
    }
}

/// Only root can become another user.
pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Changes all ids to a user who owns nothing, and whom only privileged processes may look into.
pub(super) fn become_stranger() {
    call(libc::SYS_setgroups, &[0, 0]).expect("set");
    call(libc::SYS_setresgid, &[1234, 1234, 1234]).expect("set");
    call(libc::SYS_setresuid, &[1234, 1234, 1234]).expect("set");
}

#[test]
fn files_of_a_caller_that_became_another() {
    if !is_root() {
        return;
    }
    agree(|| {
        let groups = [4321_u32, 4322];
        call(libc::SYS_setgroups, &[2, groups.as_ptr().expose_provenance()]).expect("set");
        call(libc::SYS_setresgid, &[1234, 1234, 1234]).expect("set");
        call(libc::SYS_setresuid, &[1234, 1234, 1234]).expect("set");
        call(libc::SYS_prctl, &[4, 1]).expect("dumpable");
        let mut text = makes();
        // Files of root.
        let file = c("f");
        let _ = writeln!(text, "{}", said(call(libc::SYS_open, &[address(&file), 1])));
        let _ = writeln!(text, "{}", said(call(libc::SYS_chmod, &[address(&file), 0o600])));
        text
    });
}

#[test]
fn a_file_system_user_counts() {
    if !is_root() {
        return;
    }
    agree(|| {
        let _ = call(libc::SYS_setfsgid, &[1235]);
        let _ = call(libc::SYS_setfsuid, &[1234]);
        makes()
    });
}

#[test]
fn capabilities_that_were_dropped_stay_so() {
    if !is_root() {
        return;
    }
    agree(|| {
        // Root without any capability.
        let header = [0x2008_0522_u32, 0];
        let none = [0_u32; 6];
        let (header, none) =
            (header.as_ptr().expose_provenance(), none.as_ptr().expose_provenance());
        call(libc::SYS_capset, &[header, none]).expect("dropped");
        call(libc::SYS_prctl, &[4, 1]).expect("dumpable");
        let file = c("f");
        let owner = 1234;
        format!("{}{}", said(call(libc::SYS_chown, &[address(&file), owner, owner])), makes())
    });
}

#[test]
fn capabilities_in_a_namespace_are_none_outside() {
    if !is_root() {
        return;
    }
    agree(|| {
        become_stranger();
        if call(libc::SYS_unshare, &[0x1000_0000]).is_err() {
            return "no user namespaces\n".to_owned();
        }
        call(libc::SYS_prctl, &[4, 1]).expect("dumpable");
        let file = c("f");
        let opened = call(libc::SYS_open, &[address(&file), 1]);
        let changed = call(libc::SYS_chmod, &[address(&file), 0o777]);
        format!("{} {}\n", said(opened), said(changed))
    });
}
