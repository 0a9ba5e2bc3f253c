//! Compiles the C half of the shim and sets how it is linked.

use std::env;

/// How the library is linked on Linux.
const LINUX: [&str; 9] = [
    // The same file must load into programs of any libc: it needs no library by name.
    "-nostartfiles",
    "-nostdlib",
    "-Wl,--as-needed",
    // Symbols are bound when the library is loaded: lazy binding would run the loader in a hook.
    "-Wl,-z,now",
    // The library calls its own functions, also where the program has one of the same name.
    "-Wl,-Bsymbolic",
    // Every process pays for each mapping.
    "-Wl,-z,norelro",
    "-Wl,--build-id=none",
    "-Wl,--hash-style=gnu",
    "-Wl,-soname,libjp_confine.so",
];

/// And on macOS, where libSystem is in every program, and nothing else is needed.
const MACOS: [&str; 2] = ["-Wl,-dead_strip_dylibs", "-Wl,-install_name,libjp_confine.dylib"];

fn main() {
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
        // Else gcc sees what the loops of memory.c are for, and has each call itself; clang takes
        // `-ffreestanding` for an answer.
        .flag_if_supported("-mno-outline-atomics")
        .flag_if_supported("-fno-tree-loop-distribute-patterns")
        .compile("jp_confine_shim_c");
    for argument in arguments {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
    // Every process pays for each mapping. Zig's linker does the first unasked, and knows no option for it.
    if system == "linux" && !env::var("RUSTC_LINKER").is_ok_and(|linker| linker.contains("zig")) {
        let flat = concat!(env!("CARGO_MANIFEST_DIR"), "/flat.ld");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,noseparate-code,-T,{flat}");
        println!("cargo::rerun-if-changed={flat}");
    }
}
