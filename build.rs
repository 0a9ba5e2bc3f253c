//! Builds the preload library for the target, and turns the profiles into constants. The launcher embeds both:
//! one file is the whole product.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[path = "build/profiles.rs"]
mod profiles;

fn main() {
    let out = PathBuf::from(variable("OUT_DIR"));
    println!("cargo::rerun-if-changed=profiles");
    let compiled = profiles::compile_all(Path::new("profiles"));
    fs::write(out.join("built_in.rs"), compiled).expect("cargo lets a build script write there");
    let mut package = PathBuf::from("shim");
    if package.is_dir() {
        for input in
            ["shim", "policy/engine/src", "policy/engine/Cargo.toml", "Cargo.toml", "Cargo.lock"]
        {
            println!("cargo::rerun-if-changed={input}");
        }
    } else {
        println!("cargo::rerun-if-changed=build.rs");
        package = copy_package(&out.join("package"));
    }
    let shim = build_shim(&package, &variable("TARGET"), &out);
    println!("cargo::rustc-env=JP_CONFINE_SHIM={}", shim.display());
    link_unwinder();
}

/// Copies the library's package out of a registry to a directory where cargo may write, and returns that directory.
///
/// The copy uses the engine that cargo unpacked beside the package. The launcher has the same one, and `cargo package`
/// unpacks it before anybody publishes it.
fn copy_package(copy: &Path) -> PathBuf {
    let original = PathBuf::from(variable("DEP_JP_CONFINE_SHIM_DIRECTORY"));
    let _ = fs::remove_dir_all(copy);
    let copied = Command::new("cp").arg("-R").args([&original, copy]).status();
    assert!(copied.is_ok_and(|status| status.success()), "{} cannot be copied", original.display());
    let manifest = copy.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("a package has a manifest");
    // Otherwise cargo takes a manifest in a parent directory for that of the workspace.
    let mut added = String::from("\n[workspace]\n");
    let engine = original.with_file_name(concat!("jp-confine-engine-", env!("CARGO_PKG_VERSION")));
    if engine.is_dir() {
        added += "[patch.crates-io.jp-confine-engine]\npath = '";
        added += engine.to_str().expect("a path in UTF-8");
        added += "'\n";
    }
    fs::write(&manifest, text + &added).expect("cargo lets a build script write to its directory");
    copy.to_owned()
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

/// Runs cargo for the package of the shim alone, always optimised: its rules (no panic, no import from a library)
/// are checked by the linker, on optimised code.
///
/// One library serves the programs of every libc: a launcher for musl carries the same as one for
/// glibc, built with the constants of glibc's headers, which are the kernel's.
fn build_shim(package: &Path, target: &str, out: &Path) -> PathBuf {
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
        .args(["rustc", "--features", "library", "--crate-type", "cdylib", "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .arg("--config")
        .arg(package.join("profile.toml"))
        .args(["--profile", "shim", "--target", target, "--target-dir"])
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
