//! Sends events to a file, a pipe or a socket, and never waits for a reader during a run. Events for which there is no
//! room wait in memory, up to a limit. Used by the event log.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fcntl_getfl, fstat, open};
use rustix::io::{Errno, retry_on_intr, write};

use super::event_socket::{EventSocket, Format};
use crate::files::WritePlace;

/// Most bytes of events that wait for their reader.
const BACKLOG: usize = 4 << 20;

/// A write of this many bytes to a pipe that has room does not wait: Linux's `PIPE_BUF` (`pipe(7)`).
const PIECE: usize = 4096;

/// Events on their way, and the fate of those before.
#[derive(Debug)]
pub(super) struct EventSink {
    output: Output,
    waiting: VecDeque<Waiting>,
    /// The sum of their lengths.
    bytes: usize,
    /// How many bytes of the first of them have been sent.
    sent: usize,
    /// Whether the output ends with a part of a line whose rest is lost.
    torn: bool,
    /// How many denials have been sent.
    pub(super) denials: u64,
    /// How many events have been lost.
    pub(super) lost: u64,
    /// The last reason for a delay or a loss, if it is an error.
    why: Option<Errno>,
}

#[derive(Debug)]
enum Output {
    /// A regular file, which always has room.
    File(File),
    /// A pipe or a device.
    Pipe(OwnedFd),
    Socket(EventSocket),
}

#[derive(Debug)]
struct Waiting {
    bytes: Vec<u8>,
    is_denial: bool,
}

impl EventSink {
    /// For a file that was opened by its path, without waiting.
    pub(super) fn to_file(file: File) -> io::Result<Self> {
        let is_regular = FileType::from_raw_mode(fstat(&file)?.st_mode) == FileType::RegularFile;
        Ok(Self::of(if is_regular { Output::File(file) } else { Output::Pipe(file.into()) }))
    }

    /// For a descriptor that this process was given.
    ///
    /// # Errors
    /// Those of `fstat(2)`, and `EBADF` if it is open for reading only.
    pub(super) fn to_given(given: OwnedFd) -> io::Result<Self> {
        let output = match FileType::from_raw_mode(fstat(&given)?.st_mode) {
            FileType::Socket => Output::Socket(EventSocket::given(given)?),
            _ if fcntl_getfl(&given)? & OFlags::RWMODE == OFlags::RDONLY => {
                return Err(Errno::BADF.into());
            }
            FileType::Fifo => Output::Pipe(opened_again(&given).unwrap_or(given)),
            FileType::RegularFile => Output::File(given.into()),
            _ => Output::Pipe(given),
        };
        Ok(Self::of(output))
    }

    /// For the socket at `place`, on which a collector listens.
    ///
    /// # Errors
    /// Those of [`EventSocket::connect`].
    pub(super) fn to_socket(place: WritePlace) -> io::Result<Self> {
        Ok(Self::of(Output::Socket(EventSocket::connect(place)?)))
    }

    const fn of(output: Output) -> Self {
        let waiting = VecDeque::new();
        Self { output, waiting, bytes: 0, sent: 0, torn: false, denials: 0, lost: 0, why: None }
    }

    /// The form in which the reader takes events.
    pub(super) const fn format(&self) -> Format {
        match &self.output {
            Output::Socket(socket) => socket.format(),
            Output::File(_) | Output::Pipe(_) => Format::Lines,
        }
    }

    /// Adds the `bytes` of an event, and sends as many events as there is room for. If too many wait, it is lost.
    pub(super) fn add(&mut self, bytes: Vec<u8>, is_denial: bool) {
        self.bytes += bytes.len();
        self.waiting.push_back(Waiting { bytes, is_denial });
        self.send();
        if self.bytes > BACKLOG {
            let last = self.waiting.pop_back();
            self.bytes -= last.map_or(0, |last| last.bytes.len());
            self.lost += 1;
        }
    }

