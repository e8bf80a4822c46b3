"""The answers to clients without a token, for each operation of openapi.json, with and without public reading.

For OpenApi of test_openapi.py, whose server it uses. The public operations are listed here by hand: the description says
only what the table that guards says.
"""
import os
import re

import support

# Nothing of the tokens, the log of changes and the settings, and nothing that is not read only.
FOR_ALL = {"/version", "/healthz", "/readyz", "/metrics", "/api/v1/openapi.json"}
WHERE_PUBLIC = {"/api/v1/" + path for path in (
    "alerts", "alerts/{id}", "alerts/{id}/suspects", "alerts/{id}/explanation", "alerts/{id}/traces", "bisections", "bisections/{id}", "bisections/{id}/replay", "compare", "environment", "environment/{id}",
    "events", "explain", "groups", "groups/{id}", "jobs", "jobs/{id}", "machines", "notices", "projects", "projects/{p}", "projects/{p}/commits",
    "projects/{p}/canaries", "projects/{p}/commits/{id}", "projects/{p}/coverage", "projects/{p}/plot", "projects/{p}/plot/names", "projects/{p}/roofline", "projects/{p}/detector", "projects/{p}/feed", "projects/{p}/runs", "projects/{p}/series",
    "projects/{p}/sessions", "projects/{p}/sessions/{id}", "projects/{p}/candidates",
    "projects/{p}/suppressions", "projects/{p}/suppressions/{id}",
    "projects/{p}/pulls", "projects/{p}/forge", "projects/{p}/schedules", "projects/{p}/schedules/{id}/nights", "projects/{p}/owners", "projects/{p}/quality",
    "runners", "runs/{id}", "runs/{id}/traces", "traces/{id}", "traces/{id}/timeline", "traces/{id}/file", "series/{id}", "series/{id}/replay", "series/{id}/picture", "projects/{p}/badge", "stats")}
ADDRESS = rb"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])"
MAIL = rb"[\w.+-]+@[\w-]+\.[\w.]+"


