"""perfci.py against a real server and the built library, by the distribution's python3."""
import inspect
import io
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

SOURCE = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
BIN = pathlib.Path(os.environ["PERFCI_BIN_DIR"])
PYTHON = SOURCE / "deploy" / "python"
os.environ["PERFCI_LIBRARY"] = str(BIN.parent / "lib" / "libperfci.so.1")
sys.path[:0] = [str(PYTHON), str(SOURCE / "tests" / "server" / "http")]

import perfci  # noqa: E402
import support  # noqa: E402


def setUpModule():
    global cluster, server, client
    cluster = support.Cluster()
    server = support.Server(cluster.database(migrated=True))
    client = perfci.Client(f"http://127.0.0.1:{server.port}", server.admin)
    client.post_projects({"name": "demo"})
    client.post_project_commits("demo", support.commits(1, 30))
    for n in range(1, 31):
        client.post_runs(support.run_document(n, n, 100.0 if n < 18 else 112.0))


def tearDownModule():
    server.close()
    cluster.close()


def cli(*args, text=None):
    return subprocess.run([BIN / "perfci", *map(str, args)], input=text, capture_output=True, text=True)


class Operations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = subprocess.run([BIN / "perfci-server", "--openapi"], capture_output=True, text=True, check=True).stdout
        cls.paths = json.loads(cls.text)["paths"]

    def test_the_generated_part_is_up_to_date(self):
        done = subprocess.run([sys.executable, PYTHON / "generate.py", "--check"], input=self.text, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        changed = self.text.replace('"/api/v1/audit"', '"/api/v1/other"')
        done = subprocess.run([sys.executable, PYTHON / "generate.py", "--check"], input=changed, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)

    def test_every_operation_is_a_method_that_sends_what_is_described(self):
        operations = {(row.method, re.sub(r"\{\w+\}", "{}", row.path)): row
                      for row in vars(perfci.Client).values() if isinstance(row, perfci._Operation)}
        described = {(method.upper(), re.sub(r"\{\w+\}", "{}", path)): operation
                     for path, item in self.paths.items() for method, operation in item.items()}
        self.assertEqual(set(operations), set(described))
        self.assertGreaterEqual(len(described), 70)
        for (method, path), operation in operations.items():
            with self.subTest(method=method, path=path):
                sent = []
                client_ = perfci.Client("http://host:1", "t")
                client_.request = lambda *args: sent.append(args)
                given = {name: f"{name}/1" if name in operation.segments else {"a": 1} if name == "body" else "v w"
                         for name in operation.needed + operation.optional}
                inspect.signature(operation).bind(client_, **given)
                getattr(client_, operation.__name__)(**given)
                self.assertEqual(sent[0][0], method)
                wanted = described[method, path]
                parameters = {p["name"]: p for p in wanted.get("parameters", [])}
                target, _, query = sent[0][1].partition("?")
                self.assertEqual(target, re.sub(r"\{(\w+)\}", r"\1%2F1", operation.path))
                names = {part.split("=")[0] for part in query.split("&") if part}
                self.assertEqual(names, {n for n, p in parameters.items() if p["in"] == "query"})
                self.assertEqual(sent[0][2], {"a": 1} if "requestBody" in wanted else None)

    def test_wrong_arguments_are_refused_before_anything_is_sent(self):
        for call in (lambda: client.get_compare("demo", "a"), lambda: client.get_project("demo", colour=1),
                     lambda: client.get_project("demo", "x"), lambda: client.get_project("demo", project="demo")):
            with self.assertRaises(TypeError):
                call()


class Service(unittest.TestCase):
    def test_lists_are_read_page_by_page(self):
        runs = list(client.pages(client.get_project_runs, "demo", limit=7))
        self.assertEqual(len({run["id"] for run in runs}), len(runs))
        self.assertGreaterEqual(len(runs), 30)

    def test_text_and_empty_answers_and_refusals(self):
        self.assertIn("perfci_build_info", client.get_metrics())
        token = client.post_tokens({"name": "t", "scopes": ["read"], "project": "demo"})
        support.SECRETS.add(token["token"].removeprefix("pfc_"))
        self.assertIsNone(client.delete_token(token["id"]))
        with self.assertRaises(perfci.Error) as caught:
            client.get_project("absent")
        self.assertEqual((caught.exception.status, caught.exception.code), (404, "not_found"))
        with self.assertRaises(perfci.Error) as caught:
            client.post_projects({"name": "Not A Slug"})
        self.assertEqual((caught.exception.status, caught.exception.field), (400, "name"))
        with self.assertRaises(perfci.Error) as caught:
            perfci.Client(f"http://127.0.0.1:{server.port}", "pfc_" + "0" * 64).get_projects()
        self.assertEqual(caught.exception.status, 401)
        with self.assertRaises(perfci.Error) as caught:
            perfci.Client("http://127.0.0.1:1").get_projects()
        self.assertIn("set PERFCI_URL", caught.exception.message)

    def test_events_are_an_iterator(self):
        events = client.get_events()
        client.post_projects({"name": "events"})
        client.post_runs(support.run_document(900, 1, project="events"))
        event, data = next(e for e in events if e[0] == "run")
        self.assertIsInstance(data, dict)
        events.close()

    def test_a_busy_service_is_asked_again_when_that_changes_nothing(self):
        def answers(*statuses):
            rest = list(statuses)
            def send(method, path, body, headers):
                answer = io.BytesIO(b'{"ok": 1}')
                answer.status, answer.headers = rest.pop(0), {"Retry-After": "0", "Content-Type": "application/json"}
                return answer
            busy = perfci.Client("http://host:1", "t")
            busy._send = send
            return busy, rest
        busy, rest = answers(503, 429, 200)
        self.assertEqual(busy.get_projects(), {"ok": 1})
        busy, rest = answers(503, 503, 503, 200)
        with self.assertRaises(perfci.Error):
            busy.post_runs({})
        self.assertEqual(len(rest), 1)
        busy, rest = answers(503, 200)
        with self.assertRaises(perfci.Error):
            busy.post_jobs({})
        self.assertEqual(len(rest), 1)

    def test_the_first_lines_of_the_documentation_find_a_regression(self):
        page = (SOURCE / "docs" / "how-to" / "python.md").read_text()
        lines = re.search(r"^```python\n(.*?)^```", page, re.S | re.M).group(1).replace('"kernels"', '"demo"')
        self.assertLessEqual(len(lines.splitlines()), 10)
        env = {**os.environ, "PERFCI_URL": client.url, "PERFCI_TOKEN": client.token, "PYTHONPATH": str(PYTHON)}
        done = subprocess.run([sys.executable, "-c", lines], env=env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rf"gemm/f32/m64n64k64: \+1[12]\.\d % since {support.commit_id(18)[:12]}\n")

    def test_a_local_service_is_found_by_its_folder(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"PERFCI_DATA": folder}):
            self.assertEqual(perfci.Client().url, "http://127.0.0.1:7420")
            pathlib.Path(folder, "endpoint.json").write_text(json.dumps({"url": client.url}))
            pathlib.Path(folder, "admin.token").write_text(client.token + "\n")
            self.assertTrue(perfci.Client().get_projects()["projects"])


