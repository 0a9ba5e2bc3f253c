//! Reads the first line of scripts as the kernel does (execve(2)).

/// What the first line of a script names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstLine<'a> {
    /// The path of the interpreter.
    pub interpreter: &'a [u8],
    /// One word for the interpreter, perhaps with blanks in it. It comes before the script's path.
    pub argument: Option<&'a [u8]>,
}

/// Reads `line`, the text after `#!`. `room` is the most bytes that the kernel would read. A short file continues with
/// NULs, so that it may name the empty path. `None` if the kernel finds no interpreter (`load_script` in
/// `fs/binfmt_script.c`).
#[must_use]
pub fn first_line(line: &[u8], room: usize) -> Option<FirstLine<'_>> {
    let newline = line.iter().position(|&byte| byte == b'\n');
    let line = line.get(..newline.unwrap_or(line.len()))?;
    let is_whole = newline.is_some() || line.len() >= room;
    let Some(start) = line.iter().position(|&byte| !is_blank(byte)) else {
        return (!is_whole).then_some(FirstLine { interpreter: &[], argument: None });
    };
    let text = line.get(start..)?;
    let end = text.iter().position(|&byte| is_blank(byte) || byte == 0);
    if end.is_none() && newline.is_none() && is_whole {
        return None;
    }
    let (interpreter, rest) = text.split_at_checked(end.unwrap_or(text.len()))?;
    // The kernel puts a NUL in place of its last byte.
    let is_cut = is_whole && newline.is_none();
    let rest = if is_cut { rest.split_last()?.1 } else { rest };
    Some(FirstLine { interpreter, argument: argument(rest, is_whole) })
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// The argument in what follows the interpreter. Blanks at its end count only if nothing ends the line.
fn argument(rest: &[u8], is_whole: bool) -> Option<&[u8]> {
    rest.first().filter(|&&byte| byte != 0)?;
    let Some(start) = rest.iter().position(|&byte| !is_blank(byte)) else {
        return (!is_whole).then_some(&[]);
    };
    let last = rest.iter().rposition(|&byte| !is_blank(byte)).filter(|_| is_whole);
    let text = rest.get(start..last.map_or(rest.len(), |last| last.saturating_add(1)))?;
    text.split(|&byte| byte == 0).next()
}
