"""The first hour as docs/tutorial/first-hour.md prints it: three projects, each with one real slowdown of 5 %, at most five commands.

The commands are read from the page, so that page and test cannot differ. The slow commit does 5 % more work. Here
the benchmarks' clock counts that work, give or take 0.3 %, so that what else the machine does cannot change the
answer (MIX_CLOCK=steps). With MIX_CLOCK=real in the environment they read the real clock: for a stopwatch, on a quiet
machine. The time that each journey took is printed, never judged.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import reader

ROOT = os.environ.get("PERFCI_SOURCE_DIR") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BIN = os.environ.get("PERFCI_BIN_DIR") or os.path.join(ROOT, "build/dev/bin")
PAGE = os.path.join(ROOT, "docs/tutorial/first-hour.md")
MOST_COMMANDS = 5
# The interpreter of the distribution, whose packages the tests install.
PATH = os.pathsep.join([BIN, "/usr/bin", "/bin", "/usr/sbin", "/sbin"])


def commands_of(heading):
    """The lines of this section of the page that are typed."""
    with open(PAGE, encoding="utf-8") as page:
        section = page.read().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"(?m)^    (perfci .*)$", section)


class Journey(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="pfc-journey-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.repo = os.path.join(self.dir, "mix")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("PERFCI_", "GIT_", "PYTEST", "PYTHON"))}
        self.env.update(HOME=self.dir, PATH=PATH, GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null",
                        XDG_CACHE_HOME=os.path.join(self.dir, "cache"),
                        MIX_CLOCK=os.environ.get("MIX_CLOCK", "steps"), PYTHONDONTWRITEBYTECODE="1")

    def travel(self, heading, project):
        """Types the page's commands; the last one must name the slow commit, confirmed."""
        slow = reader.make(project, self.repo, self.env)
        commands = commands_of(heading)
        self.assertTrue(2 <= len(commands) <= MOST_COMMANDS, commands)
        begun = time.monotonic()
        said = ""
        for command in commands:
            status = 1 if " bisect " in command else 0
            done = subprocess.run(shlex.split(command), cwd=self.repo, env=self.env, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, check=False, timeout=900)
            said += f"$ {command}\n{done.stderr}{done.stdout}"
            self.assertEqual(done.returncode, status, said)
        print(f"{said}{heading}: {len(commands)} commands, {time.monotonic() - begun:.1f} s", file=sys.stderr)
        named = re.findall(r"(?m)^([0-9a-f]{12}) ", done.stdout)
        self.assertEqual(named, [slow[:12]], said)
        self.assertIn("confirmed", done.stdout, said)
        # Earlier data is unchanged.
        self.assertEqual(reader.git(self.repo, "status", "--porcelain", "--untracked-files=no", env=self.env), "")

    def test_a_cpp_project(self):
        self.travel("C++: CMake and Google Benchmark", "cpp")

    def test_a_python_project(self):
        known = subprocess.run(["python3", "-c", "import pytest_benchmark"], env=self.env, capture_output=True, check=False)
        if known.returncode:
            self.skipTest("python3-pytest-benchmark is not installed")
        self.travel("Python: pytest-benchmark", "python")

    def test_a_project_that_prints_text(self):
        self.travel("Any program that prints text in Go's format", "text")


if __name__ == "__main__":
    unittest.main(verbosity=2)
