//! Quotes, escapes and shortens names and other text, for terminals and for shells.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Most characters of a name that are shown. A longer one could push the lines above it off the screen.
pub(crate) const LONGEST: usize = 240;

/// Characters that are shown around a place in a long name.
pub(crate) const PART: usize = LONGEST / 3;

/// `path` as a word for a shell.
pub(crate) fn quoted(path: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+,@%=:".contains(byte);
    if !path.is_empty() && path.iter().all(plain) {
        return printable(path);
    }
    match std::str::from_utf8(path) {
        Ok(text) if !text.chars().any(is_unclear) => {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
        _ => format!("$'{}'", escaped(path, |one| is_unclear(one) || one == '\'')),
    }
}

/// Like [`quoted`], but a path that starts with `-` gets `./` in front, so that it is not read as an option.
pub(crate) fn operand(path: &[u8]) -> String {
    if path.starts_with(b"-") { quoted(&[b"./", path].concat()) } else { quoted(path) }
}

/// ` and N more`, to follow a list that leaves out `more` names. Empty for 0.
pub(crate) fn and_more(more: usize) -> String {
    if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// An option as it was typed, its value quoted for a shell.
pub(crate) fn option(typed: &str) -> String {
    match typed.split_once(' ') {
        Some((option, value)) => format!("{option} {}", quoted(value.as_bytes())),
        None => path(typed),
    }
}

/// A path for messages: relative to the workspace if it is below it.
pub(crate) fn shown(path: &[u8], workspace: &Path) -> String {
    let path = Path::new(OsStr::from_bytes(path));
    let inside = path.strip_prefix(workspace).ok().filter(|rest| !rest.as_os_str().is_empty());
    printable(inside.unwrap_or(path).as_os_str().as_bytes())
}

/// A description of a rule. If its file is in the workspace, the file's path is shortened to a relative one.
pub(crate) fn within(words: &str, workspace: &Path) -> String {
    let around = format!("({}/", printable(workspace.as_os_str().as_bytes()));
    words.replace(&around, "(")
}

/// Text that cannot control a terminal: names can hold any byte but NUL and `/`.
pub(crate) fn printable(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(is_disruptive) => text.to_owned(),
        _ => escaped(bytes, is_disruptive),
    }
}

/// Like [`printable`], for prompts: the middle of a long text is left out.
pub(crate) fn short(text: &[u8]) -> String {
    without_middle(&printable(text).chars().collect::<Vec<_>>(), LONGEST)
}

/// Like [`quoted`], for prompts: the start and the end of a long name are kept.
pub(crate) fn short_name(name: &[u8]) -> String {
    name_within(name, LONGEST)
}

/// Like [`short_name`], with at most about `longest` characters of the name.
pub(crate) fn name_within(name: &[u8], longest: usize) -> String {
    without_middle(&quoted(name).chars().collect::<Vec<_>>(), longest)
}

/// Like [`short_name`], for two names: the place where they differ is kept, too.
pub(crate) fn short_names(one: &[u8], other: &[u8]) -> [String; 2] {
    let names = [one, other].map(|name| quoted(name).chars().collect::<Vec<_>>());
    let [one, other] = &names;
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let around = same.saturating_sub(PART / 2)..same + PART / 2;
    names.map(|name| {
        let end = name.len().saturating_sub(PART);
        let kept = [0..PART, around.clone(), end..name.len()];
        if name.len() <= LONGEST { name.iter().collect() } else { shortened(&name, &kept) }
    })
}

pub(crate) fn without_middle(text: &[char], longest: usize) -> String {
    if text.len() <= longest {
        return text.iter().collect();
    }
    let end = text.len() - longest / 2;
    shortened(text, &[0..longest / 2, end..text.len()])
}

/// The parts of a long text in the ranges `kept`. A note replaces each other part.
pub(crate) fn shortened(text: &[char], kept: &[Range<usize>]) -> String {
    let is_kept = |at: usize| kept.iter().any(|part| part.contains(&at));
    let characters: Vec<(bool, char)> =
        text.iter().enumerate().map(|(at, one)| (is_kept(at), *one)).collect();
    let parts = characters.chunk_by(|(one, _), (next, _)| one == next);
    let words = parts.map(|part| match part {
        [(false, _), ..] => format!("[… {} characters …]", part.len()),
        _ => part.iter().map(|(_, one)| one).collect(),
    });
    words.collect()
}

/// Whether a reader could mistake the character for another one, or miss it. A blank other than the space counts, too.
pub(crate) fn is_unclear(character: char) -> bool {
    let is_blank = character.is_whitespace() || character == '\u{2800}';
    is_disruptive(character) || is_blank && character != ' '
}

/// Whether the character does more than show a glyph. It is a control character or a line separator, is not shown, or
/// reverses the direction of text (Unicode TR 36, `Default_Ignorable_Code_Point` of the Unicode Character Database).
pub(crate) fn is_disruptive(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Writes `special` characters, invalid bytes and the backslash as `\x` and two hexadecimal digits for each byte.
pub(crate) fn escaped(bytes: &[u8], special: impl Fn(char) -> bool) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if special(character) || character == '\\' {
                for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(text, "\\x{byte:02x}");
                }
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// The same JSON with characters escaped that could control a terminal. Those occur only in strings.
pub(crate) fn plain_json(text: &str) -> String {
    let mut plain = String::new();
    for character in text.chars() {
        if character != '\n' && is_disruptive(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(plain, "\\u{unit:04x}");
            }
        } else {
            plain.push(character);
        }
    }
    plain
}

/// A path or other name for messages, escaped as [`printable`] does.
pub(crate) fn path(name: &str) -> String {
    printable(name.as_bytes())
}

/// Like [`path()`], of a path that may not be UTF-8.
pub(crate) fn place(path: &Path) -> String {
    self::path(&path.to_string_lossy())
}

/// Options and their paths, quoted for a shell.
pub(crate) fn words(options: &[(&'static str, PathBuf)]) -> String {
    let word =
        |(flag, path): &(&str, PathBuf)| format!("{flag} {}", operand(path.as_os_str().as_bytes()));
    options.iter().map(word).collect::<Vec<_>>().join(" ")
}
