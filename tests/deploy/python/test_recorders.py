"""Runs measured from Python, the recorders with stand-ins for triton and torch, and the pytest plugin."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

SOURCE = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
BIN = pathlib.Path(os.environ["PERFCI_BIN_DIR"])
PYTHON = SOURCE / "deploy" / "python"
LIBRARY = str(BIN.parent / "lib" / "libperfci.so.1")
os.environ["PERFCI_LIBRARY"] = LIBRARY
sys.path[:0] = [str(PYTHON), str(SOURCE / "tests" / "server" / "http")]

import perfci  # noqa: E402
import support  # noqa: E402


def setUpModule():
    global cluster, server, client
    cluster = support.Cluster()
    server = support.Server(cluster.database(migrated=True))
    client = perfci.Client(f"http://127.0.0.1:{server.port}", server.admin)
    client.post_projects({"name": "demo"})


def tearDownModule():
    server.close()
    cluster.close()


class Cuda:
    """torch.cuda of a machine with one device."""

    def __init__(self):
        self.peak, self.resets = 0, 0

    def is_available(self):
        return True

    def get_device_name(self):
        return "NVIDIA H200"

    def clock_rate(self):
        return 1980

    def reset_peak_memory_stats(self):
        self.peak, self.resets = 0, self.resets + 1

    def max_memory_allocated(self):
        return self.peak


def by_metric(run):
    return {m["metric"]: m for m in run.document["measurements"]}


class Runs(unittest.TestCase):
    def test_a_run_is_written_uploaded_and_read_back(self):
        commit = support.commit_id(3)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "run.json")
            with perfci.run("demo", commit=commit, file=file, client=client, machine_class="test") as r:
                r.record("gemm", [1.0, 1.1, 1.2], params={"m": 64})
                r.record("gemm", [1.3])
                r.record("hits", 0.9, metric="l2_hit", unit="ratio", higher_is_better=True)
                with r.timed("body"):
                    sum(range(1000))
            written = json.loads(pathlib.Path(file).read_text())
            checked = subprocess.run([BIN / "perfci", "import", file, "--dry-run", "--json"], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        stored = client.get_run(r.answer["run_id"])
        self.assertEqual(stored["commit"], commit)
        self.assertEqual({m["benchmark"]: m["samples"] for m in written["measurements"]},
                         {m["benchmark"]: m["samples"] for m in stored["measurements"]})
        rows = {m["benchmark"]: m for m in stored["measurements"]}
        self.assertEqual(rows["gemm"]["samples"], [[1.0, 1.1, 1.2, 1.3]])
        self.assertEqual((rows["gemm"]["direction"], rows["hits"]["direction"]), ("lower", "higher"))
        self.assertGreater(rows["body"]["samples"][0][0], 0)
        self.assertEqual(stored["machine"]["class"], "test")
        self.assertIn("kernel", stored["machine"]["fingerprint"])

    def test_after_an_exception_nothing_is_written_or_sent(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "run.json")
            with self.assertRaises(ValueError), perfci.run(file=file) as r:
                r.record("gemm", [1.0])
                raise ValueError
            self.assertFalse(os.path.exists(file))

    def test_the_commit_is_gits_and_a_modified_tree_is_said(self):
        git = lambda *args: subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@e", *args], check=True, capture_output=True, text=True)
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                git("init", "-q")
                pathlib.Path("a").write_text("1")
                git("add", "a")
                git("commit", "-qm", "one")
                head = git("rev-parse", "HEAD").stdout.strip()
                for text, mark in (("1", None), ("2", "modified")):
                    pathlib.Path("a").write_text(text)
                    with perfci.run() as r:
                        r.record("gemm", [1.0])
                    self.assertEqual(r.document["commit"], head)
                    self.assertEqual(r.document["measurements"][0]["extra"].get("working_tree"), mark)
            finally:
                os.chdir(before)

    def test_what_is_no_number_is_refused(self):
        for values in ([], [1.0, float("inf")], ["x"]):
            with perfci.run(commit="0" * 40) as r, self.assertRaises(perfci.Error):
                r.record("gemm", values)


class Recorders(unittest.TestCase):
    def test_triton_times_become_metrics_with_memory_and_clock(self):
        cuda, calls = Cuda(), []

        def do_bench(function, return_mode="mean", **options):
            calls.append((return_mode, options))
            function()
            return [1.0, 2.0, 4.0]

        def kernel():
            cuda.peak = 4096

        testing = types.SimpleNamespace(do_bench=do_bench)
        stand_ins = {"triton": types.SimpleNamespace(testing=testing, __version__="3.1"), "triton.testing": testing,
                     "torch": types.SimpleNamespace(cuda=cuda, __version__="2.5", version=types.SimpleNamespace(cuda="12.4"))}
        with mock.patch.dict(sys.modules, stand_ins), perfci.run(commit="0" * 40) as r:
            r.do_bench("gemm", kernel, flops=2e9, bytes=1e6, metrics={"spills": 3, "hit": (0.5, "ratio", "higher")}, rep=50)
        self.assertEqual(calls, [("all", {"rep": 50})])
        self.assertEqual(cuda.resets, 1)
        found = by_metric(r)
        self.assertEqual(found["time_ns"]["samples"], [[1e6, 2e6, 4e6]])
        self.assertEqual(found["tflops"]["samples"], [[2.0, 1.0, 0.5]])
        self.assertEqual(found["gbps"]["samples"], [[1.0, 0.5, 0.25]])
        self.assertEqual((found["tflops"]["direction"], found["gbps"]["unit"]), ("higher", "GB/s"))
        self.assertEqual((found["peak_memory_bytes"]["samples"], found["peak_memory_bytes"]["direction"]), ([[4096.0]], "lower"))
        self.assertEqual(found["spills"]["samples"], [[3.0]])
        self.assertEqual((found["hit"]["direction"], found["hit"]["unit"]), ("higher", "ratio"))
        self.assertEqual(found["time_ns"]["extra"]["clock_mhz"], "1980")
        self.assertEqual(r.document["machine"]["class"], "NVIDIA H200")
        fingerprint = r.document["machine"]["fingerprint"]
        self.assertEqual([fingerprint[n] for n in ("gpu", "cuda", "torch", "triton")], ["NVIDIA H200", "12.4", "2.5", "3.1"])

    def test_an_older_do_bench_gives_its_median(self):
        def older(function, quantiles=None, rep=100):
            return 2.5 if quantiles == [0.5] else self.fail(quantiles)
        with perfci.run(commit="0" * 40) as r:
            r.do_bench("gemm", lambda: None, bench=older)
        self.assertEqual(by_metric(r)["time_ns"]["samples"], [[2.5e6]])

    def test_torch_measurements_and_timers(self):
        spec = types.SimpleNamespace(label="gemm", sub_label="m64", description=None, num_threads=4)
        measurement = types.SimpleNamespace(times=[1e-3, 2e-3], task_spec=spec)
        timer = types.SimpleNamespace(blocked_autorange=lambda: measurement)
        with perfci.run(commit="0" * 40) as r:
            r.torch(measurement)
            r.torch(timer, "named", flops=1e9)
        rows = {(m["benchmark"], m["metric"]): m for m in r.document["measurements"]}
        self.assertEqual(rows["gemm/m64", "time_ns"]["samples"], [[1e6, 2e6]])
        self.assertEqual(rows["gemm/m64", "time_ns"]["extra"]["threads"], "4")
        self.assertEqual(rows["named", "tflops"]["samples"], [[1.0, 0.5]])


TESTS = """
import pytest
LEVEL = {level}

