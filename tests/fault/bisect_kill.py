"""kill -9 during bisections: at any moment the answer is the same, and no stored run is measured again.

bisect_kill.py --kills N [--minutes M] [--seed S]     as many bisections as it takes to kill N of them

The error of the measuring command is a function of the number of stored runs when it starts, so a resumed bisection gets the same
values as an uninterrupted one: same runs, same answer, same evidence. Each call records that number: a stored run that was measured
again would leave a gap or a surplus run. Every second bisection measures in pairs, and so is killed within units, too.
"""
import argparse
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PERFCI = os.path.join(os.environ["PERFCI_BIN_DIR"], "perfci")
COMMITS = 24
KILLS_MOST = 50  # of one bisection: a slow machine must not spend them all on the first steps of one
REPORT_S = 30
ROUNDS_MOST = 4000  # starts of one bisection; a machine that never lets it go on is a failure
MEASURE = """#!/bin/sh
n=$(cat "$HERE"/.perfci/*.json 2>/dev/null | grep -o '"outcome"' | wc -l)
echo "$n" >> "$HERE/calls"
awk -v c="${PERFCI_COMMIT#c}" -v k="$CULPRIT" -v n="$n" 'BEGIN { print (c + 0 >= k ? 112 : 100) * (1 + (n * 7 % 11 - 5) / 400) }'
"""


class Search:
    def __init__(self, folder, culprit, flags):
        self.dir, self.flags = folder, flags
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("PERFCI_")}
        self.env.update(HERE=folder, CULPRIT=str(culprit), HOME=folder)
        with open(os.path.join(folder, "measure.sh"), "w", encoding="ascii") as f:
            f.write(MEASURE)
        with open(os.path.join(folder, "ids"), "w", encoding="ascii") as f:
            f.writelines(f"c{i:02}\n" for i in range(COMMITS))

    def start(self):
        return subprocess.Popen([PERFCI, "bisect", "--commits", "ids", "--no-checkout", "--measure", "exec sh ./measure.sh", "--confirm",
                                 "--resume", "--json", "-q", *self.flags], cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def calls(self):
        with open(os.path.join(self.dir, "calls"), encoding="ascii") as f:
            return [int(line) for line in f if line.strip()]


def finish(search, process):
    out, err = process.communicate()
    if process.returncode != 1:
        sys.exit(f"status {process.returncode} instead of 1: {err.strip()}")
    doc = json.loads(out)
    del doc["seconds"]
    del doc["canary"]  # the speed of the machine, on which no answer depends
    return doc


def in_folder(culprit, flags, use):
    folder = tempfile.mkdtemp(prefix="pfc-bisect-kill-")
    try:
        return use(Search(folder, culprit, flags))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def uninterrupted(search):
    doc = finish(search, search.start())
    calls = search.calls()
    if calls != list(range(doc["runs"])):
        sys.exit(f"uninterrupted, {doc['runs']} runs were made by the calls {calls}")
    return doc


def killed(search, expected, most, end, rng):
    """Kills it repeatedly until it finishes or the time is over; returns the number of kills."""
    kills = 0
    for _ in range(ROUNDS_MOST):
        process = search.start()
        if kills < most and time.monotonic() < end:
            try:
                # At any moment: in a start, a measurement, a decision, a write.
                process.wait(timeout=rng.uniform(0.005, 0.15))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            process.wait()
        if process.returncode in (None, 1):
            break
        process.communicate()
        kills += 1
    doc = finish(search, process)
    if doc != expected:
        sys.exit(f"after {kills} kills another answer:\n{doc}\ninstead of\n{expected}")
    calls = search.calls()
    again = len(calls) - len(set(calls))
    if set(calls) != set(range(doc["runs"])) or again > kills:
        sys.exit(f"after {kills} kills {doc['runs']} runs took the calls {calls}")
    return kills, again


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--kills", type=int, default=20), ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--minutes", type=float, default=math.inf, help="time limit; ends the bisection in progress")
    a = ap.parse_args()
    rng = random.Random(a.seed)
    began = time.monotonic()
    reported, end = began, began + 60 * a.minutes
    kills = lost = searches = 0
    while kills < a.kills and (searches == 0 or time.monotonic() < end):
        culprit = rng.randrange(1, COMMITS)
        flags = ["--paired"] if searches % 2 else []
        expected = in_folder(culprit, flags, uninterrupted)
        if expected["culprits"][0]["commits"] != [f"c{culprit:02}"]:
            sys.exit(f"c{culprit:02} is the culprit, named was {expected['culprits']}")
        more, again = in_folder(culprit, flags, lambda s: killed(s, expected, min(KILLS_MOST, a.kills - kills), end, rng))
        kills, lost, searches = kills + more, lost + again, searches + 1
        if time.monotonic() > reported + REPORT_S:
            reported = time.monotonic()
            print(f"  {kills} of {a.kills} kills in {searches} bisections ({reported - began:.0f} s)", flush=True)
    short = f" of {a.kills} (the time was over)" if kills < a.kills else ""
    print(f"{kills}{short} kills in {searches} bisections, {lost} measurements lost, every answer the same, no stored run repeated "
          f"({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    main()