class Verdicts(unittest.TestCase):
    def test_change_points_are_those_of_the_command(self):
        found = 0
        for seed in range(40):
            rng = random.Random(seed)
            n, at, factor = rng.randint(5, 80), rng.randint(1, 60), rng.choice([0.9, 0.98, 1.0, 1.03, 1.2])
            values = [rng.gauss(1, 0.01) * (factor if i >= at else 1) for i in range(n)]
            times = [float(rng.randint(1, 50)) for _ in range(n)] if seed % 2 else [float(i) for i in range(n)]
            higher = seed % 3 == 0
            document = {"id": "s", "unit": "x", "higher_is_better": higher,
                        "points": [{"t": t, "v": v} for t, v in zip(times, values)]}
            wanted = json.loads(cli("detect", "--json", text=json.dumps(document)).stdout)["changes"]
            got = [change._asdict() for change in perfci.detect(values, times=times, higher_is_better=higher)]
            found += len(got)
            self.assertEqual(len(got), len(wanted), seed)
            for g, w in zip(got, wanted):
                for name, value in w.items():
                    if isinstance(value, float):
                        self.assertTrue(math.isclose(g[name], value, rel_tol=1e-11), (seed, name))
                    else:
                        self.assertEqual(g[name], value, (seed, name))
        self.assertGreater(found, 10)

    def test_comparisons_are_those_of_the_command(self):
        verdicts = set()
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(24):
                rng = random.Random(seed)
                better, factor = ("lower", "higher")[seed // 4 % 2], (1.0, 1.05, 0.95, 1.004)[seed % 4]
                sides = [[[rng.gauss(100, 0.3) * f for _ in range(5)] for _ in range((1, 12)[seed % 5 > 1])] for f in (1, factor)]
                files = []
                for name, samples in zip("ab", sides):
                    files.append(pathlib.Path(folder, name + ".json"))
                    run = support.run_document(1, 1)
                    run["measurements"][0].update(samples=samples, direction=better)
                    files[-1].write_text(json.dumps(run))
                wanted = json.loads(cli("compare", "--json", *files).stdout)["rows"][0]
                got = perfci.compare(*sides, higher_is_better=better == "higher")
                rows = perfci.compare_runs(str(files[0]), json.loads(files[1].read_text()))
                self.assertEqual((got.verdict, rows[0].verdict, rows.verdict), (wanted["verdict"],) * 3, seed)
                for row in (got, rows[0]):
                    for name in ("rel_change", "rel_low", "rel_high", "p"):
                        self.assertTrue(math.isclose(getattr(row, name), wanted[name], rel_tol=1e-9, abs_tol=1e-12), (seed, name))
                self.assertEqual(rows[0].benchmark, wanted["benchmark"])
                verdicts.add(got.verdict)
        self.assertGreaterEqual(verdicts, {"same", "regression", "improvement"})

    def test_wrong_input_is_named(self):
        for call, sentence in ((lambda: perfci.compare([1, 2], [1, -2]), "b: values[1]: expected a finite number above 0, got -2"),
                               (lambda: perfci.detect([]), "len: expected 1..1000000 points, got 0"),
                               (lambda: perfci.detect([1, "x"]), "values: expected numbers"),
                               (lambda: perfci.detect([1, 2], times=[1]), "times: expected 2 of them"),
                               (lambda: perfci.detect([1, 2], alpha=2), "alpha: expected 0 or 1e-09..0.5, got 2"),
                               (lambda: perfci.compare_runs("/absent.json", {}), "/absent.json")):
            with self.assertRaises(perfci.Error) as caught:
                call()
            self.assertIn(sentence, caught.exception.message)

    def test_missing_values_and_columns_of_other_libraries_are_taken(self):
        values = [100 + i % 3 for i in range(30)] + [None, math.nan] + [120 + i % 3 for i in range(30)]
        found = perfci.detect(iter(values))
        self.assertEqual([c.index for c in found], [32])
        self.assertGreater(found.noise_rel, 0)

    def test_a_missing_library_is_named(self):
        code = "import perfci\ntry:\n    perfci.detect([1])\nexcept perfci.Error as e:\n    print(e)"
        env = {**os.environ, "PERFCI_LIBRARY": "/absent.so", "PYTHONPATH": str(PYTHON)}
        printed = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True).stdout
        self.assertIn("install libperfci1, or set PERFCI_LIBRARY", printed)

    def test_frames(self):
        class DataFrame:
            def __init__(self, rows):
                self.rows = rows
        rows = perfci.detect([1.0] * 20 + [2.0] * 20, exact=True)
        self.assertEqual(len(rows), 1)
        try:
            import pandas
        except ImportError:
            pandas = None
        with mock.patch.dict(sys.modules, {"pandas": pandas or types.SimpleNamespace(DataFrame=DataFrame)}):
            made = perfci.frame(rows)
            self.assertEqual(list(made["index"]) if pandas else [r["index"] for r in made.rows], [20])
            made = client.series_frame(client.get_project_series("demo")["series"][0]["id"])
            self.assertGreaterEqual(len(made) if pandas else len(made.rows["commit"]), 30)
        with mock.patch.dict(sys.modules, {"pandas": None}), self.assertRaises(perfci.Error) as caught:
            perfci.frame(rows)
        self.assertIn("pandas is not installed", caught.exception.message)


if __name__ == "__main__":
    unittest.main(verbosity=1)
