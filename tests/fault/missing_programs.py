"""Where Patroni, etcd, HAProxy or PgBouncer is missing, the faults that need them say so in one sentence, with status 77: skipped."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import high_availability
import nodes

HERE = pathlib.Path(__file__).parent


class MissingPrograms(unittest.TestCase):
    def start(self, *lacking):
        """high_availability.py, with a PATH that has all programs of the cluster but these."""
        with tempfile.TemporaryDirectory(prefix="pfc-path-") as folder:
            for program in nodes.PROGRAMS:
                if program not in lacking:
                    path = pathlib.Path(folder, program)
                    path.write_text("#!/bin/sh\n", encoding="ascii")
                    path.chmod(0o755)
            # In place of the folder that nodes.py adds: the machine may have the programs there.
            started = (f"import sys, nodes; nodes.PATH = {folder!r}; sys.argv = ['high_availability.py'];"
                       " import high_availability; sys.exit(high_availability.main())")
            return subprocess.run([sys.executable, "-c", started], cwd=HERE, env={**os.environ, "PYTHONPATH": str(HERE)},
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False)

    def test_each_missing_program_is_one_sentence_and_a_skip(self):
        for lacking, package in (("patroni", "patroni"), ("etcd", "etcd-server"), ("haproxy", "haproxy"), ("pgbouncer", "pgbouncer"),
                                 ("pgbackrest", "pgbackrest")):
            done = self.start(lacking)
            self.assertEqual(done.stdout, f"high_availability: SKIPPED: not installed: {package} (deploy/install.sh test installs them)\n",
                             done.stderr)
            self.assertEqual(done.returncode, 77)

    def test_several_are_named_in_one_sentence(self):
        done = self.start(*nodes.PROGRAMS)
        self.assertEqual((done.returncode, done.stdout.count("\n")), (77, 1), done.stderr)
        for package in set(nodes.PROGRAMS.values()):
            self.assertIn(package, done.stdout)

    def test_a_time_above_its_limit_is_named(self):
        worst = {"kill": [20.1, 35.2, 18.0], "switchover": [4.9, 5.0, 2.0], "outage": [1.0, 1.1, 1.2], "freeze": [60.0, 60.0, 60.0]}
        self.assertEqual(high_availability.beyond(worst),
                         ["kill by HAProxy: expected at most 35 s without an acknowledged write, got 35.2 s"])


if __name__ == "__main__":
    unittest.main()
