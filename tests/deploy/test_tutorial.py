"""The script of what a reader of the tutorial types: every command of the pages, in order, and nothing else."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
FILES = ("tests/deploy/tutorial.py", "docs/tutorial/first-hour.md", "README.md")
DEADLINE_S = 60


class Tutorial(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pfc-tutorial-"))
        self.addCleanup(shutil.rmtree, self.folder)
        for name in FILES:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.folder / name)

    def script(self, *args):
        done = subprocess.run([sys.executable, self.folder / FILES[0], *args], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=DEADLINE_S, check=False)
        return done.returncode, done.stdout, done.stderr

    def edit(self, name, old, new):
        text = (self.folder / name).read_text(encoding="utf-8")
        self.assertIn(old, text)
        (self.folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    def test_every_indented_line_of_the_tutorial_is_typed_in_its_order(self):
        status, out, err = self.script()
        self.assertEqual(status, 0, err)
        page = re.sub(r"(?ms)^```.*?^```\n", "", (ROOT / FILES[1]).read_text(encoding="utf-8"))
        lines = [line.strip() for line in re.findall(r"(?m)^    (.+)$", page)]
        typed = [line.split(" ", 2)[2].strip("'") for line in out.splitlines() if line.startswith("type_line ")]
        self.assertEqual(typed[:len(lines)], lines)
        self.assertIn("./deploy/quickstart.sh", typed[len(lines):])
        self.assertEqual(subprocess.run(["bash", "-n", "-c", out], check=False, timeout=DEADLINE_S).returncode, 0)

    def test_a_search_must_end_with_status_1_and_the_planted_commit(self):
        out = self.script()[1].splitlines()
        searches = [n for n, line in enumerate(out) if "perfci bisect " in line]
        self.assertEqual(len(searches), 5)
        for n in searches:
            self.assertTrue(out[n].startswith("type_line 1 "), out[n])
            self.assertTrue(out[n + 1].startswith("names "), out[n + 1])

    def test_the_port_is_that_of_the_caller(self):
        self.assertIn("type_line 0 './deploy/quickstart.sh --port 0'", self.script("0")[1])

    def test_a_section_that_is_new_or_gone_is_refused(self):
        self.edit(FILES[1], "## Nothing to measure\n", "## Nothing to measure\n\n    perfci run\n")
        status, _, err = self.script()
        self.assertEqual(status, 1)
        self.assertIn('section "Nothing to measure": 1 blocks of commands, PLACES has folders for 0', err)
        self.edit(FILES[1], "    perfci run\n", "")
        self.edit(FILES[2], "## Two commands\n", "## One command\n")
        self.assertIn('section "One command": 1 blocks', self.script()[2])

    def test_a_failed_line_ends_the_script_with_its_status(self):
        out = self.script()[1].split("\ncd ", 1)[0]  # the functions
        for line, code, said in (("type_line 0 'exit_with() { return 3; }; exit_with'", 1, "ended with status 3, expected 0"),
                                 ("type_line 0 'echo x'; names 0123456789abcdef", 1, "0123456789ab is not named"),
                                 ("type_line 1 'echo 0123456789ab 0.99; echo confirmed; false'; names 0123456789abcdef", 0, "")):
            done = subprocess.run(["bash", "-c", f"{out}\n{line}\n"], capture_output=True, text=True, check=False, timeout=DEADLINE_S)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
