//! Patterns of paths, for the tiers and the list of sensitive paths (spec §9.1).

mod expression;
mod folding;
mod matcher;
pub(crate) mod posix;
mod repeated;

use std::borrow::ToOwned as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::string::{String, ToString as _};
use std::sync::OnceLock;
use std::vec;
use std::vec::Vec;

use globset::{Glob, GlobBuilder};

use self::expression::expression;
use self::matcher::Matcher;
use crate::canonical::{self, Op, Root};
use crate::control::Homes;
use crate::rule_name::FileLine;
use crate::table::{Expression, PatternList};

/// The longest pattern, because no path is longer (`PATH_MAX`). Deeper nesting would take too much stack.
const LONGEST: usize = 4096;

/// Why a pattern is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It would match in unexpected places, or nowhere.
    #[error("a pattern begins with `/`, `~/`, `<workspace>` or `**`")]
    Relative,
    /// It would match less than it seems to.
    #[error(
        "`**` stands alone between slashes or at the end, as in `**/*.pem`; within a name write `*`"
    )]
    Stars,
    /// It has a part that no canonical path has, so it could never match.
    #[error("no path has `.`, `..`, `//` or a slash at the end; all that is in a folder is `/**`")]
    Unclean,
    /// It would not match the paths that it was meant for.
    #[error(
        "other globs know more than `*`, `?`, `[..]`, `{{a,b}}` and `**`: instead of `[[:alpha:]]` write `[a-zA-Z]`, of \
         `{{1..3}}` `{{1,2,3}}`, and of `\\*` `[*]`; a backslash itself is `[\\]`"
    )]
    Foreign,
    /// Longer than any path.
    #[error("it is longer than {LONGEST} bytes")]
    TooLong,
    /// `~somebody`.
    #[error("the home of another user is not looked up; write the path")]
    OtherHome,
    /// It could never match.
    #[error("`~` is not known, because HOME is not set to an absolute path")]
    NoHome,
    /// It could never match.
    #[error("a path in it is not UTF-8, which patterns are")]
    NotUtf8,
    /// Not a pattern.
    #[error("{0}")]
    Syntax(String),
}

/// The paths that the beginnings of patterns stand for.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// `$HOME`, absolute, if it is known.
    pub home: Option<&'a Path>,
    /// The homes for the built-in list of sensitive paths ([`Homes::protected`]).
    pub protected: &'a [PathBuf],
    /// The canonical root of the workspace.
    pub workspace: &'a Path,
}

impl<'a> Places<'a> {
    /// The places of a user, for a workspace.
    #[must_use]
    pub fn of(homes: &'a Homes, root: &'a Root) -> Self {
        let Homes { user, protected, .. } = homes;
        Self { home: user.as_deref(), protected, workspace: root.as_path() }
    }

    /// The places if nobody has a home.
    #[must_use]
    pub const fn without_home(workspace: &'a Path) -> Self {
        Self { home: None, protected: &[], workspace }
    }
}

/// A compiled pattern, to be matched against canonical absolute paths.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// As written.
    pub text: String,
    /// The file and line, if known. For messages.
    pub place: Option<FileLine>,
    /// The pattern with its beginning expanded, and again with the symlinks on its literal part resolved.
    globs: Vec<String>,
    /// The symlinks on its literal part, canonical.
    links: Vec<PathBuf>,
    /// One for each glob, created when first needed.
    matchers: OnceLock<Vec<Matcher>>,
}

impl Pattern {
    /// The pattern that matches the canonical absolute `path` and nothing else. `None` if the path is not UTF-8, as
    /// patterns are, or would be too long when escaped.
    #[must_use]
    pub fn literal(path: &Path) -> Option<String> {
        path.to_str().map(escaped).filter(|text| Self::check(text).is_ok())
    }

