"""Common to all commands: errors with a hint, options, tables, text of others."""

import csv
import ctypes
import io
import json
import os
import platform
import pty
import re
import struct
import subprocess
import unicodedata

import support
from stub import Stub

EVIL = "\x1b[31mred\x1b]0;title\x07 bell\rback \x9b2J c1 ‮bidi⁦ \u2028line \x7fdel"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff]")

SERIES = {"id": 7, "benchmark": "bench " + EVIL, "metric": "time", "backend": "cpu", "machine_class": "a class",
          "points": 40, "last": {"median": 1.23456789012345}, "unit": "s",
          "change": {"rel_change": 0.0523456789, "status": "confirmed"}, "exact": False, "noise_rel": 0.00191234,
          "detectable_rel": 0.0123, "points_for_1pct": 9, "reason": None, "watching": 2, "watching_of": 5}
JOB = {"id": 3, "project": "p", "kind": "measure", "commit": "a" * 40, "state": "failed", "tries": 2, "runner": "r1",
       "reason": "the build failed: " + "very long explanation, " * 20 + EVIL}


ALERT = {"id": 7, "project": "p", "series_id": 12, "benchmark": "gemm/a", "metric": "time_ns", "backend": "cpu",
         "machine_class": "bare", "branch": "main", "unit": "ns", "state": "investigating", "direction": "regression",
         "before": 100.0, "after": 105.2, "rel_change": 0.052, "rel_low": 0.048, "rel_high": 0.056, "p": 1e-9,
         "commit": "b" * 40, "commit_low": "b" * 40, "commit_high": "c" * 40, "culprit": None,
         "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z", "note": "seen " + EVIL, "kind": "step",
         "evidence": "corroborated", "event_id": 5, "undone_by": None, "accepted": False,
         "suspect": {"commit": "b" * 40, "subject": "Unroll less " + EVIL, "author": "A. Person", "named": False},
         "group": {"id": 3, "series": 6, "measured": 15, "summary": "6 of 15 gemm series: dtype=bf16 and k <= 64; +5.2 %"}}
DRIFT = {**ALERT, "id": 6, "kind": "drift", "suspect": None, "group": None, "state": "untriaged"}
EFFECTS = {"effects": [{"source": "history", "bisection_id": None, "commit": None, "rel_change": 0.052, "rel_low": 0.048,
                        "rel_high": 0.056, "n": 60},
                       {"source": "pairs", "bisection_id": 4, "commit": "b" * 40, "rel_change": 0.09, "rel_low": 0.08,
                        "rel_high": 0.1, "n": 18}],
           "effects_differ": "history says +5.20 %, pairs says +9.00 %: the intervals do not overlap " + EVIL}
DETAIL = {**ALERT, **EFFECTS,
          "history": [{"at": "2026-01-02T03:04:05Z", "actor": "detector", "from": None, "to": "untriaged", "reason": ""},
                      {"at": "2026-01-03T03:04:05Z", "actor": "jo", "from": "untriaged", "to": "investigating",
                       "reason": "a long reason that says what was found out so far, with all the detail there is"}],
          "range": [{"id": "b" * 40, "measured": True, "time": "2026-01-01T00:00:00Z", "author": "A. Person", "subject": "Unroll less"},
                    {"id": "c" * 40, "measured": False, "time": "2026-01-01T01:00:00Z", "author": "B", "subject": "Docs"}],
          "witnesses": [{"series_id": 13, "metric": "cycles", "backend": "cpu", "machine_class": "bare", "moved": "worse",
                         "rel_change": 0.051}],
          "members": [{"id": n, "series_id": n + 5, "benchmark": f"gemm/{n}", "metric": "time_ns", "backend": "cpu",
                       "machine_class": "bare", "rel_change": 0.05, "rel_low": 0.04, "rel_high": 0.06, "state": "untriaged"}
                      for n in range(7, 13)]}


