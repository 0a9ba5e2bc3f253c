//! Views in the form of an image.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::vec::Vec;

use crate::build::bytes::intern;
use crate::build_error::BuildError;
use crate::canonical;
use crate::grant::Grant;
use crate::layout::ImageView;

/// A directory that a run sees in another's place (spec §12.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The canonical path that programs name. It need not exist.
    pub place: PathBuf,
    /// The canonical path of the directory that they get.
    pub backing: PathBuf,
}

impl View {
    /// Where `path` leads if this view shows it. `None` for the place itself, and for a path that is not below it.
    fn lead(&self, path: &Path) -> Option<PathBuf> {
        let rest = canonical::below(&self.place, path).filter(|rest| !rest.as_os_str().is_empty());
        rest.map(|rest| self.backing.join(rest))
    }
}

/// All pairs of a path and the path that names lead to instead. A view or a rule below the place of another view holds
/// under both its names: its own, and the one below that view's backing.
pub(super) fn ways(views: &[View], grants: &[Grant]) -> Vec<(PathBuf, PathBuf)> {
    let own = views.iter().map(|view| (view.place.clone(), view.backing.clone()));
    let rules = grants.iter().map(|grant| (&grant.anchor, &grant.anchor));
    let is_place = |path: &Path| views.iter().any(|view| view.place == path);
    let shown: Vec<_> = views
        .iter()
        .map(|view| (&view.place, &view.backing))
        .chain(rules.filter(|(anchor, _)| !is_place(anchor)))
        .collect();
    let nearest = |path: &Path| {
        let above = views.iter().filter(|view| view.lead(path).is_some());
        above.max_by_key(|view| view.place.as_os_str().len())
    };
    let others = shown.into_iter().filter_map(|(place, backing)| {
        let other = nearest(place)?.lead(place).filter(|other| other != backing)?;
        Some((other, backing.clone()))
    });
    own.chain(others).collect()
}

/// The table of views, without those that show what another one shows anyway. Their paths go into the image's `bytes`.
pub(super) fn of_image(views: &[View], bytes: &mut Vec<u8>) -> Result<Vec<ImageView>, BuildError> {
    let mut path = |path: &Path| intern(bytes, path.as_os_str().as_bytes());
    let view =
        |view: &View| Ok(ImageView { place: path(&view.place)?, backing: path(&view.backing)? });
    let is_implied = |view: &View| {
        views.iter().any(|other| other.lead(&view.place).as_ref() == Some(&view.backing))
    };
    views.iter().filter(|shown| !is_implied(shown)).map(view).collect()
}
