//! Hook for libc's syscall(2). A number that names a mediated operation goes to the hook of the same meaning. A leaf
//! function makes every other call, so that calls which return twice or on another stack work as in libc.

use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_uint};

use jp_confine_engine::image::Image;

use crate::cancellation;
use crate::errno::{Errno, Reply};
use crate::hooks::tail::tail_jumps;
use crate::hooks::{
    attributes, children, directories, entries, exec, filesystem, inotify, linux, metadata,
    namespaces, open, openat2, posix_names, sockets, xattrs,
};
use crate::session;

/// The newest Linux call that this table covers. For the program, later calls do not exist. Neither do calls of another
/// word size, which have much higher numbers. The kernel uses only the lower half of the number, so a number with an
/// upper half is not valid either.
const LAST_KNOWN: c_long = 469;

/// The arguments of a system call.
#[derive(Clone, Copy)]
struct Arguments([usize; 6]);

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "the kernel too takes only as many bits as the argument has"
)]
impl Arguments {
    fn size(self, index: usize) -> usize {
        self.0.get(index).copied().unwrap_or(0)
    }

    fn unsigned(self, index: usize) -> c_uint {
        self.size(index) as c_uint
    }

    fn int(self, index: usize) -> c_int {
        self.unsigned(index) as c_int
    }

    fn length(self, index: usize) -> i64 {
        self.size(index) as i64
    }

    fn pointer<T>(self, index: usize) -> *mut T {
        core::ptr::with_exposed_provenance_mut(self.size(index))
    }
}

/// Converts a hook's result to that of `syscall`.
trait Outcome {
    fn outcome(self) -> c_long;
}

impl Outcome for c_int {
    fn outcome(self) -> c_long {
        self.into()
    }
}

impl Outcome for isize {
    fn outcome(self) -> c_long {
        c_long::try_from(self).unwrap_or(-1)
    }
}

impl Outcome for Errno {
    fn outcome(self) -> c_long {
        Err::<c_int, _>(self).reply().outcome()
    }
}

/// Pairs numbers with hooks. The test for a number and the call come from one list.
macro_rules! table {
    ($a:ident: $($number:pat => $hook:expr,)*) => {
        #[allow(clippy::unnested_or_patterns, reason = "a row may name several numbers")]
        pub(super) const fn has(number: super::c_long) -> bool {
            matches!(number, $($number)|*)
        }

        pub(super) fn call(number: super::c_long, $a: super::Arguments) -> super::c_long {
            use super::Outcome;
            match number {
                $($number => $hook.outcome(),)*
                _ => super::Errno::ENOSYS.outcome(),
            }
        }
    };
}

/// Calls that exist on every processor.
mod common {
    use core::ffi::{c_long, c_ulong};

    use super::{
        Errno, attributes, directories, entries, exec, filesystem, inotify, linux, metadata,
        namespaces, open, openat2, posix_names, sockets, xattrs,
    };
    use crate::errno::Reply;
    use crate::sys::FCHMODAT2;

    /// `setxattrat` to `removexattrat`, `open_tree_attr`, `file_getattr` and `file_setattr`.
    const FIRST_RECENT: c_long = 463;
    const LAST_RECENT: c_long = super::LAST_KNOWN;

