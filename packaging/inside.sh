#!/bin/sh
# Installs jp-confine from /dist, uses it, upgrades and uninstalls it, as whoever runs this in a bare root.
# Used by packaging/test.sh.
#
#   inside.sh PREFIX    by install.sh
#   inside.sh deb       by dpkg
set -eu

fail() {
    echo "inside.sh: $1" >&2
    exit 1
}

# All files and directories that an installation could touch.
tree() { find / \( -path /proc -o -path /dev -o -path /dist -o -path '/tmp/[!j]*' -o -path /var/lib/dpkg -o -path /var/log \) -prune -o -print 2> /dev/null | sort; }

# All is as it was before.
unchanged() {
    tree > /tmp/after
    [ "$(cat /tmp/before)" = "$(cat /tmp/after)" ] || fail "$1 leaves: $(grep -vFx -f /tmp/before /tmp/after)"
}

# The program $1 confines: in a workspace of its own it runs a shell, and what is outside looks absent.
works() {
    mkdir -p ~/work
    echo secret > ~/secret
    cd ~/work
    [ "$("$1" -- sh -c 'echo ok')" = ok ] || fail "$1 does not run a shell"
    "$1" -- sh -c 'echo kept > file' || fail "$1 cannot write in the workspace"
    [ "$(cat file)" = kept ] || fail "$1 writes elsewhere"
    ! "$1" -- cat ../secret > /tmp/out 2>&1 || fail "$1 does not confine"
    grep -q 'denied read .*/secret' /tmp/out || fail "$1 does not report the denial: $(cat /tmp/out)"
    "$1" doctor > /tmp/out || fail "doctor: $(cat /tmp/out)"
    cd /
    rm -r ~/work ~/secret
}

# What runs leave in the home is what docs/install.md lists, and no more.
forget() {
    rm -rf ~/.local/share/jp-confine ~/.cache/jp-confine "/tmp/jp-confine-$(id -u)"
    [ "$(id -u)" -ne 0 ] || rm -r /var/lib/jp-confine
    rmdir ~/.local/share ~/.local ~/.cache 2> /dev/null || true
    unchanged "an uninstalled version"
}

by_dpkg() {
    dpkg -i "/dist/"*"_$(dpkg --print-architecture).deb" > /tmp/out 2>&1 || fail "$(cat /tmp/out)"
    works jp-confine
    dpkg -i "/dist/"*"_$(dpkg --print-architecture).deb" > /tmp/out 2>&1 || fail "$(cat /tmp/out)"
    works jp-confine
    dpkg -r jp-confine > /tmp/out 2>&1 || fail "$(cat /tmp/out)"
    forget
}

by_script() {
    install="sh /dist/install.sh --prefix $1"
    ! $install --from /dist/damaged 2> /tmp/out || fail "a damaged tarball is installed"
    grep -q 'is not what SHA256SUMS says' /tmp/out || fail "damage is not named: $(cat /tmp/out)"
    unchanged "a failure"
    ! $install --from /dist/old --version 9.9 2> /tmp/out || fail "a version that is not there is installed"

    $install --from /dist/old --version 0.0.1
    [ -f "$1/share/doc/jp-confine/gone" ] || fail "the old version is incomplete"
    $install --from /dist
    [ ! -e "$1/share/doc/jp-confine/gone" ] || fail "a file of the old version stays"
    works "$1/bin/jp-confine"
    sh "$1/lib/jp-confine/install.sh" --prefix "$1" uninstall
    forget
}

tree > /tmp/before
case $1 in deb) by_dpkg ;; *) by_script "$1" ;; esac
