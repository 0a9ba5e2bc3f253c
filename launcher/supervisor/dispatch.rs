//! Maps the operations of trapped calls to handlers, with the arguments that each takes.

use jp_confine_engine::calls::{
    self, Arguments, Call, IOPRIO_WHO_PROCESS, Need, Operand, Operation as Op, PRIO_PROCESS,
};
use jp_confine_engine::report_protocol::{IMAGE_REQUEST, REPORT_SYSCALL};
use rustix::io::Errno;

use super::calls::attributes::{self, At, Unit};
use super::calls::exec::{self, Given};
use super::calls::open::{self, OpenArguments};
use super::calls::{
    directories, entries, inotify, library_reports, links, listening, loopback, network, openat2,
    processes, queues, receive, refused, renames, send, sockets, terminals, xattrs,
};
use super::task::Task;
use crate::sys::notification::{CallResult, Notification};

/// The flags of creat(2).
const CREAT: i32 = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;

/// The name of a call that may be trapped.
pub(super) fn name(number: i64) -> Option<&'static str> {
    if number == REPORT_SYSCALL {
        return Some("report of a refusal from the library");
    }
    calls::of_number(number).map(Call::text)
}

/// Answers a call.
///
/// # Errors
/// The caller's errno. `EACCES` for a call that should not be trapped.
pub(super) fn answer(task: &Task<'_>, from: &Notification) -> Result<CallResult, Errno> {
    let call = calls::of_number(from.number);
    task.settle_start(call.is_some_and(|call| call.operation == Op::Execute));
    if from.number == REPORT_SYSCALL {
        let [address, length, ..] = from.arguments;
        return if address == 0 && length == u64::from(IMAGE_REQUEST) {
            library_reports::hand_out_image(task)
        } else {
            library_reports::take(task, address, length)
        };
    }
    let arguments = Arguments::new(call.ok_or(Errno::ACCESS)?, from.arguments);
    match arguments.call().need {
        Need::Refused => refuse(task, &arguments),
        Need::Peer | Need::OwnProcess | Need::Varies => answer_other(task, &arguments),
        _ => answer_path(task, &arguments),
    }
}

/// Answers a call on paths, or on descriptors of files.
fn answer_path(task: &Task<'_>, a: &Arguments<'_>) -> Result<CallResult, Errno> {
    let (fd, path) = a.path();
    let at = At { dirfd: fd, path, flags: a.flags() };
    match a.call().operation {
        Op::Open => open::open(task, a.path(), OpenArguments::new(a.int(0), a.unsigned(1))),
        Op::CreateFile => open::open(task, a.path(), OpenArguments::new(CREAT, a.unsigned(0))),
        Op::OpenHow => openat2::open(task, fd, path, a.word(0), a.word(1)),
        Op::Execute => {
            exec::execute(task, fd, path, Given { argv: a.word(0), envp: a.word(1) }, a.flags())
        }
        Op::MakeDirectory => entries::make_directory(task, a.path(), a.unsigned(0)),
        Op::MakeNode => entries::make_node(task, a.path(), a.unsigned(0), a.unsigned(1).into()),
        Op::MakeSymlink => entries::make_symlink(task, a.word(0), a.path()),
        Op::Unlink => entries::remove(task, a.path(), a.int(0)),
        Op::RemoveDirectory => entries::remove(task, a.path(), libc::AT_REMOVEDIR),
        Op::Link => links::make_link(task, a.path(), a.second_path(), a.flags()),
        Op::Rename => renames::rename(task, a.path(), a.second_path(), a.unsigned(0)),
        Op::Truncate => attributes::truncate(task, path, a.length(0)),
        Op::SetMode => attributes::set_mode(task, at, a.unsigned(0)),
        Op::SetModeByDescriptor => attributes::set_mode_of(task, fd, a.unsigned(0)),
        Op::SetOwner => attributes::set_owner(task, at, (a.unsigned(0), a.unsigned(1))),
        Op::SetOwnerByDescriptor => {
            attributes::set_owner_of(task, fd, a.unsigned(0), a.unsigned(1))
        }
        Op::SetTimes => attributes::set_times(task, at, (a.word(0), Unit::Nanoseconds)),
        Op::SetTimesInMicroseconds => {
            attributes::set_times(task, at, (a.word(0), Unit::Microseconds))
        }
        Op::SetTimesInSeconds => attributes::set_times(task, at, (a.word(0), Unit::Seconds)),
        Op::SetAttribute => xattrs::set(task, at, a.word(0), (a.word(1), a.word(2)), a.unsigned(3)),
        Op::SetAttributeByDescriptor => {
            xattrs::set_of(task, fd, a.word(0), (a.word(1), a.word(2)), a.unsigned(3))
        }
        Op::SetAttributeAt => xattrs::set_at(task, at, a.word(0), (a.word(1), a.word(2))),
        Op::GetAttribute => xattrs::get(task, at, a.word(0), (a.word(1), a.word(2))),
        Op::GetAttributeAt => xattrs::get_at(task, at, a.word(0), (a.word(1), a.word(2))),
        Op::RemoveAttribute => xattrs::remove(task, at, a.word(0)),
        Op::RemoveAttributeByDescriptor => xattrs::remove_of(task, fd, a.word(0)),
        // The caller sees an older kernel, as with the preload library.
        Op::SetFileFlags => Err(Errno::NOSYS),
        Op::Bind => sockets::bind(task, fd, a.word(0), a.int(1)),
        Op::OpenQueue => queues::open(task, a.word(0), a.int(1), a.unsigned(2), a.word(3)),
        Op::RemoveQueue => queues::remove(task, a.word(0)),
        Op::Watch => inotify::add(task, a.int(0), path, a.unsigned(2)),
        _ => Err(Errno::ACCESS),
    }
}

