//! Explains denials of a directory or a symlink for names below its new place (spec §5.2, R31). Used by [`super`].

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Verdict, lookup};
use jp_confine_engine::image::Image;
use jp_confine_engine::tier::Restraint;

use super::pinned_directories::{Gone, is_directory};
use super::trial::Trial;
use crate::advice::advisor::Advisor;
use crate::advice::request::{Asked, Extent, Step};
use crate::compile::image;
use crate::record::denial::Denial;
use crate::sys::path::path_of;
use crate::text::quote;

/// A name in the workspace that no pattern matches by its name alone.
const ORDINARY: &str = "\u{1}";

/// At most this many rules and patterns are named.
const NAMED: usize = 3;

impl Advisor<'_> {
    /// The rules and patterns below the place that deny or ask, for people. `None` for another kind of denial.
    pub(super) fn narrower_below(&self, denial: &Denial) -> Option<String> {
        if denial.restraint != Some(Restraint::Below) {
            return None;
        }
        let place = path_of(&denial.path);
        let is_narrower = |anchor: &Path, caps: Capabilities| {
            anchor != place && anchor.starts_with(place) && !caps.contains(Capabilities::CREATE)
        };
        let rules = self.grants.iter().filter(|grant| is_narrower(&grant.anchor, grant.caps));
        let rules = rules.map(|grant| {
            let anchor = quote::shown(grant.anchor.as_os_str().as_bytes(), self.workspace);
            format!("{anchor}: {}", grant.origin)
        });
        let patterns = self.tiers.described_between(place, &self.workspace.join(ORDINARY));
        let patterns = patterns.into_iter().map(|one| one.words);
        let autorun = self.tiers.autorun_below(place);
        let mut words: Vec<String> = rules.chain(patterns).chain(autorun).collect();
        if words.is_empty() {
            return Some("patterns of file_policy that do not count at its old place".to_owned());
        }
        let more = quote::and_more(words.len().saturating_sub(NAMED));
        words.truncate(NAMED);
        Some(quote::path(&words.join(", ")) + &more)
    }

    /// An alternative to a move or a symlink that brings names along.
    pub(super) fn instead_of_names_below(&self, denial: &Denial) -> Option<String> {
        if denial.restraint != Some(Restraint::Below) {
            return None;
        }
        let place = quote::shown(&denial.path, self.workspace);
        let place = quote::operand(place.as_bytes());
        if !denial.is_copied() {
            return Some(format!(
                "a symlink would lend names below it; make a directory instead: mkdir {place}"
            ));
        }
        let source = quote::shown(&denial.other, self.workspace);
        let source = quote::operand(source.as_bytes());
        Some(format!(
            "a directory would bring names along; copy it, so that each is judged: \
             cp -R {source} {place} && rm -R {source}"
        ))
    }
}

impl Trial<'_> {
    /// The step that opens the contents of a moved directory at its new place, where patterns open only the name of
    /// that. `None` if nothing else is missing. Looks at the disk.
    pub(super) fn to_fill(&self, image: &Image<'_>, asked: Asked<'_>, gone: Gone) -> Option<Step> {
        let Asked::Rename { from, to, .. } = asked else { return None };
        let found = lookup(image, &to);
        if admits(image, asked) || !found.is_beyond_rules(image) {
            return None;
        }
        let held = found.granted(image);
        let step = Step { extent: Extent::Below, ..Step::of(to, held) };
        let fills = || {
            let mut trial = self.clone();
            trial.add(&step);
            let image = trial.image(asked).ok()?;
            Some(admits(&image::parse_image(&image).ok()?, asked))
        };
        (is_directory(path_of(from.path), gone) && fills() == Some(true)).then_some(step)
    }
}

/// Whether the contents of a directory may be at the place that it moves to.
fn admits(image: &Image<'_>, asked: Asked<'_>) -> bool {
    let Asked::Rename { from, to, .. } = asked else { return true };
    decide::admit_contents(image, &from, &to) == Verdict::Allow
}