class Strangers:
    """Mixed into OpenApi, which has operations(), path(), body_of(), others() and the service."""

    def secrets(self):
        """Stores texts that clients without a token must not read in every place that has one: {name: text}."""
        server = self.service()
        named = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read", "ingest", "triage", "admin"],
                                                           "name": "grace@people.example"}).json
        ask = lambda method, path, body, status=200: self.assertEqual(
            server.call(method, path, body, token=named["token"]).status, status, path)
        # actors
        alert = self.values["/api/v1/alerts/{id}"]
        ask("PATCH", f"/api/v1/alerts/{alert}", {"state": "acknowledged", "reason": "seen by a person"})
        ask("PATCH", "/api/v1/groups", {"groups": [{"id": self.values["/api/v1/groups/{id}"]}], "assignee": "mallory@people.example"})
        ask("POST", "/api/v1/projects/demo/detector", {"rules": [{"metric": "*", "min_change": 0.0321}]})
        ask("POST", "/api/v1/projects/demo/owners", {"rules": "* carol@people.example @kernels\n"})
        ask("PATCH", f"/api/v1/environment/{self.values['/api/v1/environment/{id}']}", {"dismissed": True, "reason": "no"})
        ask("POST", "/api/v1/bisections", {"project": "demo", "mode": "remote", "metric": "time_ns", "good": support.commit_id(1),
                                           "bad": support.commit_id(12), "source": "/srv/secret-place"}, 201)
        # a job under way, with its lease and where its runner finds the sources
        ask("POST", "/api/v1/jobs", {"project": "demo", "kind": "measure", "commit": support.commit_id(9), "source": "/srv/secret-place",
                                     "labels": {"rack": "strange"}, "priority": 100}, 201)
        held = server.as_admin("POST", "/api/v1/jobs/lease", {"runner": "strange", "machine_class": "none", "labels": {"rack": "strange"}})
        self.assertEqual(held.status, 200, held)
        # a notice that did not get where it was to
        support.sql(server.database, "UPDATE notices SET done_at = NULL, done_by = NULL; INSERT INTO jobs (project_id, kind, state, task,"
                    " reason) SELECT project_id, 'notify', 'failed', json_build_object('notice', id, 'receiver', 'boss-chat'),"
                    " 'Failed to connect to 10.7.7.7 port 443' FROM notices")
        hashes = support.sql(server.database, "SELECT hash FROM tokens UNION SELECT lease_hash FROM jobs WHERE lease_hash IS NOT NULL")
        return {"a token": [server.admin, named["token"], *(s for s in support.SECRETS)], "a hash": hashes.split(),
                "a lease": [held.json["job"]["lease"]], "a token's name": ["grace"], "a person": ["mallory"],
                "a place": ["secret-place", server.dir, os.path.dirname(server.dir) + "/pfc-", str(support.BIN), "host=", "postgresql://"],
                "a receiver": ["boss-chat", "10.7.7.7"],
                "an owner's address": ["carol@"]}

    def stored(self):
        """The rows that change with every request; background work changes other tables."""
        return self.log_rows(), support.sql(
            self.service().database, "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM tokens), (SELECT count(*) FROM projects),"
            " (SELECT count(*) FROM jobs WHERE kind = 'measure'), (SELECT count(*) FROM bisections), (SELECT count(*) FROM commits)")

    def test_strangers_read_what_is_public_and_change_nothing(self):
        server, secrets = self.service(), self.secrets()
        closed = support.Server(server.database, "--workers", "0")
        self.addCleanup(closed.close)
        before, read = self.stored(), 0
        for pattern, method, operation in self.operations():
            path, verb, body = self.path(pattern) + self.QUERIES.get(pattern, ""), method.upper(), self.body_of(pattern, method)
            with self.subTest(method=method, pattern=pattern):
                shut = closed.call(verb, path, body)
                if pattern == "/api/v1/session" and method == "delete":  # deletes a cookie
                    self.assertEqual(shut.status, 204)
                    continue
                if method != "get" or pattern not in FOR_ALL | WHERE_PUBLIC:
                    for answer in (shut, server.call(verb, path, body)):
                        self.assertEqual((answer.status, answer.json["error"]["code"]), (401, "unauthorized"), answer)
                        self.assertIn("Bearer", answer.headers["www-authenticate"])
                    continue
                if pattern not in FOR_ALL:
                    self.assertEqual((shut.status, shut.json["error"]["code"]), (401, "unauthorized"), shut)
                if pattern == "/api/v1/events":
                    continue  # api_events.py listens there
                for answer in [server.call("GET", path)] + [shut] * (pattern in FOR_ALL):
                    self.assertEqual(answer.status, 200, answer)
                    self.harmless(answer.body, secrets)
                    read += 1
        self.assertEqual(self.stored(), before)
        self.assertEqual(read, len(WHERE_PUBLIC) - 1 + 2 * len(FOR_ALL))
        # who has a token reads who it was, and why a notice is still there
        history = server.as_admin("GET", self.path("/api/v1/alerts/{id}")).json["history"]
        self.assertIn("grace@people.example", str(history))
        self.assertIn("10.7.7.7", str(server.as_admin("GET", "/api/v1/notices").json))

    def harmless(self, body, secrets):
        for what, words in secrets.items():
            for word in words:
                self.assertFalse(word.encode() in body, f"{what} ({word[:12]}) is in {body[:2000]!r}")
        self.assertEqual(re.findall(ADDRESS, body), [])
        self.assertEqual(re.findall(MAIL, body), [])

    def test_strangers_to_a_project_see_runners_without_its_jobs_and_no_user_sees_a_password(self):
        server = self.service()
        job = {"project": "demo", "kind": "measure", "commit": support.commit_id(10), "labels": {"rack": "own"}, "priority": 100}
        self.assertEqual(server.as_admin("POST", "/api/v1/jobs", job).status, 201)
        held = server.as_admin("POST", "/api/v1/jobs/lease", {"runner": "own", "machine_class": "none", "labels": {"rack": "own"}}).json
        server.as_admin("POST", "/api/v1/projects", {"name": "beside"})
        token = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"], "project": "beside"}).json["token"]
        seen = lambda **who: {r["name"]: r["job_id"] for r in server.call("GET", "/api/v1/runners", **who).json["runners"]}["own"]
        self.assertEqual((seen(token=server.admin), seen(token=token)), (held["job"]["id"], None))
        for url in ("https://me:sesame@example.org/x.git", "https://sesame@example.org/x.git", "ssh://me:sesame@example.org/x.git"):
            refused = server.as_admin("POST", "/api/v1/projects", {"name": "secretive", "repo_url": url})
            self.assertEqual((refused.status, refused.json["error"]["field"]), (400, "repo_url"), refused)
            self.assertNotIn(b"sesame", refused.body)
        for n, url in enumerate(("ssh://git@example.org/x.git", "git@example.org:x.git", "https://example.org/a@b:c")):
            self.assertEqual(server.as_admin("POST", "/api/v1/projects", {"name": f"open{n}", "repo_url": url}).status, 201)

    def test_strangers_do_not_learn_where_the_database_is(self):
        away = support.Server("host=/nowhere/hidden user=hidden dbname=hidden", "--public-read", ready=False)
        self.addCleanup(away.close)
        support.until("it has tried the database", lambda: "database_unavailable" in away.log())
        self.assertIn("hidden", away.log())
        for path in ("/readyz", "/healthz", "/metrics", "/version", "/api/v1/projects", "/api/v1/runs/1"):
            for head in ({}, {"Authorization": "Bearer pfc_" + "0" * 64}):
                answer = away.call("GET", path, headers=head)
                self.assertNotIn(b"hidden", answer.body, path)
        self.assertEqual(away.call("GET", "/readyz").status, 503)
