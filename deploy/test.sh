#!/usr/bin/env bash
# Installs what the tests need, builds, and runs the tests through ctest.
#   --fast        the unit label only, release build only
#   --long        the tests that take long, too, as deploy/prove.sh --only suite runs them
#   --no-install  skip the package step
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
fast=0
long=0
install=1
for arg in "$@"; do
    case "$arg" in
    --fast) fast=1 ;;
    --long) long=1 ;;
    --no-install) install=0 ;;
    -h | --help)
        sed -n '2,5s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *)
        echo "test.sh: unknown option $arg; expected --fast, --long or --no-install" >&2
        exit 2
        ;;
    esac
done

# A stage is named when it begins. At the end, however it comes, its seconds are beside its share of the 25 minutes that
# all of it may take on a bare machine with two cores; one that took longer is marked.
stages=()
stage_begin=0
stage() {
    end_stage
    stage_name=$1 stage_share=$2 stage_begin=$SECONDS
    printf '\n== %s (%s s)\n' "$1" "$SECONDS"
}
end_stage() {
    [ -z "${stage_name:-}" ] || stages+=("$stage_name|$((SECONDS - stage_begin))|$stage_share")
    stage_name=
}

# longest LOG : the ten tests of a log of ctest that took longest.
longest() {
    awk '/ Test +#[0-9]+: / && $NF == "sec" { sub(/^.*#[0-9]+: /, ""); print $(NF - 1), $1 }' "$1" | LC_ALL=C sort -rn |
        awk 'NR <= 10 { printf "  %8.1f s  %s\n", $1, $2 } { sum += $1 } END { printf "  %8.1f s  all %d tests, one after the other\n", sum, NR }'
}

summary() {
    local status=$? last=${stage_name:-} line name seconds share log
    end_stage
    printf '\n== where the %s s went\n' "$SECONDS"
    for line in ${stages[@]+"${stages[@]}"}; do
        IFS='|' read -r name seconds share <<<"$line"
        printf '%8s s of %4s  %s%s\n' "$seconds" "$share" "$name" "$([ "$seconds" -le "$share" ] || echo "   OVER ITS SHARE")"
    done
    for log in ${logs[@]+"${logs[@]}"}; do
        printf '%s:\n' "the longest tests, $(basename "$log" .tests.log) build"
        longest "$log"
    done
    [ "$status" -eq 0 ] || printf '== FAILED with status %s in: %s\n' "$status" "${last:-the options}"
}
logs=()
trap summary EXIT
trap 'exit 143' TERM # as CI ends what takes too long
trap 'exit 130' INT

cd "$root"
if [ "$install" -eq 1 ]; then
    stage "packages" 120
    ./deploy/install.sh build runtime test
fi

# A test that takes long has the label `long`, or asks for this variable (tests/support/tier.py).
export PERFCI_TESTS_LONG=$long
choice=()
which=
if [ "$long" -eq 0 ]; then
    choice=(-LE '^long$')
    which=" but the long ones"
fi

# Tests wait for others much of their time; two more than there are cores keep the cores busy.
jobs=$(($(nproc) + 2))

run_ctest() {
    logs+=("build/$1.tests.log")
    # No test may read the caller's terminal or settings.
    env -u PERFCI_URL -u PERFCI_TOKEN -u PERFCI_TOKEN_FILE -u PERFCI_DATA -u PERFCI_DATABASE_URL \
        ctest --test-dir "build/$1" --output-on-failure --no-tests=error ${choice[@]+"${choice[@]}"} "${@:2}" </dev/null |
        (trap '' TERM INT && exec tee "build/$1.tests.log") # to the end of what it is given
}

mkdir -p build
stage "build: release" 300
cmake --preset release -DPERFCI_TESTS=ON -DPERFCI_WERROR=ON >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
cmake --build build/release
if [ "$fast" -eq 1 ]; then
    stage "tests: unit" 120
    run_ctest release -L unit -j "$jobs"
    exit 0
fi
stage "tests: all labels$which, release build" 600
run_ctest release -j "$jobs"

stage "build: asan (AddressSanitizer, UndefinedBehaviorSanitizer)" 240
cmake --preset asan -DPERFCI_WEB=OFF >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
cmake --build build/asan
stage "tests: unit, db, fuzz and fault$which with the sanitizers" 240
run_ctest asan -j "$jobs" -L 'unit|db|fuzz|fault'
