#!/bin/sh
# A check that cannot fail is a defect: without confinement, every test that proves confinement must fail. Lists the
# tests that do not fail, and those that could not run here. The race must be lost, too, by a library that judges
# objects and then uses their names.
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# No backtraces: hundreds of tests are meant to fail, and nobody reads where.
export RUST_BACKTRACE=0
JP_CONFINE_TEST_BARE=1 cargo test --locked --workspace --exclude jp-confine-shim --test integration -- \
    attacks_ policy_ programs_ runs_ > "$log" 2>&1 || true

failed=$(grep -c '^test [apr][a-z_]*::.* FAILED$' "$log" || true)
passed=$(grep -c '^test [apr][a-z_]*::.* ok$' "$log" || true)
if [ "$failed" -eq 0 ]; then
    tail -n 40 "$log"
    echo "control: the tests did not run"
    exit 1
fi
grep '^test [apr][a-z_]*::.* ok$' "$log" || true
grep -o 'skipped: .*' "$log" | sort | uniq -c || true
echo "control: with the mediation off, $failed tests fail and $passed pass"
[ "$passed" -eq 0 ]

cargo test --locked --workspace --exclude jp-confine-shim --features jp-confine/unpinned --test integration -- \
    attacks_race > "$log" 2>&1 || true
if ! grep -E '^total( +[0-9]+){4} +[1-9]' "$log"; then
    tail -n 40 "$log"
    echo "control: nothing escapes, although nothing is pinned"
    exit 1
fi