EVENT = {"id": 5, "project": "p", "kind": "step", "machine_class": "bare", "machine": "host1", "runs": 0, "loss": 0.02,
         "loss_low": 0.01, "loss_high": 0.03, "moved": 9, "judged": 10, "reasons": ["9 of 10 series " + EVIL], "cause": None,
         "opened_at": "2026-01-02T03:04:05Z", "closed_at": None, "dismissed_by": None, "dismissed_reason": ""}
COVERAGE = {"branch": "main", "commits": [{"id": c * 40} for c in "abcd"],
            "rows": [{"series_id": 1, "benchmark": "gemm", "backend": "cpu", "machine_class": "bare", "missing": 1, "cells": "x-!."}],
            "fills": [{"commit": "d" * 40, "machine_class": "bare", "missing": 3},
                      {"commit": "b" * 40, "machine_class": "bare", "missing": 2}],
            "never": [{"benchmark": "norm", "backend": "gpu", "machine_class": "bare"}], "next_cursor": None}
AUDIT = {"id": 1, "at": "2026-01-02T03:04:05Z", "actor": "jo", "action": "triage", "project": "p", "object": "alert 7",
         "detail": "noise"}


def columns_of(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def counts_cycles():
    """Whether this machine opens a hardware counter: perf_event_open of PERF_COUNT_HW_CPU_CYCLES, user space alone."""
    number = {"x86_64": 298, "aarch64": 241}[platform.machine()]
    attributes = (ctypes.c_char * 128)()
    struct.pack_into("IIQ", attributes, 0, 0, 128, 0)
    struct.pack_into("Q", attributes, 40, 1 << 5 | 1 << 6)  # exclude_kernel, exclude_hv
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(number, attributes, 0, -1, -1, 0)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


class Output(support.Case):
    def setUp(self):
        super().setUp()
        self.stub = Stub({("GET", "/api/v1/projects/p/series"): {"series": [SERIES]},
                          ("GET", "/api/v1/series/7"): {"series": SERIES, "columns": {}, "changes": []},
                          ("GET", "/api/v1/alerts"): {"alerts": [ALERT, DRIFT], "next_cursor": None},
                          ("GET", "/api/v1/alerts/7"): DETAIL, ("PATCH", "/api/v1/alerts/7"): ALERT,
                          ("GET", "/api/v1/environment"): {"events": [EVENT], "next_cursor": None},
                          ("GET", "/api/v1/environment/5"): EVENT, ("PATCH", "/api/v1/environment/5"): EVENT,
                          ("GET", "/api/v1/projects/p/coverage"): COVERAGE, ("POST", "/api/v1/jobs"): (201, JOB),
                          ("GET", "/api/v1/audit"): {"audit": [AUDIT], "next_cursor": None},
                          ("GET", "/api/v1/jobs"): {"jobs": [JOB]},
                          ("GET", "/api/v1/jobs/3"): JOB,
                          ("GET", "/api/v1/jobs/4"): (404, {"error": {"message": "no job 4 " + EVIL}}),
                          ("GET", "/api/v1/jobs/5"): (401, {"error": {"message": "the token is not valid"}}),
                          ("GET", "/api/v1/jobs/6"): (502, "x")})
        self.addCleanup(self.stub.close)
        self.env.update(PERFCI_URL=self.stub.url)

    def on_terminal(self, columns, *args):
        """stdout of perfci on a terminal of so many columns."""
        leader, follower = pty.openpty()
        done = subprocess.Popen([support.PERFCI, *args], stdin=subprocess.DEVNULL, stdout=follower,
                                stderr=subprocess.DEVNULL, cwd=self.dir,
                                env={**self.env, "COLUMNS": str(columns), "NO_COLOR": "1", "LC_ALL": "C.UTF-8"})
        os.close(follower)
        text = b""
        while True:
            try:
                some = os.read(leader, 65536)
            except OSError:
                break
            if not some:
                break
            text += some
        os.close(leader)
        self.assertEqual(done.wait(60), 0)
        return text.decode().replace("\r\n", "\n")

    def test_control_characters_of_others_do_not_reach_the_terminal(self):
        for args in (["series", "--project", "p"], ["series", "--project", "p", "--csv"],
                     ["series", "--project", "p", "--json"], ["jobs"], ["jobs", "3"], ["jobs", "--json"],
                     ["alerts"], ["alerts", "7"], ["alerts", "--csv"], ["alerts", "7", "--json"],
                     ["jobs", "4"], ["jobs", "cancel" + EVIL], ["jobs", "--" + EVIL], ["no" + EVIL]):
            done = self.perfci(*args)
            self.assertIsNone(UNSAFE.search(done.stdout), (args, done.stdout))
            self.assertIsNone(UNSAFE.search(done.stderr), (args, done.stderr))
        # JSON says the same with escapes.
        done = self.perfci("series", "--project", "p", "--json")
        self.assertEqual(json.loads(done.stdout)["series"][0]["benchmark"], SERIES["benchmark"])

    def test_a_table_fits_the_terminal_and_is_whole_in_a_pipe(self):
        for columns in (60, 80, 100, 200):
            text = self.on_terminal(columns, "jobs")
            self.assertEqual([line for line in text.splitlines() if columns_of(line) > columns], [], columns)
            self.assertEqual(len(text.splitlines()), 2)
            self.assertIn("…", text)
            self.assertIn("failed" if columns >= 80 else "fai", text)
        self.assertIn(JOB["reason"][:400], self.perfci("jobs").stdout)

    def test_alerts_are_listed_as_groups(self):
        done = self.expect(self.perfci("alerts"), 0)
        self.assertIn("grouped=true", self.stub.calls[-1][1])
        self.assertIn("state=open", self.stub.calls[-1][1])
        first, second = done.stdout.splitlines()[1:]
        for part in ("7", "step", "+5.2 % (4.8 .. 5.6)", "6 of 15 gemm series: dtype=bf16 and k <= 64", "bbbbbbb..ccccccc",
                     "bbbbbbb Unroll less", "(A. Person)", "investigating"):
            self.assertIn(part, first)
        self.assertIn("drift", second)
        self.assertIn("gemm/a time_ns on cpu", second)
        self.assertNotIn("Unroll", second)
        for args, part, absent in ((["--all"], "grouped=true", "state="), (["--each"], "state=open", "grouped"),
                                   (["--state", "noise", "--project", "p"], "project=p&state=noise", "open"),
                                   (["--sort", "worth"], "sort=worth", "x")):
            self.expect(self.perfci("alerts", *args), 0)
            self.assertIn(part, self.stub.calls[-1][1])
            self.assertNotIn(absent, self.stub.calls[-1][1].replace("/api/v1", ""))
        for columns in (80, 120):
            text = self.on_terminal(columns, "alerts")
            self.assertEqual([line for line in text.splitlines() if columns_of(line) > columns], [], text)
            self.assertEqual(len(text.splitlines()), 6, "what it is and the suspect stand below where there is no room beside")
            for part in ("+5.2 % (4.8 .. 5.6)", "6 of 15 gemm series: dtype=bf16 and k <= 64; +5.2 %", "bbbbbbb..ccccccc",
                         "bbbbbbb Unroll less", "investigating"):
                self.assertIn(part, text)
        self.assertEqual(len(self.on_terminal(300, "alerts").splitlines()), 3)
        rows = list(csv.DictReader(io.StringIO(self.perfci("alerts", "--csv").stdout)))
        self.assertEqual(rows[0]["range"], "b" * 40 + ".." + "c" * 40)
        self.assertEqual(self.json_of(self.perfci("alerts", "--json"))["alerts"], [ALERT, DRIFT])
        self.assertEqual(self.perfci("alerts", "--state", "opne").returncode, 2)

    def test_an_alert_is_shown_with_all_that_is_stored(self):
        text = self.expect(self.perfci("alerts", "7"), 0).stdout
        for part in ("alert 7: step, +5.2 % (4.8 .. 5.6), regression", "gemm/a time_ns, cpu on bare, branch main of p (series 12)",
                     "100 -> 105.2 ns, p = 1e-09", "bbbbbbbbbbbb..cccccccccccc, 2 commits", "bbbbbbb Unroll less",
                     "investigating, opened 2026-01-02 03:04 UTC", "corroborated: ", "3: 6 of 15 gemm series", "event 5", "seen ",
                     "cycles", "worse", "+5.1 %", "Docs", "2026-01-03 03:04", "jo", "a long reason", "perfci why 7",
                     "perfci repro alert:7", "perfci bisect --remote --alert 7", "perfci accept 7"):
            self.assertIn(part, text)
        self.assertEqual(text.count("4.0 .. 6.0"), 6)
        self.assertEqual(self.json_of(self.perfci("alerts", "7", "--json")), DETAIL)
        text = self.on_terminal(70, "alerts", "7")
        self.assertIn("all the detail there is", " ".join(text.split()), "a reason goes on in the next line")
        table = text.partition("History:\n")[2]
        self.assertEqual([line for line in table.splitlines() if columns_of(line) > 70], [], table)
        self.expect(self.perfci("alerts", "set", "7", "--state", "noise", "--reason", "x"), 0)
        self.assertEqual(self.stub.calls[-1][2], {"state": "noise", "reason": "x"})
        done = self.expect(self.perfci("alerts", "8"), 2)
        self.assertTrue(done.stderr.startswith("perfci alerts: no alert 8\nhint: "), done.stderr)

    def test_events_coverage_and_audit(self):
        self.assertIn("2.0 %", self.expect(self.perfci("events"), 0).stdout)
        text = self.expect(self.perfci("events", "5"), 0).stdout
        for part in ("step", "host1", "reason: 9 of 10 series", "Alerts that it explains:", "gemm/a"):
            self.assertIn(part, text)
        self.assertIn("event=5", self.stub.calls[-1][1])
        self.expect(self.perfci("events", "dismiss", "5", "--reason", "everywhere"), 0)
        self.assertEqual([c[2] for c in self.stub.calls if c[0] == "PATCH"], [{"dismissed": True, "reason": "everywhere"}])
        self.assertEqual(self.perfci("events", "dissmiss", "5").returncode, 2)
        rows = list(csv.DictReader(io.StringIO(self.perfci("events", "--csv").stdout)))
        self.assertEqual((rows[0]["event"], float(rows[0]["loss"])), ("5", 0.02))

        text = self.expect(self.perfci("coverage", "--project", "p"), 0).stdout
        for part in ("x-!.", "Never measured there:", "5 gaps at 4 commits on branch main; 2 jobs would fill them"):
            self.assertIn(part, text)
        filled = self.json_of(self.perfci("coverage", "--project", "p", "--fill", "--jobs", "1", "--json"))
        self.assertEqual((len(filled["jobs"]), filled["left"]), (1, 1))
        self.assertEqual([c[2] for c in self.stub.calls if c[:2] == ("POST", "/api/v1/jobs")],
                         [{"project": "p", "kind": "backfill", "commit": "d" * 40, "branch": "main", "labels": {"machine_class": "bare"}}])

        rows = list(csv.DictReader(io.StringIO(self.perfci("audit", "--csv").stdout)))
        self.assertEqual(rows, [{"time (utc)": "2026-01-02T03:04:05Z", "actor": "jo", "action": "triage", "project": "p",
                                 "object": "alert 7", "detail": "noise"}])
        self.assertIn("2026-01-02 03:04", self.perfci("audit").stdout)

    def test_alerts_and_why_say_why_sizes_differ(self):
        self.stub.answers[("GET", "/api/v1/alerts/7/suspects")] = {"alert_id": 7, "culprit": None, "suspects": [], "reason": "x",
                                                                   **EFFECTS}
        for args in (("alerts", "7"), ("why", "7")):
            text = self.perfci(*args).stdout
            self.assertRegex(text, "Size by source:\nSOURCE .*\nhistory .*60\npairs +4 +b+ .*18")
            self.assertIn("history says +5.20 %, pairs says +9.00 %: the intervals do not overlap", text)
            self.assertNotRegex(text, UNSAFE)

    def test_a_series_says_its_noise_what_it_shows_and_what_is_watched(self):
        text = self.perfci("series", "--project", "p").stdout
        self.assertRegex(text, "NOISE +SHOWS +1 % +WATCHING")
        self.assertRegex(text, r"0\.191 % +1\.23 % +9 +2 of 5")
        text = self.perfci("series", "7").stdout
        for line in ("noise: 0.191 % a point", "minimum detectable change: 1.23 % within 5 points", "points for 1 %: 9",
                     "watching 2 of 5 points"):
            self.assertIn(line + "\n", text)
        unknown = {**SERIES, "noise_rel": None, "detectable_rel": None, "points_for_1pct": None, "watching": 0, "watching_of": 0,
                   "reason": "the noise is not known yet: 2 of 4 points"}
        self.stub.answers[("GET", "/api/v1/series/7")] = {"series": unknown, "columns": {}, "changes": []}
        self.assertIn("noise: not known\nreason: the noise is not known yet: 2 of 4 points\n", self.perfci("series", "7").stdout)

    def test_a_series_with_an_anchor_has_one_column_more(self):
        columns = {"commit": ["a" * 40, "b" * 40], "median": [100.0, 125.5], "low": [99, 124], "high": [101, 127], "n": [3, 24],
                   "position": [1, 2], "subject": ["one", "two"], "ratio": [None, 1.0203]}
        changes = [{"index": 1, "commit": "b" * 40, "rel_change": 0.02, "alert_id": 4}]
        broken = [{"commit": "c" * 40, "position": 3, "subject": "three", "reason": "crash"}]
        answer = {"series": {**SERIES, "anchor": "d" * 40}, "columns": columns, "changes": changes, "broken": broken}
        self.stub.answers[("GET", "/api/v1/series/7")] = answer
        text = self.perfci("series", "7").stdout
        self.assertRegex(text, r"COMMIT +MEDIAN +LOW +HIGH +RATIO +N +CHANGE +REPRODUCED +SUBJECT\n")
        self.assertRegex(text, r"b{12} +125.5.* 127.* 1\.0203 +24 +\+2.*% +two\n")
        self.assertRegex(text, r"c{12} +broken +three: crash\n")
        self.assertIn("ratio: level in units of the anchor " + "d" * 12 + "\n", text)
        csv = self.perfci("series", "7", "--csv").stdout.splitlines()
        self.assertEqual([len(line.split(",")) for line in csv], [9] * 4)
        self.assertEqual(json.loads(self.perfci("series", "7", "--json").stdout)["columns"]["ratio"], [None, 1.0203])
        answer["columns"] = {**columns, "ratio": [None, None]}
        text = self.perfci("series", "7").stdout
        self.assertRegex(text, r"HIGH +N +CHANGE")
        self.assertNotIn("anchor", text)

    def test_doctor_says_what_is_wrong_and_what_mends_it(self):
        version = self.perfci("--version").stdout.split()[1]
        self.stub.answers.update({("GET", "/version"): {"version": version, "schema_version": 1},
                                  ("GET", "/readyz"): {"status": "ok"}, ("GET", "/api/v1/projects"): {"projects": []},
                                  ("GET", "/api/v1/runners"): {"runners": [{"name": "r", "last_seen_at": "2020-01-01T00:00:00Z"}]}})
        self.write("perfci.yaml", "project: p\n")
        found = self.json_of(self.perfci("doctor", "--quick", "--json"))
        state = {c["check"]: c["state"] for c in found["checks"]}
        self.assertEqual(list(state), ["perfci.yaml", "server", "clock", "database", "token", "runners", "counters", "disk"])
        self.assertEqual([state[k] for k in ("perfci.yaml", "server", "clock", "database", "token", "runners")], ["ok"] * 5 + ["warn"])
        self.assertTrue(all(c["hint"] for c in found["checks"] if c["state"] != "ok"), found)
        self.assertTrue(found["ok"])
        counters = next(c for c in found["checks"] if c["check"] == "counters")
        self.assertEqual((counters["state"] == "ok", "not available: cycles" in counters["found"]), (counts_cycles(), not counts_cycles()))
        for path, answer, check in (("/readyz", (503, {"error": {"message": "the database takes no writes"}}), "database"),
                                    ("/api/v1/projects", (401, {"error": {"message": "the token is not valid"}}), "token")):
            kept, self.stub.answers[("GET", path)] = self.stub.answers[("GET", path)], answer
            found = self.json_of(self.perfci("doctor", "--quick", "--json"), 5)
            self.assertEqual([(c["check"], c["found"]) for c in found["checks"] if c["state"] == "fail"],
                             [(check, answer[1]["error"]["message"])])
            self.stub.answers[("GET", path)] = kept
        self.stub.answers[("GET", "/version")] = {"version": "0.0.1", "schema_version": 1}
        text = self.expect(self.perfci("doctor", "--quick"), 0).stdout
        self.assertIn("version 0.0.1", text)
        self.assertIn("install the same version", text)
        self.write("perfci.yaml", "project: p\nbuidl: make\n")
        text = self.expect(self.perfci("doctor", "--quick"), 5).stdout
        self.assertIn("perfci.yaml:2", text)
        os.unlink(self.path("perfci.yaml"))
        found = self.json_of(self.perfci("doctor", "--json"))
        self.assertIn("noise", [c["check"] for c in found["checks"]])

    def test_config_shows_where_each_value_comes_from(self):
        secret = self.write("token", "pfc_" + "0" * 64, 0o600)
        path = self.write("repo/perfci.yaml", "project: p\nserver: http://127.0.0.1:9\nmeasure: ./bench\nbetter: higher\n")
        self.write("config/perfci/config.yaml", "server: http://127.0.0.1:8\n")

        def shown(*args, cwd="repo", **env):
            done = self.perfci("config", "show", "--json", *args, cwd=self.path(cwd), env=env)
            self.assertNotIn("0000000", done.stdout)
            return {s["setting"]: (s["value"], s["from"]) for s in self.json_of(done)["settings"]}

        found = shown(PERFCI_URL="", PERFCI_TOKEN_FILE=secret)
        path = os.path.realpath(path)
        self.assertEqual(found["server"], ("http://127.0.0.1:9", path))
        self.assertEqual((found["project"], found["measure"], found["better"]), (("p", path), ("./bench", path), ("higher", path)))
        self.assertEqual(found["PERFCI_TOKEN"], ("set", f"PERFCI_TOKEN_FILE: {secret}"))
        self.assertEqual(found["timeout"], ("600 s", "default"))
        self.assertEqual(found["unit"], (None, "not set"))
        self.assertEqual(shown(PERFCI_URL="http://127.0.0.1:7", PERFCI_PROJECT="q")["server"], ("http://127.0.0.1:7", "PERFCI_URL"))
        self.assertEqual(shown("--url", "http://127.0.0.1:6")["server"], ("http://127.0.0.1:6", "flag"))
        self.assertEqual(shown(PERFCI_TOKEN="pfc_" + "0" * 64)["PERFCI_TOKEN"], ("set", "PERFCI_TOKEN"))
        found = shown(cwd=".", PERFCI_URL="")
        self.assertEqual(found["server"], ("http://127.0.0.1:8", "the user's config.yaml"))
        self.assertEqual(found["perfci.yaml"], (None, "not set"))
        self.assertIn(secret, self.perfci("config", "show", env={"PERFCI_TOKEN_FILE": secret}).stdout)
        self.expect(self.perfci("config", "list"), 2)

    def test_detect_reads_what_series_prints(self):
        levels = [100 + n % 3 * 0.1 for n in range(30)] + [110 + n % 3 * 0.1 for n in range(30)]
        times = [f"2026-01-{1 + n // 24:02}T{n % 24:02}:00:00Z" for n in range(60)]
        one = {**SERIES, "direction": "lower"}
        self.stub.answers[("GET", "/api/v1/projects/p/series")] = {
            "series": [{**one, "spark": levels}, {**one, "id": 8, "direction": "higher", "spark": levels}], "next_cursor": None}
        printed = self.expect(self.perfci("series", "--project", "p", "--json"), 0).stdout
        self.assertIn("spark=200", self.stub.calls[-1][1])
        found = [json.loads(line) for line in self.expect(self.perfci("detect", "--json", text=printed), 1).stdout.splitlines()]
        self.assertEqual([[c["index"] for c in f["changes"]] for f in found], [[30], [30]])
        self.assertEqual([f["changes"][0]["direction"] for f in found], ["regression", "improvement"])
        self.assertEqual(found[0]["id"].split()[0], "7")
        # One, with its times; what the machine did is left out, as the service leaves it out.
        infra = [n == 40 for n in range(60)]
        self.stub.answers[("GET", "/api/v1/series/7")] = {"series": one, "changes": [], "columns": {
            "time": times, "median": [999 if i else v for v, i in zip(levels, infra)], "infra": infra}}
        printed = self.expect(self.perfci("series", "7", "--json"), 0).stdout
        found = json.loads(self.expect(self.perfci("detect", "--json", text=printed), 1).stdout)
        self.assertEqual([c["index"] for c in found["changes"]], [30])

    def test_csv_has_a_header_and_unrounded_values(self):
        rows = list(csv.DictReader(io.StringIO(self.perfci("series", "--project", "p", "--csv").stdout)))
        self.assertEqual(len(rows), 1)
        self.assertEqual(rows[0]["id"], "7")
        self.assertEqual(float(rows[0]["last"]), SERIES["last"]["median"])
        self.assertEqual(float(rows[0]["change"]), SERIES["change"]["rel_change"])
        self.assertEqual(float(rows[0]["noise"]), SERIES["noise_rel"])
        rows = list(csv.DictReader(io.StringIO(self.perfci("jobs", "--csv").stdout)))
        self.assertEqual(rows[0]["commit"], "a" * 40)
        self.stub.answers[("GET", "/api/v1/jobs")] = {"jobs": []}
        self.assertEqual(len(self.perfci("jobs", "--csv").stdout.splitlines()), 1)
        self.expect(self.perfci("jobs", "--csv", "--json"), 2)

    def test_answers_of_the_service_are_sentences(self):
        for number, status, sentence, hint in ((4, 2, "perfci jobs: no job 4 ", "check the name or number"),
                                               (5, 2, "perfci jobs: the token is not valid\n", "set PERFCI_TOKEN_FILE"),
                                               (6, 5, "perfci jobs: the service at ", "try again")):
            done = self.expect(self.perfci("jobs", str(number)), status)
            self.assertTrue(done.stderr.startswith(sentence), done.stderr)
            self.assertEqual(done.stderr.count("\n"), 2, done.stderr)
            self.assertIn("\nhint: " + hint, done.stderr)
            self.assertNotIn("/api/v1", done.stderr)

    def test_every_command_names_the_option_that_is_wrong(self):
        listed = self.perfci("--help").stdout.partition("Commands:\n")[2].partition("\n\n")[0]
        commands = [[line.split()[0]] for line in listed.splitlines()]
        self.assertGreater(len(commands), 20)
        parts = {"accel": ("run", "chips"), "trace": ("export", "check", "schema")}
        commands = [c for c in commands if c[0] not in parts] + [[c, part] for c, names in parts.items() for part in names]
        for command in commands:
            done = self.expect(self.perfci(*command, "--no-such-option"), 2)
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr.splitlines()[0],
                             f"perfci {' '.join(command)}: unknown option \"--no-such-option\"")
            self.assertTrue(done.stderr.splitlines()[1].startswith("hint: "))
        done = self.expect(self.perfci("run", "--flter", "x"), 2)
        self.assertIn('hint: did you mean "--filter"?', done.stderr)
        done = self.expect(self.perfci("jobs", "--limit"), 2)
        self.assertIn('option "--limit" needs a value', done.stderr)
        done = self.expect(self.perfci("jobs", "--quiet=3"), 2)
        self.assertIn('option "--quiet" takes no value, got "3"', done.stderr)
        done = self.expect(self.perfci("jobs", "-x"), 2)
        self.assertIn('unknown option "-x"', done.stderr)
        # The words after -- are a command to measure, with options of its own.
        self.assertNotIn("unknown option", self.perfci("run", "--", "true", "--no-such-option").stderr)


if __name__ == "__main__":
    support.main()
