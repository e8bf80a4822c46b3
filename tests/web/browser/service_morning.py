"""A morning with the real service and a real browser: 200 series over 1,000 commits are posted, and their groups are triaged.

The pages are walked with a pointer, with keys alone, and on a phone; the API then says what the walk has stored. One of the
slowdowns is searched by a runner, which measures the repository of the history: service_walk.mjs, once for each way of input,
theme and width.
"""

import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "tests", "e2e"))
import morning  # noqa: E402
from stack import BIN, DEADLINE_S, Stack, wait_for  # noqa: E402

SLICES = {"gemm": (morning.SLOW, 20), "attention": (morning.SLOW_LONG, 8)}
# Each has a group, and so a search, an acceptance and a baseline of its own. Both hands, both themes and all widths are among
# the three; PERFCI_WEB_WALKS=all, as deploy/prove.sh has it, walks each of the twelve triples.
SOME = [("pointer", "light", 1280), ("keys", "dark", 1024), ("pointer", "dark", 390)]
ALL = [(hand, theme, width) for width in (1280, 1024, 390) for theme in ("light", "dark") for hand in ("pointer", "keys")]
WALKS = [dict(zip(("hand", "theme", "width"), walk)) for walk in (ALL if os.environ.get("PERFCI_WEB_WALKS") == "all" else SOME)]


class Morning(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack(runner=False).__enter__()
        cls.addClassCleanup(cls.stack.down)
        repository = os.path.join(cls.stack.dir, "kernels.git")
        cls.ids = morning.make_repository(repository)
        morning.post(cls.stack.api, cls.ids, repository)
        wait_for("all runs are judged", lambda: all(not cls.stack.api(f"/jobs?kind=detect&state={s}")["jobs"] for s in ("queued", "leased")))
        wait_for("the groups are there", lambda: len(cls.open_groups()) == 4)

    @classmethod
    def open_groups(cls):
        return cls.stack.api(f"/groups?project={morning.PROJECT}&state=open")["groups"]

    def in_browser(self, script, facts):
        path = os.path.join(self.stack.dir, "facts.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(facts, file)
        done = subprocess.run([os.environ["PERFCI_NODE"], os.path.join(HERE, script), self.stack.url, path],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=10 * DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + self.stack.logs())
        print(done.stdout, end="")

    def start_runner(self):
        token = self.stack.api("/tokens", "POST", {"scopes": ["runner", "ingest"]}, status=201)["token"]
        words = ["--url", self.stack.url, "--work", os.path.join(self.stack.dir, "runner"), "--name", "bench-1", "--class", "generated", "--poll", "1"]
        # Its values are generated: nothing is lost when another test measures on this machine at the same time.
        lock = os.path.join(self.stack.dir, "machine.lock")
        runner = subprocess.Popen([os.path.join(BIN, "perfci-runner"), *words], env=dict(self.stack.env, PERFCI_TOKEN=token, PERFCI_MACHINE_LOCK=lock),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(runner.wait)
        self.addCleanup(runner.kill)

    def test_the_groups_of_a_morning_are_triaged(self):
        api, project = self.stack.api, morning.PROJECT
        groups = {}
        for group in self.open_groups():
            kernel = group["worst"]["benchmark"].split("/")[0]
            groups[kernel] = group["id"]
            if kernel in SLICES:
                self.assertEqual((group["lead"]["suspect"]["commit"], group["alerts"]), (self.ids[SLICES[kernel][0]], SLICES[kernel][1]))
        self.assertLess({"gemm", "attention", "softmax"}, set(groups))
        self.in_browser("service_morning.mjs", {
            "project": project, "groups": groups, "token": self.stack.token(), "before": self.ids[650], "after": self.ids[750],
            "subjects": {"gemm": morning.SUBJECTS[morning.SLOW], "rmsnorm": morning.SUBJECTS[morning.FASTER]}})
        gemm, attention, softmax = (api(f"/groups/{groups[k]}") for k in ("gemm", "attention", "softmax"))
        self.assertEqual((gemm["state"], gemm["assignee"], gemm["alerts"]), ("acknowledged", "Mara", 20))
        self.assertEqual({h["reason"] for h in gemm["history"]} & {"the scale in the loop"}, {"the scale in the loop"})
        self.assertEqual((attention["state"], attention["lead"]["accepted"]), ("wont_fix", True))
        self.assertEqual(softmax["state"], "investigating")

    def test_the_path_from_a_group_to_its_culprit_and_the_accepted_level(self):
        api = self.stack.api
        group, = (g for g in self.open_groups() if g["worst"]["benchmark"].startswith("rmsnorm/"))
        members = api(f"/groups/{group['id']}")["members"]
        self.assertEqual(len(members), 20)
        low, high = (self.ids.index(group["lead"][end]) for end in ("commit_low", "commit_high"))
        self.assertTrue(low < morning.SLOW_ROWS < high, (low, high))
        walks = [dict(walk) for walk in WALKS]
        for place, walk in enumerate(walks):
            part = members[place::len(walks)]
            walk["series"] = [m["series_id"] for m in part]
            walk["shapes"] = len({m["benchmark"] for m in part})
            walk["group"] = group["id"] if place == 0 else api(f"/groups/{group['id']}/split", "POST", {"alerts": [m["id"] for m in part]}, status=201)["id"]
        self.start_runner()
        self.in_browser("service_walk.mjs", {"project": morning.PROJECT, "token": self.stack.token(), "culprit": self.ids[morning.SLOW_ROWS],
                                             "subject": morning.SUBJECTS[morning.SLOW_ROWS], "walks": walks})
        searches = api(f"/bisections?project={morning.PROJECT}")["bisections"]
        self.assertEqual(len(searches), len(walks))
        for search in searches:
            self.assertEqual(([c["commits"] for c in search["culprits"]], search["verdict"]), ([[self.ids[morning.SLOW_ROWS]]], "found"))
        first = min(searches, key=lambda search: search["id"])  # the others have its runs as evidence
        self.assertGreater(first["counts"]["measured"], 5)
        for walk in walks:
            stored = api(f"/groups/{walk['group']}")
            self.assertEqual((stored["state"], stored["lead"]["accepted"], stored["lead"]["culprit"]), ("wont_fix", True, self.ids[morning.SLOW_ROWS]))
            self.assertLessEqual({"the culprit is confirmed", "the conversion is needed"}, {h["reason"] for h in stored["history"]})


if __name__ == "__main__":
    unittest.main()
