//! Judges environment variables by rules (spec §11.2): written rules ([`crate::env`]), and rules in an image for
//! programs that start programs.

use crate::coverage::Coverage;
use crate::image::Image;
use crate::invocation::Admission;
use crate::layout::Span;

/// Variables that every program gets if rules are declared and none is about them. `TERM` describes the terminal, which
/// programs also inherit.
const BASE: [&[u8]; 5] = [b"PATH", b"HOME", b"USER", b"LANG", b"TERM"];

/// The prefix of the other names in the base set.
const BASE_PREFIX: &[u8] = b"LC_";

/// Variables that the launcher sets for every program of a run. No rule is about these.
pub const OWNED: [&str; 4] = ["LD_PRELOAD", "JP_CONFINE", "JP_CONFINE_NOTE", "TMPDIR"];

/// Longest name, or prefix of names, in a rule. This many bytes of a name show which rules match it.
pub const LONGEST: usize = 255;

/// The rule matches every name that begins with its literal part.
pub(crate) const PREFIX: u32 = 1;
/// The rule allows reading the variables that it matches.
pub(crate) const READ: u32 = 2;

/// A rule from any source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VariableRule<'a> {
    pub(crate) literal: &'a [u8],
    pub(crate) is_prefix: bool,
    pub(crate) read: bool,
}

impl VariableRule<'_> {
    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        if self.is_prefix { name.starts_with(self.literal) } else { name == self.literal }
    }
}

/// The place of the rule that decides about `name`: the one with the longest literal part. Of equals an exact rule
/// wins, then the last.
pub(crate) fn winner<'a>(
    rules: impl Iterator<Item = VariableRule<'a>>,
    name: &[u8],
) -> Option<(usize, VariableRule<'a>)> {
    let matching = rules.enumerate().filter(|(_, rule)| rule.matches(name));
    matching.max_by_key(|(_, rule)| (rule.literal.len(), !rule.is_prefix))
}

/// The verdict of the rules on `name`.
pub(crate) fn judge<'a>(rules: impl Iterator<Item = VariableRule<'a>>, name: &[u8]) -> Coverage {
    winner(rules, name).map_or(Coverage::Uncovered, |(_, rule)| Coverage::of(rule.read))
}

/// Whether `name` is one of the base set (spec §11.2).
#[must_use]
pub fn is_base(name: &[u8]) -> bool {
    BASE.contains(&name) || name.starts_with(BASE_PREFIX)
}

/// Whether the launcher sets `name`.
#[must_use]
pub fn is_owned(name: &[u8]) -> bool {
    OWNED.iter().any(|owned| owned.as_bytes() == name)
}

/// Whether any variable may be withheld from programs that are started.
#[must_use]
pub fn are_withheld(image: &Image<'_>) -> bool {
    image.levels().any(|level| level.environment().count.get() > 0 || level.lists_programs())
}

/// Whether a program, started by the rules of `admission`, must not inherit the variable `name` from its caller. A rule
/// may deny it, or the rule about the program may not list it. A variable that no rule is about passes: it was set
/// inside the run, which contains no variable that is not granted.
///
/// Of a longer name the first [`LONGEST`] bytes and one more suffice.
#[must_use]
pub fn is_withheld(image: &Image<'_>, admission: &Admission, name: &[u8]) -> bool {
    let is_denied =
        |level: &Image<'_>| judge(level.rules_about(level.environment()), name) == Coverage::Denied;
    !is_owned(name) && (image.levels().any(is_denied) || !hands_on(image, admission, name))
}

impl<'a> Image<'a> {
    /// The rules in one list.
    pub(crate) fn rules_about(&self, list: Span) -> impl Iterator<Item = VariableRule<'a>> {
        let image = *self;
        self.variables(list).iter().map(move |rule| VariableRule {
            literal: image.string(rule.name),
            is_prefix: rule.flags.get() & PREFIX != 0,
            read: rule.flags.get() & READ != 0,
        })
    }
}

/// Whether the rules that admitted a program let it have the variable `name`.
fn hands_on(image: &Image<'_>, admission: &Admission, name: &[u8]) -> bool {
    is_base(name)
        || image.levels().zip(&admission.0).all(|(level, &number)| {
            let Some(command) = level.commands().get(number as usize) else { return true };
            judge(level.rules_about(command.envs), name) == Coverage::Allowed
        })
}
