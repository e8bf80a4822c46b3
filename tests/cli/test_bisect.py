"""perfci bisect holds its contract: the answer, the exit status, the state it keeps, the repository it leaves alone."""

import fcntl
import http.server
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading

import listed
import support
import tier

# Answers for the commit in $1: its value in values/, with up to 1 % of error that depends on the number of the call alone.
# At call number $(cat block) it says so in `blocked` and never comes back.
KEYS = {"verdict", "culprits", "runs", "builds", "commits_measured", "seconds", "difference", "stopped", "canary", "confirmed", "unconfirmed", "evidence"}
LEFT = {"budget_runs", "candidates", "likeliest", "probability_none", "expected_more_runs"}


class Remote(support.Case):
    """bisect --remote against a service that answers what a test says."""

    def serve(self, **answer):
        base = {"id": 3, "project": "p", "mode": "remote", "state": "done", "metric": "t_ns", "good": "a" * 40, "bad": "b" * 40,
                "verdict": "inconclusive", "culprits": [], "reason": "", "runs": 6, "builds": 0, "commits_measured": 2,
                "commits": 40, "seconds": 9, "expected_runs": 0, "expected": {"runs": 12, "runners": 1}, "steps": [],
                "failure": None, **answer}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps(base).encode()
                self.send_response(201 if self.command == "POST" else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return ["bisect", "--remote", "--url", f"http://127.0.0.1:{server.server_address[1]}", "--project", "p", "--metric", "t_ns",
                "--good", "a" * 40, "--bad", "b" * 40]

    COUNTS = {"stored": 6, "measured": 0, "broken": 0, "failed": 0, "timed_out": 0, "waiting": 0}

    def failed(self, state, reason, infrastructure=False):
        return self.serve(reason="6 runs did not decide it", counts={**self.COUNTS, state: 2},
                          failure={"commit": "c" * 40, "job_id": 17, "state": state, "reason": reason,
                                   "infrastructure": infrastructure},
                          steps=[{"n": 7, "commit": "c" * 40, "value": None, "state": state, "stored": False, "reason": reason}])

    def test_a_failed_job_is_quoted_first_and_stored_runs_are_no_measurements(self):
        done = self.expect(self.perfci(*self.failed("broken", "broken: build failed: main.c:3: error: \x1b[31mno b\x1b[0m")), 4)
        first, *rest = done.stdout.splitlines()
        self.assertEqual(first, "cccccccccccc broken (job 17): broken: build failed: main.c:3: error: ?[31mno b?[0m")
        self.assertIn("0 newly measured, 6 stored runs used, 2 broken", rest[-1])
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertIn("broken: build failed", done.stderr)

    def test_a_runner_that_is_lost_is_infrastructure(self):
        for state, reason in (("timed_out", "timed out: 90 s"), ("failed", "the lease ran out 3 times, last with r1")):
            done = self.expect(self.perfci(*self.failed(state, reason, True)), 5)
            self.assertIn(reason, done.stdout.splitlines()[0])

    def test_what_was_measured_keeps_its_verdict_in_spite_of_a_failed_job(self):
        culprit = {"commits": ["d" * 40], "probability": 0.99, "rel_change": 0.05, "rel_low": 0.04, "rel_high": 0.06}
        failure = {"commit": "c" * 40, "job_id": 17, "state": "broken", "reason": "no", "infrastructure": False}
        counts = {**self.COUNTS, "measured": 3, "broken": 1}
        done = self.expect(self.perfci(*self.serve(verdict="found", culprits=[culprit], counts=counts, failure=failure)), 1)
        self.assertIn("3 newly measured, 6 stored runs used, 1 broken", done.stdout)
        self.expect(self.perfci(*self.serve(counts=counts, failure=failure)), 3)
        self.expect(self.perfci(*self.serve(counts=self.COUNTS)), 3)
        doc = self.json_of(self.perfci(*self.serve(counts=counts, failure=failure), "--json"), 3)
        self.assertEqual((doc["counts"], doc["failure"]), (counts, failure))


class Listed(listed.Case):
    def bisect(self, *more, status=1):
        doc = self.json_of(self.perfci(*self.command(*more)), status)
        self.assertEqual(set(doc), KEYS | LEFT if doc["stopped"] == "budget" else KEYS)
        return doc

    def calls(self):
        with open(self.path("calls"), encoding="ascii") as f:
            return f.read().split()

    def test_the_commit_that_made_it_slower_is_named(self):
        self.history(*[100] * 11, *[115] * 9)
        doc = self.bisect()
        self.assertEqual(doc["verdict"], "found")
        culprit, = doc["culprits"]
        self.assertEqual(set(culprit), {"commits", "probability", "rel_change", "rel_low", "rel_high", "unmeasurable"})
        self.assertEqual(culprit["commits"], ["c11"])
        self.assertGreaterEqual(culprit["probability"], 0.99)
        self.assertAlmostEqual(culprit["rel_change"], 0.15, delta=0.03)
        self.assertEqual(doc["runs"], len(self.calls()))
        self.assertEqual(doc["commits_measured"], len(set(self.calls())))

    def test_without_a_step_there_is_no_regression(self):
        self.history(*[100] * 16)
        doc = self.bisect("--delta", "0.15", status=0)
        self.assertEqual((doc["verdict"], doc["culprits"]), ("no-regression", []))

    def test_no_regression_comes_with_the_interval_that_shows_it(self):
        self.history(*[100] * 16)
        for better in ("--lower-is-better", "--higher-is-better"):
            doc = self.bisect(better, "--delta", "-0.04" if "higher" in better else "0.04", status=0)
            d = doc["difference"]
            self.assertEqual((doc["verdict"], d["within"], d["more_runs"]), ("no-regression", True, 0))
            self.assertAlmostEqual(d["margin"], 0.02, delta=0.001)
            # Only the worse side counts: the other one may be an improvement.
            self.assertGreaterEqual(d["rel_low"], -d["margin"]) if "higher" in better else self.assertLessEqual(d["rel_high"], d["margin"])
            for key in ("rel_change", "rel_low", "rel_high"):
                self.assertAlmostEqual(doc["evidence"]["comparison"][key], d[key], delta=1e-9)
            done = self.expect(self.perfci(*[a for a in self.command(better, "--delta=0.04") if a != "--json"], "--markdown"), 0)
            self.assertRegex(done.stdout, r"not reproduced; the ends differ by [-+]\d\.\d % \(.* \.\. .*\), margin 2 %")

    @tier.long
    def test_too_little_evidence_is_not_decided_and_says_what_would_decide(self):
        self.history(*[100] * 16)
        for better in ("--lower-is-better", "--higher-is-better"):
            doc = self.bisect(better, "--margin", "0.002", "--delta=0.04", "--max-runs", "40", status=3)
            d = doc["difference"]
            self.assertEqual((doc["verdict"], doc["culprits"], doc["stopped"], d["within"]), ("inconclusive", [], "budget", False))
            self.assertGreater(d["more_runs"], 40)
            self.assertEqual(doc["expected_more_runs"], d["more_runs"])
            self.assertGreater(-d["rel_low"] if "higher" in better else d["rel_high"], 0.002)
            for form in ([], ["--markdown"]):
                done = self.perfci(*[a for a in self.command(better, "--margin", "0.002", "--delta=0.04", "--max-runs", "40") if a != "--json"], *form)
                self.assertRegex(self.expect(done, 3).stdout, r"margin 0\.2 %; about \d+ more runs expected")
        # The runs that it asked for decide it, give or take chance.
        doc = self.bisect("--higher-is-better", "--margin", "0.002", "--delta=0.04", "--resume", "--max-runs", str(40 + 4 * int(d["more_runs"])), status=0)
        self.assertTrue(doc["difference"]["within"])

    def test_a_throughput_that_falls_is_a_regression_too(self):
        self.history(*[100] * 5, *[85] * 11)
        for known in (["--higher-is-better"], ["--delta=-0.15"], ["--metric", "gemm_tflops"]):
            self.assertEqual(self.bisect(*known)["culprits"][0]["commits"], ["c05"], known)

    def test_commits_that_cannot_be_measured_are_stepped_over(self):
        self.history(*[100] * 4, "broken", *[100] * 4, "broken", "broken", *[120] * 7)
        doc = self.bisect()
        self.assertIn(doc["verdict"], ("range", "found"))
        # c09 and c10 do not build: any of the three may have done it.
        self.assertEqual([c["commits"] for c in doc["culprits"]], [["c09", "c10", "c11"]])

    def test_failed_runs_are_tried_again(self):
        self.history(*["flaky"] * 8, *[120] * 8)
        self.assertEqual(self.bisect()["culprits"][0]["commits"], ["c08"])

    def test_an_end_that_cannot_be_measured_is_status_four(self):
        self.history("broken", *[100] * 8)
        done = self.expect(self.perfci(*self.command()), 4)
        self.assertIn("good commit, c00", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_the_ends_may_lie_inside_the_list(self):
        self.history(*[100] * 4, *[120] * 6, *[150] * 6)
        self.assertEqual(self.bisect("--good", "c05", "--bad", "c13")["culprits"][0]["commits"], ["c10"])
        self.expect(self.perfci(*self.command("--good", "c55")), 2)
        self.expect(self.perfci(*self.command("--good", "c05", "--bad", "c02")), 2)

    def test_metrics_in_json_are_read(self):
        self.history(*[100] * 8, *[120] * 8)
        command = f"v=$({self.script} $PERFCI_COMMIT) || exit $?; " \
                  "echo '{\"metrics\": {\"other\": 5, \"latency\": '$v'}}'"
        doc = self.json_of(self.perfci("bisect", "--commits", self.path("ids"), "--no-checkout", "--measure", command,
                                       "--metric", "latency", "--json"), 1)
        self.assertEqual(doc["culprits"][0]["commits"], ["c08"])
        done = self.perfci("bisect", "--commits", self.path("ids"), "--no-checkout", "--measure", command, "--metric",
                           "absent", "--json")
        self.assertIn("latency", self.expect(done, 2).stderr)

    def test_bad_lists_and_flags_are_named(self):
        self.history(100, 120)
        for text, said in (("c00\n", "two"), ("c00\nc01\nc00\n", "twice"), ("c00\n\nc 1\n", "line 3"), ("", "two")):
            self.write("ids", text)
            self.assertIn(said, self.expect(self.perfci(*self.command()), 2).stderr)
        self.expect(self.perfci(*self.command("--confidence", "2")), 2)
        self.expect(self.perfci("bisect", "--no-checkout", "--commits", self.path("ids")), 2)

    def test_swapped_ends_are_offered_the_right_way_round(self):
        self.history(*[100] * 8)
        done = self.expect(self.perfci(*self.command("--good", "c05", "--bad", "c02")), 2)
        self.assertIn("did you mean --good c02 --bad c05?", done.stderr)

    def test_a_bad_end_that_is_better_is_said(self):
        self.history(*[120] * 8, *[100] * 8)
        done = self.expect(self.perfci(*[a for a in self.command("--lower-is-better") if a != "--json"]), 0)
        self.assertIn("not reproduced", done.stdout)
        self.assertIn("are the ends swapped", done.stdout)

    def test_a_command_that_prints_no_usable_number_is_named(self):
        self.history(100, 100, 120)
        for text, said in (("", "no result"), ("fast enough", "no result"), ("nan", "nan"), ("-3", "above zero"), ("0", "above zero")):
            done = self.perfci("bisect", "--commits", self.path("ids"), "--no-checkout", "--measure", f"echo '{text}'")
            self.expect(done, 4)
            last = done.stderr.strip().splitlines()[-2]
            self.assertIn("the good commit, c00, cannot be measured", last)
            self.assertIn(said, last.lower(), text)

    @tier.long
    def test_what_one_commit_prints_instead_of_a_number_costs_that_commit_alone(self):
        # The commit before the step has no value: it cannot be separated from the step, and the sentence gives the reason.
        self.history(*[100] * 8, "odd", *[120] * 7)
        for does, said in (("true", "got nothing"), ("echo fast", "fast"),
                           ("echo nan", 'got "nan"'), ("echo 1e400", 'got "1e400"'), ("echo 100; echo nan", "printed no result"),
                           ("echo -5", "got -5"), ("""echo '{"metrics": {"other": 3}}'""", "there is: headline other"),
                           ("exit 7", "exit status 7"), ("kill -9 $$", "signal 9"), ("exit 125", "exit status 125")):
            self.env["ODD"] = does
            done = self.perfci(*self.command())
            doc = self.json_of(done, 1)
            self.assertEqual((doc["verdict"], [c["commits"] for c in doc["culprits"]]), ("range", [["c08", "c09"]]), does)
            line = next(line for line in done.stderr.splitlines() if "] c08: " in line and "suspects" not in line)
            self.assertIn(said, line)
        # A command that does not end counts as slow: one commit, not two.
        self.env["ODD"] = "exec sleep 600"
        done = self.perfci(*self.command("--timeout", "4s"))
        self.assertEqual([c["commits"] for c in self.json_of(done, 1)["culprits"]], [["c08"]])
        self.assertIn("c08: timed out: the measuring command: no end within its time limit", done.stderr)

    def test_several_numbers_are_samples_of_one_run(self):
        self.history(*[100] * 8, *[120] * 8)
        doc = self.json_of(self.perfci("bisect", "--commits", self.path("ids"), "--no-checkout", "--json", "--measure",
                                       f'v=$({self.script} "$PERFCI_COMMIT"); echo "$v"; echo 5000; echo "$v"'), 1)
        self.assertEqual(doc["culprits"][0]["commits"], ["c08"])

    def test_a_command_that_hangs_at_the_good_commit_ends_by_its_time_limit(self):
        self.history(100, 120)
        done = self.expect(self.perfci("bisect", "--commits", self.path("ids"), "--no-checkout", "--timeout", "0.1s",
                                       "--measure", "exec sleep 600"), 4)
        self.assertIn("the good commit, c00, cannot be measured", done.stderr)

    def test_a_spent_budget_is_inconclusive_and_says_what_is_known(self):
        self.history(*[100] * 16, *[115] * 16)
        doc = self.bisect("--max-runs", "10", status=3)
        self.assertEqual((doc["culprits"], doc["stopped"], doc["budget_runs"]), ([], "budget", 10))
        self.assertTrue(2 <= doc["candidates"] <= 31, doc)
        self.assertGreater(doc["expected_more_runs"], 1)
        said = f"Budget of 10 runs used; {doc['candidates']} candidates remain; most likely {doc['likeliest']['commit']} " \
               f"(probability {doc['likeliest']['probability']:.2f}); {doc['expected_more_runs']:.0f} more runs expected."
        plain = [a for a in self.command("--max-runs", "10", "--resume") if a != "--json"]
        for form in ([], ["--markdown"]):
            done = self.expect(self.perfci(*plain, *form), 3)
            self.assertIn(said, done.stdout)
            self.assertNotIn("no run can tell", done.stdout)
        self.assertIn("the budget of 10 runs ended before they were separated", done.stdout)
        # That many more runs decide it, within the precision of a few simulations of the plan.
        more = str(10 + 3 * int(doc["expected_more_runs"]))
        self.assertEqual(self.bisect("--resume", "--max-runs", more)["culprits"][0]["commits"], ["c16"])

    def test_commits_between_that_do_not_build_are_no_matter_of_budget(self):
        self.history(*[100] * 4, *["broken"] * 3, *[120] * 5)
        doc = self.bisect()
        culprit, = doc["culprits"]
        self.assertEqual((doc["verdict"], culprit["commits"], culprit["unmeasurable"], doc["stopped"]),
                         ("range", ["c04", "c05", "c06", "c07"], True, None))
        done = self.expect(self.perfci(*[a for a in self.command("--resume") if a != "--json"]), 1)
        self.assertIn("no run can separate them, because the commits between the two cannot be measured", done.stdout)
        self.assertNotIn("Budget", done.stdout)

    def test_a_named_commit_is_confirmed_by_new_interleaved_pairs(self):
        self.history(*[100] * 8, *[120] * 8)
        doc = self.bisect("--confirm")
        self.assertEqual((doc["verdict"], doc["confirmed"]), ("found", True))
        done = doc["evidence"]["attribution"][0]["confirmation"]
        self.assertEqual(done["verdict"], "confirmed")
        self.assertLess(done["p"], 0.01)
        last = self.calls()[-2 * done["pairs"]:]
        self.assertEqual((last.count("c07"), last.count("c08")), (done["pairs"], done["pairs"]))
        # Finished, the same again is known by heart; about the two commits alone it finds the same.
        before = len(self.calls())
        self.assertEqual(self.bisect("--confirm", "--resume")["evidence"], doc["evidence"])
        self.assertEqual(len(self.calls()), before)
        self.assertIn("--good c07 --bad c08 --confirm", doc["evidence"]["attribution"][0]["repeat"])

    def test_a_change_that_new_pairs_do_not_show_is_no_verdict(self):
        # A machine that is slow only while it is searched: c08 and later, until the 40th call.
        self.history(*[100] * 16)
        command = 'n=$(wc -l < calls); echo "$PERFCI_COMMIT" >> calls; [ "$n" -lt 16 ] && [ "$PERFCI_COMMIT" \\> c07 ] && ' \
                  'v=120 || v=100; awk -v v=$v -v n=$n \'BEGIN { print v * (1 + (n * 7 % 11 - 5) / 2000) }\''
        doc = self.json_of(self.perfci("bisect", "--commits", self.path("ids"), "--no-checkout", "--json", "--confirm",
                                       "--noise", "0.002", "--measure", command, "--max-runs", "120"), None)
        self.assertNotEqual(doc["verdict"], "found")
        self.assertEqual(doc["culprits"], [])

    # A machine with two speeds that last for some dozen runs; the call's number alone decides.
    STATES = 'n=$(wc -l < "$HERE/calls"); echo "$PERFCI_COMMIT" >> "$HERE/calls"; ' \
             'awk -v v="$(cat "$HERE/values/$PERFCI_COMMIT")" -v n=$n \'BEGIN { srand(7); for (i = 0; i <= n; i++) slow = rand() < 0.08 ? !slow : slow; ' \
             'print v * (slow ? 1.09 : 1) * (1 + (n * 7 % 11 - 5) / 5000) }\''

    @tier.long
    def test_a_machine_with_two_speeds_is_searched_in_pairs(self):
        self.history(*[100] * 9, *[101.2] * 7)
        command = [*self.command("--paired", "--confirm", "--noise", "0.03")]
        command[command.index("--measure") + 1] = self.STATES
        doc = self.json_of(self.perfci(*command), 1)
        self.assertEqual([c["commits"] for c in doc["culprits"]], [["c09"]])
        # Both sides count, and every unit begins with its own commit; the first is three pairs.
        calls = self.calls()
        self.assertEqual(doc["runs"], len(calls))
        self.assertEqual(calls[:8], ["c00"] * 6 + ["c15", "c00"])
        pairs = doc["evidence"]["pairs"]
        self.assertLess(pairs["noise_rel"], 0.004)
        self.assertAlmostEqual(doc["evidence"]["comparison"]["rel_change"], 0.012, delta=0.003)
        # Half a budget stops in the midst of a unit, and the rest goes on from there.
        self.write("calls", "")
        self.expect(self.perfci(*command, "--max-runs", "23"), 3)
        self.assertEqual(len(self.calls()), 23)
        again = self.json_of(self.perfci(*command, "--resume"), 1)
        self.assertEqual((again["culprits"], again["runs"], self.calls()), (doc["culprits"], doc["runs"], calls))
        # It is known by heart, also that it was paired.
        known = self.json_of(self.perfci(*[a for a in command if a != "--paired"], "--resume"), 1)
        self.assertEqual(known["evidence"]["pairs"], pairs)
        self.assertEqual(len(self.calls()), len(calls))
        shown = self.json_of(self.perfci(*command, "--dry-run"))
        self.assertGreater(shown["expected_runs"], 0)
        self.expect(self.perfci("bisect", "--remote", "--paired", "--good", "c00", "--bad", "c15"), 2)

    def test_the_report_reads_as_markdown_too(self):
        self.history(*[100] * 8, *[120] * 8)
        done = self.perfci(*[a for a in self.command("--markdown") if a != "--json"])
        self.expect(done, 1)
        for said in ("### perfci bisect: found", "- `c08`", "- **baseline**", "- **attribution**", "repeat:\n\n    perfci bisect"):
            self.assertIn(said, done.stdout)

    def test_another_axis_is_searched_with_the_code_fixed(self):
        self.write("points", "gcc-12\nclang-15\nO2\tCOST=100\nO2-lto\tCOST=100\nO3\tCOST=130\nOfast\tCOST=130\n")
        doc = self.json_of(self.perfci("bisect", "--axis", "toolchain", "--points", self.path("points"), "--no-checkout", "--json",
                                       "--noise", "0.001", "--measure", 'echo "$PERFCI_POINT" >> calls; echo "${COST:-100}"'), 1)
        self.assertEqual(doc["culprits"][0]["commits"], ["O3"])
        self.assertLessEqual(set(self.calls()), {"gcc-12", "clang-15", "O2", "O2-lto", "O3", "Ofast"})
        for text, said in (("a\nb c\n", "line 2"), ("a\tX\nb\n", "VAR=value"), ("a\n", "two"), ("a\nb\na\n", "twice")):
            self.write("points", text)
            done = self.perfci("bisect", "--axis", "toolchain", "--points", self.path("points"), "--no-checkout", "--measure", "echo 1")
            self.assertIn(said, self.expect(done, 2).stderr)
        self.expect(self.perfci("bisect", "--axis", "moon", "--measure", "echo 1"), 2)

    def test_a_dry_run_measures_nothing(self):
        self.history(*[100] * 32, *[115] * 32)
        doc = self.json_of(self.perfci(*self.command("--dry-run", "--noise", "0.01", "--delta", "0.15")))
        self.assertEqual(doc["commits"], 64)
        self.assertGreater(doc["expected_runs"], 2)
        self.assertEqual(self.calls(), [])

    def plain(self, *more):
        return self.expect(self.perfci(*[a for a in self.command(*more) if a != "--json"]), 0).stdout.splitlines()

    def test_a_dry_run_prints_runs_time_and_queue_and_builds_only_where_it_builds(self):
        self.history(*[100] * 16, *[120] * 16)
        known = ["--dry-run", "--noise", "0.01", "--delta", "0.2"]
        alone = self.json_of(self.perfci(*self.command(*known)))
        lines = self.plain(*known)
        self.assertEqual(lines[0], f"32 commits, about {alone['expected_runs']:.0f} runs, "
                                   f"{alone['expected_runs_most']:.0f} at most in a few simulations")
        self.assertEqual(lines[1:], ["time: unknown before the first run", "queue wait: none, everything runs here"])
        # The confirmation comes on top, of the mean and of the most; its pairs are two runs each.
        both = self.json_of(self.perfci(*self.command(*known, "--confirm")))
        confirm = both["expected_confirmation_runs"]
        self.assertEqual((alone["expected_confirmation_runs"], alone["queue_wait_seconds"]), (0, 0))
        self.assertGreaterEqual(confirm, 2)
        for key in ("expected_runs", "expected_runs_most"):
            self.assertAlmostEqual(both[key], alone[key] + confirm)
        self.assertIn(f" ({confirm:.0f} of them confirm the answer), ", self.plain(*known, "--confirm")[0])
        # A smaller change takes more pairs, in either direction.
        less = self.json_of(self.perfci(*self.command("--dry-run", "--confirm", "--noise", "0.01", "--delta", "0.01")))
        drop = self.json_of(self.perfci(*self.command("--dry-run", "--confirm", "--noise", "0.01", "--delta", "-0.01")))
        self.assertGreater(less["expected_confirmation_runs"], confirm)
        self.assertGreater(drop["expected_confirmation_runs"], confirm)
        # Every layout is a build, and so is each of the confirmation's runs.
        layouts = self.json_of(self.perfci(*self.command(*known, "--confirm", "--relink")))
        self.assertAlmostEqual(layouts["expected_builds"], both["expected_builds"] + layouts["expected_confirmation_runs"], delta=2)
        # In pairs a question of the plan takes two runs.
        pairs = self.plain("--dry-run", "--paired")
        self.assertEqual(pairs[1], "interleaved with the good commit's build: the runs of both sides are counted")
        self.assertEqual(self.calls(), [])

    def test_a_dry_run_multiplies_runs_by_the_time_of_kept_ones(self):
        self.history(*[100] * 8, *[120] * 8)
        self.bisect()
        doc = self.json_of(self.perfci(*self.command("--dry-run")))
        [path] = [name for name in os.listdir(self.path(".perfci")) if name.endswith(".json")]
        with open(self.path(".perfci", path)) as file:
            state = json.load(file)
        times = sorted(step["measure_s"] for step in state["steps"])
        middle = (times[(len(times) - 1) // 2] + times[len(times) // 2]) / 2
        self.assertAlmostEqual(doc["expected_seconds"], doc["expected_runs"] * middle, places=9)
        self.assertRegex("\n".join(self.plain("--dry-run")), r"\nabout [^\n]+, by the times of an earlier call\n")

    def test_the_largest_step_is_confirmed_first_and_further_ones_get_few_pairs(self):
        for sign, flag in ((1, "--lower-is-better"), (-1, "--higher-is-better")):
            self.write("calls", "")
            self.history(*[100] * 8, *[100 * 1.1 ** sign] * 8, *[100 * 1.5 ** sign] * 8)
            doc = self.bisect("--confirm", flag)
            self.assertEqual(sorted(c["commits"][0] for c in doc["culprits"]), ["c08", "c16"])
            [path] = [name for name in os.listdir(self.path(".perfci")) if name.endswith(".json")]
            with open(self.path(".perfci", path)) as file:
                order = [step["commit"] for step in json.load(file)["steps"] if step.get("confirm")]
            pairs = {tuple(sorted({a["before"]["commit"], a["after"]["commit"]})): a["confirmation"]["pairs"]
                     for a in doc["evidence"]["attribution"]}
            large, small = pairs[("c15", "c16")], pairs[("c07", "c08")]
            self.assertEqual(set(order[:2 * large]), {15, 16})
            self.assertEqual(set(order[2 * large:]), {7, 8})
            self.assertLessEqual(small, max(16, 1.5 * large))
            os.remove(self.path(".perfci", path))

    def test_a_dry_run_plans_what_a_call_would_do(self):
        self.history(*[100] * 8, *[120] * 8)
        fresh = self.json_of(self.perfci(*self.command("--dry-run")))
        self.assertIsNone(fresh["expected_seconds"])
        self.bisect()
        before = len(self.calls())
        # A call without --resume would measure all of it again; one with it knows the answer.
        again = self.json_of(self.perfci(*self.command("--dry-run")))
        self.assertEqual(again["expected_runs"], fresh["expected_runs"])
        self.assertGreater(again["expected_seconds"], 0)
        kept = self.json_of(self.perfci(*self.command("--dry-run", "--resume")))
        self.assertLess(kept["expected_runs"], fresh["expected_runs"])
        self.assertEqual(len(self.calls()), before)

    def interrupted(self, sig):
        """Starts, sends the signal in the middle of the fifth measurement, returns (status, stdout)."""
        self.history(*[100] * 7, *[115] * 9)
        self.write("block", "5")
        with subprocess.Popen([support.PERFCI, *self.command()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=self.env, cwd=self.dir, text=True) as p:
            support.wait_for(lambda: os.path.exists(self.path("blocked")), "the fifth measurement")
            p.send_signal(sig)
            out, _ = p.communicate(timeout=support.DEADLINE_S)
        os.remove(self.path("block"))
        return p.returncode, out

    def test_a_kill_costs_the_measurement_under_way_and_no_other(self):
        status, _ = self.interrupted(signal.SIGKILL)
        self.assertEqual(status, -signal.SIGKILL)
        self.assertEqual(len(self.calls()), 5)
        doc = self.bisect("--resume")
        self.assertEqual(doc["culprits"][0]["commits"], ["c07"])
        # Four were kept, the fifth is lost; every other call is a run that counts.
        self.assertEqual(doc["runs"], len(self.calls()) - 1)
        # Finished, it knows the answer by heart; without --resume it starts afresh.
        before = len(self.calls())
        self.assertEqual(self.bisect("--resume")["culprits"], doc["culprits"])
        self.assertEqual(len(self.calls()), before)
        self.bisect()
        self.assertGreater(len(self.calls()), before)

    def test_ctrl_c_keeps_everything_and_is_inconclusive(self):
        status, out = self.interrupted(signal.SIGINT)
        self.assertEqual(status, 3)
        doc = json.loads(out)
        self.assertEqual((doc["verdict"], doc["culprits"], doc["runs"]), ("inconclusive", [], 4))
        self.assertEqual(self.bisect("--resume")["culprits"][0]["commits"], ["c07"])

    def test_a_damaged_state_is_said_not_guessed(self):
        self.interrupted(signal.SIGKILL)
        name, = os.listdir(self.path(".perfci"))
        self.write(os.path.join(".perfci", name), '{"version": 1, "key": ')
        self.assertIn(name, self.expect(self.perfci(*self.command("--resume")), 2).stderr)

    def test_a_report_has_at_most_15_lines_and_names_what_it_leaves_out(self):
        # c05 to c10 do not build: the set of suspects is c05 to c11
        self.history(*[100] * 5, *["broken"] * 6, *[120] * 5)
        command = [a for a in self.command("--confirm") if a != "--json"]
        short = self.expect(self.perfci(*command), 1).stdout.splitlines()
        whole = self.expect(self.perfci(*command, "--verbose"), 1).stdout.splitlines()
        self.assertLessEqual(len(short), 15)
        self.assertEqual(sum(line.startswith("c0") for line in short), 3)
        self.assertIn("and 4 more commits: --verbose or --json prints all", short)
        self.assertEqual(sum(bool(re.match("c(0[5-9]|1[01]) ", line)) for line in whole), 7)

    def test_a_terminal_shows_the_search_live(self):
        self.history(*[100] * 8, *[120] * 8)
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.dir)
            os.execve(support.PERFCI, [support.PERFCI, *[a for a in self.command("--confirm") if a != "--json"]],
                      {**self.env, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 90, 0, 0))
        out = b""
        while True:
            try:
                part = os.read(fd, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            out += part
        os.close(fd)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 1)
        frames = [f.replace("\x1b[3A", "").replace("\r", "").splitlines() for f in out.decode().split("\x1b[J")[1:]]
        views = [f for f in frames if len(f) == 4 and f[3].startswith("[")]
        self.assertGreater(len(views), 10)
        self.assertEqual(views[0][0], "searching 16 commits, from c00 to c15")
        for title, bar, suspects, status in views:
            self.assertRegex(bar, "^c00 \\|[ \u2581-\u2588]{15}\\| c15$")
            self.assertRegex(suspects, r"^suspects: (none has 5 % yet|c\d\d 0\.\d\d(   c\d\d 0\.\d\d){0,2})$")
            self.assertRegex(status, r"^\[\d+(/\d+)?\] measuring c\d\d; .* spent(, about .* left)?$")
            self.assertLessEqual(max(len(title), len(bar), len(suspects), len(status)), 90)
        self.assertEqual(views[-1][0], listed.CONFIRMING)
        self.assertEqual(views[-1][1], "c00 |       \u2588       | c15")
        self.assertTrue(any(re.match(r"\[\d+/\d+\] .*, about .* left$", v[3]) and "c08 0." in v[2] for v in views))
        self.assertIn("confirmed by new pairs", "".join(frames[-1]))

    def test_the_table_names_the_culprit(self):
        self.history(*[100] * 8, *[120] * 8)
        done = self.perfci(*[a for a in self.command() if a != "--json"], "--color=never")
        self.expect(done, 1)
        self.assertRegex(done.stdout, r"c08 +(0\.99\d*|1\.0+) +\+\d+\.\d %")
        self.assertRegex(done.stdout, r"\d+ runs, ")


if __name__ == "__main__":
    support.main()
