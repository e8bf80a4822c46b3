"""Operations on runners through the real programs: each result states its class, hidden results are counted, undo is exact.

The runners are names alone: each asked for a job once, and runs of a machine of that name are its results.
"""

import json
import os
import unittest

import stack
from test_results import COMMITS, document, run_id

EVER = "2020-01-01T00:00:00Z"


class Operations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = stack.Stack(runner=False)
        cls.addClassCleanup(cls.stack.down)
        cls.stack.up()

    def project(self, name, *runners):
        self.stack.api("/projects", "POST", {"name": name}, status=201)
        for n in range(8):
            commit = {"id": COMMITS[n], "parents": COMMITS[n - 1:n] if n else [], "author": "A", "time": f"2026-01-01T00:0{n}:00Z",
                      "subject": f"change {n}", "paths": []}
            self.stack.api(f"/projects/{name}/commits", "POST", {"commits": [commit]}, status=200)
        for runner in runners:
            self.lease(runner, None)
        return name

    def lease(self, runner, token, status=204):
        """Asks for a job; the administrator's token, which no revocation ends, or one of its own."""
        args = ["curl", "-s", "-o", os.devnull, "-w", "%{http_code}", "-X", "POST", "-H", "Content-Type: application/json",
                "-H", f"Authorization: Bearer {token or self.stack.token()}", "-d",
                json.dumps({"runner": runner, "machine_class": "c", "lease": os.urandom(16).hex()}), self.stack.url + "/api/v1/jobs/lease"]
        done = stack.subprocess.run(args, capture_output=True, text=True, check=True, timeout=stack.DEADLINE_S)
        self.assertEqual(int(done.stdout), status)

    def run_of(self, project, n, commit, runner, values):
        doc = {**document(n, commit, values), "project": project}
        doc["machine"] = {"name": runner, "class": "c", "fingerprint": {"compiler": "gcc 12"}}
        self.stack.api("/runs", "POST", doc, status=201)

    def said(self, *args, status=0):
        return json.loads(self.stack.perfci(*args, "--json", status=status).stdout)

    def judged(self):
        stack.wait_for("all runs are judged", lambda: all(
            not self.stack.api(f"/jobs?kind=detect&state={s}")["jobs"] for s in ("queued", "leased")))

    def three_runs(self, project):
        """Two runners agree on the first commit; one alone measured the second, and its exact count changed."""
        self.run_of(project, 1, 1, "a", {"x": 100.0, "y": [500]})
        self.run_of(project, 2, 1, "b", {"x": 100.0, "y": [500]})
        self.run_of(project, 3, 2, "a", {"x": 100.0, "y": [600]})
        for n in range(3, 8):  # five points more make the change firm
            self.run_of(project, n + 2, n, "a", {"y": [600]})
        self.judged()

    def all_of(self, project):
        """The answers of the API about the project, without the times at which something was touched last."""
        self.judged()
        series = {s["benchmark"]: s["id"] for s in self.stack.api(f"/projects/{project}/series")["series"]}
        alerts = [self.stack.api(f"/alerts/{a['id']}") for a in self.stack.api(f"/alerts?project={project}")["alerts"]]
        for alert in alerts:
            for name in ("updated_at", "history", "worth"):
                alert.pop(name)
        path = f"/compare?project={project}&a={COMMITS[0]}&b={COMMITS[1]}"
        return {"series": {name: self.stack.api(f"/series/{id_}") for name, id_ in series.items()}, "alerts": alerts,
                "compare": self.stack.api(path), "runs": self.stack.api(f"/projects/{project}/runs")["runs"],
                "documents": [self.stack.api(f"/runs/{r['run_id']}") for r in self.stack.api(f"/projects/{project}/runs")["runs"]]}

    def check_commands(self, project, api):
        """The commands show the same values as the API."""
        for series in api["series"].values():
            number = str(series["series"]["id"])
            self.assertEqual(self.said("series", number), series)
            text = self.stack.perfci("series", number).stdout
            column = text.splitlines()[0].index("REPRODUCED")
            shown = [line[column:].split()[0] for line in text.splitlines()[1:] if line[:12] in [c[:12] for c in COMMITS]]
            self.assertEqual(shown, series["columns"]["reproducibility"])
            self.assertEqual(f"hidden: {series['hidden']} results of this series" in text, series["hidden"] > 0)
        args = ("compare", "--stored", "--project", project, COMMITS[0], COMMITS[1])
        reported = json.loads(self.stack.perfci(*args, "--json", status=None).stdout)
        self.assertEqual(reported["rows"], api["compare"]["rows"])
        self.assertEqual([reported[s]["hidden"] for s in "ab"], [api["compare"][s]["hidden"] for s in "ab"])
        done = self.stack.perfci(*args, status=None)
        for row in api["compare"]["rows"]:
            # The means by kernel, whose name a benchmark can have, come after the rows.
            line = next(t for t in done.stdout.splitlines() if t.startswith(row["benchmark"] + " "))
            self.assertRegex(line, rf" {row['reproducibility']} +{row['verdict']}")
        hidden = [api["compare"][s]["hidden"] for s in "ab"]
        self.assertEqual(f"hidden: {hidden[0]} results of A and {hidden[1]} of B are in quarantine" in done.stderr, any(hidden))
        for alert in api["alerts"]:
            number = str(alert["id"])
            reported = self.said("alerts", number)
            self.assertEqual({k: reported[k] for k in ("reproducibility", "hidden")}, {k: alert[k] for k in ("reproducibility", "hidden")})
            text = self.stack.perfci("alerts", number).stdout
            self.assertRegex(text, rf"reproduced +{alert['reproducibility']}\n")
            self.assertEqual(f"hidden: {alert['hidden']} results of its series" in text, alert["hidden"] > 0)
        for run, doc in zip(api["runs"], api["documents"]):
            self.assertEqual((doc["reproducibility"], doc["quarantined"]), (run["reproducibility"], run["quarantined"]))

    def classes(self, api):
        points = {name: s["columns"]["reproducibility"] for name, s in api["series"].items()}
        rows = {r["benchmark"]: (r["a"]["reproducibility"], r["b"]["reproducibility"], r["reproducibility"]) for r in api["compare"]["rows"]}
        return points, rows, [a["reproducibility"] for a in api["alerts"]], [r["reproducibility"] for r in reversed(api["runs"])]

    def test_each_result_states_its_class_and_hidden_ones_are_counted_until_the_undo(self):
        project = self.project("p", "a", "b")
        self.three_runs(project)
        before = self.all_of(project)
        self.assertEqual(self.classes(before), (
            {"x": ["confirmed", "confirmed", "single"], "y": ["exact"] * 8},
            {"x": ("confirmed", "single", "single"), "y": ("exact",) * 3}, ["exact"], ["confirmed", "confirmed", "single"] + ["exact"] * 5))
        self.assertEqual([s["hidden"] for s in before["series"].values()] + [before["compare"]["a"]["hidden"]], [0, 0, 0])
        self.check_commands(project, before)

        revoke = ("runner", "revoke", "b", "--quarantine", EVER, "--reason", "broken fan")
        would = self.said(*revoke, "--dry-run")
        self.assertEqual(self.all_of(project), before, "--dry-run changed something")
        done = self.said(*revoke)
        self.assertEqual((would["dry_run"], would["quarantine"], done["dry_run"]), (True, None, False))
        self.assertEqual({**would, "dry_run": False, "quarantine": done["quarantine"]}, done)
        self.assertEqual(done["hidden"], {"runs": 1, "results": 2, "series": 2, "commits": 1})
        during = self.all_of(project)
        self.assertEqual(self.classes(during), (
            {"x": ["single", "single"], "y": ["exact"] * 7}, {"x": ("single",) * 3, "y": ("exact",) * 3}, ["exact"],
            ["single", None, "single"] + ["exact"] * 5))
        self.assertEqual([s["hidden"] for s in during["series"].values()], [1, 1])
        self.assertEqual([during["compare"][s]["hidden"] for s in "ab"], [2, 0])
        self.assertEqual([a["hidden"] for a in during["alerts"]], [1])
        self.assertEqual([d["quarantined"] for d in reversed(during["documents"])], [False, True] + [False] * 6)
        self.check_commands(project, during)
        listed, = (r for r in self.said("runner", "list")["runners"] if r["name"] == "b")
        self.assertEqual((listed["state"], listed["quarantine"]["runs"], listed["quarantine"]["reason"]), ("revoked", 1, "broken fan"))
        self.assertIn("1 runs hidden since", self.stack.perfci("runner", "list").stdout)

        # A run that the runner sends meanwhile is hidden with the rest, and comes back with it.
        self.run_of(project, 4, 4, "b", {"x": 100.0})
        stack.wait_for("the new run is hidden", lambda: self.stack.api(f"/runs/{run_id(4)}")["quarantined"])
        self.assertEqual(self.said("runner", "release", "b"), {"runner": "b", "runs": 2})
        after = self.all_of(project)
        self.assertEqual(after["compare"], before["compare"])
        self.assertEqual(after["series"]["y"], before["series"]["y"])
        self.assertEqual(after["series"]["x"]["columns"]["reproducibility"], ["confirmed", "confirmed", "single", "single"])
        self.assertEqual({k: v[:3] for k, v in after["series"]["x"]["columns"].items()}, before["series"]["x"]["columns"])
        self.assertEqual(after["alerts"], before["alerts"])
        self.assertEqual((after["runs"][1:], after["documents"][1:]), (before["runs"], before["documents"]))
        self.check_commands(project, after)

    def test_the_words_of_runner_end_with_the_status_that_the_table_of_statuses_says(self):
        self.project("q", "d")
        expect = [  # words, status, what --json says on status 0
            (("drain", "d"), 0, {"runner": "d", "drained": True, "changed": True}),
            (("drain", "d"), 0, {"runner": "d", "drained": True, "changed": False}),
            (("undrain", "d"), 0, {"runner": "d", "drained": False, "changed": True}),
            (("undrain", "d"), 0, {"runner": "d", "drained": False, "changed": False}),
            (("release", "d"), 2, None),  # neither revoked nor in quarantine
            (("drain", "nobody"), 2, None), (("undrain", "nobody"), 2, None), (("revoke", "nobody"), 2, None), (("release", "nobody"), 2, None),
            (("revoke", "d", "--quarantine", "yesterday"), 2, None), (("drain", "d", "--dry-run"), 2, None), (("drain",), 2, None),
            (("list", "d"), 2, None), (("stop", "d"), 2, None)]
        for words, status, answer in expect:
            with self.subTest(words=words):
                done = self.stack.perfci("runner", *words, "--json", status=None)
                self.assertEqual(done.returncode, status, done.stderr)
                if answer:
                    self.assertEqual(json.loads(done.stdout), answer)
                else:
                    self.assertTrue(done.stderr, "a refusal says why")
        self.assertEqual([r["state"] for r in self.said("runner", "list")["runners"] if r["name"] == "d"], ["idle"])

    def test_a_revoked_runner_leases_again_after_the_release_with_a_new_token(self):
        def token():
            return self.stack.api("/tokens", "POST", {"name": "of e", "scopes": ["runner"]}, status=201)["token"]
        old = token()
        self.lease("e", old)
        done = self.said("runner", "revoke", "e")
        self.assertEqual((len(done["tokens"]), done["quarantine"], done["hidden"]["runs"]), (1, None, 0))
        self.lease("e", old, status=401)
        self.assertEqual(self.said("runner", "release", "e"), {"runner": "e", "runs": 0})
        self.lease("e", old, status=401)
        self.lease("e", token())

    def test_project_chooses_among_runners_of_one_name(self):
        for name in ("one", "two"):
            self.project(name)
            made = self.stack.api("/tokens", "POST", {"name": name, "scopes": ["runner"], "project": name}, status=201)
            self.lease("twin", made["token"])
        for word in ("drain", "undrain", "revoke", "release"):
            with self.subTest(word=word):
                said = self.stack.perfci("runner", word, "twin", status=None)
                self.assertEqual((said.returncode, "2 projects have" in said.stderr), (2, True), said.stderr)
                self.said("runner", word, "twin", "--project", "one")
        self.assertEqual([r["state"] for r in self.said("runner", "list")["runners"] if r["name"] == "twin"], ["idle", "idle"])


if __name__ == "__main__":
    unittest.main()
