//! Forwards the body of a request, and nothing after it. Later bytes would form a request that nobody has judged.

use std::io::{self, BufRead, Read as _, Write};

use super::head::Body;

/// The longest line about a chunk, and the longest line after the last one.
const LINE: u64 = 4096;
/// The most lines after the last chunk.
const TRAILERS: usize = 128;

impl Body {
    /// Forwards the body.
    ///
    /// # Errors
    /// Fails if it is malformed, or if either end is gone.
    pub(super) fn send_on(self, from: &mut impl BufRead, to: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Length(length) => exactly(length, from, to),
            Self::Chunked => chunks(from, to),
        }
    }
}

fn exactly(length: u64, from: &mut impl BufRead, to: &mut impl Write) -> io::Result<()> {
    let copied = io::copy(&mut from.take(length), to)?;
    if copied == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn chunks(from: &mut impl BufRead, to: &mut impl Write) -> io::Result<()> {
    loop {
        let Ok(httparse::Status::Complete((_, size))) = httparse::parse_chunk_size(&line(from)?)
        else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        if size == 0 {
            break;
        }
        write!(to, "{size:x}\r\n")?;
        exactly(size, from, to)?;
        if line(from)? != b"\r\n" {
            return Err(io::ErrorKind::InvalidData.into());
        }
        to.write_all(b"\r\n")?;
    }
    for _ in 0..TRAILERS {
        if line(from)? == b"\r\n" {
            return to.write_all(b"0\r\n\r\n");
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

fn line(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    from.take(LINE).read_until(b'\n', &mut line)?;
    if line.ends_with(b"\r\n") { Ok(line) } else { Err(io::ErrorKind::InvalidData.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_on(body: Body, text: &str) -> io::Result<(String, String)> {
        let (mut from, mut to) = (text.as_bytes(), Vec::new());
        body.send_on(&mut from, &mut to)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((text(&to), text(from)))
    }

    #[test]
    fn nothing_behind_the_body_is_sent_on() {
        let whole = sent_on(Body::Length(2), "okGET /").expect("a body");
        assert_eq!(whole, ("ok".to_owned(), "GET /".to_owned()));
        let chunked = "2;x=y\r\nok\r\nA\r\n0123456789\r\n0\r\nx: y\r\n\r\nGET /";
        let whole = sent_on(Body::Chunked, chunked).expect("a body");
        let expected = "2\r\nok\r\na\r\n0123456789\r\n0\r\n\r\n";
        assert_eq!(whole, (expected.to_owned(), "GET /".to_owned()));
    }

    #[test]
    fn a_body_that_ends_early_or_has_no_form_is_an_error() {
        assert!(sent_on(Body::Length(3), "ok").is_err());
        for text in ["", "x\r\n", "2\r\nok", "2\r\nokk\r\n0\r\n\r\n", "0\r\n", "2\nok\n0\n\n"] {
            assert!(sent_on(Body::Chunked, text).is_err(), "{text:?}");
        }
    }
}
