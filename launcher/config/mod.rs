//! What people write: files in two notations, decoded into the policy's model.

pub(crate) mod decode;
mod decode_list;
mod decode_profile;
mod decode_resources;
mod decode_sandbox;
mod decode_tiers;
mod decode_tools;
pub(crate) mod diagnostic;
pub(crate) mod document;
pub(crate) mod layers;
mod lent;
pub(crate) mod own_lists;
pub(crate) mod part;
mod resources;
pub(crate) mod rule_place;
pub(crate) mod rule_places;
pub(crate) mod scope;
pub(crate) mod tiers;
mod toml;
mod uncounted;

#[cfg(test)]
mod tests;
