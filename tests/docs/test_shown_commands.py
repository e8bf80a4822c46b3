"""Every perfci command line of README.md and of the how-to pages runs as it is printed, in order, in a scratch repository against a
service of `perfci up`. LEFT_OUT names the lines that a test cannot run, each with the reason; the tutorial and the pages
on installation have tests of their own."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import test_docs

sys.path.insert(0, str(test_docs.ROOT / "tests/e2e"))
import stack  # noqa: E402

DEADLINE_S = 600
ELSEWHERE = {"docs/tutorial/first-hour.md": "tests/e2e/test_journeys.py", "docs/how-to/install.md": "tests/e2e/test_first_day.py",
             "docs/how-to/packages.md": "tests/deploy/packages.sh"}
# The page whose night opens the alert comes first.
PAGES = ["docs/how-to/nightly.md", *sorted({str(p.relative_to(test_docs.ROOT)) for p in (test_docs.ROOT / "docs/how-to").glob("*.md")}
                                          - {"docs/how-to/nightly.md"} - set(ELSEWHERE)), "README.md"]
ROOT_OR_HOST = "needs root and a PostgreSQL server of the host; test_first_day.py runs the same steps"
OTHER_HOST = "needs further machines"
CLUSTER = "needs a Slurm cluster; tests/e2e/test_slurm.py has one"
CLIENT = "needs a client of the Model Context Protocol; tests/cli/test_mcp.py is one"
FORGE = "posts to GitHub; tests/cli/test_comment.py has a stub of it"
STORE = "needs a remote, old results, or a folder of the host; tests/cli/test_store.py has them"
IN_BLOCKS = "is a part of a block of the shell; tests/cli/test_reports.py runs the blocks of this page as they stand"
LEFT_OUT = {
    "perfci accel run gemm --m 1024 --n 1024 --k 1024 --chip pfc-server --timing-only          --schedule $side.schedule "
    "--document $side.json": IN_BLOCKS,
    "perfci accel run gemm_bias_act --m 2048 --n 2048 --k 256 --act 1 --chip pfc-server --timing-only          "
    "--schedule $side.schedule --document $side.json": IN_BLOCKS,
    "perfci accel run gemm --m 1024 --n 1024 --k 1024 --timing-only --scope region --launches 8 --copies each          "
    "--chip ./$side.chip --document $side.json": IN_BLOCKS,
    "perfci run --commit $bad~1 --out ../before.json": IN_BLOCKS,
    "perfci run --commit $bad --out ../after.json": IN_BLOCKS,
    "perfci explain ../before.json ../after.json --callgrind --perf --out ../cpu.html": IN_BLOCKS,
    "perfci nightly --store branch:perfci-data --store-remote origin": STORE,
    "perfci push --store branch:perfci-data --commit v1.2 --direction latency=lower old.json": STORE,
    "perfci nightly --store /var/lib/perfci/kernels": STORE,
    "perfci triage --store branch:perfci-data": STORE,
    'perfci triage --store branch:perfci-data accept 3 --reason "agreed in #81"': STORE,
    "perfci project create kernels --repo-url https://github.com/me/kernels.git":
        "the service here has a project of that name already; tests/e2e/test_pulls.py creates one with an address",
    "PERFCI_DATABASE_URL=postgresql:///perfci2 perfci admin restore nightly.dump": ROOT_OR_HOST,
    "perfci admin migrate --server-role NAME": ROOT_OR_HOST,
    "perfci-runner --work /var/lib/perfci-runner --resend": ROOT_OR_HOST,
    "perfci down --data DIR": ROOT_OR_HOST,
    "perfci up --detach --data DIR": ROOT_OR_HOST,
    "perfci bisect --axis dependency --submodule third_party/blas --good v1.2 --bad main --measure ./bench":
        "needs a repository with a submodule; tests/cli/test_bisect.py has one",
    "perfci nightly --jobs --machine-class epyc-9754 --machine-class m2": OTHER_HOST,
    "perfci-runner --url https://perf.example.org --token-file runner-token --work /var/lib/perfci-runner --class epyc-9754": OTHER_HOST,
    "perfci-runner --executor slurm --url https://perf.example.org --token-file /etc/perfci/runner-token      --work /srv/perfci "
    "--slurm-partition bench --slurm-option=--time=60": CLUSTER,
    "perfci nightly --jobs --machine-class h100+sm90": CLUSTER,
    "claude mcp add perfci -- perfci mcp --project kernels": CLIENT,
    "claude mcp add perfci -- perfci mcp --allow-write": CLIENT,
    "claude mcp add perfci -- perfci mcp": CLIENT,
    "perfci check --json | perfci comment --exit-status --repo me/kernels --pr 12": FORGE,
    "- run: perfci check --json > check.json || true": FORGE,
    '- run: perfci comment --exit-status --repo "$GITHUB_REPOSITORY" --pr "${{ github.event.number }}" < check.json': FORGE,
    "perfci-bench --suite quick --exact": "takes minutes and needs valgrind; tests/bench runs single benchmarks",
    "perfci-bench --suite quick": "takes minutes; tests/bench runs single benchmarks",
    'perfci events dismiss 3 --reason "the flags changed, not the machine"': "needs a machine that changed; tests/server makes one",
    "perfci groups split 12 203 204": "needs a group of several alerts; tests/server and tests/cli have some",
    "perfci init": "needs a repository without perfci.yaml; test_journeys.py has three",
    "perfci bisect --good v1.0 --bad main": "uses the perfci.yaml of perfci init; test_journeys.py runs it",
}
# Status of a line that does not end with 0, 1 or 3: regression and undecided are results.
RESULTS = (0, 1, 3)
# Isolated: pages run it under valgrind, where the start of an interpreter is what takes the time.
BENCH = """#!/usr/bin/python3 -IS
import os
level = float(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "level.txt")).read())
print(level * (1 + 0.002 * int.from_bytes(os.urandom(2), "big") / 65536))
"""
YAML = "project: kernels\nbranch: main\nmeasure: ./bench\nmetric: gemm_tflops\nunit: TFLOP/s\nbetter: higher\ntimeout: 15m\n"
LEVELS = [100, 100, 100, 100, 88, 88]


def written(line):
    """A shown line without its comment and its padding."""
    return re.sub(r"\s{2,}#.*$| # .*$", "", line).strip()


def lines_of(page):
    return [written(line) for line in test_docs.shown((test_docs.ROOT / page).read_text(encoding="utf-8"))
            if any(True for _ in test_docs.perfci_calls(written(line).removeprefix("- run: ")))]


class ShownCommands(unittest.TestCase):
    def setUp(self):
        self.stack = stack.Stack()
        self.addCleanup(self.stack.down)
        self.stack.up()
        self.repo = pathlib.Path(self.stack.dir, "kernels")
        self.repo.mkdir()
        stack.git(str(self.repo), "init", "-q", "-b", "main")
        stack.git(str(self.repo), "config", "user.name", "Test")
        stack.git(str(self.repo), "config", "user.email", "test@example.org")
        for name, text in (("bench", BENCH), ("my_benchmark", BENCH), ("Makefile", "all:\n"), ("perfci.yaml", YAML)):
            (self.repo / name).write_text(text, encoding="utf-8")
            (self.repo / name).chmod(0o755)
        for name, begin, where in (("tile.pca", "pca 1", "own-kernel"), ("tiles.schedule", "m = ", "own-kernel"),
                                   ("owners.txt", "# owners.txt", "owners")):
            page = (test_docs.ROOT / f"docs/how-to/{where}.md").read_text(encoding="utf-8")
            (self.repo / name).write_text(re.search(r"```text\n(" + begin + r".*?)```", page, re.S)[1], encoding="utf-8")
        self.env = dict(self.stack.env, PATH=f"{test_docs.BIN}:{os.environ['PATH']}")
        for n, level in enumerate(LEVELS):
            (self.repo / "level.txt").write_text(f"{level}\n", encoding="utf-8")
            (self.repo / "notes.txt").write_text(f"change {n}\n", encoding="utf-8")
            stack.git(str(self.repo), "add", "-A")
            stack.git(str(self.repo), "commit", "-qm", f"change {n}", date=1760000000 + n * 3600)
            if n < 3:
                stack.git(str(self.repo), "tag", f"v1.{n}")
            if n == 2:  # an earlier night, with which the page's night is compared
                self.stack.perfci("nightly", cwd=str(self.repo))
        stack.git(str(self.repo), "checkout", "-qb", "topic")
        (self.repo / "notes.txt").write_text("topic\n", encoding="utf-8")
        stack.git(str(self.repo), "commit", "-qam", "topic", date=1760100000)
        for name in ("before.json", "after.json", "results.json"):
            self.stack.perfci("run", "-q", "--out", str(self.repo / name), cwd=str(self.repo))
        self.stack.api("/jobs/lease", "POST", {"runner": "rack-7", "machine_class": "of another rack", "labels": {}, "backends": []}, 204)
        (self.repo / "history.csv").write_text("time,latency\n" + "".join(f"{n},{10 + n % 3 * 0.01 + (n > 20)}\n" for n in range(40)))
        (self.repo / "points.tsv").write_text("gcc-12\tCC=gcc-12\ngcc-13\tCC=gcc-13\n")
        shutil.copytree(test_docs.ROOT / "core/analysis/data", self.repo / "rules")  # as docs/how-to/add-a-rule.md begins
        (self.repo / "detector.json").write_text('{"rules": [{"min_change": 0.02}]}\n')

    def alert(self):
        """The id of the open alert, which the pages call 7."""
        if not hasattr(self, "alert_id"):
            alerts = self.stack.api("/alerts?project=kernels")["alerts"]
            self.assertTrue(alerts, "the night opened no alert")
            self.alert_id = alerts[0]["id"]
        return self.alert_id

    def group(self):
        """The group of that alert, which the pages call 12."""
        return self.stack.api(f"/alerts/{self.alert()}")["group_id"]

    def test_every_shown_command_runs_or_says_why_not(self):
        used, faults, runs = set(), [], 0
        for page in PAGES:
            for line in lines_of(page):
                if line in LEFT_OUT:
                    used.add(line)
                    continue
                command = re.sub(r"(alert:| --alert |why |set |accept |issue )7\b", lambda m: f"{m[1]}{self.alert()}", line)
                command = re.sub(r"(groups |groups set )12\b", lambda m: f"{m[1]}{self.group()}", command)
                done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.repo, env=self.env, capture_output=True, text=True,
                                      stdin=subprocess.DEVNULL, timeout=DEADLINE_S, check=False)
                runs += 1
                print(f"{done.returncode} {page}: {command}", file=sys.stderr)
                if done.returncode not in RESULTS:
                    faults.append(f"{page}: {command}: status {done.returncode}\n{done.stdout[-800:]}{done.stderr[-800:]}")
        self.assertEqual(faults, [])
        self.assertEqual(set(LEFT_OUT) - used, set(), "lines of LEFT_OUT that no page shows")
        self.assertGreater(runs, 30)

    def test_pages_with_tests_of_their_own_exist(self):
        for page, test in ELSEWHERE.items():
            self.assertTrue((test_docs.ROOT / page).is_file() and (test_docs.ROOT / test).is_file(), page)


if __name__ == "__main__":
    unittest.main(verbosity=2)
