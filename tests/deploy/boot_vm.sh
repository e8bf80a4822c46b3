#!/usr/bin/env bash
# The units on a machine of their own: a Debian with its kernel, booted by QEMU (emulation; PERFCI_BOOT_ACCELERATOR=kvm where
# that works). There, all controllers of cgroup v2 are the system's, and nothing of this machine is used but a folder.
# no_timer_check: on a busy machine the emulated timer may be late, which the kernel would take for a defect.
# usage: boot_vm.sh BUILD FOLDER; ends with 77 and the reason where that cannot be had.
set -euo pipefail
build=$(realpath "$1") work=$2
. "$(dirname "$(realpath "$0")")/boot_root.sh"

[ "$(id -u)" = 0 ] || skip "root alone can make a Debian"
for program in qemu-system-x86_64 mkfs.ext4; do
    [ -n "$(type -P "$program")" ] || skip "there is no $program (packages qemu-system-x86, e2fsprogs)"
done
[ "$(uname -m)" = x86_64 ] || skip "what is built here is not for x86-64"

make_root "$build" "$work" linux-image-cloud-amd64 initramfs-tools udev iproute2
root=$work/root
cat >"$root/etc/systemd/system/perfci-proof.service" <<'END'
[Unit]
Description=What the proof runs
After=multi-user.target

[Service]
# Not oneshot: the script waits until the system has no start job left.
Type=exec
Environment=PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
ExecStart=/bin/sh -c 'bash /root/inside.sh >/dev/ttyS1 2>&1; echo "status $?" >/dev/ttyS1; systemctl poweroff --no-block'

[Install]
WantedBy=graphical.target
END
mkdir -p "$root/etc/systemd/system/graphical.target.wants"
ln -sf ../perfci-proof.service "$root/etc/systemd/system/graphical.target.wants/perfci-proof.service"
ln -sf /lib/systemd/system/graphical.target "$root/etc/systemd/system/default.target"
echo '/dev/vda / ext4 rw 0 1' >"$root/etc/fstab"
cp "$root"/boot/vmlinuz-* "$work/kernel"
cp "$root"/boot/initrd.img-* "$work/initrd"
rm -f "$work/disk"
truncate -s 4G "$work/disk"
mkfs.ext4 -q -d "$root" "$work/disk"
rm -rf --one-file-system "${work:?}/root"

# Emulation by default: a /dev/kvm that opens may still run nothing where the machine is itself a virtual one.
accelerator=${PERFCI_BOOT_ACCELERATOR:-tcg}
: >"$work/proof.log"
echo "  booting (accelerator $accelerator)"
timeout "${PERFCI_BOOT_SECONDS:-3600}" qemu-system-x86_64 -accel "$accelerator" -cpu max -m 2048 -smp 2 -nodefaults -no-reboot \
    -display none -kernel "$work/kernel" -initrd "$work/initrd" -append "root=/dev/vda rw console=ttyS0 panic=-1 no_timer_check" \
    -drive "file=$work/disk,format=raw,if=virtio,cache=unsafe" \
    -serial "file:$work/boot.log" -serial "file:$work/proof.log" </dev/null || {
    echo "the machine did not shut down, see $work/boot.log"
    exit 1
}
rm -f "$work/disk"
tr -d '\r' <"$work/proof.log"
status=$(tr -d '\r' <"$work/proof.log" | sed -n 's/^status //p' | tail -n 1)
exit "${status:-1}"
