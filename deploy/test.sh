#!/usr/bin/env bash
# Installs what the tests need, builds, and runs every test through ctest.
#   --fast        the unit label only, release build only
#   --no-install  skip the package step
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
fast=0
install=1
for arg in "$@"; do
    case "$arg" in
    --fast) fast=1 ;;
    --no-install) install=0 ;;
    -h | --help)
        sed -n '2,4s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *)
        echo "test.sh: unknown option $arg; want --fast or --no-install" >&2
        exit 2
        ;;
    esac
done

say() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

# Whatever goes on beside the rest is over before this script is: a package half unpacked helps nobody.
packages= sanitized=
finish() {
    local status=$?
    trap - EXIT
    [ -z "$sanitized" ] || kill -- "-$sanitized" 2>/dev/null || true
    wait || true
    exit "$status"
}
trap finish EXIT

cd "$root"
mkdir -p build
if [ "$install" -eq 1 ]; then
    say "packages: to build with; the others come while the programs are built"
    ./deploy/install.sh build
    ./deploy/install.sh runtime test </dev/null >build/packages.log 2>&1 &
    packages=$!
fi

# Tests wait for others much of their time; two more than there are cores keep the cores busy.
jobs=$(($(nproc) + 2))

run_ctest() {
    # No test may read the caller's terminal or settings.
    env -u PERFCI_URL -u PERFCI_TOKEN -u PERFCI_TOKEN_FILE -u PERFCI_DATA -u PERFCI_DATABASE_URL \
        ctest --test-dir "build/$1" --output-on-failure --no-tests=error "${@:2}" </dev/null
}

build_release() {
    cmake --preset release -DPERFCI_TESTS="$1" -DPERFCI_WERROR=ON >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
    cmake --build build/release
}

if [ -n "$packages" ]; then
    say "build: release, the programs"
    build_release OFF
    say "packages: to run and to test with"
    wait "$packages" || { cat build/packages.log; exit 1; }
    cat build/packages.log
fi
say "build: release"
build_release ON
if [ "$fast" -eq 1 ]; then
    say "tests: unit"
    run_ctest release -L unit -j "$jobs"
    exit 0
fi

# The second build takes what the tests leave idle, and no more: of a core that a test wants it gets a sixtieth.
# A process group of its own, so that its end is that of every compiler in it; not a session, which Linux would
# give a share of its own whatever the priority.
set -m
nice -n 19 bash -c 'cmake --preset asan -DPERFCI_WEB=OFF && exec ninja -C build/asan' </dev/null >build/asan.log 2>&1 &
sanitized=$!
set +m
say "tests: all labels, release build"
run_ctest release -j "$jobs"

say "build: asan (AddressSanitizer, UndefinedBehaviorSanitizer), what is left of it"
wait "$sanitized" || { cat build/asan.log; exit 1; }
sanitized=
tail -n 1 build/asan.log
say "tests: unit, db, fuzz and fault with the sanitizers"
run_ctest asan -j "$jobs" -L 'unit|db|fuzz|fault'
say "done"
