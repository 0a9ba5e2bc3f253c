//! For tools in Rust.
