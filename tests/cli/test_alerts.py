"""perfci alerts ID: the facts of each kind of alert, from documents of a stub service."""

import support
from stub import Stub

LOW, HIGH = "b" * 40, "c" * 40
STEP = {"id": 7, "project": "p", "series_id": 12, "benchmark": "gemm/a", "metric": "time_ns", "backend": "cpu", "machine_class": "bare",
        "branch": "main", "unit": "ns", "state": "untriaged", "direction": "regression", "before": 100.0, "after": 105.2,
        "rel_change": 0.052, "rel_low": 0.048, "rel_high": 0.056, "p": 1e-9, "commit": LOW, "commit_low": LOW, "commit_high": HIGH,
        "culprit": None, "created_at": "2026-01-02T03:04:05Z", "note": "", "kind": "step", "evidence": "single", "event_id": None,
        "undone_by": None, "accepted": False, "suspect": None, "group": None}
BROKEN = {**STEP, "kind": "broken", "direction": None, "before": None, "after": None, "rel_change": None, "rel_low": None, "rel_high": None,
          "p": None, "reason": "wrong result in row 3", "commit_low": None, "commit_high": None}
DRIFT = {**STEP, "kind": "drift", "drift": {"rel_per_week": 0.032, "rel_per_week_low": 0.028, "rel_per_week_high": 0.038,
                                            "rel_per_commit": 0.0001, "weeks": 6.25,
                                            "reference": {"tag": "v1.2", "commit": "d" * 40, "rel_change": 0.021, "rel_low": 0.018,
                                                          "rel_high": 0.024}}}


