"""perfci-bench as a program: its flags at their limits, the canary's document, and the exit statuses.

0: done; 2: wrong usage; 5: the output cannot be written.
"""

import json
import os
import re
import shutil
import signal
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

    # ---- the modes ----

    def suite(self, text=None):
        path = os.path.join(self.dir, "tiny.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text or "suite: tiny\nsettings: {processes: 2, min_samples: 4, max_samples: 8, max_seconds: 0.05, "
                       "warmup_seconds: 0.01}\nbackends: [cpu-scalar]\nbenchmarks:\n"
                       "  - {op: gemm, shapes: [{m: 8, n: 8, k: 8}]}\n")
        return path

    def test_every_mode_reports_a_full_disk_with_status_5(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full here")
        for args in (["--machine"], ["--machine", "--json"], ["--list"], ["--coverage"], ["--suite", self.suite(), "--json", "--quiet"],
                     ["--suite", self.suite(), "--quiet"]):
            with self.subTest(args=args), open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([BENCH, *args], stdout=full, stderr=subprocess.PIPE, cwd=self.dir, env=self.env,
                                      timeout=PATIENCE_S, check=False)
                self.assertEqual(done.returncode, 5)

    def test_list_prints_one_line_for_each_benchmark(self):
        done = self.expect(self.run_it("--suite", self.suite(), "--list"), 0)
        self.assertEqual(done.stdout, f"{'gemm/f32/m8n8k8':<40} {'gemm_tflops':<18} cpu-scalar\n")
        (line,) = self.expect(self.run_it("--suite", self.suite(), "--list", "--json"), 0).stdout.splitlines()
        self.assertEqual(json.loads(line), {"benchmark": "gemm/f32/m8n8k8", "op": "gemm", "dtype": "f32",
                                            "metric": "gemm_tflops", "headline": True, "backends": ["cpu-scalar"]})

    def test_coverage_counts_benchmarks_and_gaps(self):
        done = self.expect(self.run_it("--suite", self.suite(), "--coverage", "--json"), 0)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        (cell,) = [r for r in rows if r.get("op") == "gemm" and r["dtype"] == "f32" and r["backend"] == "cpu-scalar"]
        self.assertEqual((cell["benchmarks"], cell["kernel"], cell["gap"]), (1, True, False))
        for row in rows:
            if "op" in row and row is not cell:
                self.assertEqual((row["benchmarks"], row["gap"]), (0, True), row)
        self.assertIn({"benchmark": "gemm/f32/m8n8k8", "backend": "cpu-avx2", "gap": True}, rows)
        self.assertNotIn({"benchmark": "gemm/f32/m8n8k8", "backend": "cpu-scalar", "gap": True}, rows)
        text = self.expect(self.run_it("--suite", self.suite(), "--coverage"), 0).stdout.splitlines()
        self.assertTrue(text[0].startswith("benchmarks of "))
        (gemm,) = [line.split() for line in text if line.startswith("gemm ") and line.split()[1] == "f32"]
        self.assertEqual(gemm[2:4], ["1", "gap"])

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def test_the_document_goes_where_out_and_json_say(self):
        suite, path = self.suite(), os.path.join(self.dir, "run.json")
        small = ["--suite", suite, "--quiet"]
        self.assertEqual(json.loads(self.expect(self.run_it(*small, "--out", "-"), 0).stdout)["suite"], "tiny")
        self.assertEqual(self.expect(self.run_it(*small, "--out", path), 0).stdout, "")
        first = self.read(path)
        self.assertEqual(first["suite"], "tiny")
        both = json.loads(self.expect(self.run_it(*small, "--out", "run.json", "--json"), 0).stdout)
        second = self.read(path)
        self.assertEqual(both, second)
        self.assertNotEqual(first["id"], second["id"])
        self.expect(self.run_it(*small, "--out", os.path.join(self.dir, "no", "run.json")), 2, "--out: expected a folder")
        # Only modes that measure write a document: the others do not check the path.
        self.expect(self.run_it(*small, "--list", "--out", os.path.join(self.dir, "no", "run.json")), 0)

    def test_the_last_mode_on_the_command_line_applies(self):
        suite = self.suite()
        self.assertIn("gemm/f32/m8n8k8", self.expect(self.run_it("--suite", suite, "--coverage", "--list"), 0).stdout)
        self.assertIn("gap", self.expect(self.run_it("--suite", suite, "--list", "--coverage"), 0).stdout)
        self.expect(self.run_it("--list", "--backend", "cpu-x"), 2, "unknown backend 'cpu-x' (known: cpu-scalar, ")

    def test_children_read_one_request_and_answer_it(self):
        spec = {"op": "gemm", "dtype": "f32", "params": {"m": 8, "n": 8, "k": 8, "pad": 0}, "backend": "cpu-scalar", "seed": 1, "samples": 3,
                "max_seconds": 0.05, "warmup_seconds": 0.0, "check": True, "cpu": -1, "counters": "", "copies": 1}
        block = json.loads(self.expect(self.run_it("--block", text=json.dumps(spec)), 0).stdout)
        self.assertEqual((block["status"], block["pinned"]), ("ok", False))
        self.assertEqual(len(block["samples"]), 3)
        self.assertTrue(all(ns > 0 for ns in block["samples"]))
        self.expect(self.run_it("--call", text=json.dumps(spec)), 0)
        for mode in ("--block", "--call"):
            for changes, words in [({"backend": "cpu-x"}, "unknown backend 'cpu-x'"), ({"samples": 0}, "samples"),
                                   ({"cpu": -2}, "cpu"), ({"copies": 0}, "copies"), ({"max_seconds": -1}, "max_seconds"),
                                   ({"warmup_seconds": -0.5}, "warmup_seconds"), ({"op": "gemmx"}, "unknown operation"),
                                   ({"dtype": "f31"}, "unknown type"), ({"params": {}}, ""), ({"check": None}, "check")]:
                with self.subTest(mode=mode, changes=changes):
                    done = self.expect(self.run_it(mode, text=json.dumps({**spec, **changes})), 2, words)
                    self.assertEqual(done.stdout, "")
            self.expect(self.run_it(mode, text="x"), 2)
        # A server of turns ends with its input.
        turn = {"warm": 1, "calls": 2, "per": 2, "samples": 3, "cpu_clock": False}
        done = self.expect(self.run_it("--serve", text=json.dumps(spec) + "\n" + json.dumps(turn) + "\n"), 0)
        first, second = (json.loads(line) for line in done.stdout.splitlines())
        self.assertEqual((first["status"], len(second["samples"])), ("ok", 3))
        self.expect(self.run_it("--serve", text=json.dumps(spec) + "\nx\n"), 2)

    def test_peers_is_the_program_beside_it(self):
        alone = os.path.join(self.dir, "alone")
        os.mkdir(alone)
        shutil.copy(BENCH, alone)
        run = lambda *args: subprocess.run([os.path.join(alone, "perfci-bench"), *args], capture_output=True, text=True,
                                           env=self.env, timeout=PATIENCE_S, check=False)
        self.expect(run("--peers"), 5, "perfci-peers: No such file or directory")
        with open(os.path.join(alone, "perfci-peers"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho "args: $*"\nexit 7\n')
        os.chmod(os.path.join(alone, "perfci-peers"), 0o755)
        self.assertEqual(self.expect(run("--peers"), 7).stdout, "args: \n")
        self.assertEqual(self.expect(run("--peers", "--json"), 7).stdout, "args: --json\n")

    def test_a_signal_ends_a_measurement_after_the_block(self):
        slow = self.suite("suite: slow\nsettings: {processes: 50, min_samples: 50, max_samples: 50, max_seconds: 60}\n"
                          "backends: [cpu-scalar]\nbenchmarks:\n  - {op: gemm, shapes: [{m: 64, n: 64, k: 64}]}\n")
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                child = subprocess.Popen([BENCH, "--suite", slow], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         text=True, cwd=self.dir, env=self.env)
                child.stderr.readline()  # "suite slow, ...": signals are handled from before that on
                child.send_signal(number)
                out, err = child.communicate(timeout=PATIENCE_S)
                self.assertEqual(child.returncode, 5, err)
                self.assertEqual(out, "")

    # ---- --machine ----

    def sections(self):
        """The text of --machine: {title: {name: value}}."""
        found, now = {}, None
        for line in self.expect(self.run_it("--machine"), 0).stdout.splitlines():
            if not line.startswith("  "):
                now = found.setdefault(line, {})
            elif line.strip() != "not available":
                name, _, value = line[2:].partition(" ")
                now[name] = value.strip()
        return found

    def test_the_machine_as_text_and_as_json_has_the_same_members(self):
        text, doc = self.sections(), json.loads(self.expect(self.run_it("--machine", "--json"), 0).stdout)
        doc["huge pages"] = doc.pop("huge_pages")
        gpus = doc.pop("gpus")
        self.assertEqual([title for title in text if not title.startswith("GPU")],
                         ["machine", "fingerprint", "topology", "clocks", "huge pages", "canary", "quiet"])
        self.assertEqual(len([title for title in text if re.match("GPU \\d", title)]), len(gpus))
        for title, members in doc.items():
            with self.subTest(section=title):
                self.assertEqual(set(text[title]), set(members))
        for title in ("machine", "fingerprint", "topology"):  # the other sections are readings
            self.assertEqual(text[title], doc[title])
        self.assertEqual(set(doc["quiet"]), {"quiet", "reason", "steal_share", "busy_share", "running_others", "load1",
                                             "core_ghz", "clock_moved_rel", "cpu_throttled"})
        self.assertEqual(set(doc["topology"]), {"packages", "cores", "threads", "memory_nodes", "l1d_bytes", "l2_bytes",
                                                "l3_bytes", "l3_caches", "read_by"})

    def test_the_machine_shows_the_band_of_its_history(self):
        canary = self.sections()["canary"]
        self.assertEqual((canary["readings"], canary["in_band"], canary["band_center_ns"]),
                         ("0", "not available", "not available"))
        self.assertGreater(float(canary["reading_ns"]), 0)
        path = canary["history"]
        self.assertTrue(path.startswith(self.dir), path)
        for center, answer in ((float(canary["reading_ns"]), "true"), (float(canary["reading_ns"]) * 50, "false")):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                # 5 % to 50 % wide: these spread by about 6 * 1.48 * 4 % = 36 %
                file.writelines(f"{center * (0.96 + 0.08 * (i % 2))!r}\n" for i in range(20))
            canary = self.sections()["canary"]
            self.assertEqual((canary["readings"], canary["in_band"]), ("20", answer), canary)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines("100\n" for _ in range(9))
        self.assertEqual(self.sections()["canary"]["in_band"], "not available")  # ten readings make a band
        # The reason is "none" exactly when the machine is quiet.
        quiet = self.sections()["quiet"]
        self.assertEqual(quiet["reason"] == "none", quiet["quiet"] == "true")

    def test_topology_is_the_systems(self):
        topology = self.sections()["topology"]
        with open("/sys/devices/system/cpu/online", encoding="utf-8") as file:
            online = file.read().strip()
        count = sum(int(b or a) - int(a) + 1 for a, _, b in (part.partition("-") for part in online.split(",")))
        if topology["threads"] != "not available":
            self.assertEqual(int(topology["threads"]), count)
            self.assertLessEqual(int(topology["packages"]), int(topology["cores"]))
            self.assertLessEqual(int(topology["cores"]), int(topology["threads"]))

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
