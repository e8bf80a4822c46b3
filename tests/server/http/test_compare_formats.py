"""CSV and Markdown of a comparison: the values of the JSON, quoted so that no reader and no spreadsheet is misled."""

import csv
import io
import re
import subprocess
import tempfile
import unittest
import urllib.parse

import support

# Names that a spreadsheet would evaluate, that break naive quoting, or that Markdown would render.
NAMES = ['=HYPERLINK("http://x","y")', "+1", "-1+2", "@sum", 'a,"b"', "\u05d0\u05d1", "| `x` <b>", "plain"]


def measurement(name, value):
    return {"benchmark": name, "metric": "time_ns", "backend": "cpu", "unit": "ns", "direction": "lower",
            "samples": [[value * (1 + 0.001 * ((3 * b + s) % 5)) for s in range(4)] for b in range(6)]}


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cluster = support.Cluster()
        cls.addClassCleanup(cluster.close)
        cls.server = support.Server(cluster.database(migrated=True), "--public-read")
        cls.addClassCleanup(cls.server.close)
        cls.server.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        cls.server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 4))
        for n, value in ((1, 100.0), (4, 120.0)):
            document = support.run_document(n, n, measurements=[measurement(name, value) for name in NAMES])
            answer = cls.server.as_admin("POST", "/api/v1/runs", document)
            assert answer.status == 201, answer.body

    def compare(self, **more):
        query = "&".join(f"{k}={v}" for k, v in {"project": "demo", "a": "main~3", "b": "main", **more}.items())
        answer = self.server.call("GET", f"/api/v1/compare?{query}")
        self.assertEqual(answer.status, 200, answer.body)
        return answer

    def test_a_roofline_finds_its_ends_as_a_comparison_does(self):
        compared = self.compare().json
        path = "/api/v1/projects/demo/roofline"
        reply = self.server.call("GET", f"{path}?a=main~3&b=main").json
        for side in "ab":
            self.assertEqual((reply[side], reply[side + "_how"]), (compared[side]["commit"], compared[side]["how"]))
        self.assertNotEqual(reply["a"], reply["b"])
        newest = self.server.call("GET", path).json
        self.assertEqual([newest[name] for name in ("a", "b", "a_how", "b_how")], [None] * 4)
        for query, field in (("a=nothing", "a"), ("b=v9.9", "b"), ("a=main~9", "a"), ("b=~", "b"), ("a=main~x", "a"), ("a=" + "x" * 233, "a")):
            refused = self.server.call("GET", f"{path}?{query}")
            same = self.server.call("GET", "/api/v1/compare?project=demo&" + (query + "&b=main" if field == "a" else "a=main&" + query))
            self.assertEqual((refused.status, refused.json["error"]["field"], refused.json["error"]["message"]),
                             (same.status, field, same.json["error"]["message"]), query)
            self.assertEqual(refused.status // 100, 4, query)

    def test_csv_has_the_values_of_the_json(self):
        answer = self.compare(format="csv")
        self.assertEqual(answer.headers["content-type"].split(";")[0], "text/csv")
        rows = list(csv.DictReader(io.StringIO(answer.body.decode(), newline="")))
        stored = self.compare().json["rows"]
        self.assertEqual(len(rows), len(NAMES))
        self.assertEqual(len(stored), len(NAMES))
        for row, want in zip(rows, stored):
            self.assertEqual(row["benchmark"].removeprefix("'"), want["benchmark"])
            self.assertEqual(row["verdict"], want["verdict"])
            for member in ("rel_change", "rel_low", "rel_high", "p", "p_adjusted", "margin_rel", "series_id"):
                self.assertEqual(float(row[member]), want[member], member)
            for side in "ab":
                self.assertEqual(float(row[side + ".median"]), want[side]["median"])
                self.assertEqual(int(row[side + ".n"]), want[side]["n"])
            self.assertEqual(row["between_rel"], "")  # null

    def test_csv_has_no_formula_and_ends_lines_as_the_rfc_says(self):
        text = self.compare(format="csv").body.decode()
        self.assertEqual(text.count("\r\n"), len(NAMES) + 1)
        self.assertEqual(text.count("\n"), len(NAMES) + 1)
        for row in csv.reader(io.StringIO(text, newline="")):
            for field in row:
                try:
                    float(field)
                except ValueError:
                    self.assertNotIn(field[:1], ("=", "+", "-", "@", "\t", "\r"), field)
        names = [row["benchmark"] for row in csv.DictReader(io.StringIO(text, newline=""))]
        self.assertIn('\'=HYPERLINK("http://x","y")', names)
        self.assertIn('a,"b"', names)

    def test_markdown_has_the_ends_the_means_and_no_markup_of_names(self):
        answer = self.compare(format="markdown")
        self.assertEqual(answer.headers["content-type"].split(";")[0], "text/markdown")
        text = answer.body.decode()
        self.assertTrue(text.startswith("### "), text[:80])
        self.assertIn("2 commits lie between A and B on branch main", text)
        self.assertIn("<b>", text)
        self.assertNotIn("<b>", re.sub(r"`[^`\n]*`", "", text))  # only as code
        means = [line for line in text.splitlines() if "geometric mean" in line]
        self.assertEqual(len(means), 1)
        self.assertEqual(text.count("+20.0 % | 1 |"), len(NAMES))

    def test_the_plot_behind_a_row_has_the_samples_of_both_ends(self):
        """As the dashboard asks for it, with every name quoted."""
        def quoted(text):
            return '"' + re.sub(r'[\\"]', r"\\\g<0>", text) + '"'
        reply = self.compare().json
        for row in reply["rows"]:
            select = " ".join(f"{name}={quoted(row[name])}" for name in ("benchmark", "metric", "backend", "machine_class"))
            query = urllib.parse.urlencode({"branch": reply["between"]["branch"], "select": select, "from": reply["a"]["commit"],
                                            "to": reply["b"]["commit"], "points": 1000, "samples": "true"})
            answer = self.server.call("GET", f"/api/v1/projects/demo/plot?{query}")
            self.assertEqual(answer.status, 200, answer.body)
            lines, commits = answer.json["lines"], answer.json["columns"]["commit"]
            self.assertEqual([line["series_id"] for line in lines], [row["b"]["series_id"]], row["benchmark"])
            ends = {commits[column]: len(values) for column, *values in lines[0]["samples"]}
            self.assertEqual(ends, {reply["a"]["commit"]: row["a"]["n"], reply["b"]["commit"]: row["b"]["n"]})

    def test_repeats_of_an_undecided_row_are_jobs_of_their_own(self):
        """As the dashboard queues them: alternating ends, each job waits for the one before it on its side."""
        last, ids = {}, []
        for commit in [support.commit_id(1), support.commit_id(4)] * 2:
            order = {"project": "demo", "kind": "measure", "commit": commit, "branch": "main", "labels": {"machine_class": "test-cpu"},
                     "filter": r"^(gemm/a\.b|plain)$", **({"parents": [last[commit]]} if commit in last else {})}
            answer = self.server.as_admin("POST", "/api/v1/jobs", order)
            self.assertEqual(answer.status, 201, answer.body)
            last[commit] = answer.json["id"]
            ids.append(answer.json["id"])
        self.assertEqual(len(set(ids)), 4)

    def test_the_command_passes_ends_on_and_prints_how_they_were_found(self):
        with tempfile.TemporaryDirectory() as folder:
            def compare(a, b):
                return subprocess.run([support.BIN / "perfci", "compare", "--stored", a, b, "--project", "demo", "--url", f"http://127.0.0.1:{self.server.port}"],
                                      cwd=folder, capture_output=True, text=True, timeout=300, check=False)
            done = compare("main~3", "main")
            self.assertEqual(done.returncode, 1, done.stderr)  # a regression
            self.assertIn("A: main~3 at 000000000000, 3 commits before 000000000000\n", done.stdout)
            self.assertIn("B: branch main at 000000000000, its newest commit with results\n", done.stdout)
            self.assertIn("2 commits lie between A and B on branch main", done.stdout)
            self.assertRegex(done.stdout, r"KERNEL +BACKEND +METRIC +GEOMETRIC MEAN OF B/A +ROWS")
            self.assertRegex(done.stdout, r"plain +cpu +time_ns +\+20\.0 % +1 +0")
            done = compare("v9", "main")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn('a: "v9" is no commit, run, tag or branch of this project', done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
