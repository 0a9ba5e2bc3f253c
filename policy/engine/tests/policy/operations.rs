//! The requirements of operations (spec §5.2), with the no-gain rule for links and renames [R5].

use jp_confine_engine::decide::{self, Destination, OpenRequest, OpenVerdict, Request, Verdict};
use jp_confine_engine::image::Image;

use crate::place::{Place, letters};

/// `ok`, or the missing capabilities, with the prefix `2:` if the second path is at fault.
fn answer(verdict: Verdict) -> String {
    match verdict {
        Verdict::Allow => "ok".to_owned(),
        Verdict::Deny(denial) => {
            let which = if denial.second { "2:" } else { "" };
            format!("{which}{}", letters(denial.missing.iter()))
        }
    }
}

/// The answer to `call`: an operation and its workspace-relative paths.
fn ask(rules: &str, call: &str) -> String {
    let place = Place::new("");
    let policy = place.policy(rules, "");
    let image = Image::parse(&policy.image).unwrap();
    let mut words = call.split(' ');
    let operation = words.next().unwrap();
    let paths: Vec<_> = words.map(|path| place.root.as_path().join(path)).collect();
    let requests: Vec<_> =
        paths.iter().map(|path| Request::canonical(path.to_str().unwrap().as_bytes())).collect();
    match (operation, requests.as_slice()) {
        ("remove", [path]) => answer(decide::remove(&image, path)),
        ("link", [old, new]) => answer(decide::link(&image, old, new)),
        ("rename", [from, to]) => answer(decide::rename(&image, from, to, Destination::Missing)),
        ("replace", [from, to]) => answer(decide::rename(&image, from, to, Destination::Exists)),
        ("exchange", [from, to]) => answer(decide::rename(&image, from, to, Destination::Exchange)),
        (flags, [path]) => open(decide::open(&image, path, how(flags))),
        _ => panic!("{call}"),
    }
}

/// An open with these flags: `r`, `w`, `c` for `O_CREAT`, `e` for `O_EXCL`.
fn how(flags: &str) -> OpenRequest {
    let has = |flag| flags.contains(flag);
    OpenRequest {
        read: has('r'),
        write: has('w'),
        create: has('c'),
        exclusive: has('e'),
        bare: false,
    }
}

fn open(verdict: OpenVerdict) -> String {
    match verdict {
        OpenVerdict::Allow => "ok".to_owned(),
        OpenVerdict::OnlyNew(denial) => format!("new, else {}", letters(denial.missing.iter())),
        OpenVerdict::OnlyExisting(denial) => {
            format!("existing, else {}", letters(denial.missing.iter()))
        }
        OpenVerdict::Deny(denial) => letters(denial.missing.iter()),
    }
}

macro_rules! rows {
    ($($name:ident: $rules:literal, $call:literal => $expected:literal;)*) => {$(
        #[test]
        fn $name() {
            assert_eq!(ask($rules, $call), $expected);
        }
    )*};
}

rows! {
    open_read: ".:r", "r a" => "ok";
    open_read_denied: ".:w", "r a" => "r";
    open_write_needs_update: ".:rcd", "w a" => "u";
    open_both_needs_both: ".:c", "rw a" => "ru";
    open_create: ".:cu", "wc a" => "ok";
    // conformance: 076-54
    open_create_only_new: ".:c", "wc a" => "new, else u";
    // conformance: 076-55
    open_create_only_existing: ".:u", "wc a" => "existing, else c";
    open_create_neither: ".:r", "wc a" => "c";
    open_read_of_fresh_file_needs_no_read: ".:c", "rwce a" => "ok";
    open_exclusive: ".:c", "wce a" => "ok";
    open_exclusive_needs_create: ".:u", "wce a" => "c";

    remove: ".:d", "remove a" => "ok";
    remove_denied: ".:rcu", "remove a" => "d";
    remove_above_a_denial: ".:rw d/secret:", "remove d" => "d";
    remove_above_a_deletable_rule: ".:rw d/cache:d", "remove d" => "ok";
    remove_beside_a_denial: ".:rw d/secret:", "remove d/other" => "ok";

    rename: ".:cd", "rename a b" => "ok";
    // conformance: 076-42, 076-57
    rename_needs_delete: ".:cu", "rename a b" => "d";
    // conformance: 076-42, 076-58
    rename_needs_create: "a:rwx b:rud", "rename a b" => "2:c";
    // conformance: 076-58
    replace_needs_update: "a:rwx b:rcd", "replace a b" => "2:u";
    replace: ".:du", "replace a b" => "ok";
    rename_to_less: ".:rw b:c", "rename a b/a" => "ok";
    rename_to_more: ".:rw b:rwx", "rename a b/a" => "x";
    rename_above_a_denial: ".:rw d/secret:", "rename d e" => "d";
    rename_onto_a_place_with_more_below: ".:rw e/bin:rwx", "rename d e" => "x";
    replace_above_a_denial: ".:rw e/secret:", "replace d e" => "2:d";
    exchange: ".:ud", "exchange a b" => "ok";
    exchange_needs_update: ".:cd", "exchange a b" => "u";
    exchange_gains: ".:rw b:rwx", "exchange a b/a" => "x";
    exchange_gains_on_the_way_back: ".:rw b:rwx", "exchange b/a a" => "2:x";

    link: ".:c", "link a b" => "ok";
    link_needs_create: ".:rud", "link a b" => "2:c";
    link_to_less: ".:rw b:c", "link a b/a" => "ok";
    link_from_a_denied_file: ".:rw secret:", "link secret a" => "rcud";
    link_from_a_readable_file: ".:rw vendor:r", "link vendor/a a" => "cud";
}
