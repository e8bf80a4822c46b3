#!/usr/bin/env bash
# The units under the real systemd: a Debian of its own is made (debootstrap), what is built is installed into it, and its
# systemd is started as process 1 of namespaces of its own: processes, mounts, network, and a cgroup. Nothing of the
# machine is written to but the folder. usage: boot.sh BUILD FOLDER; ends with 77 and the reason where that cannot be had.
set -euo pipefail
build=$(realpath "$1") work=$2 here=$(realpath "$0")

. "$(dirname "$here")/boot_root.sh"

# ---- process 1 of the namespaces: mounts, then systemd ----
if [ "${3:-}" = boot ]; then
    root=$(realpath "$work")/root
    mount --make-rprivate /
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --bind "$root/proc/sys" "$root/proc/sys"
    mount -o remount,bind,ro "$root/proc/sys" # the machine's settings are not this systemd's
    mount -t sysfs -o ro sysfs "$root/sys"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for node in null zero full random urandom tty; do
        touch "$root/dev/$node"
        mount --bind "/dev/$node" "$root/dev/$node"
    done
    ln -s /proc/self/fd "$root/dev/fd"
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx"
    mount -t tmpfs tmpfs "$root/dev/shm"
    mount -t tmpfs -o mode=755 tmpfs "$root/run"
    mount -t tmpfs tmpfs "$root/tmp"
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
    cd "$root"
    pivot_root . mnt
    umount -l /mnt
    mount --make-rshared / # as it is where systemd is the first: credentials are mounts that are passed on
    exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=console
fi

# ---- outside ----
[ "$(id -u)" = 0 ] || skip "root alone can make the namespaces"
for program in unshare nsenter; do
    [ -n "$(type -P "$program")" ] || skip "there is no $program"
done
cgroups=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
[ -n "$cgroups" ] || skip "there is no cgroup2"
cgroup=$cgroups/perfci-boot-$$
mkdir "$cgroup" 2>/dev/null || skip "no cgroup can be made in $cgroups"

ended() {
    [ ! -w "$cgroup/cgroup.kill" ] || echo 1 >"$cgroup/cgroup.kill"
    [ -z "${box:-}" ] || wait "$box" 2>/dev/null || true
    for _ in $(seq 100); do
        find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null && break
        sleep 0.1
    done
    rm -rf --one-file-system "${work:?}/root"
}
trap ended EXIT

make_root "$build" "$work" util-linux
# Services that the units do not need, or that would affect the host machine.
for unit in systemd-sysctl.service systemd-modules-load.service systemd-random-seed.service systemd-logind.service systemd-pstore.service \
    getty.target timers.target sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount dev-hugepages.mount \
    sys-fs-fuse-connections.mount; do
    ln -sf /dev/null "$work/root/etc/systemd/system/$unit"
done

(
    echo "$BASHPID" >"$cgroup/cgroup.procs"
    exec unshare --fork --pid --mount --uts --ipc --cgroup --net --kill-child bash "$here" "$build" "$work" boot
) </dev/null >"$work/boot.log" 2>&1 &
box=$!
for _ in $(seq 600); do
    first=$(pgrep -P "$(pgrep -P "$box" | head -n 1 || true)" -x systemd 2>/dev/null | head -n 1) || first=
    [ -n "$first" ] || first=$(pgrep -P "$box" -x systemd | head -n 1) || first=
    [ -z "$first" ] || break
    sleep 0.1
done
[ -n "$first" ] || {
    echo "systemd did not start, see $work/boot.log"
    exit 1
}
inside() {
    nsenter -t "$first" -m -u -i -n -p -C -- env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"
}
inside bash /root/inside.sh
