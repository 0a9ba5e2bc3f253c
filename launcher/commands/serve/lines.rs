//! Reads requests line by line from standard input, and writes the replies to standard output.

use std::io::{
    self, BufRead as _, BufReader, BufWriter, Read as _, StdinLock, StdoutLock, Write as _,
};

use jp_confine_vfs::incoming::{self, Id};
use jp_confine_vfs::service::FILE_LIMIT;
use jp_confine_vfs::{Code, Fault};
use serde_json::value::RawValue;

use crate::output;

/// As much as a pipe holds.
const CHUNK: usize = 64 * 1024;

/// The requests and the replies.
pub(super) struct Lines {
    input: BufReader<StdinLock<'static>>,
    /// Replies wait here while more requests are there.
    output: BufWriter<StdoutLock<'static>>,
    longest: usize,
}

impl Lines {
    /// The standard streams, with lines as long as those of the file service.
    pub(super) fn standard() -> Self {
        Self {
            input: BufReader::with_capacity(CHUNK, io::stdin().lock()),
            output: BufWriter::with_capacity(CHUNK, output::replies()),
            longest: incoming::longest_line(FILE_LIMIT),
        }
    }

    /// Reads the next line that is not blank into `line`, without its end. Returns whether there was one. Sends all
    /// replies before it waits.
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            if !self.input.buffer().contains(&b'\n') {
                self.output.flush()?;
            }
            line.clear();
            let most = self.longest as u64 + 1;
            if self.input.by_ref().take(most).read_until(b'\n', line)? == 0 {
                return Ok(false);
            }
            if line.len() > self.longest && !line.ends_with(b"\n") {
                self.input.skip_until(b'\n')?;
                let why = format!("the line is longer than {} bytes", self.longest);
                self.reply(None, Err(&Fault::new(Code::Malformed, why)))?;
            } else if !line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// Answers a request. `id` is `None` if it could not be read.
    pub(super) fn reply(
        &mut self,
        id: Option<&Id>,
        answer: Result<&RawValue, &Fault>,
    ) -> io::Result<()> {
        self.output.write_all(&incoming::reply(id, answer))
    }
}