    table! { a:
        libc::SYS_openat => open::jp_openat(a.int(0), a.pointer(1), a.int(2), a.unsigned(3)),
        libc::SYS_openat2 => openat2::open(a.int(0), a.pointer(1), a.pointer(2), a.size(3)).reply(),
        libc::SYS_execve => exec::execve(a.pointer(0), a.pointer(1), a.pointer(2)),
        libc::SYS_execveat => linux::exec::execveat(
            a.int(0), a.pointer(1), a.pointer(2), a.pointer(3), a.int(4),
        ),
        libc::SYS_chdir => directories::chdir(a.pointer(0)),
        libc::SYS_fchdir => directories::fchdir(a.int(0)),

        libc::SYS_mkdirat => entries::mkdirat(a.int(0), a.pointer(1), a.unsigned(2)),
        libc::SYS_mknodat => entries::mknodat(a.int(0), a.pointer(1), a.unsigned(2), a.unsigned(3).into()),
        libc::SYS_unlinkat => entries::unlinkat(a.int(0), a.pointer(1), a.int(2)),
        libc::SYS_symlinkat => entries::symlinkat(a.pointer(0), a.int(1), a.pointer(2)),
        libc::SYS_linkat => entries::linkat(
            a.int(0), a.pointer(1), a.int(2), a.pointer(3), a.int(4),
        ),
        libc::SYS_renameat => entries::renameat(a.int(0), a.pointer(1), a.int(2), a.pointer(3)),
        libc::SYS_renameat2 => linux::entries::renameat2(
            a.int(0), a.pointer(1), a.int(2), a.pointer(3), a.unsigned(4),
        ),

        libc::SYS_truncate => attributes::truncate(a.pointer(0), a.length(1)),
        libc::SYS_fchmod => attributes::set_mode_of_descriptor(a.int(0), a.unsigned(1)).reply(),
        libc::SYS_fchmodat => attributes::fchmodat(a.int(0), a.pointer(1), a.unsigned(2), 0),
        FCHMODAT2 => attributes::fchmodat(a.int(0), a.pointer(1), a.unsigned(2), a.int(3)),
        libc::SYS_fchown => {
            attributes::set_owner_of_descriptor(a.int(0), [a.unsigned(1), a.unsigned(2)]).reply()
        },
        libc::SYS_fchownat => attributes::fchownat(
            a.int(0), a.pointer(1), a.unsigned(2), a.unsigned(3), a.int(4),
        ),
        libc::SYS_utimensat => linux::attributes::utimensat_by_number(
            a.int(0), a.pointer(1), a.pointer(2), a.int(3),
        ),
        libc::SYS_setxattr => xattrs::setxattr(
            a.pointer(0), a.pointer(1), a.pointer(2), a.size(3), a.int(4),
        ),
        libc::SYS_lsetxattr => xattrs::lsetxattr(
            a.pointer(0), a.pointer(1), a.pointer(2), a.size(3), a.int(4),
        ),
        libc::SYS_fsetxattr => xattrs::fsetxattr(
            a.int(0), a.pointer(1), a.pointer(2), a.size(3), a.int(4),
        ),
        libc::SYS_getxattr => xattrs::getxattr(a.pointer(0), a.pointer(1), a.pointer(2), a.size(3)),
        libc::SYS_lgetxattr => xattrs::lgetxattr(a.pointer(0), a.pointer(1), a.pointer(2), a.size(3)),
        libc::SYS_listxattr => xattrs::listxattr(a.pointer(0), a.pointer(1), a.size(2)),
        libc::SYS_llistxattr => xattrs::llistxattr(a.pointer(0), a.pointer(1), a.size(2)),
        libc::SYS_removexattr => xattrs::removexattr(a.pointer(0), a.pointer(1)),
        libc::SYS_lremovexattr => xattrs::lremovexattr(a.pointer(0), a.pointer(1)),
        libc::SYS_fremovexattr => xattrs::fremovexattr(a.int(0), a.pointer(1)),

        libc::SYS_newfstatat => metadata::fstatat(a.int(0), a.pointer(1), a.pointer(2), a.int(3)),
        libc::SYS_statx => linux::metadata::statx(
            a.int(0), a.pointer(1), a.int(2), a.unsigned(3), a.pointer(4),
        ),
        libc::SYS_faccessat => metadata::faccessat(a.int(0), a.pointer(1), a.int(2), 0),
        libc::SYS_faccessat2 => metadata::faccessat(a.int(0), a.pointer(1), a.int(2), a.int(3)),
        libc::SYS_readlinkat => metadata::readlinkat(a.int(0), a.pointer(1), a.pointer(2), a.size(3)),

        libc::SYS_statfs => filesystem::statfs(a.pointer(0), a.pointer(1)),
        libc::SYS_inotify_add_watch => inotify::inotify_add_watch(a.int(0), a.pointer(1), a.unsigned(2)),
        libc::SYS_mq_open => posix_names::jp_mq_open(a.pointer(0), a.int(1), a.unsigned(2), a.pointer(3)),
        libc::SYS_mq_unlink => posix_names::mq_unlink(a.pointer(0)),

        libc::SYS_bind => sockets::bind(a.int(0), a.pointer(1), a.unsigned(2)),
        libc::SYS_connect => sockets::connect(a.int(0), a.pointer(1), a.unsigned(2)),
        libc::SYS_sendto => sockets::sendto(
            a.int(0), a.pointer(1), a.size(2), a.int(3), a.pointer(4), a.unsigned(5),
        ),
        libc::SYS_sendmsg => sockets::sendmsg(a.int(0), a.pointer(1), a.int(2)),
        libc::SYS_sendmmsg => linux::sockets::sendmmsg(a.int(0), a.pointer(1), a.unsigned(2), a.int(3)),

        libc::SYS_chroot => namespaces::chroot(a.pointer(0)),
        libc::SYS_mount => namespaces::mount(
            a.pointer(0), a.pointer(1), a.pointer(2), a.size(3) as c_ulong, a.pointer(4),
        ),
        libc::SYS_umount2 => namespaces::umount2(a.pointer(0), a.int(1)),
        libc::SYS_unshare => namespaces::unshare(a.int(0)),
        libc::SYS_setns => namespaces::setns(a.int(0), a.int(1)),

        // Calls without a hook that take paths, act for other threads, or reach what others keep. They fail as on an
        // older kernel, so that the program falls back on calls that have a hook.
        libc::SYS_io_uring_setup
        | libc::SYS_io_uring_enter
        | libc::SYS_io_uring_register
        | libc::SYS_add_key
        | libc::SYS_request_key
        | libc::SYS_keyctl
        | libc::SYS_name_to_handle_at
        | libc::SYS_fanotify_mark
        | libc::SYS_lookup_dcookie
        | FIRST_RECENT..=LAST_RECENT => Errno::ENOSYS,
    }
}

