"""Nights of the real service in a real browser: runs and a session are posted, and the pages show what the API answers.

The values are drawn by a seed: commits of known levels, visited in blocks, on a machine that changes its speed from block to
block by more than the commits do.
"""

import json
import math
import os
import random
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "tests", "e2e"))
from situations import DAY, START, instant, sha  # noqa: E402
from stack import DEADLINE_S, Stack, wait_for  # noqa: E402

PROJECT = "nights"
COMMITS = [sha(PROJECT, i) for i in range(18)]
ANCHOR, BASE = 2, 10
SAME, SLOWER, IDENTICAL, BROKEN, FASTER, OPEN, LEFT = range(11, 18)
SESSION = "5e" * 16
LEVELS = {ANCHOR: 1.0, BASE: 1.01, SAME: 1.01, SLOWER: 1.06, FASTER: 1.0, OPEN: 1.0}
# name: base value in ns, whether commits change it
BENCHMARKS = {"sort/n1000": (52_000.0, True), "parse/<b>small</b>": (810.0, False)}
REASON = "build failed: sort.c:4: error: expected <b>;</b>"
ROUNDS, ROUNDS_OF_OPEN = 14, 2


class Measured:
    """Visits of all builds: a round is a block and the same block in reverse order."""

    def __init__(self):
        rng = random.Random(14)
        self.visits = {i: [] for i in LEVELS}
        self.values = {(i, name): [] for i in LEVELS for name in BENCHMARKS}
        block = 0
        for turn in range(ROUNDS):
            order = [i for i in LEVELS if i != OPEN or turn < ROUNDS_OF_OPEN]
            rng.shuffle(order)
            for part in (order, order[::-1]):
                machine = 1 + 0.1 * rng.random()
                for position, i in enumerate(part):
                    self.visits[i].append([block, position])
                    for name, (base, moves) in BENCHMARKS.items():
                        noise = rng.gauss(0, 0.05 if i == OPEN else 0.003)
                        self.values[i, name].append(base * (LEVELS[i] if moves else 1) * machine * math.exp(noise))
                block += 1
        self.blocks = block

    def run(self, i):
        started = START + 20 * DAY
        return {
            "schema": "perfci.run/1", "id": sha("run", i)[:32], "project": PROJECT, "commit": COMMITS[i], "branch": "main",
            "suite": "night", "suite_hash": "ab" * 32, "started_at": instant(started), "finished_at": instant(started + 1500),
            "session": {"id": SESSION, "anchor": COMMITS[ANCHOR], "base": COMMITS[BASE]},
            "machine": {"name": "bench-1", "class": "generated", "fingerprint": {"cpu": "Generated CPU", "compiler": "gcc 12.2.0"}},
            "measurements": [{
                "benchmark": name, "metric": "time_ns", "backend": "cpu", "unit": "ns", "direction": "lower",
                "samples": [[value] for value in self.values[i, name]], "visits": self.visits[i],
            } for name in BENCHMARKS],
        }

    def session(self):
        def commit(i, status="measured", **more):
            return {"commit": COMMITS[i], "status": status, **more}
        return {
            "id": SESSION, "branch": "main", "anchor": COMMITS[ANCHOR], "base": COMMITS[BASE], "machine_class": "generated",
            "machine": "bench-1", "started_at": instant(START + 20 * DAY), "finished_at": instant(START + 20 * DAY + 1500),
            "budget_s": 1800, "spent_s": 1490, "blocks": self.blocks, "note": "the anchor <b>v1</b> does not build",
            "commits": [
                commit(SAME), commit(SLOWER), commit(IDENTICAL, "identical", same_as=COMMITS[SLOWER]),
                commit(BROKEN, "broken", reason=REASON), commit(FASTER), commit(OPEN, needs_s=830.0),
                commit(LEFT, "not_measured", reason="the budget ended"),
            ],
        }


class Nights(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack(runner=False).__enter__()
        cls.addClassCleanup(cls.stack.down)
        api = cls.stack.api
        api("/projects", "POST", {"name": PROJECT}, status=201)
        api(f"/projects/{PROJECT}/commits", "POST", {"branch": "main", "commits": [
            {"id": c, "parents": [COMMITS[i - 1]] if i else [], "author": "Ada", "time": instant(START + i * DAY),
             "subject": f"change number {i}", "paths": ["sort.c"]} for i, c in enumerate(COMMITS)]})
        measured = Measured()
        for i in LEVELS:
            api("/runs", "POST", measured.run(i), status=201)
        api(f"/projects/{PROJECT}/sessions", "POST", measured.session(), status=201)
        wait_for("all runs are judged", lambda: all(not api(f"/jobs?kind=detect&state={s}")["jobs"] for s in ("queued", "leased")))

    def test_the_service_decides_what_was_drawn(self):
        """Otherwise the pages would have little to show."""
        night = self.stack.api(f"/projects/{PROJECT}/sessions/{SESSION}")
        self.assertEqual([c["verdict"] for c in night["commits"]],
                         ["same", "slower", "identical", "broken", "faster", "undecided", "not_measured"])
        self.assertEqual({s["benchmark"] for s in night["series"]}, set(BENCHMARKS))
        alerts = self.stack.api(f"/alerts?project={PROJECT}")["alerts"]
        self.assertEqual([(a["benchmark"], a["commit"], a["blocks"]["session"]) for a in alerts], [("sort/n1000", COMMITS[SLOWER], SESSION)])

    def test_the_pages_show_what_the_api_answers(self):
        api = self.stack.api
        night = api(f"/projects/{PROJECT}/sessions/{SESSION}")
        moved = next(s for s in night["series"] if s["benchmark"] == "sort/n1000")
        facts = {
            "project": PROJECT, "night": night, "commits": COMMITS, "reason": REASON, "blocks": sum(len(v) for v in Measured().visits.values()),
            "alert": api(f"/alerts?project={PROJECT}")["alerts"][0],
            "series": api(f"/series/{moved['series_id']}?points=5000"),
            "commit": api(f"/projects/{PROJECT}/commits/{COMMITS[SLOWER]}"),
        }
        path = os.path.join(self.stack.dir, "night.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(facts, file)
        done = subprocess.run([os.environ["PERFCI_NODE"], os.path.join(HERE, "service_nights.mjs"), self.stack.url, path],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=4 * DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