/// Answers a call on sockets, processes, namespaces or devices.
fn answer_other(task: &Task<'_>, a: &Arguments<'_>) -> Result<CallResult, Errno> {
    let fd = a.number();
    match a.call().operation {
        Op::ListDirectory => directories::list(task, fd),
        Op::MakeSocket => network::refuse_socket(task, a.int(0)),
        Op::Connect => sockets::connect(task, fd, a.word(0), a.int(1)),
        Op::Listen => listening::listen(task, fd, a.int(0)),
        Op::Shutdown => loopback::shut_down(task, fd, a.int(0)),
        Op::SendTo => {
            let (data, to) = ((a.word(0), a.word(1)), (a.word(3), a.int(4)));
            send::send_to(task, fd, data, a.int(2), to)
        }
        Op::SendMessage => send::send_message(task, fd, a.word(0), a.int(1)),
        Op::SendMessages => send::send_messages(task, fd, a.word(0), a.unsigned(1), a.int(2)),
        Op::ReceiveFrom => {
            let (room, from) = ((a.word(0), a.word(1)), (a.word(3), a.word(4)));
            receive::receive_from(task, fd, room, a.int(2), from)
        }
        Op::ReceiveMessage => receive::receive_message(task, fd, a.word(0), a.int(1)),
        Op::ReceiveMessages => {
            let messages = (a.word(0), a.unsigned(1));
            receive::receive_messages(task, fd, messages, a.int(2), a.word(3))
        }
        Op::PeerName => receive::peer_name(task, fd, a.word(0), a.word(1)),
        // Only one option is trapped.
        Op::SetSocketOption => loopback::share_port(task, fd, a.word(2), a.unsigned(3)),
        Op::ChangeProcess => processes::one(task, fd),
        Op::JoinGroup => processes::join(task, fd, a.int(0)),
        Op::SetPriority => processes::prioritise(task, a.unsigned(0), PRIO_PROCESS, fd),
        Op::SetIoPriority => processes::prioritise(task, a.unsigned(0), IOPRIO_WHO_PROCESS, fd),
        Op::CountEvents => processes::count(task, fd, a.word(2)),
        Op::ReachProcess | Op::TakeDescriptor => processes::reach(task, fd),
        // Trapped if the namespaces need a capability that the run's root lacks.
        Op::LeaveNamespaces | Op::JoinNamespaces => refused::namespaces(task),
        // Only some terminal commands are trapped.
        Op::CommandDevice => terminals::command(task, fd, a.unsigned(0), a.word(1)),
        _ => Err(Errno::ACCESS),
    }
}

/// Denies a call that no program may make.
fn refuse(task: &Task<'_>, a: &Arguments<'_>) -> Result<CallResult, Errno> {
    let [about, _] = a.call().operands;
    let (fd, path) = a.path();
    match about {
        Operand::Object { .. } | Operand::Entry { .. } => refused::at(task, fd, path),
        Operand::Descriptor(_) => refused::on(task, fd),
        Operand::Process(_) | Operand::None => refused::anywhere(task),
    }
}
