//! Views: directories that a run sees in another's place (spec §12.2).
//!
//! Programs name the *place*, and get the *backing*. The evaluator judges paths below the backing, so a name is led there
//! before it is judged. A path that the system tells is led back before a program sees it. The preload library and the
//! supervisor use these functions, and no others, for both.

#[cfg(feature = "std")]
use std::borrow::Cow;
#[cfg(feature = "std")]
use std::ffi::{OsStr, OsString};
#[cfg(feature = "std")]
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
#[cfg(feature = "std")]
use std::path::Path;
#[cfg(feature = "std")]
use std::vec::Vec;

#[cfg(feature = "std")]
use crate::build::View;
#[cfg(feature = "std")]
use crate::canonical::{self, Op, ResolveError, Resolved};
use crate::components::leads_to;
use crate::image::{Image, walk};
use crate::layout::ImageView;

/// A prefix of a path, and the canonical path that replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Substitution<'a> {
    /// The length of the prefix.
    pub end: usize,
    /// The path in its stead.
    pub target: &'a [u8],
}

impl Substitution<'_> {
    /// The path after the substitution.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn apply(&self, path: &[u8]) -> std::vec::Vec<u8> {
        [self.target, path.get(self.end..).unwrap_or_default()].concat()
    }
}

/// Whether the run has any view.
#[must_use]
pub const fn exist(image: &Image<'_>) -> bool {
    !image.views().is_empty()
}

/// The views of the run.
#[cfg(feature = "std")]
#[must_use]
pub fn all(image: &Image<'_>) -> Vec<View> {
    let path = |bytes| OsStr::from_bytes(bytes).into();
    let view = |view: &ImageView| View {
        place: path(image.string(view.place)),
        backing: path(image.string(view.backing)),
    };
    image.views().iter().map(view).collect()
}

/// Where the absolute `path`, which no symlink is on, leads: the place of a view gives way to its backing. `None` if no
/// view shows the path. A view shows neither what a rule below its place is about, nor the way there.
#[must_use]
pub fn to_backing<'a>(image: &Image<'a>, path: &[u8]) -> Option<Substitution<'a>> {
    if !exist(image) {
        return None;
    }
    let found = walk::alias(image, path).filter(|alias| alias.is_view)?;
    Some(Substitution { end: found.end, target: found.target })
}

/// Whether `path` is the place of a view.
#[must_use]
pub fn is_place(image: &Image<'_>, path: &[u8]) -> bool {
    to_backing(image, path).is_some_and(|backing| backing.end == path.len())
}

/// As [`to_backing`]: where `path` leads, whether or not a view shows it.
#[cfg(feature = "std")]
#[must_use]
pub fn led<'p>(image: &Image<'_>, path: &'p [u8]) -> Cow<'p, [u8]> {
    to_backing(image, path).map_or(Cow::Borrowed(path), |found| found.apply(path).into())
}

/// As [`to_place`]: the name of `path`, whether or not it is below a backing.
#[cfg(feature = "std")]
#[must_use]
pub fn seen<'p>(image: &Image<'_>, path: &'p [u8]) -> Cow<'p, [u8]> {
    to_place(image, path).map_or(Cow::Borrowed(path), |found| found.apply(path).into())
}

/// Where a resolved name leads in a run: below a backing, if a view shows it. Symlinks in the backing are followed in
/// turn, and what they lead to is not led again. Looks at the disk.
///
/// # Errors
/// [`ResolveError`] if the path below the backing cannot be resolved.
#[cfg(feature = "std")]
pub fn lead(image: &Image<'_>, found: Resolved, op: Op) -> Result<Resolved, ResolveError> {
    let path = found.path.as_os_str().as_bytes();
    let Some(led) = to_backing(image, path) else { return Ok(found) };
    let backing = OsString::from_vec(led.apply(path));
    let inside = canonical::resolve(Path::new("/"), Path::new(&backing), op)?;
    let (steps, left) = ([found.steps, inside.steps].concat(), [found.left, inside.left].concat());
    Ok(Resolved { steps, left, ..inside })
}

/// The name by which programs know the canonical `path`: the backing of a view gives way to its place. `None` if the
/// path is below no backing. Of two views of one backing, the first counts.
#[must_use]
pub fn to_place<'a>(image: &Image<'a>, path: &[u8]) -> Option<Substitution<'a>> {
    if !exist(image) || !walk::is_in_backing(image, path) {
        return None;
    }
    let shown = |view: &&ImageView| leads_to(image.string(view.backing), path);
    let mut deepest = None;
    for view in image.views().iter().filter(shown) {
        let end = view.backing.count.get() as usize;
        if deepest.is_none_or(|found: Substitution<'_>| found.end < end) {
            deepest = Some(Substitution { end, target: image.string(view.place) });
        }
    }
    deepest
}
