#!/bin/sh
# Shows the product at its main job: builds a small crate confined, works on its files, and tries to get
# out in three ways. Ends with an error if anything that should work does not, or the reverse.
#
#     sh samples/run.sh PATH/TO/jp-confine
set -eu

product=${1:?the path of jp-confine}
case $product in /*) ;; *) product=$PWD/$product ;; esac
sample=$(cd "$(dirname "$0")/workspace" && pwd)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/workspace" "$scratch/elsewhere"
cp -R "$sample/." "$scratch/workspace"
rm -rf "$scratch/workspace/target"
echo 'not for this workspace' > "$scratch/elsewhere/secret"
cd "$scratch/workspace"
# The caller chooses the tool chain, and not a file in a directory above the scratch directory.
: "${RUSTUP_TOOLCHAIN:=$(sed -n 's/^channel = "\(.*\)"/\1/p' "$sample/../../rust-toolchain.toml")}"
export RUSTUP_TOOLCHAIN
unset CARGO_TARGET_DIR

if [ -t 1 ]; then bold='\033[1m' plain='\033[0m'; else bold='' plain=''; fi
say() { printf "\n$bold%s$plain\n" "$*"; }
# The command as a person would type it.
typed() {
    printf '$ jp-confine --'
    for word; do
        case $word in *[!A-Za-z0-9_./=-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    echo
}
confined() { typed "$@"; "$product" -- "$@"; }
fail() { say "UNEXPECTED: $*"; exit 1; }

# Tries a forbidden act, which must fail. The forbidden file must be neither seen nor changed.
refused() {
    typed "$@"
    if "$product" -- "$@" > "$scratch/output" 2>&1; then
        cat "$scratch/output"
        fail "this was allowed"
    fi
    sed 's/^/    /' "$scratch/output"
    grep -q 'not for this workspace' "$scratch/output" && fail "the forbidden file was read"
    grep -q 'denied .*elsewhere/secret' "$scratch/output" || fail "no reason was printed"
    [ "$(cat "$scratch/elsewhere/secret")" = 'not for this workspace' ] ||
        fail "the forbidden file was changed"
}

say "1. A crate with a build script and derive macros is built, tested and run, confined to its folder."
cargo fetch --locked --quiet   # the only step outside: this version does not confine the network
confined cargo build --locked || fail "the build"
confined cargo test --locked --quiet || fail "its test"
confined cargo run --quiet || fail "the program it built"

say "2. Ordinary tools work on its files."
confined cat seasons.txt || fail "cat"
confined sed -i 's/spring/early spring/' seasons.txt || fail "sed -i"
confined sh -c 'find . -path ./target -prune -o -name "*.rs" -print0 | xargs -0 wc -l' || fail "find | xargs"
grep -q 'early spring' seasons.txt || fail "sed -i changed nothing"

say "3. Three ways out, each refused with the reason."
refused cat "$scratch/elsewhere/secret"
refused sh -c 'echo overwritten > ../elsewhere/secret'
ln -s ../elsewhere planted
refused cat planted/secret

say "All as it should be."
