//! The policy library from outside: one topic per module, table rows where a table says it best.

mod canonical;
mod check;
mod compile;
mod evaluator;
mod explain;
mod kernel;
mod layers;
mod lexical;
mod model;
mod operations;
mod place;
mod tiers;
