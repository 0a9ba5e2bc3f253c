//! Compiles the C half of the shim and sets how it is linked.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=c");
    cc::Build::new()
        .files(["c/libc.c", "c/memory.c", "c/process.c", "c/variadic.c"])
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
    for argument in [
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
    ] {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
    // Zig's linker does so unasked, and knows no option for it.
    if !env::var("RUSTC_LINKER").is_ok_and(|linker| linker.contains("zig")) {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,noseparate-code");
    }
}
