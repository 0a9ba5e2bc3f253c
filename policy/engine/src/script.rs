//! Reads the first line of scripts as the kernel does (execve(2)).

/// The interpreter that `line`, the text after `#!`, names. `room` is the most bytes that the kernel would read. A
/// short file continues with NULs, so that it may name the empty path. `None` if the kernel finds no interpreter
/// (`load_script` in `fs/binfmt_script.c`).
#[must_use]
pub fn interpreter(line: &[u8], room: usize) -> Option<&[u8]> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let newline = line.iter().position(|&byte| byte == b'\n');
    let line = line.get(..newline.unwrap_or(line.len()))?;
    let is_whole = newline.is_some() || line.len() >= room;
    let Some(start) = line.iter().position(|byte| !is_blank(byte)) else {
        return (!is_whole).then_some(&[]);
    };
    let text = line.get(start..)?;
    let end = text.iter().position(|byte| is_blank(byte) || *byte == 0);
    if end.is_none() && newline.is_none() && is_whole {
        return None;
    }
    text.get(..end.unwrap_or(text.len()))
}
