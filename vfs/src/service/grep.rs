//! `fs.grep`: ripgrep's engine over what may be read.

use std::path::Path;
use std::rc::Rc;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkError, SinkMatch,
};
use jp_confine_policy::Capability;
use jp_confine_policy::check::CheckResult;

use super::Service;
use super::caller::Caller;
use super::fs::{below, missing};
use crate::fault::{Code, Fault};
use crate::files::Standing;
use crate::method::{FileMatches, Found, GrepParams, Kind, Line};

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
        let everything = [".".to_owned()];
        let paths = params.paths.as_deref().unwrap_or(&everything);
        let check =
            |path: &String| self.gate.context.check_to_use(path.as_bytes(), Capability::Read);
        let checks: Vec<CheckResult> = paths.iter().map(check).collect();
        let granted = self.gate.pass_all(checks, caller)?;
        let mut found = Found::default();
        let (mut size, mut count) = (0, 0);
        let mut pending = Vec::new();
        for (path, granted) in paths.iter().zip(granted) {
            match self.look(granted.path(), path)? {
                None => return Err(missing(path)),
                Some(Standing::Other) => {}
                Some(Standing::Dir) => {
                    let ignored = self.ignored_above(path);
                    pending.push((path.clone(), granted, Kind::Dir, Some(ignored)));
                }
                Some(Standing::File(_)) => pending.push((path.clone(), granted, Kind::File, None)),
            }
        }
        pending.reverse();
        while let Some((path, granted, kind, ignored)) = pending.pop() {
            if caller.is_gone() {
                return Err(Fault::cancelled());
            }
            if kind == Kind::Dir {
                let ignored = self.ignored_in(&path, ignored.as_ref());
                let mut names = self.files.names(&granted).unwrap_or_default();
                names.sort_unstable_by(|one, other| other.cmp(one));
                for name in names {
                    let (at, path) = (granted.path().join(&name), below(&path, &name));
                    if let Some((granted, kind)) = self.readable(&path)
                        && granted.path() == at
                        && !ignored.covers(&path, kind == Kind::Dir)
                    {
                        pending.push((path, granted, kind, Some(Rc::clone(&ignored))));
                    }
                }
                continue;
            }
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
