#!/bin/sh
# Runs each fuzz target for the given number of seconds: libFuzzer as cargo-fuzz builds it, with the
# tool chain of the project. Findings are kept, and make the exit status 1.
set -eu
cd "$(dirname "$0")"
seconds=${1:-60}
output=$PWD/target
mkdir -p "$output/findings"

# The target `library` runs the product.
cargo build --locked --release --package jp-confine
export JP_CONFINE_PRODUCT="${CARGO_TARGET_DIR:-$PWD/../target}/release/jp-confine"

export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares"
for target in image resolver moves library; do
    mkdir -p "$output/corpus/$target"
    # A named target keeps the flags from build scripts.
    cargo run --locked --profile fuzz --features libfuzzer --target host-tuple --bin "$target" -- \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="$output/findings/$target-" "$output/corpus/$target"
done
