"""perfci nightly: which commits it measures, in which company, what it sends, and what it says of them.

The measured program is a script that prints its build's number, or a compiled one; its "clock" is a counter in a
file, so no verdict depends on this machine's speed.
"""

import glob
import http.server
import json
import os
import signal
import subprocess
import threading
import unittest

import support

# Prints the number of the build, times the state of the machine, which changes every 13 measurements, with noise
# of 0.1 % that depends on the count of measurements alone.
BENCH = """#!/bin/sh
echo $PERFCI_COMMIT >> "$NIGHT_LOG"
n=$(wc -l < "$NIGHT_LOG")
test "$(cat crash 2>/dev/null)" != yes || exit 9
awk -v n="$n" -v v="$(cat value)" 'BEGIN { state = int(n / 13) % 2 ? 1.08 : 1; noise = ((n * 7919) % 101 - 50) / 50 * 0.001
                                    printf "%.9f\\n", v * state * (1 + noise) }'
"""
CONFIG = "project: night\nbranch: main\nmeasure: sh bench.sh\nmetric: latency\nunit: ms\nbuild: test ! -e broken\n"
C_MAIN = '#include <stdio.h>\n%s\nint main(void) { printf("%d\\n"); return 0; }\n'


class Service(http.server.ThreadingHTTPServer):
    """The service as nightly sees it: keeps runs and sessions, and judges nothing. A session has the verdicts and series that
    are set when it arrives; later judgements are only in its detail."""

    def __init__(self, sessions=True):
        super().__init__(("127.0.0.1", 0), Handler)
        self.has_sessions, self.runs, self.sessions, self.verdicts, self.busy, self.candidates = sessions, [], [], {}, 0, None
        self.series, self.judged_anew, self.details, self.hidden = [], {}, [], set()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


    def judged(self, session):
        fine = {"verdict": "same", "within": 0.01}
        commits = [{**c, **(self.verdicts.get(c["commit"], fine) if c["status"] == "measured" else {"verdict": c["status"]})}
                   for c in session["commits"]]
        return {**session, "commits": commits, "series": self.series}


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, doc, status=200):
        text = json.dumps(doc).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def no_such_thing(self):
        self.answer({"error": {"code": "not_found", "message": "no such path"}}, 404)

    def do_GET(self):
        service, path = self.server, self.path.split("?")[0]
        if path == "/api/v1/alerts":
            return self.answer({"alerts": []})
        if path == "/api/v1/stats":
            return self.answer({"detection_lag_s": 0})
        if path.endswith("/runs"):
            return self.answer({"runs": [{"commit": r["commit"]} for r in reversed(service.runs)]})
        if "/sessions" in path and not service.has_sessions:
            return self.no_such_thing()
        if path.endswith("/sessions"):
            return self.answer({"sessions": [{k: v for k, v in s.items() if k != "series"} for s in reversed(service.sessions)]})
        if "/sessions/" in path:
            found = [s for s in service.sessions if s["id"] == path.rsplit("/", 1)[1]]
            service.details += [s["id"] for s in found]
            if not found or found[0]["id"] in service.hidden:
                return self.no_such_thing()
            commits = [{**c, **service.judged_anew.get(c["commit"], {})} for c in found[0]["commits"]]
            return self.answer({**found[0], "commits": commits})
        if path.endswith("/candidates"):
            return self.no_such_thing() if service.candidates is None else self.answer({"candidates": service.candidates})
        return self.answer({"name": "night", "repo_url": None, "branch": "main", "broken": [],
                            "standing": {"sentence": "Fine."}})

    def do_POST(self):
        service = self.server
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        if service.busy and self.path in ("/api/v1/runs", "/api/v1/projects/night/sessions"):
            service.busy -= 1
            return self.answer({"error": {"code": "unavailable", "message": "busy"}}, 503)
        if self.path == "/api/v1/runs":
            service.runs.append(body)
        elif self.path.endswith("/sessions"):
            if not service.has_sessions:
                return self.no_such_thing()
            service.sessions.append(service.judged(body))
        return self.answer({"id": 1, "run_id": len(service.runs), "new": 0, "name": "night", "stored": 0})


