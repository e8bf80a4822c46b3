#!/usr/bin/env bash
# README's two commands in a bare Debian: made by debootstrap, with a clean clone of this repository's HEAD in it, in
# namespaces of its own (mounts, processes, IPC), with the machine's network and package sources.
# usage: bare.sh NAME FOLDER COMMAND...   NAME is Debian's (bookworm, trixie); the commands are run one after the other
#                                         in the clone, each by bash -c
#        bare.sh --copy DIR ...           copies DIR into the system first, as /src/NAME-of-DIR
#        bare.sh --keep ...               leaves the system in FOLDER/NAME for the next call
# Ends with 2 and a sentence where something is missing, with the status of the first command that fails.
set -euo pipefail
here=$(realpath "$0")
source_root=$(realpath "$(dirname "$here")/../..")
keep=0
copy=
while [ "${1:-}" = --keep ] || [ "${1:-}" = --copy ]; do
    if [ "$1" = --copy ]; then
        copy=$(realpath "$2")
        shift
    else
        keep=1
    fi
    shift
done

die() {
    echo "bare.sh: $1" >&2
    exit 2
}

# ---- inside the namespaces: mounts that end with them, then the commands ----
if [ "${1:-}" = inside ]; then
    root=$2
    shift 2
    mount --make-rprivate /
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
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
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
    mount -t tmpfs -o mode=755 tmpfs "$root/run"
    for command in "$@"; do
        printf '   $ %s\n' "$command" >&2
        chroot "$root" /usr/bin/env -C /src/perfci bash -c "$command" </dev/null || exit $?
    done
    exit 0
fi

# ---- outside ----
[ $# -ge 3 ] || die "expected NAME FOLDER COMMAND..., got $# arguments"
name=$1 work=$2
shift 2
[ "$(id -u)" = 0 ] || die "root is needed to make a system: run as root"
for program in debootstrap unshare git; do
    [ -n "$(type -P "$program")" ] || die "$program is not installed: run \"apt-get install $program\""
done
mkdir -p "$work"
root=$(realpath "$work")/$name

# The mirror that the machine itself uses; Debian's own where it is no Debian.
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null | sed -n 's/^Debian //p' | head -n 1)
security=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null | sed -n 's/^Debian-Security //p' | head -n 1)
mirror=${mirror:-http://deb.debian.org/debian}
security=${security:-http://deb.debian.org/debian-security}

remove() {
    ! grep -q " ${root}[ /]" /proc/self/mountinfo || die "$root has mounts: it is left as it is"
    rm -rf --one-file-system "${root:?}"
}

make_system() {
    remove
    echo "== $name: debootstrap" >&2
    debootstrap --variant=minbase "$name" "$root" "$mirror" >"$work/$name-debootstrap.log" 2>&1 ||
        die "debootstrap $name failed, see $work/$name-debootstrap.log"
    cat >"$root/etc/apt/sources.list" <<END
deb $mirror $name main
deb $mirror $name-updates main
deb $security $name-security main
END
    # The machine's ways to the network: proxies, certificates, the npm registry.
    apt-config dump | grep -E '^Acquire::(http|https)::Proxy' >"$root/etc/apt/apt.conf.d/99host" || true
    [ ! -r /etc/ssl/certs/ca-certificates.crt ] || cp /etc/ssl/certs/ca-certificates.crt "$root/usr/local/share/host-certificates.crt"
    # Packages must not start their services.
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    mkdir "$root/src"
}

[ "$keep" -eq 1 ] && [ -x "$root/usr/bin/apt-get" ] && [ -d "$root/src" ] || make_system
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
[ -z "$(git -C "$source_root" status --porcelain)" ] || echo "bare.sh: what is not committed is not in the clone" >&2
if [ -d "$root/src/perfci/.git" ]; then
    git -C "$root/src/perfci" fetch -q "$source_root" HEAD
    git -C "$root/src/perfci" reset -q --hard FETCH_HEAD
else
    git clone -q --no-hardlinks "$source_root" "$root/src/perfci"
fi
if [ -n "$copy" ]; then
    rm -rf "$root/src/${copy##*/}"
    cp -r "$copy" "$root/src/"
fi
settings=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
[ ! -r /etc/ssl/certs/ca-certificates.crt ] || settings+=(NODE_EXTRA_CA_CERTS=/usr/local/share/host-certificates.crt)
[ -z "$(type -P npm)" ] || settings+=("npm_config_registry=$(npm config get registry 2>/dev/null)")
status=0
env -i "${settings[@]}" unshare --mount --ipc --uts --pid --fork --kill-child bash "$here" inside "$root" "$@" || status=$?
[ "$keep" -eq 1 ] || remove
exit "$status"
