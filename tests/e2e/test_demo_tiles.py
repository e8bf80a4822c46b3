"""The demonstration's worse tiles are named by one exact run a commit, whatever the machine does, and the alert of the night that
brings them carries its explanation.

The repository is deploy/demo's; its accel.yaml measures the product on the simulated accelerator. The benchmark of the CPU's slowdown
counts steps (BENCH_CLOCK=steps), since only its depths have to be chosen here."""

import json
import os
import subprocess
import tempfile
import unittest

import stack


def make(folder, env):
    """(repository, what was planted in it)"""
    repo = os.path.join(folder, "tinygemm")
    made = subprocess.run([os.path.join(stack.ROOT, "deploy/demo/make_demo.py"), repo, "--seed", "5", "--json"],
                          capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, check=True, timeout=500)
    return repo, json.loads(made.stdout)


class Tiles(unittest.TestCase):
    def test_the_commit_with_worse_tiles_is_named_by_one_run_a_commit(self):
        with tempfile.TemporaryDirectory(prefix="pfc-tiles-") as folder:
            env = stack.clean_environment(HOME=folder, BENCH_CLOCK="steps")
            env["PATH"] = stack.BIN + os.pathsep + env["PATH"]
            repo, facts = make(folder, env)
            self.assertNotEqual(facts["planted"], facts["planted_tiles"])
            done = subprocess.run([os.path.join(stack.BIN, "perfci"), "bisect", "--repo", repo, "--config",
                                   os.path.join(repo, "accel.yaml"), "--good", facts["first"], "--bad", "main",
                                   "--work", os.path.join(folder, "work"), "--no-confirm", "--json"],
                                  capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, check=False, timeout=300)
            self.assertEqual(done.returncode, 1, done.stderr)
            answer = json.loads(done.stdout)
            self.assertEqual([c["commits"] for c in answer["culprits"]], [[facts["planted_tiles"]]])
            self.assertEqual(answer["runs"], answer["commits_measured"])  # one run a commit
            self.assertLess(answer["runs"], facts["commits"])
            self.assertGreater(answer["difference"]["rel_change"], 0.1)

    def test_the_alert_of_the_night_says_why_unasked(self):
        service = stack.Stack(runner=False)
        self.addCleanup(service.down)
        service.up()
        env = dict(service.env, BENCH_CLOCK="steps", PATH=stack.BIN + os.pathsep + service.env["PATH"])
        repo, facts = make(service.dir, env)
        commits = stack.git(repo, "rev-list", "--reverse", "main").split()
        at = commits.index(facts["planted_tiles"])
        answers = []
        for tip, status, form in ((commits[at - 1], 0, "--json"), (commits[at + 1], 1, "--markdown")):
            stack.git(repo, "update-ref", "refs/heads/night", tip)
            done = service.perfci("nightly", "--repo", repo, "--config", os.path.join(repo, "accel.yaml"), "--branch", "night",
                                  "--project", "demo", "--create", "--max-commits", "3", "--work", os.path.join(service.dir, "work"),
                                  form, status=status, PATH=env["PATH"])
            answers.append(done.stdout)
        (alert,) = service.api("/alerts?project=demo")["alerts"]
        self.assertEqual((alert["commit"], alert["metric"], alert["direction"]), (facts["planted_tiles"], "cycles", "regression"))
        report = service.api(f"/alerts/{alert['id']}/explanation")
        cause = report["causes"][0]
        # The planted change is of the tiles alone: 128 x 512 x 256 instead of 256 x 256 x 512.
        self.assertEqual(cause["kind"], "choice")
        self.assertIn("tiles of m 128, n 512, k 256", cause["text"])
        self.assertIn("tiles of m 256, n 256, k 512", cause["text"])
        self.assertAlmostEqual(sum(c["value"] for c in report["contributions"]), report["delta"], delta=0.02 * report["delta"])
        self.assertEqual(report["total"]["basis"], "path")
        # The report of the night has it, folded.
        self.assertIn("<details><summary>Explanation of gemm/bf16/m1024n1024k1024", answers[1])
        self.assertIn("tiles of m 128, n 512, k 256", answers[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
