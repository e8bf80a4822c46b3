"""Runners store traces with runs: of both sides of an alert's change, and of one commit, by suite and by command."""

import json
import os
import subprocess
import unittest

from stack import BIN, ROOT, Stack, git, wait_for

BENCHMARK, CHIP = "gemm/bf16/m128n128k128/tiles.schedule", "accel:pfc-edge"
GOOD, BAD = 64, 16  # depth of the tiles
COMMITS, CHANGED = 8, 3
SUITE = f"""suite: tiles
backends: ["{CHIP}"]
benchmarks:
  - op: gemm
    dtype: bf16
    schedule: tiles.schedule
    shapes: [{{m: 128, n: 128, k: 128}}]
"""
# With a folder for traces it prints other values, as a traced program may. The trace of a benchmark that nothing measured
# stays out, and so does the link.
COMMAND = """#!/bin/sh
echo x >> "$PFC_TEST_COUNTERS/launches"
small=5 large=7
if [ -n "$PERFCI_TRACES" ]; then
    small=900 large=900
    cp launch.pct "$PERFCI_TRACES/BenchmarkSmall-2.pct"
    cp launch.pct "$PERFCI_TRACES/other.pct"
    ln -s "$PWD/launch.pct" "$PERFCI_TRACES/BenchmarkLarge-2.pct"
fi
printf 'BenchmarkSmall-2 \\t 10 \\t %s ns/op\\nBenchmarkLarge-2 \\t 10 \\t %s ns/op\\n' $small $large
"""


