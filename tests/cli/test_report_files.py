"""The reports of nightly and check as files: valid by the published descriptions, complete, and escaped."""

import json
import os
import re
import subprocess
import unittest
import xml.etree.ElementTree as tree

import jsonschema
import support
from test_nightly import Night

DATA = os.path.join(support.ROOT, "tests/data/ci")
HOSTILE = "<b>&\"']]>[x](http://evil){0}"
FILES = ("markdown", "html", "junit", "sarif")


class Reports(Night):
    def options(self):
        return [word for name in FILES for word in (f"--report-{name}", self.path(f"report.{name}"))]

    def read(self, name):
        with open(self.path(f"report.{name}"), encoding="utf-8") as file:
            return file.read()

    def validated(self):
        """The JUnit document as {(suite, case): (element, message)} and the SARIF results, both valid."""
        done = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", os.path.join(DATA, "junit-10.xsd"), self.path("report.junit")],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + self.read("junit"))
        with open(os.path.join(DATA, "sarif-2.1.0.json"), encoding="utf-8") as file:
            schema = json.load(file)
        sarif = json.loads(self.read("sarif"))
        jsonschema.Draft7Validator(schema).validate(sarif)
        junit = tree.fromstring(self.read("junit"))
        cases = {}
        for suite in junit.findall("testsuite"):
            for case in suite.findall("testcase"):
                child, = list(case)
                cases[(suite.get("name").split(" ")[0], case.get("name"))] = (child.tag, child.get("message") or child.text)
        counted = {tag: sum(1 for c in cases.values() if c[0] == tag) for tag in ("failure", "error")}
        self.assertEqual((junit.get("failures"), junit.get("errors")), (str(counted["failure"]), str(counted["error"])))
        return cases, sarif["runs"][0]["results"]


