//! A pipe whose reader looks for more before it sleeps.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use crate::attention::Attention;

/// Reads from a pipe, and looks for a short time before it waits. Where nothing comes in that time it sleeps.
#[derive(Debug)]
pub struct Attentive<R> {
    pipe: R,
    attention: Attention,
}

impl<R> Attentive<R> {
    /// A reader of `pipe`, which keeps nothing back that it has read.
    pub fn new(pipe: R) -> Self {
        Self { pipe, attention: Attention::default() }
    }
}

impl<R: Read + AsFd> Read for Attentive<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut pipes = [PollFd::from_borrowed_fd(self.pipe.as_fd(), PollFlags::IN)];
        // Where that fails reading says why.
        let _ = self.attention.look(&mut pipes, Duration::MAX);
        self.pipe.read(buffer)
    }
}
