#!/bin/sh
# A check that cannot fail is a defect: without confinement, every test that proves confinement must fail. Lists the
# tests that do not fail, and those that could not run here. Of the rows that show by themselves that their attack works
# bare, one of each module runs.
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# No backtraces: hundreds of tests are meant to fail, and nobody reads where.
export RUST_BACKTRACE=0
# Most tests wait for other processes.
export RUST_TEST_THREADS="${RUST_TEST_THREADS-$((2 * $(nproc)))}"
JP_CONFINE_TEST_BARE=1 JP_CONFINE_TEST_SAMPLE=1 cargo test --locked --workspace --exclude jp-confine-shim --test integration -- \
    attacks_ policy_ programs_ runs_ > "$log" 2>&1 || true

left_out=$(grep -c ' \.\.\. left out$' "$log" || true)
failed=$(grep -c '^test [apr][a-z_]*::.* FAILED$' "$log" || true)
passed=$(grep -c '^test [apr][a-z_]*::.* ok$' "$log" || true)
if [ "$failed" -le "$left_out" ]; then
    tail -n 40 "$log"
    echo "control: the tests did not run"
    exit 1
fi
grep '^test [apr][a-z_]*::.* ok$' "$log" || true
grep -o 'skipped: .*' "$log" | sort | uniq -c || true
echo "control: with the mediation off, $((failed - left_out)) tests fail and $passed pass; $left_out rows are left out"
[ "$passed" -eq 0 ]