class Night(support.Case):
    def setUp(self):
        super().setUp()
        self.log = self.write("log", "")
        self.env["NIGHT_LOG"] = self.log
        os.mkdir(self.path("repo"))
        self.git("init", "-q", "-b", "main", cwd=self.path("repo"))
        self.write("repo/bench.sh", BENCH)
        self.write("repo/perfci.yaml", CONFIG)
        self.serial = 0

    def serve(self, **kwargs):
        service = Service(**kwargs)
        self.addCleanup(service.server_close)
        self.addCleanup(service.shutdown)
        return service

    def commit(self, value=None, files=None, tag=None):
        """A commit with this number to print; files: {name: text, or None to remove}."""
        self.serial += 1
        for name, text in {**({"value": f"{value}\n"} if value is not None else {}), **(files or {})}.items():
            if text is None:
                os.unlink(self.path("repo", name))
            else:
                self.write("repo/" + name, text)
        repo = self.path("repo")
        self.git("add", "-A", cwd=repo)
        when = f"2026-01-01T00:{self.serial // 60:02}:{self.serial % 60:02}+00:00"
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@x", "commit", "-q", "--allow-empty", "-m",
                        f"change {self.serial}"], cwd=repo, check=True,
                       env={**self.env, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when})
        if tag:
            self.git("tag", tag, cwd=repo)
        return self.git("rev-parse", "HEAD", cwd=repo)

    def night(self, service, *args, status=0):
        done = self.perfci("nightly", "--url", service.url, "--json", *args, cwd=self.path("repo"))
        self.stderr = done.stderr
        return self.json_of(done, status)

    def measured(self):
        with open(self.log, encoding="utf-8") as f:
            return len(f.readlines())

    def words(self, report):
        return [(c["id"], c["verdict"] or c["status"]) for c in report["commits"]]

    def began(self, service, value=100):
        """A project with one measured commit."""
        first = self.commit(value)
        self.night(service)
        self.write("log", "")
        return first


