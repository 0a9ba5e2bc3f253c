//! Patterns of paths, as the tiers and the list of sensitive paths have them (spec §9.1).

use std::borrow::ToOwned as _;
use std::path::{Path, PathBuf};
use std::string::{String, ToString as _};
use std::vec;
use std::vec::Vec;

use globset::{Glob, GlobBuilder, GlobMatcher};

use crate::build::automaton::Listed;
use crate::canonical::{self, Op};

/// No path is longer (`PATH_MAX`), and what is nested deeper would take too much stack.
const LONGEST: usize = 4096;

/// Why a pattern cannot stand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It would match in places that nobody thinks of, or nowhere.
    #[error("a pattern begins with `/`, `~/`, `<workspace>` or `**`")]
    Relative,
    /// It would match less than it reads.
    #[error(
        "`**` stands alone between slashes or at the end, as in `**/*.pem`; within a name write `*`"
    )]
    Stars,
    /// It has a part that no canonical path has: it could never match.
    #[error("no path has `.`, `..`, `//` or a slash at the end; all that is in a folder is `/**`")]
    Unclean,
    /// Names are bytes, and a class is of one of them.
    #[error("brackets stand for one byte: write other letters as `{{é,è}}`")]
    WideClass,
    /// Longer than any path.
    #[error("it is longer than {LONGEST} bytes")]
    TooLong,
    /// `~somebody`.
    #[error("the home of another user is not looked up; write the path")]
    OtherHome,
    /// It could never match.
    #[error("`~` is not known, because HOME is not set to an absolute path")]
    NoHome,
    /// The same.
    #[error("a path in it is not UTF-8, which patterns are")]
    NotUtf8,
    /// Not a pattern.
    #[error("{0}")]
    Syntax(String),
}

/// What the beginnings of patterns stand for.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// `$HOME`, absolute, if it is known.
    pub home: Option<&'a Path>,
    /// The canonical root of the workspace.
    pub workspace: &'a Path,
}

/// A pattern ready to be matched against canonical absolute paths.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// As written.
    pub text: String,
    /// Where it is written, if that is known: a file and a line, for messages.
    pub place: Option<String>,
    /// As written, expanded, and with the links on its literal part resolved.
    globs: Vec<Glob>,
    /// The links on its literal part, canonical.
    links: Vec<PathBuf>,
}

impl Pattern {
    /// The pattern that matches the canonical absolute `path` and nothing else; `None` where its name is not
    /// UTF-8, which patterns are.
    #[must_use]
    pub fn literal(path: &Path) -> Option<String> {
        path.to_str().map(globset::escape)
    }

