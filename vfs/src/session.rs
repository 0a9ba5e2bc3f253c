//! One tool, from start to end.