    /// Whether `text` can be a pattern, judged without the disk.
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
        let has_dots = text.split('/').any(|part| matches!(part, "." | ".."));
        if has_dots || lacks_name(text) && text != "/" {
            return Err(PatternError::Unclean);
        }
        if is_foreign(text) {
            return Err(PatternError::Foreign);
        }
        valid(text)
    }

    /// Expands `text` and resolves the symlinks on its literal part. Looks at the disk.
    ///
    /// If the pattern `restricts`, it matches more. `D/**` also matches the directory `D` itself (R19). A plain name
    /// also matches everything below it, because nobody denies a directory and means to leave its contents open.
    ///
    /// # Errors
    /// [`PatternError`].
    pub fn new(text: &str, places: Places<'_>, restricts: bool) -> Result<Self, PatternError> {
        Self::check(text)?;
        let mut expanded = expand(text, places)?;
        while expanded.contains("/**/**") {
            // A sequence of `/**` means the same as one.
            expanded = expanded.replace("/**/**", "/**");
        }
        let mut spellings = vec![expanded.clone()];
        let Literal { resolved, links } = Literal::of(&expanded)?;
        spellings.extend(resolved);
        if restricts {
            let whole: Vec<String> = spellings.iter().filter_map(|text| itself(text)).collect();
            spellings.extend(whole.into_iter().filter(|spelling| !spelling.is_empty()));
            let below: Vec<String> = spellings.iter().filter_map(|text| all_below(text)).collect();
            let fresh = below.into_iter().filter(|spelling| !spellings.contains(spelling));
            spellings.extend(fresh.collect::<Vec<_>>());
        }
        spellings.dedup();
        spellings.iter().try_for_each(|spelling| valid(spelling))?;
        let (text, globs) = (text.to_owned(), spellings);
        Ok(Self { text, place: None, globs, links, matchers: OnceLock::new() })
    }

    /// As written, with the beginning expanded. It is absolute or begins with `**`.
    pub(crate) fn expanded(&self) -> &str {
        self.globs.first().map_or("", String::as_str)
    }

    /// The symlinks on its literal part, canonical, at the time of [`Self::new`].
    pub(crate) fn links(&self) -> &[PathBuf] {
        &self.links
    }

    /// Restricts the pattern to its spelling, without following symlinks on it. Returns the pattern of their targets.
    pub(crate) fn split_off_target(&mut self) -> Self {
        let globs = self.globs.split_off(1);
        self.links.clear();
        self.matchers = OnceLock::new();
        Self { globs, ..self.clone() }
    }

    /// Adds the paths that it matches to a list.
    pub(crate) fn list(&self, listed: &mut PatternList) {
        for one in &self.globs {
            let (matching, text) = match directory_of(one) {
                Some(directory) => (&mut listed.below, directory),
                None => (&mut listed.exact, one.as_str()),
            };
            if let Some(name) = named(text) {
                matching.names.push(name);
            } else if let Ok(matcher) = glob(text) {
                let regex = expression(matcher.regex());
                let apart = apart(text).map(str::to_owned);
                matching.expressions.push(Expression { regex, apart });
            }
        }
    }

    /// Whether it matches a path. For messages: the evaluator says what is allowed.
    #[must_use]
    pub fn matches(&self, path: &Path) -> bool {
        let made = || self.globs.iter().filter_map(|one| Matcher::of(one)).collect();
        let path = path.as_os_str().as_bytes();
        self.matchers.get_or_init(made).iter().any(|matcher| matcher.matches(path))
    }

    /// How narrow it is: the number of literal components, then of literal characters (spec §9.2).
    #[must_use]
    pub fn specificity(&self) -> (usize, usize) {
        let text = self.globs.first().map_or("", String::as_str);
        let literal = text.chars().filter(|character| !"*?[]{}".contains(*character)).count();
        (literal_part(text).split('/').filter(|name| !name.is_empty()).count(), literal)
    }

    /// The paths that it names, as written and with symlinks on them resolved.
    pub(crate) fn named(&self) -> impl Iterator<Item = PathBuf> {
        self.globs.iter().map(|glob| stem(glob))
    }

    /// Whether it may match something at or below the canonical `directory`.
    pub(crate) fn is_about(&self, directory: &Path) -> bool {
        let stem = self.stem();
        stem.starts_with(directory) || directory.starts_with(stem)
    }

    /// The directory below which it matches. Canonical if its literal part exists.
    #[must_use]
    pub fn stem(&self) -> PathBuf {
        stem(self.globs.last().map_or("", String::as_str))
    }

    /// The glob after its [`Self::stem`]. Empty if it matches that path alone, `**` if it matches everything below.
    #[must_use]
    pub fn below_stem(&self) -> &str {
        let glob = self.globs.last().map_or("", String::as_str);
        glob.strip_prefix(literal_part(glob)).unwrap_or_default()
    }
}

