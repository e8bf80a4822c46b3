"""Pull requests of GitHub, with a token; test_forges.py has the other forges."""

import json
import re
import sys
import time
import unittest

from pull_driver import BAD, GOOD, PAGES, PullDriver, kernel
from stack import git, wait_for
import tier


class Pulls(PullDriver):
    def test_a_slowdown_is_said_and_its_fix_turns_the_same_comment_green(self):
        self.know_history()
        slow = self.commit("slow", BAD)
        self.send(self.hub.push_pull(7, slow))
        row = self.judged(7, slow)
        self.assertEqual((row["verdict"], row["base"], row["fork"]), ("regression", self.base, False), row)
        state, title = self.settled(slow)
        self.assertEqual(state, "failure", title)
        comment, = wait_for("the comment", lambda: self.hub.ours(7))
        self.assertRegex(comment["body"], r"\A<!-- perfci:tiny -->\n### 🔴 1 regression, the largest -1[45]\.\d %\n")
        page = self.hub.page_of(7)[1]
        self.assertIn(f"Head [`{slow[:12]}`](<{page}{slow}>) compared with base [`{self.base[:12]}`](<{page}{self.base}>) in ", comment["body"])
        session = self.stack.api(f"/projects/tiny/sessions/{row['session']}")
        boundary, = [b for s in session["series"] for b in s["boundaries"] if s["metric"] == "gemm_tflops"]
        self.assertEqual((boundary["commit"], boundary["against"], boundary["verdict"]), (slow, self.base, "regression"))
        self.assertAlmostEqual(boundary["rel_change"], BAD / GOOD - 1, delta=0.01)
        self.assertLess(boundary["rel_high"], -0.13)
        self.assertIn(f"**{100 * boundary['rel_change']:+.1f} %** | {100 * boundary['rel_low']:+.1f} % to", comment["body"])
        self.assertIn(f"perfci compare {self.base} {slow}\n", comment["body"])
        series, = [s["id"] for s in self.stack.api("/projects/tiny/series")["series"] if s["metric"] == "gemm_tflops"]
        self.assertIn(f"[`headline`](<{PAGES}/series/{series}>)", comment["body"])
        self.assertIn(f"[Whole comparison](<{PAGES}/p/tiny/nights/{row['session']}>)", comment["body"])
        # nothing of it is on the project's branch, and there is no alert
        self.assertEqual(self.stack.api("/alerts?project=tiny")["alerts"], [])
        branches = {s["branch"] for s in self.stack.api("/projects/tiny/series")["series"]}
        self.assertNotIn("main", branches)

        self.send(self.hub.say(7, "/perfci why"))
        answer, = wait_for("the answer", lambda: self.hub.answers(7))
        self.assertIn(f"{100 * boundary['rel_change']:+.1f} %, 95 % interval {100 * boundary['rel_low']:+.1f} % to", answer)

        self.check_reworded(slow, row)
        fixed = self.commit("fixed", GOOD, slow)
        self.send(self.hub.push_pull(7, fixed))
        self.assertIn(self.judged(7, fixed)["verdict"], ("same", "inconclusive", "identical"))
        self.assertEqual(self.settled(fixed)[0], "success")
        wait_for("the comment is edited", lambda: fixed[:12] in self.hub.ours(7)[0]["body"])
        now, = self.hub.ours(7)
        self.assertEqual(now["id"], comment["id"])
        self.assertNotIn("regression, the largest", now["body"])
        self.assertEqual(self.hub.strange, [])

    def check_reworded(self, slow, first):
        """The author rewords the commit and pushes: another commit of the same tree is not measured; on request it is."""
        run, = self.stack.api(f"/projects/tiny/runs?commit={slow}")["runs"]
        git(self.repo, "checkout", "-q", "--detach", slow)
        git(self.repo, "commit", "-q", "--amend", "-m", "a better subject", date=1760200000)
        reworded = git(self.repo, "rev-parse", "HEAD")
        git(self.repo, "push", "-q", self.bare, "HEAD:refs/tmp/reworded")
        self.assertNotEqual(reworded, slow)
        self.send(self.hub.push_pull(7, reworded))
        row = self.judged(7, reworded)
        self.assertEqual((row["verdict"], row["session"]), ("regression", first["session"]), row)
        job = self.stack.api(f"/jobs/{row['job_id']}")
        self.assertEqual((job["state"], job["run_ids"], job["blocks"]["reuse"]), ("done", [], True), job)
        self.assertIn(f"reused: session {first['session']} of ", job["reason"])
        sessions = self.stack.api("/projects/tiny/sessions")["sessions"]
        self.assertEqual([s["id"] for s in sessions], [first["session"]])
        self.assertEqual(self.stack.api(f"/projects/tiny/runs?commit={reworded}")["runs"], [])
        said = wait_for("the comment", lambda: next((c["body"] for c in self.hub.ours(7) if reworded[:12] in c["body"]), None))
        self.assertIn(f"\n\nReused from run {run['run_id']}, measured at {sessions[0]['finished_at']}: same trees, toolchain, suite "
                      "and machine class; nothing was measured again.\n", re.sub(r"\\(.)", r"\1", said))
        self.assertRegex(said, r"### 🔴 1 regression, the largest -1[45]\.\d %\n")
        self.assertIn(f"perfci compare {self.base} {reworded}\n", said)
        self.send(self.hub.say(7, "/perfci rerun"))
        fresh = wait_for("another job", lambda: next((j for j in self.stack.api("/jobs?project=tiny")["jobs"] if j["id"] > job["id"]), None))
        self.assertIs(fresh["blocks"]["reuse"], False)

    def check_code(self, a, b, object_code, functions):
        """The comparison has what the comment has, and the command line what the comparison has."""
        served = self.stack.api(f"/compare?project=tiny&a={a}&b={b}")
        self.assertEqual((served["object_code"], [[f["name"], f["before"], f["after"]] for f in served["functions"]]), (object_code, functions))
        shown = self.stack.perfci("compare", "--stored", "--project", "tiny", a, b, "--json", status=None)
        shown = json.loads(shown.stdout)
        self.assertEqual((shown["object_code"], shown["functions"]), (served["object_code"], served["functions"]))
        text = self.stack.perfci("compare", "--stored", "--project", "tiny", a, b, status=None).stdout
        self.assertEqual(f"object code: {object_code}\n" in text, object_code != "unknown", text)
        for name, before, after in functions:
            self.assertRegex(text, rf"(?m)^{name} +{before} +{after}$")

    @tier.long
    def test_the_slower_function_is_named_and_an_unchanged_program_is_not_measured(self):
        base = self.put_kernel()
        slow = self.commit("slow", parent=base, **kernel(BAD, 3))
        self.send(self.hub.push_pull(9, slow))
        row = self.judged(9, slow)
        self.assertEqual((row["verdict"], row["base"]), ("regression", base), row)
        comment, = wait_for("the comment", lambda: self.hub.ours(9))
        self.assertIn("Object code: different.\n", comment["body"])
        self.assertIn("Functions whose number of instructions changed:\n", comment["body"])
        rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \| (\S+ %) \|$", comment["body"], re.M)
        self.assertEqual(rows[0][0], "dot", comment["body"])
        self.assertAlmostEqual(int(rows[0][2]) / int(rows[0][1]), 3, delta=0.01)
        self.assertNotIn("scale", [r[0] for r in rows])
        self.check_code(base, slow, "different", [[r[0], int(r[1]), int(r[2])] for r in rows])
        self.send(self.hub.say(9, "/perfci why"))
        answer, = wait_for("the answer", lambda: self.hub.answers(9))
        self.assertIn("| `dot` |", answer)

        # the same commits in another pull request: nothing is measured again
        jobs = len(self.stack.api("/jobs?project=tiny")["jobs"])
        self.send(self.hub.push_pull(11, slow))
        self.assertEqual(self.judged(11, slow)["verdict"], "regression")
        again, = wait_for("the comment", lambda: self.hub.ours(11))
        self.assertIn("Basis\\: the result of pull request 9 for the same commits.", again["body"])
        self.assertEqual(len(self.stack.api("/jobs?project=tiny")["jobs"]), jobs)

        same = self.commit("comment", parent=base, **{"kernel.c": kernel(GOOD, 1)["kernel.c"] + "/* said */\n"})
        self.send(self.hub.push_pull(10, same))
        row = self.judged(10, same)
        self.assertEqual(row["verdict"], "identical", row)
        self.assertEqual(self.settled(same), ("success", "Unchanged: identical object code, nothing was measured"))
        session = self.stack.api(f"/projects/tiny/sessions/{row['session']}")
        self.assertEqual((session["blocks"], session["series"]), (0, []))
        self.check_code(base, same, "unknown", [])  # of a side that was not measured no code is stored
        undone = self.commit("undo", parent=slow, **kernel(GOOD, 1), **{"notes.txt": "kernel"})
        self.send(self.hub.push_pull(12, undone))
        row = self.judged(12, undone)
        self.assertEqual((row["verdict"], row["reason"]), ("identical", f"identical tree of {base[:12]}"), row)

    @tier.long
    def test_a_bisection_over_the_commits_of_the_pull_request_names_the_slow_one(self):
        self.know_history()
        heads = [self.base]
        for place, level in enumerate((GOOD, GOOD, BAD, BAD, BAD)):
            heads.append(self.commit(f"part{place}", level, heads[-1]))
        head, slow = heads[-1], heads[3]
        self.send(self.hub.push_pull(13, head))
        self.assertEqual(self.judged(13, head)["verdict"], "regression")
        self.send(self.hub.say(13, "/perfci bisect gemm_flops"))
        answer, = wait_for("the answer", lambda: self.hub.answers(13))
        self.assertIn("The comparison of this head has no such metric. It has `gemm_tflops`.", answer)
        before = {job["id"] for job in self.stack.api("/jobs?project=tiny")["jobs"]}
        self.send(self.hub.say(13, "/perfci bisect gemm_tflops"))
        said = wait_for("the answer", lambda: self.hub.answers(13)[1:])[0]
        found = re.search(r"\[Bisection (\d+)\]\(<" + PAGES + r"/bisections/\1>\) of `gemm_tflops` over 5 commits, from \[`(\w+)`\]\S+ to \[`(\w+)`\]", said)
        self.assertEqual(found.groups()[1:], (self.base[:12], head[:12]), said)

        def ended():
            text = self.hub.answers(13)[1]
            return text if "Check of" in text and "running" not in text else None

        text = wait_for("the answer is edited", ended)
        page = self.hub.page_of(7)[1]
        self.assertIn(": culprit found.\n\n", text)
        change = re.search(rf"^- \[`{slow[:12]}`\]\(<{page}{slow}>\): (-\d+\.\d) % \(95 % interval (-\d+\.\d) % to (-\d+\.\d) %\), probability (0\.99\d*|1)$", text, re.M)
        self.assertTrue(change, text)
        middle, low, high = (float(part) for part in change.groups()[:3])
        self.assertAlmostEqual(middle, 100 * (BAD / GOOD - 1), delta=1)
        self.assertLessEqual(low, middle)
        self.assertLessEqual(middle, high)
        self.assertRegex(text, rf"Check of \[`{slow[:12]}`\]\S+ in \d+ new interleaved pairs with the commit before it: -1\d\.\d % \(95 % interval .*\), confirmed\.")
        self.assertEqual(len(self.hub.answers(13)), 2)  # edited in place
        # isolated like the pairs, with the settings of the base branch, and beside every series of main
        jobs = [job for job in self.stack.api("/jobs?project=tiny")["jobs"] if job["id"] not in before]
        self.assertGreater(len(jobs), 5)
        self.assertEqual({(job["kind"], job["branch"].split("/")[:3][2], job["state"]) for job in jobs}, {("pull_request", "bisect", "done")})
        self.assertEqual(self.stack.api("/alerts?project=tiny")["alerts"], [])
        self.assertNotIn("main", {s["branch"] for s in self.stack.api("/projects/tiny/series")["series"]})
        self.assertEqual(self.hub.strange, [])

    @tier.long
    def test_a_fork_is_refused_until_a_maintainer_allows_it(self):
        head = self.commit("fork", BAD, **{"perfci.yaml": "project: tiny\nmeasure: cat /etc/shadow\n"})
        self.send(self.hub.push_pull(8, head, fork=True))
        state, title = self.settled(head)
        self.assertEqual(state, "error")
        self.assertIn("/perfci allow", title)
        self.assertEqual(self.stack.api("/jobs?project=tiny")["jobs"], [])
        self.send(self.hub.say(8, "/perfci allow", user="author"))
        answer, = wait_for("the refusal", lambda: self.hub.answers(8))
        self.assertIn("Only people who may write", answer)
        self.assertEqual(self.stack.api("/jobs?project=tiny")["jobs"], [])
        self.send(self.hub.say(8, "/perfci bisect gemm_tflops"))
        refusal = wait_for("the refusal", lambda: self.hub.answers(8)[1:])[0]
        self.assertIn("The head of a fork is measured after `/perfci allow`.", refusal)
        self.send(self.hub.say(8, "/perfci allow"))
        row = self.judged(8, head)
        self.assertEqual(row["verdict"], "regression", row)  # by the base's command, not the fork's
        self.assertTrue(row["allowed"])
        pushed = self.commit("again", GOOD, head)
        self.send(self.hub.push_pull(8, pushed, fork=True))
        self.assertEqual(self.settled(pushed)[0], "error")
        self.assertEqual(len(self.stack.api("/jobs?project=tiny")["jobs"]), 1)


class Times(Pulls):
    """Seconds from the webhook to the verdict: `test_pulls.py --times`."""

    def runTest(self):
        base = self.put_kernel()
        for place, kind in enumerate(("identical object code", "identical tree", "slower")):
            times = []
            for index in range(5):
                name = f"push{place}-{index}"
                if kind == "identical tree":
                    head = self.commit(name, parent=self.commit(f"{name}-before", parent=base), **{"notes.txt": "kernel"})
                elif kind == "slower":
                    head = self.commit(name, parent=base, **kernel(BAD, 2 + index))
                else:
                    head = self.commit(name, parent=base, **{"kernel.c": kernel(GOOD, 1)["kernel.c"] + f"/* {name} */\n"})
                began = time.monotonic()
                self.send(self.hub.push_pull(100 + 10 * place + index, head))
                verdict = self.judged(100 + 10 * place + index, head)["verdict"]
                times.append(time.monotonic() - began)
            print(f"{kind}: {verdict}, {sorted(times)[2]:.1f} s, median of {len(times)} (at most {max(times):.1f} s)", flush=True)


if __name__ == "__main__":
    if "--times" in sys.argv:
        unittest.TextTestRunner().run(Times())
    else:
        del Times
        unittest.main()
