//! Tests which rules are derived from which uses.

use super::*;

const R: Capabilities = Capabilities::READ;
const C: Capabilities = Capabilities::CREATE;
const U: Capabilities = Capabilities::UPDATE;
const D: Capabilities = Capabilities::DELETE;
const X: Capabilities = Capabilities::EXECUTE;

/// The rules for these uses, as one line. `+` marks created paths. Nothing exists at the end.
fn rules(uses: &[(&str, Capabilities)]) -> String {
    rules_beside(&[], uses)
}

/// The same if these paths exist at the end.
fn rules_beside(there: &[&str], uses: &[(&str, Capabilities)]) -> String {
    let line =
        |rule: &LearnedRule| format!("{}: {}", String::from_utf8_lossy(&rule.path), rule.caps);
    let rules = tree(uses).rules(|path| there.iter().any(|it| it.as_bytes() == path));
    rules.iter().map(line).collect::<Vec<_>>().join("; ")
}

fn tree(uses: &[(&str, Capabilities)]) -> UsedPath {
    let mut tree = UsedPath::default();
    for (path, caps) in uses {
        let (path, made) = path.strip_prefix('+').map_or((*path, false), |path| (path, true));
        let part =
            UsePart { path: path.as_bytes(), caps: *caps, made, drawn: false, opened: false };
        tree.add(path.as_bytes(), part, |path| {
            sensitive_names::is_secret(path) || path == b"vault"
        });
    }
    tree
}

#[test]
fn few_names_are_named_and_many_are_their_directory() {
    let read = |name| (name, R);
    assert_eq!(rules(&["src/a", "src/b"].map(read)), "src/a: read; src/b: read");
    assert_eq!(rules(&["src/a", "src/b", "src/c"].map(read)), "src: read");
    assert_eq!(rules(&["src/a/x", "src/b/x", "src/c/x"].map(read)), "src: read");
    // The workspace itself never stands for its entries just because they were read.
    assert_eq!(rules(&["a", "b", "c"].map(read)), "a: read; b: read; c: read");
}

#[test]
fn where_names_come_and_go_the_directory_is_granted() {
    assert_eq!(rules(&[("+out/a", C), ("+out/b", C)]), "out/a: create; out/b: create");
    assert_eq!(
        rules(&[("+out/a", C), ("+out/b", C), ("+out/c", C.union(U))]),
        "out: create, update"
    );
    // A single lasting name needs only its own rule.
    assert_eq!(
        rules(&[("+out/a-journal", C), ("out/a-journal", D), ("out/a", R)]),
        "out/a: read; out/a-journal: create, delete"
    );
    assert_eq!(rules(&[("+out/x-1a2b3c4d", C)]), "out: create");
    assert_eq!(rules(&[("+out", C), ("+out/a", C.union(U))]), "out: create, update");
    assert_eq!(
        rules(&[("out/a", U), ("out/b", U), ("out/c", U)]),
        "out/a: update; out/b: update; out/c: update"
    );
}

#[test]
fn programs_in_such_directories_have_a_rule_of_their_own() {
    let all = R.union(C).union(U).union(D);
    let uses = [
        ("+out", C),
        ("+out/deps/a", all),
        ("+out/build/x-1a2b3c4d/run", all),
        ("out/build/x-1a2b3c4d/run", X),
    ];
    assert_eq!(
        rules(&uses),
        "out: read, create, update, delete; out/build: read, create, update, delete, execute"
    );
}

#[test]
fn a_rule_covers_what_is_below_it_unless_more_is_needed() {
    assert_eq!(rules(&[("", R), ("a", R), ("b/c", U)]), ": read; b/c: update");
}

/// Older entries that last have their own rules beside it.
#[test]
fn a_directory_stands_for_names_that_are_made_up_in_it() {
    let replaced = [("+src/sedomwqwd", C.union(U)), ("src/sedomwqwd", D), ("src/a", R.union(U))];
    assert_eq!(
        rules(&[&replaced[..], &[("src/b", R), ("+src/c", C)]].concat()),
        "src: create, update, delete; src/a: read, update; src/b: read"
    );
    // A guess is not enough for the workspace itself.
    assert_eq!(rules(&[("+newfile", C), ("newfile", D)]), "newfile: create, delete");
}

