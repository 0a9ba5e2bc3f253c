//! Evaluates the subset of SBPL that profiles use, from what Apple and others document of it: the last rule that
//! matches decides, a rule matches if one of its filters does, and `file-read*` stands for all that begin so.

use regex_automata::meta::Regex;
use regex_automata::util::syntax;

/// A profile.
pub(crate) struct Profile {
    rules: Vec<Rule>,
}

struct Rule {
    allows: bool,
    operations: Vec<String>,
    filters: Vec<Filter>,
}

enum Filter {
    Literal(Vec<u8>),
    Subpath(Vec<u8>),
    /// As bytes, and as characters. They must agree, as nobody knows which macOS does.
    Regex(Regex, Regex),
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
    /// About other things than paths.
    Other,
}

/// How an expression is matched.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Matching {
    Bytes,
    Characters,
}

impl Profile {
    pub(crate) fn parse(text: &str) -> Self {
        let mut rest = text.as_bytes();
        let mut forms = Vec::new();
        while let Some(form) = form(&mut rest) {
            forms.push(form);
        }
        let [version, default, rules @ ..] = forms.as_slice() else { panic!("{text}") };
        assert_eq!(version.words(), ["version", "1"]);
        assert_eq!(default.words(), ["deny", "default"]);
        Self { rules: rules.iter().map(Rule::of).collect() }
    }

    /// Whether the operation is allowed on the path.
    pub(crate) fn allows(&self, operation: &str, path: &[u8], how: Matching) -> bool {
        let last = self.rules.iter().rev().find(|rule| rule.matches(operation, path, how));
        last.is_some_and(|rule| rule.allows)
    }
}

impl Rule {
    fn of(form: &Form) -> Self {
        let Form::List(parts) = form else { panic!("no rule: {form:?}") };
        let allows = match parts.first() {
            Some(Form::Word(word)) if word == "allow" => true,
            Some(Form::Word(word)) if word == "deny" => false,
            other => panic!("no rule: {other:?}"),
        };
        let (mut operations, mut filters) = (Vec::new(), Vec::new());
        for part in &parts[1..] {
            match part {
                Form::Word(word) => operations.push(word.clone()),
                part => filters.push(Filter::of(part)),
            }
        }
        assert!(!operations.is_empty());
        Self { allows, operations, filters }
    }

    fn matches(&self, operation: &str, path: &[u8], how: Matching) -> bool {
        let covers = |of: &String| match of.strip_suffix('*') {
            Some(begin) => operation.starts_with(begin),
            None => of == operation,
        };
        let matches = |filter: &Filter| filter.matches(path, how);
        self.operations.iter().any(covers)
            && (self.filters.is_empty() || self.filters.iter().any(matches))
    }
}

impl Filter {
    fn of(form: &Form) -> Self {
        let Form::List(parts) = form else { panic!("no filter: {form:?}") };
        let all = || parts[1..].iter().map(Self::of).collect();
        match parts.as_slice() {
            [Form::Word(kind), Form::Text(text)] => match kind.as_str() {
                "literal" => Self::Literal(text.clone()),
                "subpath" => Self::Subpath(text.clone()),
                "regex" => Self::Regex(regex(text, false), regex(text, true)),
                other => panic!("no filter: {other}"),
            },
            [Form::Word(kind), ..] => match kind.as_str() {
                "require-all" => Self::All(all()),
                "require-any" => Self::Any(all()),
                "require-not" => Self::Not(Box::new(Self::of(&parts[1]))),
                "target" | "remote" | "local" => Self::Other,
                other => panic!("no filter: {other}"),
            },
            other => panic!("no filter: {other:?}"),
        }
    }

    fn matches(&self, path: &[u8], how: Matching) -> bool {
        match self {
            Self::Literal(own) => own == path,
            Self::Subpath(own) if own == b"/" => true,
            Self::Subpath(own) => path
                .strip_prefix(own.as_slice())
                .is_some_and(|rest| matches!(rest, [] | [b'/', ..])),
            Self::Regex(bytes, characters) => match how {
                Matching::Bytes => bytes.is_match(path),
                Matching::Characters => characters.is_match(path),
            },
            Self::All(filters) => filters.iter().all(|filter| filter.matches(path, how)),
            Self::Any(filters) => filters.iter().any(|filter| filter.matches(path, how)),
            Self::Not(filter) => !filter.matches(path, how),
            Self::Other => false,
        }
    }
}

/// Extended expressions of POSIX mean the same here, as far as profiles use them.
fn regex(text: &[u8], of_characters: bool) -> Regex {
    let characters = std::str::from_utf8(text).ok().filter(|_| of_characters);
    let bytes = || {
        text.iter().map(|byte| match byte {
            0x80.. => format!("\\x{byte:02x}"),
            _ => char::from(*byte).to_string(),
        })
    };
    let expression = characters.map_or_else(|| bytes().collect(), str::to_owned);
    assert!(!expression.contains("(?"), "{expression}");
    let syntax = syntax::Config::new().unicode(characters.is_some()).utf8(false);
    Regex::builder().syntax(syntax).build(&expression).expect("an expression")
}

/// A piece of a profile.
#[derive(Debug)]
enum Form {
    Word(String),
    Text(Vec<u8>),
    List(Vec<Form>),
}

impl Form {
    fn words(&self) -> Vec<&str> {
        let Self::List(parts) = self else { panic!("no list: {self:?}") };
        parts.iter().map(Self::word).collect()
    }

    fn word(&self) -> &str {
        if let Self::Word(word) = self { word } else { "" }
    }
}

/// Takes the next form. `None` at the end of the text or of a list.
fn form(rest: &mut &[u8]) -> Option<Form> {
    loop {
        match rest {
            [b';', ..] => {
                let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                *rest = &rest[end..];
            }
            [b' ' | b'\n', behind @ ..] => *rest = behind,
            _ => break,
        }
    }
    match rest {
        [b'(', behind @ ..] => {
            *rest = behind;
            let mut parts = Vec::new();
            while let Some(part) = form(rest) {
                parts.push(part);
            }
            *rest = rest.strip_prefix(b")").expect("a list ends");
            Some(Form::List(parts))
        }
        [b'"', behind @ ..] => {
            *rest = behind;
            Some(Form::Text(text(rest)))
        }
        [b')', ..] | [] => None,
        _ => {
            let end = rest.iter().position(|byte| b" \n()\"".contains(byte)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            *rest = behind;
            Some(Form::Word(String::from_utf8(word.to_vec()).expect("a word")))
        }
    }
}

/// The rest of a string, with the escapes of the Scheme that reads profiles.
fn text(rest: &mut &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let (byte, length) = match rest {
            [b'"', behind @ ..] => {
                *rest = behind;
                return out;
            }
            [b'\\', b'n', ..] => (b'\n', 2),
            [b'\\', b't', ..] => (b'\t', 2),
            [b'\\', b'r', ..] => (b'\r', 2),
            [b'\\', b'x', high, low, ..] => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).expect("digits");
                (u8::from_str_radix(digits, 16).expect("a number"), 4)
            }
            [b'\\', other, ..] => (*other, 2),
            [other, ..] => (*other, 1),
            [] => panic!("a string has no end"),
        };
        out.push(byte);
        *rest = &rest[length..];
    }
}
