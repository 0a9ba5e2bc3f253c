//! A pipe reader that polls before it sleeps. Used by `sdk`.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use crate::poll_backoff::PollBackoff;

/// Reads from a pipe. It polls for a short time; if nothing arrives, it sleeps.
///
/// ```
/// use std::io::{BufReader, Write as _};
///
/// use jp_confine_vfs::message::{Init, ToolCall, notification};
/// use jp_confine_vfs::sdk::{Attentive, Client};
///
/// let (from_host, mut to_tool) = std::io::pipe()?;
/// to_tool.write_all(&notification("init", &Init::new(ToolCall::new("edit"))))?;
/// let host = Client::new(BufReader::new(Attentive::new(from_host)), std::io::sink())?;
/// assert_eq!(host.tool().name, "edit");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Attentive<R> {
    pipe: R,
    backoff: PollBackoff,
}

impl<R> Attentive<R> {
    /// A reader of `pipe`. It buffers nothing.
    pub fn new(pipe: R) -> Self {
        Self { pipe, backoff: PollBackoff::default() }
    }
}

impl<R: Read + AsFd> Read for Attentive<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut pipes = [PollFd::from_borrowed_fd(self.pipe.as_fd(), PollFlags::IN)];
        // If the poll fails, the read reports why.
        let _ = self.backoff.look(&mut pipes, Duration::MAX);
        self.pipe.read(buffer)
    }
}
