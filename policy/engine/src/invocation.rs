//! Judges which programs may be started, and with which arguments (spec §11.3). It evaluates command rules on an image.
//! [`crate::decide`] says whether the file may be executed at all.

use crate::coverage::Coverage;
use crate::image::{Image, LEVELS};
use crate::layout::{Command, NONE};

/// The rule does not restrict arguments.
pub(crate) const ANY_ARGUMENTS: u32 = 1;

/// A program to be started.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// The canonical absolute path of its file. For a script, that of the script.
    pub program: &'a [u8],
    /// Its name: the first of its words, unchanged. A program with many names in one file, such as busybox, is known by
    /// this name.
    pub called: &'a [u8],
    /// The number of words after that.
    pub arguments: usize,
}

impl<'a> Invocation<'a> {
    /// Its name without directories, and without the dash that makes a shell a login shell.
    #[must_use]
    pub fn name(&self) -> &'a [u8] {
        let name = self.called.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        name.strip_prefix(b"-").unwrap_or(name)
    }
}

/// Whether only listed programs may be started.
#[must_use]
pub fn is_limited(image: &Image<'_>) -> bool {
    image.levels().any(Image::lists_programs)
}

/// The rules by which a program may be started, one for each run. They say which environment variables it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission(pub(crate) [u32; LEVELS]);

impl Admission {
    /// For a program without a rule, because there are none.
    pub const FREE: Self = Self([NONE; LEVELS]);
}

/// The rules that allow `invocation`. `is` says whether the argument at a place, counted from zero after the program's
/// name, is a word. In nested runs each list must allow it.
///
/// # Errors
/// The coverage by the list that does not allow it: denied by a rule, or uncovered.
pub fn judge(
    image: &Image<'_>,
    invocation: &Invocation<'_>,
    is: &mut dyn FnMut(usize, &[u8]) -> bool,
) -> Result<Admission, Coverage> {
    let mut admission = Admission::FREE;
    for (level, place) in image.levels().zip(&mut admission.0) {
        if level.lists_programs() {
            *place = judge_in(level, invocation, is)?;
        }
    }
    Ok(admission)
}

/// The number of the rule by which one list allows it.
fn judge_in(
    image: &Image<'_>,
    invocation: &Invocation<'_>,
    is: &mut dyn FnMut(usize, &[u8]) -> bool,
) -> Result<u32, Coverage> {
    let (number, command) = rule(image, invocation).ok_or(Coverage::Uncovered)?;
    let mut lines = image.lines(command.lines).iter();
    let allows = command.flags.get() & ANY_ARGUMENTS != 0
        || lines.any(|line| {
            let words = image.words(line.words).iter().map(|&word| image.string(word));
            fits(words, line.rest.get() != 0, invocation.arguments, is)
        });
    if allows { Ok(number) } else { Err(Coverage::Denied) }
}

/// Whether `count` arguments are exactly these words. With `rest` they need only begin with them.
pub(crate) fn fits<'w>(
    words: impl ExactSizeIterator<Item = &'w [u8]>,
    rest: bool,
    count: usize,
    is: &mut dyn FnMut(usize, &[u8]) -> bool,
) -> bool {
    (if rest { words.len() <= count } else { words.len() == count })
        && words.enumerate().all(|(place, word)| is(place, word))
}

/// The rule about a program, and its number: the rule on its file whose key is the program's name.
fn rule<'i>(image: &Image<'i>, invocation: &Invocation<'_>) -> Option<(u32, &'i Command)> {
    let is_about = |command: &&Command| {
        image.string(command.program) == invocation.program
            && image.string(command.name) == invocation.name()
    };
    (0..).zip(image.commands()).find(|(_, command)| is_about(command))
}
