//! Compiles the C half of the library and sets its linker options.

use std::env;

/// Linker options on Linux.
#[cfg(feature = "library")]
const LINUX: [&str; 9] = [
    // The same file must load into programs of any libc, so it names no needed library.
    "-nostartfiles",
    "-nostdlib",
    "-Wl,--as-needed",
    // Binds symbols when the library is loaded. Lazy binding would run the loader in a hook.
    "-Wl,-z,now",
    // The library calls its own functions, even if the program has one of the same name.
    "-Wl,-Bsymbolic",
    // Saves mappings, because every process pays for each.
    "-Wl,-z,norelro",
    "-Wl,--build-id=none",
    "-Wl,--hash-style=gnu",
    "-Wl,-soname,libjp_confine.so",
];

/// Linker options on macOS. Every program has libSystem, and the library needs nothing else.
#[cfg(feature = "library")]
const MACOS: [&str; 2] = ["-Wl,-dead_strip_dylibs", "-Wl,-install_name,libjp_confine.dylib"];

fn main() {
    println!(
        "cargo::metadata=directory={}",
        env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")
    );
    #[cfg(feature = "library")]
    compile();
}

#[cfg(feature = "library")]
fn compile() {
    println!("cargo::rerun-if-changed=c");
    let system = env::var("CARGO_CFG_TARGET_OS").expect("cargo sets it");
    let (files, arguments): (&[&str], &[&str]) = if system == "macos" {
        (&["c/variadic.c"], &MACOS)
    } else {
        (&["c/libc.c", "c/memory.c", "c/process.c", "c/scan.c", "c/variadic.c"], &LINUX)
    };
    cc::Build::new()
        .files(files)
        .std("gnu11")
        .define("_GNU_SOURCE", None)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .opt_level(2)
        .flag("-ffreestanding")
        .flag("-fno-stack-protector")
        .flag("-fvisibility=hidden")
        // A thread that is cancelled in a hook unwinds through it.
        .flag("-fasynchronous-unwind-tables")
        .flag("-U_FORTIFY_SOURCE")
        // Otherwise gcc recognizes the loops of memory.c and makes each call itself. clang is satisfied with
        // `-ffreestanding`.
        .flag_if_supported("-mno-outline-atomics")
        .flag_if_supported("-fno-tree-loop-distribute-patterns")
        .compile("jp_confine_shim_c");
    for argument in arguments {
        println!("cargo::rustc-link-arg={argument}");
    }
    // Every process pays for each mapping. Zig's linker omits separate code by itself and has no option for it.
    if system == "linux" && !env::var("RUSTC_LINKER").is_ok_and(|linker| linker.contains("zig")) {
        // Asked for now: somebody may have moved the checkout since this was compiled.
        let flat = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it") + "/flat.ld";
        println!("cargo::rustc-link-arg=-Wl,-z,noseparate-code,-T,{flat}");
        println!("cargo::rerun-if-changed={flat}");
    }
}