class Blocks(Night):
    def test_new_commits_are_measured_with_the_base_and_the_service_has_the_verdicts(self):
        service = self.serve()
        base = self.began(service)
        self.assertEqual([r.get("session") for r in service.runs], [None])
        new = [self.commit(v) for v in (100.2, 110, 110.1)]
        service.verdicts[new[1]] = {"verdict": "slower", "worst": {
            "benchmark": "headline", "metric": "latency", "backend": "", "rel_change": 0.098, "rel_low": 0.09, "rel_high": 0.11}}
        service.verdicts[new[2]] = {"verdict": "undecided", "needs_s": 200}
        report = self.night(service, status=1)
        self.assertEqual(self.words(report), [(new[0], "same"), (new[1], "slower"), (new[2], "undecided")])
        self.assertEqual(report["commits"][1]["worst"]["rel_change"], 0.098)
        self.assertEqual(report["commits"][2]["needs_s"], 200)
        session, = service.sessions
        self.assertEqual((session["base"], session["anchor"], session["branch"]), (base, base, "main"))
        self.assertEqual([(c["commit"], c["status"]) for c in session["commits"]], [(n, "measured") for n in new])
        self.assertGreaterEqual(session["blocks"], 2)
        runs = service.runs[1:]
        self.assertEqual([r["commit"] for r in runs], [base, *new])
        for run in runs:
            self.assertEqual(run["session"], {"id": session["id"], "anchor": base, "base": base})
            latency, = [m for m in run["measurements"] if m["metric"] == "latency"]
            self.assertEqual(len(latency["visits"]), len(latency["samples"]))
        self.assertEqual(report["session"]["judged_by"], "service")
        # As text: a row for each, with what a person needs.
        self.commit(110.2)
        service.verdicts.clear()
        text = self.perfci("nightly", "--url", service.url, cwd=self.path("repo")).stdout
        self.assertIn("same (within 1 %)", text)

    def test_text_and_markdown_have_a_row_for_each_commit(self):
        service = self.serve()
        self.began(service)
        slow, open_, same, broken = self.commit(110), self.commit(111), self.commit(112), self.commit(files={"broken": "x"})
        service.verdicts = {slow: {"verdict": "slower", "worst": {"benchmark": "head|line", "metric": "latency", "backend": "",
                                                                 "rel_change": 0.1, "rel_low": 0.09, "rel_high": 0.11}},
                            open_: {"verdict": "undecided", "needs_s": 700}, same: {"verdict": "same", "within": 0.012}}
        done = self.perfci("nightly", "--url", service.url, "--markdown", cwd=self.path("repo"))
        self.expect(done, 1)
        self.assertIn("1 slower without an alert", done.stdout)
        rows = [line for line in done.stdout.splitlines() if line.startswith("| ")]
        self.assertEqual(len(rows), 6, done.stdout)
        self.assertIn("slower | +10.0 % (+9.0 % to +11.0 %)", rows[2])
        self.assertNotIn("head|line", rows[2])
        self.assertIn("undecided (needs 12 min)", rows[3].replace("\\", ""))
        self.assertIn("same (within 1.2 %)", rows[4].replace("\\", ""))
        self.assertIn("broken: build failed", rows[5])

    def test_without_sessions_the_verdicts_are_local_and_it_is_said(self):
        service = self.serve(sessions=False)
        base = self.began(service)
        # The other steps are far below the noise: the test may find one of 0.1 %.
        new = [self.commit(v) for v in (100.0001, 105, 105.0001)]
        report = self.night(service, "--budget", "10m", status=1)
        self.assertEqual(self.words(report), [(new[0], "same"), (new[1], "slower"), (new[2], "same")])
        self.assertAlmostEqual(report["commits"][1]["worst"]["rel_change"], 0.05, delta=0.005)
        self.assertLess(report["commits"][0]["within"], 0.03)
        self.assertEqual(report["session"]["judged_by"], "perfci")
        self.commit(105.0002)
        done = self.expect(self.perfci("nightly", "--url", service.url, cwd=self.path("repo")), 0)
        self.assertIn("The service does not judge sessions", done.stdout)
        self.assertEqual(base, service.runs[0]["commit"])

    def test_exactly_n_rounds_with_repeats(self):
        service = self.serve()
        self.began(service)
        self.commit(101)
        self.night(service, "--repeats", "3")
        self.assertEqual(service.sessions[0]["blocks"], 6)
        self.assertEqual(self.measured(), 12)

    def test_a_night_without_new_commits_measures_nothing(self):
        service = self.serve()
        self.began(service)
        report = self.night(service)
        self.assertEqual((report["commits"], report["session"], len(service.sessions)), ([], None, 0))
        self.assertEqual(self.measured(), 0)

    def test_a_busy_service_gets_the_night_all_the_same(self):
        service = self.serve()
        self.began(service)
        self.commit(101)
        service.busy = 1
        self.night(service, "--repeats", "1")
        self.assertEqual((len(service.runs), len(service.sessions)), (3, 1))


