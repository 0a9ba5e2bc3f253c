//! What the kernel refuses by itself is refused in the same way: same errno, no crash.

use crate::attack::{arena, call};
use crate::run::Mode;
use crate::scratch::Scratch;

fn assert_same_answers(line: &str) {
    let (bare, confined) = (arena(Scratch::new()), arena(Scratch::new()));
    let bare = call(&bare, Mode::Bare, line);
    let confined = call(&confined, Mode::Confined, line);
    assert!(bare.stdout.lines().last().is_some_and(|line| line.starts_with("ok")), "{bare}");
    let pairs = bare.stdout.lines().zip(confined.stdout.lines());
    let different: Vec<_> = pairs.filter(|(bare, confined)| bare != confined).collect();
    assert!(different.is_empty(), "bare, then confined: {different:#?}");
    assert_eq!(bare.stdout, confined.stdout, "{confined}");
}

#[test]
fn null_pointers() {
    assert_same_answers("null_pointers");
}

#[test]
fn bad_pointers() {
    assert_same_answers("pointers");
}

#[test]
fn odd_names() {
    assert_same_answers("odd_names");
}

#[test]
fn odd_flags() {
    assert_same_answers("odd_flags");
}

#[test]
fn descriptor_numbers() {
    assert_same_answers("descriptor_numbers");
}

/// Everything that needs much room, on the smallest stack that a thread may have.
#[test]
fn smallest_stack() {
    assert_same_answers(
        "symlink dir d , symlink ../file dir/l , small_stack open d/l , small_stack write_creat d/new \
         , small_stack mkdir d/one , small_stack rename d/one d/two , small_stack link d/new d/other \
         , small_stack chmod d/l , small_stack truncate d/new , small_stack opendir d \
         , small_stack fopen d/l , small_stack unlink d/other , small_stack rmdir d/two \
         , small_stack spawn_self open d/l",
    );
}
