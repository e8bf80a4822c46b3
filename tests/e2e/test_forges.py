"""The way of a pull request from its slowdown to its fix at each forge but GitHub with a token, which test_pulls.py has."""

import unittest

from forges import Gitea, GitHubApp, GitLab
from pull_driver import BAD, GOOD, PAGES, PullDriver, kernel
from stack import wait_for


class Flow:
    """WORDS: the states of a check or a commit status, in the forge's own words."""
    WORDS = {"slower": "failure", "fine": "success", "not allowed": "error"}

    def test_a_slowdown_its_fix_and_a_fork(self):
        base = self.put_kernel()
        self.know_history(base)
        slow = self.commit("slow", parent=base, **kernel(BAD, 3))
        self.send(self.hub.push_pull(7, slow))
        row = self.judged(7, slow)
        self.assertEqual((row["verdict"], row["base"], row["fork"]), ("regression", base, False), row)
        self.assertEqual(self.settled(slow)[0], self.WORDS["slower"])
        comment, = wait_for("the comment", lambda: self.hub.ours(7))
        page = self.hub.page_of(7)[1]
        self.assertRegex(comment["body"], r"\A<!-- perfci:tiny -->\n### \S+ 1 regression, the largest -1[45]\.\d %\n")
        self.assertIn(f"Head [`{slow[:12]}`](<{page}{slow}>) compared with base [`{base[:12]}`](<{page}{base}>) in ", comment["body"])
        self.assertRegex(comment["body"], r"\*\*-1[45]\.\d %\*\* \| -1\d\.\d % to -1\d\.\d %")
        self.assertRegex(comment["body"], r"(?m)^\| `dot` \| \d+ \| \d+ \| \+\S+ % \|$")

        self.send(self.hub.say(7, "/perfci why"))
        answer, = wait_for("the answer", lambda: self.hub.answers(7))
        self.assertRegex(answer, r"-1[45]\.\d %, 95 % interval -1\d\.\d % to -1\d\.\d %")

        fixed = self.commit("fixed", parent=slow, **kernel(GOOD, 1), **{"notes.txt": "fixed"})
        self.send(self.hub.push_pull(7, fixed))
        self.assertIn(self.judged(7, fixed)["verdict"], ("same", "inconclusive", "identical"))
        self.assertEqual(self.settled(fixed)[0], self.WORDS["fine"])
        wait_for("the comment is edited", lambda: fixed[:12] in self.hub.ours(7)[0]["body"])
        now, = self.hub.ours(7)
        self.assertEqual(now["id"], comment["id"])
        self.assertNotIn("regression, the largest", now["body"])

        jobs = len(self.stack.api("/jobs?project=tiny")["jobs"])
        fork = self.commit("fork", parent=base, **kernel(BAD, 2), **{"perfci.yaml": "project: tiny\nmeasure: cat /etc/shadow\n"})
        self.send(self.hub.push_pull(8, fork, fork=True))
        state, title = self.settled(fork)
        self.assertEqual(state, self.WORDS["not allowed"])
        self.assertIn("/perfci allow", title)
        self.send(self.hub.say(8, "/perfci allow", user="author"))
        answer, = wait_for("the refusal", lambda: self.hub.answers(8))
        self.assertIn("Only people who may write", answer)
        self.assertEqual(len(self.stack.api("/jobs?project=tiny")["jobs"]), jobs)
        self.send(self.hub.say(8, "/perfci allow"))
        row = self.judged(8, fork)
        self.assertEqual((row["verdict"], row["allowed"], row["fork"]), ("regression", True, True), row)
        self.assertEqual(self.settled(fork)[0], self.WORDS["slower"])
        self.assertEqual(self.hub.strange, [])
        self.end_of_flow(slow, base)

    def end_of_flow(self, slow, base):
        """Of one forge alone."""

    def bisect_answers(self, number, base):
        """The commits come from the forge's own list; without a runner's result the search is only announced."""
        first = self.commit("first", parent=base, **kernel(GOOD, 1), **{"notes.txt": "first"})
        head = self.commit("second", parent=first, **kernel(BAD, 2))
        self.send(self.hub.push_pull(number, head))
        self.send(self.hub.say(number, "/perfci bisect gemm_tflops"))
        answer, = wait_for("the answer", lambda: self.hub.answers(number))
        self.assertIn(f"over 2 commits, from [`{base[:12]}`]", answer)
        self.assertIn(f"to [`{head[:12]}`]", answer)
        self.send(self.hub.close_pull(number))
        wait_for("the answer is edited", lambda: "cancelled, since the pull request is closed." in self.hub.answers(number)[0])


