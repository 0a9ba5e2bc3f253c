//! The compiled policy as one flat piece of memory: its layout and its reader.
//!
//! The launcher writes an image once ([`crate::build`]) into a sealed memfd. Every confined process maps it and borrows
//! from the mapping. Nothing is parsed or copied. The cost of a lookup does not depend on the number of rules. They
//! form a trie of path components whose edges are one open-addressed hash table.
//!
//! Invariants: this module never allocates and cannot panic. It checks every index from the image where it is used, so
//! that no damaged image leads outside itself.

#[cfg(feature = "std")]
mod anchors;
mod behind;
mod beyond;
mod folded;
mod sums;
pub(crate) mod tiers;
pub(crate) mod walk;

use zerocopy::FromBytes as _;

pub use self::behind::Behind;
pub(crate) use self::folded::Form;
pub use self::sums::checksum;
#[cfg(feature = "std")]
pub(crate) use self::sums::mix;
pub(crate) use self::sums::{edge_hash, folded_edge_hash};
pub(crate) use self::tiers::TierLayer;
use crate::components::leads_to;
use crate::image::walk::WalkHead;
use crate::layout::{
    Base, Command, Header, ImageView, Line, MAGIC, Node, Rule, Slot, Span, TIED, VERSION, Variable,
    part, table,
};
pub use crate::layout::{ImageError, RuleId, Text};
use crate::volume::Folds;

/// Offsets in bytes of the fields that the reader checks. Tests use them to damage images.
pub mod offsets {
    use crate::layout::Header;

    /// The [`checksum`](super::checksum), a little-endian `u64`.
    pub const CHECKSUM: usize = core::mem::offset_of!(Header, checksum);
    /// The first byte that the checksum covers.
    pub const COVERED: usize = Header::SUMMED;
    /// The offset, a little-endian `u32`, of the JSON text. The checksum covers the bytes before it.
    pub const END: usize = core::mem::offset_of!(Header, json);
}

/// Most runs that can be nested.
pub const LEVELS: usize = 8;

/// A validated image.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    header: &'a Header,
    nodes: &'a [Node],
    slots: &'a [Slot],
    rules: &'a [Rule],
    patterns: &'a [Span],
    tiers: Option<TierLayer<'a>>,
    autorun: &'a [Base],
    /// How many of these, from the start, can concern paths in the workspace.
    near: usize,
    views: &'a [ImageView],
    variables: &'a [Variable],
    commands: &'a [Command],
    lines: &'a [Line],
    words: &'a [Span],
    bytes: &'a [u8],
    whole: &'a [u8],
    head: Option<WalkHead<'a>>,
    /// How names are folded before they are looked up, if the image has folded names.
    folds: Option<Folds<'a>>,
    form: Form<'a>,
    outer: Option<&'a Image<'a>>,
}

impl<'a> Image<'a> {
    /// Validates `whole`, which may be followed by padding, and borrows from it.
    ///
    /// # Errors
    /// [`ImageError`]. The caller must then deny everything.
    pub fn parse(whole: &'a [u8]) -> Result<Self, ImageError> {
        let (header, _) = Header::ref_from_prefix(whole).map_err(|_| ImageError::Truncated)?;
        if header.magic != MAGIC {
            return Err(ImageError::Magic);
        }
        if header.version.get() != VERSION {
            return Err(ImageError::Version);
        }
        let whole = whole.get(..header.length.get() as usize).ok_or(ImageError::Truncated)?;
        let body = whole
            .get(Header::SUMMED..header.json.offset.get() as usize)
            .ok_or(ImageError::Layout)?;
        if checksum(body) != header.checksum.get() {
            return Err(ImageError::Checksum);
        }
        let folds = Folds::of(whole, header)?;
        let mut image = Self {
            header,
            nodes: table(whole, header.nodes)?,
            slots: table(whole, header.slots)?,
            rules: table(whole, header.rules)?,
            patterns: table(whole, header.patterns)?,
            tiers: TierLayer::of(whole, header, folds)?,
            autorun: table(whole, header.autorun)?,
            near: 0,
            views: table(whole, header.views)?,
            variables: table(whole, header.variables)?,
            commands: table(whole, header.commands)?,
            lines: table(whole, header.lines)?,
            words: table(whole, header.words)?,
            bytes: table(whole, header.bytes)?,
            whole,
            head: None,
            folds,
            form: if header.folded.count.get() == 0 { Form::Needless } else { Form::Missing },
            outer: None,
        };
        if image.nodes.is_empty() || !image.slots.len().is_power_of_two() {
            return Err(ImageError::Layout);
        }
        // Not a copy: the preload library reads it on a stack that may be small.
        image.head = WalkHead::of(&image, image.text(Text::Workspace));
        image.near = image.count_near();
        Ok(image)
    }

