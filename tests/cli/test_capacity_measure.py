"""`perfci capacity --measure`: the constants of this machine, and nothing of the private service afterwards."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

PERFCI = pathlib.Path(os.environ["PERFCI_BIN_DIR"]) / "perfci"
# The same on any machine; processor time is a machine's own.
BYTES = {"point_bytes": 334, "sample_bytes": 8.4, "point_index_bytes": 156, "run_bytes": 2050, "log_sample_bytes": 8.3,
         "log_point_bytes": 2520}


class Measure(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="pfc-capacity-")
        self.addCleanup(self.folder.cleanup)

    def start(self, *flags):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PERFCI_", "PG"))}
        return subprocess.Popen([PERFCI, "capacity", "--commits", "200", "--series", "5000", "--measure", *flags],
                                env={**env, "TMPDIR": self.folder.name}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def assert_nothing_is_left(self):
        self.assertEqual(os.listdir(self.folder.name), [])
        left = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if self.folder.name in line:
                left.append(line)
        self.assertEqual(left, [])

    def test_constants_are_taken_and_the_service_is_removed(self):
        process = self.start("--json")
        out, err = process.communicate(timeout=900)
        self.assertEqual(process.returncode, 0, err)
        answer = json.loads(out)
        taken = answer["measured"]["replaced"]
        for name, built_in in BYTES.items():
            self.assertLess(abs(taken[name] / built_in - 1), 0.3, f"{name}: {taken[name]}, built in {built_in}")
        self.assertIn("run_ms", taken)
        self.assertFalse(set(taken) & set(answer["measured"]["kept"]))
        self.assertEqual(len(taken) + len(answer["measured"]["kept"]), 13)
        self.assertEqual(answer["costs"]["run_bytes"], taken["run_bytes"])
        self.assert_nothing_is_left()

    def test_an_interrupted_measurement_removes_the_service(self):
        process = self.start()
        said = ""
        while "stage 1 of 4" not in said:
            line = process.stderr.readline()
            self.assertTrue(line, f"ended: {said}")
            said += line
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        out, err = process.communicate(timeout=300)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("interrupted", err, f"after {time.monotonic() - began:.1f} s")
        self.assertEqual(out, "")
        self.assert_nothing_is_left()

    def test_without_postgresql_it_ends_in_a_sentence(self):
        env = {"PATH": "/nonexistent", "TMPDIR": self.folder.name, "HOME": self.folder.name, "PERFCI_PG_BIN": "/nonexistent"}
        done = subprocess.run([PERFCI, "capacity", "--commits", "1", "--series", "1", "--measure"], env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"^perfci capacity: --measure: perfci up: PERFCI_PG_BIN: expected a folder")
        self.assertEqual(done.stdout, "")
        self.assert_nothing_is_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
