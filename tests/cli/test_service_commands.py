"""The exact requests of commands to the service, and how they show answers at the ends of their ranges."""

import datetime
import json

import support
from stub import Stub

ID = {c: c * 40 for c in "abcdef"}


def ago(seconds):
    return (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Commands(support.Case):
    def setUp(self):
        super().setUp()
        self.stub = Stub({})
        self.addCleanup(self.stub.close)
        self.env.update(PERFCI_URL=self.stub.url)

    def asked(self, *args, answer=None, status=0):
        """The calls of a command: method, path, body. Whatever it asks, it gets this answer."""
        class Any(dict):
            def get(self, key, default=None):
                return answer if answer is not None else {}

        self.stub.answers, self.stub.calls[:] = Any(), []
        self.done = self.expect(self.perfci(*args), status)
        return list(self.stub.calls)

    def test_lists_ask_for_what_the_flags_say(self):
        for args, path in (
                (["alerts"], "/api/v1/alerts?state=open&grouped=true&limit=100"), (["alerts", "--all"], "/api/v1/alerts?grouped=true&limit=100"),
                (["alerts", "--state", "noise", "--each", "--sort", "worth", "--limit", "7"], "/api/v1/alerts?state=noise&sort=worth&limit=7"),
                (["alerts", "--project", "a b"], "/api/v1/alerts?project=a%20b&state=open&grouped=true&limit=100"),
                (["alerts", "--owner", "@a b"], "/api/v1/alerts?state=open&owner=%40a%20b&grouped=true&limit=100"),
                (["project", "owners", "p"], "/api/v1/projects/p/owners"),
                (["jobs"], "/api/v1/jobs?limit=100"), (["jobs", "--state", "queued", "--kind", "nightly", "--limit", "3", "--project", "p"],
                                                     "/api/v1/jobs?project=p&state=queued&kind=nightly&limit=3"),
                (["events"], "/api/v1/environment?limit=100"), (["events", "--open", "--limit", "2"], "/api/v1/environment?open=true&limit=2"),
                (["audit", "--project", "p"], "/api/v1/audit?project=p&limit=100"),
                (["series", "--project", "p"], "/api/v1/projects/p/series?limit=100"),
                (["series", "--project", "p", "--metric", "m", "--benchmark", "b", "--backend", "c", "--headline"],
                 "/api/v1/projects/p/series?metric=m&benchmark=b&backend=c&headline=1&limit=100"),
                (["series", "7"], "/api/v1/series/7"), (["why", "7"], "/api/v1/alerts/7/suspects"),
                (["coverage", "--project", "p"], "/api/v1/projects/p/coverage?commits=30&limit=100"),
                (["coverage", "--project", "p", "--branch", "b", "--commits", "5", "--benchmark", "x", "--backend", "y", "--machine-class", "z", "--limit", "9"],
                 "/api/v1/projects/p/coverage?branch=b&benchmark=x&backend=y&machine_class=z&commits=5&limit=9"),
                (["roofline", "--project", "p"], "/api/v1/projects/p/roofline"),
                (["roofline", "--project", "p", "--before", "v1.2~1", "--at", "main", "--select", "gemm k>=4096", "--backend", "y",
                  "--machine-class", "z", "--branch", "b"],
                 "/api/v1/projects/p/roofline?branch=b&a=v1.2~1&b=main&machine_class=z&backend=y&select=gemm%20k%3E%3D4096"),
                (["project", "list"], "/api/v1/projects?limit=1000"), (["token", "list"], "/api/v1/tokens"),
                (["token", "sessions"], "/api/v1/browser-sessions?limit=1000"),
                (["replay", "--show", "--project", "p"], "/api/v1/projects/p/detector")):
            self.assertEqual(self.asked(*args), [("GET", path, None)], args)

    def test_changes_are_sent_to_the_word(self):
        for args, call in (
                (["alerts", "set", "7", "--state", "noise", "--reason", "r"], ("PATCH", "/api/v1/alerts/7", {"state": "noise", "reason": "r"})),
                (["accept", "7", "--reason", "r"], ("PATCH", "/api/v1/alerts/7", {"accept": True, "reason": "r"})),
                (["accept", "7"], ("PATCH", "/api/v1/alerts/7", {"accept": True})),
                (["jobs", "cancel", "7"], ("DELETE", "/api/v1/jobs/7", None)),
                (["token", "create", "--scope", "read", "--scope", "ingest", "--project", "p", "--name", "n", "--expires", "2030-01-01T00:00:00Z"],
                 ("POST", "/api/v1/tokens", {"scopes": ["read", "ingest"], "project": "p", "name": "n", "expires_at": "2030-01-01T00:00:00Z"})),
                (["token", "rotate", "3"], ("POST", "/api/v1/tokens/3/rotate", {"overlap_s": 86400})),
                (["token", "rotate", "3", "--overlap", "2h"], ("POST", "/api/v1/tokens/3/rotate", {"overlap_s": 7200})),
                (["token", "revoke", "3"], ("DELETE", "/api/v1/tokens/3", None)),
                (["token", "sign-out", "3"], ("DELETE", "/api/v1/browser-sessions/3", None)),
                (["project", "create", "q", "--branch", "b", "--repo-url", "u"], ("POST", "/api/v1/projects", {"name": "q", "branch": "b", "repo_url": "u"})),
                (["project", "owners", "p", "--file", self.write("owners.txt", "kernel:gemm @a\n")],
                 ("POST", "/api/v1/projects/p/owners", {"rules": "kernel:gemm @a\n"})),
                (["project", "delete", "q", "--yes"], ("DELETE", "/api/v1/projects/q", None))):
            self.assertEqual(self.asked(*args), [call], args)
        for word, dismissed in (("dismiss", True), ("restore", False)):
            calls = self.asked("events", word, "5", "--reason", "r")
            self.assertEqual(calls, [("PATCH", "/api/v1/environment/5", {"dismissed": dismissed, "reason": "r"}), ("GET", "/api/v1/alerts?limit=1000&event=5", None)])

    def test_words_that_mean_nothing_are_not_sent(self):
        for args in (["alerts", "--state", "opened"], ["alerts", "set", "7", "--state", "open"], ["alerts", "set", "7"], ["alerts", "set"], ["alerts", "0"],
                     ["alerts", "--all", "--state", "noise"], ["jobs", "--state", "open"], ["jobs", "--kind", "night"], ["jobs", "end", "7"], ["jobs", "cancel"],
                     ["jobs", "0"], ["events", "drop", "5"], ["events", "0"], ["why", "0"], ["series", "0"], ["token", "create"], ["token", "revoke"], ["token", "sign-out"], ["token", "rotate", "0"],
                     ["token", "rotate", "3", "--overlap", "soon"], ["token", "drop", "3"], ["project", "create"], ["project", "create", "-x"], ["project", "delete", "A"],
                     ["project", "drop", "p"], ["project", "owners"], ["project", "owners", "p", "--file", self.write("bad.txt", "!x @a\n")], ["accept", "x"], ["replay", "--project", "p"], ["replay", "--show", "--config", "c"],
                     ["replay", "--config", "c", "--apply", "--branch", "b"], ["repro", "alert:0"], ["repro", "verification:4"], ["repro", "alert:4/1"], ["repro", "run:4"],
                     ["repro", "bisection:4/0"]):
            self.assertEqual(self.asked(*args, status=2), [], args)

    def test_a_project_goes_until_nothing_is_left(self):
        answers = [{"rows": 3, "rest": "p.2"}, {"rows": 4, "rest": None}]
        self.stub.answers = {("DELETE", "/api/v1/projects/p"): answers[0], ("DELETE", "/api/v1/projects/p.2"): answers[1]}
        self.assertEqual(self.json_of(self.perfci("project", "delete", "p", "--yes", "--json")), {"deleted": "p", "rows": 7})
        for status, said in ((200, "was there already"), (201, "made")):
            self.asked("project", "create", "q", answer=(status, {}))
            self.assertEqual(self.done.stdout, f"project q {said}\n")

    def test_coverage_queues_as_many_jobs_as_it_may(self):
        fills = [{"commit": ID[c], "machine_class": "bare", "missing": 2} for c in "abc"]
        self.stub.answers = {("GET", "/api/v1/projects/p/coverage"): {"branch": "b", "commits": [], "rows": [], "fills": fills, "never": []},
                             ("POST", "/api/v1/jobs"): (201, {"id": 1})}
        for most, left in ((2, 1), (3, 0), (4, 0)):
            self.stub.calls.clear()
            done = self.perfci("coverage", "--project", "p", "--fill", "--jobs", str(most), "--json")
            self.assertEqual(self.json_of(done)["left"], left)
            self.assertEqual([c[2] for c in self.stub.calls[1:]], [{"project": "p", "kind": "backfill", "commit": f["commit"], "branch": "b",
                                                                  "labels": {"machine_class": "bare"}} for f in fills[:most]])
            self.assertEqual(f"{left} more jobs would fill the rest" in done.stderr, left > 0)
        self.assertIn("\n6 gaps at 0 commits on branch b; 3 jobs would fill them: perfci coverage --fill\n", self.perfci("coverage", "--project", "p").stdout)

    def test_why_shows_ten_suspects_and_says_how_many_there_are(self):
        def answer(n):
            return {"alert_id": 7, "culprit": ID["b"], "sources": 1,
                    "suspects": [{"commit": ID["b"] if i == 1 else f"{i:040x}", "subject": f"s{i}", "probability": 0.125, "reasons": ["one", "two"]} for i in range(n)]}

        for count, args, shown, more in ((10, [], 10, None), (11, [], 10, 1), (12, [], 10, 2), (12, ["--all"], 12, None)):
            self.asked("why", "7", *args, answer=answer(count))
            self.assertEqual(sum(line.strip().startswith("12.5 %") for line in self.done.stdout.splitlines()), shown, self.done.stdout)
            self.assertEqual(f"and {more} less probable ones" in self.done.stderr, more is not None)
        self.assertIn("culprit: s1", self.done.stdout)
        self.assertEqual(self.done.stdout.count("culprit"), 1)

    def test_repro_takes_both_sides_of_what_was_found(self):
        b, c, d = ID["b"], ID["c"], ID["d"]
        alert = {"benchmark": "x/y", "backend": "cpu", "commit_low": b, "commit_high": c, "culprit": None, "kind": "step"}
        steps = {"benchmark": "", "good": b, "bad": c, "culprits": [], "steps": [{"commit": d}, {"commit": b}, {"n": 2, "commit": c}]}
        for id_, answer, words in (
                ("7", alert, f"compare '{b}^' {c} --filter"), ("alert:7", {**alert, "kind": "drift"}, f"compare {b} {c} --filter"),
                ("7", {**alert, "culprit": d}, f"compare '{d}^' {d} --filter"), ("bisection:7", steps, f"compare {b} {c}\n"),
                ("bisection:7", {**steps, "culprits": [{"commits": [d]}]}, f"compare '{d}^' {d}\n"),
                ("bisection:7", {**steps, "culprits": [{"commits": [d, c]}]}, f"compare {b} {c}\n"),
                ("bisection:7/1", steps, f"run --commit {d}\n"), ("bisection:7/2", steps, f"run --commit {c}\n"),
                ("bisection:7/3", steps, f"run --commit {c}\n"),
                ("verification:7/2", {**steps, "verifications": [{"id": 1, "before": b, "commit": c}, {"id": 2, "before": c, "commit": d}]}, f"compare {c} {d}\n")):
            calls = self.asked("repro", id_, "--print", answer=answer)
            self.assertEqual(calls[0][1], f"/api/v1/{'alerts' if 'alert' in id_ or id_ == '7' else 'bisections'}/7")
            self.assertTrue(self.done.stdout.startswith(f"perfci {words}"), (id_, self.done.stdout))
        for id_, answer in (("bisection:7/4", steps), ("verification:7/3", {**steps, "verifications": []}), ("7", {**alert, "commit_high": None}),
                            ("bisection:7", {"culprits": []})):
            self.asked("repro", id_, "--print", answer=answer, status=2)
        self.asked("repro", "7", "--print", "--filter", "f", "--backend", "g", "--suite", "s", "--config", "c", answer=alert)
        self.assertEqual(self.done.stdout, f"perfci compare '{b}^' {c} --config c --suite s --filter f --backend g\n")

    def test_an_age_has_the_unit_that_fits(self):
        for seconds, shown in ((20, r"[23]\d s"), (90, "1 min"), (3500, "58 min"), (3700, "1 h"), (47.5 * 3600, "47 h"), (48.5 * 3600, "2 d"), (240 * 3600 + 60, "10 d")):
            one = {"id": 7, "kind": "step", "direction": "regression", "benchmark": "b", "metric": "m", "state": "noise", "created_at": ago(seconds)}
            self.asked("alerts", answer={"alerts": [one], "next_cursor": None})
            self.assertRegex(self.done.stdout, rf"noise +{shown}\n")

    def test_what_counts_as_a_stored_run_or_a_commit(self):
        for side, stored in (("1", True), ("9" * 18, True), ("9" * 19, False), ("a" * 32, True), ("a" * 31 + "g", False)):
            calls = self.asked("compare", side, "1", "--project", "p", answer={"a": {}, "b": {}, "rows": []}, status=3 if stored else 2)
            self.assertEqual([c[1] for c in calls], [f"/api/v1/compare?project=p&a={side}&b=1"] if stored else [], side)
        for side in ("abcdef0", "abcdef", ID["a"], "ABCDEF0", "main", "v1.0~2", "2026-11-01"): # the service knows names
            calls = self.asked("compare", "--stored", "1", side, "--project", "p", answer={"a": {}, "b": {}, "rows": []}, status=3)
            self.assertEqual([c[1] for c in calls], [f"/api/v1/compare?project=p&a=1&b={side}"], side)
        calls = self.asked("compare", "--stored", "--across", "1", "2", "--project", "p", answer={"a": {}, "b": {}, "rows": []}, status=3)
        self.assertEqual(calls[0][1], "/api/v1/compare?project=p&a=1&b=2&across=true")
        sides = "--backend-a", "cpu avx2", "--backend-b", "hip", "--machine-class-a", "rack", "--machine-class-b", "desk"
        calls = self.asked("compare", "--stored", *sides, "v1.2", "main", "--project", "p", answer={"a": {}, "b": {}, "rows": []}, status=3)
        self.assertEqual(calls[0][1], "/api/v1/compare?project=p&a=v1.2&b=main&backend_a=cpu%20avx2&backend_b=hip&machine_class_a=rack&machine_class_b=desk")
        self.asked("compare", "--backend-a", "hip", self.write("a.txt", "1\n"), self.write("b.txt", "1\n"), status=2)
        self.assertIn("among stored results: pass --stored\n", self.done.stderr)

    def test_a_runner_counts_as_seen_for_five_minutes(self):
        for seconds, state in ((270, "ok"), (301, "warn")):
            self.stub.answers = {("GET", "/version"): {"version": "1"}, ("GET", "/readyz"): {}, ("GET", "/api/v1/projects"): {},
                                 ("GET", "/api/v1/runners"): {"runners": [{"last_seen_at": ago(seconds)}, {"last_seen_at": ago(9999)}, {}]}}
            checks = self.json_of(self.perfci("doctor", "--quick", "--json"))["checks"]
            found, = [c for c in checks if c["check"] == "runners"]
            self.assertEqual((found["state"], found["found"]), (state, f"{int(state == 'ok')} of 3 seen in the last 5 min"))

    def test_jobs_say_when_they_begin_and_what_is_known_of_them(self):
        wait = {"seconds": 90, "low": 30, "high": 7200}
        for job, shown in (({"expected_wait": wait, "position": 2}, r"2 +in 1 min 30 s \(30\.0 s to 2 h 0 min\)"), ({"position": 3}, r"3 +\?"),
                           ({"wait_reason": "first", "reason": "second", "progress": "third"}, "first"), ({"reason": "second", "progress": "third"}, "second"),
                           ({"progress": "third"}, "third"), ({"cancel_requested": True, "finished_at": None, "reason": "second"}, "is to stop"),
                           ({"cancel_requested": True, "finished_at": "2026-01-01T00:00:00Z", "reason": "second"}, "second"),
                           ({"blocks": {"commits": ["a"], "budget_s": 60}}, "1 commit in blocks, budget 1 min 0 s"),
                           ({"blocks": {"commits": ["a", "b"], "budget_s": 59}, "progress": "third"}, r"2 commits in blocks, budget 59\.0 s; third")):
            self.asked("jobs", "1", answer={"id": 1, "project": "p", "kind": "nightly", "commit": ID["a"], "state": "queued", **job})
            self.assertRegex(self.done.stdout.splitlines()[1], shown)

    def test_replay_asks_with_the_settings_that_hold_for_the_series(self):
        for rules, query in (([], ""), ([{"min_change": 0.02}], "?min_change=0.02"), ([{"alpha": 0.05}], "?alpha=0.05"),
                             ([{"min_change": 0.02}, {"metric": "m", "alpha": 0.05}], "?min_change=0.02&alpha=0.05"), ([{"metric": "other", "alpha": 0.05}], ""),
                             ([{"alpha": 0.05}, {"alpha": 0.01}], "?alpha=0.01")):
            config = self.write("c.json", json.dumps({"rules": rules}))
            calls = self.asked("replay", "--config", config, "--series", "42", "--project", "p", answer={"series": {"benchmark": "b", "metric": "m"}})
            self.assertEqual([c[1] for c in calls], ["/api/v1/series/42?points=1", f"/api/v1/series/42/replay{query}"], rules)
        for args, path in ((["--branch", "x y"], "/api/v1/projects/p/replay?branch=x%20y"), (["--apply"], "/api/v1/projects/p/detector")):
            calls = self.asked("replay", "--config", config, "--project", "p", *args, answer={"version": 3})
            self.assertEqual([c[:2] for c in calls], [("POST", path)])


if __name__ == "__main__":
    support.main()
