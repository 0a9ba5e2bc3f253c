//! Maps the numbers of trapped calls to handlers, with the arguments that each takes.

use jp_confine_engine::report_protocol;
use libc::AT_FDCWD;
use rustix::io::Errno;

use super::calls::attributes::{self, Unit};
use super::calls::exec::{self, Given};
use super::calls::open::{self, OpenArguments};
use super::calls::xattrs::{self, At};
use super::calls::{
    directories, entries, inotify, library_reports, links, listening, loopback, network, openat2,
    processes, queues, receive, refused, renames, send, sockets, terminals,
};
use super::task::Task;
use crate::plan::filter;
use crate::sys::notification::{CallResult, Notification};
use crate::syscalls::{self, CallSubject, RefusedCall};

/// The arguments of a call. Each is as wide as in the kernel.
#[derive(Clone, Copy)]
struct Arguments([u64; 6]);

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "the kernel too takes only as many bits as the argument has"
)]
impl Arguments {
    fn word(self, at: usize) -> u64 {
        self.0.get(at).copied().unwrap_or(0)
    }

    fn unsigned(self, at: usize) -> u32 {
        self.word(at) as u32
    }

    fn int(self, at: usize) -> i32 {
        self.unsigned(at) as i32
    }

    fn length(self, at: usize) -> i64 {
        self.word(at) as i64
    }
}

/// Pairs call numbers with names and handlers.
macro_rules! table {
    ($task:ident, $a:ident: $($number:pat => $name:literal, $answer:expr;)*) => {
        /// The name of a call, if it has a handler.
        pub(super) fn name(number: i64) -> Option<&'static str> {
            match number {
                $($number => Some($name),)*
                _ => None,
            }
        }

        pub(super) fn call($task: &super::Task<'_>, number: i64, $a: super::Arguments)
            -> Option<Result<super::CallResult, super::Errno>> {
            match number {
                $($number => Some($answer),)*
                _ => None,
            }
        }
    };
}

/// Numbers that the `libc` crate lacks so far.
mod recent {
    pub(super) const FCHMODAT2: i64 = 452;
    pub(super) const SETXATTRAT: i64 = 463;
    pub(super) const GETXATTRAT: i64 = 464;
    pub(super) const REMOVEXATTRAT: i64 = 466;
    pub(super) const FILE_SETATTR: i64 = 469;
}

/// The calls of all architectures.
mod common {
    use super::recent::{FCHMODAT2, FILE_SETATTR, GETXATTRAT, REMOVEXATTRAT, SETXATTRAT};
    use super::{
        AT_FDCWD, At, Errno, Given, OpenArguments, Unit, attributes, directories, entries, exec,
        filter, inotify, library_reports, links, listening, loopback, network, open, openat2,
        processes, queues, receive, refused, renames, report_protocol, send, sockets, terminals,
        xattrs,
    };

