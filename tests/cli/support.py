"""Shared by the tests of the command line: running perfci, scratch folders, waiting for a condition."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import waiting  # noqa: E402

ROOT = os.environ.get("PERFCI_SOURCE_DIR") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BIN = os.environ.get("PERFCI_BIN_DIR") or os.path.join(ROOT, "build/dev/bin")
PERFCI = os.path.join(BIN, "perfci")
DEADLINE_S = 240
ROOT_CASES = "--root-cases" in sys.argv


class Case(unittest.TestCase):
    """A test with a scratch folder, in an environment without the settings of the calling user."""

    def setUp(self):
        # A strict umask of the caller would close data folders to the database's user.
        self.addCleanup(os.umask, os.umask(0o022))
        self.dir = tempfile.mkdtemp(prefix="pfc-cli-")
        # PostgreSQL started by root runs as another user, who must be able to pass.
        os.chmod(self.dir, 0o755)
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("PERFCI_", "GIT_", "PG")) and k not in ("NO_COLOR", "GITHUB_TOKEN")}
        self.env.update(HOME=self.dir, XDG_DATA_HOME=self.path("data-home"), XDG_CONFIG_HOME=self.path("config"),
                        GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null")

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def perfci(self, *args, text=None, cwd=None, env=None, timeout=600):
        """Runs perfci to its end; text is its standard input (closed without)."""
        return subprocess.run([PERFCI, *args], input=text, stdin=None if text is not None else subprocess.DEVNULL,
                              capture_output=True, text=True, cwd=cwd or self.dir,
                              env={**self.env, **(env or {})}, timeout=timeout, check=False)

    def expect(self, done, status):
        """Fails with all that was said when the exit status is another one."""
        self.assertEqual(done.returncode, status, f"\nstdout: {done.stdout}\nstderr: {done.stderr}")
        return done

    def json_of(self, done, status=0):
        if status is not None:
            self.expect(done, status)
        return json.loads(done.stdout)

    def git(self, *args, cwd):
        return subprocess.run(["git", *args], cwd=cwd, env=self.env, check=True, capture_output=True,
                              text=True).stdout.strip()


def wait_for(condition, what, deadline_s=DEADLINE_S):
    """Asks until the condition holds; fails loudly when it never does."""
    return waiting.until(what, condition, deadline_s)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def needs_root(reason, able=True):
    """Marks a case that root alone can run (able: and this machine has what it needs). Such cases are a test of their
    own, --root-cases: for another user ctest then shows a skipped test, not a passed one that has left something out."""
    def mark(function):
        function.root_case = None if os.geteuid() == 0 and able else reason
        return function if ROOT_CASES else None
    return mark


def root_cases():
    """Runs the cases that needs_root marks; ends with 77 and their reasons where none of them can be run."""
    pending, cases = [unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])], []
    while pending:
        item = pending.pop()
        if isinstance(item, unittest.TestSuite):
            pending += list(item)
        elif hasattr(getattr(item, item._testMethodName), "root_case"):
            cases.append(item)
    reasons = {case.id(): getattr(case, case._testMethodName).root_case for case in cases}
    for case in reasons:
        print(f"{case}: {'skipped: ' + reasons[case] if reasons[case] else 'runs'}", flush=True)
    able = [case for case in cases if not reasons[case.id()]]
    if not able:
        sys.exit(77)
    sys.exit(0 if unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite(able)).wasSuccessful() else 1)


def main():
    if not os.access(PERFCI, os.X_OK):
        sys.exit(f"{PERFCI} was not built")
    if ROOT_CASES:
        root_cases()
    unittest.main(verbosity=2)