    /// Whether `text` can be a pattern, as far as can be said without looking at the disk.
    ///
    /// # Errors
    /// [`PatternError`].
    pub fn check(text: &str) -> Result<(), PatternError> {
        let begins = |prefix: &str| {
            text.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if text.len() > LONGEST {
            return Err(PatternError::TooLong);
        }
        if text.starts_with('~') && !begins("~") {
            return Err(PatternError::OtherHome);
        }
        if !(text.starts_with('/') || begins("~") || begins("<workspace>") || begins("**")) {
            let stars = text.starts_with("**");
            return Err(if stars { PatternError::Stars } else { PatternError::Relative });
        }
        if text.split('/').skip(1).any(|part| matches!(part, "" | "." | "..")) && text != "/" {
            return Err(PatternError::Unclean);
        }
        if has_wide_class(text) {
            return Err(PatternError::WideClass);
        }
        glob(text).map(|_| ())
    }

    /// Expands `text` and resolves the links on its literal part; looks at the disk. Of a directory
    /// that it `restricts` it matches the directory itself, too (R19); and what it `restricts` by its plain
    /// name it matches with all below, should that be a directory: nobody closes a folder and means to
    /// leave its contents open.
    ///
    /// # Errors
    /// [`PatternError`].
    pub fn new(text: &str, places: Places<'_>, restricts: bool) -> Result<Self, PatternError> {
        Self::check(text)?;
        let mut expanded = expand(text, places)?;
        while expanded.contains("/**/**") {
            // They say the same as one.
            expanded = expanded.replace("/**/**", "/**");
        }
        let mut spellings = vec![expanded.clone()];
        let Literal { resolved, links } = Literal::of(&expanded)?;
        spellings.extend(resolved);
        if restricts {
            let of_itself = |spelling: &String| spelling.strip_suffix("/**").map(str::to_owned);
            let whole: Vec<String> = spellings.iter().filter_map(of_itself).collect();
            let below: Vec<String> = spellings.iter().filter_map(|text| all_below(text)).collect();
            spellings.extend(whole.into_iter().filter(|spelling| !spelling.is_empty()));
            spellings.extend(below);
        }
        spellings.dedup();
        let globs = spellings.iter().map(|spelling| glob(spelling)).collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), place: None, globs, links })
    }

    /// As written, with what its beginning stands for: absolute, or beginning with `**`.
    pub(crate) fn expanded(&self) -> &str {
        self.globs.first().map_or("", Glob::glob)
    }

    /// The links on its literal part, canonical, as they were when it was made.
    pub(crate) fn links(&self) -> &[PathBuf] {
        &self.links
    }

    /// Goes by its spelling alone from now on, wherever links on it lead; the pattern of where they do.
    pub(crate) fn split_off_target(&mut self) -> Self {
        let globs = self.globs.split_off(1);
        self.links.clear();
        Self { globs, ..self.clone() }
    }

    /// Adds what it matches to a list.
    pub(crate) fn list(&self, listed: &mut Listed) {
        for matcher in &self.globs {
            let (matching, text) = match directory_of(matcher) {
                Some(directory) => (&mut listed.below, directory),
                None => (&mut listed.exact, matcher.glob()),
            };
            if literal_part(text).len() == text.len() {
                matching.names.push(unescaped(text));
            } else if let Ok(matcher) = glob(text) {
                matching.expressions.push(within_components(matcher.regex()));
            }
        }
    }

    /// Whether it matches a path. For messages: what is allowed is for the evaluator to say.
    #[must_use]
    pub fn matches(&self, path: &Path) -> bool {
        self.globs.iter().map(Glob::compile_matcher).any(|glob: GlobMatcher| glob.is_match(path))
    }

    /// How narrow it is: how many components are literal, then how many characters (spec §9.2).
    #[must_use]
    pub fn specificity(&self) -> (usize, usize) {
        let text = self.globs.first().map_or("", Glob::glob);
        let literal = text.chars().filter(|character| !"*?[]{}".contains(*character)).count();
        (literal_part(text).split('/').filter(|name| !name.is_empty()).count(), literal)
    }

    /// The path that it names: the one that it matches if it has nothing special in it, else [`Self::stem`].
    pub(crate) fn named(&self) -> PathBuf {
        let text = self.globs.last().map_or("", Glob::glob);
        if literal_part(text).len() == text.len() { unescaped(text).into() } else { self.stem() }
    }

    /// Whether it may match something at or below the canonical `directory`.
    pub(crate) fn is_about(&self, directory: &Path) -> bool {
        let stem = self.stem();
        stem.starts_with(directory) || directory.starts_with(stem)
    }

    /// The directory below which it matches: canonical where its literal part exists.
    #[must_use]
    pub fn stem(&self) -> PathBuf {
        let text = self.globs.last().map_or("", Glob::glob);
        let literal = literal_part(text);
        let whole = literal.len() == text.len();
        let end = if whole { literal.len() } else { literal.rfind('/').unwrap_or(0) };
        let stem = unescaped(literal.get(..end).unwrap_or_default());
        PathBuf::from(if stem.is_empty() { "/".to_owned() } else { stem })
    }
}

/// Whether a class has a character of more than one byte.
fn has_wide_class(text: &str) -> bool {
    let mut inside = false;
    text.chars().any(|character| {
        inside = match character {
            '[' => true,
            ']' => false,
            _ => inside,
        };
        inside && !character.is_ascii()
    })
}

/// The directory of a pattern that means all below it.
fn directory_of(glob: &Glob) -> Option<&str> {
    if glob.glob() == "**" { Some("") } else { glob.glob().strip_suffix("/**") }
}

fn glob(text: &str) -> Result<Glob, PatternError> {
    let glob = GlobBuilder::new(text)
        .literal_separator(true)
        .backslash_escape(false)
        .build()
        .map_err(|error| PatternError::Syntax(error.kind().to_string()))?;
    if loses_stars(glob.regex()) { Err(PatternError::Stars) } else { Ok(glob) }
}

