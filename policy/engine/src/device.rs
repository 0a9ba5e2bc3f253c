//! Judges devices. A device is known by its numbers, wherever its node is (spec §12.1).
//!
//! Code that opens a node asks here, besides asking the policy about its path.

use crate::capability::Capabilities;
use crate::decide::Request;
use crate::image::Image;
use crate::lookup;
use crate::verdict::{self, Denial, Verdict};

/// The directory in which nodes have the names that the policy knows.
const USUAL: &[u8] = b"/dev/";

/// A device, by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Whether it is a block device, not a character device.
    pub is_block: bool,
    /// The number of the driver.
    pub major: u32,
    /// The number among the driver's devices.
    pub minor: u32,
}

impl Device {
    /// Whether programs have it everywhere: null, zero, full, random, urandom, tty, ptmx, and pseudo-terminals. The
    /// mark of overlay filesystems, 0:0, counts too, because it is no device (`Documentation/admin-guide/devices.txt`).
    #[must_use]
    pub const fn is_everyday(self) -> bool {
        !self.is_block
            && matches!(
                (self.major, self.minor),
                (0, 0) | (1, 3 | 5 | 7 | 8 | 9) | (5, 0 | 2) | (136..=143, _)
            )
    }
}

/// Whether the node at the path of `request` may be used for `need`, if the policy allows that at its path. In the
/// usual directory the name says which device it is. Elsewhere a grant on a directory covers files only: a device needs
/// a grant of its own.
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
        Verdict::Deny(Denial { level, ..verdict::not_named(image, request, need) })
    })
}
