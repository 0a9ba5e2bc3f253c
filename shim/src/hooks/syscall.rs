//! Hook for libc's syscall(2). The table of calls says which operation a number stands for. A mediated operation goes to
//! the hook of the same meaning. A leaf function makes every other call, so that calls which return twice or on another
//! stack work as in libc.

use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_int, c_long};

use jp_confine_engine::calls::{self, Arguments, Call, LAST_KNOWN, Need, Operation};
use jp_confine_engine::image::Image;

use crate::errno::{Errno, Reply};
use crate::hooks::entries::Argument;
use crate::hooks::exec::reply;
use crate::hooks::open::How;
use crate::hooks::refusal::{EVERYWHERE, refuse};
use crate::hooks::tail::tail_jumps;
use crate::hooks::xattrs::At;
use crate::hooks::{
    attributes, children, directories, entries, filesystem, inotify, linux, metadata, namespaces,
    open, openat2, posix_names, sockets, xattrs,
};
use crate::{cancellation, exec, session};

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
        Err::<c_int, _>(self).outcome()
    }
}

impl Outcome for Result<(), Errno> {
    fn outcome(self) -> c_long {
        self.reply().outcome()
    }
}

impl Outcome for Result<c_int, Errno> {
    fn outcome(self) -> c_long {
        self.reply().outcome()
    }
}

impl Outcome for Result<usize, Errno> {
    fn outcome(self) -> c_long {
        self.reply().outcome()
    }
}

/// Pairs operations with hooks. The test for an operation and the call come from one list.
macro_rules! table {
    ($a:ident: $($operation:ident => $hook:expr,)*) => {
        const fn has(operation: Operation) -> bool {
            matches!(operation, $(Operation::$operation)|*)
        }

        #[inline(always)] // it is a part of one function, and of its stack
        fn by_hook($a: &Arguments<'static>) -> c_long {
            match $a.call().operation {
                $(Operation::$operation => $hook.outcome(),)*
                _ => Errno::ENOSYS.outcome(),
            }
        }
    };
}

table! { a:
    Open => open_file(a),
    CreateFile => open::creat(path(a), a.unsigned(0)),
    OpenHow => openat2::open(a.number(), path(a), pointer(a.word(0)), size(a.word(1))),
    Execute => reply(exec::execute(
        name(a), a.number(), path(a), pointer(a.word(0)), pointer(a.word(1)), a.flags(),
    )),
    ChangeDirectory => directories::chdir(path(a)),
    ChangeDirectoryByDescriptor => directories::fchdir(a.number()),

    MakeDirectory => entries::make_directory(name(a), argument(a), a.unsigned(0)),
    MakeNode => entries::make_node(name(a), argument(a), a.unsigned(0), a.unsigned(1).into()),
    MakeSymlink => entries::make_symlink(name(a), pointer(a.word(0)), argument(a)),
    Unlink => entries::remove_entry(name(a), argument(a), a.int(0)),
    RemoveDirectory => entries::remove_entry(name(a), argument(a), libc::AT_REMOVEDIR),
    Link => entries::make_link(name(a), argument(a), second_argument(a), a.flags()),
    Rename => linux::entries::rename(
        name(a), argument(a), second_argument(a), a.unsigned(0),
    ),

    Truncate => attributes::truncate(path(a), a.length(0)),
    SetMode => attributes::set_mode(name(a), a.number(), path(a), a.unsigned(0), a.flags()),
    SetModeByDescriptor => attributes::set_mode_of_descriptor(a.number(), a.unsigned(0)),
    SetOwner => {
        let owner = [a.unsigned(0), a.unsigned(1)];
        attributes::set_owner(name(a), a.number(), path(a), owner, a.flags())
    },
    SetOwnerByDescriptor => {
        attributes::set_owner_of_descriptor(a.number(), [a.unsigned(0), a.unsigned(1)])
    },
    SetTimes => {
        linux::attributes::utimensat_by_number(a.number(), path(a), pointer(a.word(0)), a.flags())
    },
    SetTimesInMicroseconds => set_times(a),
    SetTimesInSeconds => attributes::utime(path(a), pointer(a.word(0))),
    SetAttribute => set_attribute(a),
    SetAttributeByDescriptor => xattrs::fsetxattr(
        a.number(), pointer(a.word(0)), pointer(a.word(1)), size(a.word(2)), a.int(3),
    ),
    GetAttribute => read_attribute(a),
    ListAttributes => xattrs::list_attributes(at(a), pointer(a.word(0)), size(a.word(1))),
    RemoveAttribute => xattrs::remove_attribute(name(a), at(a), pointer(a.word(0))),
    RemoveAttributeByDescriptor => xattrs::fremovexattr(a.number(), pointer(a.word(0))),

    Status => metadata::status(a.number(), path(a), pointer(a.word(0)), a.flags()),
    ExtendedStatus => linux::metadata::statx(
        a.number(), path(a), a.flags(), a.unsigned(0), pointer(a.word(1)),
    ),
    GetFileFlags => linux::metadata::file_flags(
        a.number(), path(a), [size(a.word(0)), size(a.word(1))], a.flags(),
    ),
    Access => metadata::may(a.number(), path(a), a.int(0), a.flags()),
    ReadLink => metadata::readlinkat(a.number(), path(a), pointer(a.word(0)), size(a.word(1))),
    FileSystem => filesystem::statfs(path(a), pointer(a.word(0))),
    Watch => inotify::inotify_add_watch(a.int(0), path(a), a.unsigned(2)),
    OpenQueue => posix_names::jp_mq_open(
        pointer(a.word(0)), a.int(1), a.unsigned(2), pointer(a.word(3)),
    ),
    RemoveQueue => posix_names::mq_unlink(pointer(a.word(0))),

    Bind => sockets::bind(a.number(), pointer(a.word(0)), a.unsigned(1)),
    Connect => sockets::connect(a.number(), pointer(a.word(0)), a.unsigned(1)),
    SendTo => sockets::sendto(
        a.number(), pointer(a.word(0)), size(a.word(1)), a.int(2), pointer(a.word(3)), a.unsigned(4),
    ),
    SendMessage => sockets::sendmsg(a.number(), pointer(a.word(0)), a.int(1)),
    SendMessages => {
        linux::sockets::sendmmsg(a.number(), pointer(a.word(0)), a.unsigned(1), a.int(2))
    },

    LeaveNamespaces => namespaces::unshare(a.int(0)),
    JoinNamespaces => namespaces::setns(a.int(0), a.int(1)),
}

