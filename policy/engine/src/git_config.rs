//! Reads git's configuration files as git does (`git-config(1)`, `config.c`), for [`crate::vetting`].
//!
//! Invariants: a file that git cannot read is an error here too. NUL bytes and single carriage returns are errors as
//! well, because programs read them differently.

use std::vec::Vec;

/// One occurrence of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigEntry<'t> {
    pub(crate) name: Name,
    /// `None` where no `=` follows the key.
    pub(crate) value: Option<Vec<u8>>,
    /// Header and variable as written.
    pub(crate) written: (&'t [u8], &'t [u8]),
}

/// The name of a variable: `section.key`, or `section.subsection.key`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    /// In lower case.
    pub(crate) section: Vec<u8>,
    pub(crate) subsection: Option<Vec<u8>>,
    /// In lower case.
    pub(crate) key: Vec<u8>,
}

impl Name {
    /// Splits a header's text and a key as git does. The first and the last dot count, wherever they come from.
    fn new(header: &[u8], key: &[u8]) -> Self {
        let (section, subsection) = match header.iter().position(|&byte| byte == b'.') {
            None => (header, None),
            Some(dot) => (&header[..dot], Some(header[dot + 1..].to_vec())),
        };
        Self { section: section.to_vec(), subsection, key: key.to_vec() }
    }

    /// As `git config --list` shows it.
    pub(crate) fn shown(&self) -> Vec<u8> {
        let mut shown = self.section.clone();
        for part in self.subsection.iter().chain([&self.key]) {
            shown.push(b'.');
            shown.extend_from_slice(part);
        }
        shown
    }
}

/// Why a file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

/// All variables of a file, in order.
///
/// # Errors
/// [`Unreadable`] if git would not read the file, or if readers disagree about it.
pub(crate) fn entries(text: &[u8]) -> Result<Vec<ConfigEntry<'_>>, Unreadable> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let is_single = |at: usize| text[at] == b'\r' && text.get(at + 1) != Some(&b'\n');
    if text.contains(&0) || (0..text.len()).any(is_single) {
        return Err(Unreadable);
    }
    let mut reader = Reader { text, at: 0 };
    let mut entries = Vec::new();
    let mut header: (Vec<u8>, &[u8]) = Default::default();
    while let Some(start) = reader.find_word() {
        if reader.take(b'[') {
            let name = reader.header()?;
            header = (name, &text[start..reader.at]);
            continue;
        }
        let (key, value) = reader.variable()?;
        if header.0.is_empty() {
            return Err(Unreadable);
        }
        let name = Name::new(&header.0, &key);
        entries.push(ConfigEntry { name, value, written: (header.1, &text[start..reader.at]) });
    }
    Ok(entries)
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

impl Reader<'_> {
    /// The next byte. A line's end counts as one byte, and the end of the file ends a line.
    fn next(&mut self) -> u8 {
        if self.text[self.at.min(self.text.len())..].starts_with(b"\r\n") {
            self.at += 1;
        }
        let byte = self.peek();
        self.at = (self.at + 1).min(self.text.len());
        byte
    }

    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(b'\n')
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == byte;
        self.at += usize::from(is_next);
        is_next
    }

    /// Skips blanks and comments, and returns the position of the next word.
    fn find_word(&mut self) -> Option<usize> {
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'#' | b';' => while self.next() != b'\n' {},
                _ if is_blank(byte) => self.at += 1,
                _ => return Some(self.at),
            }
        }
        None
    }

    /// Reads a header after its bracket: the section, and after a dot the subsection.
    fn header(&mut self) -> Result<Vec<u8>, Unreadable> {
        let mut name = Vec::new();
        loop {
            match self.next() {
                b']' if name.is_empty() => return Err(Unreadable),
                b']' => return Ok(name),
                byte if is_blank(byte) => {
                    self.subsection(byte, &mut name)?;
                    return Ok(name);
                }
                byte if is_of_key(byte) || byte == b'.' => name.push(byte.to_ascii_lowercase()),
                _ => return Err(Unreadable),
            }
        }
    }

    fn subsection(&mut self, mut byte: u8, name: &mut Vec<u8>) -> Result<(), Unreadable> {
        while is_blank(byte) {
            if byte == b'\n' {
                return Err(Unreadable);
            }
            byte = self.next();
        }
        if byte != b'"' || name.is_empty() {
            return Err(Unreadable);
        }
        name.push(b'.');
        loop {
            let byte = match self.next() {
                b'"' if self.next() == b']' => return Ok(()),
                b'"' | b'\n' => return Err(Unreadable),
                b'\\' => self.next(),
                byte => byte,
            };
            if byte == b'\n' {
                return Err(Unreadable);
            }
            name.push(byte);
        }
    }

    /// Reads a key and its value, up to the end of the line.
    fn variable(&mut self) -> Result<(Vec<u8>, Option<Vec<u8>>), Unreadable> {
        let mut key = Vec::new();
        let mut byte = self.next();
        if !byte.is_ascii_alphabetic() {
            return Err(Unreadable);
        }
        while is_of_key(byte) {
            key.push(byte.to_ascii_lowercase());
            byte = self.next();
        }
        while matches!(byte, b' ' | b'\t') {
            byte = self.next();
        }
        match byte {
            b'\n' => Ok((key, None)),
            b'=' => Ok((key, Some(self.value()?))),
            _ => Err(Unreadable),
        }
    }

    fn value(&mut self) -> Result<Vec<u8>, Unreadable> {
        let mut value = Vec::new();
        // The length that the value keeps if only blanks follow.
        let mut end = 0;
        let mut is_quoted = false;
        loop {
            let byte = self.next();
            match byte {
                b'\n' if is_quoted => return Err(Unreadable),
                b'\n' => break,
                _ if is_blank(byte) && !is_quoted => {
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                b'#' | b';' if !is_quoted => {
                    while self.next() != b'\n' {}
                    break;
                }
                b'"' => is_quoted = !is_quoted,
                b'\\' => match self.next() {
                    b'\n' => {}
                    escaped => value.push(meant(escaped)?),
                },
                _ => value.push(byte),
            }
            end = value.len();
        }
        value.truncate(end);
        Ok(value)
    }
}

/// The byte that an escape stands for. `escaped` is the byte after the backslash.
const fn meant(escaped: u8) -> Result<u8, Unreadable> {
    match escaped {
        b't' => Ok(b'\t'),
        b'b' => Ok(8),
        b'n' => Ok(b'\n'),
        b'\\' | b'"' => Ok(escaped),
        _ => Err(Unreadable),
    }
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

const fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}
