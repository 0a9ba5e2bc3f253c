//! The answers that tools get, wherever the files are.

mod both;
mod bounds;
mod disk;
mod handles;
mod ignored;
mod methods;
mod network;
mod people;
mod programs;
mod sdk;
mod session;
mod speed;

#[expect(dead_code, reason = "its `main` is for programs")]
#[path = "../../examples/edit.rs"]
mod edit_example;

#[path = "../../examples/rate.rs"]
mod rate_example;
