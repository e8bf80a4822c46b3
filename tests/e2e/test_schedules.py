"""A schedule of the service: new commits that a client has posted are measured at its time on a runner, the planted one is found,
and the same commits are not measured again.
"""

import os
import unittest

from stack import Stack, git, make_repository, wait_for

GOOD, BAD = 2.0, 1.6
LEVELS = (GOOD, BAD, BAD)
PLANTED = 1


class Schedules(unittest.TestCase):
    def setUp(self):
        self.stack = Stack()
        self.addCleanup(self.stack.down)
        self.stack.up()
        self.repo = os.path.join(self.stack.dir, "tiny")
        self.old = make_repository(self.repo, [GOOD] * 2)
        self.stack.perfci("nightly", "--jobs", "--repo", self.repo)

    def post_new_commits(self):
        ids, parent = [], self.old[-1]
        for index, level in enumerate(LEVELS):
            with open(os.path.join(self.repo, "level.txt"), "w", encoding="utf-8") as file:
                file.write(f"{level}\n")
            with open(os.path.join(self.repo, "notes.txt"), "a", encoding="utf-8") as file:
                file.write(f"new {index}\n")
            git(self.repo, "add", "-A")
            git(self.repo, "commit", "-q", "-m", f"new {index}", date=1760000000 + (len(self.old) + index) * 3600)
            ids.append(git(self.repo, "rev-parse", "HEAD"))
            self.stack.api("/projects/tiny/commits", "POST", {"branch": "main", "commits": [
                {"id": ids[-1], "parents": [parent], "author": "Test", "time": f"2025-10-09T1{index}:00:00Z", "subject": f"new {index}", "paths": []}]})
            parent = ids[-1]
        return ids

    def nights(self):
        return self.stack.api("/projects/tiny/schedules/often/nights")["nights"]

    def test_a_due_schedule_measures_what_is_new_once(self):
        ids = self.post_new_commits()
        said = self.stack.perfci("schedule", "add", "often", "--cron", "* * * * *", "--zone", "Europe/Berlin", "--max-commits", "10", cwd=self.repo)
        self.assertIn("schedule often: branch main, * * * * * in Europe/Berlin, next at ", said.stdout)
        # At its time, and then it does not begin again: later nights are skipped meanwhile, or find nothing.
        wait_for("a night that is done", lambda: any(n["state"] == "done" for n in self.nights()), 300)
        wait_for("a night without new commits", lambda: any(n["state"] == "nothing" for n in self.nights()), 300)
        self.stack.perfci("schedule", "set", "often", "--disable", cwd=self.repo)
        nights = self.nights()
        night, = [n for n in nights if n["state"] not in ("skipped", "nothing")]
        self.assertEqual((night["state"], night["actor"], night["commits"], night["left_out"]), ("done", "schedule", 3, 0), nights)
        self.assertEqual((night["base"], night["head"]), (self.old[-1], ids[-1]))
        self.assertTrue(night["due_at"] <= night["started_at"] <= night["finished_at"])
        for other in nights:
            if other["state"] == "skipped":
                self.assertIn(f"night {night['id']} still runs: job {night['job_id']} is ", other["reason"])
        jobs = [j for j in self.stack.api("/jobs?project=tiny&kind=nightly")["jobs"] if j["id"] >= night["job_id"]]
        self.assertEqual([(j["state"], j["blocks"]["commits"], j["blocks"]["base"]) for j in jobs], [("done", ids, self.old[-1])])
        session = wait_for("the verdicts", lambda: next((s for s in self.stack.api("/projects/tiny/sessions")["sessions"]
                                                         if s["id"] == jobs[0]["session"] and s["commits"][-1]["verdict"]), None))
        self.assertEqual([c["commit"] for c in session["commits"] if c["verdict"] == "slower"], [ids[PLANTED]], session)
        # By a person: nothing is left to measure.
        self.assertIn("nothing: branch main has no new commit", self.stack.perfci("schedule", "run", "often", cwd=self.repo).stdout)
        self.assertIn("disabled", self.stack.perfci("schedule", "list", cwd=self.repo).stdout)
        self.stack.perfci("schedule", "remove", "often", cwd=self.repo)
        self.assertEqual(self.stack.api("/projects/tiny/schedules")["schedules"], [])


if __name__ == "__main__":
    unittest.main()
