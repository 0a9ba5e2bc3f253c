//! `fs.grep`: searches readable files with ripgrep's engine, bounded in time and memory.

mod bounded;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkError, SinkMatch,
};

use self::bounded::Bounded;
use super::Service;
use super::caller::Caller;
use super::walk::{Reach, Visit, Watch};
use crate::fault::{Code, Fault};
use crate::method::{FileMatches, Found, GrepParams, Line};

/// The most lines in a reply. Empty lines do not count towards the byte limit, and still take memory.
const MOST_LINES: usize = 100_000;

/// The longest pattern, in bytes.
const LONGEST_PATTERN: usize = 16 * 1024;

/// The most bytes of a compiled pattern, and of its states during a search.
const COMPILED: usize = 1 << 20;
const STATES: usize = 16 << 20;

/// How deep groups and repetitions in a pattern may nest.
const NESTING: u32 = 100;

/// The most paths and extensions in one search.
const MOST_NAMES: usize = 10_000;

/// Larger files are searched in a thread of their own, which the service can abandon.
const SMALL: usize = 16 * 1024;

/// How many threads may search: the current one, and abandoned ones that have not ended.
const MOST_SEARCHES: usize = 4;

/// How often to check whether somebody still waits.
const TICK: Duration = Duration::from_millis(20);

impl Service<'_> {
    /// Searches files in the order of their paths. It skips:
    ///
    /// - symlinks below directories
    /// - binary files and files over the limit
    /// - files that may not be read
    /// - files that the project's ignore files name, unless the request names their path
    pub(super) fn grep(
        &mut self,
        params: &GrepParams,
        caller: &mut dyn Caller,
    ) -> Result<Found, Fault> {
        let mut search = Search::new(params)?;
        let mut walk = self.walk(params.paths.as_deref(), caller)?;
        let mut watch = Watch { caller, until: Instant::now() + self.patience };
        let mut found = Found::default();
        let (mut size, mut count) = (0, 0);
        while let Some(visit) = walk.next() {
            watch.check()?;
            walk.enter(self, &visit, &mut watch)?;
            let Visit { path, reach: Reach::File(granted), .. } = visit else { continue };
            if !search.wants(&path) {
                continue;
            }
            let Ok(contents) = self.contents(&granted, &path) else { continue };
            let lines = search.lines(contents, MOST_LINES - count, &self.searching, &mut watch)?;
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

/// A search and its options.
struct Search<'a> {
    matcher: RegexMatcher,
    context: usize,
    extensions: Option<&'a [String]>,
}

impl<'a> Search<'a> {
    fn new(params: &'a GrepParams) -> Result<Self, Fault> {
        let GrepParams { pattern, paths, extensions, context } = params;
        if pattern.len() > LONGEST_PATTERN {
            let why = format!("the pattern is longer than {LONGEST_PATTERN} bytes: shorten it");
            return Err(Fault::params(why));
        }
        for (name, list) in [("paths", paths), ("extensions", extensions)] {
            if list.as_ref().is_some_and(|list| list.len() > MOST_NAMES) {
                let why = format!("`{name}` has more than {MOST_NAMES} entries: name directories");
                return Err(Fault::params(why));
            }
        }
        let mut builder = RegexMatcherBuilder::new();
        builder.line_terminator(Some(b'\n')).nest_limit(NESTING);
        builder.size_limit(COMPILED).dfa_size_limit(STATES);
        let matcher = builder.build(pattern);
        let matcher = matcher.map_err(|error| Fault::params(format!("the pattern: {error}")))?;
        let context = context.unwrap_or(0).min(MOST_LINES);
        Ok(Self { matcher, context, extensions: extensions.as_deref() })
    }

    fn wants(&self, path: &str) -> bool {
        let is = |extension: &String| {
            let wanted = extension.strip_prefix('.').unwrap_or(extension);
            Path::new(path).extension().is_some_and(|it| it == wanted)
        };
        self.extensions.is_none_or(|extensions| extensions.iter().any(is))
    }

    /// The lines found in `contents`, at most `most`. The count of `searching` is the number of searching threads.
    fn lines(
        &mut self,
        contents: Vec<u8>,
        most: usize,
        searching: &Arc<()>,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Line>, Fault> {
        if contents.len() > SMALL {
            return self.lines_apart(contents, most, searching, watch);
        }
        let until = watch.until;
        let found = lines(&self.matcher, self.context, &contents, most, &|| Instant::now() > until);
        watch.check()?;
        found
    }

    /// Like [`Self::lines`], in a thread that is abandoned once nobody waits or the time is up.
    fn lines_apart(
        &self,
        contents: Vec<u8>,
        most: usize,
        searching: &Arc<()>,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Line>, Fault> {
        if Arc::strong_count(searching) > MOST_SEARCHES {
            let why = "earlier searches that were given up have not ended yet: wait for them";
            return Err(Fault::new(Code::Internal, why));
        }
        let searching = Arc::clone(searching);
        let stopped = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stopped);
        let (matcher, context) = (self.matcher.clone(), self.context);
        let (sender, receiver) = mpsc::channel();
        let search = move || {
            let stops = || is_stopped.load(Ordering::Relaxed);
            drop(sender.send(lines(&matcher, context, &contents, most, &stops)));
            drop(searching);
        };
        Builder::new().name("grep".into()).spawn(search).map_err(|error| {
            Fault::new(Code::Internal, format!("nothing was searched: {error}"))
        })?;
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(found) => return found,
                Err(RecvTimeoutError::Timeout) => watch.check().inspect_err(|_| {
                    stopped.store(true, Ordering::Relaxed);
                })?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Fault::new(Code::Internal, "the search ended without an answer"));
                }
            }
        }
    }
}

/// The lines found in `contents`, at most `most`. Fails once `stops` returns true.
fn lines(
    matcher: &RegexMatcher,
    context: usize,
    contents: &[u8],
    most: usize,
    stops: &dyn Fn() -> bool,
) -> Result<Vec<Line>, Fault> {
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .before_context(context)
        .after_context(context)
        .build();
    let mut lines = Lines { found: Vec::new(), most };
    let outcome = searcher.search_slice(Bounded { matcher, stops }, contents, &mut lines);
    outcome.map_err(|error: Failed| Fault::new(Code::Internal, error.0))?;
    Ok(lines.found)
}

/// Collects lines as they are found.
struct Lines {
    found: Vec<Line>,
    most: usize,
}

/// The reason why a search failed.
struct Failed(String);

impl SinkError for Failed {
    fn error_message<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl Lines {
    /// Adds a line. Returns whether there is room for more.
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
