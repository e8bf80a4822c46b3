"""A runner whose disk is full leases nothing and goes on when there is room; a job that fills the disk harms no other.

The disk is a small file system in memory, in a mount namespace of the runner's own; the test reaches it through /proc.
It is filled with files, of which it holds a fixed number: that needs no memory.
"""
import errno
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import unittest

import test_hostile
from test_hostile import FILE, PATIENCE_S, RUNNER, YAML, JobsService

FILES = 24_000  # more than a runner wants to find free, runner/workspace/workspace_priv.h
FILL = b"i=0; while true; do true > f$i; i=$((i + 1)); done 2> /dev/null"


class FullDisk(test_hostile.Hostile):
    def setUp(self):
        super().setUp()
        self.service = JobsService()
        self.addCleanup(self.service.close)
        os.mkdir(self.work)
        script = f'mount -t tmpfs -o size=4g,nr_inodes={FILES},mode=700 tmpfs "{self.work}" || exit 9; exec "$@"'
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PERFCI_")}
        self.runner = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", RUNNER, "--url", self.service.url, "--work", self.work,
             "--class", "lab", "--timeout", "5m", "--poll", "1", "--sandbox", "require"],
            env={**environment, "PERFCI_TOKEN": "pfc_x", "PERFCI_MACHINE_LOCK": os.path.join(self.dir, "machine.lock")},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.runner.wait)
        self.addCleanup(self.runner.kill)
        self.log, self.events = [], queue.SimpleQueue()
        threading.Thread(target=self.read_log, daemon=True).start()
        if self.event("jobs_isolated", "")["event"] != "jobs_isolated":
            self.skipTest("this machine cannot isolate jobs, or mount: " + "".join(self.log))

    def read_log(self):
        for line in self.runner.stderr:
            self.log.append(line)
            self.events.put(line)
        self.events.put('{"event": "ended"}')

    def event(self, *names):
        """The next event of one of these names, or the end of the log."""
        while True:
            line = self.events.get(timeout=PATIENCE_S)
            found = json.loads(line) if line.startswith("{") else {"event": "", "text": line}
            if found["event"] in names or found["event"] == "ended":
                return found

    def place(self, *names):
        """In the runner's own file system."""
        return os.path.join(f"/proc/{self.runner.pid}/root{self.work}", *names)

    def fill_until(self, name):
        """Fills the disk, also with what the runner frees meanwhile, until an event of this name: that event."""
        os.mkdir(self.place("fill"))
        names = iter(range(1 << 30))
        while True:
            try:
                while True:
                    os.close(os.open(self.place("fill", str(next(names))), os.O_CREAT | os.O_WRONLY))
            except OSError as error:
                self.assertEqual(error.errno, errno.ENOSPC)
            while self.events.qsize():
                line = self.events.get()
                if line.startswith("{") and json.loads(line)["event"] == name:
                    return json.loads(line)
            self.assertIsNone(self.runner.poll(), self.log)

    def job(self, number, commit, **more):
        return {"id": number, "lease": "0" * 32 + "-1", "fence": 1, "lease_s": 60, "kind": "measure", "project": "demo", "commit": commit,
                "branch": "main", "source": self.repo.folder, "task": {"launches": 1}, **more}

    def end_of(self, number, commit):
        self.service.jobs.put(self.job(number, commit))
        while self.service.next("lease")[1] != number:
            pass
        return self.service.next("complete")[1]

    def test_nothing_is_leased_while_the_disk_is_full(self):
        commit = self.branch()
        self.assertEqual(self.end_of(1, commit)["status"], "done")
        self.assertIn("space", self.fill_until("lease_failed")["reason"])
        self.assertIn("disk_full", "".join(self.log))  # the checkouts went first, which were too few
        while self.service.told.qsize():
            self.service.told.get()
        self.service.jobs.put(self.job(2, commit))
        for _ in range(2):
            self.assertIn("space", self.event("lease_failed")["reason"])
        self.assertEqual(self.service.told.qsize(), 0, "the runner asked for a job whose result it could not keep")
        shutil.rmtree(self.place("fill"))
        self.assertEqual(self.service.next("lease")[1], 2)
        self.assertEqual(self.service.next("runs")[0], "runs")
        self.assertEqual(self.service.next("complete")[1]["status"], "done")
        self.assertEqual(os.listdir(self.place("spool", "rejected")), [])

    def test_a_build_that_fills_the_disk_is_stopped_and_removed(self):
        self.branch(YAML.replace(b"'true'", b"sh work"))
        hostile, good = (self.repo.commit(self.repo.tree(self.value, (FILE, b"work", self.repo.blob(text))), branch=f"refs/pull/{n}/head")
                         for n, text in enumerate((FILL + b"\n", b"true\n"), 1))
        end = self.end_of(1, hostile)
        self.assertEqual(end["status"], "broken", end)
        self.assertIn("less than the required space", end["reason"])
        self.assertEqual(self.end_of(2, good)["status"], "done", self.log)

    def test_a_measurement_that_fills_the_disk_is_stopped_and_removed(self):
        self.branch(YAML.replace(b"cat value", b"sh work; cat value"))
        hostile, good = (self.repo.commit(self.repo.tree(self.value, (FILE, b"work", self.repo.blob(text))), branch=f"refs/pull/{n}/head")
                         for n, text in enumerate((FILL + b"\n", b"true\n"), 1))
        end = self.end_of(1, hostile)
        self.assertEqual(end["status"], "failed", end)
        self.assertIn("less than the required space", end["reason"])
        self.assertEqual(self.end_of(2, good)["status"], "done", self.log)


def load_tests(loader, _tests, _pattern):
    """Those of the class that is inherited from run in test_hostile.py."""
    return unittest.TestSuite(FullDisk(name) for name in loader.getTestCaseNames(FullDisk) if name in vars(FullDisk))


if __name__ == "__main__":
    if os.geteuid() != 0 or not shutil.which("unshare"):
        print("skipped: a file system of the test's own needs root and unshare")
        sys.exit(77)
    unittest.main()
