//! Receiving, where the program wants to know from whom: answers of the run's own name server come from the
//! one that was asked, as far as the program is told. All else it receives itself: nothing is judged here.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt::socket_cookie;

use super::messages::{Pieces, WORDS};
use super::network;
use crate::net::{Network, address};
use crate::supervisor::task::Task;
use crate::sys::messages;
use crate::sys::notification::Answer;

/// No answer of a name server is longer.
const LONGEST: usize = 1 << 16;
/// Where in `struct msghdr` there are the length of the address, that of the control data, and the flags.
const NAME_LENGTH: u64 = 8;
const CONTROL_LENGTH: u64 = 40;
const FLAGS: u64 = 48;

/// What was received.
struct Received {
    data: Vec<u8>,
    /// How long it was, be it longer than what there was room for.
    length: usize,
    /// The sender, as the program believes.
    name: Vec<u8>,
}

/// recvfrom(2) with an address.
pub(crate) fn receive_from(
    task: &Task<'_>,
    fd: i32,
    (to, length): (u64, u64),
    flags: i32,
    (name_at, size_at): (u64, u64),
) -> Result<Answer, Errno> {
    let Some((network, socket)) = misled(task, fd)? else { return Ok(Answer::Continue) };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let received = receive(task, network, &socket, length, flags)?;
    task.caller.write(to, &received.data)?;
    received.tell_sender(task, name_at, size_at)?;
    Ok(Answer::Value(i64::try_from(received.length).unwrap_or(i64::MAX)))
}

/// recvmsg(2).
pub(crate) fn receive_message(
    task: &Task<'_>,
    fd: i32,
    header: u64,
    flags: i32,
) -> Result<Answer, Errno> {
    let Some((network, socket)) = misled(task, fd)? else { return Ok(Answer::Continue) };
    let [name_at, _, pieces, count, ..]: [u64; WORDS] = task.caller.words(header)?;
    let pieces = Pieces::read(task.caller, pieces, count)?;
    let received = receive(task, network, &socket, pieces.length()?, flags)?;
    pieces.fill(task.caller, &received.data)?;
    if name_at != 0 {
        received.tell_sender(task, name_at, header.wrapping_add(NAME_LENGTH))?;
    }
    task.caller.write(header.wrapping_add(CONTROL_LENGTH), &0_u64.to_ne_bytes())?;
    let is_cut = received.length > received.data.len();
    let told = if is_cut { libc::MSG_TRUNC } else { 0 };
    task.caller.write(header.wrapping_add(FLAGS), &told.to_ne_bytes())?;
    let wants_whole = flags & libc::MSG_TRUNC != 0;
    let length = if wants_whole { received.length } else { received.data.len() };
    Ok(Answer::Value(i64::try_from(length).unwrap_or(i64::MAX)))
}

/// The socket, if it is one that was meant for another name server.
fn misled<'t>(task: &'t Task<'_>, fd: i32) -> Result<Option<(&'t Network, OwnedFd)>, Errno> {
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
    let (length, name) = task.wait(|| messages::receive(socket, &mut data, all))?;
    data.truncate(length);
    let name = if name.is_empty() {
        name
    } else {
        let sender = network.believed(address::read(&name)?, socket_cookie(socket)?);
        address::write(sender, network::domain(socket)?)
    };
    Ok(Received { data, length, name })
}

impl Received {
    /// Writes the sender's address, as much of it as there is room for, and how long it is.
    fn tell_sender(&self, task: &Task<'_>, name_at: u64, size_at: u64) -> Result<(), Errno> {
        let room = task.caller.bytes(size_at, size_of::<i32>())?;
        let room = room.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
        let room = usize::try_from(room).map_err(|_| Errno::INVAL)?.min(self.name.len());
        task.caller.write(name_at, self.name.get(..room).unwrap_or_default())?;
        let size = i32::try_from(self.name.len()).unwrap_or(0);
        task.caller.write(size_at, &size.to_ne_bytes())
    }
}
