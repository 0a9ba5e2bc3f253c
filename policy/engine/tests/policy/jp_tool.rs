//! Compares `check` with a model of the algorithm that RFD 076 and RFD D43 publish for JP's tools ("Path evaluation",
//! "Nested-escape boundary"), on generated workspaces, policies and paths.
//!
//! The model is written from the documents. It knows nothing of anchors and images. A rule about the inside matches the
//! canonical path, one about the outside matches the spelling, and the rule with most names wins. The product
//! differs in one place, on purpose: a rule about an external tree holds for every spelling of its target, both what it
//! grants and what it denies (spec §5.1, R2).

use std::path::{Component, Path, PathBuf};

use jp_confine_engine::check::CheckVerdict;
use jp_confine_engine::model::FsRule;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::place::{Place, letters, rules};

/// What may stand in a workspace. Links lead to directories that stand there in every tree.
const ENTRIES: &[&str] = &[
    "w/a/b/c",
    "w/a/c/",
    "w/b/a",
    "w/b/c/b",
    "w/c",
    "w/in=a",
    "w/a/up=../b",
    "w/b/in=../a/b",
    "w/x=../o/a",
    "w/y=../o",
    "w/a/z=@/o/b",
    "o/a/b/c",
    "o/b/a",
    "o/a/nested=../b",
    "o/b/out=../../p",
    "o/b/home=../../w/a",
];

/// Directories and files that stand in every tree.
const FIXED: &str = "w/a/b/ w/b/ o/a/ o/b/ p/secret";

const NAMES: &[&str] =
    &["a", "b", "c", "in", "up", "x", "y", "z", "nested", "out", "home", "new", "..", "."];

/// A canonical path, or why there is none.
fn canonical(base: &Path, lexical: &Path, follow: bool) -> Option<PathBuf> {
    let full = base.join(lexical);
    if !follow && full.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        let dir = full.parent()?.canonicalize().ok()?;
        return Some(dir.join(full.file_name()?));
    }
    // The nearest ancestor that exists, and the rest as it is spelled.
    let existing = full.ancestors().find(|path| path.symlink_metadata().is_ok())?;
    let rest = full.strip_prefix(existing).ok()?;
    let found = existing.canonicalize().ok()?;
    if !rest.as_os_str().is_empty() && !found.is_dir() {
        return None;
    }
    Some(if rest.as_os_str().is_empty() { found } else { found.join(rest) })
}

/// The spelling without `.` and `..`. `None` if it is absolute or leaves the workspace.
fn normalised(input: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for component in Path::new(input).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    Some(path)
}

/// A rule as a tool receives it.
#[derive(Debug)]
struct Compiled {
    /// The canonical path below the root, or the spelling of an external rule.
    path: PathBuf,
    approved: Option<PathBuf>,
    granted: String,
}

/// Compiles as the documents say. `None` if a rule is an error.
fn compile(root: &Path, rules: &[FsRule], approved: &[String]) -> Option<Vec<Compiled>> {
    let mut compiled = Vec::new();
    for rule in rules {
        let lexical = normalised(rule.path().as_str())?;
        let target = canonical(root, &lexical, true)?;
        let inside = target.strip_prefix(root).ok();
        let granted = letters(rule.capabilities().iter());
        match (inside, rule.external()) {
            (Some(inside), false) => {
                compiled.push(Compiled { path: inside.to_owned(), approved: None, granted });
            }
            (None, true) if approved.iter().any(|name| *name == rule.path().as_str()) => {
                compiled.push(Compiled { path: lexical, approved: Some(target), granted });
            }
            // Dropped. The product denies there, and the documents deny by default.
            (None, true) => {}
            _ => return None,
        }
    }
    Some(compiled)
}

