#!/usr/bin/env bash
# The units under the real systemd: a Debian of its own is made (debootstrap), what is built is installed into it, and its
# systemd is started as process 1 of namespaces of its own (boot_box.sh). Nothing of the machine is written to but the
# folder. usage: boot.sh BUILD FOLDER; ends with 77 and the reason where that cannot be had.
set -euo pipefail
build=$(realpath "$1") work=$2 here=$(dirname "$(realpath "$0")")
. "$here/boot_root.sh"

[ "$(id -u)" = 0 ] || skip "root alone can make a Debian"
trap 'rm -rf --one-file-system "${work:?}/root"' EXIT
make_root "$build" "$work" util-linux
ln -sf /dev/null "$work/root/etc/systemd/system/timers.target" # Debian's own, such as apt-daily
"$here/boot_box.sh" "$work/root" "$work" bash /root/inside.sh
