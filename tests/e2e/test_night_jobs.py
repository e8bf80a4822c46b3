"""A night on the service's runners: the planted commit is found in the same night, with the verdicts of a night that is measured
here; what a stop, a lost lease or a repeated upload leaves is counted once.

The measuring command's value depends on the commit and on how often it was measured (stack.py), so that both nights see the
same data in whatever order their blocks visit the builds.
"""

import json
import os
import signal
import subprocess
import unittest

from stack import BIN, Stack, git, make_repository, wait_for

BEFORE, GOOD, BAD = 3, 2.0, 1.9  # commits of the first night; levels
LEVELS = (GOOD, GOOD, BAD, BAD, BAD)
PLANTED, ROUNDS = 2, 10
BUILDS = len(LEVELS) + 1  # with the base, which is the anchor


class NightJobs(unittest.TestCase):
    def setUp(self):
        self.stack = Stack()
        self.addCleanup(self.stack.down)
        self.stack.up()
        self.repo = os.path.join(self.stack.dir, "tiny")
        self.old = make_repository(self.repo, [GOOD] * BEFORE)
        self.stack.perfci("nightly", "--jobs", "--repo", self.repo)

    def new_commits(self):
        ids = []
        for index, level in enumerate(LEVELS):
            with open(os.path.join(self.repo, "level.txt"), "w", encoding="utf-8") as file:
                file.write(f"{level}\n")
            with open(os.path.join(self.repo, "notes.txt"), "a", encoding="utf-8") as file:
                file.write(f"new {index}\n")
            git(self.repo, "add", "-A")
            git(self.repo, "commit", "-q", "-m", f"new {index}", date=1760000000 + (BEFORE + index) * 3600)
            ids.append(git(self.repo, "rev-parse", "HEAD"))
        return ids

    def night(self, *words, **env):
        done = self.stack.perfci("nightly", "--repo", self.repo, "--repeats", str(ROUNDS), "--json", *words, status=None, **env)
        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
        return json.loads(done.stdout)

    def begin_night(self, launch):
        """Held in its `launch`-th launch from now on."""
        held = self.stack.launches() + launch
        self.stack.hold(held)
        night = subprocess.Popen([os.path.join(BIN, "perfci"), "nightly", "--jobs", "--repeats", "2", "--repo", self.repo],
                                 env=self.stack.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(night.wait)
        self.addCleanup(night.kill)
        wait_for("the launch that is held", lambda: self.stack.launches() == held)

    def job(self):
        return self.stack.api("/jobs?project=tiny")["jobs"][0]

    def sessions(self):
        return self.stack.api("/projects/tiny/sessions")["sessions"]

    def runs(self):
        """Of sessions, by the session's id: commit, whether it is extra, and the stored document."""
        found = {}
        for row in self.stack.api("/projects/tiny/runs?limit=1000")["runs"]:
            kept = self.stack.api(f"/runs/{row['id']}")
            if "session" in kept:
                found.setdefault(kept["session"]["id"], []).append((row["commit"], row["extra"], kept))
        return found

    def test_the_plant_is_found_in_its_night_as_it_is_here(self):
        here = os.path.join(self.stack.dir, "here")
        os.mkdir(here)
        local = ("--project", "here", "--create")
        self.night(*local, PFC_TEST_COUNTERS=here)  # the newest commit, as the runner did
        ids = self.new_commits()
        theirs = self.night("--jobs")
        ours = self.night(*local, PFC_TEST_COUNTERS=here)
        verdicts = {c["id"]: c["verdict"] for c in theirs["commits"]}
        self.assertEqual(list(verdicts), ids)
        self.assertEqual([i for i, verdict in verdicts.items() if verdict == "slower"], [ids[PLANTED]], theirs)
        self.assertEqual(verdicts, {c["id"]: c["verdict"] for c in ours["commits"]})
        change = {c["id"]: c["worst"]["rel_change"] for c in theirs["commits"]}[ids[PLANTED]]
        self.assertAlmostEqual(change, {c["id"]: c["worst"]["rel_change"] for c in ours["commits"]}[ids[PLANTED]], delta=0.005)
        self.assertAlmostEqual(change, BAD / GOOD - 1, delta=0.01)
        alert, = self.stack.api("/alerts?project=tiny")["alerts"]
        self.assertEqual((alert["commit"], alert["direction"], [a["id"] for a in theirs["alerts"]]), (ids[PLANTED], "regression", [alert["id"]]))
        job = self.job()
        self.assertEqual((job["state"], job["commit"], job["blocks"]["commits"], job["blocks"]["base"]), ("done", ids[-1], ids, self.old[-1]))
        session, = self.sessions()
        self.assertEqual((job["session"], theirs["session"]["id"], session["blocks"]), (session["id"], session["id"], 2 * ROUNDS))
        self.assertEqual(len(job["run_ids"]), BUILDS)
        # each build once a block
        for _, _, kept in self.runs()[session["id"]]:
            visits = next(m["visits"] for m in kept["measurements"] if m["metric"] == "gemm_tflops")
            self.assertEqual([block for block, _ in visits], list(range(2 * ROUNDS)))
        # all of it sent again, as after the restore of a backup, is stored once
        work = os.path.join(self.stack.data, "runner")
        before = {name: len(rows) for name, rows in self.runs().items()}
        subprocess.run([os.path.join(BIN, "perfci-runner"), "--resend", "--work", work], check=True, capture_output=True, timeout=60)
        spool = os.path.join(work, "spool")
        wait_for("all of it is sent again", lambda: not os.path.exists(os.path.join(spool, "sent", "again"))
                 and not [name for name in os.listdir(spool) if name.endswith(".json")])
        self.assertEqual(len(os.listdir(os.path.join(spool, "sent"))), BUILDS + 2)  # and the first night's run
        self.assertEqual(({name: len(rows) for name, rows in self.runs().items()}, self.sessions()), (before, [session]))

    def test_a_runner_that_is_stopped_inside_a_block_keeps_the_whole_ones(self):
        ids = self.new_commits()
        self.begin_night(2 * BUILDS + 2)  # in the third block of four
        with open(os.path.join(self.stack.data, "stack.json"), encoding="utf-8") as file:
            runner = json.load(file)["runner"]["pid"]
        os.kill(runner, signal.SIGTERM)
        wait_for("the job is given back", lambda: self.job()["state"] == "queued")
        self.stack.hold(None)
        self.stack.perfci("up", "--detach")
        wait_for("the job is done", lambda: self.job()["state"] == "done")
        whole, part = self.sessions()
        self.assertEqual((part["blocks"], whole["blocks"], self.job()["session"]), (2, 4, whole["id"]))
        self.assertEqual({c["status"] for s in (whole, part) for c in s["commits"]}, {"measured"})
        runs = self.runs()
        for session, job in ((part, None), (whole, self.job()["id"])):
            self.assertEqual(sorted(commit for commit, _, _ in runs[session["id"]]), sorted([self.old[-1], *ids]))
            for _, extra, kept in runs[session["id"]]:
                visits = next(m["visits"] for m in kept["measurements"] if m["metric"] == "gemm_tflops")
                self.assertEqual((extra, kept.get("job_id"), [block for block, _ in visits]), (False, job, list(range(session["blocks"]))))

    def test_what_a_lost_lease_brought_does_not_count(self):
        self.new_commits()
        self.begin_night(BUILDS + 1)
        with open(os.path.join(self.stack.data, "runner", "job.json"), encoding="utf-8") as file:
            lease = json.load(file)["lease"]
        # As if it had run out: the runner receives 409 when it completes the job, or at its next heartbeat.
        self.stack.api(f"/jobs/{self.job()['id']}/release", "POST", {"lease": lease})
        self.stack.hold(None)
        wait_for("the job is done", lambda: self.job()["state"] == "done")
        job, runs = self.job(), self.runs()
        self.assertEqual(job["tries"], 2)
        self.assertEqual({extra for _, extra, _ in runs[job["session"]]}, {False})
        self.assertEqual(len(runs[job["session"]]), BUILDS)
        for session, rows in runs.items():
            self.assertEqual({extra for _, extra, _ in rows}, {session != job["session"]})
        judged = self.stack.api(f"/projects/tiny/sessions/{job['session']}")
        self.assertEqual([series["rounds"] for series in judged["series"] if series["metric"] == "gemm_tflops"], [2])
        for session in runs:
            if session != job["session"]:
                self.assertEqual(self.stack.api(f"/projects/tiny/sessions/{session}")["series"], [])


class Classes(unittest.TestCase):
    """A session on each class of machines that is asked for; the report has the worse verdict."""

    def test_each_class_has_its_session(self):
        stack = Stack(runner=False)
        self.addCleanup(stack.down)
        stack.up()
        repo = os.path.join(stack.dir, "tiny")
        ids = make_repository(repo, [GOOD] * 3 + [BAD])
        token = stack.api("/tokens", "POST", {"scopes": ["runner", "ingest"]}, status=201)["token"]
        for name in ("one", "two"):
            words = ["--url", stack.url, "--work", os.path.join(stack.dir, name), "--name", name, "--class", name]
            runner = subprocess.Popen([os.path.join(BIN, "perfci-runner"), *words], env=dict(stack.env, PERFCI_TOKEN=token), stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(runner.wait)
            self.addCleanup(runner.kill)
        night = ("nightly", "--jobs", "--repo", repo, "--machine-class", "one", "--machine-class", "two", "--json")
        report = json.loads(stack.perfci(*night, "--all", "--repeats", str(ROUNDS), status=(0, 1, 3)).stdout)
        sessions = stack.api("/projects/tiny/sessions")["sessions"]
        self.assertEqual({s["machine_class"] for s in sessions}, {"one", "two"})
        self.assertEqual({job["session"] for job in stack.api("/jobs?project=tiny")["jobs"]}, {s["id"] for s in sessions})
        self.assertEqual([c["id"] for c in report["commits"] if c["verdict"] == "slower"], [ids[-1]], report)


if __name__ == "__main__":
    unittest.main()
