//! Judges which names appear below a place when a directory or a symlink arrives there. Used by [`crate::moves`] and
//! [`crate::decide`].
//!
//! A directory brings names along, and a symlink lends them. None may be a name that the policy denies to create, or
//! that needs a prompt (spec §5.2, R31).

use crate::automaton::Marks;
use crate::autorun;
use crate::capability::Capabilities;
use crate::components::leads_to;
use crate::decide::{access, link};
use crate::exclusions::leads_below;
use crate::image::{Image, TierLayer};
use crate::layout::{Rule, Text};
use crate::lookup::{self, lookup};
use crate::reaches::Reaches;
use crate::request::{Lookup, Request};
use crate::tier::{Reach, Restraint};
use crate::verdict::{Denial, Verdict, at_each_level, denial, on_second, worst};

/// Whether a directory may move from `from` to `to`, as far as the names in it go. No name below `to` may be one that
/// the policy denies to create or prompts about, unless it does so below `from` too (R31).
#[must_use]
pub fn admit_contents(image: &Image<'_>, from: &Request<'_>, to: &Request<'_>) -> Verdict {
    at_each_level(image, [from.path, to.path], |image| {
        on_second(admitted(image, to, admits_contents(image, from, to)))
    })
}

/// Whether a symlink with any target may be at `to`. It may not where the policy is narrower below that name than below
/// an ordinary name in the workspace (R31).
#[must_use]
pub fn admit_symlink(image: &Image<'_>, to: &Request<'_>) -> Verdict {
    at_each_level(image, [to.path; 2], |image| admitted(image, to, admits_any_target(image, to)))
}

/// Whether a symlink may be created at `entry` (R31). `text`, its target, is only asked for if the verdict depends on
/// it.
#[must_use]
pub fn symlink<'t>(image: &Image<'_>, entry: &Request<'_>, text: impl Fn() -> &'t [u8]) -> Verdict {
    let created = access(image, entry, Capabilities::CREATE);
    if matches!(created, Verdict::Deny(denial) if !denial.ask) {
        return created;
    }
    let admits =
        |image: &Image<'_>| admits_any_target(image, entry) || admits_target(image, entry, text());
    let judge = |image: &Image<'_>| admitted(image, entry, admits(image));
    worst([created, at_each_level(image, [entry.path; 2], judge)])
}

fn admitted(image: &Image<'_>, to: &Request<'_>, is_admitted: bool) -> Verdict {
    if is_admitted {
        return Verdict::Allow;
    }
    let found = lookup(image, to);
    let restraint = Some(Restraint::Below);
    Verdict::Deny(Denial { restraint, ..denial(&found, Capabilities::CREATE) })
}

/// As [`link`], where `old` is a symlink itself.
#[must_use]
pub fn link_symlink(image: &Image<'_>, old: &Request<'_>, new: &Request<'_>) -> Verdict {
    worst([
        link(image, old, new),
        match admit_contents(image, old, new) {
            Verdict::Allow if are_siblings(old.path, new.path) => Verdict::Allow,
            _ => on_second(admit_symlink(image, new)),
        },
    ])
}

/// One end of the comparison: what the rules grant there, and the rule that grants it.
struct End<'a, 'p> {
    path: &'p [u8],
    granted: Lookup,
    winner: Option<(&'a Rule, &'p [u8])>,
    consented: bool,
}

impl<'a, 'p> End<'a, 'p> {
    fn of(image: &Image<'a>, request: &Request<'p>) -> Self {
        let (granted, winner) = lookup::granted(image, request);
        Self { path: request.path, granted, winner, consented: request.consented }
    }