    /// The image of a run inside another run. Both must allow a request.
    #[must_use]
    pub const fn inside(self, outer: &'a Self) -> Self {
        Self { outer: Some(outer), ..self }
    }

    /// The image of the run around this one, if there is one.
    #[must_use]
    pub const fn outer(&self) -> Option<&'a Self> {
        self.outer
    }

    /// This image and those of the runs around it, from the inside out.
    pub fn levels(&self) -> impl Iterator<Item = &Self> {
        core::iter::successors(Some(self), |image| image.outer)
    }

    /// The image of the run around all others.
    #[must_use]
    pub fn outermost(&self) -> &Self {
        self.levels().last().unwrap_or(self)
    }

    /// The image `level` runs further out, or the outermost if there are not that many.
    #[must_use]
    pub fn at_level(&self, level: u8) -> &Self {
        self.levels().nth(level.into()).unwrap_or_else(|| self.outermost())
    }

    /// The random number of this run.
    #[must_use]
    pub fn session(&self) -> u64 {
        self.header.session.get()
    }

    /// The layers that back up the preload library in this run.
    #[must_use]
    pub fn behind(&self) -> Behind {
        Behind::from_bits(self.header.behind.get())
    }

    /// Whether this run and those around it also confine programs that the preload library cannot enter.
    #[must_use]
    pub fn holds_other_programs(&self) -> bool {
        self.levels().all(|image| image.behind().other_programs)
    }

    /// Whether Landlock allows reading files exactly as this run and those around it do.
    #[inline]
    #[must_use]
    pub fn holds_reads(&self) -> bool {
        self.levels().all(|image| image.behind().reads)
    }

    /// As [`Self::holds_reads`], for listing directories.
    #[must_use]
    pub fn holds_listings(&self) -> bool {
        self.levels().all(|image| image.behind().listings)
    }

    /// Whether granted directories are known to contain device nodes, in this run or one around it. If so, each open
    /// has to check for them.
    #[must_use]
    pub fn judges_devices(&self) -> bool {
        self.levels().any(|image| image.behind().devices)
    }

    /// Whether somebody learns from the supervisor's records of this run, or of one around it.
    #[must_use]
    pub fn is_learned_from(&self) -> bool {
        self.levels().any(|image| image.behind().learns)
    }

    /// Whether the spelling of a path can matter in this run or one around it: to tiers, or between external rules.
    #[must_use]
    pub fn heeds_spellings(&self) -> bool {
        self.levels().any(|image| image.tiers.is_some() || image.is_tied())
    }

    /// As [`Self::heeds_spellings`], for changes: an auto-run file may be named through a symlink.
    #[must_use]
    pub fn heeds_spellings_of_changes(&self) -> bool {
        self.heeds_spellings() || self.levels().any(|image| !image.autorun.is_empty())
    }

    /// Whether the spelling decides between external rules on one anchor of this run (spec §5.1).
    #[must_use]
    pub fn is_tied(&self) -> bool {
        self.header.flags.get() & TIED != 0
    }

    /// Whether a supervisor judges servers of abstract names, and nothing else does.
    #[must_use]
    pub fn judges_abstract_names(&self) -> bool {
        let any = |is: fn(&Behind) -> bool| self.levels().any(|image| is(&image.behind()));
        any(|behind| behind.supervisor) && !any(|behind| behind.scoped)
    }

    /// One of the texts, without a terminating NUL. Empty if the writer gave none.
    #[must_use]
    pub fn text(&self, text: Text) -> &'a [u8] {
        self.header.texts.get(text as usize).map_or(&[], |&span| self.string(span))
    }

    /// The compiled policy as JSON, for tools that check themselves (RFD 076).
    #[must_use]
    pub fn json(&self) -> &'a [u8] {
        table(self.whole, self.header.json).unwrap_or(&[])
    }

    /// Every byte of the image, for a process that must pass it to a child anew.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.whole
    }

    /// The tier layer, if there is one.
    pub(crate) const fn tiers(&self) -> Option<&TierLayer<'a>> {
        self.tiers.as_ref()
    }

    /// The places where patterns of the built-in list of auto-run files begin.
    pub(crate) const fn autorun(&self) -> &'a [Base] {
        self.autorun
    }

    /// As [`Self::autorun`], without those that are unrelated to the path: neither above it, nor at it, nor below.
    #[inline(never)] // keeps its stack use from adding up
    pub(crate) fn autorun_about(&self, path: &[u8]) -> &'a [Base] {
        let is_of_workspace = leads_to(self.text(Text::Workspace), path);
        let near = if is_of_workspace { self.near } else { self.autorun.len() };
        self.autorun.get(..near).unwrap_or(self.autorun)
    }

    /// See [`Self::autorun_about`]: the writer puts these first. If names are folded, all count.
    fn count_near(&self) -> usize {
        let workspace = self.text(Text::Workspace);
        let is_near = |base: &Base| {
            let base = self.string(base.path);
            self.folds.is_some() || leads_to(base, workspace) || leads_to(workspace, base)
        };
        self.autorun.iter().rposition(is_near).map_or(0, |last| last.wrapping_add(1))
    }

    /// The views of the run.
    pub(crate) const fn views(&self) -> &'a [ImageView] {
        self.views
    }

    /// The path to the workspace.
    pub(crate) const fn head(&self) -> Option<&WalkHead<'a>> {
        self.head.as_ref()
    }

    pub(crate) fn root(&self) -> Option<&'a Node> {
        self.nodes.first()
    }

    pub(crate) fn rule(&self, id: u32) -> Option<&'a Rule> {
        self.rules.get(id as usize)
    }

    pub(crate) fn string(&self, span: Span) -> &'a [u8] {
        part(self.bytes, span)
    }

    pub(crate) fn patterns_of(&self, rule: &Rule) -> impl Iterator<Item = &'a [u8]> {
        let strings = self.bytes;
        part(self.patterns, rule.patterns).iter().map(move |&span| part(strings, span))
    }

    /// The child of node `parent` along the component `name`.
    pub(crate) fn child(&self, parent: u32, name: &[u8]) -> Option<(u32, &'a Node)> {
        match &self.folds {
            None => self.child_by(parent, edge_hash(parent, name), |known| known == name),
            Some(folds) => self.child_folded(folds, parent, name),
        }
    }

    /// The child whose edge has this hash and a name for which `is_it` holds.
    fn child_by(
        &self,
        parent: u32,
        hash: u32,
        is_it: impl Fn(&[u8]) -> bool,
    ) -> Option<(u32, &'a Node)> {
        let mask = self.slots.len().wrapping_sub(1);
        for probe in 0..self.slots.len() {
            let slot = self.slots.get((hash as usize).wrapping_add(probe) & mask)?;
            let child = slot.child.get();
            if child == 0 {
                return None;
            }
            if slot.hash.get() == hash
                && slot.parent.get() == parent
                && is_it(self.string(slot.name))
            {
                return self.nodes.get(child as usize).map(|node| (child, node));
            }
        }
        None
    }
}
