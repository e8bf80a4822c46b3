"""Every writing operation of openapi.json: each change is in the audit log once, and each text is hostile once.

For OpenApi of test_openapi.py, whose service it asks. Both tests take the operations from the document, so that a new
route is missed by neither.
"""
import copy
import json
import os
import pathlib

import group_rows
import rule_rows
import support
import trace_rows

INJECTIONS = ("'; DROP TABLE runs; -- \" OR 1=1 -- $1); DELETE FROM measurements; --", "{a,b}\\\"'\\x27\\",
              "<script>alert(1)</script>%s%n%x${jndi:ldap://x}`id`$(id)", "../../../etc/passwd", "a\r\nSet-Cookie: x=1\x1b[2J\x07",
              "\u202e\ufeff", "\ud800", "a\0b", "", "x" * 5000)
# Beside the ordinary refusals 409: what the text would overwrite.
TAKEN = (200, 201, 202, 204)
REFUSED = (400, 404, 409, 413)

# Operations that change nothing (a replay, signing out without a session) or whose trace is the job itself, as server/API.md says.
# Signed by a forge in place of a token: test_webhooks.py.
WEBHOOKS = {("post", "/api/v1/webhooks/" + forge) for forge in ("github", "gitlab", "gitea")}
NO_ROW = {("post", "/api/v1/projects/{p}/replay"), ("post", "/api/v1/projects/{p}/suppressions/preview"), ("delete", "/api/v1/session"),
          ("post", "/api/v1/jobs/lease"), ("post", "/api/v1/jobs/{id}/heartbeat"), ("post", "/api/v1/jobs/{id}/release"),
          ("post", "/api/v1/jobs/{id}/restart"), ("post", "/api/v1/jobs/{id}/earlier")}


def run_schema():
    text = pathlib.Path(os.environ["PERFCI_SOURCE_DIR"], "schema/json/run.schema.json").read_text()
    return json.loads(text)


def resolve(root, schema):
    while "$ref" in schema:
        at = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            at = at[step]
        schema = at
    return schema


def texts(root, schema, path=()):
    """The path of every text that a body may have: names of members, 0 for an array's item, None for a member of any name."""
    schema = resolve(root, schema)
    for other in schema.get("anyOf", []) + schema.get("oneOf", []):
        yield from texts(root, other, path)
    kind = schema.get("type", [])
    if "string" in kind or "const" in schema or any(isinstance(v, str) for v in schema.get("enum", [])):
        yield path
    for name, member in schema.get("properties", {}).items():
        yield from texts(root, member, (*path, name))
    if "items" in schema:
        yield from texts(root, schema["items"], (*path, 0))
    if isinstance(schema.get("additionalProperties"), dict):
        yield (*path, None)
        yield from texts(root, schema["additionalProperties"], (*path, "any"))


def put(body, path, text):
    """A copy of the body with the text at the path; what is missing on the way is made."""
    whole = copy.deepcopy(body)
    at = whole
    for step, after in zip(path[:-1], path[1:]):
        if isinstance(at, list):
            if not at:
                at.append([] if after == 0 else {})
            at = at[0]
        else:
            if not isinstance(at.get(step), (dict, list)):
                at[step] = [] if after == 0 else {}
            at = at[step]
    last = path[-1]
    if last is None:
        at[text] = "x"
    elif isinstance(at, list):
        at[:1] = [text]
    else:
        at[last] = text
    return whole


