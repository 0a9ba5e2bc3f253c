//! Explains denials that no rule of this run accounts for. Used by `trial`.

use jp_confine_engine::case;

use crate::advice::request::Asked;

/// For file systems that ignore case: trials compare names byte by byte.
const EQUAL: &str = "the file system ignores case there, and this name is equal to one that the policy keeps, or may \
                     be; use another name";

/// For everything else.
const AROUND: &str = "the policy allows it now; a run around this one may not";

/// Why a request was denied that a trial allows. Looks at the disk.
pub(super) fn why_denied(asked: Asked<'_>) -> &'static str {
    if asked.spellings().any(case::is_ignored_around) { EQUAL } else { AROUND }
}
