//! Parses the reply that a person types at a prompt.

use crate::prompt::confirmation_word::Countersign;

/// A reply. The whole line counts, so the beginning of a command is none. The end of a terminal's report about itself
/// is none either (`ESC [ row ; column R`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// `y` or `yes`.
    Yes,
    /// `r`: yes, in this run.
    Run,
    /// `e`: each of several questions by itself.
    Each,
    /// Everything else.
    No,
}

impl Reply {
    /// Parses `line`, which must end with the confirmation word if there is one. `None` if it contains a report on the
    /// mouse or the focus. Neither that report nor the text around it is an answer.
    pub(crate) fn to(countersign: Option<&Countersign>, line: &str) -> Option<Self> {
        if is_reported_in(line) {
            return None;
        }
        Some(Self::of(countersign.map_or(line, |sign| sign.of(line))))
    }

    /// Parses `line`, ignoring case.
    fn of(line: &str) -> Self {
        if line.chars().any(char::is_control) {
            return Self::No;
        }
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Self::Yes,
            "r" => Self::Run,
            "e" => Self::Each,
            _ => Self::No,
        }
    }
}

/// Whether `line` contains reports on the mouse or the focus, which programs can enable, and no other control
/// characters.
fn is_reported_in(line: &str) -> bool {
    let (mut rest, mut is_any) = (line, false);
    while let Some(at) = rest.find(char::is_control) {
        let Some(behind) = behind_report(&rest[at..]) else { return false };
        (rest, is_any) = (behind, true);
    }
    is_any
}

/// The rest after a report at the start of `text` (`ctlseqs` of xterm, "Mouse Tracking").
fn behind_report(text: &str) -> Option<&str> {
    let text = text.strip_prefix("\u{1b}[")?;
    if let Some(characters) = text.strip_prefix('M') {
        // Three characters. The terminal may have taken one of them for the erase key.
        let mut characters = characters.chars();
        characters.by_ref().take(3).for_each(drop);
        return Some(characters.as_str());
    }
    text.strip_prefix(['I', 'O']).or_else(|| match text.strip_prefix('<') {
        Some(numbers) => behind_three(numbers)?.strip_prefix(['M', 'm']),
        None => behind_three(text)?.strip_prefix('M'),
    })
}

/// The rest after three numbers.
fn behind_three(text: &str) -> Option<&str> {
    let end = text.find(|one: char| !one.is_ascii_digit() && one != ';')?;
    let (numbers, rest) = text.split_at(end);
    let are_all = numbers.split(';').all(|number| !number.is_empty());
    (are_all && numbers.split(';').count() == 3).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_line_is_the_answer() {
        for line in ["y", "Y", " yes ", "YES"] {
            assert_eq!(Reply::of(line), Reply::Yes, "{line}");
        }
        assert_eq!((Reply::of("r"), Reply::of("e ")), (Reply::Run, Reply::Each));
        let others = ["", "n", "no", "rm -rf build", "yesterday", "y n", "yy", "run", "exit", "ye"];
        let with_controls = ["\u{1b}r", "\u{1b}[5;1R", "\ry", "y\t", "\u{9b}y", "\0y"];
        for line in others.into_iter().chain(with_controls) {
            assert_eq!(Reply::of(line), Reply::No, "{line:?}");
        }
    }

    #[test]
    fn what_a_terminal_reports_is_no_answer() {
        let reports = [
            "\u{1b}[<0;10;5M",
            "\u{1b}[<0;10;5m",
            "\u{1b}[0;10;5M",
            "\u{1b}[M !!",
            "\u{1b}[M !",
            "\u{1b}[M \u{fffd}!",
            "\u{1b}[O\u{1b}[I",
            "\u{1b}[<0;10;5M\u{1b}[<0;10;5m",
        ];
        for report in reports {
            for line in [report.to_owned(), format!("{report}y"), format!("y {report} n")] {
                assert_eq!(Reply::to(None, &line), None, "{line:?}");
            }
        }
        let others = [
            "\u{1b}[24;80R",
            "\u{1b}[<0;10M",
            "\u{1b}[<0;;5M",
            "\u{1b}[0;10;5m",
            "\u{1b}[<0;10;5",
            "\u{1b}[",
            "\u{1b}OI",
            "\u{1b}[I\u{1b}[24;80R",
            "\u{1b}[I\ty",
        ];
        for line in others {
            assert_eq!(Reply::to(None, line), Some(Reply::No), "{line:?}");
        }
        assert_eq!(Reply::to(None, "y"), Some(Reply::Yes));
    }
}