/// The name under which the call is reported.
const fn name(a: &Arguments<'static>) -> &'static CStr {
    a.call().name
}

fn pointer<T>(word: u64) -> *mut T {
    core::ptr::with_exposed_provenance_mut(size(word))
}

/// A word of the kernel's. Both supported processors have words of this size.
#[expect(clippy::cast_possible_truncation, reason = "both have 64 bits")]
const fn size(word: u64) -> usize {
    word as usize
}

/// The first path. [`Arguments::number`] has the descriptor that it starts at.
fn path(a: &Arguments<'_>) -> *const c_char {
    pointer(a.path().1)
}

fn argument(a: &Arguments<'_>) -> Argument {
    let (dirfd, path) = a.path();
    Argument { dirfd, path: pointer(path) }
}

fn second_argument(a: &Arguments<'_>) -> Argument {
    let (dirfd, path) = a.second_path();
    Argument { dirfd, path: pointer(path) }
}

/// The first path with its flags.
fn at(a: &Arguments<'_>) -> At {
    At { dirfd: a.number(), path: path(a), flags: a.flags() }
}

// These keep their locals off the stack of `mediate`. Renames need nearly all that there is.

#[inline(never)]
fn open_file(a: &Arguments<'static>) -> Result<c_int, Errno> {
    let how = How::new(a.int(0), a.unsigned(1)).cancellable();
    open::open_at(name(a), a.number(), path(a), how)
}

#[inline(never)]
fn set_times(a: &Arguments<'static>) -> Result<(), Errno> {
    let times = attributes::Times::from_timeval(pointer(a.word(0)));
    attributes::set_some_times(name(a), a.number(), path(a), times, 0)
}

#[inline(never)]
fn set_attribute(a: &Arguments<'static>) -> Result<(), Errno> {
    let value = [size(a.word(1)), size(a.word(2)), size(a.word(3))];
    xattrs::set_attribute(name(a), at(a), pointer(a.word(0)), value)
}

#[inline(never)]
fn read_attribute(a: &Arguments<'static>) -> Result<usize, Errno> {
    let value = [size(a.word(1)), size(a.word(2))];
    xattrs::read_attribute(name(a), at(a), pointer(a.word(0)), value)
}

/// Whether nobody may make the call, so that it is denied and reported.
const fn is_refused(call: &Call) -> bool {
    matches!(call.need, Need::Refused) || matches!(call.operation, Operation::TakeDescriptor)
}

/// Whether the library makes the call, or denies it. A call that takes a path and has no hook fails as on an older
/// kernel, so that the program falls back on calls that have one.
fn is_mediated(call: &Call) -> bool {
    if is_refused(call) {
        // Layers behind the library answer as the kernel does, and report it as well.
        return !session::image().is_ok_and(Image::holds_other_programs);
    }
    has(call.operation) || call.takes_path() || call.need == Need::Absent
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
    let words = [first, second, third, fourth, fifth, sixth].map(|word| word as u64);
    // Unlike the functions of the same meaning, syscall(2) is not a cancellation point.
    cancellation::without(|| {
        let Some(call) = calls::of_number(number) else { return Errno::ENOSYS.outcome() };
        let arguments = Arguments::new(call, words);
        if is_refused(call) {
            let path = if call.takes_path() { path(&arguments) } else { EVERYWHERE };
            refuse(call.name, path).outcome()
        } else if is_mediated(call) {
            by_hook(&arguments)
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

/// The address to continue at: the hooks, or the kernel. For the program, calls that are newer than the table do not
/// exist. Neither do calls of another word size, which have much higher numbers. The kernel uses only the lower half of
/// the number, so a number with an upper half is not valid either.
extern "C" fn choose(number: c_long, first: usize, second: usize) -> usize {
    let mediated = match calls::of_number(number) {
        Some(call) if is_mediated(call) => true,
        _ => {
            !(0..=LAST_KNOWN).contains(&number)
                || children::prepare_raw(number, first, second).is_err()
        }
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
