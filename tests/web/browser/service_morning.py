"""A morning with the real service and a real browser: 200 series over 1,000 commits are posted, and their groups are triaged.

The pages are walked with a pointer, with keys alone, and on a phone; the API then says what the walk has stored.
"""

import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.environ["PERFCI_SOURCE_DIR"], "tests", "e2e"))
import morning  # noqa: E402
from stack import DEADLINE_S, Stack, wait_for  # noqa: E402

SLICES = {"gemm": (morning.SLOW, 20), "attention": (morning.SLOW_LONG, 8)}


class Morning(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack(runner=False).__enter__()
        cls.addClassCleanup(cls.stack.down)
        morning.post(cls.stack.api)
        wait_for("all runs are judged", lambda: all(not cls.stack.api(f"/jobs?kind=detect&state={s}")["jobs"] for s in ("queued", "leased")))
        wait_for("the groups are there", lambda: len(cls.open_groups()) == 3)

    @classmethod
    def open_groups(cls):
        return cls.stack.api(f"/groups?project={morning.PROJECT}&state=open")["groups"]

    def test_the_groups_of_a_morning_are_triaged(self):
        api, project = self.stack.api, morning.PROJECT
        groups = {}
        for group in self.open_groups():
            kernel = group["worst"]["benchmark"].split("/")[0]
            groups[kernel] = group["id"]
            if kernel in SLICES:
                self.assertEqual((group["lead"]["suspect"]["commit"], group["alerts"]), (morning.IDS[SLICES[kernel][0]], SLICES[kernel][1]))
        self.assertEqual(set(groups), {"gemm", "attention", "softmax"})
        path = os.path.join(self.stack.dir, "morning.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"project": project, "groups": groups, "token": self.stack.token(), "before": morning.IDS[650], "after": morning.IDS[750],
                       "subjects": {"gemm": morning.SUBJECTS[morning.SLOW], "rmsnorm": morning.SUBJECTS[morning.FASTER]}}, file)
        done = subprocess.run([os.environ["PERFCI_NODE"], os.path.join(HERE, "service_morning.mjs"), self.stack.url, path],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=4 * DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        gemm, attention, softmax = (api(f"/groups/{groups[k]}") for k in ("gemm", "attention", "softmax"))
        self.assertEqual((gemm["state"], gemm["assignee"], gemm["alerts"]), ("acknowledged", "Mara", 20))
        self.assertEqual({h["reason"] for h in gemm["history"]} & {"the scale in the loop"}, {"the scale in the loop"})
        self.assertEqual((attention["state"], attention["lead"]["accepted"]), ("wont_fix", True))
        self.assertEqual(softmax["state"], "investigating")


if __name__ == "__main__":
    unittest.main()
