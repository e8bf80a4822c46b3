"""deploy/test.sh alone: what it says of the seconds of its stages and of its longest tests, also when it fails or is ended.

The programs that it calls are stand-ins; the clock is the shell's.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
DEADLINE_S = 240
TESTS = "".join(f"{n}/12 Test  #{n}: test_{n} .........   Passed    {n}.50 sec\n" for n in range(1, 12)) + \
    "12/12 Test #12: test_12 ...................***Failed  100.25 sec\n"
STAGES = ["packages", "build: release", "tests: all labels but the long ones, release build", "build: asan (AddressSanitizer, UndefinedBehaviorSanitizer)",
          "tests: unit, db, fuzz and fault but the long ones with the sanitizers"]


class SuiteScript(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pfc-suite-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = self.folder / "path"
        for folder in ("deploy", "path"):
            (self.folder / folder).mkdir()
        self.script = shutil.copy(ROOT / "deploy/test.sh", self.folder / "deploy")
        self.program("deploy/install.sh", "exit 0")
        self.program("path/cmake", "exit 0")
        (self.folder / "said").write_text(TESTS, encoding="ascii")
        self.program("path/ctest", f'echo "long=$PERFCI_TESTS_LONG $*" >>{self.folder}/asked; cat {self.folder}/said')

    def program(self, name, text):
        (self.folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
        (self.folder / name).chmod(0o755)

    def start(self, *args):
        return subprocess.Popen([self.script, *args], env={**os.environ, "PATH": f"{self.path}:{os.environ['PATH']}"}, start_new_session=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def said(self, status, *args):
        """The lines of the summary."""
        process = self.start(*args)
        out, _ = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, status, out)
        return out[out.index("== where the "):].splitlines()[1:]

    def stages(self, lines):
        rows = [line.split("  ") for line in lines if " s of " in line]
        return [row[-1] for row in rows if "OVER" not in row[-1]]

    def test_every_stage_and_the_ten_longest_tests_are_named(self):
        lines = self.said(0)
        self.assertEqual(self.stages(lines), STAGES)
        self.assertEqual(sum(int(line.split(" of ")[1].split()[0]) for line in lines[:5]), 25 * 60)
        for build, at in (("release", 5), ("asan", 17)):
            self.assertEqual(lines[at], f"the longest tests, {build} build:")
            longest = [line.split() for line in lines[at + 1:at + 11]]
            self.assertEqual(longest, [["100.2", "s", "test_12"]] + [[f"{n}.5", "s", f"test_{n}"] for n in range(11, 2, -1)])
            self.assertEqual(lines[at + 11].split()[:2], ["171.8", "s"])
        self.assertEqual(len(lines), 29)

    def test_a_stage_that_fails_is_named_after_the_others(self):
        self.program("path/ctest", f"cat {self.folder}/said; exit 8")
        lines = self.said(8)
        self.assertEqual(self.stages(lines), STAGES[:3])
        self.assertEqual(lines[-1], "== FAILED with status 8 in: tests: all labels but the long ones, release build")
        self.assertIn("test_12", lines[4])

    def test_a_build_that_fails_is_named(self):
        self.program("path/cmake", "[ $1 != --build ]")
        self.assertEqual(self.said(1)[-1], "== FAILED with status 1 in: build: release")

    def test_a_stage_over_its_share_is_marked(self):
        text = pathlib.Path(self.script).read_text(encoding="utf-8")
        pathlib.Path(self.script).write_text(text.replace('stage "build: release" 300', 'stage "build: release" -1'), encoding="utf-8")
        marked = [line for line in self.said(0) if line.endswith("OVER ITS SHARE")]
        self.assertEqual(len(marked), 1)
        self.assertIn("build: release", marked[0])

    def test_ended_by_a_signal_it_says_how_far_it_was(self):
        self.program("path/ctest", f"cat {self.folder}/said; echo waits; sleep {DEADLINE_S}")
        process = self.start()
        line = ""
        while "waits" not in line:
            line = process.stdout.readline()
            self.assertTrue(line, "it ended")
        os.killpg(process.pid, signal.SIGTERM)
        out, _ = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 143, out)
        self.assertIn("FAILED with status 143 in: tests: all labels but the long ones, release build", out)
        self.assertIn("test_12", out)

    def test_what_takes_long_is_left_out_unless_it_is_asked_for(self):
        self.assertEqual(self.stages(self.said(0)), STAGES)
        self.assertEqual(self.stages(self.said(0, "--long")), [name.replace(" but the long ones", "") for name in STAGES])
        asked = (self.folder / "asked").read_text(encoding="ascii").splitlines()
        self.assertEqual(len(asked), 4, asked)
        for line in asked[:2]:
            self.assertTrue(line.startswith("long=0 ") and " -LE ^long$" in line, line)
        for line in asked[2:]:
            self.assertTrue(line.startswith("long=1 ") and "-LE" not in line, line)

    def test_fast_ends_after_the_unit_tests(self):
        self.assertEqual(self.stages(self.said(0, "--fast")), [*STAGES[:2], "tests: unit"])


if __name__ == "__main__":
    unittest.main()
