#!/usr/bin/env bash
# Builds perfci, starts it, and shows its main job on real input: the kernel suite measured on this
# machine, and a demonstration repository whose two planted slowdowns, one of them on the simulated
# accelerator, are bisected and named.
#   --no-install  skip the package step
#   --port N      the dashboard's port (default 7420)
#   --data DIR    where the service keeps its data (default $XDG_DATA_HOME/perfci)
# Its last lines on stdout: planted commits, named commits, dashboard, stop.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
install=1
port=7420
data=${XDG_DATA_HOME:-$HOME/.local/share}/perfci

usage() {
    sed -n '2,8s/^# \{0,1\}//p' "$0"
}

die() {
    echo "quickstart.sh: $1" >&2
    exit "${2:-1}"
}

while [ $# -gt 0 ]; do
    case "$1" in
    --no-install) install=0 ;;
    --port)
        [ $# -ge 2 ] || die "--port: expected a number" 2
        port=$2
        shift
        ;;
    --data)
        [ $# -ge 2 ] || die "--data: expected a folder" 2
        data=$2
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *) die "unknown option $1; expected --no-install, --port N or --data DIR" 2 ;;
    esac
    shift
done
case "$port" in
'' | *[!0-9]*) die "--port: expected a number, got \"$port\"" 2 ;;
esac
case "$data" in
/*) ;;
*) data=$PWD/$data ;;
esac

say() { printf '\n== %s\n' "$*" >&2; }

if [ "$install" -eq 1 ]; then
    say "packages"
    "$root/deploy/install.sh" build runtime >&2
fi
for tool in cmake ninja cc git python3 make; do
    command -v "$tool" >/dev/null || die "$tool is missing; run without --no-install, or install it"
done

say "build (build/release)"
mkdir -p "$root/build"
cmake -S "$root" --preset release -DPERFCI_TESTS=OFF >"$root/build/configure.log" 2>&1 || {
    tail -n 20 "$root/build/configure.log" >&2
    die "configuring failed; the whole log is $root/build/configure.log"
}
cmake --build "$root/build/release" >&2
perfci=$root/build/release/bin/perfci

say "service"
"$perfci" up --detach --port "$port" --data "$data" >&2
export PERFCI_DATA=$data

# A fresh project at every call, so that the demonstration never meets an older one's values.
stamp=$(date -u +%Y%m%d-%H%M%S)-$$
work=$data/demo/$stamp
mkdir -p "$work"

say "the kernel suite, measured by the runner on this machine's CPU and on the simulated accelerator"
"$perfci" nightly --jobs --repo "$root" --project perfci --create --suite quick --max-commits 1 >&2

say "demonstration: a repository with a real slowdown in one commit, and worse tiles in another"
"$root/deploy/demo/make_demo.py" "$work/tinygemm" --json >"$work/facts.json"
fact() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$work/facts.json" "$1"; }
planted=$(fact planted)
planted_tiles=$(fact planted_tiles)
first=$(fact first)
project=demo-$stamp

say "the runner measures its history, the service judges it"
status=0
"$perfci" nightly --jobs --all --repo "$work/tinygemm" --project "$project" --create >&2 || status=$?
case "$status" in
0 | 1 | 3) ;;
*) die "the nightly round ended with status $status" ;;
esac

say "bisection"
status=0
"$perfci" bisect --repo "$work/tinygemm" --metric gemm_tflops --good "$first" --bad main \
    --project "$project" --post --json >"$work/bisect.json" || status=$?
[ "$status" -eq 1 ] || die "perfci bisect ended with status $status instead of 1; see $work/bisect.json"
named_by() {
    python3 - "$1" <<'EOF'
import json, sys
culprits = json.load(open(sys.argv[1]))["culprits"]
print(" ".join(commit for commit in culprits[0]["commits"]))
EOF
}
named=$(named_by "$work/bisect.json")

say "bisection on the simulated accelerator: exact cycles, one run a commit"
status=0
PATH=$root/build/release/bin:$PATH "$perfci" bisect --repo "$work/tinygemm" \
    --config "$work/tinygemm/accel.yaml" --good "$first" --bad main --json >"$work/tiles.json" || status=$?
[ "$status" -eq 1 ] || die "perfci bisect ended with status $status instead of 1; see $work/tiles.json"
named_tiles=$(named_by "$work/tiles.json")

url=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["url"])' "$data/endpoint.json")
echo "planted commit: $planted"
echo "named commit: $named"
echo "planted tiles: $planted_tiles"
echo "named tiles: $named_tiles"
echo "dashboard: $url/?project=$project"
echo "stop: $perfci down --data $data"
[ "$planted" = "$named" ] || die "the named commit is not the planted one"
[ "$planted_tiles" = "$named_tiles" ] || die "the commit named for its tiles is not the planted one"
