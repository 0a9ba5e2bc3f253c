//! Receives for programs that want the sender's address. Replies from the run's own name server seem to come from the
//! server that the program asked. All else the program receives itself, and nothing is judged here.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::getpeername;
use rustix::net::sockopt::{Timeout, socket_cookie};

use super::network::{self, socket_address};
use super::send::{MMSGHDR, MOST, Pieces, WORDS};
use crate::network::{Network, address};
use crate::supervisor::task::Task;
use crate::sys::messages;
use crate::sys::notification::CallResult;

/// No reply of a name server is longer.
const LONGEST: usize = 1 << 16;
/// The positions of the address length, the control length and the flags in `struct msghdr`.
const NAME_LENGTH: u64 = 8;
const CONTROL_LENGTH: u64 = 40;
const FLAGS: u64 = 48;

/// A received message.
struct Received {
    data: Vec<u8>,
    /// Its full length, even if there was less room.
    length: usize,
    /// The sender as shown to the program.
    name: Vec<u8>,
}

/// recvfrom(2) with an address.
pub(crate) fn receive_from(
    task: &Task<'_>,
    fd: i32,
    (to, length): (u64, u64),
    flags: i32,
    (name_at, size_at): (u64, u64),
) -> Result<CallResult, Errno> {
    let Some((network, socket)) = misled(task, fd)? else { return Ok(CallResult::Continue) };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let received = receive(task, network, &socket, length, flags)?;
    task.caller.write(to, &received.data)?;
    tell_address(task, &received.name, name_at, size_at)?;
    Ok(answer(received.length))
}

/// recvmsg(2).
pub(crate) fn receive_message(
    task: &Task<'_>,
    fd: i32,
    header: u64,
    flags: i32,
) -> Result<CallResult, Errno> {
    let Some((network, socket)) = misled(task, fd)? else { return Ok(CallResult::Continue) };
    receive_as(task, network, &socket, header, flags).map(answer)
}

/// recvmmsg(2).
pub(crate) fn receive_messages(
    task: &Task<'_>,
    fd: i32,
    (headers, count): (u64, u32),
    flags: i32,
    timeout: u64,
) -> Result<CallResult, Errno> {
    let Some((network, socket)) = misled(task, fd)? else { return Ok(CallResult::Continue) };
    let end = if timeout == 0 { None } else { Some(Instant::now() + duration(task, timeout)?) };
    let (mut flags, mut received) = (flags, 0);
    for index in 0..u64::from(count).min(MOST as u64) {
        let header = headers.wrapping_add(index * MMSGHDR);
        let outcome = receive_as(task, network, &socket, header, flags & !libc::MSG_WAITFORONE)
            .and_then(|length| {
                let length = u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes();
                task.caller.write(header.wrapping_add(WORDS as u64 * 8), &length)
            });
        match outcome {
            Ok(()) => received += 1,
            Err(errno) if received == 0 => return Err(errno),
            Err(_) => break,
        }
        if flags & libc::MSG_WAITFORONE != 0 {
            flags |= libc::MSG_DONTWAIT;
        }
        // Not earlier, according to recvmmsg(2).
        if end.is_some_and(|end| end <= Instant::now()) {
            break;
        }
    }
    Ok(answer(received))
}

/// The time in a `struct timespec` of the caller's.
fn duration(task: &Task<'_>, at: u64) -> Result<Duration, Errno> {
    let [seconds, nanoseconds]: [u64; 2] = task.caller.words(at)?;
    let nanoseconds = u32::try_from(nanoseconds).ok().filter(|it| *it < 1_000_000_000);
    let is_past = i64::try_from(seconds).is_err();
    let nanoseconds = nanoseconds.filter(|_| !is_past).ok_or(Errno::INVAL)?;
    // No clock reaches further.
    Ok(Duration::new(seconds.min(u32::MAX.into()), nanoseconds))
}

