"""Nothing of a foreign project shows: every route of openapi.json, by tokens of each of the five scopes and without one.

A leak is foreign data in an answer, or an answer that differs between what exists in a foreign project and what does
not exist at all. The operations, their parameters and the members of bodies that name something come from the
description at test time: a new route, or a new parameter that names something, is covered or the test fails.
"""
import copy
import json
import unittest

import support
import test_openapi as described

SCOPES = described.SCOPES
NOWHERE, NO_NUMBER = "nowhere", 999999999
# Parameters and members that name nothing of a project; all others of these kinds are names of things.
PLAIN = {"limit", "cursor", "spark", "points", "commits", "wait", "priority", "budget_s", "builds", "commits_measured", "runs", "overlap_s",
         "max_runs", "asked", "rounds", "min_runs", "runs_max", "width", "height", "cells", "months", "seen", "from", "to"}
# A stream without parameters: api_events.py holds that each one gets the events of its project.
STREAMS = {"/api/v1/events"}
# The same for everyone, with made-up examples.
STATIC = {"/api/v1/openapi.json"}
# Things of another project than demo, which is foreign, too.
OTHER = {"/api/v1/environment/{id}": "moved"}


def setUpModule():
    described.setUpModule()


def tearDownModule():
    described.tearDownModule()


def unknown(value):
    """A name of the same form that nothing has."""
    return "f" * len(value) if isinstance(value, str) else NO_NUMBER


