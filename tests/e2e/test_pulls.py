"""Pull requests on one machine: a bare repository, a stand-in for GitHub, the real server, runner and database.

The measuring command's value depends on the commit alone (stack.py).
"""

import os
import re
import sys
import time
import unittest

from hub import GitHub
from stack import Stack, git, make_repository, wait_for

GOOD, BAD = 2.0, 1.7
PAGES = "https://perf.example"
SECRET, TOKEN = "a secret of webhooks, long enough", "ghp_0123456789012345678901234567890123456789"


# The value depends on LEVEL alone, but for the last digits; the instructions of dot on TURNS.
KERNEL = """#include <stdio.h>
#include <time.h>

__attribute__((noinline)) static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < n; i++)
            sum += a[i] * b[i];
    return sum;
}

__attribute__((noinline)) static double scale(double *a, int n)
{
    for (int i = 0; i < n; i++)
        a[i] *= 1.5;
    return a[0];
}

int main(void)
{
    static double a[2000], b[2000];
    struct timespec now;
    volatile double keep = scale(a, 2000) + dot(a, b, 2000);

    clock_gettime(CLOCK_MONOTONIC, &now);
    (void)keep;
    printf("%.9f\\n", LEVEL * (1 + 1e-4 * (double)(now.tv_nsec / 1000 % 7 - 3)));
}
"""
SETTINGS = ("project: tiny\nbranch: main\nbuild: cc -O1 -g -o kernel kernel.c\nmeasure: ./kernel\n"
            "metric: gemm_tflops\nunit: TFLOP/s\nbetter: higher\n")


def kernel(level, turns):
    return {"kernel.c": f"#define LEVEL {level}\n#define TURNS {turns}\n" + KERNEL}


class Pulls(unittest.TestCase):
    def setUp(self):
        self.stack = Stack(runner=True)
        self.addCleanup(self.stack.down)
        self.repo = os.path.join(self.stack.dir, "tiny")
        self.base = make_repository(self.repo, [GOOD] * 2)[-1]
        self.bare = os.path.join(self.stack.dir, "tiny.git")
        git(self.stack.dir, "clone", "-q", "--bare", self.repo, self.bare)
        self.hub = GitHub("octo/tiny", self.bare, TOKEN, SECRET)
        self.addCleanup(self.hub.close)
        self.hub.permissions = {"maintainer": "write", "author": "read"}
        # jobs of pull requests are isolated; the counters of launches are then in the tree of the job
        self.stack.env.update(PERFCI_GITHUB_WEBHOOK_SECRET=SECRET, PERFCI_GITHUB_TOKEN=TOKEN, PERFCI_GITHUB_API_URL=self.hub.url,
                              PERFCI_SANDBOX="require", PERFCI_PUBLIC_URL=PAGES)
        self.stack.up()
        self.stack.perfci("project", "create", "tiny", "--branch", "main", "--repo-url", "file://" + self.bare)
        self.stack.api("/projects/tiny/forge", "POST", {"forge": "github", "repo": "octo/tiny", "budget_s": 20})

    def commit(self, name, level=None, parent=None, **files):
        """A commit on top of `parent`, in the bare repository; its id."""
        git(self.repo, "checkout", "-q", "--detach", parent or self.base)
        if level is not None:
            files["level.txt"] = f"{level}\n"
        for path, text in {"notes.txt": name, **files}.items():
            with open(os.path.join(self.repo, path), "w", encoding="utf-8") as file:
                file.write(text)
        git(self.repo, "add", "-A")
        git(self.repo, "commit", "-q", "-m", name, date=1760100000)
        head = git(self.repo, "rev-parse", "HEAD")
        git(self.repo, "push", "-q", self.bare, f"HEAD:refs/tmp/{name}")
        return head

    def know_history(self):
        """The service knows the commits of main with their times and parents, as after a nightly job."""
        rows = git(self.repo, "log", "--reverse", "--format=%H %P|%cI|%s", self.base).splitlines()
        parts = [(row.split("|")[0].split(), *row.split("|")[1:]) for row in rows]
        self.stack.api("/projects/tiny/commits", "POST", {"branch": "main", "commits": [
            {"id": ids[0], "parents": ids[1:], "time": time_s, "author": "Test", "subject": subject, "paths": ["level.txt"]}
            for ids, time_s, subject in parts]})

    def send(self, delivery):
        self.assertEqual(self.hub.deliver(self.stack.url, delivery), 202)

    def pull(self, number):
        rows = self.stack.api("/projects/tiny/pulls")["pulls"]
        return next((row for row in rows if row["number"] == number), None)

    def judged(self, number, head):
        def look():
            row = self.pull(number)
            return row if row and row["head"] == head and row["verdict"] else None

        return wait_for(f"a verdict on {head[:12]}", look)

    def settled(self, head):
        """The check of the head has its last state."""
        return wait_for("the check has ended", lambda: (self.hub.status(head) or ("pending",))[0] != "pending" and self.hub.status(head))

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
        page = f"{self.hub.url}/octo/tiny/commit/"
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

        fixed = self.commit("fixed", GOOD, slow)
        self.send(self.hub.push_pull(7, fixed))
        self.assertIn(self.judged(7, fixed)["verdict"], ("same", "inconclusive", "identical"))
        self.assertEqual(self.settled(fixed)[0], "success")
        wait_for("the comment is edited", lambda: fixed[:12] in self.hub.ours(7)[0]["body"])
        now, = self.hub.ours(7)
        self.assertEqual(now["id"], comment["id"])
        self.assertNotIn("regression, the largest", now["body"])
        self.assertEqual(self.hub.strange, [])

    def test_the_slower_function_is_named_and_an_unchanged_program_is_not_measured(self):
        base = self.commit("kernel", **kernel(GOOD, 1), **{"perfci.yaml": SETTINGS})
        git(self.repo, "push", "-q", self.bare, f"{base}:refs/heads/main")
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
        undone = self.commit("undo", parent=slow, **kernel(GOOD, 1), **{"notes.txt": "kernel"})
        self.send(self.hub.push_pull(12, undone))
        row = self.judged(12, undone)
        self.assertEqual((row["verdict"], row["reason"]), ("identical", f"identical tree of {base[:12]}"), row)

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
        page = f"{self.hub.url}/octo/tiny/commit/"
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
        base = self.commit("kernel", **kernel(GOOD, 1), **{"perfci.yaml": SETTINGS})
        git(self.repo, "push", "-q", self.bare, f"{base}:refs/heads/main")
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