    fn rule(&self) -> Option<&'a Rule> {
        self.winner.map(|(rule, _)| rule)
    }

    fn reach(&self) -> Option<Reach> {
        Reach::granting(self.rule())
    }

    fn autorun(&self) -> autorun::End<'_> {
        autorun::End { path: self.path, winner: self.winner }
    }

    /// Whether a person is asked about auto-run files there that have these marks.
    fn asks(&self, marks: Marks) -> bool {
        marks.intersects(Marks::AUTORUN)
            && !marks.intersects(Marks::RELEASED)
            && !self.consented
            && !self.rule().is_some_and(autorun::is_free)
    }

    fn grants(&self, capabilities: Capabilities) -> bool {
        self.granted.caps.contains(capabilities)
    }
}

/// Whether everything that may be below a directory at `from` may also appear below `to`. The policy must let it be
/// created there, or deny that at both places alike. Judges this image alone.
///
/// If the comparison would take too much, the answer is no.
fn admits_contents(image: &Image<'_>, from: &Request<'_>, to: &Request<'_>) -> bool {
    let (from, to) = (End::of(image, &Request { consented: false, ..*from }), End::of(image, to));
    // Without the right to create at either place, the run put nothing in the directory.
    let neither_creates = from.reach().is_some()
        && !to.grants(Capabilities::CREATE)
        && !from.grants(Capabilities::CREATE)
        && !from.granted.below_any.contains(Capabilities::CREATE);
    let creates = to.reach().is_none() || to.grants(Capabilities::CREATE);
    if !to.consented && autorun::asks_more_at(image, to.autorun(), Some(from.autorun())) {
        return false;
    }
    (neither_creates || creates && !narrows_by_rule(image, &to, Some(&from)))
        && image.tiers().is_none_or(|tiers| patterns_admit(tiers, &from, &to))
}

/// Whether a symlink may be at `to`, wherever it leads. Patterns must deny nothing below that name that they do not
/// deny below every name, and no rule may be narrower there. Judges this image alone.
fn admits_any_target(image: &Image<'_>, to: &Request<'_>) -> bool {
    let to = End::of(image, to);
    let asks_more = || !to.consented && autorun::asks_more_at(image, to.autorun(), None);
    if narrows_by_rule(image, &to, None) || asks_more() {
        return false;
    }
    let Some(tiers) = image.tiers().filter(|_| to.reach() != Some(Reach::Own)) else { return true };
    let lacks = |marks| !left(tiers, &to, to.granted, marks).contains(Capabilities::CREATE);
    let is_lacking_below = |ordinary: &[&[u8]]| {
        tiers.automaton.all_below_parts([&[to.path], ordinary], true, |at, elsewhere| {
            !lacks(at) || lacks(elsewhere)
        })
    };
    let workspace = image.text(Text::Workspace);
    let ordinary: [&[&[u8]]; 3] =
        [&[workspace], &[workspace, ORDINARY], &[workspace, ORDINARY, ORDINARY]];
    ordinary.into_iter().all(is_lacking_below)
}

/// A name that no pattern is about specifically, after its separator.
const ORDINARY: &[u8] = b"/\x01";

/// The capabilities that patterns leave of `granted` at a path with these marks below `end`.
fn left(tiers: &TierLayer<'_>, end: &End<'_, '_>, granted: Lookup, marks: Marks) -> Capabilities {
    if end.asks(marks) {
        return Capabilities::NONE;
    }
    let found = tiers.matched(end.rule(), marks, granted);
    found.caps.union(if end.consented { found.asks } else { Capabilities::NONE })
}

/// Like [`admits_contents`], for patterns alone.
fn patterns_admit(tiers: &TierLayer<'_>, from: &End<'_, '_>, to: &End<'_, '_>) -> bool {
    let reaches = [from, to].map(End::reach);
    if to.reach() == Some(Reach::Own) {
        return to.granted.reaches_below == Reaches::NONE;
    }
    if !to.granted.reaches_below.leave_at_least(to.reach())
        || !from.granted.reaches_below.leave_at_most(from.reach())
    {
        return false;
    }
    // Only patterns are compared here. The rules were judged before.
    let free = |end: &End<'_, '_>| Lookup {
        caps: if end.reach().is_some() { Capabilities::ALL } else { Capabilities::NONE },
        ..end.granted
    };
    let is_like = reaches[0] == reaches[1];
    tiers.automaton.all_below_parts([&[to.path], &[from.path]], is_like, |there, here| {
        left(tiers, to, free(to), there).contains(Capabilities::CREATE)
            || !left(tiers, from, free(from), here).contains(Capabilities::CREATE)
    })
}

