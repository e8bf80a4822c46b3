"""The four regressions of docs/how-to/explain.md, run as they are printed there: each report names what was changed."""

import json
import os
import re
import shutil
import subprocess
import unittest

import support
from support import Case

PAGE = os.path.join(support.ROOT, "docs/how-to/explain.md")


def blocks():
    """The commands of each example, by the name of the page that it writes."""
    with open(PAGE, encoding="utf-8") as f:
        section = f.read().split("## Four regressions to try")[1]
    found = re.findall(r"```sh\n(.*?)```", section, re.S)
    return {re.search(r"(\w+)\.html", block).group(1): block for block in found}


class Reports(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("work"))
        os.symlink(support.ROOT, self.path("perfci"))
        self.env["PATH"] = support.BIN + os.pathsep + self.env["PATH"]
        self.env["BENCH_CLOCK"] = "steps"  # the demonstration's depths must not depend on what else runs here

    def run_block(self, name):
        """(explanation, page)"""
        block = blocks()[name]
        last = block[block.rindex("perfci explain"):]
        self.assertIn(f"{name}.html", last)
        self.shell(block)
        with open(self.path("work", f"{name}.html"), encoding="utf-8") as f:
            page = f.read()
        folder = "cd tinygemm\n" if "cd tinygemm" in block else ""
        return json.loads(self.shell(folder + re.sub(r"--out \S+", "--json", last))), page

    def shell(self, text):
        done = subprocess.run(["sh", "-e", "-c", text], cwd=self.path("work"), env=self.env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=500, check=False)
        # 3: the project's own command recorded nothing that a limiter follows from.
        self.assertIn(done.returncode, (0, 3), f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return done.stdout

    def check_sum(self, explanation):
        total = sum(c["value"] for c in explanation["contributions"])
        self.assertAlmostEqual(total, explanation["delta"], delta=0.02 * abs(explanation["delta"]))

    def test_a_worse_tile_size(self):
        explanation, page = self.run_block("tiles")
        self.assertEqual(explanation["judged"]["verdict"], "regression")
        self.assertEqual(explanation["causes"][0]["kind"], "choice")
        self.assertIn("tiles of m 128, n 512, k 256", explanation["causes"][0]["text"])
        self.check_sum(explanation)
        self.assertEqual(explanation["stream"]["unavailable"], "")
        self.assertEqual(explanation["stream"]["at"], 0)
        self.assertIn("11 x 256", explanation["stream"]["after"]["text"])
        self.assertGreater(len(explanation["phases"]), 3)
        # The traces that the page links are there, and have an event a command at least.
        links = re.findall(r'<a href="(traces/[0-9a-f]{32}\.json)">', page)
        self.assertEqual(len(links), 2)
        self.assertIn("Phases and what they wait for", page)

    def test_a_lost_fusion(self):
        explanation, page = self.run_block("fusion")
        cause = explanation["causes"][0]
        self.assertEqual(cause["kind"], "choice")
        self.assertIn('now also has "second pass for bias and activation"', cause["text"])
        # 2048 x 2048 results of two bytes are written once more and read once more.
        before, after = map(float, re.search(r"moves ([\d.]+) MB instead of ([\d.]+) MB", cause["text"]).groups()[::-1])
        self.assertAlmostEqual(after - before, 2 * 2048 * 2048 * 2 / 1e6, delta=0.1)
        self.check_sum(explanation)
        self.assertIn("second pass for bias and activation", page)

    def test_half_of_the_lanes(self):
        explanation, page = self.run_block("pcie")
        cause = explanation["causes"][0]
        self.assertEqual((cause["kind"], cause["resource"]), ("chip", "pcie"))
        self.assertIn("pcie_lanes is 8 instead of 16", cause["text"])
        self.check_sum(explanation)
        self.assertIn("pcie_lanes is 8 instead of 16", page)

    @unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
    def test_a_slower_kernel_on_the_cpu(self):
        # Where perf is not permitted the report says so; what it samples is not the same in every run.
        explanation, page = self.run_block("cpu")
        self.assertEqual(explanation["judged"]["verdict"], "regression")
        functions = {f["name"]: f for f in explanation["functions"]["functions"]}
        # The planted commit cuts the depth of dot products: more of them, and more of gemm's loop around them.
        self.assertGreater(functions["dot_add"]["calls_after"], 1.5 * functions["dot_add"]["calls_before"])
        named = " ".join(c["text"] for c in explanation["causes"] if c["kind"] == "function")
        self.assertIn("dot_add executes", named)
        self.assertIn("It is called", named)
        self.assertIn("Instructions by function", page)
        stacks = explanation["stacks"]
        self.assertTrue(stacks["unavailable"] or stacks["samples_after"] > 0)
        self.assertIn("Call stacks", page)


class Tools(Case):
    """Without valgrind and perf, and with a perf that may not sample."""

    def setUp(self):
        super().setUp()
        self.repo = self.path("repo")
        os.mkdir(self.repo)
        self.write("repo/perfci.yaml", "project: p\nmeasure: cat value\nmetric: t_ns\n")
        self.git("init", "-q", "-b", "main", ".")
        for value in ("10", "20"):
            self.write("repo/value", value)
            self.git("add", "-A")
            self.git("-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-q", "-m", value)
        for name, commit in (("a", "HEAD~1"), ("b", "HEAD")):
            self.expect(self.perfci("run", "--commit", commit, "--out", self.path(name), cwd=self.repo), 0)

    def git(self, *args):
        subprocess.run(["git", *args], cwd=self.repo, env=self.env, check=True, capture_output=True)

    def explain(self, *flags, path):
        done = self.perfci("explain", self.path("a"), self.path("b"), "--json", *flags, cwd=self.repo, env={"PATH": path})
        return self.json_of(done, status=3)

    def folder_with(self, **programs):
        """A folder of the programs that measuring needs, and of these scripts."""
        os.mkdir(self.path("bin"))
        for name in ("sh", "cat", "git", "true"):
            os.symlink(shutil.which(name), self.path("bin", name))
        for name, text in programs.items():
            self.write(f"bin/{name}", text, mode=0o755)
        return self.path("bin")

    def test_what_is_missing_is_said(self):
        path = self.folder_with()
        answer = self.explain("--callgrind", "--perf", path=path)
        self.assertEqual(answer["functions"]["unavailable"], "valgrind is not installed")
        self.assertEqual(answer["stacks"]["unavailable"], "perf is not installed")

    def test_what_the_kernel_refuses_is_said(self):
        path = self.folder_with(perf='#!/bin/sh\n[ "$1" = --version ] || { echo "Access to performance monitoring is limited." >&2; exit 255; }\n')
        answer = self.explain("--perf", path=path)
        self.assertEqual(answer["stacks"]["unavailable"], "perf record: Access to performance monitoring is limited.")

    def test_recorded_stacks_become_a_picture_with_escaped_names(self):
        script = ('#!/bin/sh\ncase $1 in\nscript) printf "p\\n\\t 1 <b>hot+0x1 (x)\\n\\t 2 main (x)\\n";;\n'
                  'record) shift; while [ "$1" != -- ]; do shift; done; shift; exec "$@";;\nesac\n')
        path = self.folder_with(perf=script)
        answer = self.explain("--perf", path=path)
        self.assertEqual((answer["stacks"]["samples_before"], answer["stacks"]["samples_after"]), (1, 1))
        done = self.perfci("explain", self.path("a"), self.path("b"), "--perf", "--format", "html", cwd=self.repo, env={"PATH": path})
        self.expect(done, 3)
        self.assertIn("Flame graph of the difference", done.stdout)
        self.assertIn("&lt;b&gt;hot", done.stdout)
        self.assertNotIn("<b>", done.stdout)

    def test_runs_without_a_commit_cannot_be_measured_again(self):
        for name in ("a", "b"):
            with open(self.path(name), encoding="utf-8") as f:
                document = json.load(f)
            del document["commit"]
            self.write(name, json.dumps(document))
        done = self.perfci("explain", self.path("a"), self.path("b"), "--callgrind", cwd=self.repo)
        self.expect(done, 2)
        self.assertIn("expected two runs of commits", done.stderr)


if __name__ == "__main__":
    unittest.main()
