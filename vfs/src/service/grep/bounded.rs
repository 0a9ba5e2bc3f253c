//! A matcher that can be stopped. `fs.grep` uses it because patterns and files come from others.

use std::fmt;

use grep_matcher::{LineMatchKind, LineTerminator, Match, Matcher, NoCaptures};
use grep_regex::RegexMatcher;
use memchr::memchr;

/// How many bytes are searched between two calls of `stops`. A longer line is searched whole.
const WINDOW: usize = 16 * 1024;

/// A matcher for single lines that gives up once `stops` returns true.
pub(super) struct Bounded<'m> {
    pub(super) matcher: &'m RegexMatcher,
    pub(super) stops: &'m dyn Fn() -> bool,
}

/// The error of a stopped search.
#[derive(Debug)]
pub(super) struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the search was stopped")
    }
}

impl Bounded<'_> {
    fn go_on(&self) -> Result<(), Stopped> {
        if (self.stops)() { Err(Stopped) } else { Ok(()) }
    }
}

impl Matcher for Bounded<'_> {
    type Captures = NoCaptures;
    type Error = Stopped;

    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, Stopped> {
        self.go_on()?;
        self.matcher.find_at(haystack, at).map_err(|_| Stopped)
    }

    fn new_captures(&self) -> Result<NoCaptures, Stopped> {
        Ok(NoCaptures::new())
    }

    fn shortest_match_at(&self, haystack: &[u8], at: usize) -> Result<Option<usize>, Stopped> {
        self.go_on()?;
        self.matcher.shortest_match_at(haystack, at).map_err(|_| Stopped)
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.matcher.line_terminator()
    }

    /// `haystack` begins at the start of a line, and so does every searched part. No match spans lines.
    fn find_candidate_line(&self, haystack: &[u8]) -> Result<Option<LineMatchKind>, Stopped> {
        let mut from = 0;
        loop {
            self.go_on()?;
            let rest = haystack.get(from..).unwrap_or_default();
            let end = rest.get(WINDOW..).and_then(|rest| memchr(b'\n', rest));
            let part = end.and_then(|end| rest.get(..WINDOW + end)).unwrap_or(rest);
            let found = self.matcher.find_candidate_line(part).map_err(|_| Stopped)?;
            match found {
                Some(LineMatchKind::Confirmed(at)) => {
                    return Ok(Some(LineMatchKind::Confirmed(from + at)));
                }
                Some(LineMatchKind::Candidate(at)) => {
                    return Ok(Some(LineMatchKind::Candidate(from + at)));
                }
                None if end.is_none() => return Ok(None),
                None => from += part.len() + 1,
            }
        }
    }
}
