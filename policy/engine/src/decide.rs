//! Evaluates policy images: the one place that says what a policy grants on a path (spec §5).
//!
//! Every question "is this allowed?" of the preload library, the launcher and this crate ends here. Invariants: pure,
//! total, no allocation, no I/O, no panic. Paths are bytes, absolute and canonical: no `.`, `..`, empty component or
//! trailing slash (the root is `/`).

pub(crate) mod arrival;
mod opening;
mod relocation;
mod spelled;

pub use self::arrival::{admit_contents, admit_symlink, link_symlink, symlink};
pub use self::opening::{OpenRequest, OpenVerdict, open};
pub use self::spelled::{kept_by_spelling, spelled};
use crate::capability::Capabilities;
#[cfg(feature = "std")]
pub use crate::exclusions::behind as exclusion_behind;
use crate::image::Image;
pub use crate::image::walk::Alias;
use crate::image::walk::{self, Walk};
pub use crate::lookup::{excludes_below, narrowed as lookup};
pub use crate::request::{Lookup, Request};
#[cfg(all(feature = "std", target_os = "linux"))]
use crate::tier::Reach;
use crate::tier::Restraint;
pub use crate::verdict::{Denial, Verdict};
use crate::verdict::{
    at_each_level, denial, gained, holds_at_each_level, on_second, verdict, worst,
};
use crate::{autorun, lookup};

/// The effect of a rename on its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Nothing is there yet.
    Missing,
    /// An entry is replaced, which may be a dangling symlink (R4).
    Exists,
    /// The two entries change places (`RENAME_EXCHANGE`).
    Exchange,
}

/// Whether `need` is granted on the path.
#[must_use]
pub fn access(image: &Image<'_>, request: &Request<'_>, need: Capabilities) -> Verdict {
    if permits(image, request, need) { Verdict::Allow } else { refusal(image, request, need) }
}

/// As [`access`], for the file of a descriptor. A process that has it open for writing may change its content already.
/// If that took consent, the consent extends to the rest of `update`, such as times and mode.
#[must_use]
pub fn opened(
    image: &Image<'_>,
    request: &Request<'_>,
    need: Capabilities,
    is_writable: impl FnOnce() -> bool,
) -> Verdict {
    match access(image, request, need) {
        Verdict::Deny(denial) if denial.ask && need == Capabilities::UPDATE && is_writable() => {
            access(image, &request.consented(), need)
        }
        verdict => verdict,
    }
}

/// Whether `need` is granted at each level. Nearly every question comes down to this. It does not gather the details of
/// a denial.
fn permits(image: &Image<'_>, request: &Request<'_>, need: Capabilities) -> bool {
    holds_at_each_level(image, request.path, |image| lookup::permits(image, request, need))
}

/// The denial of `need`.
#[cold]
#[inline(never)]
fn refusal(image: &Image<'_>, request: &Request<'_>, need: Capabilities) -> Verdict {
    at_each_level(image, [request.path; 2], |image| verdict(&lookup::lookup(image, request), need))
}

/// Whether the path may be looked at (`stat`, `access`, `readlink`). Only hidden areas deny that (R6).
#[must_use]
pub fn metadata(image: &Image<'_>, request: &Request<'_>) -> Verdict {
    if holds_at_each_level(image, request.path, |image| !lookup::is_hidden(image, request)) {
        return Verdict::Allow;
    }
    at_each_level(image, [request.path; 2], |image| {
        let found = lookup::lookup(image, request);
        if found.hidden {
            Verdict::Deny(denial(&found, Capabilities::READ))
        } else {
            Verdict::Allow
        }
    })
}

/// Whether `need` is left on the target of a symlink, which no rule need grant. If no rule and no pattern is about the
/// target, nothing is withheld there. `reach` says how far patterns count: it is the reach of the grant in whose place
/// the symlink is.
#[cfg(all(feature = "std", target_os = "linux"))]
pub(crate) fn left(
    image: &Image<'_>,
    request: &Request<'_>,
    need: Capabilities,
    reach: Reach,
) -> Verdict {
    at_each_level(image, [request.path; 2], |image| {
        verdict(&lookup::left(image, request, reach), need)
    })
}

/// Whether the entry may be removed. A directory above another rule's anchor may be removed only if that rule grants
/// deletion too (R5).
#[must_use]
pub fn remove(image: &Image<'_>, request: &Request<'_>) -> Verdict {
    at_each_level(image, [request.path; 2], |image| removal(&lookup::lookup(image, request)))
}

/// Whether a directory may be created there. A new directory is empty, and no program obeys the name of an auto-run
/// file alone.
#[must_use]
pub fn make_directory(image: &Image<'_>, request: &Request<'_>) -> Verdict {
    access(image, &request.of_directory(), Capabilities::CREATE)
}

