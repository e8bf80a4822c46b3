"""Whether a run was isolated is shown from the runner to the page: one job with isolation off, one with it."""

import json
import os
import re
import subprocess
import unittest

from stack import BIN, DEADLINE_S, Stack, make_repository

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS = "not isolated"  # on pages with many runs, and in the CLI
SENTENCE = "Measured without isolation"  # on the page of a run


class IsolationMark(unittest.TestCase):
    def setUp(self):
        self.stack = Stack(runner=False)
        self.addCleanup(self.stack.down)
        self.stack.up()
        self.repo = os.path.join(self.stack.dir, "tiny")
        self.ids = make_repository(self.repo, [2.0, 2.0])
        self.stack.api("/projects", "POST", {"name": "tiny", "repo_url": self.repo}, status=201)
        self.token = os.path.join(self.stack.dir, "token")
        with open(self.token, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(self.stack.perfci("token", "create", "--name", "runner", "--scope", "runner", "--quiet").stdout)

    def measure(self, commit, sandbox):
        """One job of the commit on a runner in this mode: the job and its run's row and document. None: this machine cannot isolate."""
        job = self.stack.api("/jobs", "POST", {"project": "tiny", "kind": "measure", "commit": commit}, status=201)
        done = subprocess.run(
            [os.path.join(BIN, "perfci-runner"), "--url", self.stack.url, "--token-file", self.token,
             "--work", os.path.join(self.stack.dir, "work"), "--sandbox", sandbox, "--once"],
            capture_output=True, text=True, env=self.stack.env, stdin=subprocess.DEVNULL, timeout=2 * DEADLINE_S, check=False)
        if sandbox == "require" and "bubblewrap" in done.stderr and done.returncode == 5:
            return None
        self.assertEqual(done.returncode, 0, done.stderr)
        job = self.stack.api(f"/jobs/{job['id']}")
        self.assertEqual(job["state"], "done", (job, done.stderr[-3000:]))
        row, = (r for r in self.stack.api("/projects/tiny/runs")["runs"] if r["id"] in job["run_ids"])
        return job, row, self.stack.api(f"/runs/{row['run_id']}")

    def pages(self, *paths):
        listed, out = (os.path.join(self.stack.dir, n) for n in ("paths.json", "texts.json"))
        with open(listed, "w", encoding="utf-8") as file:
            json.dump(paths, file)
        done = subprocess.run([os.environ["PERFCI_NODE"], os.path.join(HERE, "facts.mjs"), self.stack.url, listed, out],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=4 * DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(out, encoding="utf-8") as file:
            return json.load(file)

    def show(self, commit, sandbox, marked):
        """All outputs of one run say the same."""
        found = self.measure(commit, sandbox)
        if not found:
            self.skipTest("this machine cannot isolate a job: only the run without isolation was looked at")
        job, row, document = found
        self.assertIs(row["unsandboxed"], marked)
        self.assertIs(document.get("unsandboxed", False), marked)
        self.assertIs(job["unsandboxed"], marked)
        listed = json.loads(self.stack.perfci("jobs", str(job["id"]), "--json").stdout)
        self.assertIn(f'"unsandboxed": {json.dumps(marked)}', json.dumps(listed))
        self.assertEqual(WORDS in self.stack.perfci("jobs", str(job["id"])).stdout, marked)
        run, on_commit = f"/runs/{row['run_id']}", f"/p/tiny/commit/{commit}"
        texts = self.pages(run, on_commit)
        self.assertEqual(SENTENCE in texts[run], marked, texts[run])
        self.assertEqual(WORDS in texts[on_commit], marked, texts[on_commit])
        return row

    def test_every_output_shows_it(self):
        row = self.show(self.ids[0], "off", True)
        texts = self.pages("/", "/jobs?project=tiny")
        for path, text in texts.items():
            self.assertIn(WORDS, text, path)
        other = self.show(self.ids[1], "require", False)
        self.assertNotEqual(row["run_id"], other["run_id"])
        overview = self.pages("/")["/"]
        self.assertEqual(len(re.findall(WORDS, overview)), 1, overview)


if __name__ == "__main__":
    unittest.main(verbosity=2)
