#!/usr/bin/env bash
# A release of HEAD in a folder: source archive, Debian packages, list of components, checksums, notes.
# Usage: deploy/release.sh [--out DIR] [--no-packages]
#   --out DIR       default: build/release-VERSION
#   --no-packages   the archive, the list and the notes alone
# Refuses a tree with changes, and a version without an entry in docs/CHANGELOG.md. Nothing is uploaded or tagged.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/^#define PFC_VERSION "\([0-9.]*\)"$/\1/p' "$root/core/base/base.h")
out=$root/build/release-$version
packages=1

die() {
    echo "release.sh: $1" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case "$1" in
    --out)
        [ $# -ge 2 ] || die "--out: expected a folder"
        out=$2
        shift
        ;;
    --no-packages) packages=0 ;;
    *) die "unknown argument \"$1\": expected --out or --no-packages" ;;
    esac
    shift
done
[ -z "$(git -C "$root" status --porcelain)" ] || die "the working tree has changes: commit them first"
notes=$(awk -v head="## $version " 'index($0, head) == 1 { on = 1; next } /^## / { on = 0 } on' "$root/docs/CHANGELOG.md")
[ -n "$notes" ] || die "docs/CHANGELOG.md has no entry \"## $version (date)\""
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
export SOURCE_DATE_EPOCH
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out"/*.deb "$out"/perfci-*.tar.gz "$out"/SHA256SUMS
echo "source archive" >&2
git -C "$root" archive --format=tar --prefix="perfci-$version/" HEAD | gzip -9n >"$out/perfci-$version.tar.gz"
"$root/deploy/debian/sbom.py" >"$out/perfci-$version.cdx.json"
printf '%s\n' "$notes" | sed -e '/./,$!d' >"$out/NOTES.md"
if [ "$packages" -eq 1 ]; then
    echo "packages" >&2
    "$root/deploy/debian/build.sh" --out "$out" >/dev/null
fi
(cd "$out" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
echo "$out"
