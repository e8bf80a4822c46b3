#!/usr/bin/env bash
# Starts systemd as process 1 of namespaces of its own (processes, mounts, network, IPC, a cgroup), and runs a command
# beside it. Nothing of the machine is written to but FOLDER.
# usage: boot_box.sh ROOT FOLDER COMMAND...
#   ROOT    a folder with a system; or /, this machine's own: then all changes are in memory and end with the command,
#           and of the machine's services none is started
#   FOLDER  for systemd's log (boot.log)
# Ends with the status of the command; with 77 and the reason where the machine lets no systemd start.
set -euo pipefail
here=$(realpath "$0")

# cover ROOT FOLDER MEMORY : FOLDER of the machine below ROOT, with its changes in MEMORY
cover() {
    mkdir -p "$3/upper" "$3/work" "$1/$2"
    mount -t overlay -o "lowerdir=$2,upperdir=$3/upper,workdir=$3/work" overlay "$1/$2"
}

# own_system MEMORY : MEMORY/root, the machine's own system; folders in which the machine keeps state are empty.
own_system() {
    local memory=$1 root=$1/root folder east
    mount -t tmpfs -o mode=755 tmpfs "$memory"
    mkdir "$root"
    cover "$root" / "$memory/system"
    # A checkout or build folder on a file system of its own.
    for folder in "${PERFCI_SOURCE_DIR:-/}" "$(dirname "${PERFCI_BIN_DIR:-/bin}")"; do
        [ "$(findmnt -n -o TARGET --target "$folder")" = / ] || cover "$root" "$folder" "$memory/${folder//\//_}"
    done
    : >"$root/etc/fstab"
    # Local time is about noon, so that no timer of the night is due while a test runs.
    east=$((12 - 10#$(date -u +%H)))
    ln -sfn "/usr/share/zoneinfo/Etc/GMT$(printf '%+d' $((-east)))" "$root/etc/localtime"
    for folder in etc/systemd/system etc/perfci etc/postgresql var/lib/postgresql var/lib/systemd var/lib/private var/log/journal srv; do
        mkdir -p "$root/$folder"
        mount -t tmpfs -o mode=755 tmpfs "$root/$folder"
    done
    chmod 700 "$root/var/lib/private"
    # systemd makes links of these; a folder that is there would be moved.
    [ "$(findmnt -n -o FSTYPE --mountpoint "$root")" = overlay ] && rm -rf --one-file-system "$root"/var/lib/perfci*
    ln -s /dev/null "$root/etc/systemd/system/systemd-tmpfiles-setup.service" # it removes what is in /tmp
}

# ---- process 1 of the namespaces: mounts, then systemd ----
if [ "${1:-}" = inside ]; then
    root=$2 folder=$3 unit=()
    mount --make-rprivate /
    if [ "$root" = / ]; then
        own_system "$folder"
        root=$folder/root
        unit=(--unit=basic.target)
    else
        mount --bind "$root" "$root"
    fi
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
    # The kernel lets a sandbox mount a /proc only where an uncovered one is; /proc/sys covers the other.
    mkdir "$root/run/whole-proc"
    mount -t proc proc "$root/run/whole-proc"
    [ ${#unit[@]} -gt 0 ] || mount -t tmpfs tmpfs "$root/tmp"
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
    # Services that the units do not need, or that would affect the machine.
    for service in systemd-sysctl.service systemd-modules-load.service systemd-random-seed.service systemd-logind.service \
        systemd-pstore.service getty.target sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount \
        dev-hugepages.mount sys-fs-fuse-connections.mount; do
        ln -sf /dev/null "$root/etc/systemd/system/$service"
    done
    cd "$root"
    pivot_root . mnt
    umount -l /mnt
    mount --make-rshared / # as it is where systemd is the first: credentials are mounts that are passed on
    exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=console ${unit[@]+"${unit[@]}"}
fi

# ---- outside ----
skip() {
    echo "skipped: $1"
    exit 77
}

[ $# -ge 3 ] || { echo "boot_box.sh: expected ROOT FOLDER COMMAND..., got $# arguments" >&2; exit 2; }
root=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
shift 2
[ "$(id -u)" = 0 ] || skip "root alone can make the namespaces"
for program in unshare nsenter pivot_root; do
    [ -n "$(type -P "$program")" ] || skip "there is no $program"
done
[ -x "${root%/}/lib/systemd/systemd" ] || skip "there is no systemd in $root"
cgroups=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
[ -n "$cgroups" ] || skip "there is no cgroup2"
if [ "$root" = / ]; then
    unshare --mount sh -c 'mount -t tmpfs tmpfs "$1" && mkdir "$1/upper" "$1/work" "$1/root" &&
        mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" overlay "$1/root"' sh "$folder" >"$folder/boot.log" 2>&1 ||
        skip "the machine's system cannot be mounted as an overlay: $(tail -n 1 "$folder/boot.log")"
fi
cgroup=$cgroups/perfci-boot-$$
mkdir "$cgroup" 2>/dev/null || skip "no cgroup can be made in $cgroups"

ended() {
    [ ! -w "$cgroup/cgroup.kill" ] || echo 1 >"$cgroup/cgroup.kill"
    [ -z "${box:-}" ] || wait "$box" 2>/dev/null || true
    for _ in $(seq 100); do
        find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null && break
        sleep 0.1
    done
}
trap ended EXIT

(
    echo "$BASHPID" >"$cgroup/cgroup.procs"
    exec unshare --fork --pid --mount --uts --ipc --cgroup --net --kill-child bash "$here" inside "$root" "$folder"
) </dev/null >"$folder/boot.log" 2>&1 &
box=$!
for _ in $(seq 600); do
    first=$(pgrep -P "$(pgrep -P "$box" | head -n 1 || true)" -x systemd 2>/dev/null | head -n 1) || first=
    [ -n "$first" ] || first=$(pgrep -P "$box" -x systemd | head -n 1) || first=
    [ -z "$first" ] && kill -0 "$box" 2>/dev/null || break
    sleep 0.1
done
[ -n "$first" ] || skip "systemd does not start in namespaces here: $(tail -n 1 "$folder/boot.log")"
inside() {
    nsenter -t "$first" -m -u -i -n -p -C -- env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"
}
mapfile -t passed < <(env | grep -E '^(PERFCI_(SOURCE|BIN|TEST)_DIR|PYTHONDONTWRITEBYTECODE)=')
inside "${passed[@]}" "$@"