/// The pieces of a pattern: classes in brackets, and characters.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    core::iter::from_fn(move || {
        let length = class_length(rest).or(rest.chars().next().map(char::len_utf8))?;
        let (piece, behind) = rest.split_at_checked(length)?;
        rest = behind;
        Some(piece)
    })
}

/// The length of the class at the beginning, if there is one. Its first character belongs to it even if that is `]`.
fn class_length(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('[')?;
    let inner = inner.strip_prefix(['!', '^']).unwrap_or(inner);
    let first = inner.chars().next()?.len_utf8();
    let end = inner.get(first..)?.find(']')?;
    Some(rest.len() - inner.len() + first + end + 1)
}

/// The text between the brackets of a class. `None` for a character.
fn within_brackets(piece: &str) -> Option<&str> {
    piece.strip_prefix('[')?.strip_suffix(']')
}

/// Whether one of its alternatives has two slashes in a row, or ends with one.
fn lacks_name(text: &str) -> bool {
    // For each open brace: whether a slash precedes it, and whether an alternative in it ends with one.
    let mut around: Vec<(bool, bool)> = Vec::new();
    let mut slash = false;
    for piece in pieces(text) {
        match (piece, around.last_mut()) {
            ("/", _) if slash => return true,
            ("{", _) => around.push((slash, false)),
            (",", Some((before, ends))) => {
                *ends |= slash;
                slash = *before;
            }
            ("}", Some(&mut (_, ends))) => {
                slash |= ends;
                around.pop();
            }
            _ => slash = piece == "/",
        }
    }
    slash
}

/// Whether it uses the syntax of other globs: class names, ranges in braces, or backslashes.
fn is_foreign(text: &str) -> bool {
    let has_name = |class: &str| {
        let mut names = [("[:", ':'), ("[.", '.'), ("[=", '=')].into_iter();
        names.any(|(begin, end)| class.strip_suffix(end).is_some_and(|rest| rest.contains(begin)))
    };
    let escapes =
        |class: &str| class.contains('\\') && class.trim_start_matches(['!', '^']) != "\\";
    let is_foreign = |piece: &str| match within_brackets(piece) {
        Some(class) => has_name(class) || escapes(class),
        None => piece == "\\",
    };
    pieces(text).any(is_foreign) || text.contains(r"[\]]") || has_range(text)
}

/// Whether it contains a range in braces such as `{1..3}`.
fn has_range(text: &str) -> bool {
    let without_classes: String =
        pieces(text).map(|piece| within_brackets(piece).map_or(piece, |_| "?")).collect();
    let is_range = |part: &str| part.contains("..") && !part.contains(',');
    let mut parts = without_classes.split('{').skip(1);
    parts.any(|rest| rest.split_once('}').is_some_and(|(part, _)| is_range(part)))
}

/// The literal part that matches a path.
fn escaped(path: &str) -> String {
    globset::escape(path).replace('\\', r"[\]")
}

/// The directory of a pattern that matches everything below it.
fn directory_of(glob: &str) -> Option<&str> {
    if glob == "**" { Some("") } else { glob.strip_suffix("/**") }
}

/// The text up to the first `/**/` after the first wildcard. A matcher of many such patterns must track for each
/// whether the path has passed this text.
fn apart(text: &str) -> Option<&str> {
    let literal = literal_part(text).len();
    let wild = text.get(literal..)?;
    let begin = literal + if wild.starts_with("**/") { "**/".len() } else { 0 };
    let length = text.get(begin..)?.find("/**/")?;
    text.get(..begin + length)
}

/// Whether `text` is a glob. Most patterns show it without being parsed.
fn valid(text: &str) -> Result<(), PatternError> {
    let inner = text.strip_prefix("**/").unwrap_or(text);
    let inner = inner.strip_suffix("/**").unwrap_or(inner);
    if !inner.contains("**") && !inner.contains(['?', '[', ']', '{', '}', '\\']) {
        return Ok(());
    }
    glob(text).map(|_| ())
}

fn glob(text: &str) -> Result<Glob, PatternError> {
    let glob = GlobBuilder::new(text)
        .literal_separator(true)
        .backslash_escape(false)
        .empty_alternates(true)
        .build()
        .map_err(|error| PatternError::Syntax(error.kind().to_string()))?;
    if loses_stars(glob.regex()) { Err(PatternError::Stars) } else { Ok(glob) }
}