/// Entries used deeper in an older directory have the same rules as without such names.
#[test]
fn names_made_up_beside_a_directory_leave_the_rules_in_it_as_they_are() {
    let drawn = [("+d/sedomwqwd", C.union(U)), ("d/sedomwqwd", D)];
    for (uses, rules_of) in [
        (&[("d/src/gen/v.h", U)][..], "d/src/gen/v.h: update"),
        (
            &[("+d/src/new", C.union(U)), ("d/src/old", D)],
            "d/src/new: create, update; d/src/old: delete",
        ),
        (&[("d/src", R), ("d/src/a", R), ("d/src/b", U)], "d/src: read; d/src/b: update"),
        (
            &[("d/src/a", R), ("d/src/b", R), ("d/src/c", R.union(U))],
            "d/src: read; d/src/c: read, update",
        ),
        (&[("d/src/run", X)], "d/src/run: execute"),
    ] {
        assert_eq!(rules_beside(&["d/src/new"], uses), rules_of);
        let beside = rules_beside(&["d/src/new"], &[&drawn[..], uses].concat());
        assert_eq!(beside, format!("d: create, update, delete; {rules_of}"));
    }
}

/// A directory that is marked as a cache has one rule, if anything in it comes or goes.
#[test]
fn caches_that_say_so_are_one_directory() {
    let there = ["target", "target/CACHEDIR.TAG", "target/debug/a", "src/x"];
    let changed = [("target/debug/a", R.union(U)), ("+target/debug/b", C), ("src/x", R)];
    assert_eq!(rules_beside(&there, &changed), "src/x: read; target: read, create, update");
    assert_eq!(
        rules_beside(&there[2..], &changed),
        "src/x: read; target/debug/a: read, update; target/debug/b: create"
    );
    assert_eq!(rules_beside(&there, &changed[..1]), "target/debug/a: read, update");
    assert_eq!(rules_beside(&["CACHEDIR.TAG"], &[("+a", C), ("b", R)]), "a: create; b: read");
}

/// An amended commit is one object.
#[test]
fn what_git_names_by_what_it_holds_is_one_directory() {
    let there = [".git/objects/5c", ".git/objects/5c/a"];
    let uses = [(".git/objects/5c", R), ("+.git/objects/5c/tmp_obj_x", C), (".git/HEAD", R)];
    assert_eq!(rules_beside(&there, &uses), ".git/HEAD: read; .git/objects: read, create");
    let uses = [("hub.git/objects/5c", R), ("+hub.git/objects/5c/tmp_obj_x", C)];
    assert_eq!(rules_beside(&["hub.git/objects/5c"], &uses), "hub.git/objects: read, create");
    let uses = [("objects/5c", R), ("+objects/5c/x", C)];
    assert_eq!(rules_beside(&["objects/5c"], &uses), "objects/5c: read; objects/5c/x: create");
}

#[test]
fn names_made_up_in_the_workspace_itself_open_it_for_names_alone() {
    let uses =
        [("+tmp.Xk29aB", C.union(U)), ("tmp.Xk29aB", D), ("src/a", R), ("notes", R.union(U))];
    assert_eq!(rules(&uses), ": create, update, delete; notes: read, update; src/a: read");
}

#[test]
fn secrets_and_what_decides_what_runs_are_kept_apart() {
    let uses = [
        ("+.git/index.lock", C.union(U)),
        (".git/index.lock", D),
        ("+.git/index", C),
        ("+.git/HEAD", C),
        (".git/config", R),
        (".git/id_rsa", R),
    ];
    assert_eq!(rules(&uses), ".git: create, update, delete; .git/config: read; .git/id_rsa: read");
    let made = [("+.git/a", C), ("+.git/b", C), ("+.git/c", C)];
    assert_eq!(
        rules(&[&made[..], &[(".git/hooks/run", R.union(X))]].concat()),
        ".git: create; .git/hooks: read; .git/hooks/run: read, execute"
    );
}

