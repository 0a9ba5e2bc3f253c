//! Why no image can be written. Used by `build`, `table` and `tiers`.

use std::path::PathBuf;
use std::string::String;

/// Why no image could be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// An anchor or alias is not absolute and canonical.
    #[error("`{}` is not an absolute path without `.` and `..`", .0.display())]
    NotCanonical(PathBuf),
    /// Telling the patterns apart takes too much.
    #[error(
        "the patterns of file_policy are too intricate together: fewer `*` and `?` in one part take less, and where \
         `**` is in the middle of many, so do `<workspace>/folder/**/*.pem` for `**/folder/**/*.pem` and one with \
         braces for several, as `**/{{folder,other}}/**/*.{{pem,key}}`"
    )]
    TooIntricate,
    /// The patterns need a table that is too large.
    #[error(
        "the patterns of file_policy are too many for one table: `<workspace>/folder/**` takes less than all that is \
         in the folder by its name"
    )]
    TooManyPatterns,
    /// Not a valid name of variables.
    #[error("`{0}` is no name of variables")]
    Variable(String),
    /// The policy is larger than 4 GiB.
    #[error("the policy is too large")]
    TooLarge,
}
