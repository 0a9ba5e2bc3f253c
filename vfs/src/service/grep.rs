//! `fs.grep`: ripgrep's engine over what may be read.

use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkError, SinkMatch,
};

use super::Service;
use super::caller::Caller;
use super::walk::{Reach, Visit};
use crate::fault::{Code, Fault};
use crate::method::{FileMatches, Found, GrepParams, Line};

/// No reply has more lines: empty ones are nothing to the limit, and still take room.
const MOST_LINES: usize = 100_000;

impl Service<'_> {
    /// Files are searched in the order of their paths, links below directories are not followed, and
    /// binary files and those over the limit are passed over, as is what may not be read, and what the
    /// project's ignore files name, unless it is asked for by its path.
    pub(super) fn grep(
        &mut self,
        params: &GrepParams,
        caller: &mut dyn Caller,
    ) -> Result<Found, Fault> {
        let mut search = Search::new(params)?;
        let mut walk = self.walk(params.paths.as_deref(), caller)?;
        let mut found = Found::default();
        let (mut size, mut count) = (0, 0);
        while let Some(visit) = walk.next() {
            if caller.is_gone() {
                return Err(Fault::cancelled());
            }
            walk.enter(self, &visit);
            let Visit { path, reach: Reach::File(granted), .. } = visit else { continue };
            if !search.wants(&path) {
                continue;
            }
            let Ok(contents) = self.contents(&granted, &path) else { continue };
            let lines = search.lines(&self.secrets.scrub(contents), MOST_LINES - count)?;
            count += lines.len();
            size += lines.iter().map(|line| line.content.len() as u64).sum::<u64>();
            if size > self.limit || count == MOST_LINES {
                return Err(Fault::new(
                    Code::TooLarge,
                    "too many matches: narrow the pattern or the paths",
                ));
            }
            if !lines.is_empty() {
                found.matches.push(FileMatches { path, lines });
            }
        }
        Ok(found)
    }
}

/// What is searched for, and how.
struct Search<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    extensions: Option<&'a [String]>,
}

impl<'a> Search<'a> {
    fn new(params: &'a GrepParams) -> Result<Self, Fault> {
        let matcher =
            RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build(&params.pattern);
        let matcher = matcher.map_err(|error| Fault::params(format!("the pattern: {error}")))?;
        let context = params.context.unwrap_or(0);
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .before_context(context)
            .after_context(context)
            .build();
        Ok(Self { matcher, searcher, extensions: params.extensions.as_deref() })
    }

    fn wants(&self, path: &str) -> bool {
        let is = |extension: &String| {
            let wanted = extension.strip_prefix('.').unwrap_or(extension);
            Path::new(path).extension().is_some_and(|it| it == wanted)
        };
        self.extensions.is_none_or(|extensions| extensions.iter().any(is))
    }

    /// The lines that are found, but no more than `most`.
    fn lines(&mut self, contents: &[u8], most: usize) -> Result<Vec<Line>, Fault> {
        let mut lines = Lines { found: Vec::new(), most };
        let searched = self.searcher.search_slice(&self.matcher, contents, &mut lines);
        searched.map_err(|error: Failed| Fault::new(Code::Internal, error.0))?;
        Ok(lines.found)
    }
}

/// Lines as they are found.
struct Lines {
    found: Vec<Line>,
    most: usize,
}

/// Why a search failed.
struct Failed(String);

impl SinkError for Failed {
    fn error_message<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl Lines {
    /// Adds a line; whether there is room for more.
    fn add(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) -> bool {
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let content = String::from_utf8_lossy(line).into_owned();
        self.found.push(Line { line_number: number.unwrap_or(0), content, is_match });
        self.found.len() < self.most
    }
}

impl Sink for Lines {
    type Error = Failed;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Failed> {
        Ok(self.add(found.line_number(), found.bytes(), true))
    }

    fn context(&mut self, _: &Searcher, near: &SinkContext<'_>) -> Result<bool, Failed> {
        Ok(self.add(near.line_number(), near.bytes(), false))
    }
}
