//! The views of the run around this one, if this launcher is itself a confined program. Used wherever the launcher
//! compiles or compares paths: a policy judges real paths, and the launcher's own names lead through those views.

use std::ffi::{OsStr, OsString};
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use jp_confine_engine::build::View;
use jp_confine_engine::image::Image;
use jp_confine_engine::views;

use crate::sys::{child, memfd};

/// The image of the innermost run around this one, if it has views.
#[derive(Debug, Default)]
pub(crate) struct OuterViews(Option<Vec<u8>>);

impl OuterViews {
    /// Those of the run whose descriptors the variable names. Without a readable image there are none, and
    /// [`crate::launch::outer_run`] says why the program does not start.
    pub(crate) fn find(handles: Option<&OsStr>) -> Self {
        let innermost = handles.and_then(|text| innermost(text.to_str()?));
        let image = innermost.and_then(|fd| memfd::read_sealed(child::duplicate(fd)).ok()?);
        Self(image.filter(|image| Image::parse(image).is_ok_and(|image| views::exist(&image))))
    }

    /// Where the canonical path `named` leads in reality.
    pub(crate) fn real(&self, named: PathBuf) -> PathBuf {
        self.apply(views::led, &named).unwrap_or(named)
    }

    /// The name by which this launcher knows a real path.
    pub(crate) fn seen(&self, real: &Path) -> PathBuf {
        self.apply(views::seen, real).unwrap_or_else(|| real.to_owned())
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<View> {
        self.image().map_or_else(Vec::new, |image| views::all(&image))
    }

    fn apply(
        &self,
        way: for<'p> fn(&Image<'_>, &'p [u8]) -> std::borrow::Cow<'p, [u8]>,
        path: &Path,
    ) -> Option<PathBuf> {
        let path = way(&self.image()?, path.as_os_str().as_bytes()).into_owned();
        Some(OsString::from_vec(path).into())
    }

    fn image(&self) -> Option<Image<'_>> {
        Image::parse(self.0.as_ref()?).ok()
    }
}

/// The descriptor of the innermost image, from `IMAGE:PAGE[:IMAGE]…`.
fn innermost(handles: &str) -> Option<RawFd> {
    match numbers(handles)?.as_slice() {
        [image, _page] => Some(*image),
        [_, _page, .., image] => Some(*image),
        _ => None,
    }
}

/// The descriptors in the variable. `None` if one is no number.
pub(crate) fn numbers(handles: &str) -> Option<Vec<RawFd>> {
    handles.split(':').map(|number| number.parse().ok()).collect()
}
