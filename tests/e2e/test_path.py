"""One user's way through all of perfci, by the real programs and a repository made on the spot.

The commits' levels are fixed and their wobble is seeded, so that every answer is known beforehand.
"""

import json
import os
import subprocess
import sys
import unittest

from stack import BIN, ROOT, Stack, clean_environment, git, make_repository, wait_for

sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
import test_comment  # noqa: E402  (its stand-in for GitHub)

GOOD, BAD = 2.0, 1.7
COMMITS, PLANTED, BROKEN = 20, 12, 7


class Path(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack()
        cls.addClassCleanup(cls.stack.down)
        cls.stack.up()
        cls.repo = os.path.join(cls.stack.dir, "tiny")
        levels = [GOOD if index < PLANTED else BAD for index in range(COMMITS)]
        cls.ids = make_repository(cls.repo, levels, broken=(BROKEN,))

    # unittest runs methods by name: the numbers are the order of the story.

    def test_1_the_runner_measures_the_history_and_the_service_opens_one_alert(self):
        done = self.stack.perfci(
            "nightly", "--jobs", "--all", "--repo", self.repo, "--json", status=(1, 4)
        )
        report = json.loads(done.stdout)
        measured = [c for c in report["commits"] if c["status"] == "measured"]
        self.assertEqual(len(measured), COMMITS - 1, done.stdout)
        alerts = self.stack.api("/alerts?project=tiny")["alerts"]
        regressions = [a for a in alerts if a["direction"] == "regression"]
        self.assertEqual([a["commit"] for a in regressions], [self.ids[PLANTED]])
        self.assertAlmostEqual(regressions[0]["rel_change"], BAD / GOOD - 1, delta=0.02)

    def test_2_series_and_commits_tell_the_same_story(self):
        series = self.stack.api("/projects/tiny/series?headline=1")["series"]
        self.assertEqual([s["metric"] for s in series], ["gemm_tflops"])
        window = self.stack.api(f"/series/{series[0]['id']}")
        measured = [commit for index, commit in enumerate(self.ids) if index != BROKEN]
        self.assertEqual(window["columns"]["commit"], measured)
        self.assertTrue(all(n >= 4 for n in window["columns"]["n"]), window["columns"]["n"])  # two rounds at least
        for commit, median in zip(measured, window["columns"]["median"]):
            level = GOOD if self.ids.index(commit) < PLANTED else BAD
            self.assertAlmostEqual(median / level, 1.0, delta=0.01)
        self.assertEqual([c["commit"] for c in window["changes"]], [self.ids[PLANTED]])
        listed = self.stack.api("/projects/tiny/commits?limit=1000")["commits"]
        self.assertEqual([c["id"] for c in listed], list(reversed(self.ids)))

    def test_3_bisect_names_the_commit_and_the_alert_learns_its_culprit(self):
        done = self.stack.perfci(
            "bisect", "--repo", self.repo, "--metric", "gemm_tflops", "--good", self.ids[0],
            "--bad", "main", "--project", "tiny", "--post", "--json", status=1,
        )
        report = json.loads(done.stdout)
        self.assertEqual(report["verdict"], "found")
        self.assertEqual(report["culprits"][0]["commits"], [self.ids[PLANTED]])
        self.assertGreaterEqual(report["culprits"][0]["probability"], 0.99)
        self.assertEqual(git(self.repo, "status", "--porcelain"), "")
        self.assertEqual(git(self.repo, "branch", "--list").split(), ["*", "main"])
        stored = self.stack.api("/bisections")["bisections"]
        self.assertEqual(len(stored), 1)
        alert = self.stack.api("/alerts?project=tiny")["alerts"][0]
        self.assertEqual(alert["culprit"], self.ids[PLANTED])

    def test_4_one_command_repeats_an_alert_and_a_step_here(self):
        alert = self.stack.api("/alerts?project=tiny")["alerts"][0]
        self.assertEqual(alert["repro"], f"perfci repro alert:{alert['id']}")
        done = self.stack.perfci(*alert["repro"].split()[1:], "--json", status=1, cwd=self.repo)
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual([row["verdict"] for row in rows if row["metric"] == "gemm_tflops"], ["regression"])
        stored = self.stack.api("/bisections")["bisections"][0]["id"]
        shown = self.stack.perfci("repro", f"bisection:{stored}", "--print", cwd=self.repo).stdout
        self.assertEqual(shown.strip(), f"perfci compare '{self.ids[PLANTED]}^' {self.ids[PLANTED]}")
        step = self.stack.perfci("repro", f"bisection:{stored}/1", "--json", cwd=self.repo).stdout
        self.assertIn(json.loads(step)["commit"], self.ids)
        wrong = self.stack.perfci("repro", "thing:1", status=2, cwd=self.repo)
        self.assertIn("expected alert:N", wrong.stderr)

    def test_4_two_commits_compare_as_the_levels_do(self):
        before, after = self.ids[PLANTED - 1], self.ids[PLANTED]
        answer = self.stack.api(f"/compare?project=tiny&a={before}&b={after}")
        self.assertEqual([row["verdict"] for row in answer["rows"] if row["benchmark"] != "canary"], ["regression"])
        done = self.stack.perfci(
            "compare", before, after, "--json", status=1, cwd=self.repo
        )
        self.assertTrue(done.stdout.strip().startswith("{"))
        type(self).comparison_text = done.stdout
        same = self.stack.perfci(
            "compare", self.ids[0], self.ids[1], "--json", status=(0, 3),
            cwd=self.repo,
        )
        self.assertNotIn('"regression": true', same.stdout)

    def test_5_the_pull_request_gets_one_comment_that_is_edited(self):
        comparison = os.path.join(self.stack.dir, "comparison.json")
        with open(comparison, "w", encoding="utf-8") as file:
            file.write(self.comparison_text)
        token = os.path.join(self.stack.dir, "github.token")
        with open(token, "w", encoding="utf-8") as file:
            file.write("secret\n")
        with test_comment.serving("secret") as github:
            for _ in range(2):
                self.stack.perfci("comment", comparison, "--repo", "me/kernels", "--pr", "7",
                                  "--token-file", token, "--api-url", github.url)
            self.assertEqual(len(github.comments), 1)
            self.assertIn("gemm_tflops", github.comments[0]["body"])
            self.assertIn("PATCH", [method for method, _ in github.calls])

    def test_6_a_second_night_finds_nothing_new(self):
        done = self.stack.perfci("nightly", "--jobs", "--repo", self.repo, "--json")
        self.assertEqual(json.loads(done.stdout)["commits"], [])
        self.assertEqual(len(self.stack.api("/alerts?project=tiny")["alerts"]), 1)

    def test_7_the_kernel_suite_is_measured_and_posted(self):
        suite = os.path.join(self.stack.dir, "small.yaml")
        with open(suite, "w", encoding="utf-8") as file:
            file.write(
                "suite: small\nsettings: {processes: 2, min_samples: 5, max_samples: 10, "
                "max_seconds: 0.05, warmup_seconds: 0.01, interval_rel: 0.5}\n"
                "benchmarks:\n  - {op: gemm, dtype: f32, shapes: [{m: 32, n: 32, k: 32}], "
                "backends: [cpu-scalar, \"accel:*\"]}\n"
            )
        out = os.path.join(self.stack.dir, "run.json")
        runs = []
        for _ in range(2):
            subprocess.run([os.path.join(BIN, "perfci-bench"), "--suite", suite, "--out", out],
                           check=True, capture_output=True, env=clean_environment(), timeout=300,
                           stdin=subprocess.DEVNULL)
            with open(out, encoding="utf-8") as file:
                runs.append(json.load(file))
        exact = [
            {(m["benchmark"], m["metric"], m["backend"]): m["samples"]
             for m in run["measurements"] if m.get("exact") and m["status"] == "ok"}
            for run in runs
        ]
        self.assertGreater(len(exact[0]), 0, "no exact metric: the simulated accelerator is missing")
        self.assertEqual(exact[0], exact[1])
        self.stack.perfci("push", out, "--project", "tiny", "--commit", self.ids[-1])
        self.stack.perfci("push", out, "--project", "tiny", "--commit", self.ids[-1])
        names = {s["benchmark"] for s in self.stack.api("/projects/tiny/series?limit=1000")["series"]}
        self.assertIn("gemm/f32/m32n32k32", names)

    def test_8_a_browser_walks_from_overview_to_series(self):
        node = os.environ.get("PERFCI_NODE")
        if not node:
            self.skipTest("the dashboard is not part of this build (PERFCI_WEB=OFF, or sanitizers)")
        script = os.path.join(ROOT, "tests", "e2e", "browser.mjs")
        done = subprocess.run([node, script, self.stack.url, self.ids[PLANTED]], capture_output=True,
                              text=True, timeout=600, stdin=subprocess.DEVNULL)
        if done.returncode == 77:
            self.skipTest(done.stdout.strip())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Judged(unittest.TestCase):
    def test_a_history_without_a_change_opens_no_alert(self):
        with Stack() as stack:
            repo = os.path.join(stack.dir, "tiny")
            make_repository(repo, [GOOD] * 14)
            done = stack.perfci("nightly", "--jobs", "--all", "--repo", repo)
            self.assertEqual(stack.api("/alerts?project=tiny")["alerts"], [], done.stderr)
            wait_for("detection is done",
                     lambda: not stack.api("/stats?project=tiny")["detection_lag_s"])
            self.assertEqual(stack.api("/alerts?project=tiny")["alerts"], [])


if __name__ == "__main__":
    unittest.main()
