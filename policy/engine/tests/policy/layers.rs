//! Merges layers, as spec §2.6 says.

use jp_confine_engine::layers::{Layer, Layered, merge};
use jp_confine_engine::model::FsRule;

/// Merges layers of numbers, written as JSON, and counts the warnings.
fn merged(layers: &[&str]) -> (Vec<u32>, usize) {
    let layers = layers.iter().map(|json| Layer {
        name: (*json).to_owned(),
        list: serde_json::from_str::<Layered<u32>>(json).unwrap(),
    });
    let (list, warnings) = merge(layers);
    (list, warnings.len())
}

macro_rules! rows {
    ($($name:ident: [$($layer:literal),*] => $list:expr, $warnings:literal;)*) => {$(
        #[test]
        fn $name() {
            assert_eq!(merged(&[$($layer),*]), (Vec::<u32>::from($list), $warnings));
        }
    )*};
}

rows! {
    no_layer: [] => [], 0;
    // conformance: 076-160
    plain_appends: ["[1]", "[2]"] => [1, 2], 0;
    append: ["[1]", r#"{"strategy":"append","value":[2]}"#] => [1, 2], 0;
    // conformance: 076-24
    append_is_the_default: ["[1]", r#"{"value":[2]}"#] => [1, 2], 0;
    // conformance: 076-159
    prepend: ["[1, 2]", r#"{"strategy":"prepend","value":[3, 4]}"#] => [3, 4, 1, 2], 0;
    // conformance: 076-27
    replace: ["[1]", r#"{"strategy":"replace","value":[2]}"#, "[3]"] => [2, 3], 0;
    replace_with_nothing_warns: ["[1]", r#"{"strategy":"replace","value":[]}"#] => [], 1;
    replace_with_nothing_alone_warns: [r#"{"strategy":"replace","value":[]}"#] => [], 1;
    declared_again_does_not_warn: ["[1]", r#"{"strategy":"replace","value":[]}"#, "[2]"] => [2], 0;
    empty_layers_do_not_warn: ["[]", "[]"] => [], 0;
    empty_append_changes_nothing: ["[1]", "[]"] => [1], 0;
    dedup_keeps_the_last: ["[1, 2]", r#"{"value":[1],"dedup":true}"#] => [2, 1], 0;
    dedup_lasts: [r#"{"value":[1],"dedup":true}"#, "[2]", "[1]"] => [2, 1], 0;
    dedup_withdrawn: [r#"{"value":[1],"dedup":true}"#, r#"{"value":[1],"dedup":false}"#] => [1, 1], 0;
    no_dedup: ["[1]", "[1]"] => [1, 1], 0;
    discarded_default: [r#"{"value":[1],"discard_when_merged":true}"#, "[2]"] => [2], 0;
    default_kept_alone: [r#"{"value":[1],"discard_when_merged":true}"#] => [1], 0;
    discarded_by_nothing_warns: [r#"{"value":[1],"discard_when_merged":true}"#, "[]"] => [], 1;
    discarded_once: [r#"{"value":[1],"discard_when_merged":true}"#, "[2]", "[3]"] => [2, 3], 0;
}

#[test]
fn the_warning_names_the_layer() {
    let layer = |name: &str, json| Layer {
        name: name.to_owned(),
        list: serde_json::from_str::<Layered<u32>>(json).unwrap(),
    };
    let (_, warnings) =
        merge([layer("a", "[1]"), layer("b", r#"{"strategy":"replace","value":[]}"#)]);
    assert!(warnings[0].to_string().starts_with("b leaves `access.fs` empty"));
}

#[test]
fn wrong_keys_are_named_in_either_form() {
    let error = |json| serde_json::from_str::<Layered<FsRule>>(json).unwrap_err().to_string();
    assert!(error(r#"[{"path":"a","raed":true}]"#).contains("raed"));
    assert!(error(r#"{"value":[],"stratgy":"append"}"#).contains("stratgy"));
    assert!(error(r#"{"value":[],"strategy":"overwrite"}"#).contains("overwrite"));
    assert!(error("7").contains("a list, or an object"));
}
