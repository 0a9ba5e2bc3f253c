#!/bin/sh
# The report of `learn --html` in a real browser: names in it are text, its script finds them, and nothing
# is loaded. Skipped where there is no Chromium.
set -eu
cd "$(dirname "$0")/.."
for browser in chromium-headless-shell chromium chromium-browser google-chrome ''; do
    command -v "$browser" > /dev/null && break
done
if [ -z "$browser" ]; then
    echo "html: skipped: no Chromium"
    exit 0
fi
# As `make test` builds it.
cargo test --locked --quiet --workspace --exclude jp-confine-shim --test integration --no-run
product=${CARGO_TARGET_DIR:-$PWD/target}/debug/jp-confine
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/ws" "$work/ws/dir"
cd "$work/ws"
evil='<img src=x onerror="document.title=1">'
echo x > "$evil"
echo x > 'dir/a"b'
"$product" -q learn --html ../report.html -o - -- \
    sh -c 'cat "$1" dir/*; cat /srv/none; exit 0' sh "$evil" > policy.toml 2> /dev/null

# Prints the page as it is once its script has run, with the words after `#` searched for.
page() {
    "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" \
        --virtual-time-budget=2000 --dump-dom "file://$work/report.html#$1" 2> "$work/log"
}
fail() {
    echo "html: $1"
    exit 1
}

page '' > "$work/all"
grep -q '<title>sh -c' "$work/all" || fail 'a name became a part of the page'
grep -q '&lt;img src=x' "$work/all" || fail 'a name is missing'
[ "$(grep -c '<img' "$work/all")" -eq 0 ] || fail 'a name became an element'
page 'a%22b' > "$work/found"
grep -q '<output>1 found</output>' "$work/found" || fail 'the search does not find a name'
grep -q '<li data-words="&lt;img[^>]*hidden' "$work/found" || fail 'the search hides nothing'
page 'denied%20none' > "$work/denied"
grep -q '<output>2 found</output>' "$work/denied" || fail 'a denial is not found in list and tree'
if grep -qi 'refused\|ERR_' "$work/log"; then fail 'something was loaded, or refused to be'; fi
echo 'html: the report works in a browser'
