#!/usr/bin/env bash
# The Debian packages in a bare Debian 12: from apt to a verdict on another repository, upgrade with data, purge.
# usage: packages.sh FOLDER [PACKAGES]   FOLDER: work folder; PACKAGES: folder with built packages (default: they are built)
# The previous version is the newest release's tag before HEAD; without one it is this tree, packaged under a lower number.
# Ends with 2 and a sentence where something is missing, with 1 when a check fails.
set -euo pipefail
here=$(cd "$(dirname "$(realpath "$0")")" && pwd)
root=$(cd "$here/../.." && pwd)
[ $# -ge 1 ] || { echo "packages.sh: expected a work folder" >&2; exit 2; }
work=$1
[ "$(id -u)" = 0 ] || { echo "packages.sh: root is needed to make a system: run as root" >&2; exit 2; }
mkdir -p "$work/debs/new" "$work/debs/old"
rm -f "$work"/debs/*/*.deb
if [ $# -ge 2 ]; then
    cp "$2"/*.deb "$work/debs/new/"
else
    "$root/deploy/debian/build.sh" --out "$work/debs/new" >"$work/packages.log" 2>&1 ||
        { echo "packages.sh: the build failed, see $work/packages.log" >&2; exit 1; }
fi
# The previous version.
tag=$(git -C "$root" describe --tags --match 'v[0-9]*' --abbrev=0 'HEAD^' 2>/dev/null || true)
if [ -n "$tag" ] && git -C "$root" cat-file -e "$tag:deploy/debian/build.sh" 2>/dev/null; then
    git -C "$root" worktree add --force --detach "$work/previous" "$tag" >/dev/null
    "$work/previous/deploy/debian/build.sh" --out "$work/debs/old" >>"$work/packages.log" 2>&1
    git -C "$root" worktree remove --force "$work/previous"
else
    for package in "$work"/debs/new/*.deb; do
        rm -rf "$work/repack"
        dpkg-deb -R "$package" "$work/repack"
        version=$(sed -n 's/^Version: //p' "$work/repack/DEBIAN/control")
        sed -i "s/^Version: .*/Version: $version~previous/; s/(= $version)/(= $version~previous)/" "$work/repack/DEBIAN/control"
        dpkg-deb --root-owner-group -b "$work/repack" "$work/debs/old" >/dev/null
    done
    rm -rf "$work/repack"
fi
# A user's repository: eleven commits after v1.0, one of them slow. The system that the packages come to has no Python.
rm -rf "$work/debs/own"
"$root/tests/e2e/reader.py" "$work/debs/own" >"$work/debs/own.ids"
exec "$here/bare.sh" --copy "$work/debs" bookworm "$work" "bash tests/deploy/packages_inside.sh /src/debs"
