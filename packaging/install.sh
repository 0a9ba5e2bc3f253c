#!/bin/sh
# Installs, upgrades and uninstalls jp-confine. See usage below.
set -eu
umask 022

usage="usage: install.sh [--prefix DIR] [--version VERSION] [--from DIR|URL] [uninstall]

Installs jp-confine, or replaces an older or newer version of it.
  --prefix DIR       where to: /usr/local for root, else ~/.local
  --version VERSION  which release: the newest
  --from DIR|URL     where SHA256SUMS and the tarballs are: the project's releases
  uninstall          delete what install.sh put below DIR"
releases=https://github.com/jp-confine/jp-confine/releases

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

# Everything is in functions: a script that arrives only in part does nothing.
main() {
    prefix='' version='' from='' action=install
    while [ $# -gt 0 ]; do
        case $1 in
        --prefix | --version | --from)
            [ $# -gt 1 ] || fail "$1 needs a value; see --help"
            eval "${1#--}=\$2"
            shift
            ;;
        uninstall) action=uninstall ;;
        -h | --help) action=help ;;
        *) fail "unknown word: $1; see --help" ;;
        esac
        shift
    done
    if [ -z "$prefix" ]; then
        if [ "$(id -u)" -eq 0 ]; then prefix=/usr/local; else prefix=${HOME:?}/.local; fi
    fi
    case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
    # What install.sh put there: a line for each file, and one that ends in / for each directory.
    list=lib/jp-confine/installed
    case $action in
    help) echo "$usage" ;;
    install) install_release ;;
    uninstall) uninstall_release ;;
    esac
}

install_release() {
    [ "$(uname -s)" = Linux ] || fail "there are releases for Linux alone"
    case $(uname -m) in
    x86_64 | amd64) processor=x86_64 ;;
    aarch64 | arm64) processor=aarch64 ;;
    *) fail "there is no release for $(uname -m): build it, with cargo install" ;;
    esac
    case $version in *[!0-9A-Za-z.+-]*) fail "not a version: $version" ;; esac
    if [ -z "$from" ]; then
        if [ -n "$version" ]; then from=$releases/download/v$version; else from=$releases/latest/download; fi
    fi
    trap 'cleanup' EXIT
    trap 'exit 1' HUP INT TERM
    made=''
    make_directory ''
    # Beside the destination, so that each file takes its place in one step.
    new=$(mktemp -d "$prefix/.jp-confine.XXXXXX") || fail "cannot write to $prefix; --prefix names another directory"
    download
    replace
    echo "jp-confine $version is in $prefix/bin"
    case :$PATH: in *:"$prefix/bin":*) ;; *) echo "Add $prefix/bin to your PATH." ;; esac
}

cleanup() {
    rm -rf "${new-}"
    # After an upgrade, and after a failure, these are in use or empty.
    [ -f "$prefix/$list" ] || remove_directories "$made"
}

# Gets the tarball, compares it with its checksum, and unpacks it into $new/tree.
download() {
    fetch SHA256SUMS
    names=$(sed -n "s/^[0-9a-f]\{64\}  \(jp-confine-[0-9A-Za-z.+-]*-$processor-linux\.tar\.gz\)$/\1/p" "$new/SHA256SUMS")
    if [ -n "$version" ]; then
        names=$(printf '%s\n' "$names" | grep -Fx "jp-confine-$version-$processor-linux.tar.gz") || names=
    fi
    case $names in
    '') fail "$from has no jp-confine $version for $processor" ;;
    *[!0-9A-Za-z.+_-]*) fail "$from has several versions: choose one by --version" ;;
    esac
    fetch "$names"
    right=$(sed -n "s/^\([0-9a-f]*\)  $names\$/\1/p" "$new/SHA256SUMS")
    sum=$(sha256sum < "$new/$names") || fail "sha256sum is missing"
    [ "${sum%% *}" = "$right" ] || fail "$names is not what SHA256SUMS says: nothing was changed"
    mkdir "$new/tree"
    tar -xzf "$new/$names" -C "$new/tree"
    tree=$new/tree/${names%.tar.gz}
    "$tree/bin/jp-confine" --version > "$new/said" || fail "$names does not run here: nothing was changed"
    version=${names#jp-confine-} version=${version%-"$processor"-linux.tar.gz}
}

# Brings the file $1 into $new.
fetch() {
    case $from in
    *://*)
        if command -v curl > /dev/null; then
            curl -fsSL --retry 3 -o "$new/$1" "$from/$1"
        elif command -v wget > /dev/null; then
            wget -q -O "$new/$1" "$from/$1"
        else
            fail "neither curl nor wget is there"
        fi
        ;;
    *) cp "$from/$1" "$new/$1" ;;
    esac || fail "cannot get $from/$1"
}

# Moves each file of $tree to its place, and deletes those of the version before that there are no more.
replace() {
    (cd "$tree" && find . -type f) | sed 's|^\./||' | sort > "$new/files"
    while IFS= read -r file; do
        case $file in */*) make_directory "${file%/*}" ;; esac
        [ ! -d "$prefix/$file" ] || fail "$prefix/$file is a directory"
    done < "$new/files"
    : > "$new/before"
    [ ! -f "$prefix/$list" ] || cat "$prefix/$list" > "$new/before"
    # If something stops the script from here on, uninstall finds the files of both versions.
    { cat "$new/files" "$new/before"; printf '%s' "$made"; } | sort -u > "$new/both"
    mv -f "$new/both" "$prefix/$list"
    while IFS= read -r file; do mv -f "$tree/$file" "$prefix/$file"; done < "$new/files"
    grep -v '/$' "$new/before" | grep -vFx -f "$new/files" | while IFS= read -r file; do rm -f "${prefix:?}/$file"; done
    { cat "$new/files"; grep '/$' "$prefix/$list"; } > "$new/now" || true
    mv -f "$new/now" "$prefix/$list"
}

# Creates the directory $1 below the prefix, and those above it that are missing, and remembers them in $made.
make_directory() {
    [ ! -d "$prefix/$1" ] || return 0
    case $1 in
    */*) make_directory "${1%/*}" ;;
    '') mkdir -p "$(dirname "$prefix")" ;;
    esac
    mkdir "$prefix/$1" || fail "cannot create $prefix/$1; --prefix names another directory"
    made="$made$1/
"
}

uninstall_release() {
    [ -f "$prefix/$list" ] || fail "install.sh put nothing below $prefix; --prefix names another directory"
    made=$(grep '/$' "$prefix/$list") || made=
    grep -v '/$' "$prefix/$list" | while IFS= read -r file; do rm -f "${prefix:?}/$file"; done
    rm -f "${prefix:?}/$list"
    remove_directories "$made"
    echo "jp-confine is gone from $prefix. What its runs left is in the places that docs/install.md lists."
}

# Removes those directories of a list that are empty, inner ones first.
remove_directories() {
    printf '%s\n' "$1" | sort -r | while IFS= read -r directory; do
        [ -z "$directory" ] || rmdir "$prefix/$directory" 2> /dev/null || true
    done
}

main "$@"
