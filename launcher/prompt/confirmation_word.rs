//! A word that only the screen has, which a yes carries where another may read what is typed, or where it may have
//! been typed before the question was seen (decision 0018): what is left of a no, or of anything, is never one.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Letters that are read and typed easily: as many as leave no remainder of a byte.
const LETTERS: &[u8; 16] = b"bcdfghjkmnpqtvwx";

/// Why there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Why {
    /// Others read there.
    Shared,
    /// Something was typed when the question came.
    Typed,
}

/// The word of one question.
#[derive(Debug)]
pub(crate) struct Countersign {
    word: String,
    why: Why,
}

impl Countersign {
    /// What is said of one at most.
    pub(crate) const LONGEST: &'static str =
        "jp-confine: a program may take what is typed here: end a yes with the word xxxx";

    /// One that nobody knows yet.
    ///
    /// # Errors
    /// Where nothing is random.
    pub(crate) fn new(why: Why) -> io::Result<Self> {
        let mut bytes = [0; 4];
        getrandom(&mut bytes, GetRandomFlags::empty())?;
        let letters = bytes.iter().filter_map(|byte| LETTERS.get(usize::from(byte % 16)));
        Ok(Self { word: letters.map(|letter| char::from(*letter)).collect(), why })
    }

    /// What is said of it with the question: one line.
    pub(crate) fn words(&self) -> String {
        let why = match self.why {
            Why::Shared => "a program may take what is typed here",
            Why::Typed => "something was typed when this came",
        };
        format!("jp-confine: {why}: end a yes with the word {}\n", self.word)
    }

    /// The answer that stands before the word in `line`; nothing, which is a no, where that does not end with it.
    pub(crate) fn of<'line>(&self, line: &'line str) -> &'line str {
        let answer = line.trim_end().strip_suffix(&self.word);
        answer.filter(|answer| answer.ends_with(' ')).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_one_has_its_length() {
        for why in [Why::Shared, Why::Typed] {
            let words = Countersign { word: "bdfh".to_owned(), why }.words();
            assert!(words.trim_end().len() <= Countersign::LONGEST.len(), "{words}");
        }
    }

    #[test]
    fn what_is_left_of_a_no_is_no_yes() {
        let sign = Countersign { word: "bdfh".to_owned(), why: Why::Typed };
        for line in ["y bdfh", "Y bdfh ", " yes  bdfh", "r bdfh", "n bdfh"] {
            assert_eq!(sign.of(line).trim(), line.split_whitespace().next().unwrap(), "{line}");
        }
        for line in ["", "y", "r", "bdfh", "ybdfh", "y bdf", "y bdfh x", "y bdfhh"] {
            assert_eq!(sign.of(line), "", "{line}");
        }
    }
}
