//! Builds the preload library for the target and hands its path to the launcher, which embeds it:
//! one file is the whole product.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    for input in
        ["shim", "policy/engine/src", "policy/engine/Cargo.toml", "Cargo.toml", "Cargo.lock"]
    {
        println!("cargo::rerun-if-changed={input}");
    }
    let shim = build_shim(&variable("TARGET"), Path::new(&variable("OUT_DIR")));
    println!("cargo::rustc-env=JP_CONFINE_SHIM={}", shim.display());
    link_unwinder();
}

/// Links what prints backtraces into the launcher, where the C compiler brings it: a library more to load is a
/// tenth of a millisecond in each run.
fn link_unwinder() {
    const LIBRARY: &str = "libgcc_eh.a";
    if !variable("TARGET").ends_with("-linux-gnu") || variable("HOST") != variable("TARGET") {
        return;
    }
    let asked = Command::new("cc").arg(format!("--print-file-name={LIBRARY}")).output();
    let said = asked.map_or(Vec::new(), |output| output.stdout);
    let file = PathBuf::from(String::from_utf8_lossy(&said).trim());
    if let Some(folder) = file.parent().filter(|_| file.is_absolute() && file.is_file()) {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static:+verbatim={LIBRARY}");
    }
}

/// Runs cargo for the shim alone, always optimised: its rules (no panic, no import from a library)
/// are checked by the linker, on optimised code.
///
/// One library serves the programs of every libc: a launcher for musl carries the same as one for
/// glibc, built with the constants of glibc's headers, which are the kernel's.
fn build_shim(target: &str, out: &Path) -> PathBuf {
    let target = &target.replace("-musl", "-gnu");
    let target_dir = out.join("shim");
    let code_generation = match target.as_str() {
        // Every process pays for each mapping, and rustc's own linker makes one more than the system's.
        "x86_64-unknown-linux-gnu" => "-Clinker-features=-lld",
        // There the functions that choose atomic instructions at run time import getauxval(3).
        _ if target.starts_with("aarch64") => "-Ctarget-feature=-outline-atomics",
        _ => "",
    };
    println!("cargo::rustc-env=JP_CONFINE_SHIM_FLAGS={code_generation}");
    let status = Command::new(variable("CARGO"))
        .args(["build", "--package", "jp-confine-shim", "--profile", "shim"])
        .args(["--target", target, "--target-dir"])
        .arg(&target_dir)
        // What instruments the launcher (coverage, clippy, sanitizers) has no place in the shim.
        .env("CARGO_ENCODED_RUSTFLAGS", code_generation)
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .status()
        .expect("cargo starts");
    assert!(status.success(), "the preload library does not build");
    target_dir.join(target).join("shim").join("libjp_confine_shim.so")
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
