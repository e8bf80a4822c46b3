"""One pair of commits, three commands, one answer: `compare`, `check` and `nightly` on a made repository.

The measured program is a script whose noise depends on the count of measurements alone, so no answer depends on this machine's
speed. All three get the same margin. Differences that are allowed here:

- `compare` and `check` measure the same builds in the same order and give the same numbers.
- `nightly` draws a new order every night, and prints the 95 % interval of its two-way fit; the other two print the interval of the
  test that may be looked at after every round, which is wider. The intervals overlap, and the wider one holds the other's estimate.
- `nightly` names the change from the user's side (slower, faster), the others from the metric's (regression, improvement).
"""

import json
import os
import unittest

import stack

BENCH = """#!/bin/sh
n=$(wc -l < "$CLOCK"); echo >> "$CLOCK"
[ "$(cat value)" = fails ] && exit 3
awk -v n="$n" -v v="$(cat value)" -v noise="$NOISE" -v up="$UP" '
    BEGIN { v *= 1 + noise * ((n * 7919 + int(n / 101) * 31) % 101 - 50) / 29
            printf "%.9f\\n", up ? 1000 / v : v }'
"""
# A metric without noise: its own document says so.
EXACT = """#!/bin/sh
[ "$(cat value)" = fails ] && exit 3
awk -v v="$(cat value)" -v up="$UP" 'BEGIN { printf "{\\"schema\\": \\"perfci.run/1\\", \\"id\\": \\"%032d\\", \\"suite\\": \\"s\\", \\"suite_hash\\": \\"\\", \\
\\"started_at\\": \\"2026-01-01T00:00:00Z\\", \\"finished_at\\": \\"2026-01-01T00:00:01Z\\", \\"machine\\": {\\"name\\": \\"m\\", \\"class\\": \\"c\\", \\
\\"fingerprint\\": {}}, \\"measurements\\": [{\\"benchmark\\": \\"headline\\", \\"metric\\": \\"speed\\", \\"backend\\": \\"\\", \\"unit\\": \\"x\\", \\
\\"direction\\": \\"%s\\", \\"exact\\": true, \\"status\\": \\"ok\\", \\"samples\\": [[%d]]}]}\\n", 1, up ? "higher" : "lower", \\
up ? 10000000 / v : 1000 * v }'
"""
NIGHT = {"regression": "slower", "improvement": "faster", "same": "same", "inconclusive": "undecided", "broken": "broken"}
STATUS = {"regression": 1, "improvement": 0, "same": 0, "inconclusive": 3, "broken": 4}


