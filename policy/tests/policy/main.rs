//! The policy library from outside: one topic per module, table rows where a table says it best.

mod authorize;
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
mod pin;
mod place;
mod workspace;