class Choosing(Night):
    def test_the_first_round_measures_the_newest_commit_with_the_last_release(self):
        service = self.serve()
        release = self.commit(100, tag="v1.0")
        self.commit(101)
        tip = self.commit(102)
        report = self.night(service)
        self.assertEqual([c["id"] for c in report["commits"]], [tip])
        self.assertEqual([r["commit"] for r in service.runs], [release, tip])
        session, = service.sessions
        self.assertEqual((session["anchor"], session["base"], session["commits"]), (release, tip, []))

    def test_the_anchor_is_the_flags_then_the_files_then_the_last_nights_then_a_release(self):
        service = self.serve()
        one, two, three = self.commit(100, tag="v1.0"), self.commit(101, tag="v1.1"), self.commit(102)
        self.commit(103)
        self.night(service)
        self.assertEqual(service.sessions[-1]["anchor"], two)
        self.commit(104)
        self.night(service, "--anchor", "v1.0")
        self.assertEqual(service.sessions[-1]["anchor"], one)
        self.commit(105)
        self.night(service)
        self.assertEqual(service.sessions[-1]["anchor"], one)
        self.commit(106)
        self.write("repo/perfci.yaml", CONFIG + f"anchor: {three}\n")
        self.night(service)
        self.assertEqual(service.sessions[-1]["anchor"], three)
        self.assertIn("--anchor", self.expect(self.perfci("nightly", "--url", service.url, "--anchor", "v9",
                                                          cwd=self.path("repo")), 2).stderr)

    def test_an_anchor_that_no_longer_builds_is_replaced_and_it_is_said(self):
        service = self.serve()
        works = self.commit(100, tag="v1.0")
        broken = self.commit(files={"broken": "x"}, tag="v1.1")
        base = self.commit(101, files={"broken": None})
        tip = self.commit(102)
        report = self.night(service, "--anchor", "v1.1")
        self.assertEqual((service.sessions[-1]["anchor"], service.sessions[-1]["base"]), (works, tip))
        self.assertIn(f"anchor {broken[:12]} cannot be built", self.stderr)
        self.assertIn(f"{works[:12]} is the anchor", report["session"]["note"])
        self.assertNotEqual(base, tip)

    def test_undecided_commits_go_on_the_next_night(self):
        service = self.serve()
        base = self.began(service)
        first, second, third = self.commit(100.1), self.commit(100.2), self.commit(100.3)
        service.verdicts[second] = {"verdict": "undecided", "needs_s": 100}
        self.night(service, status=3)
        self.assertEqual(service.sessions[-1]["base"], base)
        new = self.commit(100.4)
        del service.verdicts[second]
        report = self.night(service)
        self.assertEqual([c["id"] for c in report["commits"]], [second, new])
        self.assertEqual(service.sessions[-1]["base"], first)
        # The third one was judged; the new one is compared with it.
        self.assertEqual([c["commit"] for c in service.sessions[-1]["commits"]], [second, new])
        self.assertIn(third, [r["commit"] for r in service.runs if r.get("session", {}).get("id") == service.sessions[-1]["id"]])
        self.commit(100.5)
        self.night(service)
        self.assertEqual(service.sessions[-1]["base"], new)

    def test_both_sides_of_a_candidate_are_measured_in_blocks(self):
        service = self.serve()
        commits = [self.began(service)]
        for value in 100.1, 103, 103.1:
            commits.append(self.commit(value))
            self.night(service, "--repeats", "1")
        service.candidates = [{"commit": commits[2], "against": commits[1]}, {"commit": "f" * 40, "against": commits[0]}]
        report = self.night(service)
        self.assertEqual([c["id"] for c in report["commits"]], [commits[2]])
        self.assertEqual(service.sessions[-1]["base"], commits[1])
        self.assertEqual([c["commit"] for c in service.sessions[-1]["commits"]], [commits[2]])

    def test_two_hundred_new_commits_are_a_choice_and_the_rest_is_listed(self):
        service = self.serve()
        self.began(service)
        heavy = []
        ids = []
        for i in range(200):
            source = {"src.c": "".join(f"int v{i}_{k};\n" for k in range(40))} if i % 25 == 7 else {"notes.txt": f"{i}\n"}
            ids.append(self.commit(100 + i / 1e4, files=source))
            if i % 25 == 7:
                heavy.append(ids[-1])
        report = self.night(service, "--max-commits", "9", "--repeats", "1")
        measured = [c["id"] for c in report["commits"] if c["status"] == "measured"]
        self.assertEqual(len(report["commits"]), 200)
        self.assertEqual(measured, heavy + [ids[-1]])
        left = [c for c in report["commits"] if c["status"] == "not_measured"]
        self.assertEqual((len(left), report["not_measured"]), (191, 191))
        self.assertIn("--max-commits 9", left[0]["reason"])
        self.assertEqual([c["commit"] for c in service.sessions[-1]["commits"]], ids)

    def test_identical_object_code_is_measured_once_and_reported(self):
        service = self.serve()
        config = "project: night\nmeasure: ./prog\nmetric: latency\nunit: ms\nbuild: cc -o prog main.c\nruntime_files: [table*]\n"
        base = self.commit(files={"main.c": C_MAIN % ("", 100), "perfci.yaml": config})
        self.night(service)
        same = self.commit(files={"main.c": C_MAIN % ("/* words */", 100)})
        table = self.commit(files={"table.txt": "1\n"})
        report = self.night(service)
        self.assertEqual(self.words(report), [(same, "identical"), (table, "same")])
        self.assertEqual(report["commits"][0]["same_as"], base)
        self.assertEqual([r["commit"] for r in service.runs], [base, base, table])
        # All identical: nothing is measured, the session says so, and they are not new the next night.
        more = [self.commit(files={"README": "1\n"}), self.commit(files={"README": "2\n"})]
        runs = len(service.runs)
        report = self.night(service)
        self.assertEqual(self.words(report), [(m, "identical") for m in more])
        self.assertEqual([c["same_as"] for c in report["commits"]], [table, table])
        self.assertEqual((len(service.runs), service.sessions[-1]["blocks"]), (runs, 0))
        self.assertEqual(self.night(service)["commits"], [])

    def test_all_broken(self):
        service = self.serve()
        self.began(service)
        broken = [self.commit(files={"broken": "x"}), self.commit(files={"broken": "y"})]
        report = self.night(service, status=4)
        self.assertEqual(self.words(report), [(b, "broken") for b in broken])
        self.assertIn("build failed", report["commits"][0]["reason"])
        self.assertEqual(len(service.runs), 1)

    def test_a_commit_that_crashes_is_broken_and_the_others_are_measured(self):
        service = self.serve()
        self.began(service)
        crash = self.commit(101, files={"crash": "yes\n"})
        fine = self.commit(102, files={"crash": "no\n"})
        report = self.night(service)
        self.assertEqual(self.words(report), [(crash, "broken"), (fine, "same")])

    def test_benchmarks_appear_and_vanish_between_builds(self):
        service = self.serve(sessions=False)
        base = "printf '{\"metrics\": {\"a_ns\": %s}}' $(cat value)\n"
        both = "printf '{\"metrics\": {\"a_ns\": %s, \"b_ns\": 7}}' $(cat value)\n"
        only = "printf '{\"metrics\": {\"b_ns\": 7}}'\n"
        self.write("repo/perfci.yaml", CONFIG.replace("metric: latency\nunit: ms\n", ""))
        self.commit(100, files={"bench.sh": base})
        self.night(service)
        new = [self.commit(100, files={"bench.sh": both}), self.commit(100, files={"bench.sh": only + "# x\n"}),
               self.commit(100, files={"bench.sh": both + "# y\n"})]
        report = self.night(service)
        self.assertEqual(self.words(report), [(n, "same") for n in new])
        metrics = [sorted(m["metric"] for m in r["measurements"] if m["benchmark"] != "canary") for r in service.runs[1:]]
        self.assertEqual(metrics, [["a_ns"], ["a_ns", "b_ns"], ["b_ns"], ["a_ns", "b_ns"]])

    def test_another_machine_begins_with_blocks_of_the_last_commit(self):
        service = self.serve()
        base = self.began(service)
        for run in service.runs:
            run["machine"]["fingerprint"] = {"cpu": "another"}
            run["machine"]["class"] = "another"
        new = self.commit(101)
        self.night(service)
        self.assertEqual((service.sessions[-1]["base"], [r["commit"] for r in service.runs[1:]]), (base, [base, new]))


