"""kill -9 of runner and server in the middle of a round loses no finished measurement and doubles none."""

import json
import os
import signal
import subprocess
import unittest

from stack import BIN, Stack, make_repository, wait_for

COMMITS = 6


class Kill(unittest.TestCase):
    def setUp(self):
        self.stack = Stack()
        self.addCleanup(self.stack.down)
        self.stack.up()
        self.repo = os.path.join(self.stack.dir, "tiny")
        self.ids = make_repository(self.repo, [2.0] * COMMITS)

    def pid(self, member):
        with open(os.path.join(self.stack.data, "stack.json"), encoding="utf-8") as file:
            return json.load(file)[member]["pid"]

    def start_night(self):
        night = subprocess.Popen(
            [os.path.join(BIN, "perfci"), "nightly", "--jobs", "--all", "--repeats", "2", "--repo", self.repo],
            env=self.stack.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(night.wait)
        self.addCleanup(night.kill)

    def runs(self):
        return self.stack.api("/projects/tiny/runs?limit=1000")["runs"]

    def jobs(self):
        return self.stack.api("/jobs?project=tiny&limit=1000")["jobs"]

    def finished_jobs(self):
        return all(job["state"] == "done" for job in self.jobs())

    def round_with_a_kill(self, member, launches):
        """In the third block of four, in which all builds are visited once; `launches`: those of the whole story."""
        inside = 2 * COMMITS + 2
        self.stack.hold(inside)
        self.start_night()
        wait_for("the third block", lambda: self.stack.launches() == inside)
        os.kill(self.pid(member), signal.SIGKILL)
        self.stack.perfci("up", "--detach")
        self.stack.hold(None)
        wait_for("every job is done", self.finished_jobs, 600)
        runs = self.runs()
        self.assertEqual(sorted(run["commit"] for run in runs), sorted(self.ids))
        session, = self.stack.api("/projects/tiny/sessions")["sessions"]
        job, = self.jobs()
        self.assertEqual((job["session"], sorted(job["run_ids"])), (session["id"], sorted(run["id"] for run in runs)))
        self.assertEqual((session["blocks"], {c["status"] for c in session["commits"]}), (4, {"measured"}))
        for run in runs:
            kept = self.stack.api(f"/runs/{run['id']}")
            self.assertEqual((kept["session"]["id"], run["extra"]), (session["id"], False))
            visits = next(m["visits"] for m in kept["measurements"] if m["metric"] == "gemm_tflops")
            self.assertEqual([block for block, _ in visits], [0, 1, 2, 3])
        self.assertEqual(self.stack.launches(), launches)

    def test_the_runner(self):
        """The interrupted measurement starts again from the beginning."""
        self.round_with_a_kill("runner", 2 * COMMITS + 2 + 4 * COMMITS)

    def test_the_server(self):
        """The runner goes on."""
        self.round_with_a_kill("server", 4 * COMMITS)


class KillOfASearch(unittest.TestCase):
    """A bisection on the runners goes on after kill -9 of server and runner, and repeats nothing that was stored."""

    COMMITS, PLANTED = 24, 15

    def test_the_same_answer_and_nothing_twice(self):
        stack = Stack()
        self.addCleanup(stack.down)
        stack.up()
        repo = os.path.join(stack.dir, "tiny")
        ids = make_repository(repo, [2.0 if n < self.PLANTED else 1.7 for n in range(self.COMMITS)])
        command = subprocess.Popen(
            [os.path.join(BIN, "perfci"), "bisect", "--remote", "--json", "--repo", repo,
             "--metric", "gemm_tflops", "--good", ids[0], "--bad", "main"],
            env=stack.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(command.wait)
        self.addCleanup(command.kill)
        wait_for("it was ordered", lambda: command.poll() is not None or known(stack))
        for number, member in enumerate(("server", "runner")):
            wait_for(f"{number + 1} runs are stored", lambda want=number + 1: measured(stack) >= want)
            with open(os.path.join(stack.data, "stack.json"), encoding="utf-8") as file:
                os.kill(json.load(file)[member]["pid"], signal.SIGKILL)
            stack.perfci("up", "--detach")
        out, errors = command.communicate(timeout=900)
        self.assertEqual(command.returncode, 1, errors + stack.logs())
        answer = json.loads(out)
        self.assertEqual(answer["verdict"], "found")
        self.assertEqual(answer["culprits"][0]["commits"], [ids[self.PLANTED]])
        self.assertEqual(answer["line"][self.PLANTED]["commit"], ids[self.PLANTED])
        self.assertGreater(answer["line"][self.PLANTED]["probability"], 0.98)
        # the named commit is confirmed by pairs of its own
        verified = wait_for("the verification has ended", lambda: ended(stack, answer["id"]))
        self.assertEqual([v["state"] for v in verified], ["confirmed"])
        # one run a step and one step a run; two runs a pair
        jobs = stack.api("/jobs?project=tiny&limit=1000")["jobs"]
        self.assertEqual({job["state"] for job in jobs}, {"done"})
        runs = [run["id"] for run in stack.api("/projects/tiny/runs?limit=1000")["runs"]]
        steps = [step["run"] for step in answer["steps"]]
        pairs = [job for job in jobs if job["kind"] == "verify"]
        self.assertEqual(len(jobs), len(steps) + len(pairs))
        self.assertEqual(len(pairs), verified[0]["pairs"])
        self.assertEqual(sorted(steps + [run for job in pairs for run in job["run_ids"]]), sorted(runs))


def ended(stack, bisection):
    rows = stack.api(f"/bisections/{bisection}")["verifications"]
    return rows if rows and all(row["state"] != "running" for row in rows) else None


def known(stack):
    return bool(stack.api("/bisections")["bisections"])


def measured(stack):
    rows = stack.api("/bisections")["bisections"]
    return rows[0]["runs"] if rows[0]["state"] == "running" else 1 << 30


if __name__ == "__main__":
    unittest.main()
