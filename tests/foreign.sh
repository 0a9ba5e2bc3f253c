#!/bin/sh
# Runs the integration tests of another processor or libc, in a directory that holds such a system:
#
#   cargo test --no-run --test integration --target TARGET
#   tests/foreign.sh ROOT TESTS [ARGUMENT...]
#
# ROOT is the root directory of that system, with the tools that the tests use (a shell, a C compiler).
# TESTS is the program that cargo built. QEMU may name a user-mode emulator, linked statically. It then runs the
# programs of its processor, also those that they start. All this is visible only in namespaces of their own, and
# is gone afterwards. Needs the superuser, and Linux 6.7 for QEMU.
set -eu

# The programs of each processor: their first 20 bytes, and the bits of these that count.
magic() {
    case $1 in
    *aarch64*) machine='\xb7' ;;
    *x86_64*) machine='\x3e' ;;
    *) echo "$0: for what processor is $1?" >&2; exit 2 ;;
    esac
    zeros='\x00\x00\x00\x00\x00\x00\x00\x00\x00'
    ones='\xff\xff\xff\xff\xff\xff\xff\xff'
    printf '%s' '\x7fELF\x02\x01\x01' "$zeros" '\x02\x00' "$machine" '\x00'
    printf '%s' ':\xff\xff\xff\xff\xff\xff\xff\x00' "$ones" '\xfe\xff\xff\xff'
}

if [ "${1:-}" != --inside ]; then
    turn=$(mktemp -u)
    mkfifo "$turn"
    {
        read -r child < "$turn"
        for map in uid_map gid_map; do
            echo '0 0 65536' > "/proc/$child/$map"
        done
        echo mapped > "$turn"
        rm "$turn"
    } &
    exec unshare --user --mount "$0" --inside "$turn" "$@"
fi

turn=$2 root=$3
shift 3
echo $$ > "$turn"
read -r _ < "$turn"
if [ -n "${QEMU:-}" ]; then
    mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
    # The emulator is opened now. Later it gets the program's own argv[0].
    printf '%s' ":foreign:M::$(magic "$QEMU"):$QEMU:FPC" > /proc/sys/fs/binfmt_misc/register
fi
for folder in /proc /dev "$(dirname "$(realpath "$0")")" "$(realpath "$(dirname "$1")/..")"; do
    mkdir -p "$root$folder"
    mount --rbind "$folder" "$root$folder"
done
# These cannot work here even without confinement: no devices are made in a user namespace.
set -- "$@" --skip attacks_state::block_device --skip attacks_state::character_device
if [ -n "${QEMU:-}" ]; then
    # binfmt_misc runs nothing from a descriptor that is closed on exec. Of the ways to clone, the emulator knows fork
    # and threads, so that a spawned child's error stays with the child.
    set -- "$@" --skip fexecve --skip child_that_shares_the --skip attacks_process::spawn_opens
fi
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/ \
    JP_CONFINE_TEST_BARE="${JP_CONFINE_TEST_BARE:-}" JP_CONFINE_TEST_CC="${JP_CONFINE_TEST_CC:-cc}" \
    chroot "$root" "$@"
