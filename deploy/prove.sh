#!/usr/bin/env bash
# The long proofs, which are no part of test.sh. Each says how far it is and ends with one line: "proof NAME:
# passed|FAILED|not available".
#   suite   every test, with those that test.sh leaves out because they take long, in both builds (an hour and a half)
#   fuzz    every fuzz target under libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer (clang)
#   documents  random documents, judged the same by the readers and by the published JSON Schemas
#   kill    kill -9 of server and database at 1,000 random instants, of runners and benchmarks at 1,000, then an hour of
#           the runners' clock without a server, then the kills of the suite, again and again
#   forge   1,000 random sequences of deliveries, deleted comments, two clients, kills and faults of a forge, and 1,000 with
#           two servers, their kills, commands and bisections: exactly one right comment at the end of each
#   bisect-kill  kill -9 during bisections, 1,000 times: the same answer, no stored run repeated
#   night   the demonstration's night finds its plant while a process disturbs the machine, by the real clock
#   morning the dashboard on the real service, from an open group to its culprit and the accepted level, in Chromium: twelve
#           times, with a pointer and with keys alone, in both themes, at 390, 1024 and 1280 px
#   queue   10,000 jobs, 16 runners, 500 killed and 500 stopped with a job in hand: each is done once; then 16 servers over
#           PgBouncer with 20 connections, 20 kills: what was acknowledged is stored once
#   queue-crowd  10^5 jobs that fit no runner, 1,000 runners that wait: times and statements of a lease
#   histories  5,000 commits appended to 10^6 in one request, with merges, and named by runs before: 2 s each; runs of
#           unknown commits as fast as with 1,000 commits
#   scale   10^6 series: storing into a month whose indexes are twice the shared buffers, pages with 10^7 and with 3 x 10^7
#           measurements stored (30 GB of disk, hours); a year of daily partitions beside monthly ones
#   day     10^5 commits and 2*10^6 points in 10^5 series, fed in an hour: age of the oldest unjudged run 60 s, all judged
#           within five minutes of the end; --minutes N: the first N minutes, with as many series as fit
#   capacity  `perfci capacity` beside loads that set none of its constants: 10^6 measurements stored by the API and judged,
#           10^7 inserted by SQL: disk within 20 %, processor within 30 % (6 GB of disk)
#   judging a new point costs at most 0.5 ms of processor behind 100, 1,000 and 10,000 points of series that do not change;
#           two servers side by side judge one project 1.7 times as fast as one (a machine without other work)
#   ingest  five calls of the benchmark, each: 1.6 times the rate of pgbench with 64 clients, 1.9 times with 256, /healthz
#           within 5 ms at p99 (a machine without other work)
#   slurm   60 jobs over three virtual nodes of a real Slurm cluster, one killed and one drained (root, Slurm): each is
#           stored once; a job's time through Slurm beside a runner that asks for jobs itself
#   faults  every fault of tests/fault/faults.py, again and again
#   points  faults at every named point, every cut of an upload, 1,000 orders of the same runs
#   ha      three nodes under Patroni, etcd and HAProxy: 50 kills of the leader with its agent, 20 switchovers, 10 times etcd
#           stopped for a minute, 10 times a standby frozen: nothing lost, doubled or judged twice; the longest times without a
#           write: 35 s after a kill, 5 s in a switchover
#   crowd   2,000 slow clients, 2,000 event streams, 2,000 waiting leases for 60 s each: pages are answered meanwhile
#   drain   SIGTERM under load, 200 times: all that was taken is answered, over within 10 s
#   units   the systemd units under a systemd of their own, in a Debian made for it (root; else it says why not)
#   units-boot  the same on a virtual machine with Debian's kernel (QEMU; root): also the limits of
#           control groups; else it says "not available" and why
#   distributions  README's two commands in a bare Debian 12 and a bare Debian 13 (root, debootstrap, an hour each)
#   tutorial  docs/tutorial/first-hour.md and README's commands, typed to the letter in a bare Debian 12 (root, debootstrap)
#   packages  the Debian packages in a bare Debian 12: from apt to a verdict in at most five commands, upgrade with data,
#           purge; lintian without errors; action and list of components by their published schemas (root, debootstrap)
#   reproducible  two builds of the packages in two folders, without a cache: equal bytes
#   aarch64 core cross-built for AArch64 in a bare Debian 12, and its unit tests under qemu-user (root, debootstrap)
#   digests cycles and results of the simulated accelerator, built by gcc and clang, -O0 and -O3: equal, with a trace too
#   soak    runs posted to a private service that is killed now and then; the counts must be exact
#   memory  the server's memory over a million stored runs
#   asan    the server under AddressSanitizer and UndefinedBehaviorSanitizer, driven by the faults, again and again
#   tsan    the server under ThreadSanitizer, driven by its tests, the faults and the soak
#   mutants 600 small faults in the product's C, drawn by --seed, one at a time: how many a test notices (hours; goes on
#           where it ended)
#   repeat  every test in random order until the time is over
#   --only NAME    that proof alone (may be repeated)
#   --minutes N    of each proof at most (of fuzz: of each target); what has begun is ended. Default: whatever those
#                  with a count take, 10 for the others
#   --runs N       executions of each fuzz target (default 1,000,000)
#   --seed N       of the mutants (default 1)
#   --target NAME  of the fuzz targets that one alone (may be repeated)
#   --debian NAME  of the distributions that one alone: bookworm or trixie (may be repeated)
#   --quick        of the distributions: quickstart.sh and the unit tests, not the whole suite
#   --no-install   skip the package step
# Logs, and inputs that broke something, are in build/prove/.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
all=(suite fuzz documents kill forge bisect-kill night morning queue queue-crowd histories scale day capacity judging ingest slurm faults points ha crowd drain units units-boot distributions tutorial packages reproducible aarch64 digests soak memory asan tsan mutants repeat)
debians=(bookworm trixie)
only=()
minutes=10
most=() # for the scripts with a count: nothing, or --minutes N
runs=1000000
seed=1
targets=()
chosen=()
quick=0
install=1

