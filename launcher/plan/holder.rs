//! Names the layers that hold one capability.

use jp_confine_engine::Capability;
use serde::Serialize;

pub(crate) use crate::record::event::LandlockPart;

/// The layers that hold one capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Holder {
    pub(crate) capability: Capability,
    /// The preload library decides in the process.
    pub(crate) library: bool,
    pub(crate) landlock: LandlockPart,
    /// The supervisor judges calls that the library did not make.
    pub(crate) supervisor: bool,
}

impl Holder {
    /// Held by the preload library alone.
    pub(crate) const fn library(capability: Capability) -> Self {
        Self { capability, library: true, landlock: LandlockPart::Absent, supervisor: false }
    }

    /// The names of the layers, in the order in which a call meets them.
    pub(crate) fn layers(self) -> String {
        let names = [
            (self.library, "library"),
            (self.supervisor, "supervisor"),
            (self.landlock == LandlockPart::Exact, "landlock"),
        ];
        let names: Vec<&str> =
            names.into_iter().filter_map(|(held, name)| held.then_some(name)).collect();
        let within =
            if self.landlock == LandlockPart::Bound { ", within landlock's bounds" } else { "" };
        let alone = self.library && names.len() == 1 && within.is_empty();
        format!("{}{within}{}", names.join(" + "), if alone { " (cooperative)" } else { "" })
    }
}
