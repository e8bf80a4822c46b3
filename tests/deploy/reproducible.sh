#!/usr/bin/env bash
# Two builds of the packages from two clones in two folders, without a cache of objects: equal bytes.
# usage: reproducible.sh FOLDER [COMPONENT...]     the packages alone that are named; default: all
set -euo pipefail
root=$(cd "$(dirname "$(realpath "$0")")/../.." && pwd)
[ $# -ge 1 ] || { echo "reproducible.sh: expected a work folder" >&2; exit 2; }
mkdir -p "$1"
work=$(realpath "$1")
shift
options=()
for component in "$@"; do
    options+=(--component "$component")
done
export CCACHE_DISABLE=1
commit=$(git -C "$root" rev-parse HEAD)
for name in first a-second-folder; do
    rm -rf "${work:?}/$name"
    git clone -q --no-hardlinks --no-checkout "$root" "$work/$name/perfci"
    git -C "$work/$name/perfci" checkout -q --detach "$commit"
    echo "reproducible: build in $work/$name" >&2
    "$work/$name/perfci/deploy/debian/build.sh" --out "$work/$name/debs" ${options[@]+"${options[@]}"} >"$work/$name.log" 2>&1 ||
        { echo "reproducible.sh: the build failed, see $work/$name.log" >&2; exit 1; }
done
status=0
for package in "$work"/first/debs/*.deb; do
    if cmp -s "$package" "$work/a-second-folder/debs/${package##*/}"; then
        echo "reproducible: equal: ${package##*/} $(sha256sum <"$package" | cut -c1-16)"
    else
        echo "reproducible: FAILED: the two builds of ${package##*/} differ" >&2
        status=1
    fi
done
exit "$status"
