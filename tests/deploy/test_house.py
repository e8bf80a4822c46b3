"""The tree as a stranger gets it: scripts parse, files stay readable, nothing leans on this machine."""

import os
import re
import subprocess
import unittest

ROOT = os.environ["PERFCI_SOURCE_DIR"]
SKIP = {".git", "build", "node_modules"}


def files(*endings):
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in SKIP]
        for name in names:
            if name.endswith(endings):
                yield os.path.join(folder, name)


class House(unittest.TestCase):
    def test_every_shell_script_parses(self):
        scripts = [path for path in files(".sh")] + [os.path.join(ROOT, ".ci/run")]
        self.assertGreaterEqual(len(scripts), 3)
        for path in scripts:
            done = subprocess.run(["bash", "-n", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(os.access(path, os.X_OK), f"{path} cannot be executed")

    def test_no_source_file_is_over_600_lines(self):
        for path in files(".c", ".h", ".ts", ".tsx", ".sh", ".sql", ".py", ".mjs"):
            if "/tests/data/" in path:
                continue
            with open(path, encoding="utf-8") as file:
                lines = sum(1 for _ in file)
            self.assertLessEqual(lines, 600, path)

    def test_no_line_is_too_wide_to_read_beside_another_file(self):
        for limit, endings in ((100, (".c", ".h")), (120, (".md",))):
            for path in files(*endings):
                if "/tests/data/" in path and not path.endswith("README.md"):
                    continue
                with open(path, encoding="utf-8") as file:
                    wide = [number for number, line in enumerate(file, 1) if len(line.rstrip("\n")) > limit]
                self.assertEqual(wide, [], f"{path}: lines of more than {limit} columns")

    def test_no_folder_of_c_has_more_files_than_a_list_that_one_can_read(self):
        folders = {}
        for path in files(".c", ".h"):
            if "/tests/" not in path:
                folders.setdefault(os.path.dirname(path), []).append(path)
        self.assertEqual({folder: len(paths) for folder, paths in folders.items() if len(paths) > 25}, {})

    def test_package_lists_name_each_package_once(self):
        seen = {}
        for path in files(".txt"):
            if "/deploy/packages/" not in path:
                continue
            with open(path, encoding="utf-8") as file:
                for line in file:
                    for name in filter(None, line.split("#")[0].strip().split("|")):
                        self.assertRegex(name, r"^[a-z0-9][a-z0-9.+-]+(:arm64)?$")
                        self.assertNotIn(name, seen, f"{name} is in {path} and {seen.get(name)}")
                        seen[name] = path
        self.assertGreater(len(seen), 10)

    def test_the_places_that_contributing_names_exist(self):
        with open(os.path.join(ROOT, "CONTRIBUTING.md"), encoding="utf-8") as file:
            text = file.read()
        table = re.search(r"## Where to find what\n(.*?)\n## ", text, re.S).group(1)
        rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| to change")]
        self.assertGreaterEqual(len(rows), 20)
        for row in rows:
            paths = re.findall(r"`([^` ]+)`", row.rsplit("|", 2)[1])
            self.assertGreaterEqual(len(paths), 1, row)
            for path in paths:
                self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path)

    def test_lock_files_name_no_registry(self):
        locks = list(files("package-lock.json"))
        for path in locks:
            with open(path, encoding="utf-8") as file:
                self.assertIsNone(re.search(r'"resolved":\s*"https?:', file.read()), path)


if __name__ == "__main__":
    unittest.main()
