"""Explanations: of two runs, of one, of an alert; the same values over HTTP, on the command line and in reports."""
import copy
import html
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import jsonschema

import support

SOURCE = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
DATA = SOURCE / "tests/data/explain"
BENCHMARK, CHIP = "gemm/bf16/m1024n1024k1024/t.schedule", "accel:pfc-server"
GOOD, BAD = f"{1:032x}", f"{8:032x}"


def setUpModule():
    global cluster, server
    cluster = support.Cluster()
    server = support.Server(cluster.database(migrated=True))


def tearDownModule():
    server.close()
    cluster.close()


def measured(n, name):
    """The run of `name` at commit n: eight commits, the worse tile from the eighth on."""
    document = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    document.update(id=f"{n:032x}", project="demo", commit=support.commit_id(n), started_at=f"2026-01-02T00:{n:02d}:00Z",
                    finished_at=f"2026-01-02T00:{n:02d}:10Z")
    return document


def perfci(*words, status=0, cwd=None):
    """Output of the command, as it is typed in a folder without a repository."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PERFCI_", "PG"))}
    env.update(PERFCI_URL=f"http://127.0.0.1:{server.port}", PERFCI_TOKEN=server.admin, PERFCI_PROJECT="demo")
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([os.path.join(os.environ["PERFCI_BIN_DIR"], "perfci"), *words], env=env, cwd=cwd or folder, text=True,
                             capture_output=True, timeout=120, check=False)
    assert run.returncode == status, (words, run)
    return run.stdout, run.stderr


class Explain(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        assert server.as_admin("POST", "/api/v1/projects", {"name": "demo"}).status == 201
        assert server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 12)).status == 200
        for n in range(1, 13):
            posted = server.as_admin("POST", "/api/v1/runs", measured(n, "good" if n < 8 else "bad"))
            assert posted.status == 201, posted
        rows = support.until("an alert", lambda: [
            a for a in server.as_admin("GET", "/api/v1/alerts").json["alerts"] if a["metric"] == "cycles"])
        cls.alert = rows[0]["id"]
        cls.api = server.as_admin("GET", "/api/v1/openapi.json").json

    def get(self, path, status=200):
        answer = server.as_admin("GET", path)
        self.assertEqual(answer.status, status, answer)
        if status == 200:
            schema = {"components": self.api["components"], "$ref": "#/components/schemas/ExplanationAnswer"}
            jsonschema.Draft202012Validator(schema).validate(answer.json)
        return answer.json

    def pair(self, **more):
        query = {"before": GOOD, "after": BAD, **more}
        return self.get("/api/v1/explain?" + "&".join(f"{k}={v}" for k, v in query.items()))

    def test_contributions_sum_to_the_difference_and_the_schedule_is_named(self):
        doc = self.pair()
        self.assertEqual((doc["benchmark"], doc["backend"], doc["metric"]), (BENCHMARK, CHIP, "cycles"))
        self.assertEqual(doc["delta"], doc["after"] - doc["before"])
        self.assertAlmostEqual(sum(c["value"] for c in doc["contributions"]), doc["delta"], delta=1e-6 * doc["delta"])
        self.assertEqual(doc["total"]["basis"], "path")
        self.assertEqual(doc["judged"]["verdict"], "regression")
        self.assertEqual(doc["causes"][0]["kind"], "choice")
        self.assertIn('"tiles of m 64" instead of "tiles of m 512"', doc["causes"][0]["text"])
        self.assertEqual([e["run"] for e in doc["evidence"]], [GOOD, BAD])
        for side in ("before", "after"):
            shown = doc["runs"][side]
            self.assertEqual(doc["limiter"][side], shown["limiter"]["first"])
            self.assertEqual(shown["limiter"]["view"], "trace")
            self.assertIsNotNone(shown["limiter"]["first"])
            self.assertEqual(sum(p["ticks"] for p in shown["path"]), shown["value"])
            self.assertTrue(any(m["value"] is not None and m["share"] is not None for m in shown["metrics"]))

    def test_the_other_way_round_is_an_improvement(self):
        doc = self.get(f"/api/v1/explain?before={BAD}&after={GOOD}")
        self.assertEqual(doc["judged"]["verdict"], "improvement")
        self.assertEqual(doc["delta"], -self.pair()["delta"])
        self.assertEqual(doc["causes"][0]["resource"], self.pair()["causes"][0]["resource"])

    def test_a_rate_is_split_in_its_own_unit(self):
        doc = self.pair(metric="gemm_tflops")
        self.assertLess(doc["delta"], 0)
        self.assertAlmostEqual(sum(c["value"] for c in doc["contributions"]), doc["delta"], delta=-1e-6 * doc["delta"])
        self.assertEqual(doc["judged"]["verdict"], "regression")

    def test_equal_runs_have_no_cause(self):
        doc = self.get(f"/api/v1/explain?before={GOOD}&after={2:032x}")
        self.assertEqual((doc["delta"], doc["causes"], doc["contributions"]), (0, [], []))
        self.assertTrue(doc["total"]["same_stream"])
        self.assertEqual(doc["judged"]["verdict"], "same")

    def test_one_run_is_explained_alone(self):
        doc = self.get(f"/api/v1/explain?after={BAD}&benchmark={BENCHMARK}")
        self.assertEqual((doc["before"], doc["delta"], doc["total"], doc["runs"]["before"]), (None, None, None, None))
        self.assertEqual(doc["limiter"]["after"], self.pair()["limiter"]["after"])

    def test_an_alert_is_explained_by_the_runs_on_both_sides_of_it(self):
        doc = self.get(f"/api/v1/alerts/{self.alert}/explanation")
        self.assertEqual((doc["runs"]["before"]["run"], doc["runs"]["after"]["run"]), (f"{7:032x}", f"{8:032x}"))
        self.assertEqual(doc["judged"]["verdict"], "regression")
        self.assertEqual(doc["contributions"], self.pair()["contributions"])
        self.assertIn(f"perfci why {self.alert}", doc["repeat"])

    def test_bad_requests_are_named(self):
        for query, status, field in (("", 400, "after"), ("after=x", 400, "after"), (f"after={BAD}&before=0", 400, "before"),
                                     (f"after={BAD}&format=pdf", 400, "format"), (f"after={9999:032x}", 404, None),
                                     (f"after={BAD}&benchmark=nothing", 404, None)):
            answer = server.as_admin("GET", "/api/v1/explain?" + query)
            self.assertEqual((answer.status, answer.json["error"].get("field")), (status, field), query)
        self.assertEqual(server.as_admin("GET", "/api/v1/alerts/99999/explanation").status, 404)

    def test_runs_of_two_projects_are_not_compared(self):
        server.as_admin("POST", "/api/v1/projects", {"name": "other"})
        server.as_admin("POST", "/api/v1/projects/other/commits", support.commits(1, 2))
        foreign = copy.deepcopy(measured(1, "good"))
        foreign.update(id=f"{77:032x}", project="other")
        self.assertEqual(server.as_admin("POST", "/api/v1/runs", foreign).status, 201)
        answer = server.as_admin("GET", f"/api/v1/explain?before={77:032x}&after={BAD}")
        self.assertEqual((answer.status, answer.json["error"]["field"]), (400, "before"))

    def test_a_benchmark_that_the_service_stores_as_broken_says_why(self):
        broken = measured(12, "bad")
        broken.update(id=f"{78:032x}", measurements=[{"benchmark": BENCHMARK, "metric": "cycles", "backend": CHIP, "unit": "cycles",
                                                      "status": "broken", "reason": "wrong result at row 3"}])
        self.assertEqual(server.as_admin("POST", "/api/v1/runs", broken).status, 201)
        answer = server.as_admin("GET", f"/api/v1/explain?after={78:032x}")
        self.assertLess(answer.status, 500, answer)
        self.assertIn("wrong result at row 3", answer.json["error"]["message"])

    def test_reports_state_the_same_values(self):
        doc = self.pair()
        for form, kind in (("html", "text/html"), ("markdown", "text/markdown")):
            answer = server.as_admin("GET", f"/api/v1/explain?before={GOOD}&after={BAD}&format={form}")
            text = html.unescape(answer.body.decode())
            self.assertEqual((answer.status, answer.headers["content-type"].split(";")[0]), (200, kind))
            policy = answer.headers["content-security-policy"]
            self.assertEqual("style-src 'unsafe-inline'" in policy, form == "html")  # the page carries its style
            self.assertIn("default-src 'none'", policy)
            for value in (f"{doc['before']:.0f}", f"{doc['after']:.0f}", GOOD, BAD, *(f"{c['ticks']:.0f}" for c in doc["contributions"])):
                self.assertIn(value, text, form)
            self.assertIn("+324.9 %", text)

    def test_the_command_states_what_the_service_states(self):
        doc = self.pair()
        out, _ = perfci("explain", GOOD, BAD, "--json")
        here = json.loads(out)
        here["repeat"] = doc["repeat"]  # of the command also how to compare the commits
        self.assertEqual(here, doc)
        self.assertEqual(json.loads(perfci("explain", "--alert", str(self.alert), "--json")[0])["contributions"], doc["contributions"])
        out, _ = perfci("explain", GOOD, BAD)
        for value in (doc["claim"], doc["causes"][0]["text"], GOOD, BAD):
            self.assertIn(value, out)

    def test_the_command_takes_files_and_writes_reports(self):
        good, bad = str(DATA / "good.json"), str(DATA / "bad.json")
        with tempfile.TemporaryDirectory() as folder:
            for name, word in (("r.html", "<!doctype html>"), ("r.md", "### Why"), ("r.json", '"contributions"')):
                perfci("explain", good, bad, "--out", name, cwd=folder)
                self.assertIn(word, pathlib.Path(folder, name).read_text(encoding="utf-8"))
            perfci("report", good, bad, "--out", "all.html", status=1, cwd=folder)
            self.assertIn("Benchmarks by what could be gained",
                          pathlib.Path(folder, "all.html").read_text(encoding="utf-8"))
        out, _ = perfci("report", bad, good, status=0)
        self.assertIn("No benchmark became worse.", out)
        ranks = json.loads(perfci("explain", "--run", bad, "--suite", "--json")[0])
        self.assertEqual([(r["benchmark"], r["backend"]) for r in ranks], [(BENCHMARK, CHIP)])
        self.assertEqual(ranks[0]["limiter"], self.pair()["limiter"]["after"])

    def test_wrong_usage_is_said(self):
        for words in (("explain",), ("explain", "a"), ("explain", "a", "b", "c"), ("explain", "--run", "1", "--alert", "2"),
                      ("explain", "a", "b", "--suite"), ("report", "a"), ("explain", "--run", "1", "--format", "pdf")):
            perfci(*words, status=2)
        _, said = perfci("explain", "--run", "99999", status=2)
        self.assertIn("no such run", said)
        _, said = perfci("explain", str(DATA / "good.json"), str(DATA / "bad.json"), "--rules", "/nonexistent", status=2)
        self.assertIn("/nonexistent", said)


if __name__ == "__main__":
    unittest.main()