/// Whether a `**` of the pattern became less in its expression: beside other characters it is taken for `*` twice,
/// and where a part in braces ends but not the pattern, it has to be something (`{a/**,b}/c` is not `a/c`).
fn loses_stars(expression: &str) -> bool {
    let ends = ["/.*|", "/.*)"].into_iter().filter_map(|end| expression.find(end)).min();
    let behind = ends.and_then(|at| expression.get(at..)).unwrap_or_default();
    let goes_on = |next: &str| !next.is_empty() && !next.starts_with(['|', '$']);
    expression.contains("[^/]*[^/]*") || behind.split(')').skip(1).any(goes_on)
}

fn expand(text: &str, places: Places<'_>) -> Result<String, PatternError> {
    let place = |path: &Path| {
        let text = path.to_str().ok_or(PatternError::NotUtf8)?;
        Ok::<_, PatternError>(globset::escape(text.trim_end_matches('/')))
    };
    if let Some(rest) = text.strip_prefix("~") {
        return Ok(place(places.home.ok_or(PatternError::NoHome)?)? + rest);
    }
    if let Some(rest) = text.strip_prefix("<workspace>") {
        return Ok(place(places.workspace)? + rest);
    }
    Ok(text.to_owned())
}

/// Where the literal part of a pattern leads.
#[derive(Default)]
struct Literal {
    /// The same pattern with that part canonical, unless it is already.
    resolved: Option<String>,
    links: Vec<PathBuf>,
}

impl Literal {
    fn of(text: &str) -> Result<Self, PatternError> {
        let literal = literal_part(text);
        let end =
            if literal.len() == text.len() { text.len() } else { literal.rfind('/').unwrap_or(0) };
        let (stem, rest) = text.split_at(end);
        let stem = unescaped(stem);
        // What cannot be resolved cannot be reached by this spelling either.
        let Ok(found) = canonical::resolve(Path::new("/"), Path::new(&stem), Op::Content) else {
            return Ok(Self::default());
        };
        let canonical = found.path.to_str().ok_or(PatternError::NotUtf8)?.trim_end_matches('/');
        let resolved = (canonical != stem).then(|| globset::escape(canonical) + rest);
        Ok(Self { resolved, links: found.steps.into_iter().map(|step| step.link).collect() })
    }
}

/// The pattern of all that is below the one path that `text` means, if it means one.
fn all_below(text: &str) -> Option<String> {
    (literal_part(text).len() == text.len()).then(|| text.trim_end_matches('/').to_owned() + "/**")
}

/// The part of a pattern before the first component with anything special in it, or all of it.
fn literal_part(text: &str) -> &str {
    let mut plain = 0;
    let mut at = 0;
    while let Some((character, length)) = text.get(at..).and_then(first) {
        match character {
            // An escaped character is put in brackets of its own by `globset::escape`.
            _ if length > character.len_utf8() => {}
            '*' | '?' | '{' | '[' => return text.get(..plain).unwrap_or_default(),
            '/' => plain = at + 1,
            _ => {}
        }
        at += length;
    }
    text
}

/// The first character that a pattern means, and how many bytes of it that takes.
fn first(rest: &str) -> Option<(char, usize)> {
    let escaped = rest.chars().nth(1).filter(|_| is_escaped(rest));
    let plain = rest.chars().next().map(|character| (character, character.len_utf8()));
    escaped.map(|inner| (inner, 2 + inner.len_utf8())).or(plain)
}

fn is_escaped(rest: &str) -> bool {
    let mut characters = rest.chars();
    characters.next() == Some('[')
        && characters.next().is_some_and(|character| !matches!(character, '!' | '^'))
        && characters.next() == Some(']')
}

/// A literal part as the path that it stands for.
fn unescaped(literal: &str) -> String {
    let mut path = String::new();
    let mut rest = literal;
    while let Some((character, length)) = first(rest) {
        path.push(character);
        rest = rest.get(length..).unwrap_or_default();
    }
    path
}

/// The expression of a pattern, its classes kept from matching the separator: `[!a]` is one character of
/// a name.
fn within_components(expression: &str) -> String {
    let mut out = String::new();
    let mut characters = expression.chars();
    let mut depth = 0_u32;
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                out.push('\\');
                out.extend(characters.next());
            }
            '[' => {
                depth += 1;
                out.push_str("[[");
            }
            ']' if depth > 0 => {
                depth -= 1;
                out.push_str("]&&[^/]]");
            }
            other => out.push(other),
        }
    }
    out
}