/// Its entries have the same rules as without it. These may grant less than opening takes.
#[test]
fn a_directory_that_is_opened_alone_does_not_stand_for_what_is_in_it() {
    let opened = |path: &str, uses: &[(&str, Capabilities)]| {
        let mut tree = tree(uses);
        let part =
            UsePart { path: path.as_bytes(), caps: R, made: false, drawn: false, opened: true };
        tree.add(path.as_bytes(), part, sensitive_names::is_secret);
        tree.rules(|path| name(path) != TAG)
    };
    for (path, uses, expected) in [
        ("", &[][..], ": read Opened"),
        ("", &[("src", R), ("a", U)], ": read Opened; a: update Narrows; src: read Narrows"),
        (
            "d",
            &[("d/a/x", U), ("+d/new", C)],
            "d: read Opened; d/a/x: update Used; d/new: create Used",
        ),
        // It was also listed, or is granted for other reasons.
        ("d", &[("d", R), ("d/a", R)], "d: read Gathered"),
        ("d", &[("+d", C), ("+d/a", C)], "d: read, create Gathered"),
        (".ssh", &[(".ssh/a", U)], ".ssh: read Opened; .ssh/a: update Narrows"),
    ] {
        let line = |rule: &LearnedRule| {
            format!("{}: {} {:?}", String::from_utf8_lossy(&rule.path), rule.caps, rule.purpose)
        };
        let rules = opened(path, uses);
        assert_eq!(rules.iter().map(line).collect::<Vec<_>>().join("; "), expected);
    }
}

#[test]
fn the_longest_path_decides() {
    let rule = |path: &str| LearnedRule { path: path.into(), caps: R, purpose: RulePurpose::Used };
    let rules = ["", "src", "src/a"].map(rule);
    assert_eq!(nearest(&rules, b"src/a/b"), Some(2));
    assert_eq!(nearest(&rules, b"src/ab"), Some(1));
    assert_eq!(nearest(&rules, b"srcs"), Some(0));
}

/// Uses in it get rules by lasting names, and other names get nothing. Directories around it do not stand for it.
#[test]
fn a_directory_that_is_shut_stands_for_nothing() {
    let of = |shut: &str, uses: &[(&str, Capabilities)]| {
        let mut tree = tree(uses);
        tree.shut(shut.as_bytes());
        let there = |path: &[u8]| [&b"src/s-5fb70f231c9a"[..], b"src"].contains(&path);
        let line =
            |rule: &LearnedRule| format!("{}: {}", String::from_utf8_lossy(&rule.path), rule.caps);
        tree.rules(there).iter().map(line).collect::<Vec<_>>().join("; ")
    };
    let drawn = ("+src/x-1a2b3c4d5e6f", C);
    assert_eq!(of("src", &[drawn, ("src/a", R)]), "src/a: read; src/x-1a2b3c4d5e6f: nothing");
    assert_eq!(
        of("src", &["src/a", "src/b", "src/c"].map(|a| (a, R))),
        "src/a: read; src/b: read; src/c: read"
    );
    assert_eq!(
        of("", &[("+x-1a2b3c4d5e6f", C), ("", R), ("a", R)]),
        "a: read; x-1a2b3c4d5e6f: nothing"
    );
    assert_eq!(
        of("out/src", &[("+out/a", C), ("+out/b", C), ("+out/c", C), ("out/src/a", U)]),
        "out: create; out/src/a: update"
    );
    // An older entry will exist again.
    assert_eq!(of("src", &[("src/x-1a2b3c4d5e6f", D)]), "src/x-1a2b3c4d5e6f: delete");
    assert_eq!(
        of(
            "src",
            &[("+src/s-8hf4at1o2b3d", C), ("src/s-8hf4at1o2b3d", D), ("src/s-5fb70f231c9a", R)]
        ),
        "src/s-5fb70f231c9a: read; src/s-8hf4at1o2b3d: nothing"
    );
    assert_eq!(of("none", &[("src/a", R)]), "src/a: read");
}
