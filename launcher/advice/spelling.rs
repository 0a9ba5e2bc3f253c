//! What is advised of a denial that no rule of this run seems to explain. Used by `trial`.

use jp_confine_policy::case;

use crate::advice::request::Asked;

/// Where a file system takes names for equal that differ in case: trials compare names by their bytes.
const EQUAL: &str = "the file system ignores case there, and this name is equal to one that the policy keeps, or may \
                     be; use another name";

/// For everything else.
const AROUND: &str = "the policy allows it now; a run around this one may not";

/// Why what a trial allows was denied. Looks at the disk.
pub(super) fn why_denied(asked: Asked<'_>) -> &'static str {
    if asked.spellings().any(case::is_ignored_around) { EQUAL } else { AROUND }
}
