//! Which programs may be started, and with which arguments (spec §11.3): the evaluator of command rules
//! on an image. That the file may be executed at all is for [`crate::decide`] to say.

use crate::coverage::Coverage;
use crate::image::{Command, Image, LEVELS, NONE};
use crate::variables;

/// The rule says nothing of arguments: any will do.
pub(crate) const ANY_ARGUMENTS: u32 = 1;

/// A program that is to be started.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// The canonical absolute path of its file; of a script, that of the script.
    pub program: &'a [u8],
    /// What it is called: the first of the words that it gets, as it is. Programs that are many in one
    /// file, as busybox is, are what they are called.
    pub called: &'a [u8],
    /// How many words it gets behind that.
    pub arguments: usize,
}

impl<'a> Invocation<'a> {
    /// What it is called without folders, and without the dash that makes a shell a login shell.
    #[must_use]
    pub fn name(&self) -> &'a [u8] {
        let name = self.called.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        name.strip_prefix(b"-").unwrap_or(name)
    }
}

/// Whether only programs that are listed may be started.
#[must_use]
pub fn is_limited(image: &Image<'_>) -> bool {
    image.levels().any(Image::lists_programs)
}

/// The rules by which a program may be started, one of each run: they say what it may have of the
/// environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission([u32; LEVELS]);

impl Admission {
    /// Of a program that no rule is about, because there are none.
    pub const FREE: Self = Self([NONE; LEVELS]);
}

/// The rules by which `invocation` is allowed; `is` says whether the argument of a place, counted from
/// zero behind the program's name, is a word. In runs inside each other each list must allow it.
///
/// # Errors
/// What the list says that does not: that a rule is about it, or none.
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

/// Whether `count` arguments are these words, or with `rest` begin with them.
pub(crate) fn fits<'w>(
    words: impl ExactSizeIterator<Item = &'w [u8]>,
    rest: bool,
    count: usize,
    is: &mut dyn FnMut(usize, &[u8]) -> bool,
) -> bool {
    (if rest { words.len() <= count } else { words.len() == count })
        && words.enumerate().all(|(place, word)| is(place, word))
}

/// Whether the rules by which a program was admitted let it have the variable `name`.
pub(crate) fn hands_on(image: &Image<'_>, admission: &Admission, name: &[u8]) -> bool {
    variables::is_base(name)
        || image.levels().zip(&admission.0).all(|(level, &number)| {
            let Some(command) = level.commands().get(number as usize) else { return true };
            variables::judge(level.rules_about(command.envs), name) == Coverage::Allowed
        })
}

/// The rule about a program, and its number: the one on its file whose key is what it is called.
fn rule<'i>(image: &Image<'i>, invocation: &Invocation<'_>) -> Option<(u32, &'i Command)> {
    let is_about = |command: &&Command| {
        image.string(command.program) == invocation.program
            && image.string(command.name) == invocation.name()
    };
    (0..).zip(image.commands()).find(|(_, command)| is_about(command))
}
