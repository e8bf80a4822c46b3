"""Walks every operation of openapi.json against the running server: each method, parameter and status.

The description is made of the route table, so this is also the proof that each row answers: with
what it declares for a good request, with a JSON 4xx for a bad one, never with a 5xx. Answers and
bodies are held to their schemas, and the schemas to being as narrow as what is served.
"""
import json
import os
import pathlib
import re
import unittest

import jsonschema

import description
import fleet_rows
import group_rows
import plot_rows
import pull_rows
import rule_rows
import schedule_rows
import schema_walk
import strangers
import support
import trace_rows
import writes

SOURCE = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"])
SCOPES = ["read", "ingest", "runner", "triage", "admin"]


def setUpModule():
    global cluster, server
    cluster = support.Cluster()
    server = support.Server(cluster.database(migrated=True), "--public-read", environment=pull_rows.ENVIRONMENT)


def tearDownModule():
    server.close()
    cluster.close()


class OpenApi(description.Description, writes.Writes, strangers.Strangers, unittest.TestCase):
    maxDiff = None

    @staticmethod
    def service():
        return server

    @classmethod
    def setUpClass(cls):
        made = server.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        assert made.status == 201, made
        assert server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 12)).status == 200
        for n in range(1, 13):
            # The time doubles at commit 8: change points and an alert to look at.
            posted = server.as_admin("POST", "/api/v1/runs", support.run_document(n, n, 100.0 if n < 8 else 200.0))
            assert posted.status == 201, posted
        support.until("an alert", lambda: server.call("GET", "/api/v1/alerts").json["alerts"])
        cls.api = server.call("GET", "/api/v1/openapi.json").json
        cls.values = cls.identify()

    @staticmethod
    def session():
        """Posts a session of a benchmark of its own: commit 11 is slower, 12 is the same program."""
        runs = []
        for n, level in ((1, 100.0), (10, 100.0), (11, 110.0), (9, 100.0)):
            run = support.run_document(600 + n, n, level)
            run["measurements"][0].update(benchmark="gemm/session", metric="block_ns", samples=[[level * (1 + 1e-3 * ((5 * b + n) % 7))] for b in range(24)])
            runs.append(run)
        document = support.session_document(6, runs, 1, 9, [
            {"commit": support.commit_id(10), "status": "measured"},
            {"commit": support.commit_id(11), "status": "measured"},
            {"commit": support.commit_id(12), "status": "identical", "same_as": support.commit_id(11), "reason": "identical object code"}])
        for run in runs:
            assert server.as_admin("POST", "/api/v1/runs", run).status == 201
        assert server.as_admin("POST", "/api/v1/projects/demo/sessions", document).status == 201
        support.until("a judged session", lambda: any(
            c["verdict"] == "slower" for c in server.call("GET", "/api/v1/projects/demo/sessions").json["sessions"][0]["commits"]))
        return document

    @classmethod
    def identify(cls):
        cls.BODIES["post", "/api/v1/projects/{p}/sessions"] = cls.session()
        series = server.call("GET", "/api/v1/projects/demo/series").json["series"][0]["id"]
        alert = server.call("GET", "/api/v1/alerts").json["alerts"][-1]["id"]  # the oldest: the session has one, too
        # a runner that would begin it now, and a job that waits for it
        server.as_admin("POST", "/api/v1/jobs/lease", {"runner": "r1", "machine_class": "none"})
        job = server.as_admin("POST", "/api/v1/jobs", {"project": "demo", "kind": "measure",
                                                       "commit": support.commit_id(3)}).json["id"]
        server.as_admin("POST", "/api/v1/jobs", {"project": "demo", "kind": "measure", "parents": [job],
                                                 "commit": support.commit_id(2)})
        token = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"]}).json["id"]
        for _ in range(2):
            cookie = server.as_admin("POST", "/api/v1/session").headers["set-cookie"].split(";")[0]
        server.call("GET", "/api/v1/projects", headers={"Cookie": cookie})
        signed_in = server.as_admin("GET", "/api/v1/browser-sessions").json["browser_sessions"][-1]["id"]
        # one on the runners, which can be cancelled; a report cannot
        bisection = server.as_admin("POST", "/api/v1/bisections",
                                    {"project": "demo", "mode": "remote", "metric": "time_ns",
                                     "good": support.commit_id(1), "bad": support.commit_id(12)}).json["id"]
        # fresh pairs that confirm the change make the commit the culprit, and a notice is queued
        report = dict(cls.bisection(), confirmation={"before": support.commit_id(7),
                                                     "pairs": [[100.0 + n % 3, 200.0 + n % 2] for n in range(12)]})
        server.as_admin("POST", "/api/v1/bisections", report)
        notice = server.call("GET", "/api/v1/notices").json["notices"][0]
        assert notice["commit"] == support.commit_id(8), notice
        event = support.moved_machine(server, "moved")["id"]
        pull_rows.plant(server)
        schedule_rows.plant(server, job)
        schedules = "/api/v1/projects/{p}/schedules/{id}"
        return {rule_rows.ONE: rule_rows.plant(server), **trace_rows.plant(server), schedules: "planted", schedules + "/run": "planted", schedules + "/nights": "planted", "/api/v1/environment/{id}": event,
                "/api/v1/notices/{id}": notice["id"], "/api/v1/notices/{id}/send": notice["id"],
                "/api/v1/projects/{p}/commits/{id}": support.commit_id(8), "/api/v1/projects/{p}/sessions/{id}": f"{6:032x}", "/api/v1/series/{id}": series,
                "/api/v1/series/{id}/replay": series, "/api/v1/series/{id}/picture": series,
                "/api/v1/runs/{id}": f"{1:032x}", "/api/v1/alerts/{id}": alert,
                **group_rows.paths(server, alert),
                "/api/v1/alerts/{id}/suspects": alert, "/api/v1/alerts/{id}/explanation": alert, "/api/v1/alerts/{id}/traces": alert, "/api/v1/jobs/{id}": job,
                "/api/v1/jobs/{id}/heartbeat": job, "/api/v1/jobs/{id}/earlier": job, "/api/v1/jobs/{id}/complete": job,
                "/api/v1/jobs/{id}/release": job, "/api/v1/jobs/{id}/restart": job, "/api/v1/jobs/{id}/retry": job,
                "/api/v1/bisections/{id}": bisection, "/api/v1/bisections/{id}/replay": bisection, "/api/v1/tokens/{id}": token, "/api/v1/tokens/{id}/rotate": token,
                "/api/v1/browser-sessions/{id}": signed_in}

    @staticmethod
    def bisection():
        return {"project": "demo", "metric": "time_ns", "benchmark": "gemm/f32/m64n64k64", "backend": "cpu-scalar",
                "good": support.commit_id(1), "bad": support.commit_id(12), "verdict": "found",
                "culprits": [{"commits": [support.commit_id(8)], "probability": 0.99, "rel_change": 1.0,
                              "rel_low": 0.9, "rel_high": 1.1, "unmeasurable": False}],
                "runs": 9, "builds": 4, "commits_measured": 4, "seconds": 12.5,
                "steps": [{"commit": support.commit_id(6), "value": 100.0, "build": 0, "confirm": True}]}

    # Good bodies, and queries where a parameter is required.
    BODIES = {
        ("post", "/api/v1/projects"): {"name": "demo"}, ("patch", "/api/v1/projects/{p}"): {"repo_url": None},
        ("post", "/api/v1/projects/{p}/commits"): support.commits(1, 2),
        ("post", "/api/v1/projects/{p}/detector"): {"rules": [{"metric": "*", "min_change": 0.002}]},
        ("post", "/api/v1/projects/{p}/replay"): {"rules": [{"metric": "*", "min_change": 0.02}]},
        ("post", "/api/v1/projects/{p}/sources"): {"commit": support.commit_id(4), "files": ["a.c"], "globs": ["kernels/"]},
        ("post", "/api/v1/runs"): support.run_document(1, 1), ("post", "/api/v1/projects/{p}/owners"): {"rules": "kernel:gemm @gemm\n"},
        ("post", "/api/v1/projects/{p}/codeowners"): {"commit": support.commit_id(4), "path": "CODEOWNERS", "text": "* @all\n"},
        ("post", "/api/v1/projects/{p}/forge"): pull_rows.FORGE, **rule_rows.BODIES, **trace_rows.BODIES,
        ("post", "/api/v1/projects/{p}/schedules"): schedule_rows.SCHEDULE,
        ("patch", "/api/v1/projects/{p}/schedules/{id}"): {"budget_s": 90, "suite": None},
        ("patch", "/api/v1/alerts/{id}"): {"state": "acknowledged", "reason": "seen", "note": "looking"},
        ("patch", "/api/v1/environment/{id}"): {"dismissed": False, "reason": "it is the machine's"},
        ("post", "/api/v1/jobs"): {"project": "demo", "kind": "measure", "commit": support.commit_id(4),
                                   "labels": {"rack": "a"}, "priority": 10},
        ("post", "/api/v1/runners/drain"): {"runner": "r1"}, ("post", "/api/v1/runners/undrain"): {"runner": "r1"},
        ("post", "/api/v1/runners/revoke"): {"runner": "r1", "dry_run": True, "quarantine_since": "2026-01-01T00:00:00Z", "reason": "a test"},
        ("post", "/api/v1/jobs/lease"): {"runner": "r1", "machine_class": "none", "labels": {}, "backends": ["x"],
                                         "lease": "a" * 32},
        ("post", "/api/v1/tokens"): {"name": "ci", "scopes": ["ingest"], "project": "demo",
                                     "expires_at": "2999-01-01T00:00:00Z"},
    }
    BODIES["post", "/api/v1/tokens/{id}/rotate"] = {"overlap_s": 60}
    QUERIES = {"/api/v1/compare": f"?project=demo&a={support.commit_id(7)}&b={support.commit_id(8)}",
               "/api/v1/explain": f"?before={1:032x}&after={8:032x}"}
    # Members that nothing here brings about; other tests look at their values.
    ELSEWHERE = {
        "CodeownersAnswer.reason", "OwnersAnswer.codeowners", "AlertAnswer.reason", "AlertDetailAnswer.reason", "AlertAnswer.drift", "AlertDetailAnswer.drift", "AlertAnswer.boundary", "AlertDetailAnswer.boundary", "SuspectsAnswer.drift", "SuspectsAnswer.reason", "AlertAnswer.undone_by", "AlertDetailAnswer.undone_by", "AlertDetailAnswer.witnesses[].rel_change", "BisectionAnswer.alert_id",
        "BisectionAnswer.culprits", "CommitAnswer.tags", "CommitsAnswer.commits[].tags", "CommitAnswer.releases", "CommitsAnswer.commits[].releases", "AlertTracesAnswer.before.traces", "AlertTracesAnswer.after.traces", "CanariesAnswer.canaries", "Bisected.failure", "BisectionAnswer.finished_at", "BisectionAnswer.steps[].runner", "BisectionAnswer.steps[].seconds",
        "BisectionAnswer.verdict", "BisectionAnswer.verifications", "BisectionStartedAnswer.alert_id", "CompareAnswer.rows[].between_rel",
        "BisectionStartedAnswer.culprits", "BisectionStartedAnswer.finished_at", "BisectionStartedAnswer.steps",
        "BisectionStartedAnswer.verdict", "CommitAnswer.broken", "PlotAnswer.broken", "SeriesAnswer.broken", "SeriesAnswer.series.reason", "AlertDetailAnswer.effects_differ", "SuspectsAnswer.effects_differ", "CompareAnswer.functions", "CompareAnswer.only_a", "CompareAnswer.only_b", "Cost.run_seconds", "Cost.seconds",
        "Cost.wait_seconds", "ProjectGoneAnswer.rest", "Error.error.field", "LeaseAnswer.job.build", "LeaseAnswer.job.finished_at", "LeaseAnswer.job.measure",
        "LeaseAnswer.job.position", "LeaseAnswer.job.progress", "LeaseAnswer.job.reason", "LeaseAnswer.job.run_ids",
        "NoticesAnswer.next_cursor", "NoticesAnswer.notices[].deliveries", "RunAnswer.measurements[].params",
        "SeriesReplayAnswer.watching_odds", "SuspectsAnswer.suspects[].before", "SuspectsAnswer.suspects[].field",
        "SuspectsAnswer.suspects[].now", "CommitAnswer.changes[].why_no_alert", "SeriesAnswer.changes[].why_no_alert", "SeriesAnswer.series.change.why_no_alert", "SeriesListAnswer.series[].change.why_no_alert", "CandidatesAnswer.candidates", "AlertAnswer.two_speeds", "AlertAnswer.blocks", "AlertDetailAnswer.two_speeds", "AlertDetailAnswer.blocks", "SeriesAnswer.changes[].blocks", "SeriesAnswer.series.two_speeds", "SeriesListAnswer.series[].two_speeds"}
    ELSEWHERE |= {"SessionAnswer.commits[].needs_s", "SessionAnswer.commits[].worst.alert_id", "SessionAnswer.series[].boundaries[].alert_id",
                  "SessionsAnswer.sessions[].commits[].worst.alert_id", "LeaseAnswer.job.session", "SessionsAnswer.sessions[].commits[].needs_s"}
    ELSEWHERE |= {"EarlierAnswer.session", "EarlierAnswer.run", "EarlierAnswer.measured_at", "JobAnswer.blocks.reuse", "LeaseAnswer.job.blocks.reuse", "NoticesAnswer.notices[].event_id", "NightAnswer.due_at", "NightAnswer.job_id", "ScheduleAnswer.trouble", "AlertAnswer.suspect.bisection_id", "AlertDetailAnswer.suspect.bisection_id", *rule_rows.ELSEWHERE, *trace_rows.ELSEWHERE}
    ELSEWHERE |= {f"Bisection{answer}.{member}" for answer in ("Answer", "StartedAnswer") for member in (*support.BUDGET, "failure")}
    ELSEWHERE |= {"ExplanationAnswer." + member for member in (  # of the simulated accelerator: test_explain.py
        "causes[].resource", "contributions[].resource", "guidance", "limiter.before", "limiter.after", "phases", *(
            f"runs.{side}.{member}" for side in ("before", "after") for member in (
                "limiter.causes", "limiter.first", "limiter.second", "metrics[].achievable", "metrics[].share", "metrics[].value", "path")))}
    # Objects of which nothing is said: what a run holds is run.schema.json's, the rest others' words, given on.
    ANYTHING = {"BisectionAnswer.options", "DescriptionAnswer", "LeaseAnswer.job.task", "Run", "Run.machine", "Run.measurements"}
    # An unknown lease: refused after all other checks passed.
    REFUSED = {"/api/v1/jobs/{id}/heartbeat": {"lease": "0" * 32}, "/api/v1/jobs/{id}/earlier": {"lease": "0" * 32, "key": "0" * 64},
               "/api/v1/jobs/{id}/release": {"lease": "0" * 32},
               "/api/v1/jobs/{id}/restart": {"lease": "0" * 32 + "-1", "runner": "node"},
               "/api/v1/runners/release": {"runner": "r1"}, "/api/v1/jobs/{id}/retry": None,  # it is queued
               "/api/v1/jobs/{id}/complete": {"lease": "0" * 32, "status": "done"}}

    def path(self, pattern):
        return pattern.replace("{p}", "demo").replace("{id}", str(self.values.get(pattern, "")))

    def operations(self):
        for pattern, methods in self.api["paths"].items():
            for method, operation in methods.items():
                yield pattern, method, operation

    def walk(self):
        """Every operation once, what ends things last; kept for all tests: [pattern, method, operation, answer]."""
        if not hasattr(OpenApi, "walked"):
            OpenApi.walked = [(pattern, method, operation, self.good(pattern, method))
                              for pattern, method, operation in sorted(self.operations(), key=lambda o: o[1] == "delete")
                              if not pattern.endswith("/events")]  # never ends; test_api.py reads it
        return OpenApi.walked

    def body_of(self, pattern, method):
        if (method, pattern) == ("post", "/api/v1/bisections"):
            return self.bisection()
        return group_rows.body(server, method, pattern, self.values["/api/v1/alerts/{id}"]) or self.BODIES.get((method, pattern), self.REFUSED.get(pattern))

    def good(self, pattern, method):
        return pull_rows.webhook(server, pattern) if (method, pattern) in writes.WEBHOOKS else server.as_admin(method.upper(), self.spare(pattern, method) + self.QUERIES.get(pattern, ""), self.body_of(pattern, method))

    def checker(self, name):
        return jsonschema.Draft202012Validator({"components": self.api["components"], "$ref": "#/components/schemas/" + name})

    def schema_of(self, operation, answer):
        """The name of the schema that the document has for this answer; None: no JSON."""
        declared = operation["responses"].get(str(answer.status), operation["responses"]["default"])
        if "$ref" in declared:
            return "Error"
        return declared.get("content", {}).get("application/json", {}).get("schema", {}).get("$ref", "").rsplit("/", 1)[-1] or None

    def hold(self, operation, answer):
        """It is what the document says; returns the name of its schema."""
        name = self.schema_of(operation, answer)
        if answer.headers.get("content-type", "").startswith("application/json"):
            self.assertTrue(name, "an answer in JSON that no schema describes")
        if name:
            self.assertTrue(answer.headers["content-type"].startswith("application/json"), answer.headers)
            fault = jsonschema.exceptions.best_match(self.checker(name).iter_errors(answer.json))
            self.assertIsNone(fault, f"{name}: {fault and fault.message} at {fault and list(fault.path)}")
        return name

    def others(self):
        """Answers that the walk does not come by, as it has them: a job's whole life, what is made a second time, longer forms."""
        if hasattr(OpenApi, "other"):
            return OpenApi.other
        OpenApi.other = found = []

        def ask(method, pattern, body=None, query="", path=None, token=server.admin):
            answer = server.call(method.upper(), (path or self.path(pattern)) + query, body, token=token)
            found.append((pattern, method, self.api["paths"][pattern][method], answer))
            return answer

        def lease():
            return ask("post", "/api/v1/jobs/lease", {**self.BODIES["post", "/api/v1/jobs/lease"], "labels": {"rack": "b"}})

        ask("get", "/api/v1/projects/{p}/series", query="?spark=5")
        ask("post", "/api/v1/projects", {"name": "second", "branch": "main", "repo_url": "https://example.org/x.git"})
        order = {**self.BODIES["post", "/api/v1/jobs"], "commit": support.commit_id(12), "labels": {"rack": "b"}}
        run = support.run_document(500, 12, 300.0, branch="main", infra=True, unsandboxed=True,
                                   job_id=ask("post", "/api/v1/jobs", order).json["id"], job_fence=1)
        first = run["measurements"][0]
        run["measurements"] = [{**first, "params": {"m": "64"}, "extra": {"note": "x"}}, {**first, "benchmark": "headline", "exact": True, "samples": [[300.0]]},
                               {**first, "benchmark": "gemm/broken", "status": "broken", "reason": "wrong result", "samples": []}]
        ask("post", "/api/v1/runs", run)
        ask("get", "/api/v1/runs/{id}", path=f"/api/v1/runs/{run['id']}")
        ask("post", "/api/v1/projects/{p}/sessions", {**self.BODIES["post", "/api/v1/projects/{p}/sessions"], "id": f"{7:032x}", "note": None})
        ask("post", "/api/v1/projects/{p}/sessions", {**self.BODIES["post", "/api/v1/projects/{p}/sessions"], "blocks": 7})
        for run_id in (601, 500):
            ask("get", "/api/v1/runs/{id}", path=f"/api/v1/runs/{run_id:032x}")
        sessions = [s["id"] for s in server.call("GET", "/api/v1/projects/demo/series?benchmark=gemm/session").json["series"]]
        ask("get", "/api/v1/series/{id}", path=f"/api/v1/series/{sessions[0]}")
        ask("get", "/api/v1/projects/{p}")
        for a, b in ((1, 12), (12, 1)):
            ask("get", "/api/v1/compare", query=f"?project=demo&a={support.commit_id(a)}&b={support.commit_id(b)}")
        # another machine's state, which a comparison and a window name
        other = {"name": "host", "class": "test-cpu", "fingerprint": {"cpu": "test", "compiler": "cc 2"}}
        ask("post", "/api/v1/runs", support.run_document(501, 11, 200.0, machine=other))
        # and another class of machines, which has one of the benchmarks at one commit
        ask("post", "/api/v1/runs", support.run_document(502, 3, machine={**other, "class": "second-cpu"}, measurements=[
            {**first, "benchmark": "gemm/other"}]))
        ask("get", "/api/v1/projects/{p}/coverage", query="?limit=1")
        plot_rows.ask_about_plots(server, ask)
        ask("get", "/api/v1/series/{id}")
        ask("get", "/api/v1/compare", query=f"?project=demo&a={support.commit_id(10)}&b={support.commit_id(11)}")
        ask("post", "/api/v1/projects/{p}/detector", {"fdr": 0.1, "rules": [
            {"benchmark": "*", "metric": "*", "backend": "*", "machine_class": "*", "branch": "*", "min_change": 0.01, "alpha": 1e-3, "judged": True}]})
        ask("post", "/api/v1/projects/{p}/replay", {"rules": []})
        ask("get", "/api/v1/projects/{p}", path="/api/v1/projects/second")
        dismissed = ask("patch", "/api/v1/environment/{id}", {"dismissed": True, "reason": "no"})
        ask("patch", "/api/v1/environment/{id}", {"dismissed": False}, path=f"/api/v1/environment/{dismissed.json['id']}")
        ask("get", "/api/v1/alerts/{id}", path=f"/api/v1/alerts/{ask('get', '/api/v1/alerts', query='?event=1').json['alerts'][0]['id']}")
        order = {"project": "demo", "mode": "remote", "metric": "time_ns", "dry_run": True, "benchmark": first["benchmark"],
                 "good": support.commit_id(1), "bad": support.commit_id(12)}
        ask("post", "/api/v1/bisections", order)
        ask("post", "/api/v1/bisections", {**order, "dry_run": False})
        _ = rule_rows.ask_about_rules(server, ask), trace_rows.ask_about_traces(server, ask)
        schedule_rows.ask_about_schedules(server, ask)
        for limit in ("?limit=1", "?limit=1000"):
            ask("get", "/api/v1/projects/{p}/schedules/{id}/nights", query=limit)
            for pattern in ("commits", "series", "runs", "pulls"):
                ask("get", "/api/v1/projects/{p}/" + pattern, query=limit)
            ask("get", "/api/v1/projects/{p}/sessions", query=limit.replace("1000", "100"))
            for pattern in ("alerts", "groups", "projects", "environment", "jobs", "machines", "bisections", "tokens", "browser-sessions", "audit", "notices", "webhooks/deliveries"):
                ask("get", "/api/v1/" + pattern, query=limit)
        while lease().status == 200:  # jobs without labels
            pass
        for asked in (2, 1):  # the second one is late
            ask("post", "/api/v1/jobs/lease", {**self.BODIES["post", "/api/v1/jobs/lease"], "lease": "b" * 32, "asked": asked})
        ids = [support.commit_id(n) for n in (1, 2, 3)]
        night = ask("post", "/api/v1/jobs", {"project": "demo", "kind": "nightly", "commit": ids[2], "labels": {"rack": "b"}, "blocks": {
            "commits": ids[2:], "known": ids[2:], "base": ids[1], "anchors": ids[:1], "budget_s": 60, "margin": 0.02, "rounds": 2}}).json
        able = {**self.BODIES["post", "/api/v1/jobs/lease"], "labels": night["labels"]}
        held = ask("post", "/api/v1/jobs/lease", able).json["job"]
        ask("post", "/api/v1/jobs/{id}/complete", {"lease": held["lease"], "status": "done", "session": "5" * 32}, path=f"/api/v1/jobs/{night['id']}/complete")
        for end in ("complete", "release"):
            job = {"project": "demo", "kind": "measure", "commit": support.commit_id(5), "branch": "main", "suite": "quick",
                   "labels": {"rack": "b"}, "source": "/nowhere"}
            for _ in range(2):
                ask("post", "/api/v1/jobs", job)
            held = lease().json["job"]
            held = ask("post", "/api/v1/jobs/{id}/restart", {"lease": held["lease"], "runner": "node"}, path=f"/api/v1/jobs/{held['id']}/restart").json["job"]
            ask("post", "/api/v1/jobs/{id}/heartbeat", {"lease": held["lease"], "progress": "building"}, path=f"/api/v1/jobs/{held['id']}/heartbeat")
            _ = ask("post", "/api/v1/jobs/{id}/earlier", {"lease": held["lease"], "key": "0" * 64}, path=f"/api/v1/jobs/{held['id']}/earlier"), ask("get", "/api/v1/jobs/{id}", path=f"/api/v1/jobs/{held['id']}"), ask("delete", "/api/v1/projects/{p}")
            body = {"complete": {"status": "failed", "reason": "no compiler", "run_ids": [run["id"]],
                                 "rerun": [{"on": "infra", "times": 1, "after_s": 3600.0, "machine": "any"}]}, "release": {}}[end]
            ask("post", "/api/v1/jobs/{id}/" + end, {"lease": held["lease"], **body}, path=f"/api/v1/jobs/{held['id']}/{end}")
            _ = end == "complete" and [ask("post", "/api/v1/jobs/{id}/retry", path=f"/api/v1/jobs/{held['id']}/retry") for _ in range(2)]
        # what the rule made of the failed job
        support.until("a rerun", lambda: any(j["rerun"] for j in server.call("GET", "/api/v1/jobs?limit=1000").json["jobs"]))
        again = next(j for j in ask("get", "/api/v1/jobs").json["jobs"] if j["rerun"])
        _ = [ask("get", "/api/v1/jobs/{id}", path=f"/api/v1/jobs/{job_id}") for job_id in (again["id"], again["rerun"]["of"])]
        _ = ask("get", "/api/v1/projects"), ask("get", "/api/v1/projects/{p}")
        _ = fleet_rows.ask_about_runners(server, ask), group_rows.ask_about_groups(server, ask, self.values["/api/v1/alerts/{id}"])
        # what is refused for what it would overwrite
        ask("post", "/api/v1/runs", {**run, "suite": "another"})
        canary = next(e for e in ask("get", "/api/v1/environment").json["events"] if e["kind"] == "canary")
        ask("patch", "/api/v1/environment/{id}", {"dismissed": True}, path=f"/api/v1/environment/{canary['id']}")
        report = ask("post", "/api/v1/bisections", {**self.bisection(), **support.BUDGET, "verdict": "inconclusive"}).json["id"]
        _ = ask("get", "/api/v1/bisections"), ask("get", "/api/v1/bisections/{id}/replay", path=f"/api/v1/bisections/{report}/replay")
        ask("delete", "/api/v1/bisections/{id}", path=f"/api/v1/bisections/{report}")
        return found

    def test_what_the_walk_does_not_come_by_is_as_declared_too(self):
        for pattern, method, operation, answer in self.others():
            with self.subTest(method=method, pattern=pattern, status=answer.status):
                self.assertIn(str(answer.status), operation["responses"], answer)
                self.assertIn(answer.status, (200, 201, 204, 409), answer)
                self.hold(operation, answer)

    def test_every_declared_status_is_answered(self):
        closed = support.Server(server.database, "--workers", "0")  # reading needs a token here
        self.addCleanup(closed.close)
        down = support.Server("host=/nowhere dbname=none", ready=False)
        self.addCleanup(down.close)
        scoped = {scope: server.as_admin("POST", "/api/v1/tokens", {"scopes": [scope]}).json["token"]
                  for scope in ("read", "ingest", "runner", "triage")}
        seen = {(pattern, method, str(answer.status)) for pattern, method, _, answer in self.walk() + self.others()}
        for pattern, method, operation in self.operations():
            wanted = {scope for entry in operation["security"] for scope in entry.get("token", [])}
            path, body, verb = self.path(pattern), self.body_of(pattern, method), method.upper()
            asked = {"400": lambda: closed.as_admin(verb, path + "?nonsense=1", body),
                     "401": lambda: closed.call(verb, path, body),
                     "403": lambda: closed.call(verb, path, body, token=next(t for s, t in scoped.items() if s not in wanted)),
                     "404": lambda: closed.as_admin(verb, pattern.replace("{p}", "nothing").replace("{id}", "999999999"), body),
                     "503": lambda: down.call(verb, path)}
            for status in operation["responses"]:
                if status == "default" or (pattern, method, status) in seen or pattern.endswith("/events") and status == "200":
                    continue
                with self.subTest(method=method, pattern=pattern, status=status):
                    self.assertIn(status, asked, "nothing here causes it")
                    answer = asked[status]()
                    self.assertEqual(str(answer.status), status, answer)
                    self.assertEqual(self.hold(operation, answer), "Error")

    def test_every_operation_answers_as_declared(self):
        for pattern, method, operation, answer in self.walk():
            with self.subTest(method=method, pattern=pattern):
                self.assertIn(str(answer.status), operation["responses"], answer)
                self.assertEqual(answer.status == 409, pattern in self.REFUSED, answer)
                self.hold(operation, answer)
                if answer.status == 200 and pattern == "/metrics":
                    self.assertTrue(answer.headers["content-type"].startswith("application/openmetrics-text"))
        self.assertGreaterEqual(len(self.walk()), 50)

    def test_schemas_refuse_a_member_more_and_a_member_less(self):
        """Else holding answers to them would show nothing."""
        changed = 0
        for pattern, method, operation, answer in self.walk():
            name = self.schema_of(operation, answer)
            if not name or name in ("Error", "DescriptionAnswer"):
                continue
            checker = self.checker(name)
            for what, other in schema_walk.spoilt(self.api, name, answer.json):
                with self.subTest(method=method, pattern=pattern, what=what):
                    self.assertFalse(checker.is_valid(other))
                    changed += 1
        self.assertGreater(changed, 500)

    def test_every_declared_member_is_served(self):
        """A member that no answer here has is listed, or its schema is held by nothing."""
        seen = schema_walk.Seen(self.api)
        for _, _, operation, answer in self.walk() + self.others():
            name = self.hold(operation, answer)
            if name:
                seen.take(name, answer.json)
        self.assertEqual(sorted(seen.missing() - self.ELSEWHERE), [])
        self.assertEqual(sorted(self.ELSEWHERE - seen.declared), [], "no such members")

    def test_every_body_is_read_strictly(self):
        deep = "[" * 200 + "]" * 200
        bad = [b"", b"{", b"[]", b"null", b"{}", b'{"x": 1}', b'{"name": "a", "name": "b"}', deep.encode(),
               b'{"a": 1e999}', b'{"a": NaN}', b'{"a": Infinity}', b"\xff\xfe", b'{"a": "\\u0000"}', b"{} {}",
               b'{"n": ' + b"9" * 400 + b"}"]
        for pattern, method, operation in self.operations():
            if "requestBody" not in operation:
                continue
            for raw in bad:
                if method == "patch" and raw == b"{}":
                    continue  # changes nothing, and is allowed to
                with self.subTest(method=method, pattern=pattern, raw=raw[:40]):
                    answer = server.as_admin(method.upper(), self.path(pattern), raw=raw)
                    self.assertEqual(answer.status, 400, answer)
                    self.assertEqual(answer.json["error"]["code"], "invalid")
                    self.assertTrue(answer.json["error"]["message"])

    def test_absurd_queries_are_400_and_name_the_field(self):
        absurd = ["", "-1", "0x10", "1e9", "9" * 40, "%00", "%zz", "null", "' OR 1=1 --"]
        for pattern, method, operation in self.operations():
            for p in operation["parameters"]:
                if p["in"] != "query" or p["schema"]["type"] == "string":  # texts: the tests below, and test_hostile.py
                    continue
                for value in absurd:
                    with self.subTest(pattern=pattern, name=p["name"], value=value):
                        query = f"?{p['name']}={value.replace(' ', '%20')}"
                        answer = server.as_admin(method.upper(), self.path(pattern) + query,
                                                 self.BODIES.get((method, pattern)))
                        self.assertEqual(answer.status, 400, answer)
                        self.assertEqual(answer.json["error"]["field"], p["name"])

    def test_the_declared_bounds_are_those_that_hold(self):
        """Each bound itself is taken, one step past it is not; each word of a list is taken, another is not."""
        held = 0
        for pattern, method, operation in self.operations():
            for p in operation["parameters"]:
                schema, name = p["schema"], p["name"]
                good = [schema[b] for b in ("minimum", "maximum") if b in schema] + schema.get("enum", [])
                bad = ["nonsense"] if "enum" in schema else []
                for bound, way in (("minimum", -1), ("maximum", 1)):
                    if bound in schema:
                        bad.append(schema[bound] + way if schema["type"] == "integer" else schema[bound] * (1 + 0.01 * way))
                for value, status in [(v, 200) for v in good] + [(v, 400) for v in bad]:
                    if status == 200 and (name == "wait" and value or name == "seen"):  # a maximum that would be waited for; the version that is stored
                        continue
                    with self.subTest(pattern=pattern, name=name, value=value):
                        path = f"{self.path(pattern)}{self.QUERIES.get(pattern, '?')}&{name}={value}"
                        answer = server.as_admin(method.upper(), path.replace("?&", "?"), self.body_of(pattern, method))
                        self.assertIn(answer.status, (200, 204) if status == 200 else (400,), answer)
                        if status == 400:
                            self.assertEqual(answer.json["error"]["field"], name)
                        held += 1
        self.assertGreater(held, 100)

    def test_what_is_required_is_asked_for_by_name(self):
        required = 0
        for pattern, method, operation in self.operations():
            names = [p["name"] for p in operation["parameters"] if p["in"] == "query" and p["required"]]
            query = self.QUERIES.get(pattern, "?")[1:].split("&")
            self.assertLessEqual(set(names), {part.split("=")[0] for part in query})
            for name in names:
                with self.subTest(pattern=pattern, name=name):
                    rest = "&".join(part for part in query if part.split("=")[0] != name)
                    answer = server.as_admin(method.upper(), self.path(pattern) + "?" + rest, self.body_of(pattern, method))
                    self.assertEqual((answer.status, answer.json["error"]["field"]), (400, name), answer)
                    required += 1
        self.assertEqual(required, 4)

    def test_bodies_are_what_their_schemas_say(self):
        """Each good body fits its schema; without a member that it requires, and with one more, the server refuses it as the schema does."""
        changed = 0
        for pattern, method, operation in self.operations():
            if "application/json" not in operation.get("requestBody", {}).get("content", {}):
                continue
            name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
            body = self.body_of(pattern, method)
            self.checker(name).validate(body)
            for what, other in schema_walk.spoilt(self.api, name, body):
                with self.subTest(method=method, pattern=pattern, what=what):
                    self.assertFalse(self.checker(name).is_valid(other))
                    answer = server.as_admin(method.upper(), self.path(pattern), other)
                    self.assertEqual((answer.status, answer.json["error"]["code"]), (400, "invalid"), answer)
                    changed += 1
        self.assertGreater(changed, 40)

    def pages(self, pattern, limit):
        """The keys of the items of a list, page after page."""
        items, cursor = [], ""
        while cursor is not None and len(items) < 1000:
            page = server.as_admin("GET", f"{self.path(pattern)}?limit={limit}{cursor}").json
            rows = page["rows"] if "rows" in page else next(page[n] for n in page if isinstance(page[n], list))
            self.assertLessEqual(len(rows), limit)
            items += [row.get("id", row.get("series_id", row.get("number", row.get("name")))) for row in rows]
            cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
        return items

    def test_every_list_is_whole_in_pages_of_any_size(self):
        lists = 0
        self.others()
        for pattern, method, operation in self.operations():
            if not any(p["name"] == "cursor" for p in operation["parameters"]):
                continue
            most = next(p["schema"]["maximum"] for p in operation["parameters"] if p["name"] == "limit")
            whole = self.pages(pattern, most)
            for limit in {1, 1 + len(whole) // 3, len(whole) or 1} if len(whole) < 60 else {50}:
                with self.subTest(pattern=pattern, limit=limit):
                    paged = self.pages(pattern, limit)
                    if paged != whole:  # the service goes on meanwhile
                        whole, paged = self.pages(pattern, most), self.pages(pattern, limit)
                    self.assertEqual(paged, whole)
            lists += 1
        self.assertGreaterEqual(lists, 12)

    def test_unknown_query_parameters_are_refused(self):
        for pattern, method, operation in self.operations():
            with self.subTest(method=method, pattern=pattern):
                answer = server.as_admin(method.upper(), self.path(pattern) + "?nonsense=1",
                                         self.BODIES.get((method, pattern)))
                self.assertEqual(answer.status, 400, answer)
                self.assertEqual(answer.json["error"]["field"], "nonsense")

    def test_unknown_ids_are_404(self):
        for pattern, method, operation in self.operations():
            if "{id}" not in pattern:
                continue
            for value in ["999999999", "0", "-1", "abc", "9" * 30, "f" * 32, "f" * 40, "..%2f..", "%F0%9F%98%80"]:
                with self.subTest(method=method, pattern=pattern, value=value):
                    path = pattern.replace("{p}", "demo").replace("{id}", value)
                    body = self.body_of(pattern, method)
                    answer = server.as_admin(method.upper(), path, body)
                    self.assertEqual(answer.status, 404, answer)
                    self.assertEqual(answer.json["error"]["code"], "not_found")

    def test_unknown_projects_are_404(self):
        for pattern, method, operation in self.operations():
            if "{p}" not in pattern:
                continue
            for name in ["nothing", "UPPER", "a%20b", "%2e%2e", "x" * 300]:
                with self.subTest(method=method, pattern=pattern, name=name):
                    path = pattern.replace("{p}", name).replace("{id}", support.commit_id(1))
                    answer = server.as_admin(method.upper(), path, self.BODIES.get((method, pattern)))
                    self.assertEqual(answer.status, 404, answer)

    def test_writing_needs_a_token_with_the_scope(self):
        made = {scope: server.as_admin("POST", "/api/v1/tokens", {"scopes": [scope]}).json["token"]
                for scope in ("read", "ingest", "runner", "triage")}
        for pattern, method, operation in self.operations():
            wanted = {scope for entry in operation["security"] for scope in entry.get("token", [])}
            if not wanted or "read" in wanted:
                continue
            body = self.BODIES.get((method, pattern), self.REFUSED.get(pattern))
            with self.subTest(method=method, pattern=pattern):
                self.assertEqual(server.call(method.upper(), self.path(pattern), body).status, 401)
                self.assertEqual(server.call(method.upper(), self.path(pattern), body, token="pfc_" + "0" * 64).status,
                                 401)
            for scope, token in made.items():
                if scope in wanted:
                    continue
                with self.subTest(method=method, pattern=pattern, scope=scope):
                    answer = server.call(method.upper(), self.path(pattern), body, token=token)
                    self.assertEqual(answer.status, 403, answer)
                    self.assertEqual(answer.json["error"]["code"], "forbidden")

    def test_scopes_are_those_documented(self):
        """The description is made of the table that guards: a slip there shows only against what was written by hand."""
        documented = {}
        text = (SOURCE / "server/API.md").read_text()
        for entry in re.findall(r"^- (`[A-Z]+ /.*?)(?=^- |^$|\Z)", text, re.M | re.S):
            named = []
            head = " ".join(entry.split()).split("; body or query:")[0].split("; answer:")[0]
            for method, path, scopes in re.findall(r"`([A-Z]+) (\S+?)`|\[(.*?)\]", head):
                if scopes:  # of those that are named before it
                    documented.update({key: set(SCOPES) if scopes == "any" else set(scopes.split(", ")) for key in named})
                    named = []
                else:
                    at_root = path in ("/version", "/healthz", "/readyz", "/metrics")
                    named.append((path if at_root else "/api/v1" + path, method.lower()))
                    documented[named[-1]] = set()
        served = {(pattern, method): {s for entry in operation["security"] for s in entry.get("token", [])}
                  for pattern, method, operation in self.operations()}
        self.assertEqual(documented, served)

    def test_head_and_options_work_everywhere(self):
        for pattern, methods in self.api["paths"].items():
            if pattern.endswith("/events"):
                continue
            with self.subTest(pattern=pattern):
                options = server.call("OPTIONS", self.path(pattern))
                self.assertEqual(options.status, 204)
                for method in methods:
                    self.assertIn(method.upper(), options.headers["allow"])
                if "get" in methods and "{id}" not in pattern and pattern not in self.QUERIES:
                    head = server.as_admin("HEAD", self.path(pattern))
                    self.assertEqual((head.status, head.body), (200, b""))
                unknown = server.as_admin("PUT", self.path(pattern), {})
                self.assertEqual(unknown.status, 405)
                self.assertEqual(unknown.json["error"]["code"], "method_not_allowed")


if __name__ == "__main__":
    unittest.main(verbosity=1)
