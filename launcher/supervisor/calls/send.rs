//! Sends messages with an address, or with data that may contain one: `sendto`, `sendmsg`, `sendmmsg`. The supervisor
//! sends its own copy.

use std::os::fd::{AsFd as _, OwnedFd};

use jp_confine_engine::Capabilities;
use rustix::io::Errno;
use rustix::net::sockopt::Timeout;

use super::ancillary_data::{self, Control, leads_nowhere};
use super::sockets::{Address, unix_address};
use super::{abstract_sockets, netlink, network};
use crate::record::denial::Reason;
use crate::supervisor::caller::Caller;
use crate::supervisor::copy_budget::Room;
use crate::supervisor::resolve::Argument;
use crate::supervisor::resolve::object::Object;
use crate::supervisor::task::Task;
use crate::sys::notification::CallResult;
use crate::sys::proc::name_of;
use crate::sys::{messages, signals};

/// The most bytes of a stream sent at once. No kernel accepts so long a datagram.
const LONGEST: usize = 16 << 20;
/// The most pieces and messages that the kernel accepts at a time (`UIO_MAXIOV`).
pub(super) const MOST: usize = 1024;
/// The most control data that the kernel accepts by default.
const LONGEST_CONTROL: usize = 128 << 10;
/// The words of `struct msghdr`, and the size of `struct mmsghdr`, which adds a length.
pub(super) const WORDS: usize = 7;
pub(super) const MMSGHDR: u64 = 64;

/// A copy of a message of the caller's.
struct Message<'t> {
    address: Address,
    data: Vec<u8>,
    /// Budget for the copies in the supervisor's memory.
    _rooms: [Room<'t>; 2],
    control: Vec<u8>,
    flags: i32,
}

/// The destination of a message.
#[derive(Default)]
struct Destination {
    name: Vec<u8>,
    /// Pins the object behind a substituted name.
    _held: Option<Object>,
}

/// sendto(2) with an address.
pub(crate) fn send_to(
    task: &Task<'_>,
    fd: i32,
    (data, length): (u64, u64),
    flags: i32,
    (at, size): (u64, i32),
) -> Result<CallResult, Errno> {
    let socket = task.caller.descriptor(fd)?;
    // The error for a descriptor that is no socket comes first.
    network::domain(&socket)?;
    let length = usize::try_from(length).map_err(|_| Errno::INVAL)?;
    let room = room_for_data(task, &socket, length)?;
    let data = task.caller.bytes(data, room.length())?;
    let address = Address::read(task, at, size)?;
    let rooms = [room, task.room_to_copy(0)];
    let message = Message { address, data, _rooms: rooms, control: Vec::new(), flags };
    send(task, &socket, &message).map(answer)
}

/// sendmsg(2).
pub(crate) fn send_message(
    task: &Task<'_>,
    fd: i32,
    header: u64,
    flags: i32,
) -> Result<CallResult, Errno> {
    send_one(task, fd, header, flags).map(answer)
}

fn send_one(task: &Task<'_>, fd: i32, header: u64, flags: i32) -> Result<usize, Errno> {
    let socket = task.caller.descriptor(fd)?;
    let message = Message::read(task, &socket, header, flags);
    // The error for a descriptor that is no socket comes first.
    let message = message.or_else(|errno| network::domain(&socket).and(Err(errno)))?;
    let carried = ancillary_data::carried(&message.control)?;
    if carried == 0 {
        return send(task, &socket, &message);
    }
    drop(socket);
    task.carry(carried)?;
    send(task, &task.caller.descriptor(fd)?, &message)
}

/// sendmmsg(2).
pub(crate) fn send_messages(
    task: &Task<'_>,
    fd: i32,
    headers: u64,
    count: u32,
    flags: i32,
) -> Result<CallResult, Errno> {
    let mut sent = 0_u32;
    for index in 0..u64::from(count).min(MOST as u64) {
        let header = headers.wrapping_add(index * MMSGHDR);
        let outcome = send_one(task, fd, header, flags).and_then(|length| {
            let length = u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes();
            task.caller.write(header.wrapping_add(WORDS as u64 * 8), &length)
        });
        match outcome {
            Ok(()) => sent += 1,
            Err(errno) if sent == 0 => return Err(errno),
            Err(_) => break,
        }
    }
    Ok(CallResult::Value(sent.into()))
}

impl<'t> Message<'t> {
    fn read(task: &Task<'t>, socket: &OwnedFd, at: u64, flags: i32) -> Result<Self, Errno> {
        let caller = task.caller;
        let [name, name_length, pieces, count, control, control_length, _]: [u64; WORDS] =
            caller.words(at)?;
        // The upper half is padding.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the kernel too takes only its 32 bits"
        )]
        let name_length = if name == 0 { 0 } else { name_length as i32 };
        let address = Address::read(task, name, name_length)?;
        let control_length = usize::try_from(control_length).map_err(|_| Errno::NOBUFS)?;
        if control_length > LONGEST_CONTROL {
            return Err(Errno::NOBUFS);
        }
        let room = task.room_to_copy(control_length);
        if room.length() < control_length {
            return Err(Errno::NOBUFS);
        }
        let pieces = Pieces::read(caller, pieces, count)?;
        let length = pieces.length()?;
        let control = caller.bytes(control, control_length)?;
        let rooms = [room, room_for_data(task, socket, length)?];
        let data = pieces.gather(caller, rooms[1].length())?;
        Ok(Self { address, data, _rooms: rooms, control, flags })
    }
}

/// The addresses of a message's data in the caller's memory (`struct iovec`).
pub(super) struct Pieces(Vec<[u64; 2]>);

