"""Broken, differing and exact results are shown as stored: in text, in --json and in the exit status."""

import json
import os
import unittest

import stack

COMMITS = [f"{n:040x}" for n in range(1, 9)]


def run_id(n):
    return f"{n:032x}"


def document(n, commit, values, fingerprint=None, machine="m", minute=0):
    """A run of benchmark -> level, list of exact samples, or text: why it is broken."""
    measurements = []
    for name, value in values.items():
        base = {"benchmark": name, "metric": "time_ns", "backend": "cpu", "unit": "ns", "direction": "lower"}
        if isinstance(value, str):
            measurements.append({**base, "status": "broken", "reason": value})
        elif isinstance(value, list):
            measurements.append({**base, "metric": "cycles", "unit": "cycles", "exact": True, "samples": [value]})
        else:
            measurements.append({**base, "samples": [[value * (1 + 0.001 * i)] for i in range(10)]})
    return {"schema": "perfci.run/1", "id": run_id(n), "project": "p", "commit": COMMITS[commit - 1], "branch": "main",
            "suite": "s", "suite_hash": "", "started_at": f"2026-01-01T00:{minute:02d}:00Z",
            "finished_at": f"2026-01-01T00:{minute:02d}:30Z",
            "machine": {"name": machine, "class": machine, "fingerprint": fingerprint or {"compiler": "gcc 12"}},
            "measurements": measurements}


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = stack.Stack(runner=False)
        cls.addClassCleanup(cls.stack.down)
        cls.stack.up()
        cls.stack.api("/projects", "POST", {"name": "p"}, status=201)

    def post(self, doc, status=201):
        return self.stack.api("/runs", "POST", doc, status=status)

    def compare(self, a, b, *flags, status):
        return self.stack.perfci("compare", "--stored", "--project", "p", run_id(a), run_id(b), *flags, status=status)

    def compared(self, a, b, *flags, status):
        return json.loads(self.compare(a, b, *flags, "--json", status=status).stdout)

    def test_a_broken_benchmark_is_a_row_and_status_four(self):
        self.post(document(1, 1, {"x": 100.0, "y": 100.0}))
        self.post(document(2, 2, {"x": "wrong result: expected 1, got 2", "y": 100.0}))
        for a, b, side in ((1, 2, "b"), (2, 1, "a")):
            text = self.compare(a, b, status=4).stdout
            self.assertRegex(text, f"x .*broken in {side.upper()}: wrong result: expected 1, got 2")
            doc = self.compared(a, b, status=4)
            row, = (r for r in doc["rows"] if r["benchmark"] == "x")
            self.assertEqual((row["verdict"], row["broken"], row["reason"]),
                             ("broken", [side], "wrong result: expected 1, got 2"))
            self.assertEqual((doc["summary"]["broken"], doc["summary"]["same"]), (1, 1))
            stored = self.stack.api(f"/compare?project=p&a={run_id(a)}&b={run_id(b)}")
            self.assertEqual(stored["summary"]["broken"], 1)
        self.compare(1, 2, "--git-bisect", status=125)
        self.compare(1, 1, status=0)

    def test_a_benchmark_that_breaks_has_one_alert_until_it_measures_again(self):
        self.stack.api("/projects", "POST", {"name": "q"}, status=201)
        for n in (5, 6, 7):
            commit = {"id": COMMITS[n], "parents": [COMMITS[n - 1]], "author": "A", "time": f"2026-01-01T00:0{n}:00Z",
                      "subject": f"change {n}", "paths": []}
            self.stack.api("/projects/q/commits", "POST", {"commits": [commit]}, status=200)
        self.post({**document(21, 6, {"x": 100.0, "y": 100.0}), "project": "q"})
        self.post({**document(22, 7, {"x": "wrong result", "y": 100.0}), "project": "q"})

        def alerts(state):
            return self.stack.api(f"/alerts?project=q&state={state}")["alerts"]
        alert, = stack.wait_for("the alert", lambda: alerts("open"))
        self.assertEqual((alert["kind"], alert["reason"], alert["benchmark"], alert["commit"], alert["rel_change"]),
                         ("broken", "wrong result", "x", COMMITS[6], None))
        said = self.stack.perfci("alerts", "--project", "q").stdout
        self.assertRegex(said, r"broken +broken +x on cpu: wrong result")
        self.assertIn(f"broken since {COMMITS[6][:12]}: wrong result", self.stack.perfci("alerts", str(alert["id"])).stdout)
        self.assertIn("no value to search by", self.stack.perfci(
            "bisect", "--remote", "--project", "q", "--alert", str(alert["id"]), status=(2, 5)).stderr)
        # marks: the series, the commit
        here = self.stack.api(f"/projects/q/commits/{COMMITS[6]}")["broken"]
        self.assertEqual([(b["benchmark"], b["reason"]) for b in here], [("x", "wrong result")])
        marks = self.stack.api(f"/series/{alert['series_id']}")["broken"]
        self.assertEqual([(b["commit"], b["reason"]) for b in marks], [(COMMITS[6], "wrong result")])
        self.assertRegex(self.stack.perfci("series", str(alert["series_id"])).stdout,
                         f"{COMMITS[6][:12]} .*broken +change 6: wrong result")
        other, = (s for s in self.stack.api("/projects/q/series")["series"] if s["benchmark"] == "y")
        self.assertEqual(self.stack.api(f"/series/{other['id']}")["broken"], [])
        self.post({**document(23, 8, {"x": 100.0, "y": 100.0}), "project": "q"})
        closed, = stack.wait_for("its end", lambda: alerts("verified_fixed"))
        self.assertEqual((closed["id"], closed["undone_by"]), (alert["id"], COMMITS[7]))

    def test_a_night_with_a_broken_benchmark_lists_it_and_ends_with_four(self):
        repo = os.path.join(self.stack.dir, "repo")
        os.mkdir(repo)
        stack.git(repo, "init", "-q", "-b", "main")
        path = os.path.join(repo, "perfci.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("project: night\nbranch: main\nmeasure: cat result.json\n")
        result = os.path.join(repo, "result.json")
        for values, status in (({"x": 100.0, "y": 100.0}, 0), ({"x": "wrong result", "y": 100.0}, 4), ({"x": 100.0, "y": 100.0}, 0)):
            with open(result, "w", encoding="utf-8") as file:
                json.dump({k: v for k, v in document(41, 1, values).items() if k not in ("project", "commit", "branch")}, file)
            stack.git(repo, "add", "-A")
            stack.git(repo, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "-m", f"status {status}")
            report = json.loads(self.stack.perfci("nightly", "--json", cwd=repo, status=status).stdout)
            self.assertEqual([(b["benchmark"], b["reason"]) for b in report["broken"]],
                             [("x", "wrong result")] if status else [])
            self.assertEqual(report["regressions"], 0)

    def test_two_values_of_an_exact_metric_are_refused_with_both(self):
        refused = self.post(document(31, 1, {"x": [5, 6]}), status=400)["error"]
        self.assertEqual(refused["field"], "measurements[0].samples")
        self.assertIn("x cycles is exact: expected equal samples, got 5 and 6", refused["message"])
        path = os.path.join(self.stack.dir, "run.json")

        def push(doc, status):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(doc, file)
            return self.stack.perfci("push", path, "--project", "p", status=status)
        self.assertIn("got 5 and 6", push(document(31, 1, {"x": [5, 6]}), 2).stderr)
        push(document(32, 1, {"x": [500]}), 0)
        push(document(33, 1, {"x": [500]}), 0)
        said = push(document(34, 1, {"x": [501]}), None)
        self.assertNotEqual(said.returncode, 0)
        self.assertRegex(said.stderr, "is exact: expected 500, which run [0-9]+ has at commit 000000000000, got 501")
        self.stack.api(f"/runs/{run_id(34)}", status=404)
        push(document(35, 1, {"x": [501]}, {"compiler": "gcc 14"}), 0)

    def test_other_compilers_and_machines_decide_nothing_unless_asked(self):
        self.post(document(11, 3, {"x": 100.0}, {"compiler": "gcc 12"}))
        self.post(document(12, 4, {"x": 120.0}, {"compiler": "gcc 13\nextra"}))
        self.post(document(13, 4, {"x": 120.0}, {"compiler": "gcc 12"}, machine="other"))
        done = self.compare(11, 12, status=3)
        self.assertEqual(done.stdout.splitlines()[0], "A and B differ in compiler: gcc 12 -> gcc 13 extra")
        self.assertIn("--across", done.stderr)
        doc = self.compared(11, 12, status=3)
        self.assertEqual(doc["differs"], [{"field": "compiler", "a": "gcc 12", "b": "gcc 13\nextra"}])
        self.assertEqual(doc["rows"][0]["fingerprint_differs"], ["compiler"])
        self.assertEqual(self.stack.api(f"/compare?project=p&a={run_id(11)}&b={run_id(12)}")["differs"], doc["differs"])
        self.compare(11, 12, "--across", status=1)
        self.compare(12, 11, "--across", status=0)
        # another machine class: nothing to compare but what differs, and all of it when asked
        done = self.compare(11, 13, status=3)
        self.assertEqual(done.stdout.splitlines()[0], "A and B differ in machine_class: m -> other")
        doc = self.compared(11, 13, status=3)
        self.assertEqual((doc["rows"], doc["only_in_a"], doc["only_a"]), ([], ["x time_ns cpu"], 1))
        self.assertIn("regression", self.compare(11, 13, "--across", status=1).stdout)
        self.assertNotIn("differ", self.compare(11, 11, status=0).stdout)


if __name__ == "__main__":
    unittest.main()
