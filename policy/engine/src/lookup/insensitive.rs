//! Looks up paths where names that differ in case are equal. A denial holds for every spelling, and a grant for its own
//! spelling alone (spec §4.4). Used by `lookup`.

use super::lookup;
use crate::capability::Capabilities;
use crate::image::{Form, Image};
use crate::reaches::Reaches;
use crate::request::{Lookup, Request};

/// As [`lookup`]. If case is ignored, the form with folded names may withhold more.
#[must_use]
pub fn narrowed(image: &Image<'_>, request: &Request<'_>) -> Lookup {
    let found = lookup(image, request);
    match image.form_at([request.path; 2]) {
        Form::Needless => found,
        Form::Missing => found.meet(NOTHING),
        Form::Kept(form) => found.meet(lookup(form, request)),
    }
}

/// The answer if it is unknown which names are equal.
const NOTHING: Lookup = Lookup {
    rule: None,
    caps: Capabilities::NONE,
    asks: Capabilities::NONE,
    withheld: Capabilities::NONE,
    restraint: None,
    limit: None,
    hidden: false,
    below_all: Capabilities::NONE,
    below_any: Capabilities::NONE,
    visible: 0,
    autorun: Capabilities::NONE,
    restrained_below: true,
    withheld_below: true,
    reaches_below: Reaches::NONE,
};

impl Lookup {
    /// The answer that both forms agree on.
    #[cold]
    fn meet(self, other: Self) -> Self {
        let had = |of: &Self| of.caps.union(of.asks);
        let caps = self.caps.intersection(other.caps);
        let granted = self.caps.union(self.withheld).intersection(other.caps.union(other.withheld));
        let blamed = if other.caps.contains(had(&self)) { self } else { other };
        Self {
            caps,
            asks: had(&self).intersection(had(&other)).difference(caps),
            withheld: granted.difference(caps),
            hidden: self.hidden || other.hidden,
            below_all: self.below_all.intersection(other.below_all),
            below_any: self.below_any.union(other.below_any),
            visible: self.visible,
            autorun: self.autorun.union(other.autorun).intersection(granted.difference(caps)),
            restrained_below: self.restrained_below || other.restrained_below,
            withheld_below: self.withheld_below || other.withheld_below,
            reaches_below: self.reaches_below.union(other.reaches_below),
            ..blamed
        }
    }
}