class Writes:
    """Mixed into OpenApi, which has operations(), path(), body_of() and the service."""

    def spare(self, pattern, method):
        """The path to ask; what deletes a project, or its link, gets one of its own."""
        if (method, pattern) == ("delete", "/api/v1/projects/{p}/forge"):
            self.service().as_admin("POST", "/api/v1/projects", {"name": "linked"})
            self.service().as_admin("POST", "/api/v1/projects/linked/forge", self.BODIES["post", "/api/v1/projects/{p}/forge"])
            return "/api/v1/projects/linked/forge"
        if (method, pattern) == ("delete", "/api/v1/projects/{p}/schedules/{id}"):
            return self.path(pattern).replace("planted", "spare")
        if (method, pattern) != ("delete", "/api/v1/projects/{p}"):
            return self.path(pattern)
        self.service().as_admin("POST", "/api/v1/projects", {"name": "spare"})
        return "/api/v1/projects/spare"

    def changes(self):
        """(method, path, body, rows): good requests in an order in which each is new; rows that each adds to the log."""
        server = self.service()
        demo = "/api/v1/projects/demo"
        commits = support.commits(300, 301)
        commits["commits"][0]["parents"] = []
        run = support.run_document(700, 1)
        detector = {"rules": [{"metric": "*", "min_change": 0.0125}]}
        sources = {"commit": support.commit_id(5), "files": ["b.c"], "globs": ["kernels/"]}
        job = {"project": "demo", "kind": "measure", "commit": support.commit_id(6), "labels": {"rack": "audited"}}
        order = {"project": "demo", "mode": "remote", "metric": "time_ns", "good": support.commit_id(1), "bad": support.commit_id(12),
                 "benchmark": "gemm/f32/m64n64k64"}
        yield "post", "/api/v1/projects", {"name": "audited"}, 1
        yield "post", "/api/v1/projects", {"name": "audited"}, 0
        yield "patch", "/api/v1/projects/audited", {"repo_url": "https://git.example.org/moved.git"}, 1
        yield "patch", "/api/v1/projects/audited", {"repo_url": "https://git.example.org/moved.git"}, 0
        yield "delete", "/api/v1/projects/audited", None, 1
        yield "post", demo + "/commits", commits, 1
        yield "post", demo + "/detector", detector, 1
        yield "post", demo + "/detector", detector, 0
        yield "post", demo + "/replay", detector, 0
        link = self.BODIES["post", "/api/v1/projects/{p}/forge"]
        yield "post", demo + "/forge", {**link, "policy": "on_change"}, 1
        yield "delete", demo + "/forge", None, 1
        yield "post", demo + "/forge", link, 1
        schedule = demo + "/schedules/audited"
        yield "post", demo + "/schedules", {"name": "audited", "cron": "@daily", "branch": "empty"}, 1
        yield "patch", schedule, {"enabled": False}, 1
        yield "post", schedule + "/run", None, 1
        yield "delete", schedule, None, 1
        rules = demo + "/suppressions"
        yield "post", rules + "/preview", {"benchmark": "audited"}, 0
        yield "post", rules, {**rule_rows.RULE, "benchmark": "audited"}, 1
        last = self.service().as_admin("GET", rules).json["suppressions"][0]["id"]
        yield "delete", f"{rules}/{last}", None, 1
        yield "delete", f"{rules}/{last}", None, 0
        yield "post", demo + "/sources", sources, 1
        yield "post", demo + "/owners", {"rules": "kernel:gemm @audited\n"}, 1
        yield "post", demo + "/codeowners", {"commit": support.commit_id(6), "path": "CODEOWNERS", "text": "* @audited\n"}, 1
        yield "post", demo + "/codeowners", {"commit": support.commit_id(5), "path": "CODEOWNERS", "text": "* @audited\n"}, 0
        yield "post", "/api/v1/runs", run, 1
        yield "post", "/api/v1/runs", run, 0
        for rows in (1, 0):
            yield "post", f"/api/v1/runs/{run['id']}/traces", trace_rows.FILE, rows
        session = {**self.BODIES["post", "/api/v1/projects/{p}/sessions"], "id": f"{700:032x}"}
        yield "post", demo + "/sessions", session, 1
        yield "post", demo + "/sessions", session, 0
        yield "patch", f"/api/v1/alerts/{self.values['/api/v1/alerts/{id}']}", {"state": "investigating", "reason": "audited"}, 1
        alert = self.values["/api/v1/alerts/{id}"]
        for side in server.as_admin("GET", f"/api/v1/alerts/{alert}/traces").json.values():
            if side["job"]:  # of another test
                server.as_admin("DELETE", f"/api/v1/jobs/{side['job']['id']}")
        yield "post", f"/api/v1/alerts/{alert}/traces", None, 2  # a job for each side
        yield "post", f"/api/v1/alerts/{alert}/traces", None, 0
        group = f"/api/v1/groups/{group_rows.group_of(server, alert)}"
        count = int(support.sql(server.database, "SELECT count(*) FROM alerts WHERE group_id = (SELECT group_id FROM alerts"
                                f" WHERE id = {alert}) AND state IN ('untriaged', 'acknowledged', 'investigating')"))
        # the group, its assignee and each of its open alerts
        yield "patch", "/api/v1/groups", {"groups": [{"id": int(group.split("/")[-1])}], "state": "investigating", "assignee": "Ada"}, 2 + count
        for verb in ("merge", "split"):
            yield "post", f"{group}/{verb}", group_rows.body(server, "post", f"{group}/{verb}", alert), 1
        yield "post", f"{group}/issue", None, 1
        event = self.values["/api/v1/environment/{id}"]
        yield "patch", f"/api/v1/environment/{event}", {"dismissed": True, "reason": "audited"}, 1
        yield "patch", f"/api/v1/environment/{event}", {"dismissed": False}, 1
        yield "post", "/api/v1/jobs", job, 1
        yield "post", "/api/v1/jobs", job, 0
        held = []

        def lease():
            asked = {"runner": "auditor", "machine_class": "any", "labels": {"rack": "audited"}, "backends": []}
            while True:  # others' jobs come first
                answer = server.as_admin("POST", "/api/v1/jobs/lease", asked)
                self.assertEqual(answer.status, 200, answer)
                if answer.json["job"]["labels"] == {"rack": "audited"}:
                    return answer.json["job"]

        before = self.log_rows()
        held.append(lease())
        self.assertEqual(self.log_rows(), before, "a lease is in the job")
        place = f"/api/v1/jobs/{held[0]['id']}"
        yield "post", place + "/heartbeat", {"lease": held[0]["lease"]}, 0
        yield "post", place + "/earlier", {"lease": held[0]["lease"], "key": "0" * 64}, 0
        yield "post", place + "/complete", {"lease": held[0]["lease"], "status": "failed", "reason": "audited"}, 1
        yield "post", place + "/complete", {"lease": held[0]["lease"], "status": "failed", "reason": "audited"}, 0
        yield "post", "/api/v1/jobs", job, 1
        held.append(lease())
        yield "post", f"/api/v1/jobs/{held[1]['id']}/restart", {"lease": held[1]["lease"], "runner": "node"}, 0
        yield "post", f"/api/v1/jobs/{held[1]['id']}/release", {"lease": held[1]["lease"].split("-")[0]}, 0
        yield "delete", f"/api/v1/jobs/{held[1]['id']}", None, 1
        yield "post", f"/api/v1/jobs/{held[1]['id']}/retry", None, 1
        for verb, rows in (("drain", 1), ("drain", 0), ("undrain", 1), ("undrain", 0)):
            yield "post", "/api/v1/runners/" + verb, {"runner": "auditor"}, rows
        since = {"runner": "auditor", "quarantine_since": "2100-01-01T00:00:00Z"}
        yield "post", "/api/v1/runners/revoke", {**since, "dry_run": True}, 0
        yield "post", "/api/v1/runners/revoke", {**since, "reason": "audited"}, 2
        yield "post", "/api/v1/runners/release", {"runner": "auditor"}, 1
        yield "post", "/api/v1/bisections", self.bisection(), 2  # the alert in question changes, too
        yield "post", "/api/v1/bisections", {**order, "dry_run": True}, 0
        yield "post", "/api/v1/bisections", order, 1
        newest = server.as_admin("GET", "/api/v1/bisections?limit=1").json["bisections"][0]
        yield "delete", f"/api/v1/bisections/{newest['id']}", None, 1
        yield "post", "/api/v1/tokens", {"scopes": ["read"], "name": "audited"}, 1
        made = server.as_admin("GET", "/api/v1/tokens?limit=1000").json["tokens"][-1]
        yield "post", f"/api/v1/tokens/{made['id']}/rotate", {"overlap_s": 60}, 1
        yield "delete", f"/api/v1/tokens/{made['id']}", None, 1
        yield "post", "/api/v1/session", None, 1
        signed_in = server.as_admin("GET", "/api/v1/browser-sessions?limit=1000").json["browser_sessions"][-1]
        yield "delete", f"/api/v1/browser-sessions/{signed_in['id']}", None, 1
        yield "delete", "/api/v1/session", None, 0
        for state, rows in (("NULL, done_by = NULL", 1), (None, 0)):
            if state:
                support.sql(server.database, f"UPDATE notices SET done_at = {state}")
            notice = support.sql(server.database, "SELECT min(id) FROM notices").strip()
            yield "delete", f"/api/v1/notices/{notice}", None, rows
        support.sql(server.database, "UPDATE notices SET done_at = NULL, done_by = NULL; INSERT INTO jobs (project_id, kind, state, task)"
                    " SELECT project_id, 'notify', 'failed', json_build_object('notice', id, 'receiver', 'x') FROM notices ORDER BY id LIMIT 1")
        yield "post", f"/api/v1/notices/{notice}/send", None, 1
        yield "post", f"/api/v1/notices/{notice}/send", None, 0

    def log_rows(self):
        """Rows of people and runners; the service's own judging writes some at any time."""
        return int(support.sql(self.service().database, "SELECT count(*) FROM audit WHERE action <> 'refused' AND (actor LIKE 'token %' OR actor LIKE 'runner %')"))

    def matching(self, method, path):
        """The operation of a path."""
        words = path.partition("?")[0].split("/")
        for pattern, verb, _ in self.operations():
            parts = pattern.split("/")
            if verb == method and len(parts) == len(words) and all(p == w or p.startswith("{") for p, w in zip(parts, words)):
                return verb, pattern
        raise AssertionError(f"no operation for {method} {path}")

    def test_written_changes_are_in_the_audit_log_once_and_refused_ones_never(self):
        server = self.service()
        seen, refused = {}, 0
        reader = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"]}).json["token"]
        for method, path, body, rows in self.changes():
            operation = self.matching(method, path)
            with self.subTest(method=method, path=path):
                before = self.log_rows()
                verb = method.upper()
                bad = [] if path.endswith("/session") else [  # which any token may, and where there is nothing to refuse
                       server.call(verb, path, body, token=reader).status, server.call(verb, path, body, token="pfc_" + "0" * 64).status,
                       server.as_admin(verb, path + "?nonsense=1", body).status]
                if isinstance(body, bytes):
                    bad.append(server.as_admin(verb, path, body[:-1]).status)
                elif body is not None:
                    bad.append(server.as_admin(verb, path, {**body, "surprise": 1}).status)
                self.assertTrue(all(400 <= status < 500 for status in bad), bad)
                refused += len(bad)
                self.assertEqual(self.log_rows(), before, "a refused change is in the log")
                answer = server.as_admin(verb, path, body)
                self.assertIn(answer.status, TAKEN, answer)
                self.assertEqual(self.log_rows() - before, rows, answer)
                seen[operation] = seen.get(operation, 0) + rows
        self.assertGreater(refused, 80)
        writing = {(method, pattern) for pattern, method, _ in self.operations() if method != "get"}
        self.assertEqual(writing - set(seen), {("post", "/api/v1/jobs/lease"), *WEBHOOKS}, "an operation without a test")
        self.assertEqual({operation for operation, rows in seen.items() if rows == 0}, NO_ROW - {("post", "/api/v1/jobs/lease")})
        actors = support.sql(server.database, "SELECT DISTINCT actor FROM audit WHERE object LIKE 'token %'")
        self.assertTrue(all(a.startswith(("token ", "perfci-server")) for a in actors.split("\n") if a), actors)

    def test_written_texts_are_hostile_everywhere_and_never_a_fault(self):
        server = self.service()
        fields = cases = taken = 0
        for pattern, method, operation in self.operations():
            if "application/json" not in operation.get("requestBody", {}).get("content", {}):
                continue
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            root = self.api
            if schema["$ref"].endswith("/Run"):
                root = schema = run_schema()
            good = self.body_of(pattern, method) or {}
            if pattern == "/api/v1/runs":
                good = support.run_document(800, 1)
            bodies = [good]
            if pattern == "/api/v1/bisections":  # the order, too, and never begun
                bodies.append({"project": "demo", "mode": "remote", "metric": "time_ns", "good": support.commit_id(1),
                               "bad": support.commit_id(12), "dry_run": True})
            for body in bodies:
                for path in dict.fromkeys(texts(root, schema)):
                    fields += 1
                    for text in INJECTIONS:
                        cases += 1
                        raw = json.dumps(put(body, path, text)).encode()
                        with self.subTest(method=method, pattern=pattern, field=path, text=text[:30]):
                            answer = server.as_admin(method.upper(), self.path(pattern), raw=raw)
                            self.assertIn(answer.status, TAKEN + REFUSED, answer)
                            if answer.status in REFUSED:
                                self.assertTrue(answer.json["error"]["message"], answer)
                                continue
                            taken += 1
                            if answer.status == 201 or method == "patch":
                                self.echoed(answer, path, text)
        self.assertGreater(fields, 60)
        self.assertGreater(cases, 1000)
        self.assertGreater(taken, 50, "hardly a field takes free text: the test asks for little")
        self.assertEqual(server.call("GET", "/readyz").status, 200)
        print(f"{cases} hostile texts in {fields} fields, {taken} taken as the texts they are")

    def echoed(self, answer, path, text):
        """Where the answer has the field, it has the text."""
        at = answer.json if answer.body else None
        for step in path:
            if isinstance(at, dict) and step in at:
                at = at[step]
            elif isinstance(at, list) and step == 0 and at:
                at = at[0]
            else:
                return
        if isinstance(at, str) and text:
            self.assertEqual(at, text)