class Carrying(Night):
    """Undecided commits of earlier nights: which go into a round, and what is said of the others."""

    OPEN = {"verdict": "undecided", "needs_s": 100}

    def some(self, count):
        return [self.commit(100 + (self.serial + i) / 100) for i in range(count)]

    def boundary(self, commit, screen_p, verdict="undecided"):
        return {"commit": commit, "against": "0" * 40, "verdict": verdict, "screen_p": screen_p}

    def suspect(self, *commits):
        return [{"judged": True, "boundaries": [self.boundary(c, 0.001) for c in commits]}]

    def undecided_night(self, service, *commits, series=(), args=()):
        """A night that leaves these undecided; those after it decide all that they measure."""
        service.verdicts, service.series = {c: self.OPEN for c in commits}, list(series)
        report = self.night(service, "--repeats", "1", *args, status=3)
        service.verdicts, service.series = {}, []
        return report

    def ids(self, report):
        return [c["id"] for c in report["commits"]]

    def next_night(self, service, *args):
        report = self.night(service, "--repeats", "1", *args)
        return self.ids(report), report["undecided_earlier"]

    def test_a_full_round_takes_those_with_a_suspected_step_and_lists_the_others(self):
        service = self.serve()
        self.began(service)
        # Decided ones between them: else a build that another one is measured against would be in the round anyway.
        sure, one, just, two, wide, ruled_out, decided, bare, null, last = self.some(10)
        series = [{"boundaries": [self.boundary(sure, 1e-9), self.boundary(just, 0.01), self.boundary(wide, 0.0101),
                                  self.boundary(decided, 1e-9, "same"), {"commit": bare, "verdict": "undecided"},
                                  self.boundary(null, None), {}, self.boundary("f" * 40, 1e-9)]},
                  {"judged": False, "boundaries": [self.boundary(ruled_out, 1e-9)]}, {}, None]
        self.undecided_night(service, sure, just, wide, ruled_out, decided, bare, null, series=series)
        new = self.some(7)
        self.assertEqual(self.next_night(service), ([sure, just, *new], [wide, ruled_out, decided, bare, null]))
        self.assertEqual([c["commit"] for c in service.sessions[-1]["commits"]], [sure, just, *new])

    def test_a_round_with_room_takes_the_newest_up_to_one_block(self):
        service = self.serve()
        self.began(service)
        old = self.some(7)
        self.undecided_night(service, *old)
        new, = self.some(1)
        # The anchor, the builds from the second old one on, and the new one: the block is full.
        self.assertEqual(self.next_night(service), ([*old[2:], new], old[:2]))
        self.assertEqual(len([r for r in service.runs if r.get("session", {}).get("id") == service.sessions[-1]["id"]]), 8)
        # Without new commits the rest goes on.
        self.assertEqual(self.next_night(service), (old[:2], []))
        self.assertEqual(self.next_night(service), ([], []))

    def test_a_base_that_is_the_anchor_takes_one_place(self):
        service = self.serve()
        base = self.began(service)
        old = self.some(6)
        self.undecided_night(service, *old)
        new = self.some(1)
        self.assertEqual(self.next_night(service), ([*old, *new], []))
        self.assertEqual((service.sessions[-1]["base"], service.sessions[-1]["anchor"]), (base, base))

    def test_what_a_night_left_out_is_not_forgotten(self):
        service = self.serve()
        self.began(service)
        wide, step, fine = self.some(3)
        self.undecided_night(service, wide, step, series=self.suspect(step))
        first, = self.some(1)
        self.assertEqual(self.next_night(service, "--max-commits", "1"), ([first], [wide, step]))
        # A session that could not measure it has no verdict of it, and one of another branch does not count.
        service.sessions[-1]["commits"].insert(0, {"commit": step, "status": "not_measured", "verdict": "not_measured"})
        service.sessions.append({**service.sessions[0], "id": "e" * 32, "branch": "other", "commits": [
            {"commit": c, "status": "measured", "verdict": "same"} for c in (wide, step)]})
        new = self.some(7)
        self.assertEqual(self.next_night(service), ([step, *new], [wide]))
        new = self.some(1)
        self.assertEqual(self.next_night(service), ([wide, *new], []))
        self.assertNotIn(fine, self.ids(self.night(service)))

    def test_text_and_markdown_name_those_that_wait(self):
        service = self.serve()
        self.began(service)
        wide, wider, step, _ = self.some(4)
        self.undecided_night(service, wide, wider, step, series=self.suspect(step))
        self.some(1)
        args = ("nightly", "--url", service.url, "--max-commits", "1", "--repeats", "1")
        text = self.expect(self.perfci(*args, cwd=self.path("repo")), 0).stdout
        waiting = ("2 earlier commits are still undecided (interval wider than the margin, no step suspected): they go on in a round "
                   "with fewer new commits.\n")
        suspected = "1 earlier commit with a suspected step is still undecided: the round takes no more commits (--max-commits).\n"
        self.assertTrue(text.endswith(waiting + suspected), text)
        self.some(1)
        text = self.expect(self.perfci(*args, "--markdown", cwd=self.path("repo")), 0).stdout
        self.assertIn(f"|\n\n{waiting}{suspected}\nUndecided: {wide[:12]}, {wider[:12]}, {step[:12]}\n", text)
        # Where none waits, nothing is said.
        self.some(1)
        self.night(service)
        self.some(1)
        text = self.expect(self.perfci(*args, "--markdown", cwd=self.path("repo")), 0).stdout
        self.assertNotIn("ndecided", text)

    def test_decided_ones_do_not_go_on(self):
        service = self.serve()
        self.began(service)
        one, other, _ = self.some(3)
        self.undecided_night(service, one, other, series=self.suspect(one, other))
        new = self.some(1)
        self.assertEqual(self.next_night(service), ([one, other, *new], []))
        # Decided by the newer session; and undecided in the list, but decided as judged now.
        late, _ = self.some(2)
        self.undecided_night(service, late, series=self.suspect(late))
        service.judged_anew = {late: {"verdict": "slower"}}
        new = self.some(1)
        self.assertEqual(self.next_night(service), (new, []))

    def test_an_undecided_build_that_is_measured_anyway_is_reported(self):
        service = self.serve()
        self.began(service)
        step, wide = self.some(2)
        self.undecided_night(service, step, wide, series=self.suspect(step))
        new = self.some(7)
        self.assertEqual(self.next_night(service), ([step, wide, *new], []))

    def test_five_sessions_at_most_are_read_in_detail(self):
        service = self.serve()
        self.began(service)
        steps = []
        for _ in range(6):
            steps += self.some(1)
            self.undecided_night(service, steps[-1], series=self.suspect(steps[-1]), args=("--max-commits", "1"))
        nights = [s["id"] for s in reversed(service.sessions)]
        service.details = []
        new = self.some(8)
        self.assertEqual(self.next_night(service), ([*steps[1:], *new], steps[:1]))
        self.assertEqual(service.details[:-1], nights[:5])

    def test_a_session_that_cannot_be_read_shows_no_step(self):
        service = self.serve()
        self.began(service)
        step, _ = self.some(2)
        self.undecided_night(service, step, series=self.suspect(step))
        service.hidden = {service.sessions[-1]["id"]}
        new = self.some(8)
        self.assertEqual(self.next_night(service), (new, [step]))


