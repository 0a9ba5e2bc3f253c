//! Finds places for new rules in policy files, writes the text of the rules, and changes the files. Used by
//! suggestions, reports, `allow` and `learn`.

pub(crate) mod change;
pub(crate) mod rule_place;
pub(crate) mod rule_places;
pub(crate) mod rule_text;
pub(crate) mod section;
pub(crate) mod user_lists;
