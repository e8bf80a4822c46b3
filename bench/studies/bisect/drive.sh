#!/usr/bin/env bash
# drive.sh DATA [--sessions N] [--only TEXT] [--all] [--first] [--repo] [--json FILE]
#
# The real `perfci bisect`, driven through the scenarios of DATA by its stand-in for the measuring command and scored by its
# score.py with the answers of the command line. --repo: in Git repositories made by its make_repo.py, with checkouts, instead of
# --no-checkout with a list of ids. --first: `perfci bisect --first`, as the limits' reference stops at one culprit. PERFCI: the program (default: the release build beside this script).
# score.py calls this script again for every session, with SCENARIO and the rest in the environment.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
perfci=${PERFCI:-$root/build/release/bin/perfci}

if [ -z "${SCENARIO:-}" ]; then
    data=${1:?usage: drive.sh DATA [--sessions N] [--only TEXT] [--all] [--first] [--repo] [--json FILE]}
    data=$(realpath "$data")
    shift
    [ -f "$data/score.py" ] || { echo "not available: no score.py in $data" && exit 5; }
    args=()
    for arg in "$@"; do
        if [ "$arg" = --repo ]; then
            export DRIVE_MAKER=$data/make_repo.py
        elif [ "$arg" = --first ]; then
            export DRIVE_FLAG=--first
        else
            args+=("$arg")
        fi
    done
    exec python3 "$data/score.py" "$data/scenarios" "$root/bench/studies/bisect/drive.sh" "${args[@]}"
fi

# One session, in a folder of its own. Only ids, touched paths and hints are handed over.
mkfifo asked answered
$MEASURE_SERVER <asked >answered &
server=$!
exec 3>asked 4<>answered
export ASKED=$PWD/asked ANSWERED=$PWD/answered
python3 - <<'EOF'
import json, os
s = json.load(open(os.environ["SCENARIO"]))
with open("commits", "w") as f:
    for c in s["commits"]:
        f.write(c["id"] + "\t" + ",".join(c.get("files", [])) + "\n")
with open("flags", "w") as f:
    for p in s.get("benchmark_files", []):
        f.write("--paths\n" + p + "\n")
    f.write("--higher-is-better\n" if s.get("higher_is_better") else "--lower-is-better\n")
    if s.get("layout_hint"):
        f.write("--relink\n")
EOF
mapfile -t flags <flags
flags+=(${DRIVE_FLAG:-})
# The stand-in keeps running; its answer's member "exit" is the status of the measuring command.
answer='[ "$PERFCI_BUILD" = 0 ] || id="$id+$PERFCI_BUILD"
echo "$id" >"$ASKED"; read -r line <"$ANSWERED"
value=${line#*\"value\": }; echo "${value%%,*}"; status=${line##*\"exit\": }; exit "${status%\}*}"'
if [ -n "${DRIVE_MAKER:-}" ]; then
    python3 "$DRIVE_MAKER" "$SCENARIO" repo
    where=(--repo repo --good main~$(($(wc -l <commits) - 1)) --bad main --work work --no-confirm --no-paired)
    measure="id=\$(cat SCENARIO_COMMIT); $answer"
    names=repo/.git/scenario-map
else
    where=(--no-checkout --commits commits)
    measure="id=\$PERFCI_COMMIT; $answer"
    names=/dev/null
fi
"$perfci" bisect "${where[@]}" "${flags[@]}" --noise "$NOISE" --layout-noise "$LAYOUT" --delta="$DELTA" --measure "$measure" \
    --json >answer.json 2>log || status=$?
exec 3>&- # the stand-in writes down what was spent, and ends
wait "$server"
[ "${status:-0}" = 0 ] || [ "$status" = 1 ] || [ "$status" = 3 ] || cat log >&2
NAMES=$names python3 -c '
import json, os
names = dict(l.split() for l in open(os.environ["NAMES"]))
print(json.dumps({"culprits": [[names.get(i, i) for i in c["commits"]] for c in json.load(open("answer.json"))["culprits"]]}))'
