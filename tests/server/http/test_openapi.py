"""Walks every operation of openapi.json against the running server.

The description is made of the route table, so this is also the proof that each row answers: with
what it declares for a good request, with a JSON 4xx for a bad one, never with a 5xx.
"""
import json
import unittest

import support


def setUpModule():
    global cluster, server
    cluster = support.Cluster()
    server = support.Server(cluster.database(), "--public-read")


def tearDownModule():
    server.close()
    cluster.close()


class OpenApi(unittest.TestCase):
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

    @classmethod
    def identify(cls):
        series = server.call("GET", "/api/v1/projects/demo/series").json["series"][0]["id"]
        alert = server.call("GET", "/api/v1/alerts").json["alerts"][0]["id"]
        job = server.as_admin("POST", "/api/v1/jobs", {"project": "demo", "kind": "measure",
                                                       "commit": support.commit_id(3)}).json["id"]
        token = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"]}).json["id"]
        # one on the runners, which can be cancelled; a report cannot
        bisection = server.as_admin("POST", "/api/v1/bisections",
                                    {"project": "demo", "mode": "remote", "metric": "time_ns",
                                     "good": support.commit_id(1), "bad": support.commit_id(12)}).json["id"]
        # fresh pairs that hold blame the commit, and somebody is to be told
        report = dict(cls.bisection(), confirmation={"before": support.commit_id(7),
                                                     "pairs": [[100.0 + n % 3, 200.0 + n % 2] for n in range(12)]})
        server.as_admin("POST", "/api/v1/bisections", report)
        notice = server.call("GET", "/api/v1/notices").json["notices"][0]
        assert notice["commit"] == support.commit_id(8), notice
        event = support.moved_machine(server, "moved")["id"]
        return {"/api/v1/environment/{id}": event,
                "/api/v1/notices/{id}": notice["id"], "/api/v1/notices/{id}/send": notice["id"],
                "/api/v1/projects/{p}/commits/{id}": support.commit_id(8), "/api/v1/series/{id}": series,
                "/api/v1/series/{id}/replay": series,
                "/api/v1/runs/{id}": f"{1:032x}", "/api/v1/alerts/{id}": alert,
                "/api/v1/alerts/{id}/suspects": alert, "/api/v1/jobs/{id}": job,
                "/api/v1/jobs/{id}/heartbeat": job, "/api/v1/jobs/{id}/complete": job,
                "/api/v1/jobs/{id}/release": job,
                "/api/v1/bisections/{id}": bisection, "/api/v1/tokens/{id}": token}

    @staticmethod
    def bisection():
        return {"project": "demo", "metric": "time_ns", "benchmark": "gemm/f32/m64n64k64", "backend": "cpu-scalar",
                "good": support.commit_id(1), "bad": support.commit_id(12), "verdict": "found",
                "culprits": [{"commits": [support.commit_id(8)], "probability": 0.99, "rel_change": 1.0,
                              "rel_low": 0.9, "rel_high": 1.1}],
                "runs": 9, "builds": 4, "commits_measured": 4, "seconds": 12.5,
                "steps": [{"commit": support.commit_id(6), "value": 100.0, "build": 0}]}

    # Good bodies, and queries where a parameter is required.
    BODIES = {
        ("post", "/api/v1/projects"): {"name": "demo"},
        ("post", "/api/v1/projects/{p}/commits"): support.commits(1, 2),
        ("post", "/api/v1/projects/{p}/detector"): {"rules": [{"metric": "*", "min_change": 0.002}]},
        ("post", "/api/v1/projects/{p}/replay"): {"rules": [{"metric": "*", "min_change": 0.02}]},
        ("post", "/api/v1/projects/{p}/sources"): {"commit": support.commit_id(4), "files": ["a.c"],
                                                   "globs": ["kernels/"]},
        ("post", "/api/v1/runs"): support.run_document(1, 1),
        ("patch", "/api/v1/alerts/{id}"): {"state": "acknowledged", "reason": "seen", "note": "looking"},
        ("patch", "/api/v1/environment/{id}"): {"dismissed": False, "reason": "it is the machine's"},
        ("post", "/api/v1/jobs"): {"project": "demo", "kind": "measure", "commit": support.commit_id(4),
                                   "labels": {"rack": "a"}, "priority": 10},
        ("post", "/api/v1/jobs/lease"): {"runner": "r1", "machine_class": "none", "labels": {}, "backends": ["x"],
                                         "lease": "a" * 32},
        ("post", "/api/v1/tokens"): {"name": "ci", "scopes": ["ingest"], "project": "demo",
                                     "expires_at": "2999-01-01T00:00:00Z"},
    }
    QUERIES = {"/api/v1/compare": f"?project=demo&a={support.commit_id(7)}&b={support.commit_id(8)}"}
    # A lease that nobody has: refused for what it says, after everything else was right.
    REFUSED = {"/api/v1/jobs/{id}/heartbeat": {"lease": "0" * 32},
               "/api/v1/jobs/{id}/release": {"lease": "0" * 32},
               "/api/v1/jobs/{id}/complete": {"lease": "0" * 32, "status": "done"}}

    def path(self, pattern):
        return pattern.replace("{p}", "demo").replace("{id}", str(self.values.get(pattern, "")))

    def operations(self):
        for pattern, methods in self.api["paths"].items():
            for method, operation in methods.items():
                yield pattern, method, operation

    def test_every_operation_answers_as_declared(self):
        count = 0
        for pattern, method, operation in sorted(self.operations(), key=lambda o: o[1] == "delete"):
            if pattern.endswith("/events"):
                continue  # never ends; test_api.py reads it
            with self.subTest(method=method, pattern=pattern):
                body = self.BODIES.get((method, pattern), self.REFUSED.get(pattern))
                if pattern == "/api/v1/bisections" and method == "post":
                    body = self.bisection()
                answer = server.as_admin(method.upper(), self.path(pattern) + self.QUERIES.get(pattern, ""), body)
                if pattern in self.REFUSED:
                    self.assertEqual(answer.status, 409, answer)
                else:
                    self.assertIn(str(answer.status), operation["responses"], answer)
                    self.assertLess(answer.status, 300, answer)
                if answer.status not in (204, 409):
                    kind = list(operation["responses"][str(answer.status)]["content"])[0]
                    self.assertTrue(answer.headers["content-type"].startswith(kind), answer.headers)
                    if kind == "application/json":
                        self.assertIsInstance(answer.json, dict)
                count += 1
        self.assertGreaterEqual(count, 35)

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
                if p["in"] != "query" or p["schema"]["type"] == "string":
                    continue
                for value in absurd:
                    with self.subTest(pattern=pattern, name=p["name"], value=value):
                        query = f"?{p['name']}={value.replace(' ', '%20')}"
                        answer = server.as_admin(method.upper(), self.path(pattern) + query,
                                                 self.BODIES.get((method, pattern)))
                        self.assertEqual(answer.status, 400, answer)
                        self.assertEqual(answer.json["error"]["field"], p["name"])

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
                    body = self.BODIES.get((method, pattern), self.REFUSED.get(pattern))
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

    def test_the_description_is_consistent(self):
        self.assertEqual(self.api["openapi"], "3.1.0")
        ids = [operation["operationId"] for _, _, operation in self.operations()]
        self.assertEqual(len(ids), len(set(ids)))
        schemas = self.api["components"]["schemas"]
        for _, _, operation in self.operations():
            if "requestBody" in operation:
                ref = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
                self.assertIn(ref.rsplit("/", 1)[1], schemas)
        for path in self.api["paths"]:
            self.assertIn(path.replace("/api/v1", "", 1) if path.startswith("/api/v1") else path, self.documented())

    @staticmethod
    def documented():
        text = (support.pathlib.Path(support.os.environ["PERFCI_SOURCE_DIR"]) / "server/API.md").read_text()
        return {word.split("`")[0].split("?")[0] for part in text.split("`")[1::2]
                for word in [part.split(" ")[-1]]}


if __name__ == "__main__":
    unittest.main(verbosity=1)
