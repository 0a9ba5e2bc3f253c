//! Sends and receives the lines between host and tool. No operation waits for one pipe while another is ready, so full
//! pipes block nobody. Used by `session`.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::AsFd as _;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;

use crate::fault::{Code, Fault};
use crate::incoming::{self, Incoming, Malformed};
use crate::poll_backoff::PollBackoff;

/// Size of one read.
const CHUNK: usize = 64 * 1024;

/// How many bytes of a tool's standard error are kept.
const LAST_WORDS: usize = 8 * 1024;

/// How many lines are read ahead to find a `cancel` for the current request.
const AHEAD: usize = 16;

/// A tool's pipes. Each is `None` once it has ended.
#[derive(Debug)]
pub(super) struct Channel {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// Bytes to write, from `sent` on.
    unsent: Vec<u8>,
    sent: usize,
    /// Something was sent, and nobody has waited for the answer since.
    has_spoken: bool,
    backoff: PollBackoff,
    /// Bytes that were read. The first `taken` of them are done.
    unread: Vec<u8>,
    taken: usize,
    /// Buffer for each read.
    chunk: Box<[u8]>,
    /// The bytes from `taken` up to this index contain no line end.
    looked_at: usize,
    /// A line exceeded `longest`, and its rest is skipped.
    is_skipping: bool,
    longest: usize,
    lines: VecDeque<Result<Incoming, Malformed>>,
    last_words: VecDeque<u8>,
}

/// Activity on the pipes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// The tool read something that was sent.
    pub(super) written: bool,
    /// The tool wrote something, even if not a line.
    pub(super) read: bool,
}

