//! What the kernel refuses by itself is refused in the same way: same errno, no crash.

use crate::attack::{arena, call};
use crate::run::Mode;
use crate::scratch::Scratch;

fn assert_same_answers(line: &str) {
    let (bare, confined) = (arena(Scratch::new()), arena(Scratch::new()));
    let bare = call(&bare, Mode::Bare, line);
    let confined = call(&confined, Mode::Confined, line);
    assert!(bare.stdout.ends_with("ok\n"), "{bare}");
    for (bare, confined) in bare.stdout.lines().zip(confined.stdout.lines()) {
        assert_eq!(bare, confined, "bare on the left, confined on the right");
    }
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
