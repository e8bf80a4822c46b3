#!/usr/bin/env bash
# The long proofs, which are no part of test.sh. Each ends with one line: "proof NAME: passed|FAILED".
#   fuzz    every fuzz target under libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer (clang)
#   documents  random documents, judged the same by the readers and by the published JSON Schemas
#   kill    kill -9 of server and database at 1,000 random instants, then of runners, again and again
#   bisect-kill  kill -9 during bisections, 1,000 times: the same answer, no stored run repeated
#   queue   10,000 jobs, 16 runners, 500 killed and 500 stopped with a job in hand: each is done once
#   faults  every fault of tests/fault/faults.py, again and again
#   points  faults at every named point, every cut of an upload, 1,000 orders of the same runs
#   drain   SIGTERM under load, 200 times: all that was taken is answered, over within 10 s
#   soak    runs posted to a private service that is killed now and then; the counts must be exact
#   memory  the server's memory over a million stored runs
#   tsan    the server under ThreadSanitizer, driven by its tests, the faults and the soak
#   repeat  every test in random order until the time is over
#   --only NAME    that proof alone (may be repeated)
#   --minutes N    of each proof (default 10); of fuzz: of each target at most
#   --runs N       executions of each fuzz target (default 1,000,000)
#   --target NAME  of the fuzz targets that one alone (may be repeated)
#   --no-install   skip the package step
# Logs, and inputs that broke something, are in build/prove/.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
all=(fuzz documents kill bisect-kill queue faults points drain soak memory tsan repeat)
only=()
minutes=10
runs=1000000
targets=()
install=1