die() {
    echo "prove.sh: $1" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case "$1" in
    --only)
        [[ $# -ge 2 && " ${all[*]} " == *" $2 "* ]] || die "--only: expected one of: ${all[*]}"
        only+=("$2")
        shift
        ;;
    --minutes)
        [[ $# -ge 2 && $2 =~ ^[1-9][0-9]{0,4}$ ]] || die "--minutes: expected a whole number above zero"
        minutes=$2
        most=(--minutes "$2")
        shift
        ;;
    --runs)
        [[ $# -ge 2 && $2 =~ ^[1-9][0-9]{0,9}$ ]] || die "--runs: expected a whole number above zero"
        runs=$2
        shift
        ;;
    --seed)
        [[ $# -ge 2 && $2 =~ ^[1-9][0-9]{0,8}$ ]] || die "--seed: expected a whole number above zero"
        seed=$2
        shift
        ;;
    --target)
        [[ $# -ge 2 && $2 =~ ^fuzz_[a-z_]+$ && -f $root/tests/fuzz/$2.c ]] ||
            die "--target: expected a file of tests/fuzz without its .c, such as fuzz_run"
        targets+=("$2")
        shift
        ;;
    --debian)
        [[ $# -ge 2 && " ${debians[*]} " == *" $2 "* ]] || die "--debian: expected one of: ${debians[*]}"
        chosen+=("$2")
        shift
        ;;
    --quick) quick=1 ;;
    --no-install) install=0 ;;
    -h | --help)
        sed -n '2,64s/^# \{0,1\}//p' "$0"
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

# needs PROGRAM PACKAGE : says what is missing before anything is built.
needs() {
    command -v "$1" >/dev/null || {
        echo "prove.sh: $1 is not installed (package $2): run deploy/install.sh build runtime test" >&2
        return 1
    }
}

needs_postgres() {
    local bin
    # The folders that core/base/process/pgbin.h names; the programs ask for the version themselves.
    for bin in ${PERFCI_PG_BIN:-/usr/lib/postgresql/1[5-8]/bin /usr/pgsql-1[5-8]/bin "$(pg_config --bindir 2>/dev/null || true)"}; do
        [ ! -x "$bin/postgres" ] || return 0
    done
    echo "prove.sh: no PostgreSQL server programs (package postgresql): run deploy/install.sh build runtime test" >&2
    return 1
}

say() { printf '== %s (%s s)\n' "$*" "$SECONDS" >&2; }

# build PRESET [TARGET...] : configures again, so that a build folder from before the last pull still works.
build() {
    local preset=$1
    shift
    local options=()
    [ "$preset" != release ] || options=(-DPERFCI_TESTS=ON)
    [ "$preset" != tsan ] || options=(-DPERFCI_TESTS=OFF -DPERFCI_WEB=OFF)
    [[ $preset != fuzz && $preset != asan ]] || options=(-DPERFCI_WEB=OFF)
    needs cmake cmake && needs ninja ninja-build && needs python3 python3 || return 1
    [ "$preset" != fuzz ] || needs clang clang || return 1
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

# until_over COMMAND... : again and again until the proof's time is over or it fails; once at least.
until_over() {
    local end=$((proof_start + minutes * 60)) rounds=0 told=$SECONDS
    while [ "$rounds" -eq 0 ] || [ "$SECONDS" -lt "$end" ]; do
        "$@" || return 1
        rounds=$((rounds + 1))
        [ "$SECONDS" -lt "$((told + 60))" ] && [ "$SECONDS" -lt "$end" ] && continue
        told=$SECONDS
        echo "  $rounds rounds ($((SECONDS - proof_start)) s)"
    done
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

# script FILE ARGUMENT... : one of tests/fault with the release build
script() {
    local file=$1
    shift
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 -u "tests/fault/$file" "$@"
}

# built : the release build, and what the scripts of tests/fault want besides
built() { needs_postgres && build release; }

prove_faults() {
    built || return 1
    say "faults: $minutes minutes"
    script faults.py --seed "$$" --repeat --minutes "$minutes"
}

prove_kill() {
    built || return 1
    say "kill: 1,000 of server and database, 1,000 of runner and benchmark, an hour without a server, the restarts of the suite"
    script faults.py --seed "$$" --only kill_server --only kill_database --trials 500 "${most[@]}" || return 1
    script runner_kill.py --seed "$$" --kills 1000 --runners 8 "${most[@]}" || return 1
    script runner_kill.py --seed "$$" --outage "${most[@]}" || return 1
    until_over kill_round
}

prove_forge() {
    needs node nodejs && needs_postgres && build release || return 1
    say "forge: 1,000 sequences of two clients, 1,000 of two servers"
    clean FORGE_CLIENT="$root/build/release/tests/forge_client" FORGE_PACKAGES="$root/build/release/tests/forge-packages" \
        node tests/forge/sequences.mjs --count 1000 --seed 1000 "${most[@]}" || return 1
    script pull_sequences.py --sequences 1000 "${most[@]}"
}

prove_points() {
    built || return 1
    say "points"
    script faults.py --seed "$$" "${most[@]}" --only kill_at_points --only lost_answers --only errors_at_points --only cut_everywhere --only permutations \
        --only runner_clocks --trials kill_at_points=150 --trials lost_answers=300 --trials errors_at_points=360 \
        --trials cut_everywhere=2061 --trials permutations=1000 --trials runner_clocks=100
}

prove_units() {
    local status=0
    build release || return 1
    say "units"
    tests/deploy/boot.sh build/release "$logs/boot" || status=$?
    return "$status"
}

prove_units-boot() {
    local status=0
    build release || return 1
    say "units-boot"
    tests/deploy/boot_vm.sh build/release "$logs/boot-vm" || status=$?
    [ "$status" -ne 77 ] || echo "  not available here: see the line above; deploy/install.sh package boot brings the packages"
    return "$status"
}

. "$root/deploy/prove_debian.sh"

prove_bisect-kill() {
    build release perfci || return 1
    say "bisect-kill: 1,000 kills"
    script bisect_kill.py --kills 1000 --seed "$$" "${most[@]}"
}

# Until the minutes are over, each night with another seed: place of the plant, and of the bursts.
night_round() {
    night_seed=$((night_seed + 1))
    clean PERFCI_BIN_DIR="$root/build/release/bin" BENCH_CLOCK=real NIGHT_SEED="$night_seed" \
        python3 tests/e2e/test_demo_night.py >"$logs/night.log" 2>&1 || {
        tail -n 40 "$logs/night.log" >&2
        echo "  seed $night_seed"
        return 1
    }
    grep '^planted ' "$logs/night.log" | sed 's/^/  /'
}

prove_night() {
    built || return 1
    night_seed=0
    say "night: $minutes minutes"
    until_over night_round
}

prove_morning() {
    needs node nodejs && needs_postgres && build release || return 1
    say "morning: 12 walks"
    PERFCI_WEB_WALKS=all clean ctest --test-dir build/release --verbose --no-tests=error -R '^web_morning$' \
        >"$logs/morning.log" 2>&1 || {
        tail -n 80 "$logs/morning.log" >&2
        return 1
    }
    sed -n "s/^[0-9]*: .*\(walked by .*\)/  \1/p" "$logs/morning.log"
}

prove_queue() {
    built || return 1
    say "queue: 10,000 jobs, 500 kills, 500 stops"
    script lost_runners.py --strict --seed "$$" "${most[@]}" || return 1
    script pooled_servers.py --seed "$$" "${most[@]}"
}

prove_queue-crowd() {
    built || return 1
    say "queue-crowd: 10^5 jobs, 1,000 runners"
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 -u bench/studies/service/crowd.py --strict
}

prove_histories() {
    built || return 1
    say "histories: 10^6 commits"
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 -u bench/studies/service/history.py --strict || return 1
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 -u bench/studies/service/unknown.py \
        --stored 1000 1000000 --runs 500 --rounds 5 --ratio 0.8
}

prove_scale() {
    built || return 1
    say "scale: 10^6 series, 10^7 and 3 x 10^7 measurements"
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 -u bench/studies/scale/scale.py --months 3 --strict || return 1
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 -u bench/studies/scale/days.py
}

prove_day() {
    built || return 1
    say "day: an hour, or --minutes"
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 -u bench/studies/service/day.py --strict "${most[@]}"
}

prove_capacity() {
    built || return 1
    say "capacity: 10^6 and 10^7 measurements"
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 -u bench/studies/service/sizes.py 200:5000:3 --steps 256 --strict || return 1
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 -u bench/studies/service/sizes.py 1000:10000:3 --copied --steps 256 --strict
}

prove_judging() {
    built || return 1
    say "judging: a new point, then one server and two"
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 -u bench/studies/service/judging.py --steps 0 \
        --points 100 1000 10000 --most 0.5 || return 1
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 -u bench/studies/service/two_workers.py --ratio 1.7
}

prove_ingest() {
    local call
    built || return 1
    for call in 1 2 3 4 5; do
        say "ingest: call $call of 5"
        clean build/release/bin/perfci-bench-service --rounds 3 --seconds 5 --strict || return 1
    done
}

prove_crowd() {
    built || return 1
    say "crowd: 2,000 clients three times, 60 s each"
    script crowd.py --clients 2000 --seconds 60 --strict
}

prove_ha() {
    built || return 1
    say "ha: 50 kills, 20 switchovers, 10 outages of etcd, 10 frozen standbys"
    script high_availability.py --kills 50 --switchovers 20 --outages 10 --seconds 60 --freezes 10 --strict --seed "$$" "${most[@]}"
}

prove_slurm() {
    built || return 1
    say "slurm: 60 jobs over three virtual nodes"
    clean PERFCI_BIN_DIR="$root/build/release/bin" python3 -u tests/e2e/slurm_fleet.py
}

prove_drain() {
    built || return 1
    say "drain: 200 ends under load"
    script drain.py --trials 200 --seed "$$" "${most[@]}"
}

# One build of the accelerator's study; its lines say cycles and digests.
digests_of() {
    local compiler=$1 level=$2 out=$logs/digests-$1$2
    say "digests: $compiler $level"
    cmake -S . -B "$out" -G Ninja -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="$level" \
        -DPERFCI_TESTS=OFF -DPERFCI_WEB=OFF >"$out.log" 2>&1 &&
        cmake --build "$out" --target perfci-bench-accel >>"$out.log" 2>&1 || {
        tail -n 30 "$out.log" >&2
        return 1
    }
    clean "$out/bin/perfci-bench-accel" --only digests >"$out.txt"
}

prove_digests() {
    local compiler level first='' builds=0
    needs cmake cmake && needs ninja ninja-build && needs gcc gcc && needs clang clang || return 1
    for compiler in gcc clang; do
        for level in -O0 -O3; do
            digests_of "$compiler" "$level" || return 1
            first=${first:-$logs/digests-$compiler$level.txt}
            diff "$first" "$logs/digests-$compiler$level.txt" || return 1
            builds=$((builds + 1))
        done
    done
    echo "  $(wc -l <"$first") cases, $builds builds: equal cycles and digests"
}

prove_soak() {
    built || return 1
    say "soak: $minutes minutes"
    script soak.py --minutes "$minutes" --seed "$$"
}

prove_memory() {
    built || return 1
    say "memory: 1,000,000 runs"
    script memory.py "${most[@]}"
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

asan_round() {
    clean PERFCI_BIN_DIR="$root/build/asan/bin" UBSAN_OPTIONS="halt_on_error=1" python3 tests/fault/faults.py
}

prove_asan() {
    built || return 1
    build asan perfci-server || return 1
    cp build/release/bin/perfci build/asan/bin/ # for what is checked between: it need not be instrumented
    say "asan: $minutes minutes"
    until_over asan_round
}

prove_tsan() {
    built || return 1
    build tsan perfci-server || return 1
    cp build/release/bin/perfci build/tsan/bin/ # for what is checked between: it need not be instrumented
    say "tsan: $minutes minutes"
    until_over tsan_round PERFCI_BIN_DIR="$root/build/tsan/bin" TSAN_OPTIONS="exitcode=66"
}

prove_mutants() {
    local python
    for python in python3 /usr/bin/python3; do
        ! "$python" -c 'import clang.cindex' 2>/dev/null || break
        python=
    done
    [ -n "$python" ] || {
        echo "prove.sh: no python3 has the module clang.cindex (package python3-clang): run deploy/install.sh test" >&2
        return 1
    }
    needs_postgres && build release || return 1
    say "mutants: seed $seed"
    clean "$python" -u tests/mutants/run.py --seed "$seed" ${most[@]:+"${most[@]}"} | tee "$logs/mutants-$seed.log"
}

repeat_round() {
    PERFCI_TESTS_LONG=1 clean ctest --test-dir build/release --output-on-failure --no-tests=error --schedule-random -j 2 \
        >"$logs/repeat.log" 2>&1 || {
        tail -n 80 "$logs/repeat.log" >&2
        return 1
    }
}

prove_suite() {
    needs_postgres || return 1
    say "suite: every test"
    ./deploy/test.sh --no-install --long >"$logs/suite.log" 2>&1 || {
        tail -n 80 "$logs/suite.log" >&2
        return 1
    }
    sed -n '/^== where the /,$p' "$logs/suite.log"
}

prove_repeat() {
    built || return 1
    say "repeat: $minutes minutes"
    until_over repeat_round
}

if [ "$install" -eq 1 ]; then
    say "packages"
    lists=(build runtime test)
    [[ ! " ${only[*]-} " =~ \ (packages|reproducible)\  ]] || lists+=(package)
    ./deploy/install.sh "${lists[@]}" >&2
fi
failed=0
early=0 # a signal that came before the proof had its number
cut() {
    trap '' INT TERM HUP
    kill -TERM -- "-$child" 2>/dev/null || true
    wait "$child" || true
    echo "proof $proof: FAILED: ended by a signal after $((SECONDS - proof_start)) s"
    exit 130
}
for name in "${only[@]}"; do
    proof=$name
    proof_start=$SECONDS
    # In its own process group: a signal to this script reaches it through the trap, and it can report how far it came.
    trap 'early=1' INT TERM HUP
    set -m
    {
        trap 'exit 143' TERM # once what runs has ended
        "prove_$name" || exit $?
    } &
    child=$!
    trap cut INT TERM HUP
    set +m
    [ "$early" -eq 0 ] || cut
    status=0
    wait "$child" || status=$?
    case "$status" in
    0) echo "proof $name: passed ($((SECONDS - proof_start)) s)" ;;
    77) echo "proof $name: not available" ;;
    *)
        echo "proof $name: FAILED ($((SECONDS - proof_start)) s)"
        failed=1
        ;;
    esac
done
exit "$failed"
