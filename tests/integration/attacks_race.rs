//! The object that was judged is the object that is used (spec §1). Names, directories and descriptors are swapped
//! during every call that opens or changes something. `JP_CONFINE_RACE` is the number of attempts.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::run::{Mode, Outcome, PRODUCT, Run, skip};
use crate::scratch::Scratch;

/// The swaps that happen during a call.
const SCENES: [&str; 11] = [
    "file-link",
    "link-retargeted",
    "link-appears",
    "dangling-link",
    "parent-link",
    "deep-parent-link",
    "parent-moved-out",
    "above-moved-out",
    "above-working-directory",
    "working-directory",
    "descriptor",
];

/// The variable with the number of attempts.
const ATTEMPTS: &str = "JP_CONFINE_RACE";

fn compiled(scratch: &Scratch) -> PathBuf {
    let path = scratch.path("race");
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/race");
    let script = format!("cc -O1 -Wall -Wextra -o '{}' '{sources}'/*.c -pthread", path.display());
    let status = Command::new("sh").args(["-c", &script]).status().expect("sh");
    assert!(status.success(), "the race does not compile");
    scratch.copy_program(&path, "ws/race")
}

/// The race and its arguments.
fn race(scratch: &Scratch) -> Vec<String> {
    let program = compiled(scratch);
    let text = |path: PathBuf| path.to_str().expect("UTF-8").to_owned();
    let attempts = std::env::var(ATTEMPTS).unwrap_or_else(|_| "100000".to_owned());
    let mut line = [program, scratch.path("ws/dir"), scratch.path("out/dir")].map(text).to_vec();
    line.extend([attempts, "1".to_owned(), "1".to_owned()]);
    line.extend(SCENES.map(str::to_owned));
    line
}

/// The library alone: the thread that changes the names must get past it, and no other layer would allow that.
const ALONE: &str = "--enforce=cooperative";

fn run(scratch: &Scratch, mode: Mode, line: &[String]) -> Outcome {
    let args: Vec<&str> = line[1..].iter().map(String::as_str).collect();
    let run = Run::new(scratch, &line[0], &args).mode(mode).flags(&[ALONE]);
    run.limit(Duration::from_secs(6 * 3600)).run()
}

/// The numbers of attempts, of allowed, denied and other ones, and of escapes, from the line that begins with `name`.
fn counts(outcome: &Outcome, name: &str) -> [u64; 5] {
    let line = outcome.stdout.lines().find(|line| line.starts_with(&format!("{name} ")));
    let line = line.unwrap_or_else(|| panic!("no {name} in the output: {outcome}"));
    let mut numbers = line[name.len()..].split_whitespace().map_while(|word| word.parse().ok());
    [(); 5].map(|()| numbers.next().expect("five numbers"))
}

#[test]
fn no_call_reaches_out_while_names_are_swapped() {
    let scratch = Scratch::new();
    let outcome = run(&scratch, Mode::under_test(), &race(&scratch));
    outcome.assert_ok();
    for scene in SCENES {
        let [_, allowed, refused, ..] = counts(&outcome, scene);
        // There is hardly time to move a directory between the steps for it and for its `..`.
        let seen = allowed > 0 && (refused > 0 || scene == "above-moved-out");
        assert!(seen, "{scene} was seen in one state only: {outcome}");
    }
    if std::env::var_os(ATTEMPTS).is_some() {
        let _ = writeln!(std::io::stderr().lock(), "{}", outcome.stdout);
    }
}

/// The preload library with the feature `unpinned`: it judges an object and then uses its name. It is built beside the
/// product, with the options of `build.rs`. `None` without cargo.
fn built_wrong() -> Option<PathBuf> {
    let right = Path::new(env!("JP_CONFINE_SHIM"));
    let target = right.parent()?.parent()?.file_name()?;
    let folder = Path::new(PRODUCT).parent()?.with_file_name("unpinned");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["rustc", "--quiet", "--locked", "--package", "jp-confine-shim"]);
    cargo.args(["--crate-type", "cdylib"]);
    cargo.args(["--config", "shim/profile.toml", "--profile", "shim", "--features", "unpinned"]);
    // It must have room in the place of the right one.
    cargo.args(["--config", "profile.shim.opt-level='s'"]);
    cargo.arg("--target").arg(target);
    cargo.arg("--target-dir").arg(&folder).current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.env("CARGO_ENCODED_RUSTFLAGS", env!("JP_CONFINE_SHIM_FLAGS")).env_remove("RUSTFLAGS");
    let built = cargo.output().ok()?;
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(folder.join(target).join("shim").join(right.file_name()?))
}

/// A copy of the product with that library in the place of its own. Nobody can choose the library of the product itself.
fn product_with(library: &Path, scratch: &Scratch) -> PathBuf {
    let read = |path: &Path| fs::read(path).expect("a file that was built");
    let (mut product, mut wrong) = (read(Path::new(PRODUCT)), read(library));
    let right = read(Path::new(env!("JP_CONFINE_SHIM")));
    let at = product.windows(right.len()).position(|part| part == right);
    let at = at.expect("the library is in the product");
    assert!(wrong.len() <= right.len(), "the wrong library has no room");
    wrong.resize(right.len(), 0);
    product[at..at + right.len()].copy_from_slice(&wrong);
    let patched = scratch.path("patched");
    fs::write(&patched, product).expect("a copy of the product");
    let mode = fs::metadata(PRODUCT).expect("the product").permissions();
    fs::set_permissions(&patched, mode).expect("a program");
    scratch.copy_program(&patched, "product")
}

/// As an ordinary user, whose libraries are in the home: the product must not find the wrong one in its own place.
#[test]
fn a_library_that_uses_names_loses_the_race() {
    assert_eq!(Mode::under_test(), Mode::Confined, "without the library it proves nothing");
    let Some(library) = built_wrong() else { return skip("no cargo") };
    let scratch = Scratch::for_ordinary_user();
    let product = product_with(&library, &scratch).to_str().expect("UTF-8").to_owned();
    let mut line = vec![product, ALONE.to_owned(), "--".to_owned()];
    line.extend(race(&scratch));
    scratch.hand_over();
    let outcome = run(&scratch, Mode::Bare, &line);
    let [.., escapes] = counts(&outcome, "total");
    assert!(escapes > 0, "nothing escapes, although nothing is pinned: {outcome}");
}
