#!/bin/sh
# Runs the rows of the tests against each holder: the preload library alone, the supervisor and Landlock without
# it (a static program), and layers that believe nobody. Each row must come out as in every other column. Only
# the rows in tests/layers/differences.txt must differ. Prints the counts.
#
#   layers.sh [FILTER...]     other rows than all that there are
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
[ $# -gt 0 ] || set -- answers:: attacks_ policy_ layers::

# These are about the machine, or about the library alone.
skipped="--skip attacks_race --skip attacks_faults --skip attacks_machines"
failed=0
printf '%-12s %6s %8s %8s %7s\n' holder rows differ skipped failed
for holder in library supervisor strict; do
    status=0
    # shellcheck disable=SC2086 # the options are words
    JP_CONFINE_TEST_HOLDER=$holder cargo test --locked --workspace \
        --exclude jp-confine-shim --test integration -- "$@" $skipped > "$log" 2>&1 || status=$?
    rows=$(grep -c '^test .* \(ok\|FAILED\)$' "$log" || true)
    differ=$(grep -o '^[a-z_:]* \.\.\. differs' "$log" | sort -u | wc -l)
    left_out=$(grep -o '^[a-z_:]* \.\.\. skipped' "$log" | sort -u | wc -l)
    bad=$(grep -c '^test .* FAILED$' "$log" || true)
    printf '%-12s %6d %8d %8d %7d\n' "$holder" "$rows" "$differ" "$left_out" "$bad"
    if [ "$status" -ne 0 ] || [ "$rows" -eq 0 ]; then
        failed=1
        tail -n 60 "$log"
    fi
done
exit "$failed"
