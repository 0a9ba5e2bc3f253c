//! A directory that may not move because a pattern denies a file in it. Files beside it may move.

use macro_rules_attribute::apply;

use crate::attack::{arena_with, linkings, set_up};
use crate::layers::row;
use crate::scratch::Scratch;
use crate::session::Session;

/// `src/d` may not take its key anywhere.
const POLICY: &str = "[file_policy]\ndeny_paths = ['$WS/src/*/key']\n";

const SETUP: &str =
    "rm -rf src dst; mkdir -p src/d dst/dir; cp $OUT/secret src/d/key; echo f > src/f;
    echo old > dst/old; ln src/f dst/same; ln -s ../file src/link; ln -s f src/other";

/// A call, its answer, and a shell test that holds afterwards.
const ROWS: [(&str, &str, &str); 17] = [
    (
        "rename src/f dst/new",
        "ok",
        "test ! -e src/f && grep -q f dst/new && test dst/new -ef dst/same",
    ),
    ("rename src/f dst/old", "ok", "test ! -e src/f && grep -q f dst/old"),
    ("sys_rename src/f dst/old", "ok", "test ! -e src/f && grep -q f dst/old"),
    ("rename_noreplace src/f dst/new", "ok", "test ! -e src/f && grep -q f dst/new"),
    ("rename_noreplace src/f dst/old", "EEXIST", "test -e src/f && grep -q old dst/old"),
    ("rename src/f dst/same", "ok", "test src/f -ef dst/same"),
    ("rename_noreplace src/f dst/same", "EEXIST", "test src/f -ef dst/same"),
    ("rename src/link dst/new", "ok", "test ! -L src/link && test -L dst/new && test -e file"),
    ("rename src/link dst/old", "ok", "test ! -L src/link && test -L dst/old && test -e file"),
    ("rename src/other dst/same", "ok", "test -L dst/same && test -f src/f"),
    ("rename src/f dst/dir", "EISDIR", "test -f src/f && test -d dst/dir"),
    ("rename src/f dst/new/", "ENOTDIR", "test -f src/f && test ! -e dst/new"),
    ("rename src/none dst/old", "ENOENT", "grep -q old dst/old"),
    ("rename src/d dst/new", "EACCES", "test -f src/d/key && test ! -e dst/new"),
    ("rename src/d dst/dir", "EACCES", "test -f src/d/key && test -d dst/dir"),
    ("exchange src/f dst/old", "EACCES", "grep -q f src/f && grep -q old dst/old"),
    ("exchange dst/old src/f", "EACCES", "grep -q f src/f && grep -q old dst/old"),
];

/// Starts a run under [`POLICY`].
fn start(scratch: &Scratch) -> Session {
    let policy = scratch.path("policy.toml");
    std::fs::write(&policy, scratch.expand(POLICY)).expect("a policy");
    let flags = format!("--non-interactive -p {}", policy.display());
    Session::start(scratch, "ws/bin/attack", &flags)
}

#[apply(row!)]
fn what_is_no_directory_goes_as_by_rename() {
    for &linking in linkings() {
        let scratch = arena_with(linking, Scratch::new());
        set_up(&scratch, SETUP);
        let mut session = start(&scratch);
        for (line, expected, holds) in ROWS {
            set_up(&scratch, SETUP);
            assert_eq!(session.call(&scratch, line), expected, "{line}, {linking:?}");
            set_up(&scratch, holds);
        }
    }
}

/// The directory cannot replace a file that was there only while the move was judged.
#[apply(row!)]
fn no_directory_goes_in_place_of_a_file() {
    for &linking in linkings() {
        let scratch = arena_with(linking, Scratch::new());
        set_up(&scratch, SETUP);
        let said = start(&scratch).call(&scratch, "rename_swapped src/f src/d dst/f");
        assert_eq!(said, "EACCES", "{linking:?}");
    }
}
