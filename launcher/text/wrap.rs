//! Breaks lines between words so that they fit a terminal of the usual width.

use unicode_width::UnicodeWidthStr as _;

/// Columns that every terminal is assumed to have.
pub(crate) const WIDTH: usize = 80;

/// Extra indent of a line's continuation.
const FURTHER: usize = 4;

/// Ends a line of a command that continues on the next line.
const END: &str = " \\";

/// First word of a command.
const COMMAND: &str = "jp-confine";

/// Joins `parts` with `between` on one line. If that is too long, each part gets its own line.
/// Every line starts with `indent`, and continuations are indented further.
pub(crate) fn fitted(indent: &str, parts: &[String], between: &str) -> Vec<String> {
    let whole = format!("{indent}{}", parts.join(between));
    if width(&whole) <= WIDTH {
        return vec![whole];
    }
    let indents = std::iter::once("").chain(std::iter::repeat("    "));
    let line = |(part, more): (&String, &str)| split(&format!("{indent}{more}{}", part.trim_end()));
    parts.iter().zip(indents).flat_map(line).collect()
}

/// Breaks a line that is too long before the bracket at its end, which names the place of a rule.
fn split(line: &str) -> Vec<String> {
    let indent = line.len() - line.trim_start().len();
    match line.rsplit_once(" (") {
        Some((words, place)) if line.ends_with(')') && width(line) > WIDTH => {
            vec![words.to_owned(), format!("{:indent$}    ({place}", "")]
        }
        _ => vec![line.to_owned()],
    }
}

/// `text` with each line broken that is too long.
pub(crate) fn folded(text: &str) -> String {
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn line(text: &str) -> String {
    let indent = text.len() - text.trim_start_matches(' ').len();
    let (before, rest) = text.split_at(indent);
    if indent + width(rest) <= WIDTH {
        return text.to_owned();
    }
    before.to_owned() + &wrapped(rest, indent, indent + FURTHER)
}

/// Breaks `text` between words. `taken` columns of its first line are in use already, and continuations are indented by
/// `further`. A command's lines end with a backslash, as a shell wants it.
pub(crate) fn wrapped(text: &str, taken: usize, further: usize) -> String {
    let mut out = String::new();
    let mut column = taken;
    let mut is_command = false;
    let units = units(text);
    for (index, word) in units.iter().enumerate() {
        let rest = units.get(index + 1..).unwrap_or_default();
        let begins = !is_command && word.ends_with(COMMAND);
        let whole = width(word) + rest.iter().map(|word| 1 + width(word)).sum::<usize>();
        // A command that fits on one line is not broken.
        let least = if begins && further + whole <= WIDTH {
            whole
        } else {
            width(word) + if is_command && !rest.is_empty() { END.len() } else { 0 }
        };
        let between = usize::from(index > 0);
        if column + between + least > WIDTH && column > further {
            out.push_str(if is_command { END } else { "" });
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', further));
            column = further;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width(word);
        is_command |= begins;
    }
    out
}

/// The words of `text`. A quoted string is one word.
fn units(text: &str) -> Vec<&str> {
    let mut units = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = unit(rest);
        let (word, after) = rest.split_at(end);
        units.push(word);
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    units
}

/// Where the first word ends.
fn unit(text: &str) -> usize {
    let space = |from: usize| {
        text.get(from..).and_then(|rest| rest.find(' ')).map_or(text.len(), |at| from + at)
    };
    let first = space(0);
    let opening = text.get(..first).unwrap_or_default().trim_start_matches(['[', '(', '$']);
    let Some(quote) = opening.chars().next().filter(|one| matches!(one, '"' | '\'' | '`')) else {
        return first;
    };
    let inside = first - opening.len() + 1;
    let closing = text.get(inside..).and_then(|rest| rest.find(quote));
    closing.map_or(first, |at| space(inside + at))
}

/// How many columns `text` takes, without its colours. Wide characters take two (UAX #11).
pub(crate) fn width(text: &str) -> usize {
    let mut is_escape = false;
    let is_seen = |character: &char| {
        let hidden = is_escape || *character == '\x1b';
        is_escape = hidden && *character != 'm';
        !hidden
    };
    text.chars().filter(is_seen).collect::<String>().width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        let long = format!("  denied read {} by cat", "p".repeat(72));
        let folded = folded(&long);
        assert_eq!(folded, format!("  denied read\n      {}\n      by cat", "p".repeat(72)));
        assert_eq!(super::folded("short\n\n  lines\n"), "short\n\n  lines\n");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let line = format!("  denied read /{} by cat", "資".repeat(31));
        assert_eq!(folded(&line), format!("  denied read /{} by\n      cat", "資".repeat(31)));
    }

    #[test]
    fn what_is_quoted_stays_together() {
        let name = format!("\"{} {}\"", "a".repeat(50), "b".repeat(50));
        assert_eq!(folded(&format!("    path of {name}")), format!("    path of\n        {name}"));
    }

    #[test]
    fn commands_can_be_pasted() {
        let path = "a".repeat(40);
        let folded = folded(&format!("  allow: jp-confine -w /{path} -w /{path}"));
        assert_eq!(folded, format!("  allow: jp-confine -w /{path} -w \\\n      /{path}"));
        let folded =
            super::folded(&format!("  allow: \x1b[1mjp-confine -w /{path} -w /{path}\x1b[0m"));
        assert!(folded.contains("-w \\\n"), "{folded}");
    }

    #[test]
    fn colours_take_no_room() {
        let line = format!("\x1b[2m{}\x1b[0m", "a b ".repeat(20).trim_end());
        assert_eq!(folded(&line), line);
    }
}
