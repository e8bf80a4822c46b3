"""/metrics by strict parsers of both formats, each figure moved by what it counts; /readyz and /version."""
import concurrent.futures
import http.client
import re
import socket
import subprocess
import sys
import unittest

sys.path.append("/usr/lib/python3/dist-packages")  # where Debian has it, for a Python that is not Debian's

import prometheus_client.openmetrics.parser
import prometheus_client.parser

import support

OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PLAIN = "text/plain; version=0.0.4; charset=utf-8"


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = support.Cluster()
        cls.addClassCleanup(cls.cluster.close)
        cls.server = support.Server(cls.cluster.database(migrated=True), "--public-read")
        cls.addClassCleanup(cls.server.close)
        cls.admin = cls.server.admin
        assert cls.server.as_admin("POST", "/api/v1/projects", {"name": "demo"}).status == 201
        assert cls.server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 3)).status == 200

    def families(self):
        """The result of the strict parser, which refuses repeated families and samples."""
        answer = self.server.call("GET", "/metrics")
        self.assertEqual((answer.status, answer.headers["content-type"], answer.headers["cache-control"]), (200, OPEN, "no-store"))
        self.assertTrue(answer.body.endswith(b"\n# EOF\n"))
        families = list(prometheus_client.openmetrics.parser.text_string_to_metric_families(answer.body.decode()))
        self.assertEqual(len({f.name for f in families}), len(families))
        return {f.name: f for f in families}

    def value(self, name, **labels):
        for family in self.families().values():
            for sample in family.samples:
                if sample.name == name and labels.items() <= sample.labels.items():
                    return sample.value
        return None

    def test_every_family_says_what_it_is(self):
        for _ in range(3):
            self.server.call("GET", "/api/v1/projects")
        self.server.call("GET", "/nothing/here")
        for family in self.families().values():
            self.assertTrue(family.documentation.endswith((".", "seconds.")), family)
            self.assertIn(family.type, ("counter", "gauge", "histogram", "info"), family)
            self.assertRegex(family.name, r"\A(perfci|process)_[a-z_]+\Z")
            if family.type == "histogram":
                self.check_buckets(family)

    def check_buckets(self, family):
        series = {}
        for sample in family.samples:
            key = tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le"))
            series.setdefault(key, {}).setdefault(sample.name.rsplit("_", 1)[1], []).append(sample)
        self.assertGreater(len(series), 2)
        for key, parts in series.items():
            counts = [s.value for s in parts["bucket"]]
            self.assertEqual(counts, sorted(counts), key)
            self.assertEqual(parts["bucket"][-1].labels["le"], "+Inf")
            self.assertEqual(counts[-1], parts["count"][0].value, key)
            self.assertGreaterEqual(parts["sum"][0].value, 0)

    def test_the_older_text_is_for_who_wants_it_more(self):
        for accept, wanted in (("text/plain", PLAIN), ("text/plain;version=0.0.4;q=0.5,*/*;q=0.1", PLAIN),
                               ("application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5", OPEN),
                               ("application/openmetrics-text;q=0.2, text/*;q=0.9", PLAIN), ("*/*", OPEN), ("image/png", OPEN),
                               ("text/plain;q=0", OPEN), ("", OPEN), ("*/*;q=1,application/openmetrics-text;q=0.1", PLAIN)):
            answer = self.server.call("GET", "/metrics", headers={"Accept": accept})
            self.assertEqual(answer.headers["content-type"], wanted, accept)
        text = self.server.call("GET", "/metrics", headers={"Accept": "text/plain"}).body.decode()
        self.assertNotIn("# EOF", text)
        self.assertNotIn("# UNIT", text)
        old = {f.name: f for f in prometheus_client.parser.text_string_to_metric_families(text)}
        new = self.families()
        self.assertEqual({f.name for f in old.values() if f.type == "counter"}, {n for n, f in new.items() if f.type == "counter"})
        self.assertEqual({s.name for f in old.values() for s in f.samples if s.name != "perfci_http_request_seconds_bucket"},
                         {s.name for f in new.values() for s in f.samples if s.name != "perfci_http_request_seconds_bucket"})
        for family in old.values():
            self.assertTrue(family.documentation, family)
            self.assertNotEqual(family.type, "unknown", family)

    def test_hostile_paths_and_methods_make_no_series(self):
        def series():
            return {tuple(s.labels.items()) for s in self.families()["perfci_http_requests"].samples}
        for path in ("/x", "/api/v1/projects/none", "/%22%7d%0a"):
            self.server.call("GET", path)
        before = series()
        for n in range(40):
            self.server.call("GET", f"/x{n}")
            self.server.call("GET", f"/api/v1/projects/none{n}")
            self.server.call("GET", f'/a"b{{c}}{n}')
            self.server.call(f"M{n}", "/api/v1/projects")
        after = series()
        self.assertLessEqual(len(after - before), 4, after - before)
        routes = {dict(labels)["route"] for labels in after}
        self.assertIn("(none)", routes)
        self.assertFalse([r for r in routes if "none" in r and r != "(none)"], routes)

    def moves(self, name, action, by=None, **labels):
        """The figure is another after the action; by: by so much."""
        before = self.value(name, **labels) or 0
        action()
        wanted = (lambda: (self.value(name, **labels) or 0) == before + by) if by is not None else (
            lambda: (self.value(name, **labels) or 0) > before)
        support.until(f"{name} {labels} moves from {before}", wanted)

    def test_each_figure_moves_when_the_thing_happens(self):
        server, runs = self.server, iter(range(1, 100))
        post = lambda: self.assertEqual(server.as_admin("POST", "/api/v1/runs", support.run_document(next(runs), 1)).status, 201)
        get = lambda path, status: self.assertEqual(server.call("GET", path).status, status)
        project = {"method": "GET", "route": "/api/v1/projects/{p}"}
        self.moves("perfci_http_requests_total", lambda: get("/api/v1/projects/demo", 200), 1, status="2xx", **project)
        self.moves("perfci_http_requests_total", lambda: get("/api/v1/projects/none", 404), 1, status="4xx", **project)
        self.moves("perfci_http_request_seconds_count", lambda: get("/api/v1/projects/demo", 200), 1, **project)
        self.moves("perfci_http_request_seconds_sum", lambda: get("/api/v1/projects/demo", 200), **project)
        self.moves("perfci_http_request_seconds_bucket", lambda: get("/api/v1/projects/demo", 200), 1, le="30.0", **project)
        self.moves("perfci_runs", post, 1)
        self.moves("perfci_measurements", post, 1)
        self.moves("perfci_ingest_grouped_total", post, 1)
        self.moves("perfci_ingest_groups_total", post, 1)
        self.moves("perfci_detection_batches_total", post)
        self.moves("process_cpu_seconds_total", post)
        self.moves("perfci_series", lambda: self.assertEqual(server.as_admin("POST", "/api/v1/runs", {
            **support.run_document(next(runs), 2), "suite": "other", "machine": {
                "name": "h", "class": "another", "fingerprint": {"cpu": "x", "compiler": "y"}}}).status, 201), 1)
        self.assertGreater(self.value("process_resident_memory_bytes"), 1e6)
        self.assertGreater(self.value("process_max_fds"), self.value("process_open_fds"))
        self.assertGreaterEqual(self.value("perfci_pool_connections"), self.value("perfci_pool_busy"))
        self.assertLess(self.value("perfci_workers_silent_seconds"), 240)
        self.assertEqual(self.value("perfci_build_info", version="0.1.0"), 1)

    def test_queue_leases_and_runners_move(self):
        server = self.server
        enqueue = lambda commit: self.assertEqual(server.as_admin("POST", "/api/v1/jobs", {
            "project": "demo", "kind": "measure", "commit": support.commit_id(commit)}).status, 201)
        token = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["runner"]}).json["token"]
        lease = lambda: self.assertEqual(server.call("POST", "/api/v1/jobs/lease", {
            "runner": "r1", "machine_class": "m"}, token=token).status, 200)
        self.moves("perfci_jobs_queued", lambda: enqueue(1), 1)
        self.moves("perfci_jobs", lambda: enqueue(2), 1, kind="measure", state="queued")
        self.moves("perfci_jobs_leased", lease, 1)
        self.moves("perfci_runners", lambda: self.assertIn(server.call("POST", "/api/v1/jobs/lease", {
            "runner": "r2", "machine_class": "m"}, token=token).status, (200, 204)), 1)
        support.sql(server.database, "UPDATE jobs SET created_at = now() - interval '1 hour' WHERE state = 'leased'")
        support.until("it is an hour old", lambda: (self.value("perfci_jobs_oldest_seconds", kind="measure", state="leased") or 0) >= 3600)
        self.moves("perfci_leases_expired_total", lambda: support.sql(
            server.database, "UPDATE jobs SET lease_until = now() - interval '1 minute' WHERE state = 'leased'"))
        # a run that no worker judges: the lag grows
        support.sql(server.database, "INSERT INTO jobs (project_id, kind, run_id, state, lease_until, created_at)"
                    " SELECT id, 'detect', 999999, 'leased', now() + interval '1 hour', now() - interval '2 minutes' FROM projects LIMIT 1")
        support.until("the lag shows", lambda: self.value("perfci_detection_lag_seconds") >= 120)
        support.sql(server.database, "DELETE FROM jobs WHERE run_id = 999999")

    def test_connections_streams_waiters_and_refusals_move(self):
        server = self.server
        for _ in range(20):
            self.open(None)
        support.until("20 connections", lambda: self.value("perfci_http_connections") >= 20)
        self.moves("perfci_http_streams", lambda: self.open("/api/v1/events"), 1)
        # a server of its own: the waiting request must not lease the jobs of another test
        other = support.Server(self.cluster.database(migrated=True), "--rate-token", "1")
        self.addCleanup(other.close)
        token = other.as_admin("POST", "/api/v1/tokens", {"scopes": ["runner"]}).json["token"]
        self.open("/api/v1/jobs/lease?wait=30", ('{"runner":"w","machine_class":"nobody"}', token), other)
        shows = lambda pattern: support.until(pattern, lambda: re.search(pattern, other.call("GET", "/metrics").body))
        shows(rb"\nperfci_http_waiting 1\n")
        # one request a second of a token
        support.until("429", lambda: other.as_admin("GET", "/api/v1/projects").status == 429)
        shows(rb"\nperfci_http_limited_total [1-9]")

    def open(self, path, post=None, server=None):
        """A connection that stays until the test's end."""
        s = socket.create_connection(("127.0.0.1", (server or self.server).port), timeout=support.DEADLINE_S)
        self.addCleanup(s.close)
        if post:
            body, token = post
            s.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
                      f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        elif path:
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return s

    def test_readiness_says_what_is_amiss_with_the_schema(self):
        server = support.Server(self.cluster.database(migrated=True))
        self.addCleanup(server.close)
        known = server.call("GET", "/version").json["schema_version"]
        self.assertEqual(server.call("GET", "/version").json["version"], "0.1.0")
        for version, status, said in ((known + 1, 200, None), (known + 2, 503, "update the server"), (known, 200, None),
                                      (known - 1, 503, "restart the server")):
            support.sql(server.database, f"DELETE FROM schema_migrations WHERE version > {min(version, known)}")
            if version > known:
                support.sql(server.database, f"INSERT INTO schema_migrations (version, name) SELECT n, 'later' FROM generate_series({known + 1}, {version}) n")
            answer = support.until(f"{status} at version {version}", lambda s=status: next((  # of the last second, perhaps
                a for a in [server.call("GET", "/readyz")] if a.status == s), None))
            if said:
                self.assertIn(said, answer.json["error"]["message"])
                self.assertIn(str(version), answer.json["error"]["message"])
            self.assertEqual(server.call("GET", "/healthz").status, 200)

    def test_monitors_that_come_at_once_are_no_outage(self):
        self.assertEqual(self.value("perfci_database_up"), 1)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for round_ in range(3):
                answers = [pool.submit(self.server.call, "GET", "/metrics") for _ in range(100)]
                self.assertEqual({b"perfci_database_up 1\n" in a.result().body for a in answers}, {True}, round_)

    def test_a_database_that_hangs_holds_one_thread_of_a_kind(self):
        url = self.cluster.database()
        server = support.Server(url, "--threads", "4", "--workers", "0")
        self.addCleanup(server.close)
        locker = subprocess.Popen(["psql", "-XAtq", "-d", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            locker.stdin.write("BEGIN; LOCK TABLE schema_migrations, jobs; SELECT 'held';\n")
            locker.stdin.flush()
            self.assertEqual(locker.stdout.readline(), "held\n")
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'perfci'"
            with concurrent.futures.ThreadPoolExecutor(20) as pool:
                asked, figures = [pool.submit(server.call, "GET", "/readyz")], []

                def unavailable():
                    asked.extend(pool.submit(server.call, "GET", "/readyz") for _ in range(10))
                    self.assertLessEqual(int(support.sql(url, waiting)), 2)
                    return any(a.done() and a.result().status == 503 and
                               "the database has not answered" in a.result().json["error"]["message"] for a in asked)

                support.until("clients without a token get 503", unavailable)

                def monitors_reported():
                    figures.append(pool.submit(server.call, "GET", "/metrics"))
                    self.assertLessEqual(int(support.sql(url, waiting)), 2)
                    return any(f.done() and b"perfci_database_up 0\n" in f.result().body for f in figures)

                support.until("probes get 503", monitors_reported)
                # the other threads are there for other work
                self.assertEqual(server.as_admin("GET", "/api/v1/projects").status, 200)
                locker.communicate("ROLLBACK;\n", timeout=support.DEADLINE_S)
                self.assertLessEqual({a.result().status for a in asked}, {200, 503})
                self.assertEqual({f.result().status for f in figures}, {200})
            support.until("ready again", lambda: server.call("GET", "/readyz").status == 200)
        finally:
            locker.kill()
            locker.communicate(timeout=support.DEADLINE_S)

    def test_readiness_ends_before_the_server_does(self):
        server = support.Server(self.cluster.database(migrated=True))
        self.addCleanup(server.close)
        # a request that is not complete keeps it stopping, and a connection that is open may still ask
        slow, asks = (socket.create_connection(("127.0.0.1", server.port), timeout=support.DEADLINE_S) for _ in range(2))
        self.addCleanup(slow.close)
        slow.sendall(b"POST /api/v1/projects HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n1")
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.sock = asks
        self.addCleanup(connection.close)
        connection.request("GET", "/readyz")
        reply = connection.getresponse()
        self.assertEqual((reply.status, reply.read() and None), (200, None))
        server.process.terminate()
        support.until("it stops", lambda: '"stopping"' in server.log())
        connection.request("GET", "/readyz")
        reply = connection.getresponse()
        self.assertEqual(reply.status, 503)
        self.assertIn(b"stopping", reply.read())


if __name__ == "__main__":
    unittest.main(verbosity=1)
