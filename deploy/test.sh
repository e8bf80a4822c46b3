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
        echo "test.sh: unknown option $arg; expected --fast or --no-install" >&2
        exit 2
        ;;
    esac
done

say() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

cd "$root"
if [ "$install" -eq 1 ]; then
    say "packages"
    ./deploy/install.sh build runtime test
fi

# Tests wait for others much of their time; two more than there are cores keep the cores busy.
jobs=$(($(nproc) + 2))

run_ctest() {
    # No test may read the caller's terminal or settings.
    env -u PERFCI_URL -u PERFCI_TOKEN -u PERFCI_TOKEN_FILE -u PERFCI_DATA -u PERFCI_DATABASE_URL \
        ctest --test-dir "build/$1" --output-on-failure --no-tests=error "${@:2}" </dev/null
}

mkdir -p build
say "build: release"
cmake --preset release -DPERFCI_TESTS=ON -DPERFCI_WERROR=ON >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
cmake --build build/release
if [ "$fast" -eq 1 ]; then
    say "tests: unit"
    run_ctest release -L unit -j "$jobs"
    exit 0
fi
say "tests: all labels, release build"
run_ctest release -j "$jobs"

say "build: asan (AddressSanitizer, UndefinedBehaviorSanitizer)"
cmake --preset asan -DPERFCI_WEB=OFF >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
cmake --build build/asan
say "tests: unit, db, fuzz and fault with the sanitizers"
run_ctest asan -j "$jobs" -L 'unit|db|fuzz|fault'
say "done"
