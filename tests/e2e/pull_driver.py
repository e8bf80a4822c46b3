"""A bare repository, a stand-in for a forge, the real server, runner and database: for tests of pull requests.

The measuring command's value depends on the commit alone (stack.py).
"""
import json
import os
import subprocess
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


class PullDriver(unittest.TestCase):
    FORGE = GitHub
    RUNNER = True
    SERVER = {}  # further settings

    def setUp(self):
        self.stack = Stack(runner=self.RUNNER)
        self.addCleanup(self.stack.down)
        self.repo = os.path.join(self.stack.dir, "tiny")
        self.base = make_repository(self.repo, [GOOD] * 2)[-1]
        self.bare = os.path.join(self.stack.dir, "tiny.git")
        git(self.stack.dir, "clone", "-q", "--bare", self.repo, self.bare)
        self.hub = self.FORGE("octo/tiny", self.bare, TOKEN, SECRET)
        self.addCleanup(self.hub.close)
        self.hub.permissions = {"maintainer": "write", "author": "read"}
        # jobs of pull requests are isolated; the counters of launches are then in the tree of the job
        self.stack.env.update(self.hub.environment(), PERFCI_SANDBOX="require", PERFCI_PUBLIC_URL=PAGES, **self.SERVER)
        self.stack.up()
        self.stack.perfci("project", "create", "tiny", "--branch", "main", "--repo-url", "file://" + self.bare)
        self.stack.api("/projects/tiny/forge", "POST", {"forge": self.hub.KIND, "repo": "octo/tiny", "budget_s": 20})

    def sql(self, text):
        """Asks the stack's database; the answer's text."""
        with open(os.path.join(self.stack.data, "stack.json"), encoding="utf-8") as file:
            socket = json.load(file)["socket"]
        return subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", socket, "-U", "perfci", "-d", "perfci", "-c", text],
                              check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout

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

    def know_history(self, tip=None):
        """The service knows the commits of main with their times and parents, as after a nightly job."""
        rows = git(self.repo, "log", "--reverse", "--format=%H %P|%cI|%s", tip or self.base).splitlines()
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
        def look():
            status = self.hub.status(head)
            return status if status and status[0] not in ("pending", "running") else None

        return wait_for("the check has ended", look)

    def put_kernel(self):
        """main has a kernel in C with a build; the commit."""
        base = self.commit("kernel", **kernel(GOOD, 1), **{"perfci.yaml": SETTINGS})
        git(self.repo, "push", "-q", self.bare, f"{base}:refs/heads/main")
        return base