/// Whether a rule or an exclusion strictly below `to` denies creation, and does not do the same below `from`.
#[inline(never)] // keeps the stack use of these from adding up
fn narrows_by_rule(image: &Image<'_>, to: &End<'_, '_>, from: Option<&End<'_, '_>>) -> bool {
    if !to.granted.below_all.contains(Capabilities::CREATE) {
        return true;
    }
    let Some((rule, rest)) = to.winner else { return false };
    let is_same = |from: &&End<'_, '_>| from.rule().is_some_and(|other| core::ptr::eq(other, rule));
    let before = from.filter(is_same).and_then(|from| from.winner).map(|(_, rest)| rest);
    image.patterns_of(rule).any(|pattern| {
        let leads = |rest: &[u8]| leads_below(pattern, rest, image.names());
        let leads_before = |before: &[u8]| depth(before) == depth(rest) && leads(before);
        leads(rest) && !before.is_some_and(leads_before)
    })
}

/// How many names are in a path.
fn depth(path: &[u8]) -> usize {
    path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).count()
}

/// Whether a symlink with this `text` may be at `to`. The text must be an absolute path in the workspace, or one name
/// beside `to`. The policy must deny at least as much below that. Judges this image alone.
///
/// Names in `text` may be symlinks. Each was judged when it was created, so the text alone is enough. Any other
/// relative text counts as unknown.
#[cold]
#[inline(never)]
fn admits_target(image: &Image<'_>, to: &Request<'_>, text: &[u8]) -> bool {
    if !text.contains(&b'/') {
        return admits_sibling(image, to, text);
    }
    let mut names = text.split(|&byte| byte == b'/').skip(1);
    names.all(|name| !matches!(name, b"" | b"." | b".."))
        && leads_to(image.text(Text::Workspace), text)
        && admits_contents(image, &Request::canonical(text), to)
}

/// The longest path of a sibling that is judged, in bytes.
pub(crate) const LONGEST: usize = 1024;

/// Like [`admits_target`], for a name in the directory of `to`.
fn admits_sibling(image: &Image<'_>, to: &Request<'_>, name: &[u8]) -> bool {
    let mut room = [0; LONGEST];
    let Some(path) = sibling(&mut room, to.path, name) else { return false };
    !matches!(name, b"" | b"." | b"..") && admits_contents(image, &Request::canonical(path), to)
}

/// The path of another name in the directory of an entry, if it fits into `room`.
pub(crate) fn sibling<'r>(
    room: &'r mut [u8; LONGEST],
    path: &[u8],
    name: &[u8],
) -> Option<&'r [u8]> {
    let end = path.iter().rposition(|&byte| byte == b'/')?.wrapping_add(1);
    let directory = path.get(..end)?;
    let sibling = room.get_mut(..end.wrapping_add(name.len()))?;
    let (start, rest) = sibling.split_at_mut_checked(end)?;
    start.copy_from_slice(directory);
    rest.copy_from_slice(name);
    Some(sibling)
}

/// Whether two paths are in the same directory: then a relative target means the same at both.
pub(crate) fn are_siblings(one: &[u8], other: &[u8]) -> bool {
    let directory = |path: &[u8]| path.iter().rposition(|&byte| byte == b'/');
    let [here, there] = [directory(one), directory(other)];
    let parts =
        [(one, here), (other, there)].map(|(path, end)| end.and_then(|end| path.get(..end)));
    matches!(parts, [Some(here), Some(there)] if here == there)
}
