#!/bin/sh
# Builds what a release publishes, in target/dist: for each processor a tarball and a .deb, then install.sh and the
# checksums. Owners, order and times in them do not depend on the machine and the day.
#
#   packaging/dist.sh PROFILE PROCESSOR...
#
# PROCESSOR is x86_64 or aarch64. The first must run here: it prints the manual page and the completions.
set -eu
cd "$(dirname "$0")/.."
umask 022
profile=$1
shift
# A quick build is for a test, and so are its archives.
level=9
[ "$profile" != dev ] || level=1

version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH-$(git log -1 --format=%ct 2> /dev/null || stat -c %Y Cargo.lock)}
export SOURCE_DATE_EPOCH
dist=$PWD/target/dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$dist"
mkdir -p "$dist" "$work/pages"

# The launcher is static. The preload library in it has no libc, and is built for glibc's headers. One cargo builds for
# all processors, so that the long last step of one does not leave the other cores without work.
build() {
    targets=
    for processor; do
        rustup target add "$processor-unknown-linux-musl" "$processor-unknown-linux-gnu" 2> "$work/log" ||
            { cat "$work/log" >&2; exit 1; }
        capitals=$(echo "$processor" | tr '[:lower:]' '[:upper:]')
        # C that is built against glibc's headers must not call its checking functions. musl has none.
        export "CC_${processor}_unknown_linux_musl=$processor-linux-gnu-gcc" \
            "CFLAGS_${processor}_unknown_linux_musl=-U_FORTIFY_SOURCE" \
            "CARGO_TARGET_${capitals}_UNKNOWN_LINUX_MUSL_LINKER=$processor-linux-gnu-gcc" \
            "CARGO_TARGET_${capitals}_UNKNOWN_LINUX_GNU_LINKER=$processor-linux-gnu-gcc"
        targets="$targets --target $processor-unknown-linux-musl"
    done
    # shellcheck disable=SC2086
    RUSTFLAGS="-Crelocation-model=static --remap-path-prefix=${CARGO_HOME-$HOME/.cargo}=/cargo --remap-path-prefix=$PWD=/jp-confine" \
        "${CARGO-cargo}" build --locked --package jp-confine --profile "$profile" $targets
}

# The licence of each crate that the launcher contains.
licences() {
    "${CARGO-cargo}" tree --locked --package jp-confine --edges normal --prefix none --format '{p} {l}' \
        --target "$1-unknown-linux-musl" | sed 's, (\*)$,,' | sort -u > "$work/crates"
    while read -r crate crate_version licence; do
        source=$(echo "${CARGO_HOME-$HOME/.cargo}"/registry/src/*/"$crate-${crate_version#v}")
        [ -d "$source" ] || continue
        printf '\n======== %s %s: %s\n\n' "$crate" "$crate_version" "$licence"
        # Of several licences to choose from, the shortest.
        if [ -f "$source/LICENSE-MIT" ]; then cat "$source/LICENSE-MIT"; continue; fi
        find "$source" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' \) | sort | xargs -r -d '\n' cat
    done < "$work/crates"
}

# A directory that fits a prefix, such as /usr/local.
stage() {
    doc=$3/share/doc/jp-confine
    mkdir -p "$3/bin" "$doc"
    cp "$2" "$3/bin/jp-confine"
    cp -R "$work/pages/share" "$3"
    cp LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md "$doc"
    licences "$1" > "$doc/THIRD-PARTY"
    cp packaging/copyright "$doc"
    cp "$(rustc --print sysroot)/share/doc/rust/COPYRIGHT-library.html" "$doc/rust-library.html"
}

pages() {
    share=$work/pages/share
    mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" \
        "$share/fish/vendor_completions.d"
    "$1" man | gzip -9n > "$share/man/man1/jp-confine.1.gz"
    "$1" completions bash > "$share/bash-completion/completions/jp-confine"
    "$1" completions zsh > "$share/zsh/site-functions/_jp-confine"
    "$1" completions fish > "$share/fish/vendor_completions.d/jp-confine.fish"
}

tarball() {
    tar --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        -C "$work" -cf - "$1" | gzip -"${level}n" > "$dist/$1.tar.gz"
}

deb() {
    case $1 in x86_64) architecture=amd64 ;; aarch64) architecture=arm64 ;; esac
    mkdir -p "$work/deb-$1/DEBIAN"
    cp -R "$2" "$work/deb-$1/usr"
    cd "$work/deb-$1"
    find usr -type f | sort | xargs md5sum > DEBIAN/md5sums
    sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$(du -sk usr | cut -f1)/" \
        "$OLDPWD/packaging/control" > DEBIAN/control
    dpkg-deb --root-owner-group -Zgzip -z"$level" --build . "$dist/jp-confine_${version}_$architecture.deb" > /dev/null
    cd "$OLDPWD"
}

build "$@"
directory=$profile
[ "$profile" != dev ] || directory=debug
for processor; do
    launcher=${CARGO_TARGET_DIR-target}/$processor-unknown-linux-musl/$directory/jp-confine
    [ -d "$work/pages/share" ] || pages "$launcher"
    name=jp-confine-$version-$processor-linux
    stage "$processor" "$launcher" "$work/$name"
    deb "$processor" "$work/$name"
    mkdir -p "$work/$name/lib/jp-confine"
    cp packaging/install.sh "$work/$name/lib/jp-confine"
    tarball "$name"
done
cp packaging/install.sh "$dist"
cd "$dist"
sha256sum -- * > "$work/sums"
mv "$work/sums" SHA256SUMS
cat SHA256SUMS
