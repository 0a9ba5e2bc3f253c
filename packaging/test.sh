#!/bin/sh
# Installs what `make dist` built into bare roots, and runs it there: a Debian with another glibc, and what Alpine has.
# Then runs the steps of the GitHub Action and the pre-commit hooks with it.
set -eu
cd "$(dirname "$0")/.."
dist=$PWD/target/dist
suites=${SUITES-trixie}
work=$(mktemp -d)
trap 'wait; rm -rf "$work"' EXIT

skip() { echo "packaging: skipped: $1"; }
there() { for program; do command -v "$program" > "$work/log" || return 1; done; }

# The distribution, with an older version of it and with a damaged one.
mkdir -p "$work/dist/old" "$work/dist/damaged"
(cd "$dist" && sha256sum --quiet -c SHA256SUMS)
cp "$dist"/* "$work/dist"
cp "$dist/SHA256SUMS" "$work/dist/damaged"
for tarball in "$dist"/jp-confine-*-linux.tar.gz; do
    new=${tarball##*/} new=${new%.tar.gz} processor=${new%-linux}
    old=jp-confine-0.0.1-${processor##*-}-linux
    tar -xzf "$tarball" -C "$work/dist/old"
    mv "$work/dist/old/$new" "$work/dist/old/$old"
    touch "$work/dist/old/$old/share/doc/jp-confine/gone"
    tar -I 'gzip -1' -cf "$work/dist/old/$old.tar.gz" -C "$work/dist/old" "$old"
    rm -r "$work/dist/old/$old"
    { cat "$tarball"; echo; } > "$work/dist/damaged/$new.tar.gz"
done
(cd "$work/dist/old" && sha256sum -- *.tar.gz > "$work/sums" && mv "$work/sums" SHA256SUMS)

# Runs inside.sh in the root $1, in namespaces of its own, as the user with the number $2.
inside() {
    root=$1 user=$2
    shift 2
    cp packaging/inside.sh "$root/tmp"
    # shellcheck disable=SC2016
    unshare --mount --pid --fork sh -euc '
        mount --bind "$3" "$1/dist"
        mount --rbind /dev "$1/dev"
        mount -t proc proc "$1/proc"
        root=$1 user=$2
        shift 3
        exec chroot --userspec="$user" --groups= "$root" env -i PATH=/bin:/usr/bin:/usr/sbin:/sbin HOME="$1" \
            sh /tmp/inside.sh "$2"' sh "$root" "$user" "$work/dist" "$@"
    rm "$root/tmp/"*
}

# Prepares the root $1 for inside.sh, with an ordinary user.
prepare() {
    mkdir -p "$1/dist" "$1/dev" "$1/proc" "$1/tmp" "$1/root" "$1/home/user" "$1/etc"
    chmod 1777 "$1/tmp"
    chown 1000:1000 "$1/home/user"
    printf 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n' > "$1/etc/passwd"
    printf 'root:x:0:\nuser:x:1000:\n' > "$1/etc/group"
}

# Installs in the root $1, as root and as an ordinary user.
try() {
    prepare "$1"
    inside "$1" 0:0 /root /usr/local
    inside "$1" 1000:1000 /home/user /home/user/.local
    if [ -e "$1/usr/bin/dpkg" ]; then inside "$1" 0:0 /root deb; fi
}

# Installs for the other processors, in an emulated machine with a kernel of its own.
emulated() {
    for other in "$dist"/jp-confine-*-linux.tar.gz; do
        processor=${other%-linux.tar.gz} processor=${processor##*-}
        if [ "$processor" = "$(uname -m)" ]; then
            continue
        elif [ "$processor" != aarch64 ] || [ "$(id -u)" -ne 0 ]; then
            skip "$processor: nothing here emulates it"
        elif ! there qemu-system-aarch64 cpio mmdebstrap; then
            skip "$processor: no qemu-system-aarch64, cpio or mmdebstrap"
        elif sh packaging/roots.sh machine trixie "$work/machine" > "$work/fetched" 2>&1; then
            prepare "$work/machine"
            cp -R "$work/dist/." "$work/machine/dist"
            find "$work/machine/dist" \( -name '*.gz' -o -name '*.deb' \) ! -name '*aarch64*' ! -name '*arm64*' -delete
            sh packaging/machine.sh "$work/machine" > "$work/printed"
            grep -qx 'machine: works' "$work/printed" || { cat "$work/printed"; exit 1; }
            echo "packaging: works on $processor"
        else
            cat "$work/fetched"
            skip "$processor: Debian for it cannot be fetched"
        fi
    done
}

# This takes longest, so it goes on beside the rest.
emulated > "$work/emulated" 2>&1 &
emulated=$!

if [ "$(id -u)" -ne 0 ]; then
    skip "only root can change the root directory"
elif ! unshare --mount --pid --fork mount -t proc proc /proc 2> "$work/log"; then
    skip "nothing can be mounted here"
else
    for suite in $suites; do
        if ! there mmdebstrap; then
            skip "Debian's $suite: no mmdebstrap"
        elif sh packaging/roots.sh debian "$suite" "$work/$suite" > "$work/log" 2>&1; then
            try "$work/$suite"
            echo "packaging: works in Debian's $suite"
        else
            cat "$work/log"
            skip "Debian's $suite cannot be fetched"
        fi
    done
    if ! there musl-gcc apt-get; then
        skip "Alpine's musl: no musl-gcc or no apt-get"
    elif sh packaging/roots.sh alpine "$work/alpine" > "$work/log" 2>&1; then
        try "$work/alpine"
        echo "packaging: works with busybox on musl"
    else
        cat "$work/log"
        skip "busybox for musl cannot be built"
    fi
fi

# The GitHub Action.
version=$(cd "$dist" && echo jp-confine-*-"$(uname -m)"-linux.tar.gz)
version=${version#jp-confine-} version=${version%-"$(uname -m)"-linux.tar.gz}
if ! /usr/bin/python3 -c 'import yaml' 2> "$work/log"; then
    skip "the steps of the Action: no python3-yaml"
else
    /usr/bin/python3 packaging/run_action.py action.yml "from=$dist" "version=$version" > "$work/said"
    grep -qx "version=$version" "$work/said" || { cat "$work/said"; exit 1; }
    echo "packaging: the Action installs $version"
fi

# The pre-commit hooks, in a repository whose policy is right, and then wrong.
if ! pre-commit --version > "$work/log" 2>&1; then
    skip "the hooks: no pre-commit"
else
    repository=$work/repository
    mkdir -p "$repository" "$work/hooks/packaging"
    cp .pre-commit-hooks.yaml Cargo.toml "$work/hooks"
    cp packaging/install.sh packaging/pre-commit.sh "$work/hooks/packaging"
    commit() { git -C "$1" add . && git -C "$1" -c user.name=x -c user.email=x@x commit -qm "$2"; }
    git init -q "$work/hooks"
    commit "$work/hooks" hooks
    git init -q "$repository"
    cat > "$repository/.pre-commit-config.yaml" << END
repos:
  - repo: $work/hooks
    rev: $(git -C "$work/hooks" rev-parse HEAD)
    hooks:
      - id: jp-confine-policy
      - id: jp-confine
        args: [--, sh, -c, 'echo ok > made']
END
    printf '[[access.fs]]\npath = "."\nread = true\nwrite = true\nexecute = true\n' > "$repository/jp-confine.toml"
    commit "$repository" policy
    hooks() { (cd "$repository" && JP_CONFINE_FROM=$dist PRE_COMMIT_HOME=$work/cache pre-commit run --all-files); }
    hooks > "$work/said" || { cat "$work/said"; exit 1; }
    [ "$(cat "$repository/made")" = ok ]
    echo 'pat = 1' >> "$repository/jp-confine.toml"
    ! hooks > "$work/said" || { echo "packaging: a wrong policy passes the hook"; exit 1; }
    grep -q 'unknown key' "$work/said" || { cat "$work/said"; exit 1; }
    echo "packaging: the hooks run $version"
fi

wait "$emulated" || { cat "$work/emulated"; exit 1; }
cat "$work/emulated"
