"""The demonstration's night finds its plant while a second process disturbs the machine, and reports nothing else.

The repository is deploy/demo's: 25 commits, one of them 10 to 20 % slower. Its first commit is the base; the night brings the
others. Here the benchmark's clock counts steps (BENCH_CLOCK=steps), and the disturbance is made of the same stuff: the machine is 5 to
12 % slower for 25 to 100 visits, by seed, as in bench/studies/night. So what else runs here cannot change the answer.

With BENCH_CLOCK=real in the environment the clock is read, and a process that computes in bursts, by seed, disturbs the measurement
(deploy/prove.sh --only night)."""

import json
import os
import subprocess
import sys
import time
import unittest

import stack

STUDY = os.path.join(stack.ROOT, "bench/studies/night")
CLOCK = os.environ.get("BENCH_CLOCK", "steps")
SEED = int(os.environ.get("NIGHT_SEED", "1"))
# Bursts and pauses of the disturbing process, seconds; each burst on a CPU drawn at random: the measured one or another.
BURST = (0.05, 1.5)
DISTURB = """
import os, random, sys, time
rng = random.Random(sys.argv[1])
cpus = sorted(os.sched_getaffinity(0))
while True:
    os.sched_setaffinity(0, {rng.choice(cpus)})
    end = time.monotonic() + rng.uniform(float(sys.argv[2]), float(sys.argv[3]))
    while time.monotonic() < end:
        sum(range(1000))
    time.sleep(rng.uniform(float(sys.argv[2]), float(sys.argv[3])))
"""

sys.path.insert(0, STUDY)
import states  # noqa: E402


class Night(unittest.TestCase):
    def setUp(self):
        self.stack = stack.Stack(runner=False)
        self.addCleanup(self.stack.down)
        self.stack.up()
        self.env = dict(self.stack.env, BENCH_CLOCK=CLOCK)
        self.repo = os.path.join(self.stack.dir, "tinygemm")
        made = subprocess.run([os.path.join(stack.ROOT, "deploy/demo/make_demo.py"), self.repo, "--seed", str(SEED), "--json"],
                              capture_output=True, text=True, env=self.env, stdin=subprocess.DEVNULL, check=True, timeout=600)
        self.facts = json.loads(made.stdout)
        self.commits = stack.git(self.repo, "rev-list", "--reverse", "main").split()

    def measuring_command(self):
        """Counted: the wrapper of the study, with a machine that is slower for a while."""
        if CLOCK != "steps":
            return "./bench"
        folder = os.path.join(self.stack.dir, "visits")
        os.mkdir(folder)
        wrapper = os.path.join(self.stack.dir, "visit")
        subprocess.run(["cc", "-O2", "-std=gnu11", "-o", wrapper, os.path.join(STUDY, "visit.c")], check=True, timeout=120)
        states.write(os.path.join(folder, "states.bin"), SEED, 4000)
        return f"{wrapper} {folder} ./bench"

    def disturb(self):
        process = subprocess.Popen([sys.executable, "-c", DISTURB, str(SEED), *map(str, BURST)], stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def nightly(self, tip, status):
        stack.git(self.repo, "update-ref", "refs/heads/night", tip)
        done = self.stack.perfci("nightly", "--repo", self.repo, "--config", self.config, "--branch", "night", "--project", "demo",
                                 "--create", "--max-commits", "100", "--work", os.path.join(self.stack.dir, "work"), "--json",
                                 status=status, BENCH_CLOCK=CLOCK)
        return json.loads(done.stdout)

    def test_the_plant_is_found_in_its_night_on_a_disturbed_machine(self):
        with open(os.path.join(self.repo, "perfci.yaml"), encoding="utf-8") as file:
            text = file.read().replace("measure: ./bench\n", f"measure: {self.measuring_command()}\n")
        self.config = os.path.join(self.stack.dir, "perfci.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text)
        if CLOCK != "steps":
            self.disturb()
        begun = time.monotonic()
        self.nightly(self.facts["first"], status=0)
        report = self.nightly(self.commits[-1], status=1)
        print(f"planted {self.facts['planted'][:12]} ({self.facts['slowdown']:.1%} slower), alerts at "
              f"{[a['commit'][:12] for a in report['alerts']]}, {time.monotonic() - begun:.0f} s", file=sys.stderr)
        alerts = [a for a in self.stack.api("/alerts?project=demo")["alerts"]]
        self.assertEqual([(a["commit"], a["direction"]) for a in alerts], [(self.facts["planted"], "regression")], report)
        self.assertEqual([a["commit"] for a in report["alerts"]], [self.facts["planted"]])
        # Throughput of the slow commit against the one before: the planted size lies within the interval, give or take 1 %.
        self.assertLess(alerts[0]["rel_low"] - 0.01, -self.facts["slowdown"])
        self.assertGreater(alerts[0]["rel_high"] + 0.01, -self.facts["slowdown"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
