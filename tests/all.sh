#!/bin/sh
# Runs every test. At the end, says what was left out for want of a program or right, and what was a sample.
set -eu
cd "$(dirname "$0")/.."
# In `/tmp` a run sees a directory of its own, and the home is protected. So the trees of the tests are elsewhere.
folder=${JP_CONFINE_TEST_FOLDER-${XDG_RUNTIME_DIR-/run/user/$(id -u)}}
if [ "$(id -u)" -ne 0 ] && ! [ -w "$folder" ]; then
    echo "the tests need a folder that you may write to, outside /tmp and your home. As root, once:"
    echo "  install -d -o $(id -un) /srv/jp-confine-test"
    echo "Then: JP_CONFINE_TEST_FOLDER=/srv/jp-confine-test make test"
    exit 1
fi
skips=$(mktemp)
trap 'rm -f "$skips"' EXIT
export JP_CONFINE_TEST_SKIPS="$skips" JP_CONFINE_TEST_SAMPLE=1
status=0

# Most tests wait for other processes.
export RUST_TEST_THREADS="${RUST_TEST_THREADS-$((2 * $(nproc)))}"
# The preload library has no test harness. It is tested through the programs that it is loaded into.
tests="${CARGO:-cargo} test --locked --workspace --exclude jp-confine-shim"
$tests -- --skip cli_prompts || status=$?
# These wait most of the time, as people do.
$tests --test integration -- cli_prompts --test-threads 8 || status=$?

sort -u "$skips" | cut -f 1 | uniq -c | while read -r count why; do
    echo "skipped in $count tests: $why"
done
echo "a sample: each row ran with all layers and with one of three other holders, and of long tables some steps ran;"
echo "make layers runs all of them"
exit "$status"