impl Channel {
    /// A channel over the pipes of `tool`, for lines of at most `longest` bytes.
    pub(super) fn new(tool: &mut Child, longest: usize) -> io::Result<Self> {
        let pipes = (tool.stdin.take(), tool.stdout.take(), tool.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        ioctl_fionbio(&stdin, true)?;
        ioctl_fionbio(&stdout, true)?;
        ioctl_fionbio(&stderr, true)?;
        Ok(Self {
            stdin: Some(stdin),
            stdout: Some(stdout),
            stderr: Some(stderr),
            unsent: Vec::new(),
            sent: 0,
            has_spoken: false,
            backoff: PollBackoff::default(),
            unread: Vec::new(),
            taken: 0,
            chunk: vec![0; CHUNK].into(),
            looked_at: 0,
            is_skipping: false,
            longest,
            lines: VecDeque::new(),
            last_words: VecDeque::new(),
        })
    }

    /// Sends a line, now or as soon as the tool reads.
    pub(super) fn send(&mut self, line: Vec<u8>) {
        if self.unsent.is_empty() {
            self.unsent = line;
        } else {
            self.unsent.extend(line);
        }
        self.has_spoken = true;
        self.write();
    }

    /// The tool's next line. Returns none until the tool has read everything sent, because it has one request at a
    /// time.
    pub(super) fn next_line(&mut self) -> Option<Result<Incoming, Malformed>> {
        if !self.unsent.is_empty() {
            return None;
        }
        self.lines.pop_front().or_else(|| self.split_line())
    }

    /// Whether nothing more can come from the tool.
    pub(super) fn is_closed(&self) -> bool {
        self.stdout.is_none() && self.lines.is_empty() && !self.has_line()
    }

    /// Whether the tool has cancelled its request.
    pub(super) fn take_cancel(&mut self) -> bool {
        while self.lines.len() < AHEAD {
            match self.split_line() {
                Some(Ok(Incoming::Cancel)) => return true,
                Some(line) => self.lines.push_back(line),
                None => return false,
            }
        }
        false
    }

    /// Waits at most `timeout` until a pipe is ready, then reads and writes as much as possible. The tool's standard
    /// error goes to `diagnostics`.
    pub(super) fn turn(
        &mut self,
        timeout: Duration,
        diagnostics: &mut dyn Write,
    ) -> io::Result<Progress> {
        let wants_more = self.wants_more();
        let is_writing = !self.unsent.is_empty();
        let stdout = self.stdout.as_ref().filter(|_| wants_more);
        let stdin = self.stdin.as_ref().filter(|_| is_writing);
        let pipes = [
            self.stderr.as_ref().map(|pipe| (pipe.as_fd(), PollFlags::IN)),
            stdout.map(|pipe| (pipe.as_fd(), PollFlags::IN)),
            stdin.map(|pipe| (pipe.as_fd(), PollFlags::OUT)),
        ];
        let wait_for = |(pipe, flags)| PollFd::from_borrowed_fd(pipe, flags);
        let mut waiting: Vec<PollFd<'_>> = pipes.into_iter().flatten().map(wait_for).collect();
        let mut usable = Ok(0);
        if std::mem::take(&mut self.has_spoken) {
            usable = self.backoff.look(&mut waiting, timeout);
        }
        if usable == Ok(0) {
            let timeout = Timespec::try_from(timeout).unwrap_or_default();
            usable = poll(&mut waiting, Some(&timeout));
        }
        match usable {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Progress::default()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        // If there is a standard error, it is the first pipe.
        let complains = waiting.first().is_some_and(|pipe| !pipe.revents().is_empty());
        let written = is_writing && self.write();
        let read = wants_more && self.read()?;
        if complains {
            self.pass_on(diagnostics)?;
        }
        Ok(Progress { written, read })
    }

    /// Discards the output of a tool that has nothing more to say.
    pub(super) fn drain(&mut self, diagnostics: &mut dyn Write) {
        if self.unsent.is_empty() {
            self.stdin = None;
        }
        let _ = self.turn(Duration::ZERO, diagnostics);
        self.forget();
        self.lines.clear();
    }

    /// The end of the tool's standard error.
    pub(super) fn last_words(&self) -> String {
        let bytes: Vec<u8> = self.last_words.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether to read more. However much the tool writes, no while too many lines or bytes wait.
    fn wants_more(&self) -> bool {
        self.unread.len() - self.taken <= self.longest
            && !(self.lines.len() >= AHEAD && self.has_line())
    }

    fn has_line(&self) -> bool {
        self.unread.iter().skip(self.taken).any(|byte| *byte == b'\n')
    }

    /// Takes a line from the bytes read. Skips blank lines.
    fn split_line(&mut self) -> Option<Result<Incoming, Malformed>> {
        loop {
            let fresh = self.unread.get(self.looked_at..).unwrap_or_default();
            let Some(end) = memchr::memchr(b'\n', fresh).map(|at| at + self.looked_at) else {
                self.looked_at = self.unread.len();
                return self.give_up_long_line();
            };
            let parsed = match self.unread.get(self.taken..end).map(<[u8]>::trim_ascii) {
                _ if std::mem::take(&mut self.is_skipping) => None,
                Some([]) | None => None,
                Some(line) => Some(incoming::parse(line)),
            };
            self.taken = end + 1;
            self.looked_at = self.taken;
            if parsed.is_some() {
                return parsed;
            }
        }
    }

    /// Answers a line beyond the limit once, and skips it to its end.
    fn give_up_long_line(&mut self) -> Option<Result<Incoming, Malformed>> {
        if self.unread.len() - self.taken <= self.longest && !self.is_skipping {
            return None;
        }
        self.forget();
        let was_skipping = std::mem::replace(&mut self.is_skipping, true);
        let why = format!("the line is longer than {} bytes", self.longest);
        let fault = Fault::new(Code::Malformed, why);
        (!was_skipping).then_some(Err(Malformed { id: None, fault }))
    }

    fn forget(&mut self) {
        self.unread = Vec::new();
        (self.taken, self.looked_at) = (0, 0);
    }

    fn read(&mut self) -> io::Result<bool> {
        let Some(stdout) = &mut self.stdout else { return Ok(false) };
        // Here and not for each line: there may be as many lines as bytes.
        self.unread.drain(..self.taken);
        self.looked_at -= self.taken;
        self.taken = 0;
        match stdout.read(&mut self.chunk) {
            Ok(0) => self.stdout = None,
            Ok(count) => {
                self.unread.extend(self.chunk.get(..count).unwrap_or_default());
                return Ok(true);
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(false)
    }

    /// Writes as much as the pipe accepts. If the tool no longer reads, it may still have something to say.
    fn write(&mut self) -> bool {
        let before = self.sent;
        let total = self.unsent.len();
        while let Some(stdin) = self.stdin.as_mut().filter(|_| self.sent < total) {
            match stdin.write(&self.unsent[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_passing(&error) => return self.sent > before,
                Err(_) => self.stdin = None,
            }
        }
        self.unsent.clear();
        self.sent = 0;
        total > 0
    }

    fn pass_on(&mut self, diagnostics: &mut dyn Write) -> io::Result<()> {
        let Some(stderr) = &mut self.stderr else { return Ok(()) };
        let mut chunk = [0; 4096];
        match stderr.read(&mut chunk) {
            Ok(0) => self.stderr = None,
            Ok(count) => {
                let words = chunk.get(..count).unwrap_or_default();
                // The reader of the diagnostics may be gone.
                let _ = diagnostics.write_all(words);
                self.last_words.extend(words);
                let surplus = self.last_words.len().saturating_sub(LAST_WORDS);
                self.last_words.drain(..surplus);
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Whether repeating the call may succeed.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// A channel that has read everything `script` writes, with no line taken.
    fn written_by(script: &str) -> Channel {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped());
        let tool = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut tool = tool.expect("a tool");
        let mut channel = Channel::new(&mut tool, 4 << 20).expect("pipes");
        while channel.stdout.is_some() {
            channel.turn(Duration::from_secs(1), &mut io::sink()).expect("a turn");
        }
        tool.wait().expect("an end");
        channel
    }

    // conformance: d11-21, d11-211
    /// This took minutes when each line was removed from the buffer separately.
    #[test]
    fn there_may_be_as_many_lines_as_bytes() {
        let mut channel =
            written_by("head -c 2000000 /dev/zero | tr '\\0' '\\n'; echo '{}'; echo x");
        for _ in 0..2 {
            assert!(matches!(channel.next_line(), Some(Err(Malformed { id: None, .. }))));
        }
        assert!(channel.next_line().is_none() && channel.is_closed());
    }
}