    /// Sends what waits, and waits for the reader until then at most.
    pub(super) fn deliver(&mut self, until: Instant) {
        while self.send() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !has_room(self.output.as_fd(), left) {
                return;
            }
        }
    }

    /// Counts what still waits as lost, and says why events were lost if any were.
    pub(super) fn give_up(&mut self) -> Option<(u64, String)> {
        self.lost += self.waiting.drain(..).len() as u64;
        let slow = || "its reader is too slow".to_owned();
        let why = self.why.map_or_else(slow, |error| io::Error::from(error).to_string());
        (self.lost > 0).then_some((self.lost, why))
    }

    /// Sends as many events as there is room for. Returns whether the others wait for room. If they wait for a collector
    /// to listen again, that is false.
    fn send(&mut self) -> bool {
        let mut is_new = false;
        while let Some(first) = self.waiting.front_mut() {
            if self.sent == 0 && std::mem::take(&mut self.torn) {
                first.bytes.insert(0, b'\n');
                self.bytes += 1;
            }
            let rest = first.bytes.get(self.sent..).unwrap_or_default();
            match retry_on_intr(|| self.output.send(rest)) {
                Ok(0) | Err(Errno::AGAIN) => return true,
                Ok(count) if count < rest.len() => self.sent += count,
                Ok(_) => {
                    self.denials += u64::from(first.is_denial);
                    self.end_first();
                }
                Err(error) => {
                    self.why = Some(error);
                    if !self.output.outlives(error) {
                        self.torn = self.sent > 0 || first.bytes.starts_with(b"\n");
                        self.lost += 1;
                        self.end_first();
                    } else if is_new || !self.output.connects_again() {
                        return false;
                    } else {
                        (is_new, self.sent) = (true, 0);
                    }
                }
            }
        }
        false
    }

    fn end_first(&mut self) {
        self.bytes -= self.waiting.pop_front().map_or(0, |first| first.bytes.len());
        self.sent = 0;
    }
}

impl Output {
    /// Writes as many of the bytes as there is room for.
    fn send(&self, bytes: &[u8]) -> Result<usize, Errno> {
        match self {
            Self::File(file) => write(file, bytes),
            Self::Pipe(pipe) if !has_room(pipe.as_fd(), Duration::ZERO) => Err(Errno::AGAIN),
            Self::Pipe(pipe) => write(pipe, bytes.get(..PIECE).unwrap_or(bytes)),
            Self::Socket(socket) => socket.send(bytes),
        }
    }

    fn outlives(&self, error: Errno) -> bool {
        matches!(self, Self::Socket(socket) if socket.outlives(error))
    }

    fn connects_again(&mut self) -> bool {
        match self {
            Self::Socket(socket) => socket.connects_again(),
            Self::File(_) | Self::Pipe(_) => false,
        }
    }
}

impl AsFd for Output {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::File(file) => file.as_fd(),
            Self::Pipe(pipe) => pipe.as_fd(),
            Self::Socket(socket) => socket.as_fd(),
        }
    }
}

/// The same pipe, by an open file description of this process alone, which never waits. Others who write to the pipe may
/// fill it at any moment.
fn opened_again(pipe: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    open(format!("/proc/self/fd/{}", pipe.as_raw_fd()), flags, Mode::empty())
}

/// Whether `output` takes bytes, or reports an error for them, within this time.
fn has_room(output: BorrowedFd<'_>, within: Duration) -> bool {
    let within = Timespec::try_from(within).ok();
    poll(&mut [PollFd::from_borrowed_fd(output, PollFlags::OUT)], within.as_ref())
        .is_ok_and(|count| count > 0)
}

#[cfg(test)]
mod tests {
    use std::fs::remove_file;
    use std::io::Read as _;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::Path;

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    use rustix::io::pread;

    use super::*;

    fn line(number: usize) -> Vec<u8> {
        format!("{number:01023}\n").into_bytes()
    }

