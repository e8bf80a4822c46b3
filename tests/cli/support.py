"""Shared by the tests of the command line: running perfci, scratch folders, waiting for a condition."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.environ.get("PERFCI_SOURCE_DIR") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BIN = os.environ.get("PERFCI_BIN_DIR") or os.path.join(ROOT, "build/dev/bin")
PERFCI = os.path.join(BIN, "perfci")
DEADLINE_S = 240


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
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline_s} s: {what}")
        time.sleep(0.02)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    if not os.access(PERFCI, os.X_OK):
        sys.exit(f"{PERFCI} was not built")
    unittest.main(verbosity=2)