class Nightly(Reports):
    def test_every_commit_and_benchmark_is_in_every_form(self):
        service = self.serve(sessions=False)
        self.commit(100)
        self.night(service)
        slow = self.commit(120, files={"src/kernel one.c": "int a;\n", "README": HOSTILE})
        same, broken = self.commit(120.01), self.commit(files={"broken": "1\n"})
        report = self.night(service, *self.options(), status=1)
        cases, results = self.validated()
        self.assertEqual(cases[(slow[:12], "headline latency")][0], "failure")
        self.assertRegex(cases[(slow[:12], "headline latency")][1], r"^\+(19\.9|20\.\d) % \(.*\): regression against ")
        self.assertEqual(cases[(same[:12], "headline latency")][0], "system-out")
        self.assertEqual(cases[(broken[:12], "build and measurement")][0], "error")
        self.assertEqual({c[:12] for c in (slow, same, broken)}, {suite for suite, _ in cases})
        by_rule = {r["ruleId"]: r["locations"][0]["physicalLocation"] for r in results}
        self.assertEqual(by_rule["performance-regression"]["artifactLocation"]["uri"], "src/kernel%20one.c")
        self.assertEqual(set(by_rule), {"performance-regression", "benchmark-broken"})
        for commit in (slow, same, broken):
            self.assertIn(commit[:12], self.read("html"))
            self.assertIn(commit[:12], self.read("markdown"))
        # The report on stdout is as it was, and the one in the file is that of --markdown.
        self.assertEqual(report["regressions"], 0)
        self.assertTrue(self.read("markdown").startswith("### night: "), self.read("markdown"))

    def test_commits_that_were_left_out_are_named(self):
        service = self.serve(sessions=False)
        self.commit(100)
        self.night(service)
        left = [self.commit(100.01), self.commit(100.02)]
        self.commit(100.01)
        self.night(service, "--max-commits", "1", *self.options())
        cases, results = self.validated()
        for commit in left:
            self.assertEqual(cases[(commit[:12], "build and measurement")][0], "skipped")
            self.assertIn("--max-commits", cases[(commit[:12], "build and measurement")][1])
        self.assertEqual([r["ruleId"] for r in results], ["benchmark-not-measured"] * 2)
        # perfci.yaml has the measuring command in its third line.
        place = results[0]["locations"][0]["physicalLocation"]
        self.assertEqual((place["artifactLocation"]["uri"], place["region"]["startLine"]), ("perfci.yaml", 3))

    def test_the_first_night_has_a_case(self):
        service = self.serve()
        tip = self.commit(100)
        self.night(service, *self.options())
        cases, results = self.validated()
        self.assertEqual(cases, {(tip[:12], "build and measurement"): ("system-out", "measured; there is nothing to compare it with yet")})
        self.assertEqual(results, [])
        # Nothing is new.
        self.night(service, *self.options())
        self.assertEqual(self.validated(), ({}, []))

    def test_names_of_others_are_escaped(self):
        service = self.serve()
        self.commit(100)
        self.night(service)
        subject = HOSTILE + " ![y](http://evil)"
        self.commit(100.01)
        self.git("-c", "user.name=A", "-c", "user.email=a@x", "commit", "-q", "--amend", "-m", subject, cwd=self.path("repo"))
        tip = self.git("rev-parse", "HEAD", cwd=self.path("repo"))
        service.verdicts = {tip: {"verdict": "slower", "worst": {"benchmark": HOSTILE, "metric": HOSTILE, "backend": HOSTILE,
                                                                 "rel_change": 0.1, "rel_low": 0.09, "rel_high": 0.11}}}
        service.series = [{"benchmark": HOSTILE, "metric": HOSTILE, "backend": HOSTILE, "judged": True, "boundaries": [
            {"commit": tip, "against": "0" * 40, "verdict": "regression", "rel_change": 0.1, "rel_low": 0.09, "rel_high": 0.11}]}]
        self.night(service, "--repeats", "1", *self.options(), status=1)
        cases, results = self.validated()
        self.assertEqual(cases[(tip[:12], f"{HOSTILE} {HOSTILE}")][0], "failure")
        self.assertNotIn("](", results[0]["message"]["text"])
        self.assertNotIn("<b>", self.read("html"))
        outside_code = re.sub(r"`[^`]*`", "", self.read("markdown"))
        self.assertNotIn("<b>", outside_code)
        self.assertNotIn("](http", outside_code)

    def test_a_round_that_fails_leaves_a_report_that_says_so(self):
        self.commit(100)
        done = self.perfci("nightly", "--url", f"http://127.0.0.1:{support.free_port()}", *self.options(), cwd=self.path("repo"))
        self.expect(done, 5)
        cases, results = self.validated()
        (suite, name), (tag, message) = cases.popitem()
        self.assertEqual((name, tag), ("build and measurement", "skipped"))
        self.assertIn("127.0.0.1", message)
        self.assertEqual([r["ruleId"] for r in results], ["benchmark-not-measured"])
        self.assertIn("There is no result", self.read("markdown"))
        self.assertIn("There is no result", self.read("html"))

    def test_a_place_that_cannot_be_written_is_refused_before_the_measurement(self):
        self.commit(100)
        for options, said in ((["--report-html", self.path("none/x.html")], "no such folder"),
                              (["--report-sarif", self.dir], "expected a file"),
                              (["--report-junit", ""], "expected a file"),
                              (["--report-html", "x", "--report-junit", "x"], "the same file")):
            done = self.perfci("nightly", "--url", "http://127.0.0.1:1", *options, cwd=self.path("repo"))
            self.expect(done, 2)
            self.assertIn(said, done.stderr)
        self.assertEqual(os.path.getsize(self.log), 0)


class Check(Reports):
    def check(self, status, *args):
        return self.expect(self.perfci("check", "--base", "main", *args, *self.options(), cwd=self.path("repo")), status)

    def branch(self, *args, **kwargs):
        self.commit(100)
        self.git("switch", "-q", "-c", "topic", cwd=self.path("repo"))
        return self.commit(*args, **kwargs)

    def test_a_regression_is_a_failure_and_a_broken_build_an_error(self):
        slow = self.branch(150, files={"src/kernel.c": "int a;\n"})
        self.check(1)
        cases, results = self.validated()
        self.assertEqual(cases[(slow[:12], "headline latency")][0], "failure")
        self.assertEqual([r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results], ["src/kernel.c"])
        self.assertIn("regress", self.read("markdown"))
        self.commit(files={"broken": "1\n"})
        self.check(4)
        cases, results = self.validated()
        self.assertEqual([c[0] for c in cases.values()], ["error"])
        self.assertEqual([r["ruleId"] for r in results], ["benchmark-broken"])

    def test_nothing_to_compare_is_an_empty_report(self):
        self.commit(100)
        self.check(0)
        self.assertEqual(self.validated(), ({}, []))
        self.assertIn("nothing to compare", self.read("html"))


if __name__ == "__main__":
    support.main()
