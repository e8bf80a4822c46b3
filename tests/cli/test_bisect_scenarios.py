"""Made histories with known culprits, in short: the planner over all kinds, the command line over some. Seeds are fixed.

The whole of it, with more sessions and the rivals beside: perfci-bisect-bench and bench/studies/bisect/drive.sh (bench/RESULTS.md)."""

import collections
import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import unittest

import support

MAKE = os.path.join(support.ROOT, "bench/studies/bisect/make_scenarios.py")
BENCH = os.path.join(support.BIN, "perfci-bisect-bench")
SEED = "suite-1"
SESSIONS = 3
# One true value a commit, an error that follows from the number of the call, an offset from commit and build.
MEASURE = """#!/bin/sh
cd "$HERE" || exit 9
n=$(wc -l < calls); echo "$PERFCI_COMMIT" >> calls
read -r value build number < "values/$PERFCI_COMMIT"
[ "$build" = fail ] && exit 125
awk -v v="$value" -v cv="$CV" -v n="$n" -v up="$UP" -v layout="$LAYOUT" -v b="$PERFCI_BUILD" -v c="$number" '
function normal(seed) { srand(seed * 7919 + 11); rand(); return sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand()) }
BEGIN { e = cv * normal(n + 1); v *= 1 + layout * normal(100000 + c * 50 + b); printf "%.6f\\n", up ? v / (1 + e) : v * (1 + e) }'
"""


def right(doc, truth):
    """As score.py has it: something is named, each set holds a whole true one and at most 7 commits beside it."""
    named = [set(c["commits"]) for c in doc["culprits"]]
    return bool(named) == bool(truth) and all(any(t <= n and len(n) <= len(t) + 7 for t in truth) for n in named)


class Bound(unittest.TestCase):
    """bench/studies/bisect/bound.py, whose figures are printed beside those of the planner."""

    def setUp(self):
        spec = importlib.util.spec_from_file_location("bound", os.path.join(support.ROOT, "bench/studies/bisect/bound.py"))
        self.bound = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.bound)

    def test_capacity_is_that_of_the_binary_channel_with_gaussian_noise(self):
        # Half a bit at a noise of 0.97869 around -1 and +1 (Richardson, Shokrollahi & Urbanke, IEEE Trans. Inf. Theory 47,
        # 2001), which is the Shannon limit of 0.187 dB for rate 1/2; a third of a bit at -0.495 dB.
        self.assertAlmostEqual(self.bound.capacity(2 / 0.97869), 0.5, delta=1e-5)
        self.assertAlmostEqual(self.bound.capacity(2 * math.sqrt(2 / 3 * 10 ** -0.0495)), 1 / 3, delta=1e-4)
        self.assertAlmostEqual(self.bound.capacity(30), 1.0, delta=1e-9)
        # Weak signals: d^2 / 8 nats.
        self.assertAlmostEqual(self.bound.capacity(0.01) * math.log(2) / (0.01 ** 2 / 8), 1.0, delta=1e-3)

    def test_runs_are_burnashevs_sum(self):
        # 256 commits, steps so large that a run tells its side: 0.99 x 8 runs, and ln 100 / (d^2 / 2) to be sure.
        self.assertAlmostEqual(self.bound.runs(256, 30), 0.99 * 8 + math.log(100) / 450, delta=1e-6)
        self.assertAlmostEqual(self.bound.runs(1, 2), math.log(100) / 2, delta=1e-9)


class Scenarios(support.Case):
    def make(self, only=""):
        subprocess.run([sys.executable, MAKE, SEED, self.path("made"), "--only", only], check=True)

    def test_the_planner_is_right_on_every_kind_within_its_runs(self):
        self.make()
        done = subprocess.run([BENCH, "--data", self.path("made"), "--sessions", str(SESSIONS), "--strategy", "perfci"],
                              capture_output=True, text=True, check=True)
        groups = {m[1]: (float(m[2]), float(m[3]), float(m[4]))
                  for m in re.finditer(r"^\[(\w+)\] +([\d.]+) +[\d.]+ +[\d.]+ +([\d.]+) +\d+ +([\d.]+)", done.stdout, re.M)}
        self.assertEqual(set(groups), {"core", "small", "tails", "machine", "layout", "broken", "null", "many", "prior", "hint"})
        for name, (share, runs, limit) in groups.items():
            # A dozen sessions a group: one of them may fail where 99 of 100 hold.
            self.assertGreaterEqual(share, 80, f"{name}\n{done.stdout}")
            # Several steps are all named here, which takes more than the limit of one.
            self.assertLessEqual(runs, limit * (2 if name == "many" else 1.25), f"{name}\n{done.stdout}")
        total = float(re.search(r"^all +([\d.]+)", done.stdout, re.M)[1])
        self.assertGreaterEqual(total, 97, done.stdout)

    def drive(self, kind):
        with open(self.path("made", kind + ".json"), encoding="ascii") as f:
            s = json.load(f)
        self.write("ids", "".join(c["id"] + "\t" + ",".join(c.get("files", [])) + "\n" for c in s["commits"]))
        for i, c in enumerate(s["commits"]):
            self.write(os.path.join("values", c["id"]), f"{c['value']} {c.get('build', 'ok')} {i}\n")
        self.write("calls", "")
        layout = s["layout_hint"]
        done = self.perfci("bisect", "--commits", self.path("ids"), "--no-checkout", "--json", "-q", "--paths", "kernels/gemm.c",
                           "--higher-is-better" if s["higher_is_better"] else "--lower-is-better", *(["--relink"] if layout else []),
                           "--noise", str(s["noise_hint"]), "--layout-noise", str(layout), f"--delta={s['delta_hint']}",
                           "--measure", f"exec {self.script}",
                           env={"HERE": self.dir, "CV": str(s["noise"]["cv"]), "UP": str(int(s["higher_is_better"])), "LAYOUT": str(layout)})
        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
        doc = json.loads(done.stdout)
        with open(self.path("calls"), encoding="ascii") as f:
            calls = collections.Counter(f.read().split())
        broken = {c["id"] for c in s["commits"] if c.get("build") == "fail"}
        # Every run is counted, and what does not build is tried once.
        self.assertEqual(sum(n for i, n in calls.items() if i not in broken), doc["runs"])
        self.assertLessEqual(max((calls[i] for i in broken), default=0), 1)
        self.assertEqual(done.returncode, 1 if doc["culprits"] else 0 if doc["verdict"] == "no-regression" else 3)
        return right(doc, [set(t) for t in s["truth"]["sets"]]), doc

    def test_the_command_line_is_right_on_some_of_each(self):
        self.make()
        self.script = self.write("measure.sh", MEASURE, 0o755)
        kinds = ("gauss-n8-d2", "gauss-n64-d2", "gauss-n64-d4", "throughput-n256-d2", "broken10-n256-d2", "layout1-n256-d4", "null-n256",
                 "touch10-wrong-n256-d2", "hint-high-n256-d2", "two-n256-d3-d2")
        wrong = []
        for kind in kinds:
            ok, doc = self.drive(kind)
            if not ok:
                wrong.append((kind, doc["verdict"], doc["culprits"]))
        self.assertLessEqual(len(wrong), 1, wrong)


if __name__ == "__main__":
    support.main()
