//! Functions that are always denied, because they cannot be judged or would change the meaning of paths.

use core::ffi::{c_char, c_int, c_void};

use crate::errno::Reply;
use crate::hooks::refusal::{EVERYWHERE, refuse};

macro_rules! refused {
    ($($call:literal $name:ident($($argument:ident: $kind:ty),*) on $path:expr;)*) => {
        $(
            pub(in crate::hooks::macos) extern "C" fn $name($($argument: $kind),*) -> c_int {
                Err::<c_int, _>(refuse($call, $path)).reply()
            }
        )*
    };
}

refused! {
    c"chroot" chroot(path: *const c_char) on path;
    c"mount" mount(_kind: *const c_char, path: *const c_char) on path;
    c"fmount" fmount() on EVERYWHERE;
    c"unmount" unmount(path: *const c_char) on path;
    c"quotactl" quotactl(path: *const c_char) on path;
    c"acct" acct(path: *const c_char) on path;
    c"swapon" swapon(path: *const c_char) on path;
    c"nfssvc" nfssvc() on EVERYWHERE;
    c"undelete" undelete(path: *const c_char) on path;
    c"revoke" revoke(path: *const c_char) on path;
    c"auditctl" auditctl(path: *const c_char) on path;
    c"fs_snapshot_mount" fs_snapshot_mount() on EVERYWHERE;
    // These take a number instead of a path.
    c"openbyid_np" openbyid_np() on EVERYWHERE;
    c"fsgetpath" fsgetpath() on EVERYWHERE;
    // This lists a whole volume.
    c"searchfs" searchfs(path: *const c_char) on path;
    c"fsctl" fsctl(path: *const c_char) on path;
    // This takes many paths in one argument.
    c"accessx_np" accessx_np() on EVERYWHERE;
    // This opens a file by name, with a descriptor that only its creator may close.
    c"guarded_open_np" guarded_open_np(path: *const c_char) on path;
    // Variants of other functions with more arguments.
    c"libSystem" internal() on EVERYWHERE;
    // This makes any system call, by number.
    c"syscall" syscall() on EVERYWHERE;
}

macro_rules! refused_pointers {
    ($($call:literal $name:ident($($argument:ident: $kind:ty),*) on $path:expr;)*) => {
        $(
            pub(in crate::hooks::macos) extern "C" fn $name($($argument: $kind),*) -> *mut c_void {
                Err::<*mut c_void, _>(refuse($call, $path)).reply()
            }
        )*
    };
}

refused_pointers! {
    // This takes a block instead of a function.
    c"scandir_b" with_block() on EVERYWHERE;
}

/// The variants from before macOS 10.6, which use other structures.
#[cfg(target_arch = "x86_64")]
pub(super) mod old {
    use super::{Reply, c_char, c_int, c_void, refuse};

    refused! {
        c"stat" stat(path: *const c_char) on path;
    }

    refused_pointers! {
        c"opendir" opendir(path: *const c_char) on path;
    }
}
