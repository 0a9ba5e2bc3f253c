#!/bin/sh
# Starts an emulated aarch64 machine whose disk is the directory ROOT, and runs inside.sh there, as root, as an ordinary
# user and with dpkg. Prints what the machine prints. The last line is "machine: works" if all went well. Used by
# packaging/test.sh, which makes ROOT.
#
#   packaging/machine.sh ROOT
set -eu
root=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mv "$root"/boot/vmlinuz-* "$work/kernel"
rm -rf "${root:?}/boot" "$root/usr/lib/modules" "$root/usr/share/doc"
cp "$here/inside.sh" "$root/dist"
cat > "$root/init" << 'END'
#!/bin/sh
export PATH=/bin:/usr/bin:/usr/sbin:/sbin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
run() {
    chroot --userspec="$1" --groups= / env -i PATH="$PATH" HOME="$2" sh /dist/inside.sh "$3" && rm -f /tmp/*
}
run 0:0 /root /usr/local && run 1000:1000 /home/user /home/user/.local && run 0:0 /root deb && echo "machine: works"
echo o > /proc/sysrq-trigger
read -r _ < /dev/console
END
chmod +x "$root/init"
# It is not compressed: to write more takes a second here, and to unpack it many there.
(cd "$root" && find . | cpio --quiet -o -H newc) > "$work/disk"
timeout 900 qemu-system-aarch64 -M virt -cpu cortex-a72 -smp 2 -m 2G -nographic -nic none -no-reboot \
    -kernel "$work/kernel" -initrd "$work/disk" -append "console=ttyAMA0 quiet panic=-1" < /dev/null | tr -d '\r'
