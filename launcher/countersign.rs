//! A word that only the screen has, which a yes carries where another may read what is typed
//! (decision 0018): what is left of a no is never one, whatever else a terminal is made to say.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Letters that are read and typed easily: as many as leave no remainder of a byte.
const LETTERS: &[u8; 16] = b"bcdfghjkmnpqtvwx";

/// The word of one question.
#[derive(Debug)]
pub(crate) struct Countersign(String);

impl Countersign {
    /// One that nobody knows yet.
    ///
    /// # Errors
    /// Where nothing is random.
    pub(crate) fn new() -> io::Result<Self> {
        let mut bytes = [0; 4];
        getrandom(&mut bytes, GetRandomFlags::empty())?;
        let letters = bytes.iter().filter_map(|byte| LETTERS.get(usize::from(byte % 16)));
        Ok(Self(letters.map(|letter| char::from(*letter)).collect()))
    }

    /// What is said of it with the question: one line.
    pub(crate) fn words(&self) -> String {
        let word = &self.0;
        format!(
            "jp-confine: a program may take what is typed here: end a yes with the word {word}\n"
        )
    }

    /// The answer that stands before the word in `line`; nothing, which is a no, where that does not end with it.
    pub(crate) fn of<'line>(&self, line: &'line str) -> &'line str {
        let answer = line.trim_end().strip_suffix(&self.0);
        answer.filter(|answer| answer.ends_with(' ')).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_no_is_no_yes() {
        let sign = Countersign("bdfh".to_owned());
        for line in ["y bdfh", "Y bdfh ", " yes  bdfh", "r bdfh", "n bdfh"] {
            assert_eq!(sign.of(line).trim(), line.split_whitespace().next().unwrap(), "{line}");
        }
        for line in ["", "y", "r", "bdfh", "ybdfh", "y bdf", "y bdfh x", "y bdfhh"] {
            assert_eq!(sign.of(line), "", "{line}");
        }
    }
}
