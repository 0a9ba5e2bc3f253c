//! `?` and classes match one character of valid UTF-8, or else one byte (spec §9.1).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::GrantKind;
use jp_confine_engine::decide::{self, Request};
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::image::Image;
use jp_confine_engine::pattern::Pattern;
use jp_confine_engine::tiers::Tiers;
use proptest::prelude::*;

use crate::place::image_with;
use crate::tiers::{places, rule};

/// The capabilities that are left at each of these paths, out of all.
fn left(denied: &[String], paths: &[Vec<u8>]) -> Vec<Capabilities> {
    let policy = FilePolicy { deny_paths: denied.to_vec(), ..FilePolicy::default() };
    let tiers = Tiers::new(&policy, None, places()).expect("patterns");
    let grants = [rule("/", Capabilities::ALL, GrantKind::Plain)];
    let image = image_with(&grants, Some(&tiers), Path::new("/w"));
    let image = Image::parse(&image).expect("an image");
    let look = |path: &Vec<u8>| decide::lookup(&image, &Request::canonical(path)).caps;
    paths.iter().map(look).collect()
}

/// Whether a pattern for `name` in a directory matches `other` there: by the table, and on its own.
fn matches(name: &str, other: &[u8]) -> bool {
    let text = format!("/d/{name}");
    let path = [b"/d/", other].concat();
    let pattern = Pattern::new(&text, places(), true).expect(name);
    let by_itself = pattern.matches(Path::new(OsStr::from_bytes(&path)));
    let by_table = left(&[text], &[path]) == [Capabilities::NONE];
    assert_eq!(by_itself, by_table, "{name} {}", other.escape_ascii());
    by_table
}

