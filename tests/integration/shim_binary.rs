//! Checks the preload library as a file: what it needs and what it offers.

use std::path::Path;
use std::process::Command;

use crate::run::{Mode, PRODUCT, Run, have};
use crate::scratch::Scratch;

/// Runs `tool` on the library that a confined program finds in its environment. Returns the output.
pub(crate) fn inspect(tool: &str, options: &str) -> Option<String> {
    if !have(tool) {
        return None;
    }
    let scratch = Scratch::new();
    let run =
        Run::new(&scratch, PRODUCT, &["--", "sh", "-c", "echo $LD_PRELOAD"]).mode(Mode::Bare).run();
    let library = run.assert_ok().stdout.trim().to_owned();
    let script = format!("{tool} {options} {library} && wc -c < {library}");
    let run = Run::sh(&scratch, &script).mode(Mode::Bare).run();
    run.assert_ok();
    Some(run.stdout)
}

/// It needs no library, so the same file loads into programs of every libc.
#[test]
fn needs_no_library() {
    if let Some(dynamic) = inspect("readelf", "-d -W") {
        assert!(dynamic.contains("SONAME") || dynamic.contains("Dynamic section"), "{dynamic}");
        assert!(!dynamic.contains("(NEEDED)"), "{dynamic}");
        assert!(!dynamic.contains("TEXTREL"), "{dynamic}");
    }
}

/// Everything that it takes from the program's libc is weak, because it is not there before libc is ready.
#[test]
fn takes_little_from_libc() {
    if let Some(symbols) = inspect("nm", "-D --undefined-only") {
        for line in symbols.lines().filter(|line| line.contains(' ')) {
            let kind = line.split_whitespace().next().unwrap_or_default();
            assert!(["w", "v"].contains(&kind), "not weak: {line}\n{symbols}");
        }
    }
}

#[test]
fn carries_no_runtime() {
    if let Some(symbols) = inspect("nm", "-D --defined-only") {
        for line in symbols.lines() {
            let foreign = ["panic", "rust_begin_unwind", "_ZN3std", "__rust_alloc", "_Unwind"];
            assert!(!foreign.iter().any(|name| line.contains(name)), "{line}");
        }
        for name in
            ["open", "open64", "openat", "fopen", "rename", "execve", "posix_spawn", "syscall"]
        {
            let exported =
                symbols.lines().any(|line| line.split(['@', ' ']).any(|word| word == name));
            assert!(exported, "{name} is not covered\n{symbols}");
        }
    }
}

#[test]
fn has_no_thread_locals_and_no_writable_code() {
    if let Some(segments) = inspect("readelf", "-l -W") {
        assert!(!segments.contains("TLS"), "{segments}");
        assert!(!segments.contains("RWE"), "{segments}");
    }
}

/// One file is the whole product: it works from anywhere, with nothing beside it.
#[test]
fn the_product_is_one_file() {
    let scratch = Scratch::new();
    let alone = scratch.copy_program(Path::new(PRODUCT), "alone/jp-confine");
    let alone = alone.to_str().expect("UTF-8");
    let line = ["--", "cat", "file", &scratch.expand("$OUT/secret")].map(String::from);
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let run = Run::new(&scratch, alone, &line).mode(Mode::Bare).run();
    run.assert_code(1).assert_stdout("inside").assert_no_secret();
    assert!(Command::new(alone).arg("--version").env_clear().status().expect("the copy").success());
}