class SameAnswer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = stack.Stack(runner=False).__enter__()
        cls.addClassCleanup(cls.stack.down)
        cls.serial = 0

    def make(self, name, value, bench, higher):
        """A repository with the base (100) on main and the candidate on a branch."""
        repo = os.path.join(self.stack.dir, name)
        os.mkdir(repo)
        stack.git(repo, "init", "-q", "-b", "main")
        self.put(repo, "bench.sh", bench)
        direction = "directions: {speed: " + ("higher" if higher else "lower") + "}\n"
        self.put(repo, "perfci.yaml", f"project: {name}\nbranch: main\nmeasure: sh bench.sh\nmetric: speed\nunit: x\n{direction}")
        return repo, [self.commit(repo, 100), self.commit(repo, value)]

    def put(self, repo, name, text):
        with open(os.path.join(repo, name), "w", encoding="utf-8") as file:
            file.write(text)

    def commit(self, repo, value):
        SameAnswer.serial += 1
        self.put(repo, "value", f"{value}\n")
        self.put(repo, "notes", f"{self.serial}\n")  # the tree of another commit would not be measured
        stack.git(repo, "add", "-A")
        stack.git(repo, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "-m", f"change {self.serial}")
        return stack.git(repo, "rev-parse", "HEAD").strip()

    def run_command(self, repo, status, *args, noise=0.003, higher=False):
        """Each command begins with the same clock, and so with the same noise."""
        clock = os.path.join(self.stack.dir, "clock")
        self.put(self.stack.dir, "clock", "")
        done = self.stack.perfci(*args, "--json", status=status, cwd=repo, CLOCK=clock, NOISE=str(noise), UP="1" if higher else "0")
        return json.loads(done.stdout)

    def answers(self, value, verdict, bench=BENCH, rounds=None, noise=0.003, higher=False):
        SameAnswer.serial += 1
        name = f"pair-{self.serial}"
        repo, (base, new) = self.make(name, value, bench, higher)
        status = STATUS[verdict]
        kinds = {"noise": noise, "higher": higher}
        limit = ["--rounds", str(rounds)] if rounds else []
        compare = self.run_command(repo, status, "compare", base, new, "--margin", "0.01", *limit, **kinds)
        # HEAD left main at the base.
        stack.git(repo, "update-ref", "refs/heads/main", base)
        stack.git(repo, "checkout", "-q", "--detach", new)
        check = self.run_command(repo, status, "check", "--base", "main", "--margin", "0.01", *limit, **kinds)
        common = ["nightly", "--project", name, "--create", "--branch", "main", "--margin", "0.01", "--budget", "60s", "--wait", "120s"]
        self.run_command(repo, 0, *common, **kinds)
        stack.git(repo, "update-ref", "refs/heads/main", new)
        night = self.run_command(repo, status, *common, *(["--repeats", str(rounds)] if rounds else []), **kinds)
        return compare, check, night, new

    def expect(self, value, verdict, **more):
        compare, check, night, new = self.answers(value, verdict, **more)
        row, = [r for r in compare["rows"] if r["metric"] == "speed"]
        again, = [r for r in check["rows"] if r["metric"] == "speed"]
        self.assertEqual(row["verdict"], verdict, row)
        commit, = [c for c in night["commits"] if c["id"] == new]
        self.assertEqual(commit["verdict"], NIGHT[verdict], commit)
        for key in ("verdict", "rel_change", "rel_low", "rel_high", "p", "a", "b"):
            self.assertEqual(row[key], again[key], key)
        series, = [s for s in night["session"]["series"] if s["metric"] == "speed"]
        edge, = [b for b in series["boundaries"] if b["commit"] == new]
        if verdict != "inconclusive":
            self.assertTrue(row["rel_low"] <= edge["rel_change"] <= row["rel_high"], (row, edge))
            self.assertTrue(max(row["rel_low"], edge["rel_low"]) <= min(row["rel_high"], edge["rel_high"]), (row, edge))
        self.assertEqual(edge["verdict"], {"inconclusive": "undecided"}.get(verdict, verdict))
        alerts = [a["commit"] for a in self.stack.api(f"/alerts?project={night['project']}")["alerts"]]
        self.assertEqual(alerts, [new] if verdict == "regression" else [])
        return row, edge, commit

    def test_slower(self):
        for higher in (False, True):
            row, edge, _ = self.expect(105, "regression", higher=higher)
            self.assertAlmostEqual(row["rel_change"], 1 / 1.05 - 1 if higher else 0.05, delta=0.004)
            self.assertAlmostEqual(edge["rel_change"], 1 / 1.05 - 1 if higher else 0.05, delta=0.004)

    def test_faster(self):
        for higher in (False, True):
            row, _, _ = self.expect(95, "improvement", higher=higher)
            self.assertAlmostEqual(row["rel_change"], 1 / 0.95 - 1 if higher else -0.05, delta=0.004)

    def test_same(self):
        for higher in (False, True):
            row, edge, commit = self.expect(100, "same", noise=0.002, higher=higher)
            self.assertTrue(-0.01 <= row["rel_low"] <= row["rel_high"] <= 0.01, row)
            self.assertTrue(-0.01 <= edge["rel_low"] <= edge["rel_high"] <= 0.01, edge)
            self.assertLessEqual(commit["within"], 0.01)

    def test_undecided(self):
        for higher in (False, True):
            row, edge, commit = self.expect(101.5, "inconclusive", noise=0.05, rounds=5, higher=higher)
            self.assertGreater(row["more_rounds"], 0)
            # Null: more than the planner would ever take, by the noise that this night happened to have.
            self.assertNotEqual(edge["needs_rounds"], 0)
            self.assertNotEqual(commit["needs_s"], 0)

    def test_exact(self):
        for higher in (False, True):
            for value, verdict in ((100.1, "regression"), (99.9, "improvement"), (100, "same")):
                row, edge, _ = self.expect(value, verdict, bench=EXACT, higher=higher)
                self.assertEqual((row["exact"], row["rel_low"]), (True, row["rel_high"]))
                self.assertAlmostEqual(edge["rel_change"], row["rel_change"], delta=1e-12)

    def test_broken(self):
        """The candidate measures nothing: every command says so with status 4, and none of them compares it."""
        name = "pair-broken"
        repo, (base, new) = self.make(name, "fails", BENCH, False)
        for words in (["compare", base, new], ["check", "--base", base]):
            clock = os.path.join(self.stack.dir, "clock")
            self.put(self.stack.dir, "clock", "")
            done = self.stack.perfci(*words, status=4, cwd=repo, CLOCK=clock, NOISE="0.003", UP="0")
            self.assertIn(new[:12], done.stderr + done.stdout)
        common = ["nightly", "--project", name, "--create", "--branch", "main", "--budget", "60s", "--wait", "120s"]
        stack.git(repo, "update-ref", "refs/heads/main", base)
        stack.git(repo, "checkout", "-q", "--detach", new)
        self.run_command(repo, 0, *common)
        stack.git(repo, "update-ref", "refs/heads/main", new)
        commit, = self.run_command(repo, 4, *common)["commits"]
        self.assertEqual((commit["id"], commit["status"]), (new, "broken"))


if __name__ == "__main__":
    unittest.main()