class Leaks(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        described.OpenApi.setUpClass()
        cls.api = described.OpenApi("test_every_operation_answers_as_declared")
        cls.server = described.server
        cls.shut = support.Server(cls.server.database, "--workers", "0")  # reading needs a token here
        cls.server.as_admin("POST", "/api/v1/projects", {"name": "beside"})
        make = lambda scope, project: cls.server.as_admin("POST", "/api/v1/tokens", {"scopes": [scope], "project": project}).json["token"]
        cls.own = {project: {scope: make(scope, project) for scope in SCOPES} for project in ("demo", "moved")}
        cls.foreign = {scope: make(scope, "beside") for scope in SCOPES}
        series = cls.api.values["/api/v1/series/{id}"]
        cls.named = {"series": series, "event": cls.api.values["/api/v1/environment/{id}"], "alert": cls.api.values["/api/v1/alerts/{id}"],
                     "group": cls.server.as_admin("GET", "/api/v1/alerts").json["alerts"][-1]["id"],
                     "alert_id": cls.api.values["/api/v1/alerts/{id}"], "job": cls.api.values["/api/v1/jobs/{id}"],
                     "parents": cls.api.values["/api/v1/jobs/{id}"], "groups": cls.api.values["/api/v1/groups/{id}"],
                     "alerts": cls.api.values["/api/v1/alerts/{id}"]}
        cls.marks = [b'"demo"', *(support.commit_id(n).encode() for n in range(1, 13)), b"gemm/f32", b"cpu-scalar", b"gemm/session", b'"moved"', b"mover"]

    @classmethod
    def tearDownClass(cls):
        cls.shut.close()

    def wanted(self, operation):
        return {scope for entry in operation["security"] for scope in entry.get("token", [])}

    def body(self, pattern, method):
        return copy.deepcopy(self.api.body_of(pattern, method))

    def query(self, pattern, operation, project, **more):
        """Every required parameter, and the project wherever one may be named."""
        given = dict(word.split("=") for word in self.api.QUERIES.get(pattern, "?").removeprefix("?").split("&") if word)
        names = {p["name"] for p in operation["parameters"] if p["in"] == "query"}
        given.update({"project": project} if "project" in names else {}, **more)
        return ("?" + "&".join(f"{k}={v}" for k, v in given.items())) if given else ""

    def place(self, pattern, project, value):
        return pattern.replace("{p}", project).replace("{id}", str(value))

    def pairs(self, pattern, method, operation):
        """(what, path, body) of something foreign that exists, beside the same of something that does not."""
        value, body = self.api.values.get(pattern, NO_NUMBER), self.body(pattern, method)
        self.assertEqual("{id}" in pattern, pattern in self.api.values, f"{pattern}: no value to ask for")

        def ask(project, name, change=(), **query):
            sent = {**body, **({"project": project} if "project" in body else {}), **dict(change)} if isinstance(body, dict) else body
            return self.place(pattern, project, name) + self.query(pattern, operation, project, **query), sent

        yield "the project and its thing", ask("demo", value), ask(NOWHERE, unknown(value))
        if "{id}" in pattern:
            yield "the thing", ask("beside", value), ask("beside", unknown(value))
        for parameter in operation["parameters"]:
            name, kind = parameter["name"], parameter["schema"].get("type")
            if parameter["in"] != "query" or kind != "integer" or name in PLAIN:
                continue
            self.assertIn(name, self.named, f"{method} {pattern}: names what? Say so in Leaks.named or in PLAIN")
            yield "?" + name, ask("beside", value, **{name: self.named[name]}), ask("beside", value, **{name: NO_NUMBER})
        if pattern == "/api/v1/explain":
            for name in ("before", "after"):
                yield "?" + name, ask("beside", value, **{name: f"{1:032x}"}), ask("beside", value, **{name: unknown(f"{1:032x}")})
        if pattern == "/api/v1/compare":
            for name in ("a", "b"):
                for thing in (support.commit_id(7), f"{1:032x}"):
                    yield "?" + name, ask("beside", value, **{name: thing}), ask("beside", value, **{name: unknown(thing)})
        for name, schema in self.members(operation):
            if name in PLAIN or "integer" not in str(schema):
                continue
            if name in self.named:
                items = schema.get("items", {})
                wrap = (lambda v: v) if not items else (lambda v: [{"id": v}]) if items.get("type") == "object" else (lambda v: [v])
                yield name, ask("beside", value, [(name, wrap(self.named[name]))]), ask("beside", value, [(name, wrap(NO_NUMBER))])

    def members(self, operation):
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        name = body.get("$ref", "").rsplit("/", 1)[-1]
        schema = self.api.api["components"]["schemas"].get(name, {})
        return list(schema.get("properties", {}).items())

    def plain(self, answer, *names):
        """Status and body, without what the request named itself and without the request's id."""
        text = answer.body.decode("utf-8", "replace")
        for name in names:
            text = text.replace(str(name), "NAME")
        return answer.status, text

    def same(self, existing, missing, value, context):
        names = ["demo", NOWHERE, value, unknown(value), NO_NUMBER, *self.named.values(), support.commit_id(7), support.commit_id(8), "f" * 40,
                 f"{1:032x}", "f" * 32]
        names = sorted({str(n) for n in names}, key=len, reverse=True)
        self.assertEqual(self.plain(existing, *names), self.plain(missing, *names), context)

    def test_foreign_things_look_like_things_that_do_not_exist(self):
        cases = 0
        for pattern, method, operation in self.api.operations():
            if pattern in STREAMS:
                continue
            for what, (path, body), (other, other_body) in self.pairs(pattern, method, operation):
                for scope, token in [*self.foreign.items(), ("none", None)]:
                    with self.subTest(method=method, pattern=pattern, scope=scope, what=what):
                        ask = lambda at, sent: self.shut.call(method.upper(), at, sent, token=token)
                        existing, missing = ask(path, body), ask(other, other_body)
                        if not self.wanted(operation):  # open to everyone: nothing of a project
                            self.assertLess(existing.status, 500)
                        elif pattern != "/api/v1/jobs/lease" and method == "get" or existing.status >= 300:
                            self.same(existing, missing, self.api.values.get(pattern, NO_NUMBER), (path, other))
                        if existing.status < 300 and pattern not in STATIC:
                            for mark in self.marks:
                                self.assertNotIn(mark, existing.body, path)
                        if scope == "none" and self.wanted(operation):
                            self.assertEqual(existing.status, 401, existing)
                        cases += 1
        self.assertGreater(cases, 6 * 50)

    def test_a_scope_opens_its_routes_of_its_own_project_and_no_others(self):
        cases = 0
        for pattern, method, operation in self.api.operations():
            wanted = self.wanted(operation)
            if pattern in STREAMS or not wanted:
                continue
            path, body = self.place(pattern, "demo", self.api.values.get(pattern, "")), self.body(pattern, method)
            path += self.query(pattern, operation, "demo")
            for scope, token in self.own[OTHER.get(pattern, "demo")].items():
                with self.subTest(method=method, pattern=pattern, scope=scope):
                    if scope == "admin" or scope in wanted:
                        if method == "get":
                            answer = self.shut.call("GET", path, token=token)
                            # what concerns the whole service is closed to tokens of one project, whatever their scope
                            closed = answer.status == 403 and "whole service" in answer.json["error"]["message"]
                            self.assertTrue(answer.status == 200 or closed, answer)
                            cases += 1
                        continue
                    answer = self.shut.call(method.upper(), path, body, token=token)
                    self.assertEqual((answer.status, answer.json["error"]["code"]), (403, "forbidden"), answer)
                    for mark in self.marks:
                        self.assertNotIn(mark, answer.body)
                    cases += 1
        self.assertGreater(cases, 200)

    def test_lists_show_own_things_alone(self):
        """Without naming a project: everything that a token of another project reads is its own."""
        for pattern, method, operation in self.api.operations():
            if method != "get" or "{" in pattern or pattern in STREAMS or not self.wanted(operation):
                continue
            for scope, token in self.foreign.items():
                with self.subTest(pattern=pattern, scope=scope):
                    answer = self.shut.call("GET", pattern, token=token)
                    self.assertIn(answer.status, (200, 400, 403), answer)
                    for mark in self.marks:
                        self.assertNotIn(mark, answer.body)
        for runner in self.shut.call("GET", "/api/v1/runners", token=self.foreign["read"]).json["runners"]:
            self.assertIsNone(runner["job_id"], "a job of another project")

    def test_refused_writes_changed_nothing(self):
        rows = json.loads(support.sql(self.server.database, "SELECT json_agg(a) FROM audit a WHERE actor LIKE 'token %' AND project_id = "
                                      "(SELECT id FROM projects WHERE name = 'demo')") or "null") or []
        ids = {str(t["id"]) for t in self.server.as_admin("GET", "/api/v1/tokens?limit=1000").json["tokens"] if t["project"] == "beside"}
        self.assertEqual([r for r in rows if r["actor"].split()[1] in ids], [])


if __name__ == "__main__":
    unittest.main()
