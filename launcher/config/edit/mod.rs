//! Finds places for new rules in policy files, and writes the text of the rules. Used by suggestions, reports and
//! `learn`.

pub(crate) mod rule_place;
pub(crate) mod rule_places;
pub(crate) mod rule_text;
pub(crate) mod section;
pub(crate) mod user_lists;