class Alerts(support.Case):
    def show(self, alert, *args):
        stub = Stub({("GET", "/api/v1/alerts/7"): alert, ("GET", "/api/v1/alerts"): {"alerts": [alert], "next_cursor": None}})
        self.addCleanup(stub.close)
        return self.expect(self.perfci("alerts", *(args or ["7"]), env={"PERFCI_URL": stub.url}), 0).stdout

    def facts(self, alert):
        """{name: text} of the lines below the first; the first under ""."""
        first, *lines = self.show(alert).split("\n\n")[0].splitlines()
        return {"": first, **{line[:10].strip(): line[11:] for line in lines}}

    def test_a_drift_has_a_slope_and_the_last_release_and_no_search(self):
        facts = self.facts(DRIFT)
        self.assertIn("alert 7: drift, ", facts[""])
        self.assertRegex(facts["slope"], r"^\+3\.2 % \(\+2\.8 % to \+3\.8 %\) a week, \+0\.01\d* % a commit, for 6\.2 weeks$")
        self.assertRegex(facts["release"], r"^\+2\.1\d* % \(\+1\.8\d* % to \+2\.4\d* %\) since v1\.2 \(dddddddddddd\)$")
        text = self.show(DRIFT)
        self.assertNotIn("bisect", text)
        for command in ("perfci why 7", "perfci repro alert:7", "perfci accept 7 --reason TEXT"):
            self.assertIn(command, text)
        self.assertEqual(self.facts({**DRIFT, "drift": {**DRIFT["drift"], "reference": None}})["release"],
                         "no release tag with enough points around it")
        facts = self.facts({**DRIFT, "drift": {"reference": None}})
        self.assertNotIn("slope", facts)
        self.assertIn("release", facts)
        self.assertNotIn("release", self.facts(STEP))

    def test_a_broken_benchmark_has_a_reason_and_no_level(self):
        facts = self.facts(BROKEN)
        self.assertEqual(facts[""], "alert 7: broken since bbbbbbbbbbbb: wrong result in row 3")
        for name in ("level", "evidence", "slope", "suspect"):
            self.assertNotIn(name, facts)
        self.assertEqual(facts["range"], "bbbbbbbbbbbb")
        text = self.show(BROKEN)
        self.assertIn("perfci alerts set 7 --state acknowledged", text)
        for command in ("why", "bisect", "accept"):
            self.assertNotIn(f"perfci {command}", text)
        self.assertIn("gemm/a on cpu: wrong result in row 3", self.show(BROKEN, "--csv"))
        self.assertIn('gemm/a: wrong', self.show({**BROKEN, "backend": ""}, "--csv"))

    def test_the_range_is_one_commit_or_two(self):
        for change, text in (({}, "bbbbbbbbbbbb..cccccccccccc"), ({"commit_low": HIGH}, "cccccccccccc"),
                             ({"commit_low": None}, "cccccccccccc"), ({"commit_low": None, "commit_high": None}, "bbbbbbbbbbbb")):
            with self.subTest(change):
                self.assertEqual(self.facts({**STEP, **change})["range"], text)
        commits = [{"id": c * 40, "measured": True, "time": "2026-01-01T00:00:00Z", "author": "A", "subject": "s"} for c in "bc"]
        self.assertEqual(self.facts({**STEP, "range": commits})["range"], "bbbbbbbbbbbb..cccccccccccc, 2 commits")
        self.assertEqual(self.facts({**STEP, "range": commits[:1]})["range"], "bbbbbbbbbbbb..cccccccccccc, 1 commit")

    def test_level_state_and_what_is_known_of_the_cause(self):
        facts = self.facts(STEP)
        self.assertEqual(facts["level"], "100 -> 105.2 ns, p = 1e-09")
        self.assertEqual(self.facts({**STEP, "p": None})["level"], "100 -> 105.2 ns")
        self.assertRegex(facts["state"], r"^untriaged, opened 2026-01-02 03:04 UTC, .+ ago$")
        self.assertIn("untriaged (new level accepted), opened", self.facts({**STEP, "accepted": True})["state"])
        self.assertEqual(facts["series"], "gemm/a time_ns, cpu on bare, branch main of p (series 12)")
        self.assertEqual(self.facts({**STEP, "backend": ""})["series"], "gemm/a time_ns on bare, branch main of p (series 12)")
        for name in ("suspect", "culprit", "machine", "group", "undone by", "note"):
            self.assertNotIn(name, facts)
        suspect = {"commit": LOW, "subject": "Unroll", "author": "A. Person", "named": False}
        facts = self.facts({**STEP, "suspect": suspect, "event_id": 5, "undone_by": "e" * 40, "note": "seen",
                            "group": {"id": 3, "series": 6, "measured": 15, "summary": "6 of 15"}})
        self.assertEqual(facts["suspect"], "bbbbbbb Unroll (A. Person)")
        found = self.facts({**STEP, "suspect": {**suspect, "bisection_id": 4}})
        self.assertEqual(found["suspect"], "bbbbbbb Unroll (A. Person), found by search #4, not confirmed")
        self.assertEqual(facts["machine"], "event 5 (perfci events)")
        self.assertEqual(facts["group"], "3: 6 of 15")
        self.assertEqual(facts["undone by"], "e" * 40)
        self.assertEqual(facts["note"], "seen")
        facts = self.facts({**STEP, "culprit": LOW, "suspect": {**suspect, "author": None}})
        self.assertEqual(facts["culprit"], "bbbbbbb Unroll")
        self.assertNotIn("suspect", facts)

    def test_each_evidence_has_its_sentence(self):
        for word, part in (("exact", "without noise"), ("corroborated", "changed the same way"), ("alone", "did not change"),
                           ("single", "nothing else"), ("new-word", "new-word")):
            with self.subTest(word):
                text = self.facts({**STEP, "evidence": word})["evidence"]
                self.assertTrue(text.startswith(word) and part in text, text)

    def test_a_list_names_what_a_group_has_in_common_and_projects_where_they_differ(self):
        group = {"id": 3, "series": 2, "measured": 15, "summary": "2 of 15 gemm series"}
        self.assertIn("2 of 15 gemm series", self.show({**STEP, "group": group}, "--all"))
        text = self.show({**STEP, "group": {**group, "series": 1}}, "--all")
        self.assertIn("gemm/a time_ns on cpu", text)
        self.assertNotIn("PROJECT", text)
        other = {**STEP, "id": 8, "project": "q"}
        stub = Stub({("GET", "/api/v1/alerts"): {"alerts": [STEP, other], "next_cursor": None}})
        self.addCleanup(stub.close)
        text = self.expect(self.perfci("alerts", env={"PERFCI_URL": stub.url}), 0).stdout
        self.assertIn("PROJECT", text)
        self.assertTrue(text.splitlines()[2].endswith(" q"), text)


if __name__ == "__main__":
    support.main()