/// Whether the model allows `letter` on `input`. `declared` says whether there were rules before some were dropped.
fn allows(root: &Path, rules: &[Compiled], declared: bool, letter: char, input: &str) -> bool {
    let Some(lexical) = normalised(input) else { return false };
    let Some(target) = canonical(root, &lexical, letter != 'd') else { return false };
    let inside = target.strip_prefix(root).ok();
    if !declared {
        return inside.is_some();
    }
    let matches = |rule: &&Compiled| match (&rule.approved, inside) {
        (None, Some(inside)) => inside.starts_with(&rule.path),
        (Some(_), None) => lexical.starts_with(&rule.path),
        _ => false,
    };
    // Of several, the last.
    let winner = rules.iter().filter(matches).max_by_key(|rule| rule.path.components().count());
    winner.is_some_and(|rule| {
        let bounded = rule.approved.as_ref().is_none_or(|approved| target.starts_with(approved));
        bounded && rule.granted.contains(letter)
    })
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(select(NAMES), 1..5).prop_map(|names| names.join("/"))
}

fn rule() -> impl Strategy<Value = String> {
    let places = [
        ".:", "a:", "a/b:", "b:", "b/c:", "in:", "a/up:", "new/a:", "x!", "y!", "y/a!", "y/b!",
        "a/z!", "y/a/b!",
    ];
    let caps = select(vec!["", "r", "rw", "rwx", "w", "c", "ud", "x"]);
    (select(places.to_vec()), caps).prop_map(|(place, caps)| format!("{place}{caps}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn check_agrees_with_the_published_algorithm(
        tree in subsequence(ENTRIES.to_vec(), 4..ENTRIES.len()),
        written in prop::collection::vec(rule(), 0..6),
        approved in subsequence(vec!["x", "y", "y/a", "y/b", "a/z", "y/a/b"], 0..6),
        asked in prop::collection::vec((select(vec!['r', 'c', 'u', 'd', 'x']), path()), 20..21),
    ) {
        let place = Place::new(&format!("{FIXED} {}", tree.join(" ")));
        let root = place.root.as_path().to_owned();
        let written = written.join(" ");
        let is_there = |name: &&&str| root.join(name).exists();
        let target = |name: &&str| {
            let target = root.join(name).canonicalize().unwrap();
            format!("{name}={}", place.short(&target))
        };
        let targets: Vec<String> = approved.iter().filter(is_there).map(target).collect();
        let approved: Vec<String> = approved.iter().map(|name| (*name).to_owned()).collect();
        let of_model = compile(&root, &rules(&written), &approved);
        let of_product = place.compile(&written, &targets.join(" "));
        let (Some(model), Ok(product)) = (of_model, of_product) else { return Ok(()) };
        let policy = place.policy_of(product.grants);
        let context = policy.context();
        for (letter, input) in asked {
            let expected = allows(&root, &model, !written.is_empty(), letter, &input);
            let result = context.check(input.as_bytes(), crate::place::capability(letter));
            let allowed = result.verdict == CheckVerdict::Allow;
            // A directory that holds something to keep stays, also one that a rule expects below a missing path.
            let may_hold = |path: &PathBuf| {
                let below = format!("{}/", path.display());
                root.join(path).is_dir() || written.split(' ').any(|rule| rule.starts_with(&below))
            };
            let kept = letter == 'd' && !allowed && normalised(&input).is_some_and(|path| may_hold(&path));
            let leads_out = result.resolved.as_ref().is_none_or(|path| !path.starts_with(&root));
            let narrower = expected && !allowed && leads_out;
            // Another symlink leads into a target that was approved (R2).
            let by_target = |rule: &Compiled| {
                let target = result.resolved.as_ref().zip(rule.approved.as_ref());
                target.is_some_and(|(path, approved)| path.starts_with(approved)) && rule.granted.contains(letter)
            };
            let by_alias = allowed && leads_out && model.iter().any(by_target);
            prop_assert!(
                expected == allowed || kept || narrower || by_alias,
                "{letter} {input}: documents {expected}, product {allowed} ({result:?})\nrules {written}, approved {approved:?}, tree {tree:?}"
            );
        }
    }
}