    table! { task, a:
        libc::SYS_openat => "openat", open::open(task, a.int(0), a.word(1), OpenArguments::new(a.int(2), a.unsigned(3)));
        libc::SYS_openat2 => "openat2", openat2::open(task, a.int(0), a.word(1), a.word(2), a.word(3));
        libc::SYS_execve => "execve", exec::execute(
            task, AT_FDCWD, a.word(0), Given { argv: a.word(1), envp: a.word(2) }, 0,
        );
        libc::SYS_execveat => "execveat", exec::execute(
            task, a.int(0), a.word(1), Given { argv: a.word(2), envp: a.word(3) }, a.int(4),
        );

        libc::SYS_getdents64 => "getdents64", directories::list(task, a.int(0));

        libc::SYS_mkdirat => "mkdirat", entries::make_directory(task, a.int(0), a.word(1), a.unsigned(2));
        libc::SYS_mknodat => "mknodat", entries::make_node(
            task, a.int(0), a.word(1), a.unsigned(2), a.unsigned(3).into(),
        );
        libc::SYS_symlinkat => "symlinkat", entries::make_symlink(task, a.word(0), a.int(1), a.word(2));
        libc::SYS_unlinkat => "unlinkat", entries::remove(task, a.int(0), a.word(1), a.int(2));
        libc::SYS_linkat => "linkat", links::make_link(
            task, (a.int(0), a.word(1)), (a.int(2), a.word(3)), a.int(4),
        );
        libc::SYS_renameat => "renameat", renames::rename(
            task, (a.int(0), a.word(1)), (a.int(2), a.word(3)), 0,
        );
        libc::SYS_renameat2 => "renameat2", renames::rename(
            task, (a.int(0), a.word(1)), (a.int(2), a.word(3)), a.unsigned(4),
        );

        libc::SYS_truncate => "truncate", attributes::truncate(task, a.word(0), a.length(1));
        libc::SYS_fchmod => "fchmod", attributes::set_mode_of(task, a.int(0), a.unsigned(1));
        libc::SYS_fchmodat => "fchmodat", attributes::set_mode(task, a.int(0), a.word(1), a.unsigned(2), 0);
        FCHMODAT2 => "fchmodat2", attributes::set_mode(
            task, a.int(0), a.word(1), a.unsigned(2), a.int(3),
        );
        libc::SYS_fchown => "fchown", attributes::set_owner_of(task, a.int(0), a.unsigned(1), a.unsigned(2));
        libc::SYS_fchownat => "fchownat", attributes::set_owner(
            task, a.int(0), a.word(1), (a.unsigned(2), a.unsigned(3)), a.int(4),
        );
        libc::SYS_utimensat => "utimensat", attributes::set_times(
            task, a.int(0), a.word(1), (a.word(2), Unit::Nanoseconds), a.int(3),
        );

        libc::SYS_setxattr => "setxattr", xattrs::set(
            task, At::path(a.word(0)), a.word(1), (a.word(2), a.word(3)), a.unsigned(4),
        );
        libc::SYS_lsetxattr => "lsetxattr", xattrs::set(
            task, At::link(a.word(0)), a.word(1), (a.word(2), a.word(3)), a.unsigned(4),
        );
        libc::SYS_fsetxattr => "fsetxattr", xattrs::set_of(
            task, a.int(0), a.word(1), (a.word(2), a.word(3)), a.unsigned(4),
        );
        SETXATTRAT => "setxattrat", xattrs::set_at(
            task, At { dirfd: a.int(0), path: a.word(1), flags: a.int(2) }, a.word(3),
            (a.word(4), a.word(5)),
        );
        libc::SYS_getxattr => "getxattr", xattrs::get(
            task, At::path(a.word(0)), a.word(1), (a.word(2), a.word(3)),
        );
        libc::SYS_lgetxattr => "lgetxattr", xattrs::get(
            task, At::link(a.word(0)), a.word(1), (a.word(2), a.word(3)),
        );
        GETXATTRAT => "getxattrat", xattrs::get_at(
            task, At { dirfd: a.int(0), path: a.word(1), flags: a.int(2) }, a.word(3),
            (a.word(4), a.word(5)),
        );
        libc::SYS_removexattr => "removexattr", xattrs::remove(task, At::path(a.word(0)), a.word(1));
        libc::SYS_lremovexattr => "lremovexattr", xattrs::remove(task, At::link(a.word(0)), a.word(1));
        libc::SYS_fremovexattr => "fremovexattr", xattrs::remove_of(task, a.int(0), a.word(1));
        REMOVEXATTRAT => "removexattrat", xattrs::remove(
            task, At { dirfd: a.int(0), path: a.word(1), flags: a.int(2) }, a.word(3),
        );
        // The caller sees an older kernel, as with the preload library.
        FILE_SETATTR => "file_setattr", Err(Errno::NOSYS);

        report_protocol::REPORT_SYSCALL => "report of a refusal from the library", library_reports::take(task, a.word(0), a.word(1));

        libc::SYS_socket => "socket", network::refuse_socket(task, a.int(0));
        libc::SYS_socketpair => "socketpair", network::refuse_socket(task, a.int(0));
        libc::SYS_connect => "connect", sockets::connect(task, a.int(0), a.word(1), a.int(2));
        libc::SYS_bind => "bind", sockets::bind(task, a.int(0), a.word(1), a.int(2));
        libc::SYS_listen => "listen", listening::listen(task, a.int(0), a.int(1));
        libc::SYS_shutdown => "shutdown", loopback::shut_down(task, a.int(0), a.int(1));
        libc::SYS_sendto => "sendto", send::send_to(
            task, a.int(0), (a.word(1), a.word(2)), a.int(3), (a.word(4), a.int(5)),
        );
        libc::SYS_recvfrom => "recvfrom", receive::receive_from(
            task, a.int(0), (a.word(1), a.word(2)), a.int(3), (a.word(4), a.word(5)),
        );
        libc::SYS_recvmsg => "recvmsg", receive::receive_message(task, a.int(0), a.word(1), a.int(2));
        libc::SYS_recvmmsg => "recvmmsg", receive::receive_messages(
            task, a.int(0), (a.word(1), a.unsigned(2)), a.int(3), a.word(4),
        );
        libc::SYS_getpeername => "getpeername", receive::peer_name(task, a.int(0), a.word(1), a.word(2));
        libc::SYS_sendmsg => "sendmsg", send::send_message(task, a.int(0), a.word(1), a.int(2));
        libc::SYS_sendmmsg => "sendmmsg", send::send_messages(
            task, a.int(0), a.word(1), a.unsigned(2), a.int(3),
        );
        // Only one option is trapped.
        libc::SYS_setsockopt => "setsockopt", loopback::share_port(task, a.int(0), a.word(3), a.unsigned(4));
        libc::SYS_prlimit64 => "prlimit64", processes::one(task, a.int(0));
        libc::SYS_setpgid => "setpgid", processes::join(task, a.int(0), a.int(1));
        libc::SYS_setpriority => "setpriority", processes::prioritise(
            task, a.unsigned(0), filter::PRIO_PROCESS, a.int(1),
        );
        libc::SYS_ioprio_set => "ioprio_set", processes::prioritise(
            task, a.unsigned(0), filter::IOPRIO_WHO_PROCESS, a.int(1),
        );
        libc::SYS_sched_setaffinity => "sched_setaffinity", processes::one(task, a.int(0));
        libc::SYS_sched_setattr => "sched_setattr", processes::one(task, a.int(0));
        libc::SYS_sched_setparam => "sched_setparam", processes::one(task, a.int(0));
        libc::SYS_sched_setscheduler => "sched_setscheduler", processes::one(task, a.int(0));
        libc::SYS_migrate_pages => "migrate_pages", processes::one(task, a.int(0));
        libc::SYS_move_pages => "move_pages", processes::one(task, a.int(0));
        libc::SYS_perf_event_open => "perf_event_open", processes::count(task, a.int(1), a.word(4));
        libc::SYS_mq_open => "mq_open", queues::open(
            task, a.word(0), a.int(1), a.unsigned(2), a.word(3),
        );
        libc::SYS_mq_unlink => "mq_unlink", queues::remove(task, a.word(0));
        libc::SYS_inotify_add_watch => "inotify_add_watch", inotify::add(
            task, a.int(0), a.word(1), a.unsigned(2),
        );

        // Trapped if the namespaces need a capability that the run's root lacks.
        libc::SYS_unshare => "unshare", refused::namespaces(task);
        libc::SYS_setns => "setns", refused::namespaces(task);
        // Only some terminal commands are trapped.
        libc::SYS_ioctl => "ioctl", terminals::command(
            task, a.int(0), a.unsigned(1), a.word(2),
        );
        libc::SYS_ptrace => "ptrace", processes::reach(task, a.int(1));
        libc::SYS_process_vm_readv => "process_vm_readv", processes::reach(task, a.int(0));
        libc::SYS_process_vm_writev => "process_vm_writev", processes::reach(task, a.int(0));
        libc::SYS_process_madvise => "process_madvise", processes::reach(task, 0);
        libc::SYS_pidfd_getfd => "pidfd_getfd", processes::reach(task, 0);
    }
}

