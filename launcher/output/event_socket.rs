//! Connects to the socket of a collector, and writes an event as what listens there takes it. Used by `event_sink`.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, getpeername, send,
    socket_with, sockopt,
};

use crate::files::WritePlace;
use crate::record::event::Event;

/// A connected socket.
#[derive(Debug)]
pub(super) struct EventSocket {
    socket: OwnedFd,
    format: Format,
    /// Where to connect again. `None` for a socket that this process was given.
    place: Option<WritePlace>,
}

/// The form in which a listener takes events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Lines of JSON.
    Lines,
    /// A line of JSON in each datagram.
    Datagrams,
    /// An entry of the journal in each datagram (<https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>).
    Journal,
}

impl EventSocket {
    /// Connects to the socket at `place`, of whatever type it is.
    ///
    /// # Errors
    /// Those of `open(2)` and `connect(2)`, such as `ECONNREFUSED` if no process listens.
    pub(super) fn connect(place: WritePlace) -> io::Result<Self> {
        let socket = connected(&place)?;
        Ok(Self { format: Format::of(&socket)?, socket, place: Some(place) })
    }

    /// A socket that this process was given.
    ///
    /// # Errors
    /// Those of `getsockopt(2)`.
    pub(super) fn given(socket: OwnedFd) -> io::Result<Self> {
        Ok(Self { format: Format::of(&socket)?, socket, place: None })
    }

    /// Connects to the same place again, and returns whether that worked. False if there is none.
    pub(super) fn connects_again(&mut self) -> bool {
        let Some(place) = &self.place else { return false };
        let Ok(socket) = connected(place) else { return false };
        let is_same = Format::of(&socket).is_ok_and(|format| format == self.format);
        if is_same {
            self.socket = socket;
        }
        is_same
    }

    /// Whether no event is lost by this error, because the same place may take it later.
    pub(super) fn outlives(&self, error: Errno) -> bool {
        self.place.is_some() && error != Errno::MSGSIZE
    }

    pub(super) const fn format(&self) -> Format {
        self.format
    }

    /// Sends as many bytes as there is room for. A datagram is sent whole.
    pub(super) fn send(&self, bytes: &[u8]) -> Result<usize, Errno> {
        send(&self.socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)
    }
}

impl AsFd for EventSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A connection to the socket that is at `place` now.
fn connected(place: &WritePlace) -> io::Result<OwnedFd> {
    let listener = place.pin_socket()?;
    let address = SocketAddrUnix::new(format!("/proc/self/fd/{}", listener.as_raw_fd()))?;
    for kind in [SocketType::STREAM, SocketType::DGRAM, SocketType::SEQPACKET] {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, kind, flags, None)?;
        match connect(&socket, &address) {
            Err(Errno::PROTOTYPE) => {}
            outcome => return Ok(outcome.map(|()| socket)?),
        }
    }
    Err(Errno::PROTOTYPE.into())
}

impl Format {
    /// The form for the listener that `socket` is connected to.
    fn of(socket: &OwnedFd) -> io::Result<Self> {
        if sockopt::socket_type(socket)? == SocketType::STREAM {
            return Ok(Self::Lines);
        }
        let peer = getpeername(socket).ok().flatten();
        let peer = peer.and_then(|peer| SocketAddrUnix::try_from(peer).ok());
        let is_journal = peer.as_ref().and_then(|peer| peer.path_bytes()).is_some_and(is_journal);
        Ok(if is_journal { Self::Journal } else { Self::Datagrams })
    }

    /// The bytes to send for `event` of `run`, whose JSON is `line`.
    pub(super) fn bytes(self, line: &str, event: &Event, run: &str) -> Vec<u8> {
        match self {
            Self::Lines => format!("{line}\n"),
            Self::Datagrams => line.to_owned(),
            Self::Journal => {
                let (name, priority) = (event.name(), if event.is_notable() { 4 } else { 6 });
                format!(
                    "MESSAGE={line}\nPRIORITY={priority}\nSYSLOG_IDENTIFIER=jp-confine\n\
                     JP_CONFINE_RUN={run}\nJP_CONFINE_EVENT={name}\n"
                )
            }
        }
        .into_bytes()
    }
}

/// Whether the journal listens at the path that the listener has given its socket, for the whole system or for one of
/// its namespaces (`systemd-journald.service(8)`).
fn is_journal(path: &[u8]) -> bool {
    let path = path.strip_suffix(b"\0").unwrap_or(path);
    let mut names = path.rsplit(|byte| *byte == b'/');
    let is_socket = names.next() == Some(b"socket");
    let is_in_journal =
        names.next().is_some_and(|name| name == b"journal" || name.starts_with(b"journal."));
    is_socket && is_in_journal && names.next() == Some(b"systemd")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_is_known_by_where_it_listens() {
        for (path, expected) in [
            ("/run/systemd/journal/socket", true),
            ("/run/systemd/journal/socket\0", true),
            ("/run/systemd/journal.web/socket", true),
            ("/run/systemd/journal/dev-log", false),
            ("/run/systemd/journal/socket/x", false),
            ("/run/journal/socket", false),
            ("/run/systemd/journals/socket", false),
            ("socket", false),
            ("", false),
        ] {
            assert_eq!(is_journal(path.as_bytes()), expected, "{path}");
        }
    }

    #[test]
    fn the_journal_gets_the_line_and_what_to_search_by() {
        let event = Event::Warning { message: "a".to_owned() };
        let entry = Format::Journal.bytes(r#"{"event":"warning"}"#, &event, "0f");
        let expected = "MESSAGE={\"event\":\"warning\"}\nPRIORITY=4\nSYSLOG_IDENTIFIER=jp-confine\n\
                        JP_CONFINE_RUN=0f\nJP_CONFINE_EVENT=warning\n";
        assert_eq!(String::from_utf8_lossy(&entry), expected);
        assert_eq!(Format::Lines.bytes("{}", &event, "0f"), b"{}\n");
        assert_eq!(Format::Datagrams.bytes("{}", &event, "0f"), b"{}");
    }
}
