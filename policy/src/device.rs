//! Devices, which are what their numbers say, wherever their nodes are (spec §12.1).
//!
//! Asked by whoever opens a node, beside what the policy says of its path.

use crate::capability::Capabilities;
use crate::decide::{self, Denial, Request, Verdict};
use crate::image::Image;
use crate::lookup;

/// Where nodes have the names that the policy knows.
const USUAL: &[u8] = b"/dev/";

/// A device, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// It is one for blocks, and not for characters.
    pub is_block: bool,
    /// The driver.
    pub major: u32,
    /// Which of the driver's.
    pub minor: u32,
}

impl Device {
    /// Whether programs have it everywhere: null, zero, full, random, urandom, tty, ptmx, and pseudo-terminals. The mark
    /// of overlay filesystems, 0:0, counts too: it is no device (`Documentation/admin-guide/devices.txt`).
    #[must_use]
    pub const fn is_everyday(self) -> bool {
        !self.is_block
            && matches!(
                (self.major, self.minor),
                (0, 0) | (1, 3 | 5 | 7 | 8 | 9) | (5, 0 | 2) | (136..=143, _)
            )
    }
}

/// Whether the node at the path of `request` may be used for `need`, where the policy allows that at its path. In the
/// usual place the name says which device it is. Elsewhere a grant on a directory means files, and no devices: they
/// need one of their own.
#[must_use]
pub fn judge(
    image: &Image<'_>,
    request: &Request<'_>,
    device: Device,
    need: Capabilities,
) -> Verdict {
    if device.is_everyday() || need.is_empty() || request.path.starts_with(USUAL) {
        return Verdict::Allow;
    }
    let mut levels = (0..=u8::MAX).zip(image.levels());
    let unnamed = levels.find(|(_, image)| !lookup::is_named(image, request));
    unnamed.map_or(Verdict::Allow, |(level, image)| {
        Verdict::Deny(Denial { level, ..decide::not_named(image, request, need) })
    })
}
