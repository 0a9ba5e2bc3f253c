//! Names recorded paths as programs know them through views, and explains denials at the places of views.

use std::borrow::Cow;

use jp_confine_engine::views;

use crate::advice::advisor::Advisor;
use crate::record::denial::Denial;
use crate::text::quote;

impl Advisor<'_> {
    /// The name by which the run knows a recorded path: below the place of a view, if it is below the backing.
    pub(crate) fn named<'p>(&self, path: &'p [u8]) -> Cow<'p, [u8]> {
        self.image.map_or(Cow::Borrowed(path), |image| views::seen(image, path))
    }

    /// Why the real files at the place of a view stay denied.
    pub(super) fn behind_view(&self, denial: &Denial) -> Option<String> {
        let led = views::to_backing(self.image?, &denial.path)?.apply(&denial.path);
        Some(format!("a view shows {} there: use that path", quote::printable(&led)))
    }
}
