//! A random word, shown only on the screen, that a yes must end with (decision 0018). It is used if another process may
//! read the input, or if the input may be older than the prompt. Remains of a no, or of any other input, then never
//! count as a yes.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Letters that are easy to read and type. 16 divide the values of a byte evenly.
const LETTERS: &[u8; 16] = b"bcdfghjkmnpqtvwx";

/// Why a word is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Why {
    /// Other processes read the terminal, too.
    Shared,
    /// Something was typed when the prompt came.
    Typed,
}

/// The word of one prompt.
#[derive(Debug)]
pub(crate) struct Countersign {
    word: String,
    why: Why,
}

impl Countersign {
    /// The longest text that announces a word.
    pub(crate) const LONGEST: &'static str =
        "jp-confine: a program may take what is typed here: end a yes with the word xxxx";

    /// A word that nobody knows yet.
    ///
    /// # Errors
    /// Fails if the kernel has no random bytes.
    pub(crate) fn new(why: Why) -> io::Result<Self> {
        let mut bytes = [0; 4];
        getrandom(&mut bytes, GetRandomFlags::empty())?;
        let letters = bytes.iter().filter_map(|byte| LETTERS.get(usize::from(byte % 16)));
        Ok(Self { word: letters.map(|letter| char::from(*letter)).collect(), why })
    }

    /// The line that announces the word above the prompt.
    pub(crate) fn words(&self) -> String {
        let why = match self.why {
            Why::Shared => "a program may take what is typed here",
            Why::Typed => "something was typed when this came",
        };
        format!("jp-confine: {why}: end a yes with the word {}\n", self.word)
    }

    /// The answer before the word in `line`. Empty, which means no, if the line does not end with the word.
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