class AtGitLab(Flow, PullDriver):
    FORGE = GitLab
    WORDS = {"slower": "failed", "fine": "success", "not allowed": "failed"}

    def end_of_flow(self, slow, base):
        self.assertEqual([s["state"] for s in self.hub.statuses if s["sha"] == slow][-1:], ["failed"])
        self.bisect_answers(9, base)
        self.assertEqual(self.hub.strange, [])


class AtGitea(Flow, PullDriver):
    FORGE = Gitea

    def end_of_flow(self, slow, base):
        self.bisect_answers(9, base)
        self.assertEqual(self.hub.strange, [])


class AsGitHubApp(Flow, PullDriver):
    FORGE = GitHubApp
    WORDS = {"slower": "failure", "fine": "success", "not allowed": "action_required"}

    def end_of_flow(self, slow, base):
        run = self.hub.check_of(slow)
        self.assertEqual((run["name"], run["external_id"], run["states"][-1]), ("perfci/tiny", "tiny/7", "failure"))
        self.assertIn("1 regression", run["output"]["title"])
        self.assertIn("| `dot` |", run["output"]["summary"])
        self.assertEqual(len([r for r in self.hub.checks.values() if r["head_sha"] == slow]), 1)
        self.assertEqual(len(self.hub.minted), 1)  # one token for all of it


class StatesOfACheckRun(PullDriver):
    """The test leases the jobs itself, so that each state stays until it was seen."""
    FORGE = GitHubApp
    RUNNER = False
    SERVER = {"PERFCI_LEASE": "600"}  # no lease ends before the test ends it

    def states(self, head, *expected):
        def look():
            run = self.hub.check_of(head)
            return run if run and run["states"] == list(expected) else None

        try:
            return wait_for("the states", look, deadline_s=120)
        except AssertionError:
            self.fail(f"expected {expected}, got {(self.hub.check_of(head) or {}).get('states')}")

    def pushed(self, number, name):
        head = self.commit(name, BAD)
        self.send(self.hub.push_pull(number, head))
        self.states(head, "queued")
        return head

    def leased(self, head):
        job = self.stack.api("/jobs/lease", "POST", {"runner": "hand", "machine_class": "none", "labels": {"tasks": "blocks"}})["job"]
        self.assertEqual((job["commit"], job["kind"]), (head, "pull_request"))
        self.states(head, "queued", "in_progress")
        return job

    def end(self, job, status, reason):
        self.stack.api(f"/jobs/{job['id']}/complete", "POST", {"lease": job["lease"], "status": status, "reason": reason})

    def test_queued_in_progress_and_each_end(self):
        head = self.pushed(1, "broken")
        self.end(self.leased(head), "broken", "the build failed")
        run = self.states(head, "queued", "in_progress", "action_required")
        self.assertIn("the build failed", run["output"]["summary"])

        head = self.pushed(2, "outage")
        self.end(self.leased(head), "failed", "the disk is full")
        self.states(head, "queued", "in_progress", "neutral")

        # Our outage: nothing takes the job, or it does not end. After the patience the check no longer blocks.
        head = self.pushed(3, "late")
        self.sql("UPDATE pull_measurements SET created_at = now() - interval '59 minutes' WHERE number = 3")
        self.send(self.hub.say(3, "/perfci help"))
        wait_for("the help", lambda: self.hub.answers(3))
        self.states(head, "queued")
        self.sql("UPDATE pull_measurements SET created_at = now() - interval '61 minutes' WHERE number = 3")
        self.send(self.hub.say(3, "/perfci help"))
        run = self.states(head, "queued", "neutral")
        self.assertEqual(run["output"]["title"], "No verdict within 60 min; the measurement goes on")
        job = self.stack.api("/jobs/lease", "POST", {"runner": "hand", "machine_class": "none", "labels": {"tasks": "blocks"}})["job"]
        self.end(job, "broken", "the build failed")
        self.states(head, "queued", "neutral", "action_required")  # the verdict replaces it
        self.assertEqual(self.hub.strange, [])


if __name__ == "__main__":
    unittest.main()
