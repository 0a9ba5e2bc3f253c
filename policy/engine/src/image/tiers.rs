//! The tier layer as an image has it: the automaton of the patterns, and the default. `tier_layer` applies it.

use zerocopy::little_endian::U16;

use crate::automaton::{Automaton, State};
use crate::layout::{Header, ImageError, table};
use crate::tier::Tier;
use crate::volume::Folds;

/// The tier layer of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TierLayer<'a> {
    pub(crate) automaton: Automaton<'a>,
    pub(crate) default: Option<Tier>,
    /// A person is asked about granted paths that no pattern matches. Grants nothing.
    pub(crate) asks: bool,
}

/// Added to the number of the default in an image: see [`TierLayer::asks`].
pub(crate) const ASKS: u32 = 1 << 8;

impl<'a> TierLayer<'a> {
    /// The tier layer that the header names.
    #[cold] // like everything that is done once; keeps that code together
    pub(super) fn of(
        whole: &'a [u8],
        header: &Header,
        folds: Option<Folds<'a>>,
    ) -> Result<Option<Self>, ImageError> {
        if header.classes.count.get() == 0 {
            return Ok(None);
        }
        let automaton = Automaton {
            classes: table(whole, header.classes)?,
            states: table::<State>(whole, header.states)?,
            edges: table::<U16>(whole, header.edges)?,
            starts: table::<U16>(whole, header.starts)?,
            folds,
        };
        let default = header.default_tier.get();
        let (tier, asks) = (Tier::of_number(default & !ASKS), default & ASKS != 0);
        Ok(Some(Self { automaton, default: tier, asks }))
    }
}
