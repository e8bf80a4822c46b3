#!/usr/bin/env bash
# A Debian with what is built installed into it, for boot.sh and boot_vm.sh, which read this file.

skip() {
    echo "skipped: $1"
    exit 77
}

# make_root BUILD WORK PACKAGE... : WORK/root, or the end with 77 and the reason.
make_root() {
    local build=$1 work=$2 libraries
    shift 2
    [ -n "$(type -P debootstrap)" ] || skip "there is no debootstrap"
    mkdir -p "$work"
    rm -rf --one-file-system "${work:?}/root"
    libraries=$(ldd "$build"/bin/perfci* | awk '$2 == "=>" { print $3 }' | sort -u |
        while read -r file; do dpkg -S "$(realpath "$file")" 2>/dev/null || true; done | sed 's/:.*//' | sort -u | paste -sd,)
    debootstrap --variant=minbase --include="systemd,systemd-sysv,dbus,procps,postgresql,curl,git,bubblewrap,$libraries,$(
        IFS=,
        echo "$*"
    )" bookworm "$work/root" \
        http://deb.debian.org/debian >"$work/debootstrap.log" 2>&1 || skip "debootstrap failed, see $work/debootstrap.log"
    DESTDIR=$(realpath "$work")/root cmake --install "$build" --prefix /usr/local >"$work/install.log"
    cp "$(dirname "${BASH_SOURCE[0]}")/units_inside.sh" "$work/root/root/inside.sh"
}