#[test]
fn a_character_is_one_whatever_its_bytes() {
    type Names<'a> = &'a [&'a [u8]];
    let rows: [(&str, Names<'_>, Names<'_>); 13] = [
        (
            "?.txt",
            &[b"a.txt", "é.txt".as_bytes(), "€.txt".as_bytes(), "😀.txt".as_bytes()],
            &[b".txt", "éé.txt".as_bytes(), "ae.txt".as_bytes()],
        ),
        // There is no normalisation: a letter and a mark are two characters.
        ("?", &["\u{e9}".as_bytes()], &["e\u{301}".as_bytes()]),
        ("??", &["e\u{301}".as_bytes(), "é€".as_bytes()], &["é".as_bytes(), "€".as_bytes()]),
        // A byte of no valid character counts as one.
        ("?", &[b"\xff", b"\xe9", b"\x80", b"\xc3"], &[b"\xff\xfe", b"\xc0\xaf", b"\xe2\x82"]),
        ("??", &[b"\xff\xfe", b"\xc0\xaf", b"\xe2\x82", b"\xc3("], &[b"\xff", b"\xed\xa0\x80"]),
        // An overlong slash, a surrogate, and a number beyond Unicode.
        (
            "???",
            &[b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xf0\x9f\x98", "\u{ffff}a\u{10ffff}".as_bytes()],
            &[b"\xf4\x90\x80\x80", "\u{d7ff}".as_bytes()],
        ),
        ("????", &[b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80", b"\xf0\x80\x80\xaf"], &[]),
        (
            "[!a]",
            &["é".as_bytes(), "😀".as_bytes(), b"b", b"\xff", b"\x80"],
            &[b"a", b"\xc3\xa9\xa9", b""],
        ),
        (
            "[à-ü]x",
            &["àx".as_bytes(), "éx".as_bytes(), "üx".as_bytes()],
            &["ýx".as_bytes(), b"ax", b"\xe9x", b"\xc3x", b"\xa9x"],
        ),
        (
            "[!é€a-c]",
            &["è".as_bytes(), b"d", "₭".as_bytes(), b"\xe2"],
            &["é".as_bytes(), "€".as_bytes(), b"b"],
        ),
        ("x{é,?}y", &["xéy".as_bytes(), "xèy".as_bytes(), b"xzy", b"x\xffy"], &[b"xy"]),
        (
            "*?é",
            &["aé".as_bytes(), "éé".as_bytes(), "aaé".as_bytes(), b"\xc3\xc3\xa9"],
            &["é".as_bytes()],
        ),
        (
            "é?*[]ü]",
            &["éaü".as_bytes(), "éé]".as_bytes(), "é€\u{301}ü".as_bytes()],
            &["éü".as_bytes(), b"\xc3aa]"],
        ),
    ];
    for (pattern, matched, others) in rows {
        for name in matched {
            assert!(matches(pattern, name), "{pattern} {}", name.escape_ascii());
        }
        for name in others {
            assert!(!matches(pattern, name), "{pattern} {}", name.escape_ascii());
        }
    }
}

/// Also below a directory with such a name, and across names.
#[test]
fn characters_count_in_every_part() {
    for (text, path, expected) in [
        ("/d/?/k", "/d/é/k", true),
        ("/d/?/k", "/d/éé/k", false),
        ("/d/?/**", "/d/€/a/b", true),
        ("**/?.pem", "/a/😀.pem", true),
        ("**/?.pem", "/a/ab.pem", false),
        ("/d/**/[à-ü]/*.k", "/d/x/é/y/ö/é.k", true),
        ("/d/**/[à-ü]/*.k", "/d/x/é/y.k/a", false),
        ("/d/[!/]x", "/d/éx", true),
        ("/d/a?b", "/d/a/b", false),
    ] {
        let found = left(&[text.to_owned()], &[path.as_bytes().to_vec()]);
        assert_eq!(found == [Capabilities::NONE], expected, "{text} {path}");
    }
}

/// Patterns that differ in each of these characters still make a small table.
#[test]
fn many_patterns_of_characters_are_one_table() {
    let texts: Vec<String> = (0..100).map(|n| format!("**/name{n}-?.[!a]")).collect();
    let paths = ["/a/name7-é.b", "/a/name99-€.\u{fc}", "/a/name7-é.a", "/a/name7-éé.b"];
    let found = left(&texts, &paths.map(|path| path.as_bytes().to_vec()));
    let denied: Vec<bool> = found.iter().map(|caps| caps.is_empty()).collect();
    assert_eq!(denied, [true, true, false, false]);
}

/// A part of a pattern for one name, for the pattern's text and for the reference below.
#[derive(Clone, Debug)]
enum Part {
    Any,
    Star,
    Literal(char),
    OneOf(bool, char, char),
}

impl Part {
    fn text(&self) -> String {
        match self {
            Self::Any => "?".into(),
            Self::Star => "*".into(),
            Self::Literal(character) => character.to_string(),
            Self::OneOf(negated, from, to) => {
                format!("[{}{from}-{to}]", if *negated { "!" } else { "" })
            }
        }
    }

    /// Whether it matches a character, or a byte that belongs to none.
    fn is(&self, one: Result<char, u8>) -> bool {
        match (self, one) {
            (Self::Any | Self::OneOf(true, ..), Err(_)) | (Self::Any, Ok(_)) => true,
            (Self::Literal(wanted), Ok(character)) => *wanted == character,
            (Self::OneOf(negated, from, to), Ok(character)) => {
                (*from..=*to).contains(&character) != *negated
            }
            _ => false,
        }
    }
}

/// The characters of a name, and the bytes that belong to none.
fn units(name: &[u8]) -> Vec<Result<char, u8>> {
    let chunks = name.utf8_chunks();
    chunks
        .flat_map(|chunk| {
            let bytes = chunk.invalid().iter().map(|&byte| Err(byte));
            chunk.valid().chars().map(Ok).chain(bytes).collect::<Vec<_>>()
        })
        .collect()
}

/// A star matches bytes, so it may end within a character. The next part may not begin there.
fn reference(parts: &[Part], name: &[Result<char, u8>]) -> bool {
    match (parts, name) {
        ([], name) => name.is_empty(),
        ([Part::Star, rest @ ..], name) => {
            (0..=name.len()).any(|skipped| reference(rest, &name[skipped..]))
        }
        ([part, rest @ ..], [one, name @ ..]) => part.is(*one) && reference(rest, name),
        _ => false,
    }
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        Just(Part::Any),
        Just(Part::Star),
        prop::sample::select(vec!['a', 'é', 'è', '€', '😀']).prop_map(Part::Literal),
        any::<bool>().prop_map(|negated| Part::OneOf(negated, 'a', 'c')),
        any::<bool>().prop_map(|negated| Part::OneOf(negated, 'à', 'é')),
        any::<bool>().prop_map(|negated| Part::OneOf(negated, 'b', '₭')),
    ]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        b"a".as_slice(),
        "é".as_bytes(),
        "è".as_bytes(),
        "€".as_bytes(),
        "😀".as_bytes(),
        b"\xc3",
        b"\xa9",
        b"\xe2",
        b"\xe2\x82",
        b"\xf0\x9f\x98",
        b"\xff",
        b"\xed\xa0",
        b"\xe0\x80",
    ]);
    prop::collection::vec(piece, 1..5).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The table, and a pattern on its own, match what the reference matches.
    #[test]
    fn patterns_are_over_characters(
        parts in prop::collection::vec(part(), 1..5),
        others in prop::collection::vec(part(), 1..5),
        names in prop::collection::vec(bytes(), 8),
    ) {
        let written = |parts: &[Part]| {
            let text: String = parts.iter().map(Part::text).collect();
            format!("/d/{}", text.replace("***", "*").replace("**", "*"))
        };
        let [one, other] = [&parts, &others].map(|parts| written(parts));
        let paths: Vec<Vec<u8>> =
            names.iter().map(|name| [b"/d/".as_slice(), name].concat()).collect();
        let by_table = left(&[one.clone(), other], &paths);
        let pattern = Pattern::new(&one, places(), false).expect("a pattern");
        for ((name, path), caps) in names.iter().zip(&paths).zip(by_table) {
            let name = units(name);
            let (expected, also) = (reference(&parts, &name), reference(&others, &name));
            prop_assert_eq!(pattern.matches(Path::new(OsStr::from_bytes(path))), expected);
            prop_assert_eq!(caps.is_empty(), expected || also);
        }
    }
}