/// As [`remove`], for an empty directory.
#[must_use]
pub fn remove_directory(image: &Image<'_>, request: &Request<'_>) -> Verdict {
    remove(image, &request.of_directory())
}

/// Whether `from` may take the place of `to`, without gaining a capability on the way (R5).
#[must_use]
pub fn rename(
    image: &Image<'_>,
    from: &Request<'_>,
    to: &Request<'_>,
    destination: Destination,
) -> Verdict {
    at_each_level(image, [from.path, to.path], |image| rename_at(image, from, to, destination))
}

fn rename_at(
    image: &Image<'_>,
    from: &Request<'_>,
    to: &Request<'_>,
    destination: Destination,
) -> Verdict {
    let source = lookup::lookup(image, from);
    let target = lookup::lookup(image, to);
    let (at_source, at_target) = match destination {
        Destination::Missing => (Capabilities::DELETE, Capabilities::CREATE),
        Destination::Exists => (Capabilities::DELETE, Capabilities::UPDATE),
        Destination::Exchange => (
            Capabilities::DELETE.union(Capabilities::UPDATE),
            Capabilities::DELETE.union(Capabilities::UPDATE),
        ),
    };
    worst([
        verdict(&source, at_source),
        pinned(&source),
        on_second(verdict(&target, at_target)),
        if destination == Destination::Missing {
            Verdict::Allow
        } else {
            on_second(pinned(&target))
        },
        gain(&source, &target),
        if destination == Destination::Exchange {
            on_second(gain(&target, &source))
        } else {
            Verdict::Allow
        },
    ])
}

/// Whether a moved entry has no more rights at `to` than at `from` (R5). [`rename`] checks that too.
#[must_use]
pub fn gains_nothing(image: &Image<'_>, from: &Request<'_>, to: &Request<'_>) -> Verdict {
    at_each_level(image, [from.path, to.path], |image| {
        gain(&lookup::lookup(image, from), &lookup::lookup(image, to))
    })
}

/// Whether a directory may move, as far as everything below it goes. Three kinds of entries must not escape:
///
/// - those that a tier withholds or that need a prompt, such as sensitive ones, to where they would be granted
/// - those that an exclusion of a rule takes away, to where it would not
/// - those that no rule reaches, if a pattern grants the directory alone, to where a rule reaches them
#[must_use]
pub fn relocate(image: &Image<'_>, from: &Request<'_>, to: &Request<'_>) -> Verdict {
    at_each_level(image, [from.path, to.path], |image| match relocation::judge(image, from, to) {
        Ok(()) => leaving(image, from, to),
        Err(_) => Verdict::Deny(denial(&lookup::lookup(image, from), Capabilities::DELETE)),
    })
}

/// Whether a directory may move, as far as auto-run files in it go. They would be no auto-run files at `to`, so moving
/// them takes a prompt, like removing them.
fn leaving(image: &Image<'_>, from: &Request<'_>, to: &Request<'_>) -> Verdict {
    if from.consented || !autorun::takes_along(image, from, to.path) {
        return Verdict::Allow;
    }
    let restraint = Some(Restraint::Autorun);
    let denial = denial(&lookup::lookup(image, from), Capabilities::DELETE);
    Verdict::Deny(Denial { restraint, ask: true, ..denial })
}

/// The capabilities that are missing below `from` and would be granted below `to`, so that [`relocate`] keeps the
/// directory in place. Granting them may release it. Empty if more grants do not help, or if nothing keeps it.
#[must_use]
pub fn lacking_to_relocate(
    image: &Image<'_>,
    from: &Request<'_>,
    to: &Request<'_>,
) -> Capabilities {
    let forms = image.forms([from.path, to.path]).filter_map(|(_, form)| form);
    let lacking = forms.filter_map(|image| relocation::judge(image, from, to).err());
    lacking.fold(Capabilities::NONE, Capabilities::union)
}

/// Whether `new` may become another name of `old`. It must not grant anything that `old` does not (R5). A hidden file
/// gets no other name, even if it does not exist.
#[must_use]
pub fn link(image: &Image<'_>, old: &Request<'_>, new: &Request<'_>) -> Verdict {
    at_each_level(image, [old.path, new.path], |image| {
        let source = lookup::lookup(image, old);
        if source.hidden {
            return Verdict::Deny(denial(&source, Capabilities::READ));
        }
        let target = lookup::lookup(image, new);
        // Under its other name an auto-run file could be changed.
        let linked = Lookup { autorun: Capabilities::NONE, ..source };
        worst([on_second(verdict(&target, Capabilities::CREATE)), gain(&linked, &target)])
    })
}

