"""The demonstration's worse tiles are named by one exact run a commit, whatever the machine does.

The repository is deploy/demo's; its accel.yaml measures the product on the simulated accelerator. No service is needed. The benchmark
of the CPU's slowdown counts steps (BENCH_CLOCK=steps), since only its depths have to be chosen here."""

import json
import os
import subprocess
import tempfile
import unittest

import stack


class Tiles(unittest.TestCase):
    def test_the_commit_with_worse_tiles_is_named_by_one_run_a_commit(self):
        with tempfile.TemporaryDirectory(prefix="pfc-tiles-") as folder:
            repo = os.path.join(folder, "tinygemm")
            env = stack.clean_environment(HOME=folder, BENCH_CLOCK="steps")
            env["PATH"] = stack.BIN + os.pathsep + env["PATH"]
            made = subprocess.run([os.path.join(stack.ROOT, "deploy/demo/make_demo.py"), repo, "--seed", "5", "--json"],
                                  capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, check=True, timeout=500)
            facts = json.loads(made.stdout)
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
