//! Normalises paths lexically, as spec §3 says.

use std::os::unix::ffi::OsStrExt as _;

use jp_confine_engine::lexical::{LexicalError, normalise};
use proptest::prelude::*;

macro_rules! rows {
    ($($name:ident: $input:expr => $expected:expr;)*) => {$(
        #[test]
        fn $name() {
            let found = normalise($input).map(|path| path.as_os_str().as_bytes().to_vec());
            let expected: Result<&[u8], LexicalError> = $expected;
            assert_eq!(found, expected.map(<[u8]>::to_vec));
        }
    )*};
}

rows! {
    plain: b"src/lib.rs" => Ok(b"src/lib.rs");
    root: b"." => Ok(b"");
    root_with_slash: b"./" => Ok(b"");
    root_by_parent: b"src/.." => Ok(b"");
    empty: b"" => Err(LexicalError::Empty);
    absolute: b"/etc" => Err(LexicalError::Absolute);
    absolute_root: b"/" => Err(LexicalError::Absolute);
    absolute_before_escape: b"/../x" => Err(LexicalError::Absolute);
    trailing_slash: b"src/" => Ok(b"src");
    leading_dot: b"./src" => Ok(b"src");
    // conformance: 076-80
    double_slash: b"src//a" => Ok(b"src/a");
    inner_dot: b"src/./a" => Ok(b"src/a");
    // conformance: 076-80
    parent: b"a/../b" => Ok(b"b");
    parent_at_end: b"a/b/.." => Ok(b"a");
    escape: b".." => Err(LexicalError::Escape);
    escape_and_back: b"../w/x" => Err(LexicalError::Escape);
    // conformance: 076-81
    escape_late: b"a/../../b" => Err(LexicalError::Escape);
    escape_after_empty: b"a//../.." => Err(LexicalError::Escape);
    three_dots_are_a_name: b".../a" => Ok(b".../a");
    nul: b"a\0b" => Err(LexicalError::Nul);
    nul_in_popped_component: b"a\0/../b" => Err(LexicalError::Nul);
    nothing_expands: b"~/$HOME/*?[a]{b}" => Ok(b"~/$HOME/*?[a]{b}");
    not_utf8: b"a/\xff" => Ok(b"a/\xff");
    backslash_is_a_byte: b"a\\..\\b" => Ok(b"a\\..\\b");
    spaces: b" / " => Ok(b" / ");
}

proptest! {
    #[test]
    fn normal_form_is_normal(input in "[a./]{0,24}") {
        if let Ok(normal) = normalise(input.as_bytes()) {
            let text = normal.to_str().unwrap();
            prop_assert!(!text.starts_with('/') && !text.ends_with('/'));
            prop_assert!(text.is_empty() || text.split('/').all(|name| !matches!(name, "" | "." | "..")));
            let again = if text.is_empty() { "." } else { text };
            prop_assert_eq!(normalise(again.as_bytes()).unwrap(), normal);
        }
    }

    #[test]
    fn depth_decides_escape(input in "[a./]{1,24}") {
        prop_assume!(!input.starts_with('/'));
        let mut depth = 0_i32;
        let mut lowest = 0;
        for name in input.split('/') {
            depth += match name { "" | "." => 0, ".." => -1, _ => 1 };
            lowest = lowest.min(depth);
        }
        prop_assert_eq!(normalise(input.as_bytes()) == Err(LexicalError::Escape), lowest < 0);
    }
}
