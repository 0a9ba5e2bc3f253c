//! Who holds one capability, in a few words.

use jp_confine_policy::Capability;
use serde::Serialize;

/// What Landlock does for a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kernel {
    /// Nothing.
    Absent,
    /// It keeps within bounds that are wider or narrower than the policy.
    Bound,
    /// It holds what the policy says.
    Exact,
}

/// The layers that hold one capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Holder {
    pub(crate) capability: Capability,
    /// The preload library decides by itself.
    pub(crate) library: bool,
    pub(crate) landlock: Kernel,
    /// The supervisor judges calls that the library did not make.
    pub(crate) supervisor: bool,
}

impl Holder {
    /// The preload library holds it, and nobody else.
    pub(crate) const fn library(capability: Capability) -> Self {
        Self { capability, library: true, landlock: Kernel::Absent, supervisor: false }
    }

    /// The layers by name, the one that a call meets first in front.
    pub(crate) fn layers(self) -> String {
        let names = [
            (self.library, "shim"),
            (self.supervisor, "supervisor"),
            (self.landlock == Kernel::Exact, "landlock"),
        ];
        let names: Vec<&str> =
            names.into_iter().filter_map(|(held, name)| held.then_some(name)).collect();
        let within = if self.landlock == Kernel::Bound { ", within landlock's bounds" } else { "" };
        let alone = self.library && names.len() == 1 && within.is_empty();
        format!("{}{within}{}", names.join(" + "), if alone { " (cooperative)" } else { "" })
    }
}