die() {
    echo "prove.sh: $1" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case "$1" in
    --only)
        [[ $# -ge 2 && " ${all[*]} " == *" $2 "* ]] || die "--only wants one of: ${all[*]}"
        only+=("$2")
        shift
        ;;
    --minutes)
        [[ $# -ge 2 && $2 =~ ^[1-9][0-9]{0,4}$ ]] || die "--minutes wants a whole number above zero"
        minutes=$2
        shift
        ;;
    --runs)
        [[ $# -ge 2 && $2 =~ ^[1-9][0-9]{0,9}$ ]] || die "--runs wants a whole number above zero"
        runs=$2
        shift
        ;;
    --target)
        [[ $# -ge 2 && $2 =~ ^fuzz_[a-z_]+$ && -f $root/tests/fuzz/$2.c ]] ||
            die "--target wants a file of tests/fuzz without its .c, such as fuzz_run"
        targets+=("$2")
        shift
        ;;
    --no-install) install=0 ;;
    -h | --help)
        sed -n '2,20s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *) die "unknown option $1; see --help" ;;
    esac
    shift
done
[ ${#only[@]} -gt 0 ] || only=("${all[@]}")

cd "$root"
logs=$root/build/prove
mkdir -p "$logs"

say() { printf '== %s (%s s)\n' "$*" "$SECONDS" >&2; }

# build PRESET [TARGET...] : configured anew, so that a tree from before the last pull will do.
build() {
    local preset=$1
    shift
    local options=()
    [ "$preset" != release ] || options=(-DPERFCI_TESTS=ON)
    [ "$preset" != tsan ] || options=(-DPERFCI_TESTS=OFF -DPERFCI_WEB=OFF)
    [ "$preset" != fuzz ] || options=(-DPERFCI_WEB=OFF)
    say "build: $preset"
    cmake --preset "$preset" "${options[@]}" >"$logs/build-$preset.log" 2>&1 &&
        cmake --build "build/$preset" ${1:+--target "$@"} >>"$logs/build-$preset.log" 2>&1 || {
        tail -n 30 "$logs/build-$preset.log" >&2
        return 1
    }
}

# No test may read the caller's terminal or settings.
clean() {
    env -u PERFCI_URL -u PERFCI_TOKEN -u PERFCI_TOKEN_FILE -u PERFCI_DATA -u PERFCI_DATABASE_URL \
        PERFCI_SOURCE_DIR="$root" PERFCI_TEST_DIR="$root/build/release/tests" "$@" </dev/null
}

# The folders that a target is replayed over, as tests/fuzz says it.
corpus() {
    grep -Pzo "perfci_fuzz\($1 [^)]*\)" tests/fuzz/CMakeLists.txt tests/fuzz/*.cmake | tr '\0\n' '  ' |
        sed -e 's/.* CORPUS //' -e 's/).*//'
}

fuzz_stat() { sed -n "s/^stat::$2: *//p" "$logs/$1.log"; }

# One target over its corpus; ends at the executions asked for, or says that the time was over first.
fuzz_target() {
    local name=$1 seeds=() words=() folder start=$SECONDS done_runs
    for folder in $(corpus "$name"); do
        seeds+=("tests/data/fuzz/$folder")
    done
    [ ! -f "tests/fuzz/$name.dict" ] || words=("-dict=tests/fuzz/$name.dict")
    mkdir -p "$logs/corpus/$name" "$logs/broken"
    if ! "build/fuzz/tests/$name" -runs="$runs" -max_total_time=$((minutes * 60)) -timeout=30 \
        -rss_limit_mb=4096 -max_len=4096 -print_final_stats=1 -artifact_prefix="$logs/broken/$name-" \
        "${words[@]}" "$logs/corpus/$name" "${seeds[@]}" >"$logs/$name.log" 2>&1 </dev/null; then
        echo "  $name: broken, see $logs/$name.log and $logs/broken/"
        return 1
    fi
    done_runs=$(fuzz_stat "$name" number_of_executed_units)
    printf '  %-18s %9s executions %5s s %7s a second' "$name" "$done_runs" "$((SECONDS - start))" \
        "$(fuzz_stat "$name" average_exec_per_sec)"
    [ "$done_runs" -ge "$runs" ] || printf ' (the time, %s minutes, was over first)' "$minutes"
    printf '\n'
}

prove_fuzz() {
    local name failed=0
    [ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(basename -s .c tests/fuzz/fuzz_*.c)
    build fuzz "${targets[@]}" || return 1
    for name in "${targets[@]}"; do
        say "fuzz: $name, $runs executions, $minutes minutes at most"
        fuzz_target "$name" || failed=1
    done
    return "$failed"
}

# until_over COMMAND... : again and again until the proof's time is over or it fails.
until_over() {
    local end=$((SECONDS + minutes * 60)) rounds=0
    while [ "$SECONDS" -lt "$end" ]; do
        "$@" || return 1
        rounds=$((rounds + 1))
    done
    echo "  $rounds rounds"
}

document_round() {
    documents_seed=$((documents_seed + 1))
    clean "$documents_python" tests/core/wire/test_schema.py --documents 5000 --seed "$documents_seed" >>"$logs/documents.log" 2>&1 || {
        tail -n 30 "$logs/documents.log" >&2
        return 1
    }
}

prove_documents() {
    build release pfc-read-documents || return 1
    say "documents: $minutes minutes, 5,000 of each kind a round"
    documents_seed=$(date +%s)
    documents_python=$(sed -n 's/^PERFCI_PYTHON:FILEPATH=//p' build/release/CMakeCache.txt)
    : >"$logs/documents.log"
    until_over document_round || return 1
    grep -o '[0-9]* taken, [0-9]* refused' "$logs/documents.log" |
        awk '{ taken += $1; refused += $3 } END { printf "  %d documents, %d taken and %d refused by both\n", NR ? taken + refused : 0, taken, refused }'
}

kill_round() {
    clean ctest --test-dir build/release --output-on-failure --no-tests=error \
        -R '^(test_runner_kill|test_server_restart|test_server_outage|test_server_database_down|cli_up)$' \
        >"$logs/kill.log" 2>&1 || {
        tail -n 60 "$logs/kill.log" >&2
        return 1
    }
}

# faults ARGUMENT... : with the release build
faults() {
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 tests/fault/faults.py --seed "$$" "$@"
}

prove_faults() {
    build release || return 1
    say "faults: $minutes minutes"
    faults --minutes "$minutes"
}

prove_kill() {
    build release || return 1
    say "kill: 1,000 trials, and $minutes minutes"
    faults --only kill_server --only kill_database --trials 500 || return 1
    until_over kill_round
}

prove_points() {
    build release || return 1
    say "points"
    faults --only kill_at_points --only lost_answers --only errors_at_points --only cut_everywhere --only permutations \
        --only runner_clocks --trials kill_at_points=150 --trials lost_answers=240 --trials errors_at_points=330 \
        --trials cut_everywhere=2061 --trials permutations=1000 --trials runner_clocks=100
}

prove_bisect-kill() {
    build release perfci || return 1
    say "bisect-kill: 1,000 kills"
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 tests/fault/bisect_kill.py --kills 1000 --seed "$$"
}

prove_queue() {
    build release || return 1
    say "queue: 10,000 jobs, 500 kills, 500 stops"
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 tests/fault/lost_runners.py --strict --seed "$$"
}

prove_drain() {
    build release || return 1
    say "drain: 200 ends under load"
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 tests/fault/drain.py --trials 200 --seed "$$"
}

prove_soak() {
    build release || return 1
    say "soak: $minutes minutes"
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 tests/fault/soak.py --minutes "$minutes" --seed "$$"
}

prove_memory() {
    build release || return 1
    say "memory: 1,000,000 runs"
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 tests/fault/memory.py
}

tsan_round() {
    local script
    for script in api guard hostile restart database_down openapi; do
        clean "$@" python3 "tests/server/http/test_$script.py" >"$logs/tsan-$script.log" 2>&1 || {
            tail -n 60 "$logs/tsan-$script.log" >&2
            return 1
        }
    done
    clean "$@" python3 tests/fault/faults.py --trials 6 && clean "$@" python3 tests/fault/soak.py --rounds 6
}

prove_tsan() {
    build release || return 1
    build tsan perfci-server || return 1
    cp build/release/bin/perfci build/tsan/bin/ # for what is checked between: it need not be instrumented
    say "tsan: $minutes minutes"
    until_over tsan_round PERFCI_BIN_DIR="$root/build/tsan/bin" TSAN_OPTIONS="exitcode=66"
}

repeat_round() {
    clean ctest --test-dir build/release --output-on-failure --no-tests=error --schedule-random -j 2 \
        >"$logs/repeat.log" 2>&1 || {
        tail -n 80 "$logs/repeat.log" >&2
        return 1
    }
}

prove_repeat() {
    build release || return 1
    say "repeat: $minutes minutes"
    until_over repeat_round
}

if [ "$install" -eq 1 ]; then
    say "packages"
    ./deploy/install.sh build runtime test >&2
fi
failed=0
for name in "${only[@]}"; do
    if [[ $name == fuzz ]] && ! command -v clang >/dev/null; then
        echo "proof fuzz: FAILED (no clang)"
        failed=1
        continue
    fi
    start=$SECONDS
    if "prove_$name"; then
        echo "proof $name: passed ($((SECONDS - start)) s)"
    else
        echo "proof $name: FAILED ($((SECONDS - start)) s)"
        failed=1
    fi
done
exit "$failed"
