//! Tests the policy crate from outside: one topic per module, with table rows where they help.

mod alone;
mod apart;
mod arrival;
mod authorize;
#[allow(dead_code, reason = "it has a `main` of its own")]
#[path = "../../examples/authorize.rs"]
mod authorize_example;
mod autorun;
mod autorun_document;
mod beyond;
mod canonical;
mod case;
mod characters;
mod check;
mod compile;
mod evaluator;
mod example;
mod explain;
mod granted;
mod kernel;
mod layers;
mod lexical;
mod messages;
mod model;
mod moves;
mod operations;
mod patterns;
mod pin;
mod place;
mod tiers;
mod workspace;
