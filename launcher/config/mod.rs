//! Reads and edits configuration files, in TOML and JSON, and decodes them into the policy's model.

pub(crate) mod built_in;
pub(crate) mod decode;
mod decode_list;
mod decode_profile;
mod decode_received;
pub(crate) mod decode_resources;
mod decode_sandbox;
mod decode_tiers;
mod decode_tools;
pub(crate) mod document;
pub(crate) mod edit;
pub(crate) mod environment;
pub(crate) mod extends;
pub(crate) mod host_context;
pub(crate) mod host_presets;
pub(crate) mod layers;
mod lent_variables;
pub(crate) mod outside_pattern;
mod placed;
pub(crate) mod policy_files;
pub(crate) mod profile;
pub(crate) mod profile_keys;
pub(crate) mod profiles;
mod resources;
#[cfg(test)]
pub(crate) mod schema;
pub(crate) mod scope;
pub(crate) mod tiers;
mod typed;
mod uncounted;
pub(crate) mod written_view;

#[cfg(test)]
mod tests;
