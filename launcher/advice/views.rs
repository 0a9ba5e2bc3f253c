//! Names recorded paths as programs know them through views, and explains denials at the places of views.

use std::borrow::Cow;

use jp_confine_engine::image::Text;
use jp_confine_engine::views;

use crate::advice::advisor::Advisor;
use crate::record::denial::Denial;
use crate::text::quote;

impl Advisor<'_> {
    /// The name by which the run knows a recorded path: below the place of a view, if it is below the backing.
    pub(crate) fn named<'p>(&self, path: &'p [u8]) -> Cow<'p, [u8]> {
        self.image.map_or(Cow::Borrowed(path), |image| views::seen(image, path))
    }

    /// Why the real files at the place of a view stay denied. Those in the place of a run's own temporary directory can be
    /// granted instead.
    pub(super) fn behind_view(&self, denial: &Denial) -> Option<String> {
        let image = self.image?;
        let backing = views::to_backing(image, &denial.path)?;
        if backing.target == image.text(Text::TempDir) {
            return None;
        }
        let led = backing.apply(&denial.path);
        Some(format!("a view shows {} there: use that path", quote::printable(&led)))
    }
}