/// Whether a `**` of the pattern lost meaning in its expression. Beside other characters it counts as `*` twice. At the
/// end of a part in braces, but not of the pattern, it must match something (`{a/**,b}/c` does not match `a/c`).
fn loses_stars(expression: &str) -> bool {
    let ends = ["/.*|", "/.*)"].into_iter().filter_map(|end| expression.find(end)).min();
    let behind = ends.and_then(|at| expression.get(at..)).unwrap_or_default();
    let goes_on = |next: &str| !next.is_empty() && !next.starts_with(['|', '$']);
    expression.contains("[^/]*[^/]*") || behind.split(')').skip(1).any(goes_on)
}

fn expand(text: &str, places: Places<'_>) -> Result<String, PatternError> {
    let place = |path: &Path| {
        let text = path.to_str().ok_or(PatternError::NotUtf8)?;
        Ok::<_, PatternError>(escaped(text.trim_end_matches('/')))
    };
    if let Some(rest) = text.strip_prefix("~") {
        return Ok(place(places.home.ok_or(PatternError::NoHome)?)? + rest);
    }
    if let Some(rest) = text.strip_prefix("<workspace>") {
        return Ok(place(places.workspace)? + rest);
    }
    Ok(text.to_owned())
}

/// The result of resolving the literal part of a pattern.
#[derive(Default)]
struct Literal {
    /// The pattern with that part canonical, unless it was canonical before.
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
        // If the path cannot be resolved, it cannot be reached by this spelling either.
        let Ok(found) = canonical::resolve(Path::new("/"), Path::new(&stem), Op::Content) else {
            return Ok(Self::default());
        };
        let canonical = found.path.to_str().ok_or(PatternError::NotUtf8)?.trim_end_matches('/');
        let resolved = (canonical != stem).then(|| escaped(canonical) + rest);
        Ok(Self { resolved, links: found.steps.into_iter().map(|step| step.link).collect() })
    }
}

/// The pattern of the directories themselves, if `text` matches everything below some. `/**` must end the pattern or an
/// alternative in the braces that end it.
fn itself(text: &str) -> Option<String> {
    let mut rest: Vec<&str> = Vec::new();
    let mut found = false;
    for piece in pieces(text).map(Some).chain([None]) {
        if matches!(piece, None | Some("," | "}")) && rest.ends_with(&["/", "*", "*"]) {
            rest.truncate(rest.len() - 3);
            found = true;
        }
        rest.extend(piece);
    }
    found.then(|| rest.concat())
}

/// The pattern of everything below the paths that `text` matches, if it has no wildcard.
fn all_below(text: &str) -> Option<String> {
    let is_name = |piece: &str| {
        is_escaped(piece) || !matches!(piece, "*" | "?") && within_brackets(piece).is_none()
    };
    pieces(text).all(is_name).then(|| text.trim_end_matches('/').to_owned() + "/**")
}

/// The directory below which a pattern matches, or its path if it matches nothing else.
fn stem(text: &str) -> PathBuf {
    let literal = literal_part(text);
    let whole = literal.len() == text.len();
    let end = if whole { literal.len() } else { literal.rfind('/').unwrap_or(0) };
    let stem = unescaped(literal.get(..end).unwrap_or_default());
    PathBuf::from(if stem.is_empty() { "/".to_owned() } else { stem })
}

/// The part of a pattern before the first component with a special character, or all of it.
fn literal_part(text: &str) -> &str {
    let mut plain = 0;
    let mut at = 0;
    while let Some((character, length)) = text.get(at..).and_then(first) {
        match character {
            // [`escaped`] puts a literal special character into brackets of its own.
            _ if length > character.len_utf8() => {}
            '*' | '?' | '{' | '[' => return text.get(..plain).unwrap_or_default(),
            '/' => plain = at + 1,
            _ => {}
        }
        at += length;
    }
    text
}

/// The first character that a pattern matches, and its length in bytes there.
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

/// The path that a pattern without wildcards matches.
fn named(text: &str) -> Option<String> {
    (literal_part(text).len() == text.len()).then(|| unescaped(text))
}

/// The path that a literal part matches.
fn unescaped(literal: &str) -> String {
    let mut path = String::new();
    let mut rest = literal;
    while let Some((character, length)) = first(rest) {
        path.push(character);
        rest = rest.get(length..).unwrap_or_default();
    }
    path
}