    /// The text that has arrived.
    fn read(mut from: impl io::Read) -> String {
        let mut bytes = Vec::new();
        match from.read_to_end(&mut bytes) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
        String::from_utf8(bytes).expect("UTF-8")
    }

    #[test]
    fn what_a_slow_reader_has_no_room_for_waits_up_to_a_limit() {
        let (mut reader, writer) = UnixStream::pair().expect("sockets");
        let mut sink = EventSink::to_given(writer.into()).expect("a sink");
        let all = 3 * BACKLOG / line(0).len();
        (0..all).for_each(|number| sink.add(line(number), true));
        let lost = usize::try_from(sink.lost).expect("a number");
        assert!(sink.bytes <= BACKLOG && lost > all / 2 && lost < all, "{lost}");
        let reading = std::thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).expect("read");
            text
        });
        sink.deliver(Instant::now() + Duration::from_secs(60));
        assert_eq!(usize::try_from(sink.denials), Ok(all - lost));
        assert_eq!(sink.give_up(), Some((sink.lost, "its reader is too slow".to_owned())));
        drop(sink);
        let expected: Vec<u8> = (0..all - lost).flat_map(line).collect();
        assert!(reading.join().expect("the text").as_bytes() == expected, "other events");
    }

    #[test]
    fn a_pipe_that_is_full_does_not_keep_its_writer() {
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        let mut sink = EventSink::to_given(writer).expect("a sink");
        (0..200).for_each(|number| sink.add(line(number), false));
        assert!(sink.give_up().is_some_and(|(lost, _)| (1..200).contains(&lost)));
        let lost = usize::try_from(sink.lost).expect("a number");
        drop(sink);
        assert_eq!(read(File::from(reader)).lines().count(), 200 - lost);
        let (reader, _writer) = rustix::pipe::pipe().expect("a pipe");
        assert!(EventSink::to_given(reader).is_err(), "the end for reading");
    }

    #[test]
    fn a_collector_may_end_and_start_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("collector");
        let first = UnixListener::bind(&path).expect("listening");
        let place = WritePlace::of_standing(Path::new("/"), &path).expect("a place");
        let mut sink = EventSink::to_socket(place).expect("a sink");
        sink.add(line(0), false);
        assert_eq!(read(accepted(&first)).as_bytes(), line(0));
        drop(first);
        sink.add(line(1), false);
        sink.deliver(Instant::now() + Duration::from_secs(60));
        remove_file(&path).expect("removed");
        sink.add(line(2), false);
        let second = UnixListener::bind(&path).expect("listening");
        sink.add(line(3), false);
        assert_eq!(read(accepted(&second)).as_bytes(), [line(1), line(2), line(3)].concat());
        assert_eq!(sink.give_up(), None);
    }

    /// The only connection so far.
    fn accepted(listener: &UnixListener) -> UnixStream {
        let stream = listener.accept().expect("a connection").0;
        stream.set_nonblocking(true).expect("set");
        stream
    }

    /// A file that has room for a part of an event, and later for a shorter one.
    #[test]
    fn an_event_after_a_part_of_another_is_a_line_of_its_own() {
        let file = memfd_create("events", MemfdFlags::ALLOW_SEALING).expect("a file");
        rustix::fs::ftruncate(&file, 4106).expect("truncated");
        fcntl_add_seals(&file, SealFlags::GROW).expect("sealed");
        let mut sink = EventSink::to_given(file.try_clone().expect("a copy")).expect("a sink");
        (0..3).for_each(|number| sink.add(line(number), false));
        sink.add([b'x'; 1100].to_vec(), false);
        assert_eq!((sink.lost, sink.torn), (1, true));
        sink.add(b"next\n".to_vec(), false);
        let mut end = [0; 10];
        pread(&file, &mut end, 4096).expect("read");
        assert_eq!((&end, sink.lost), (b"\nnext\n\0\0\0\0", 1));
    }
}
