#!/usr/bin/env bash
# Builds the Debian packages perfci, perfci-server, perfci-runner, libperfci1, libperfci-dev and python3-perfci of this tree.
# Usage: deploy/debian/build.sh [--out DIR] [--build DIR] [--version V] [--component NAME]...
#   --out DIR      where the packages go; default: build/packages
#   --build DIR    build folder, configured with the prefix /usr; default: build/package
#   --version V    version of the packages; default: that of the programs
#   --component N  that package alone, of what it needs (may be repeated)
# Two builds of a commit have equal bytes, wherever their folders are: one time for every file (SOURCE_DATE_EPOCH, by
# default that of the commit), and no path of the build in a program.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$root/build/packages
build=$root/build/package
version=
components=()

die() {
    echo "build.sh: $1" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case "$1" in
    --out | --build | --version)
        [ $# -ge 2 ] || die "$1: expected a value"
        declare "${1#--}=$2"
        shift
        ;;
    --component)
        [[ $# -ge 2 && " perfci perfci-server perfci-runner libperfci1 libperfci-dev python3-perfci " == *" $2 "* ]] ||
            die "--component: expected the name of a package"
        components+=("$2")
        shift
        ;;
    *) die "unknown argument \"$1\": expected --out, --build, --version or --component" ;;
    esac
    shift
done
for program in cmake ninja dpkg-shlibdeps scdoc; do
    [ -n "$(type -P "$program")" ] || die "$program is not installed: run \"deploy/install.sh build package\""
done
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null) || die "SOURCE_DATE_EPOCH is not set, and this is no checkout"
fi
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC
umask 022
mkdir -p "$out" "$build"
out=$(cd "$out" && pwd)
build=$(cd "$build" && pwd)
maps="-ffile-prefix-map=$build=. -ffile-prefix-map=$root=."
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DPERFCI_TESTS=OFF \
    -DCMAKE_C_FLAGS="$maps" >&2
targets=()
for component in ${components[@]+"${components[@]}"}; do
    case "$component" in
    libperfci*) targets+=(libperfci) ;;
    python3-perfci) ;;
    perfci-server) targets+=(pages docs) ;;
    *) targets+=(pages) ;;
    esac
done
if [ ${#components[@]} -eq 0 ] || [ ${#targets[@]} -gt 0 ]; then
    ninja -C "$build" ${targets[@]+"${targets[@]}"} >&2
fi
list=$(IFS=';' && echo "${components[*]-}")
rm -rf "$build/_CPack_Packages"
(cd "$build" && cpack -G DEB -B "$build/cpack" ${version:+-D "CPACK_PACKAGE_VERSION=$version"} \
    ${list:+-D "CPACK_COMPONENTS_ALL=$list"}) >&2
for package in "$build"/cpack/*.deb; do
    mv "$package" "$out/"
    echo "$out/${package##*/}"
done