class Clock(Night):
    """The wall clock of perfci steps, forth by a day and back by two, at every measurement."""

    STEP = 'n=$(wc -l < "$NIGHT_LOG")\ntest $((n % 2)) = 1 && echo +86400 > "$CLOCK" || echo -172800 > "$CLOCK"\n'

    def test_steps_of_the_clock_neither_end_the_night_nor_move_a_value(self):
        library = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        if not library:
            self.skipTest("libfaketime is not installed: deploy/install.sh test")
        service = self.serve(sessions=False)
        self.began(service)
        new = [self.commit(100.01), self.commit(104)]
        self.write("repo/perfci.yaml", CONFIG.replace(
            "sh bench.sh", f"unset LD_PRELOAD; sh {self.write('step.sh', self.STEP)}; sh bench.sh"))
        clock = self.write("clock", "+0\n")
        self.env.update(CLOCK=clock, LD_PRELOAD=library[0], FAKETIME_TIMESTAMP_FILE=clock, FAKETIME_NO_CACHE="1",
                        FAKETIME_DONT_FAKE_MONOTONIC="1")
        report = self.night(service, "--budget", "10m", status=1)
        self.assertEqual(self.words(report), [(new[0], "same"), (new[1], "slower")])
        self.assertLess(report["session"]["spent_s"], 600)
        self.assertGreaterEqual(report["session"]["finished_at"], report["session"]["started_at"])
        days = {r["started_at"][:10] for r in service.runs}
        self.assertGreater(len(days), 1, "the clock never stepped")
        for run in service.runs[1:]:
            self.assertLessEqual(run["started_at"], run["finished_at"])


class Interrupted(Night):
    def test_whole_blocks_are_kept(self):
        service = self.serve()
        self.began(service)
        # The fourth measurement of the night, the last of its second block, waits to be interrupted.
        self.commit(101)
        self.write("repo/perfci.yaml", CONFIG.replace("sh bench.sh", "sh bench.sh; test $(grep -c . $NIGHT_LOG) -ne 4 || sleep 60"))
        night = subprocess.Popen([support.PERFCI, "nightly", "--url", service.url, "--json"], cwd=self.path("repo"), env=self.env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(night.stderr.close)
        self.addCleanup(night.stdout.close)
        support.wait_for(lambda: self.measured() == 4, "the fourth measurement")
        night.send_signal(signal.SIGINT)
        out, err = night.communicate(timeout=support.DEADLINE_S)
        self.assertIn("ended early: interrupted", err)
        self.assertEqual(service.sessions[-1]["blocks"], 1)
        for run in service.runs[1:]:
            latency, = [m for m in run["measurements"] if m["metric"] == "latency"]
            self.assertEqual([v[0] for v in latency["visits"]], [0])
        self.assertEqual(night.returncode, 5, out + err)


if __name__ == "__main__":
    support.main()
