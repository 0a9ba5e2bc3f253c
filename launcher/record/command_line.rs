//! Reads the command line of a denied program from its denial. Used by reports and suggestions.

use jp_confine_engine::invocation::Invocation;
use jp_confine_engine::{commands, report_protocol};

use crate::record::denial::{Denial, Reason};
use crate::text::quote;
use crate::text::wrap::width;

/// Columns of a shown command: enough to recognise it, and to leave room for the rest of the line.
const WIDTH: usize = 56;
/// Stands for the words that are left out.
const MORE: &str = "…";

/// The words of a command line, as far as they were recorded.
#[derive(Debug)]
pub(crate) struct CommandLine<'d> {
    words: Vec<&'d [u8]>,
    /// There were more words, or the last one is cut.
    is_cut: bool,
}

impl<'d> CommandLine<'d> {
    /// The words of a denial that is about a command.
    pub(crate) fn of(denial: &'d Denial) -> Self {
        // A NUL ends each word, unless it was cut.
        let mut words: Vec<&[u8]> = denial.route.split(|byte| *byte == 0).collect();
        let rest = words.pop().unwrap_or_default();
        let is_cut = !rest.is_empty() || denial.route.len() >= report_protocol::MAX_COMMAND_LINE;
        Self { words, is_cut }
    }

    /// The arguments, for programs that read reports. `None` if the denial is not about a command.
    pub(crate) fn arguments_of(denial: &'d Denial) -> Option<Vec<String>> {
        let words = (denial.reason == Reason::Command).then(|| Self::of(denial))?;
        Some(words.arguments().iter().map(|word| quote::printable(word)).collect())
    }

    /// The name that the program was called by.
    pub(crate) fn called(&self) -> &'d [u8] {
        self.words.first().copied().unwrap_or_default()
    }

    /// That name without directories and without the dash of login shells.
    pub(crate) fn name(&self) -> &'d [u8] {
        Invocation { program: &[], called: self.called(), arguments: 0 }.name()
    }

    /// The words after the name.
    pub(crate) fn arguments(&self) -> &[&'d [u8]] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The narrowest arguments of a rule that allow the command in later runs, too. They are the words themselves, up
    /// to the first that is unknown, is not UTF-8, is one too many, or names `passing`, a directory of this run alone.
    pub(crate) fn pattern(&self, passing: Option<&str>) -> Vec<String> {
        let lasts = |text: &&str| passing.is_none_or(|passing| !text.contains(passing));
        let texts = self.arguments().iter().map_while(|word| std::str::from_utf8(word).ok());
        let count = self.arguments().len() + usize::from(self.is_cut);
        commands::pattern(texts.take_while(lasts), count)
    }
}

/// `program` and its arguments, which are quoted for a shell, as far as a line has room for them.
pub(crate) fn shortened(program: &str, words: impl Iterator<Item = String>) -> String {
    let mut text = program.to_owned();
    for word in words {
        if width(&text) + width(&word) >= WIDTH {
            return text + " " + MORE;
        }
        text.push(' ');
        text.push_str(&word);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads recorded words: the name and the pattern.
    fn told(line: &[u8]) -> (String, String) {
        let mut denial = crate::record::denial::tests::denial();
        denial.route = line.to_vec();
        let line = CommandLine::of(&denial);
        let name = String::from_utf8_lossy(line.name()).into_owned();
        (name, line.pattern(Some("/tmp/run")).join("|"))
    }

    #[test]
    fn words_as_far_as_they_were_told() {
        let owned = |parts: [&str; 2]| parts.map(str::to_owned).into();
        assert_eq!(told(b"/bin/git\0log\0-p\0"), owned(["git", "log|-p"]));
        assert_eq!(told(b"-bash\0"), owned(["bash", ""]));
        assert_eq!(told(b"git\0lo"), owned(["git", "**"]));
        assert_eq!(told(b"a\0\0b c\0"), owned(["a", "|b c"]));
        assert_eq!(told(b"a\0b\0\xff\0c\0"), owned(["a", "b|**"]));
        let passing = b"cc\0-o\0/tmp/run/x.s\0-c\0";
        assert_eq!(told(passing).1, "-o|**");
        assert_eq!(told(b""), owned(["", ""]));
        let many = b"a\0".repeat(100);
        assert_eq!(told(&many).1, "a|".repeat(48) + "**");
        let long = [b"a\0", [b'x'; report_protocol::MAX_COMMAND_LINE].as_slice()].concat();
        assert_eq!(told(&long), owned(["a", "**"]));
    }
}