impl Pieces {
    /// # Errors
    /// `EFAULT`, and `EMSGSIZE` if there are too many.
    pub(super) fn read(caller: Caller<'_>, at: u64, count: u64) -> Result<Self, Errno> {
        let count = usize::try_from(count).ok().filter(|count| *count <= MOST);
        let bytes = caller.bytes(at, count.ok_or(Errno::MSGSIZE)? * size_of::<[u64; 2]>())?;
        let (words, _) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        Ok(Self(words.as_chunks::<2>().0.to_vec()))
    }

    /// Their total length.
    ///
    /// # Errors
    /// `EINVAL` if one of them is longer than memory can be.
    pub(super) fn length(&self) -> Result<usize, Errno> {
        let add = |sum: usize, [_, length]: &[u64; 2]| {
            isize::try_from(*length).map(|length| sum.saturating_add(length.unsigned_abs()))
        };
        self.0.iter().try_fold(0, add).map_err(|_| Errno::INVAL)
    }

    /// Their data, up to `limit`.
    fn gather(&self, caller: Caller<'_>, limit: usize) -> Result<Vec<u8>, Errno> {
        let mut data = Vec::with_capacity(limit);
        for &[start, length] in &self.0 {
            let room = limit - data.len();
            let length = usize::try_from(length).map_or(room, |length| length.min(room));
            data.extend(caller.bytes(start, length)?);
        }
        Ok(data)
    }

    /// Writes data into them, as far as it fits.
    ///
    /// # Errors
    /// `EFAULT`.
    pub(super) fn fill(&self, caller: Caller<'_>, mut data: &[u8]) -> Result<(), Errno> {
        for &[start, length] in &self.0 {
            let length = usize::try_from(length).map_or(data.len(), |one| one.min(data.len()));
            let (piece, rest) = data.split_at(length);
            caller.write(start, piece)?;
            data = rest;
        }
        Ok(())
    }
}

/// Reserves memory to send this length at once. A stream may get less.
///
/// # Errors
/// `EMSGSIZE` for a datagram that is too long, and `ENOBUFS` if there is no memory for it.
fn room_for_data<'t>(task: &Task<'t>, socket: &OwnedFd, length: usize) -> Result<Room<'t>, Errno> {
    let is_datagram = || network::is_datagram(socket);
    if length > LONGEST && is_datagram()? {
        return Err(Errno::MSGSIZE);
    }
    let room = task.room_to_copy(length.min(LONGEST));
    if room.length() < length && is_datagram()? { Err(Errno::NOBUFS) } else { Ok(room) }
}

fn answer(sent: usize) -> CallResult {
    CallResult::Value(i64::try_from(sent).unwrap_or(i64::MAX))
}

fn send(task: &Task<'_>, socket: &OwnedFd, message: &Message<'_>) -> Result<usize, Errno> {
    let domain = network::domain(socket)?;
    let judges = task.policy.network.is_some();
    if judges && network::is_internet(domain) && !leads_nowhere(&message.control)? {
        return Err(Errno::ACCESS);
    }
    let control = control(task, domain, &message.control)?;
    let destination = destination(task, socket, domain, &message.address)?;
    let flags = message.flags & !libc::MSG_ZEROCOPY;
    let outgoing = messages::Message {
        name: &destination.name,
        data: &message.data,
        control: &control.bytes,
        flags,
    };
    if domain == libc::AF_NETLINK {
        netlink::give_number(task, socket)?;
    }
    let _acting = task.begin()?;
    let sent = task.wait_for_peer(socket, Timeout::Send, || messages::send(socket, outgoing));
    if sent == Err(Errno::PIPE) && flags & libc::MSG_NOSIGNAL == 0 {
        signals::tell_of_hangup(task.caller.status()?.process, task.caller.tid());
    }
    sent
}

/// The control data of a message. Servers on this machine learn its sender from it.
fn control(task: &Task<'_>, domain: i32, given: &[u8]) -> Result<Control, Errno> {
    let is_local = domain == libc::AF_UNIX;
    if given.is_empty() && !is_local {
        return Ok(Control::default());
    }
    let status = task.status()?;
    let mut control = Control::translated(given, &status, |number| task.caller.descriptor(number))?;
    if is_local {
        control.name_sender(&status);
    }
    Ok(control)
}

/// The destination of a message: as given, unless it is judged.
fn destination(
    task: &Task<'_>,
    socket: &OwnedFd,
    domain: i32,
    address: &Address,
) -> Result<Destination, Errno> {
    let given = &address.bytes;
    let as_given = || Destination { name: given.clone(), _held: None };
    if given.is_empty() {
        return Ok(as_given());
    }
    if let Some(network) = &task.policy.network {
        network::admit_family(domain)?;
        if network::is_internet(domain) {
            // A stream ignores the address of a message.
            let streams = !network::is_datagram(socket)?;
            let judged = || network::destination(task, network, socket, given);
            let name = if streams { Vec::new() } else { judged()? };
            return Ok(Destination { name, _held: None });
        }
    }
    if domain != libc::AF_UNIX {
        return Ok(as_given());
    }
    match address.path() {
        Some(path) => {
            let argument = Argument::of_text(task.caller, libc::AT_FDCWD, path)?;
            let _acting = task.begin()?;
            let need = Capabilities::READ.union(Capabilities::UPDATE);
            let object = task.object(&argument, false, need)?;
            let name = unix_address(name_of(object.file.as_fd()).as_bytes());
            Ok(Destination { name, _held: Some(object) })
        }
        None if abstract_sockets::is_name(given) => {
            network::refuse_unruled(task, Reason::Peer, &network::shown_name(given))?;
            Ok(as_given())
        }
        None => Ok(as_given()),
    }
}