/// Calls that nobody may make, and that are reported. Checked before the other tables.
mod refused {
    use core::ffi::c_long;

    use crate::hooks::refusal::{EVERYWHERE, refuse};

    /// Numbers that the C library's headers do not define everywhere.
    const QUOTACTL_FD: c_long = 443;
    const OPEN_TREE_ATTR: c_long = 467;
    #[cfg(target_arch = "x86_64")]
    const USELIB: c_long = libc::SYS_uselib;
    /// This processor has no such call.
    #[cfg(target_arch = "aarch64")]
    const USELIB: c_long = -1;

    table! { a:
        libc::SYS_open_tree => refuse(c"open_tree", a.pointer(1)),
        OPEN_TREE_ATTR => refuse(c"open_tree_attr", a.pointer(1)),
        libc::SYS_move_mount => refuse(c"move_mount", a.pointer(3)),
        libc::SYS_fsopen => refuse(c"fsopen", EVERYWHERE),
        libc::SYS_fsconfig => refuse(c"fsconfig", EVERYWHERE),
        libc::SYS_fsmount => refuse(c"fsmount", EVERYWHERE),
        libc::SYS_fspick => refuse(c"fspick", a.pointer(1)),
        libc::SYS_mount_setattr => refuse(c"mount_setattr", a.pointer(1)),
        libc::SYS_pivot_root => refuse(c"pivot_root", a.pointer(0)),
        libc::SYS_pidfd_getfd => refuse(c"pidfd_getfd", EVERYWHERE),
        libc::SYS_open_by_handle_at => refuse(c"open_by_handle_at", EVERYWHERE),
        libc::SYS_fanotify_init => refuse(c"fanotify_init", EVERYWHERE),
        libc::SYS_bpf => refuse(c"bpf", EVERYWHERE),
        libc::SYS_syslog => refuse(c"syslog", EVERYWHERE),
        libc::SYS_quotactl => refuse(c"quotactl", a.pointer(1)),
        QUOTACTL_FD => refuse(c"quotactl_fd", EVERYWHERE),
        libc::SYS_acct => refuse(c"acct", a.pointer(0)),
        libc::SYS_swapon => refuse(c"swapon", a.pointer(0)),
        libc::SYS_swapoff => refuse(c"swapoff", a.pointer(0)),
        USELIB => refuse(c"uselib", a.pointer(0)),
    }
}

/// Older forms of calls, which only some processors have.
#[cfg(target_arch = "x86_64")]
mod legacy {
    use super::{attributes, entries, linux, metadata, open};