/// The older forms, which only some architectures have.
#[cfg(target_arch = "x86_64")]
mod legacy {
    use super::{
        AT_FDCWD, OpenArguments, Unit, attributes, directories, entries, links, open, renames,
    };

    const CREAT: i32 = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;

    table! { task, a:
        libc::SYS_open => "open", open::open(task, AT_FDCWD, a.word(0), OpenArguments::new(a.int(1), a.unsigned(2)));
        libc::SYS_creat => "creat", open::open(task, AT_FDCWD, a.word(0), OpenArguments::new(CREAT, a.unsigned(1)));

        libc::SYS_getdents => "getdents", directories::list(task, a.int(0));

        libc::SYS_mkdir => "mkdir", entries::make_directory(task, AT_FDCWD, a.word(0), a.unsigned(1));
        libc::SYS_mknod => "mknod", entries::make_node(
            task, AT_FDCWD, a.word(0), a.unsigned(1), a.unsigned(2).into(),
        );
        libc::SYS_symlink => "symlink", entries::make_symlink(task, a.word(0), AT_FDCWD, a.word(1));
        libc::SYS_unlink => "unlink", entries::remove(task, AT_FDCWD, a.word(0), 0);
        libc::SYS_rmdir => "rmdir", entries::remove(task, AT_FDCWD, a.word(0), libc::AT_REMOVEDIR);
        libc::SYS_link => "link", links::make_link(
            task, (AT_FDCWD, a.word(0)), (AT_FDCWD, a.word(1)), 0,
        );
        libc::SYS_rename => "rename", renames::rename(
            task, (AT_FDCWD, a.word(0)), (AT_FDCWD, a.word(1)), 0,
        );

        libc::SYS_chmod => "chmod", attributes::set_mode(task, AT_FDCWD, a.word(0), a.unsigned(1), 0);
        libc::SYS_chown => "chown", attributes::set_owner(
            task, AT_FDCWD, a.word(0), (a.unsigned(1), a.unsigned(2)), 0,
        );
        libc::SYS_lchown => "lchown", attributes::set_owner(
            task, AT_FDCWD, a.word(0), (a.unsigned(1), a.unsigned(2)), libc::AT_SYMLINK_NOFOLLOW,
        );
        libc::SYS_utime => "utime", attributes::set_times(
            task, AT_FDCWD, a.word(0), (a.word(1), Unit::Seconds), 0,
        );
        libc::SYS_utimes => "utimes", attributes::set_times(
            task, AT_FDCWD, a.word(0), (a.word(1), Unit::Microseconds), 0,
        );
        libc::SYS_futimesat => "futimesat", attributes::set_times(
            task, a.int(0), a.word(1), (a.word(2), Unit::Microseconds), 0,
        );
    }
}

