#!/bin/sh
# Makes root directories to install into, without Rust and compiler. Used by packaging/test.sh.
#
#   packaging/roots.sh debian SUITE ROOT    another release of Debian, with its glibc, dpkg and dash
#   packaging/roots.sh machine SUITE ROOT   the same for aarch64, with its kernel in ROOT/boot
#   packaging/roots.sh alpine ROOT          what Alpine's programs run with: musl, and a busybox linked to it
set -eu
here=$(cd "$(dirname "$0")" && pwd)

programs=base-files,coreutils,dash,diffutils,dpkg,findutils,grep,gzip,libc-bin,sed,tar

debian() {
    mmdebstrap --quiet --variant=extract --include="$programs" "$1" "$2"
}

machine() {
    mmdebstrap --quiet --variant=extract --architectures=arm64 --include="$programs,mount,linux-image-cloud-arm64" "$1" "$2"
}

# Debian has no busybox for musl, so it is built from Debian's source.
alpine() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/lists/partial" "$1/bin" "$1/lib" "$1/usr" "$1/var/lib"
    # shellcheck disable=SC2016,SC1091
    apt-get indextargets --format 'deb-src $(REPO_URI) $(CODENAME) $(COMPONENT)' \
        'Created-By: Packages' "Codename: $(. /etc/os-release && echo "$VERSION_CODENAME")" 'Component: main' |
        sort -u > "$work/sources.list"
    set -- "$1" -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$work/lists" -o APT::Sandbox::User=root
    root=$1
    shift
    cd "$work"
    apt-get "$@" update -qq
    apt-get "$@" source -qq --download-only busybox
    mkdir source
    tar -xf busybox_*.orig.tar.* -C source --strip-components=1
    cd source
    make -s allnoconfig > "$work/log"
    cat "$here/busybox.config" .config > wanted
    mv wanted .config
    yes '' | make -s oldconfig >> "$work/log" 2>&1
    make -s -j"$(nproc)" CC="musl-gcc -w -idirafter /usr/include -idirafter /usr/include/$(uname -m)-linux-gnu" \
        busybox >> "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    cp busybox "$root/bin"
    cp "/lib/ld-musl-$(uname -m).so.1" "$root/lib"
    for name in $("$root/bin/busybox" --list); do ln -s busybox "$root/bin/$name"; done
}

kind=$1
shift
"$kind" "$@"