class RunTraces(unittest.TestCase):
    def setUp(self):
        self.stack = Stack()
        self.addCleanup(self.stack.down)
        self.stack.up()
        self.repo = os.path.join(self.stack.dir, "tiny")
        os.mkdir(self.repo)
        git(self.repo, "init", "-q", "-b", "main")
        git(self.repo, "config", "user.name", "Test")
        git(self.repo, "config", "user.email", "test@example.org")

    def commit(self, number, **files):
        for name, text in files.items():
            path = os.path.join(self.repo, name.replace("__", "."))
            mode = "wb" if isinstance(text, bytes) else "w"
            with open(path, mode) as file:
                file.write(text)
        git(self.repo, "add", "-A")
        git(self.repo, "commit", "-q", "-m", f"change {number}", date=1760000000 + number * 3600)
        return git(self.repo, "rev-parse", "HEAD")

    def ended(self, job):
        return wait_for(f"the end of job {job}", lambda: next((j for j in [self.stack.api(f"/jobs/{job}")] if j["state"] not in ("queued", "leased")), None))

    def measure(self, commit, **more):
        job = self.stack.api("/jobs", "POST", {"project": "tiny", "kind": "measure", "commit": commit, "branch": "main", "source": self.repo, **more}, status=201)
        done = self.ended(job["id"])
        self.assertEqual(done["state"], "done", f"{done['reason']}\n{self.stack.logs()}")
        return done

    def publish(self, ids):
        commits = [{"id": sha, "parents": ids[i - 1:i], "author": "Test", "time": f"2025-10-09T{8 + i:02}:00:00Z", "subject": f"change {i}"} for i, sha in enumerate(ids)]
        self.stack.api("/projects", "POST", {"name": "tiny", "branch": "main", "repo_url": self.repo}, status=201)
        self.stack.api("/projects/tiny/commits", "POST", {"branch": "main", "commits": commits})

    def document(self, tiles):
        """The run document of perfci-bench with these tiles, without the canary."""
        with open(os.path.join(self.stack.dir, "suite.yaml"), "w", encoding="utf-8") as file:
            file.write(SUITE)
        with open(os.path.join(self.stack.dir, "tiles.schedule"), "w", encoding="utf-8") as file:
            file.write(tiles)
        done = subprocess.run([os.path.join(BIN, "perfci-bench"), "--suite", os.path.join(self.stack.dir, "suite.yaml"), "--json", "--quiet"],
                              capture_output=True, text=True, env=self.stack.env, check=True, timeout=500)
        run = json.loads(done.stdout)
        return {**run, "infra": False, "measurements": [m for m in run["measurements"] if m["benchmark"] != "canary"]}

    def traces_of(self, run):
        return self.stack.api(f"/runs/{run}/traces")["traces"]

    def test_an_alert_gets_traces_of_both_sides(self):
        tiles = lambda depth: f"m = 64\nn = 64\nk = {depth}\n"
        ids = [self.commit(0, perfci__yaml="project: tiny\nbranch: main\nsuite: suite.yaml\n", suite__yaml=SUITE, tiles__schedule=tiles(GOOD)),
               *(self.commit(i, notes=str(i)) for i in range(1, CHANGED)), self.commit(CHANGED, tiles__schedule=tiles(BAD)),
               *(self.commit(i, notes=str(i)) for i in range(CHANGED + 1, COMMITS))]
        self.publish(ids)
        # The history is posted: the canary of a busy machine would keep runs out of detection.
        before, after = (self.document(tiles(depth)) for depth in (GOOD, BAD))
        for i, sha in enumerate(ids):
            self.stack.api("/runs", "POST", {**(before if i < CHANGED else after), "id": f"{i + 1:032x}", "project": "tiny", "commit": sha, "branch": "main"}, status=201)
        alert = wait_for("the alert", lambda: next((a for a in self.stack.api("/alerts?project=tiny")["alerts"] if a["metric"] == "cycles"), None))
        self.assertEqual(alert["commit"], ids[CHANGED])
        path = f"/alerts/{alert['id']}/traces"
        sides = self.stack.api(path)
        self.assertEqual([(s["commit"], s["job"], s["traces"]) for s in (sides["before"], sides["after"])], [(ids[CHANGED - 1], None, []), (ids[CHANGED], None, [])])
        asked = self.stack.api(path, "POST")
        jobs = [asked[side]["job"]["id"] for side in ("before", "after")]
        for job in jobs:
            self.assertEqual(self.ended(job)["state"], "done", self.stack.logs())
        wait_for("both traces", lambda: all(s["traces"] for s in self.stack.api(path).values()))
        sides = self.stack.api(path)
        for side, sha, job in (("before", ids[CHANGED - 1], jobs[0]), ("after", ids[CHANGED], jobs[1])):
            trace, = sides[side]["traces"]
            self.assertEqual((trace["commit"], trace["benchmark"], trace["title"]), (sha, BENCHMARK, f"{BENCHMARK} on pfc-edge"))
            self.assertEqual(sides[side]["job"], {"id": job, "state": "done"})
            kept = self.stack.api(f"/runs/{trace['run_id']}")
            self.assertEqual({(m["benchmark"], m["backend"]) for m in kept["measurements"] if m["benchmark"] != "canary"} - {("headline", CHIP)}, {(BENCHMARK, CHIP)})
            file = os.path.join(self.stack.dir, f"{side}.pct")
            self.stack.perfci("trace", "fetch", str(trace["id"]), "--out", file)
            self.stack.perfci("trace", "check", file)
        # The traces show the change: the worse tiles take longer.
        self.assertGreater(sides["after"]["traces"][0]["span_ns"], sides["before"]["traces"][0]["span_ns"])
        # Both sides have some: nothing more is queued.
        self.assertEqual([s["job"]["id"] for s in self.stack.api(path, "POST").values()], jobs)

    def test_a_command_is_started_once_more_and_its_values_are_dropped(self):
        with open(os.path.join(ROOT, "tests/data/trace/launch.pct"), "rb") as file:
            trace = file.read()
        sha = self.commit(0, perfci__yaml="project: tiny\nbranch: main\nmeasure: sh measure.sh\n", measure__sh=COMMAND, launch__pct=trace)
        self.publish([sha])
        launches = os.path.join(self.stack.counters, "launches")
        count = lambda: os.path.getsize(launches) // 2
        self.measure(sha)
        plain = count()
        self.assertEqual(self.traces_of(self.stack.api("/projects/tiny/runs")["runs"][0]["run_id"]), [])  # nothing asked for them
        run = self.measure(sha, traces=True)["run_ids"][0]
        self.assertEqual(count(), 2 * plain + 1)
        values = {m["benchmark"]: m["samples"] for m in self.stack.api(f"/runs/{run}")["measurements"] if m["benchmark"].startswith("Benchmark")}
        flat = {name: {v for block in samples for v in (block if isinstance(block, list) else [block])} for name, samples in values.items()}
        self.assertEqual(flat, {"BenchmarkSmall-2": {5}, "BenchmarkLarge-2": {7}})
        stored, = wait_for("the trace", lambda: self.traces_of(run))
        self.assertEqual((stored["benchmark"], stored["size"]), ("BenchmarkSmall-2", len(trace)))
        self.stack.api("/jobs", "POST", {"project": "tiny", "kind": "nightly", "commit": sha, "traces": True,
                                         "blocks": {"commits": [sha], "base": "0" * 40, "budget_s": 5}}, status=400)


class Bench(unittest.TestCase):
    def test_perfci_bench_writes_the_traces_of_accelerators(self):
        with Stack(runner=False) as stack:
            out = os.path.join(stack.dir, "traces")
            done = subprocess.run([os.path.join(BIN, "perfci-bench"), "--suite", "quick", "--filter", "^gemm/f32/m64n64k64$", "--json", "--traces", out],
                                  capture_output=True, text=True, env=stack.env, check=True, timeout=500)
            measured = {(m["benchmark"], m["backend"]) for m in json.loads(done.stdout)["measurements"]
                        if m["backend"].startswith("accel:") and m["benchmark"] != "headline" and m["status"] == "ok"}
            self.assertTrue(measured)
            files = [os.path.relpath(os.path.join(d, f), out) for d, _, names in os.walk(out) for f in names]
            self.assertEqual(sorted(files), sorted(f"{b}@{backend}.pct" for b, backend in measured)[:16])
            for file in files:
                stack.perfci("trace", "check", os.path.join(out, file))


if __name__ == "__main__":
    unittest.main(verbosity=2)