/// Whether the file may be the loader that a program names (`PT_INTERP`). It must be executable, in a place that the
/// run cannot write to (spec §5.2, "loader from baseline").
#[must_use]
pub fn loader(image: &Image<'_>, request: &Request<'_>) -> Verdict {
    let verdict = at_each_level(image, [request.path; 2], |image| {
        verdict(&lookup::lookup(image, request), Capabilities::EXECUTE)
    });
    let writable = || {
        [Capabilities::CREATE, Capabilities::UPDATE, Capabilities::DELETE]
            .into_iter()
            .any(|write| access(image, request, write) == Verdict::Allow)
    };
    match verdict {
        Verdict::Allow if writable() => {
            Verdict::Deny(denial(&lookup::lookup(image, request), Capabilities::EXECUTE))
        }
        verdict => verdict,
    }
}

/// What a prefix of the absolute `path` stands for: a symlink that was known when the policy was compiled, or a view.
/// The caller replaces the prefix with the target.
#[must_use]
pub fn alias<'a>(image: &Image<'a>, path: &[u8]) -> Option<Alias<'a>> {
    walk::alias(image, path)
}

/// Whether nothing at or below the directory is hidden, so that metadata there needs no check.
#[must_use]
pub fn shows_everything(image: &Image<'_>, directory: &[u8]) -> bool {
    holds_at_each_level(image, directory, |image| {
        Walk::along(image, directory).shows_everything(image, directory)
    })
}

/// Whether `need` is granted at the directory and everywhere below it. Then a walk that the kernel keeps beneath it
/// needs no checks.
#[must_use]
pub fn grants_beneath(image: &Image<'_>, directory: &[u8], need: Capabilities) -> bool {
    holds_at_each_level(image, directory, |image| holds_beneath(image, directory, need))
}

/// Why a tier would withhold some of `need` from a rule that names the very path of `request`. If it would, no rule
/// alone allows it.
#[cfg(feature = "std")]
#[must_use]
pub fn withheld_by_tier(
    image: &Image<'_>,
    request: &Request<'_>,
    need: Capabilities,
) -> Option<Restraint> {
    image
        .forms([request.path; 2])
        .find_map(|(_, form)| lookup::withheld_by_tier(form?, request, need))
}

/// Whether `need` may be granted somewhere below the canonical `directory`, so that a search there can find it. If the
/// answer is no, it is granted nowhere below without a prompt.
#[cfg(feature = "std")]
#[must_use]
pub fn may_grant_below(image: &Image<'_>, directory: &[u8], need: Capabilities) -> bool {
    holds_at_each_level(image, directory, |image| lookup::may_grant_below(image, directory, need))
}

/// Whether tiers leave `need` at or below the canonical `directory`, out of the grants of the rule there. A prompt
/// counts as left. If the answer is no, that rule gives it to nobody there.
#[cfg(feature = "std")]
#[must_use]
pub fn may_be_left(image: &Image<'_>, directory: &[u8], need: Capabilities) -> bool {
    holds_at_each_level(image, directory, |image| lookup::may_be_left(image, directory, need))
}

/// As [`grants_beneath`], with the denial where it is not.
#[must_use]
pub fn beneath(image: &Image<'_>, request: &Request<'_>, need: Capabilities) -> Verdict {
    at_each_level(image, [request.path; 2], |image| {
        if holds_beneath(image, request.path, need) {
            return Verdict::Allow;
        }
        Verdict::Deny(Denial { hidden: false, ..denial(&lookup::lookup(image, request), need) })
    })
}

/// As [`grants_beneath`], for one image alone.
fn holds_beneath(image: &Image<'_>, directory: &[u8], need: Capabilities) -> bool {
    let found = lookup::lookup(image, &Request::canonical(directory));
    let winner = found.rule.and_then(|id| image.rule(id.raw()));
    winner.is_some_and(|rule| rule.patterns.count.get() == 0)
        && !found.restrained_below
        && found.caps.intersection(found.below_all).contains(need)
        && !(need.intersects(Capabilities::WRITE) && autorun::is_ahead(image, directory))
}

fn removal(found: &Lookup) -> Verdict {
    worst([verdict(found, Capabilities::DELETE), pinned(found)])
}

fn pinned(found: &Lookup) -> Verdict {
    if found.below_all.contains(Capabilities::DELETE) {
        Verdict::Allow
    } else {
        Verdict::Deny(denial(found, Capabilities::DELETE))
    }
}

/// Denies a move that would grant more at `to` than at `from`, to the entry or anything below it, or that would avoid a
/// prompt. An auto-run file is none any more once it is moved.
fn gain(from: &Lookup, to: &Lookup) -> Verdict {
    let gained = gained(from, to);
    if gained.is_empty() { Verdict::Allow } else { Verdict::Deny(denial(from, gained)) }
}
