"""An exit status of 0 is a finding: compare decides "same" only where the interval lies within the margin, in both directions."""

import json
import unittest

import support


# Quantiles of a bell curve, so that the scatter is the same in every run; standard deviation 1.
SPREAD = [-1.75, -1.2, -0.85, -0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6, 0.85, 1.2, 1.75]


def values(level, noise, n):
    return [level * (1 + noise * SPREAD[(5 * i) % len(SPREAD)] * (-1 if i // len(SPREAD) % 2 else 1)) for i in range(n)]


class Files(support.Case):
    def document(self, name, samples, direction, exact=False, status="ok"):
        m = {"benchmark": "gemm", "metric": "speed", "backend": "cpu", "unit": "x", "direction": direction, "exact": exact, "status": status,
             "samples": [[v] for v in samples]}
        if status == "broken":
            m = {**m, "samples": [], "reason": "wrong result"}
        doc = {"schema": "perfci.run/1", "id": name * 32, "suite": "s", "suite_hash": "", "started_at": "2026-01-01T00:00:00Z",
               "finished_at": "2026-01-01T00:00:01Z", "commit": name * 40, "branch": "main",
               "machine": {"class": "c", "name": "m", "fingerprint": {}}, "measurements": [m]}
        return self.write(name + ".json", json.dumps(doc))

    def compare(self, a, b, direction, status, *more, **kinds):
        """`b` is worse for a larger value with direction "lower", and for a smaller one with "higher"."""
        mirror = (lambda v: v) if direction == "lower" else (lambda v: [1 / x for x in v])
        files = [self.document(name, mirror(side), direction, **kinds) for name, side in (("a", a), ("b", b))]
        self.files = files
        doc = self.json_of(self.perfci("compare", *files, *more, "--json"), status)
        row, = doc["rows"]
        return row

    def each(self):
        return ("lower", "higher")

    def test_equal_sides_are_same_within_the_margin(self):
        for direction in self.each():
            row = self.compare(values(100, 0.005, 20), values(100, 0.005, 20), direction, 0)
            self.assertEqual(row["verdict"], "same")
            self.assertTrue(-0.01 <= row["rel_low"] and row["rel_high"] <= 0.01, row)
            self.assertNotIn("more_runs", row)

    def test_an_interval_that_reaches_past_the_margin_is_not_decided_and_says_what_would(self):
        for direction in self.each():
            a, b = values(100, 0.03, 12), values(101.8, 0.03, 12)
            row = self.compare(a, b, direction, 3)
            self.assertEqual(row["verdict"], "inconclusive")
            self.assertLess(row["rel_low"], 0)
            self.assertGreater(max(abs(row["rel_low"]), row["rel_high"]), 0.01)
            more = row["more_runs"]
            self.assertGreater(more, 5)
            done = self.expect(self.perfci("compare", *self.files), 3)
            self.assertIn(f"not decided: gemm speed; about {more} more runs a side expected", done.stdout)
            doc = self.json_of(self.perfci("compare", *self.files, "--json"), 3)
            said = self.expect(self.perfci("comment", "--dry-run", "--exit-status", text=json.dumps(doc)), 3).stdout
            self.assertIn(f"not decided, about {more} more runs a side expected", said)
            self.assertIn("No regression shown; 1 of 1 not decided", said)
            self.expect(self.perfci("compare", *self.files, "--git-bisect"), 125)
            # As many more, give or take the ranks' own rounding, decide it.
            n = 12 + int(1.5 * more)
            self.assertEqual(self.compare(values(100, 0.03, n), values(101.8, 0.03, n), direction, 1)["verdict"], "regression")

    def test_a_change_is_a_regression_or_an_improvement_by_the_metrics_direction(self):
        for direction in self.each():
            row = self.compare(values(100, 0.005, 20), values(105, 0.005, 20), direction, 1)
            self.assertEqual(row["verdict"], "regression")
            self.expect(self.perfci("compare", *self.files, "--git-bisect"), 1)
            row = self.compare(values(105, 0.005, 20), values(100, 0.005, 20), direction, 0)
            self.assertEqual(row["verdict"], "improvement")
            self.expect(self.perfci("compare", *self.files, "--git-bisect"), 0)

    def test_a_wider_margin_decides_and_a_narrower_one_does_not(self):
        for direction in self.each():
            a, b = values(100, 0.005, 20), values(100.2, 0.005, 20)
            self.assertEqual(self.compare(a, b, direction, 0, "--margin", "0.02")["verdict"], "same")
            row = self.compare(a, b, direction, 3, "--margin", "0.001")
            self.assertEqual(row["verdict"], "inconclusive")
            self.assertGreater(row["more_runs"], 20)

    def test_too_few_runs_decide_nothing(self):
        for direction in self.each():
            for n, missing in ((2, 3), (4, 1)):
                row = self.compare(values(100, 0.0001, n), values(110, 0.0001, n), direction, 3)
                self.assertEqual((row["verdict"], row["more_runs"]), ("inconclusive", missing), n)

    def test_without_noise_one_run_decides(self):
        for direction in self.each():
            self.assertEqual(self.compare([1000], [1000], direction, 0, exact=True)["verdict"], "same")
            self.assertEqual(self.compare([1000], [1001], direction, 1, exact=True)["verdict"], "regression")
            self.assertEqual(self.compare([1001], [1000], direction, 0, exact=True)["verdict"], "improvement")

    def test_one_open_benchmark_among_equal_ones_is_not_decided(self):
        files = []
        for name in "ab":
            with open(self.document(name, values(100, 0.005, 20), "lower"), encoding="utf-8") as f:
                doc = json.load(f)
            first, = doc["measurements"]
            doc["measurements"].append({**first, "benchmark": "noisy", "samples": [[v] for v in values(100, 0.05, 20)]})
            files.append(self.write(name + ".json", json.dumps(doc)))
        doc = self.json_of(self.perfci("compare", *files, "--json"), 3)
        self.assertEqual(doc["summary"], {"same": 1, "improvement": 0, "inconclusive": 1, "regression": 0, "broken": 0})

    def test_a_broken_side_is_neither(self):
        self.document("a", values(100, 0.005, 20), "lower")
        self.document("b", [], "lower", status="broken")
        done = self.expect(self.perfci("compare", self.path("a.json"), self.path("b.json")), 4)
        self.assertIn("wrong result", done.stdout)
        self.expect(self.perfci("compare", self.path("a.json"), self.path("b.json"), "--git-bisect"), 125)

    def test_same_by_pairs_needs_the_interval_too(self):
        """A suite's pairs are judged where they were made; a document cannot say "same" with an interval that says otherwise."""
        for low, high, status, verdict in ((-0.003, 0.004, 0, "same"), (-0.01, 0.053, 3, "inconclusive"), (-0.053, 0.01, 3, "inconclusive")):
            extra = {"pair_verdict": "same", "pair_rel_change": "0.001", "pair_rel_low": str(low), "pair_rel_high": str(high), "pair_p": "0.5",
                     "pair_noise_rel": "0.01", "pairs": "40"}
            files = [self.document("a", values(100, 0.005, 20), "lower"), self.document("b", values(100, 0.005, 20), "lower")]
            with open(files[1], encoding="utf-8") as f:
                doc = json.load(f)
            doc["measurements"][0]["extra"] = extra
            self.write("b.json", json.dumps(doc))
            row, = self.json_of(self.perfci("compare", *files, "--json"), status)["rows"]
            self.assertEqual(row["verdict"], verdict)
            self.assertEqual("more_runs" in row, status == 3)


if __name__ == "__main__":
    support.main()
