//! Edits what people wrote in policy files.

pub(crate) mod rule_place;
pub(crate) mod rule_places;
pub(crate) mod rule_text;
pub(crate) mod section;
pub(crate) mod user_lists;
