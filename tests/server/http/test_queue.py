"""The queue as clients of the running server see it: its order, its leases, what waits for what, and for how long."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import support


def setUpModule():
    global cluster, server
    cluster = support.Cluster()
    server = support.Server(cluster.database(migrated=True), "--public-read")


def tearDownModule():
    server.close()
    cluster.close()


def perfci(*words, **more):
    """The command line's answer from this service."""
    words = [support.BIN / "perfci", *words, "--url", f"http://127.0.0.1:{server.port}"]
    return subprocess.run(words, env={**os.environ, "PERFCI_TOKEN": server.admin}, capture_output=True, text=True,
                          timeout=support.DEADLINE_S, stdin=subprocess.DEVNULL, check=False, **more)


class Jobs(unittest.TestCase):
    def setUp(self):
        made = server.as_admin("POST", "/api/v1/projects", {"name": "jobs"})
        self.assertIn(made.status, (200, 201), made)
        self.runner = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["runner"]}).json["token"]

    def lease(self, machine_class, wait=0):
        return server.call("POST", f"/api/v1/jobs/lease?wait={wait}",
                           {"runner": "r-" + machine_class, "machine_class": machine_class}, token=self.runner)

    def lease_of(self, machine_class):
        answer = self.lease(machine_class)
        return answer.json["job"] if answer.status == 200 else None

    def enqueue(self, commit, machine_class, **more):
        return server.as_admin("POST", "/api/v1/jobs", {
            "project": "jobs", "kind": "measure", "commit": support.commit_id(commit),
            "labels": {"machine_class": machine_class}, **more})

    def end(self, job, status="done"):
        return server.call("POST", f"/api/v1/jobs/{job['id']}/complete", {"lease": job["lease"], "status": status},
                           token=self.runner)

    def test_the_life_of_a_job(self):
        made = self.enqueue(1, "life")
        self.assertEqual(made.status, 201, made)
        again = self.enqueue(1, "life")
        self.assertEqual((again.status, again.json["id"]), (200, made.json["id"]))
        job = self.lease("life").json["job"]
        self.assertEqual((job["id"], job["project"], job["state"]), (made.json["id"], "jobs", "leased"))
        self.assertEqual(self.lease("life").status, 204)
        beat = server.call("POST", f"/api/v1/jobs/{job['id']}/heartbeat",
                           {"lease": job["lease"], "progress": "building"}, token=self.runner)
        self.assertEqual((beat.status, beat.json["cancel"]), (200, False), beat)
        stolen = server.call("POST", f"/api/v1/jobs/{job['id']}/heartbeat", {"lease": "0" * 32}, token=self.runner)
        self.assertEqual(stolen.status, 409, stolen)
        end = {"lease": job["lease"], "status": "done", "run_ids": [f"{1:032x}"]}
        done = server.call("POST", f"/api/v1/jobs/{job['id']}/complete", end, token=self.runner)
        self.assertEqual((done.status, done.json["state"]), (200, "done"), done)
        self.assertEqual(server.call("POST", f"/api/v1/jobs/{job['id']}/complete", end, token=self.runner).status, 200)
        self.assertEqual(server.call("GET", f"/api/v1/jobs/{job['id']}").json["state"], "done")

    def test_settings_come_with_a_job_from_an_administrator_alone(self):
        """Settings choose the commands that runners execute; every client that may queue a job chooses benchmarks."""
        config = "measure: ./bench\nmetric: latency\n"
        body = {"project": "jobs", "kind": "measure", "commit": support.commit_id(1), "labels": {"machine_class": "sent"}}
        ingest = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["ingest", "triage"], "project": "jobs"}).json["token"]
        refused = server.call("POST", "/api/v1/jobs", {**body, "config": config}, token=ingest)
        self.assertEqual((refused.status, refused.json["error"]["field"]), (403, "config"), refused)
        self.assertIn("scope admin", refused.json["error"]["message"])
        wrong = server.as_admin("POST", "/api/v1/jobs", {**body, "config": "mesure: x\n"})
        self.assertEqual((wrong.status, wrong.json["error"]["field"]), (400, "config"), wrong)
        first = server.as_admin("POST", "/api/v1/jobs", {**body, "config": config})
        self.assertEqual(first.status, 201, first)
        # Other settings, or other benchmarks, are another job.
        other = server.call("POST", "/api/v1/jobs", {**body, "filter": "^gemm/", "backends": ["cpu"]}, token=ingest)
        self.assertEqual(other.status, 201, other)
        again = server.as_admin("POST", "/api/v1/jobs", {**body, "config": config})
        self.assertEqual((again.status, again.json["id"]), (200, first.json["id"]))
        self.assertEqual(self.lease("sent").json["job"]["task"], {"config": config})
        self.assertEqual(self.lease("sent").json["job"]["task"], {"filter": "^gemm/", "backends": ["cpu"]})

    def test_a_job_of_several_builds(self):
        """Blocks are checked, shown, and part of what makes a job the same."""
        ids = [support.commit_id(n) for n in (71, 72, 73, 74)]
        blocks = {"commits": ids[2:], "known": [ids[2]], "base": ids[1], "anchors": [ids[0]], "budget_s": 1800, "margin": 0.02, "rounds": 3}
        body = {"project": "jobs", "kind": "nightly", "commit": ids[3], "labels": {"machine_class": "blocks"}}
        made = server.as_admin("POST", "/api/v1/jobs", {**body, "blocks": blocks})
        self.assertEqual((made.status, made.json["blocks"]), (201, blocks), made)
        self.assertEqual(made.json["labels"], {"machine_class": "blocks", "tasks": "blocks"})
        again = server.as_admin("POST", "/api/v1/jobs", {**body, "blocks": blocks})
        self.assertEqual((again.status, again.json["id"]), (200, made.json["id"]))
        plain = server.as_admin("POST", "/api/v1/jobs", body)
        self.assertEqual((plain.status, plain.json["blocks"]), (201, None), plain)
        self.assertEqual(server.call("GET", f"/api/v1/jobs/{made.json['id']}").json["blocks"], blocks)
        listed = perfci("jobs", str(made.json["id"]))
        self.assertIn("2 commits in blocks, budget 30 min 0 s; no runner with ", listed.stdout, listed)
        job = self.lease("blocks").json["job"]  # a runner that does not say that it can
        self.assertEqual((job["id"], job["task"]), (plain.json["id"], {}))
        self.end(job)
        able = {"runner": "r-blocks", "machine_class": "blocks", "labels": {"tasks": "blocks"}}
        job = server.call("POST", "/api/v1/jobs/lease", able, token=self.runner).json["job"]
        self.assertEqual((job["id"], job["task"]), (made.json["id"], {"blocks": blocks}))
        end = lambda session: server.call("POST", f"/api/v1/jobs/{job['id']}/complete",
                                          {"lease": job["lease"], "status": "done", "session": session}, token=self.runner)
        refused = end("x")
        self.assertEqual((refused.status, refused.json["error"]["message"]),
                         (400, 'session: expected 32 hexadecimal digits, got "x"'), refused)
        self.assertEqual(end("5" * 32).json["session"], "5" * 32)
        self.assertEqual(server.call("GET", f"/api/v1/jobs/{job['id']}").json["session"], "5" * 32)
        for key, value in (("commits", ids), ("commits", "x"), ("commits", []), ("base", None), ("base", "x"), ("anchors", [ids[3]]),
                           ("anchors", [7]), ("known", [ids[0]]), ("known", [7]), ("budget_s", 0), ("budget_s", 86401), ("budget_s", None), ("margin", 2), ("rounds", -1),
                           ("rounds", 201), ("round", 1)):
            wrong = server.as_admin("POST", "/api/v1/jobs", {**body, "blocks": {**blocks, key: value}})
            self.assertEqual(wrong.status, 400, wrong)
            self.assertTrue(wrong.json["error"]["field"].startswith("blocks." if value != ids else "blocks.base"), wrong)
        for more in ({"blocks": []}, {"blocks": blocks, "kind": "measure"}):
            wrong = server.as_admin("POST", "/api/v1/jobs", {**body, **more})
            self.assertEqual((wrong.status, wrong.json["error"]["field"]), (400, "blocks"), wrong)

    def test_settings_of_a_search_go_with_each_of_its_jobs(self):
        server.as_admin("POST", "/api/v1/projects/jobs/commits", support.commits(1, 6))
        order = {"project": "jobs", "mode": "remote", "metric": "latency", "good": support.commit_id(1), "bad": support.commit_id(6),
                 "machine_class": "search", "source": "/src/app", "config": "measure: ./bench\n", "priority": 100}
        ingest = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["ingest"]}).json["token"]
        refused = server.call("POST", "/api/v1/bisections", order, token=ingest)
        self.assertEqual((refused.status, refused.json["error"]["field"]), (403, "config"), refused)
        begun = server.as_admin("POST", "/api/v1/bisections", order)
        self.assertEqual(begun.status, 201, begun)
        job = support.until("a job of the search", lambda: self.lease_of("search"))
        self.assertEqual((job["kind"], job["task"]["config"]), ("bisect", "measure: ./bench\n"))
        self.assertEqual(server.as_admin("DELETE", f"/api/v1/bisections/{begun.json['id']}").status, 200)

    def test_a_try_under_the_same_secret_is_fenced(self):
        """A runner is started again, gets its job again, and what its first life sent arrives then."""
        made = self.enqueue(51, "fenced").json
        ask = lambda: server.call("POST", "/api/v1/jobs/lease", {"runner": "r", "machine_class": "fenced", "lease": f"{51:032x}"},
                                  token=self.runner).json["job"]
        run = lambda n, job: server.call("POST", "/api/v1/runs", support.run_document(
            n, 51, project="jobs", job_id=job["id"], job_fence=job["fence"]), token=job["token"])
        first = ask()
        self.assertEqual(run(0x5101, first).status, 201)
        second = ask()
        self.assertEqual([(j["id"], j["fence"], j["tries"], j["lease"]) for j in (first, second)],
                         [(made["id"], n, n, f"{51:032x}-{n}") for n in (1, 2)])
        self.assertEqual(run(0x5102, first).status, 201)
        say = lambda job, what, **more: server.call("POST", f"/api/v1/jobs/{job['id']}/{what}", {"lease": job["lease"], **more},
                                                    token=self.runner)
        for what, more in (("heartbeat", {"progress": "old"}), ("release", {}), ("complete", {"status": "done", "run_ids": [f"{0x5102:032x}"]}),
                           ("complete", {"status": "failed", "reason": "old"})):
            late = say(first, what, **more)
            self.assertEqual((late.status, late.json["error"]["code"]), (409, "conflict"), late)
        self.assertEqual(say(second, "heartbeat").status, 200)
        self.assertEqual(run(0x5103, second).status, 201)
        done = say(second, "complete", status="done", run_ids=[f"{0x5103:032x}"])
        self.assertEqual((done.status, done.json["state"], done.json["run_ids"]), (200, "done", [f"{0x5103:032x}"]), done)
        rows = server.call("GET", f"/api/v1/projects/jobs/runs?commit={support.commit_id(51)}").json["runs"]
        self.assertEqual({int(r["id"], 16): r["extra"] for r in rows}, {0x5101: True, 0x5102: True, 0x5103: False})
        kept = server.call("GET", f"/api/v1/runs/{0x5102:032x}").json
        self.assertEqual((kept["job_id"], kept["job_fence"]), (made["id"], 1))

    def test_a_late_question_takes_nothing_and_gives_nothing_back(self):
        """The first copy of a question arrives after the second, which has its answer."""
        made = self.enqueue(52, "late").json["id"]
        ask = lambda asked: server.call("POST", "/api/v1/jobs/lease", {
            "runner": "r", "machine_class": "late", "lease": f"{52:032x}", "asked": asked}, token=self.runner)
        job = ask(2).json["job"]
        other = self.enqueue(53, "late").json["id"]
        for asked in (1, 2):
            late = ask(asked)
            self.assertEqual((late.status, late.json["error"]["code"]), (409, "conflict"), late)
        self.assertEqual(server.call("POST", f"/api/v1/jobs/{made}/heartbeat", {"lease": job["lease"]}, token=self.runner).status, 200)
        self.assertEqual(server.call("GET", f"/api/v1/jobs/{other}").json["state"], "queued")
        again = ask(3).json["job"]  # the answer was lost: what it brought is given back, and here taken again
        self.assertEqual((again["id"], again["fence"]), (made, job["fence"] + 1))
        self.assertEqual(self.end(again).status, 200)
        self.assertEqual(ask(3).status, 409)
        self.assertEqual(self.end(ask(4).json["job"]).status, 200)
        self.assertEqual(ask(5).status, 204)
        for bad in (0, -1, 1.5, "1", 2**53):
            wrong = ask(bad)
            self.assertEqual((wrong.status, wrong.json["error"]["field"]), (400, "asked"), wrong)

    def test_a_waiting_job_tells_its_place(self):
        ids = [self.enqueue(n, "places").json["id"] for n in (21, 22)]
        place = lambda i: server.call("GET", f"/api/v1/jobs/{ids[i]}").json["position"]
        before = place(0)
        self.assertEqual(place(1), before + 1)
        self.assertEqual(self.lease("places").json["job"]["id"], ids[0])
        self.assertIsNone(place(0))
        self.assertEqual(place(1), before)
        for i in ids:
            server.as_admin("DELETE", f"/api/v1/jobs/{i}")

    def test_a_night_tells_where_its_job_waits(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "perfci.yaml").write_text("project: jobs\nbranch: main\nmeasure: cat value\nmetric: t\nunit: ms\n")
            for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "x"]):
                subprocess.run(["git", "-C", folder, *words], check=True, timeout=support.DEADLINE_S, stdin=subprocess.DEVNULL)
            done = perfci("nightly", "--jobs", "--wait", "0s", cwd=folder)
        job, = server.call("GET", "/api/v1/jobs?state=queued&kind=nightly").json["jobs"]
        self.addCleanup(server.as_admin, "DELETE", f"/api/v1/jobs/{job['id']}")
        reported = "begins in about " if job["expected_wait"] else job["wait_reason"]
        self.assertIn(f"job {job['id']} ({job['commit'][:12]}): number {job['position']} in the queue, {reported}", done.stderr, done)

    def test_a_runner_asks_for_an_earlier_result_of_its_pair(self):
        """Only a session of that key counts, whose pull request has a verdict that more measuring would not change."""
        self.enqueue(71, "pairs")
        held = self.lease("pairs").json["job"]
        self.addCleanup(self.end, held)
        session, key = f"{0x71:032x}", "ab" * 32

        def ask(key, lease=held["lease"]):
            return server.call("POST", f"/api/v1/jobs/{held['id']}/earlier", {"lease": lease, "key": key}, token=self.runner)

        nothing = {"session": None, "run": None, "measured_at": None}
        stored = server.as_admin("POST", "/api/v1/projects/jobs/sessions", {
            "id": session, "anchor": support.commit_id(70), "base": support.commit_id(70), "machine_class": "pairs", "machine": "m",
            "started_at": "2026-01-02T03:04:05Z", "finished_at": "2026-01-02T03:05:05Z", "budget_s": 60, "spent_s": 60, "blocks": 0,
            "pair_key": key, "commits": [{"commit": support.commit_id(71), "status": "identical", "same_as": support.commit_id(70)}]})
        self.assertEqual(stored.status, 201, stored)
        self.assertEqual((ask(key).status, ask(key).json), (200, nothing))  # no pull request was judged by it
        place = "project_id = (SELECT id FROM projects WHERE name = 'jobs')"
        support.sql(server.database, f"""
            INSERT INTO pulls (project_id, number) SELECT id, 71 FROM projects WHERE name = 'jobs';
            INSERT INTO pull_measurements (project_id, number, head_sha, base_sha, asked_by, session_id)
                SELECT id, 71, '{support.commit_id(71)}', '{support.commit_id(70)}', 'bot', '{session}' FROM projects WHERE name = 'jobs'""")
        found = {"session": session, "run": None, "measured_at": "2026-01-02T03:05:05.000Z"}
        for verdict, answer in (("inconclusive", nothing), ("broken", nothing), ("outage", nothing), ("nothing", nothing),
                                ("same", found), ("identical", found), ("improvement", found), ("regression", found)):
            support.sql(server.database, f"UPDATE pull_measurements SET verdict = '{verdict}' WHERE {place}")
            self.assertEqual(ask(key).json, answer, verdict)
        self.assertEqual(ask("ac" * 32).json, nothing)  # another toolchain, suite or machine class is another key
        support.sql(server.database, f"UPDATE sessions SET received_at = now() - interval '31 days' WHERE {place}")
        self.assertEqual(ask(key).json, nothing)
        support.sql(server.database, f"UPDATE sessions SET received_at = now() WHERE {place}")
        self.assertEqual(ask(key).json, found)
        self.assertEqual((ask(key, "0" * 32).status, ask("AB" * 32).status, ask("ab").status), (409, 400, 400))
        refused = server.as_admin("POST", "/api/v1/projects/jobs/sessions", {
            "id": f"{0x72:032x}", "anchor": support.commit_id(70), "base": support.commit_id(70), "machine_class": "pairs",
            "started_at": "2026-01-02T03:04:05Z", "finished_at": "2026-01-02T03:05:05Z", "spent_s": 1, "blocks": 0, "pair_key": "ab",
            "commits": []})
        self.assertEqual((refused.status, refused.json["error"]["message"]),
                         (400, "pair_key: expected 64 hexadecimal digits in lower case"), refused)

    def test_the_command_line_lists_the_queue(self):
        """A row a job: where it waits and for how long, who works on it, what became of it."""
        self.assertEqual(self.lease("listed").status, 204)  # so there is a runner
        for n in (61, 62):
            self.enqueue(n, "listed")
            self.end(self.lease("listed").json["job"], ("done", "failed")[n - 61])
        self.enqueue(63, "listed")
        held = self.lease("listed").json["job"]
        beat = server.call("POST", f"/api/v1/jobs/{held['id']}/heartbeat", {"lease": held["lease"], "progress": "building"},
                           token=self.runner)
        self.assertEqual(beat.status, 200, beat)
        soon, never = (self.enqueue(n, machine).json["id"] for n, machine in ((64, "listed"), (65, "listed-nowhere")))

        def rows(*words):
            done = perfci("jobs", "--project", "jobs", *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done)
            return {int(line.split()[0]): line for line in done.stdout.splitlines()[1:]}

        listed = rows()
        known = {job["id"]: job for job in server.call("GET", "/api/v1/jobs?project=jobs").json["jobs"]}
        self.assertEqual(set(listed), set(known))
        for number, job in known.items():
            for word in (job["commit"][:12], job["kind"], job["state"], job["runner"] or ""):
                self.assertIn(word, listed[number])
        self.assertRegex(listed[soon], fr" {known[soon]['position']} +in .* \(.* to .*\) +0")
        self.assertIn("no runner with machine_class=listed-nowhere has ever asked for work", listed[never])
        self.assertRegex(listed[never], fr" {known[never]['position']} +\? +0 ")
        self.assertRegex(listed[held["id"]], r"leased +r-listed +1 +building")
        self.assertEqual(set(rows("--state", "queued")), {n for n, job in known.items() if job["state"] == "queued"})
        self.assertEqual(set(rows("--state", "failed", "--kind", "measure")),
                         {n for n, job in known.items() if (job["state"], job["kind"]) == ("failed", "measure")})
        self.assertEqual(len(rows("--limit", "2")), 2)
        self.assertEqual(set(rows(str(never))), {never})
        reported = perfci("jobs", "--state", "leased", "--project", "jobs", "--json")
        self.assertEqual((reported.returncode, {job["id"] for job in json.loads(reported.stdout)["jobs"]}),
                         (0, {n for n, job in known.items() if job["state"] == "leased"}), reported)
        none = perfci("jobs", "--kind", "verify")
        self.assertEqual((none.returncode, none.stdout, none.stderr), (0, "", "no jobs\n"), none)
        # a queued job is cancelled at once, a leased one at its runner's next heartbeat, a finished one not at all
        for job, state in ((soon, "cancelled"), (never, "cancelled"), (held["id"], "leased")):
            reported = perfci("jobs", "cancel", str(job), "--json")
            self.assertEqual((reported.returncode, json.loads(reported.stdout)["state"]), (0, state), reported)
        self.assertIn("is to stop", rows(str(held["id"]))[held["id"]])
        self.assertEqual(self.end(held).json["state"], "done")
        for words, status, why in ((("cancel", str(held["id"])), 2, f"job {held['id']} is done already"), (("cancel", "999999"), 2, "no such job"),
                                   (("cancel",), 2, "expected the job's number"), (("cancel", "x"), 2, "the job's number"),
                                   (("stop", "1"), 2, 'expected cancel, retry, got "stop"'), (("1", "2", "3"), 2, "one argument too many"),
                                   (("--state", "qeued"), 2, 'did you mean "queued"?'), (("--kind", "night"), 2, "--kind: expected measure"),
                                   (("--limit", "1001"), 2, "--limit: expected 1..1000")):
            reported = perfci("jobs", *words)
            self.assertEqual((reported.returncode, reported.stdout), (status, ""), reported)
            self.assertIn(why, reported.stderr)

    def test_a_waiting_job_tells_when_it_may_begin(self):
        self.assertEqual(self.lease("begins").status, 204)  # so there is a runner
        for n in range(31, 34):
            self.enqueue(n, "begins")
            job = self.lease("begins").json["job"]
            self.end(job)
        ids = [self.enqueue(n, "begins").json["id"] for n in (34, 35)] + [self.enqueue(36, "absent").json["id"]]
        jobs = {job["id"]: job for job in server.call("GET", "/api/v1/jobs?state=queued").json["jobs"]}
        first, second, third = (jobs[i] for i in ids)
        self.assertEqual((first["expected_wait"], first["wait_reason"]), ({"seconds": 0, "low": 0, "high": 0}, None))
        wait = second["expected_wait"]
        self.assertTrue(0 <= wait["low"] <= wait["seconds"] <= wait["high"] <= support.DEADLINE_S, wait)
        self.assertEqual((third["expected_wait"], third["wait_reason"]),
                         (None, "no runner with machine_class=absent has ever asked for work"))
        self.assertEqual(server.call("GET", f"/api/v1/jobs/{ids[2]}").json["wait_reason"], third["wait_reason"])
        for i in ids:
            ended = server.as_admin("DELETE", f"/api/v1/jobs/{i}").json
            self.assertEqual((ended["expected_wait"], ended["wait_reason"]), (None, None))

    def test_a_waiting_lease_gets_the_job_that_comes(self):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(self.lease, "waiting", 30)
            support.until("a request that waits", lambda: b"perfci_http_waiting 1\n" in
                          server.call("GET", "/metrics").body)
            made = self.enqueue(2, "waiting")
            answer = waiting.result(timeout=support.DEADLINE_S)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["job"]["id"], made.json["id"])

    def test_a_wait_without_a_job_is_204(self):
        self.assertEqual(self.lease("lonely", 1).status, 204)
        self.assertEqual(server.call("POST", "/api/v1/jobs/lease?wait=31",
                                     {"runner": "r", "machine_class": "m"}, token=self.runner).status, 400)

    def test_a_queued_job_is_cancelled(self):
        made = self.enqueue(3, "cancelled").json
        answer = server.as_admin("DELETE", f"/api/v1/jobs/{made['id']}")
        self.assertEqual((answer.status, answer.json["state"]), (200, "cancelled"), answer)
        self.assertEqual(self.lease("cancelled").status, 204)

    def test_without_a_priority_the_kind_decides(self):
        for kind, priority in (("pull_request", 80), ("nightly", 50), ("measure", 40), ("backfill", 10)):
            made = self.enqueue(2, "urgency", kind=kind).json
            self.assertEqual(made["priority"], priority)
            server.as_admin("DELETE", f"/api/v1/jobs/{made['id']}")
        made = self.enqueue(2, "urgency", priority=0).json
        self.assertEqual(made["priority"], 0)
        server.as_admin("DELETE", f"/api/v1/jobs/{made['id']}")

    def test_a_child_waits_for_its_parent(self):
        parent = self.enqueue(41, "family").json
        child = self.enqueue(42, "family", parents=[parent["id"]], priority=90)
        self.assertEqual((child.status, child.json["parents"]), (201, [parent["id"]]), child)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            first = self.lease("family").json["job"]
            self.assertEqual(first["id"], parent["id"])
            seen = server.call("GET", f"/api/v1/jobs/{child.json['id']}").json
            self.assertIn(f"it waits for job {parent['id']}", seen["wait_reason"])
            waiting = pool.submit(self.lease, "family", 30)
            support.until("a request that waits", lambda: b"perfci_http_waiting 1\n" in
                          server.call("GET", "/metrics").body)
            self.assertEqual(self.end(first).json["state"], "done")
            second = waiting.result(timeout=support.DEADLINE_S).json["job"]  # told at once
        self.assertEqual(second["id"], child.json["id"])
        grandchild = self.enqueue(43, "family", parents=[second["id"]]).json
        self.assertEqual(self.end(second, "failed").json["state"], "failed")
        seen = server.call("GET", f"/api/v1/jobs/{grandchild['id']}").json
        self.assertEqual((seen["state"], seen["reason"]),
                         ("cancelled", f"job {second['id']}, for which it waited, failed"))
        for parents, status in (([second["id"]], 409), ([10**9], 400), ([0], 400), ("1", 400), ([1] * 65, 400)):
            answer = self.enqueue(44, "family", parents=parents)
            self.assertEqual((answer.status, answer.json["error"]["field"]), (status, "parents"), answer)


if __name__ == "__main__":
    unittest.main()
