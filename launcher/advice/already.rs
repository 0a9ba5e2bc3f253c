//! What was to be made and is there already, hidden from who was to make it. That call fails whatever is granted, and
//! whoever makes all directories above another one goes on as soon as it hears why.

use std::path::Path;

use jp_confine_policy::Capabilities;

use super::{Advisor, Means, Trial};
use crate::asked::{Asked, path_of};
use crate::events::Denial;
use crate::in_vain::opens_to_write;

/// What calls begin with that make an entry where there is none, and do nothing else.
const MAKING: [&[u8]; 4] = [b"mkdir", b"mkfifo", b"mknod", b"symlink"];

/// What is said of a directory, for which there is less than what is advised.
const DIRECTORY: &str =
    "it is there already: it has to be seen, and a grant on what is to be in it shows it, too";

/// What is said of anything else.
const OTHER: &str = "it is there already: it has to be seen";

impl Advisor<'_> {
    /// What was `asked` for as what is to be seen, if that is all that a grant on it helps with. Looks at the disk.
    pub(super) fn as_seen<'d>(&self, denial: &Denial, asked: Asked<'d>) -> Asked<'d> {
        let Asked::Access(entry, _) = asked else { return asked };
        let makes = denial.missing == Capabilities::CREATE
            && MAKING.iter().any(|call| denial.call.starts_with(call));
        let found = path_of(entry.path).symlink_metadata();
        let fails = found.is_ok_and(|it| makes || it.is_dir() && opens_to_write(denial));
        let sight = Asked::Sight(entry);
        if fails && !self.allows(sight) { sight } else { asked }
    }

    /// Whether it is allowed as things stand.
    pub(super) fn allows(&self, asked: Asked<'_>) -> bool {
        Trial::of(*self, Means::Options).allows(&[asked])
    }
}

/// What to say of what is `asked` for, if it is to be seen. Looks at the disk.
pub(super) fn is_there_already(asked: Asked<'_>) -> Option<String> {
    let Asked::Sight(entry) = asked else { return None };
    let is_directory = Path::is_dir(path_of(entry.path));
    Some(if is_directory { DIRECTORY } else { OTHER }.to_owned())
}