/// getpeername(2).
pub(crate) fn peer_name(
    task: &Task<'_>,
    fd: i32,
    name_at: u64,
    size_at: u64,
) -> Result<CallResult, Errno> {
    let Some((network, socket)) = redirected(task, fd)? else { return Ok(CallResult::Continue) };
    let peer = getpeername(&socket)?.ok_or(Errno::NOTCONN)?;
    let peer = network.believed(socket_address(peer)?, socket_cookie(&socket)?);
    let name = address::write(peer, network::domain(&socket)?);
    tell_address(task, &name, name_at, size_at).map(|()| answer(0))
}

fn answer(result: usize) -> CallResult {
    CallResult::Value(i64::try_from(result).unwrap_or(i64::MAX))
}

/// Receives into the caller's `struct msghdr`, and returns the result of recvmsg(2).
fn receive_as(
    task: &Task<'_>,
    network: &Network,
    socket: &OwnedFd,
    header: u64,
    flags: i32,
) -> Result<usize, Errno> {
    let [name_at, _, pieces, count, ..]: [u64; WORDS] = task.caller.words(header)?;
    let pieces = Pieces::read(task.caller, pieces, count)?;
    let received = receive(task, network, socket, pieces.length()?, flags)?;
    pieces.fill(task.caller, &received.data)?;
    if name_at != 0 {
        tell_address(task, &received.name, name_at, header.wrapping_add(NAME_LENGTH))?;
    }
    task.caller.write(header.wrapping_add(CONTROL_LENGTH), &0_u64.to_ne_bytes())?;
    let is_cut = received.length > received.data.len();
    let told = if is_cut { libc::MSG_TRUNC } else { 0 };
    task.caller.write(header.wrapping_add(FLAGS), &told.to_ne_bytes())?;
    let wants_whole = flags & libc::MSG_TRUNC != 0;
    Ok(if wants_whole { received.length } else { received.data.len() })
}

/// The socket, if its messages name their sender, and it was meant for another name server.
fn misled<'t>(task: &'t Task<'_>, fd: i32) -> Result<Option<(&'t Network, OwnedFd)>, Errno> {
    let Some((network, socket)) = redirected(task, fd)? else { return Ok(None) };
    Ok(network::is_datagram(&socket)?.then_some((network, socket)))
}

/// The socket, if it was meant for another name server.
fn redirected<'t>(task: &'t Task<'_>, fd: i32) -> Result<Option<(&'t Network, OwnedFd)>, Errno> {
    let Some(network) = &task.policy.network else { return Ok(None) };
    let socket = task.caller.descriptor(fd)?;
    let is_misled =
        socket_cookie(&socket).is_ok_and(|cookie| network.askers.pretended(cookie).is_some());
    Ok(is_misled.then_some((network, socket)))
}

fn receive(
    task: &Task<'_>,
    network: &Network,
    socket: &OwnedFd,
    room: usize,
    flags: i32,
) -> Result<Received, Errno> {
    let mut data = vec![0; room.min(LONGEST)];
    let _acting = task.begin()?;
    let all = flags | libc::MSG_TRUNC;
    let (length, name) =
        task.wait_for_peer(socket, Timeout::Recv, || messages::receive(socket, &mut data, all))?;
    data.truncate(length);
    let name = if name.is_empty() {
        name
    } else {
        let sender = network.believed(address::read(&name)?, socket_cookie(socket)?);
        address::write(sender, network::domain(socket)?)
    };
    Ok(Received { data, length, name })
}

/// Writes an address, as far as it fits, and its length.
fn tell_address(task: &Task<'_>, name: &[u8], name_at: u64, size_at: u64) -> Result<(), Errno> {
    let room = task.caller.bytes(size_at, size_of::<i32>())?;
    let room = room.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
    let room = usize::try_from(room).map_err(|_| Errno::INVAL)?.min(name.len());
    task.caller.write(name_at, name.get(..room).unwrap_or_default())?;
    let size = i32::try_from(name.len()).unwrap_or(0);
    task.caller.write(size_at, &size.to_ne_bytes())
}
