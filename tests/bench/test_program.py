"""perfci-bench as a program: its flags at their limits, the canary's document, and the exit statuses.

0: done; 2: wrong usage; 5: the output cannot be written.
"""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

BIN = os.environ.get("PERFCI_BIN_DIR") or os.path.join(os.path.dirname(__file__), "../../build/release/bin")
BENCH = os.path.join(BIN, "perfci-bench")
PATIENCE_S = 600


class Program(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="pfc-bench-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        # A history of its own: what earlier runs on this machine measured must not matter.
        self.env = {**{k: v for k, v in os.environ.items() if not k.startswith("PERFCI_")},
                    "XDG_CACHE_HOME": os.path.join(self.dir, "cache"), "HOME": self.dir}

    def run_it(self, *args, text=""):
        return subprocess.run([BENCH, *args], input=text, capture_output=True, text=True, cwd=self.dir, env=self.env,
                              timeout=PATIENCE_S, check=False)

    def expect(self, done, status, words=""):
        self.assertEqual(done.returncode, status, f"\nstdout: {done.stdout[:500]}\nstderr: {done.stderr[:500]}")
        self.assertIn(words, done.stderr)
        return done

    def test_flags_are_held_to_their_limits(self):
        for flag, good, bad in [("--seed", ["1", str(2**63 - 1)], ["0", "-1", str(2**63), "x"]),
                                ("--margin", ["0.000001", "10"], ["0.0000009", "10.01", "0", "x"]),
                                ("--color", ["always", "never", "auto"], ["sometimes", ""]),
                                ("--wait-quiet", ["90s", "5m"], ["soon", "-1s"])]:
            for value in good:
                with self.subTest(flag=flag, value=value):
                    self.expect(self.run_it("--list", flag, value), 0)
            for value in bad:
                with self.subTest(flag=flag, value=value):
                    self.expect(self.run_it("--list", flag, value), 2, flag)

    def test_at_most_so_many_backends(self):
        most = next(n for n in range(1, 100)
                    if self.run_it("--list", *["--backend", "cpu-scalar"] * (n + 1)).returncode)
        done = self.run_it("--list", *["--backend", "cpu-scalar"] * (most + 1))
        self.expect(done, 2, f"--backend: expected at most {most}, got {most + 1}")

    def test_output_that_cannot_be_written_has_status_5(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full here")
        for args in (["--counters", "list"], ["--canary", "--quiet"]):
            with self.subTest(args=args), open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([BENCH, *args], stdout=full, stderr=subprocess.PIPE, cwd=self.dir, env=self.env,
                                      timeout=PATIENCE_S, check=False)
                self.assertEqual(done.returncode, 5)

    # ---- the canary ----

    def before(self, **changes):
        reading = json.loads(self.expect(self.run_it("--canary", "--quiet"), 0).stdout)
        reading.update(changes)
        return reading

    def after(self, reading, status=0, words=""):
        done = self.expect(self.run_it("--canary", "--quiet", "--before", "-", text=json.dumps(reading)), status, words)
        return json.loads(done.stdout) if status == 0 else None

    def test_a_reading_is_samples_and_load(self):
        reading = self.before()
        self.assertEqual(reading["schema"], "perfci.canary/1")
        self.assertGreater(len(reading["samples_ns"]), 1)
        self.assertTrue(all(ns > 0 for ns in reading["samples_ns"]))
        self.assertIs(reading["out_of_band"], False)
        self.assertIn("load1", reading["load"])

    def test_the_document_has_both_readings(self):
        reading = self.before()
        reading["load"] = {"steal_seconds": 0, "load1": 1.25}
        run = self.after(reading)
        (canary,) = run["measurements"]
        self.assertEqual((canary["metric"], canary["unit"]), ("canary_ns", "ns"))
        self.assertEqual(canary["samples"][0], reading["samples_ns"])
        self.assertEqual([len(block) for block in canary["samples"]], [len(reading["samples_ns"])] * 2)
        self.assertEqual(canary["extra"]["load_before"], "1.25")
        self.assertEqual(canary["extra"]["band_readings"], "0")
        self.assertEqual(canary["extra"]["cpu_throttled"], "not available")  # the reading does not have it

    def test_a_machine_that_moved_or_was_out_of_band_marks_the_run(self):
        reading = self.before()
        for factor in (100, 0.01):
            with self.subTest(factor=factor):
                moved = {**reading, "samples_ns": [ns * factor for ns in reading["samples_ns"]]}
                self.assertIs(self.after(moved)["infra"], True)
        self.assertIs(self.after({**reading, "out_of_band": True})["infra"], True)

    def test_a_reading_that_is_none_has_status_2(self):
        reading = self.before()
        for samples, words in [(reading["samples_ns"][1:], "--before: expected"),
                               (reading["samples_ns"] + [1.0], "--before: expected"),
                               ([0.0] + reading["samples_ns"][1:], "--before: expected samples above 0"),
                               ([-1.0] + reading["samples_ns"][1:], "--before: expected samples above 0"),
                               (["1"] + reading["samples_ns"][1:], "--before: expected samples above 0"),
                               (7, "--before: expected")]:
            with self.subTest(samples=samples):
                self.after({**reading, "samples_ns": samples}, 2, words)
        self.expect(self.run_it("--canary", "--before", "-", text="{"), 2)
        self.expect(self.run_it("--canary", "--before", "no-such-file"), 2)

    def test_readings_are_remembered(self):
        reading = self.before()
        for expected in ("0", "1", "2"):
            self.assertEqual(self.after(reading)["measurements"][0]["extra"]["band_readings"], expected)


if __name__ == "__main__":
    unittest.main()