/// There are none on this architecture.
#[cfg(target_arch = "aarch64")]
mod legacy {
    pub(super) fn name(_: i64) -> Option<&'static str> {
        None
    }

    pub(super) fn call(
        _: &super::Task<'_>,
        _: i64,
        _: super::Arguments,
    ) -> Option<Result<super::Answer, super::Errno>> {
        None
    }
}

/// The name of a call with a handler.
pub(super) fn name(number: i64) -> Option<&'static str> {
    let refused = || syscalls::of_number(number).map(|call| call.name);
    common::name(number).or_else(|| legacy::name(number)).or_else(refused)
}

/// Answers a call.
///
/// # Errors
/// The caller's errno. `EACCES` for a call that should not be trapped.
pub(super) fn answer(task: &Task<'_>, from: &Notification) -> Result<CallResult, Errno> {
    let arguments = Arguments(from.arguments);
    task.settle_start(matches!(from.number, libc::SYS_execve | libc::SYS_execveat));
    let refused = || syscalls::of_number(from.number).map(|call| refuse(task, call, arguments));
    common::call(task, from.number, arguments)
        .or_else(|| legacy::call(task, from.number, arguments))
        .or_else(refused)
        .unwrap_or(Err(Errno::ACCESS))
}

/// Denies a call that no program may make.
fn refuse(task: &Task<'_>, call: &RefusedCall, a: Arguments) -> Result<CallResult, Errno> {
    match call.about {
        CallSubject::Path(path) => refused::at(task, AT_FDCWD, a.word(path)),
        CallSubject::PathAt { dirfd, path } => refused::at(task, a.int(dirfd), a.word(path)),
        CallSubject::Descriptor(fd) => refused::on(task, a.int(fd)),
        CallSubject::Everything => refused::anywhere(task),
    }
}
