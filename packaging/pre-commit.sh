#!/bin/sh
# Runs jp-confine as a pre-commit hook (.pre-commit-hooks.yaml): the version of the checkout that this file is in, which
# is the `rev` of the configuration. Installs it in that checkout, on first use. JP_CONFINE_FROM names a directory or URL
# with the tarballs, instead of the project's releases.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' "$here/../Cargo.toml")
prefix=$here/../target/pre-commit
[ -x "$prefix/bin/jp-confine" ] ||
    sh "$here/install.sh" --prefix "$prefix" --version "$version" --from "${JP_CONFINE_FROM-}" >&2
exec "$prefix/bin/jp-confine" "$@"
