#!/bin/sh
# Builds the detector and its peers and prints the table: all of them side by side, over the same series.
#
#   bench/studies/changepoint/run.sh [DIR|FILE.jsonl]      # default: the 80 series that come with the tree
#
# What the build needs is installed by deploy/install.sh build.
set -eu
cd "$(dirname "$0")/../.."
data=${1:-tests/data/changepoint/reduced.jsonl}
for tool in cmake ninja pkg-config; do
    command -v "$tool" >/dev/null || { echo "run.sh: $tool is missing: run deploy/install.sh build first" >&2; exit 5; }
done
build=build/release
[ -f "$build/build.ninja" ] || cmake --preset release -DPERFCI_WEB=OFF >&2
ninja -C "$build" perfci-bench-detect >&2
exec "$build/bin/perfci-bench-detect" --data "$data" --peers --categories
