//! The second form of an image, in which all names are folded. It says what a policy denies where case is ignored. Used
//! by `decide` and `lookup`, which ask it there besides the first form.

use super::{Image, folded_edge_hash};
use crate::layout::{ImageError, Node, part, table};
use crate::volume::{Comparison, Folds, ImageVolume, Names};

/// The second form of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form<'a> {
    /// Case is ignored nowhere.
    Needless,
    /// It is not in memory, so nothing is allowed.
    Missing,
    /// It is in memory.
    Kept(&'a Image<'a>),
}

impl<'a> Image<'a> {
    /// As [`Self::parse`], for an image that is used as long as the process lives. If case is ignored anywhere, its
    /// second form stays in memory.
    ///
    /// # Errors
    /// As for [`Self::parse`].
    #[cfg(feature = "std")]
    pub fn read(whole: &'a [u8]) -> Result<Self, ImageError> {
        let image = Self::parse(whole)?;
        let keep = |form| image.keeping(std::boxed::Box::leak(std::boxed::Box::new(form)));
        Ok(image.form()?.map_or(image, keep))
    }

    /// Whether case is ignored anywhere.
    #[must_use]
    pub const fn ignores_case(&self) -> bool {
        !matches!(self.form, Form::Needless)
    }

    /// The form with folded names, for a caller that keeps it ([`Self::keeping`]). `None` if case is ignored nowhere.
    ///
    /// # Errors
    /// See [`ImageError`].
    #[cold]
    #[inline(never)]
    pub fn form(&self) -> Result<Option<Self>, ImageError> {
        match part(self.whole, self.header.folded) {
            [] => Ok(None),
            whole => Self::parse(whole).map(Some),
        }
    }

    /// This image, together with its form with folded names.
    #[must_use]
    pub const fn keeping(self, form: &'a Self) -> Self {
        Self { form: Form::Kept(form), ..self }
    }

    /// This image and those of the runs around it, from the inside out, each with the number of its level. If case is
    /// ignored at one of these canonical paths, an image's second form follows it. `None` stands for a form that allows
    /// nothing, because it is unknown which names are equal.
    #[inline]
    pub(crate) fn forms<'s>(&'s self, paths: [&'s [u8]; 2]) -> Forms<'s, 'a> {
        Forms { next: Some(self), before: None, count: 0, paths }
    }

    /// The second form if case is ignored at one of the paths. [`Form::Missing`] also if it is unknown which names are
    /// equal.
    #[cold]
    #[inline(never)]
    pub(crate) fn form_at(&self, paths: [&[u8]; 2]) -> Form<'a> {
        let Form::Kept(form) = self.form else { return self.form };
        let Ok(volumes) = table::<ImageVolume>(form.whole, form.header.volumes) else {
            return Form::Missing;
        };
        let on = |volume: &ImageVolume| {
            paths.map(|path| volume.compares(form.string(volume.root), path)).into_iter().max()
        };
        match volumes.iter().filter_map(on).max().unwrap_or(Comparison::Exact) {
            Comparison::Exact => Form::Needless,
            Comparison::Folded => self.form,
            Comparison::Unknown => Form::Missing,
        }
    }

    /// How names of this image are compared.
    #[inline]
    pub(crate) const fn names(&self) -> Names<'_> {
        Names::by(self.folds.as_ref())
    }

    /// As [`Image::child`], by the folded name.
    #[cold]
    #[inline(never)]
    pub(super) fn child_folded(
        &self,
        folds: &Folds<'_>,
        parent: u32,
        name: &[u8],
    ) -> Option<(u32, &'a Node)> {
        let mut hash = parent;
        let _ = folds.each(name, |byte| {
            hash = folded_edge_hash(hash, byte);
            Some(())
        });
        self.child_by(parent, hash, |known| folds.equals(name, known))
    }
}

/// See [`Image::forms`].
pub(crate) struct Forms<'s, 'a> {
    next: Option<&'s Image<'a>>,
    /// The image whose second form comes next, if it has one.
    before: Option<&'s Image<'a>>,
    /// The number of images so far.
    count: u8,
    paths: [&'s [u8]; 2],
}

impl<'s, 'a> Iterator for Forms<'s, 'a> {
    type Item = (u8, Option<&'s Image<'a>>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(before) = self.before.take().filter(|image| image.ignores_case()) {
            let level = self.count.saturating_sub(1);
            match before.form_at(self.paths) {
                Form::Kept(form) => return Some((level, Some(form))),
                Form::Missing => return Some((level, None)),
                Form::Needless => {}
            }
        }
        let image = self.next?;
        let level = self.count;
        (self.next, self.before) = (image.outer, Some(image));
        self.count = level.saturating_add(1);
        Some((level, Some(image)))
    }
}
