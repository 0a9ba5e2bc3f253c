//! What a person types in answer to a question.

use crate::countersign::Countersign;

/// An answer. The whole line counts, so that the beginning of a command is none, nor the end of what a terminal says
/// of itself when a program asks it (`ESC [ row ; column R`).
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
    /// What `line` says where it has to end with a countersign, if there is one.
    pub(crate) fn to(countersign: Option<&Countersign>, line: &str) -> Self {
        Self::of(countersign.map_or(line, |sign| sign.of(line)))
    }

    /// What `line` says, in capitals or not.
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
}