    table! { a:
        libc::SYS_open => open::jp_open(a.pointer(0), a.int(1), a.unsigned(2)),
        libc::SYS_creat => open::creat(a.pointer(0), a.unsigned(1)),

        libc::SYS_mkdir => entries::mkdir(a.pointer(0), a.unsigned(1)),
        libc::SYS_mknod => entries::mknod(a.pointer(0), a.unsigned(1), a.unsigned(2).into()),
        libc::SYS_rmdir => entries::rmdir(a.pointer(0)),
        libc::SYS_unlink => entries::unlink(a.pointer(0)),
        libc::SYS_symlink => entries::symlink(a.pointer(0), a.pointer(1)),
        libc::SYS_link => entries::link(a.pointer(0), a.pointer(1)),
        libc::SYS_rename => entries::rename(a.pointer(0), a.pointer(1)),

        libc::SYS_chmod => attributes::chmod(a.pointer(0), a.unsigned(1)),
        libc::SYS_chown => attributes::chown(a.pointer(0), a.unsigned(1), a.unsigned(2)),
        libc::SYS_lchown => attributes::lchown(a.pointer(0), a.unsigned(1), a.unsigned(2)),
        libc::SYS_utime => attributes::utime(a.pointer(0), a.pointer(1)),
        libc::SYS_utimes => attributes::utimes(a.pointer(0), a.pointer(1)),
        libc::SYS_futimesat => linux::attributes::futimesat(a.int(0), a.pointer(1), a.pointer(2)),

        libc::SYS_stat => metadata::stat(a.pointer(0), a.pointer(1)),
        libc::SYS_lstat => metadata::lstat(a.pointer(0), a.pointer(1)),
        libc::SYS_access => metadata::access(a.pointer(0), a.int(1)),
        libc::SYS_readlink => metadata::readlink(a.pointer(0), a.pointer(1), a.size(2)),
    }
}

/// This processor has none.
#[cfg(target_arch = "aarch64")]
mod legacy {
    pub(super) const fn has(_: super::c_long) -> bool {
        false
    }

    pub(super) fn call(_: super::c_long, _: super::Arguments) -> super::c_long {
        super::Outcome::outcome(super::Errno::ENOSYS)
    }
}

/// Makes the call by its hook, or denies it.
extern "C" fn mediate(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    let arguments = Arguments([first, second, third, fourth, fifth, sixth]);
    // Unlike the functions of the same meaning, syscall(2) is not a cancellation point.
    cancellation::without(|| {
        if !(0..=LAST_KNOWN).contains(&number) {
            Errno::ENOSYS.outcome()
        } else if refused::has(number) {
            refused::call(number, arguments)
        } else if common::has(number) {
            common::call(number, arguments)
        } else if legacy::has(number) {
            legacy::call(number, arguments)
        } else {
            // It would create a child with namespaces of its own (`prepare_raw`).
            Errno::EPERM.outcome()
        }
    })
}

/// Reports the kernel's negated error number as libc does.
extern "C" fn failed(result: c_long) -> c_long {
    Errno(c_int::try_from(result.wrapping_neg()).unwrap_or(libc::EIO)).outcome()
}

tail_jumps! {
    /// syscall(2). Its arguments arrive like those of a function with seven integers, and `mediate` is one.
    syscall => choose;
}

/// The address to continue at: the hooks, or the kernel.
extern "C" fn choose(number: c_long, first: usize, second: usize) -> usize {
    let mediated = if refused::has(number) {
        // Layers behind the library answer as the kernel does, and report it as well.
        !session::image().is_ok_and(Image::holds_other_programs)
    } else {
        !(0..=LAST_KNOWN).contains(&number)
            || common::has(number)
            || legacy::has(number)
            || children::prepare_raw(number, first, second).is_err()
    };
    if mediated {
        (mediate as *const ()).expose_provenance()
    } else {
        (unmediated as *const ()).expose_provenance()
    }
}

/// The system call itself, with the arguments of syscall(2). The last one is on the stack.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
extern "C" fn unmediated() {
    naked_asm!(
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, [rsp + 8]",
        "syscall",
        "cmp rax, -4095",
        "jae 2f",
        "ret",
        "2:",
        "mov rdi, rax",
        "jmp {failed}",
        failed = sym failed,
    )
}

/// Like the x86-64 form, but all arguments are in registers.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
extern "C" fn unmediated() {
    naked_asm!(
        "mov x8, x0",
        "mov x0, x1",
        "mov x1, x2",
        "mov x2, x3",
        "mov x3, x4",
        "mov x4, x5",
        "mov x5, x6",
        "svc 0",
        "cmn x0, 4095",
        "b.hs 2f",
        "ret",
        "2:",
        "b {failed}",
        failed = sym failed,
    )
}