@pytest.mark.perf(benchmark="named", margin=0.02)
def test_values(perf):
    row = perf.record([LEVEL * (1 + 0.001 * (i % 5)) for i in range(30)])
    assert (row is None) == {first}

def test_rate(perf):
    perf.record([1 / LEVEL * (1 + 0.001 * (i % 5)) for i in range(30)], metric="rate", higher_is_better=True)

@pytest.mark.perf(samples=3, margin=5.0)
def test_whole():
    sum(range(100))

def test_without_marker():
    pass
"""


class Plugin(unittest.TestCase):
    def pytest(self, folder, level, first, *args):
        pathlib.Path(folder, "test_speed.py").write_text(TESTS.format(level=level, first=first))
        env = {**os.environ, "PYTHONPATH": str(PYTHON), "PERFCI_URL": client.url, "PERFCI_TOKEN": client.token,
               "GIT_CEILING_DIRECTORIES": "/tmp", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "perfci_pytest", "-p", "no:cacheprovider", *args],
                              cwd=folder, env=env, capture_output=True, text=True)

    def test_a_regression_fails_the_test_and_only_that(self):
        with tempfile.TemporaryDirectory() as folder:
            base = os.path.join(folder, "base.json")
            done = self.pytest(folder, 100, True, "--perfci-save", base)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual(len(json.loads(pathlib.Path(base).read_text())["measurements"]), 3)
            done = self.pytest(folder, 100, False, "--perfci-baseline", base)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("perfci: named time_ns: same", done.stdout)
            done = self.pytest(folder, 110, False, "--perfci-baseline", base)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("2 failed, 2 passed", done.stdout)
            self.assertRegex(done.stdout, r"named time_ns: regression \+10\.\d+ % \[")
            self.assertRegex(done.stdout, r"test_rate rate: regression -9\.\d+ % \[")
            done = self.pytest(folder, 90, False, "--perfci-baseline", base)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("improvement", done.stdout)

    def test_results_are_uploaded_to_a_project(self):
        client.post_projects({"name": "pytest"})
        with tempfile.TemporaryDirectory() as folder:
            done = self.pytest(folder, 100, True, "--perfci-project", "pytest")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("expected a Git working tree", done.stdout + done.stderr)
            for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "one"]):
                subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@e", *command], cwd=folder, check=True)
            done = self.pytest(folder, 100, True, "--perfci-project", "pytest")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(client.get_project_runs("pytest")["runs"]), 1)


if __name__ == "__main__":
    unittest.main(verbosity=1)
