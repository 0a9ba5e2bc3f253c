//! `fs.edit`: replaces a text in a file. It is one request, so a person is asked once about reading and updating.

use jp_confine_engine::Capability;
use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::Service;
use super::caller::Caller;
use super::fs::fault;
use crate::fault::Fault;

/// The parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EditParams {
    /// The path of a file.
    path: String,
    /// The text to replace. It occurs exactly once, unless `all` is set.
    old: String,
    /// The text in its place.
    new: String,
    /// Whether to replace each occurrence.
    #[serde(default)]
    all: bool,
}

/// The result.
#[derive(Debug, Serialize)]
pub(super) struct Edited {
    /// How many occurrences were replaced.
    replaced: usize,
}

impl Service<'_> {
    pub(super) fn edit(
        &mut self,
        params: &EditParams,
        caller: &mut dyn Caller,
    ) -> Result<Edited, Fault> {
        let EditParams { path, old, new, all } = params;
        if old.is_empty() {
            return Err(Fault::params("`old` is empty"));
        }
        let check = |capability| self.gate.context.check_to_use(path.as_bytes(), capability);
        let checks = [check(Capability::Read), check(Capability::Update)];
        self.gate.previews(preview(old, new).as_bytes());
        let [source, target] = self.gate.pass(checks, caller)?;
        let contents = self.contents(&source, path)?;
        let (edited, replaced) = replace(&contents, old.as_bytes(), new.as_bytes());
        match replaced {
            0 => return Err(Fault::params(format!("`old` does not occur in {path}"))),
            1 => {}
            _ if *all => {}
            times => {
                let way = "add text around it, or set `all`";
                return Err(Fault::params(format!("`old` occurs {times} times in {path}: {way}")));
            }
        }
        if edited.len() as u64 > self.limit {
            return Err(self.too_large(path));
        }
        self.files.write(&target, &edited).map_err(|error| fault("write", path, &error))?;
        Ok(Edited { replaced })
    }
}

/// The edit as a prompt shows it.
fn preview(old: &str, new: &str) -> String {
    // Not `lines`, which would hide a carriage return.
    let lines = |sign, text: &str| {
        text.split_terminator('\n').fold(String::new(), |all, line| all + sign + line + "\n")
    };
    lines("- ", old) + &lines("+ ", new)
}

/// `contents` with `new` in the place of each `old`, and how many there were.
fn replace(contents: &[u8], old: &[u8], new: &[u8]) -> (Vec<u8>, usize) {
    let mut edited = Vec::with_capacity(contents.len());
    let (mut from, mut count) = (0, 0);
    for at in memmem::find_iter(contents, old) {
        edited.extend_from_slice(&contents[from..at]);
        edited.extend_from_slice(new);
        from = at + old.len();
        count += 1;
    }
    edited.extend_from_slice(&contents[from..]);
    (edited, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_occurrence_is_replaced_and_counted() {
        for (contents, old, new, edited, count) in [
            ("a b a", "a", "c", "c b c", 2),
            ("aaa", "aa", "b", "ba", 1),
            ("a", "a", "", "", 1),
            ("a", "b", "c", "a", 0),
            ("a", "a", "aa", "aa", 1),
        ] {
            let (bytes, times) = replace(contents.as_bytes(), old.as_bytes(), new.as_bytes());
            assert_eq!((bytes.as_slice(), times), (edited.as_bytes(), count), "{contents} {old}");
        }
    }

    #[test]
    fn a_prompt_shows_what_goes_and_what_comes() {
        assert_eq!(preview("a\nb\n", "c"), "- a\n- b\n+ c\n");
        assert_eq!(preview("a\r", ""), "- a\r\n");
    }
}
