"""Access: sign-ins of browsers, refused writes in the audit log, the client in request lines."""
import hashlib
import http.client
import json
import time
import unittest
import urllib.parse

import support

OWN = {"Sec-Fetch-Site": "same-origin"}


class Access(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = support.Cluster()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def serve(self, *flags, **more):
        server = support.Server(self.cluster.database(migrated=True), *flags, **more)
        self.addCleanup(server.close)
        return server

    def test_a_cookie_is_a_session_and_never_a_token(self):
        server = self.serve()
        made = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["admin"]}).json
        answer = server.call("POST", "/api/v1/session", token=made["token"])
        self.assertEqual(answer.status, 204)
        cookie = answer.headers["set-cookie"]
        for word in ("HttpOnly", "SameSite=Strict", "Path=/api/v1"):
            self.assertIn(word, cookie)
        self.assertNotIn("Max-Age", cookie)
        self.assertRegex(cookie, r"^pfc_session=pfs_[0-9a-f]{64};")
        secret = cookie.split(";")[0].partition("=")[2]
        self.assertNotIn(made["token"][4:], cookie)
        # only its hash is stored, and neither secret is accepted in place of the other
        dump = support.sql(server.database, "SELECT s::text FROM browser_sessions s")
        self.assertNotIn(secret[4:], dump)
        self.assertIn(hashlib.sha256(secret.encode()).hexdigest(), dump)
        ask = lambda **more: server.call("GET", "/api/v1/tokens", **more).status
        self.assertEqual(ask(token=secret), 401)
        self.assertEqual(ask(headers={"Cookie": "pfc_session=" + made["token"]}), 401)
        self.assertEqual(ask(headers={"Cookie": "pfc_session=" + secret}), 200)
        self.assertEqual(ask(headers={"Cookie": "pfc_session=" + secret, "Sec-Fetch-Site": "cross-site"}), 401)
        second = support.sign_in(server, made["token"])
        self.assertNotIn(secret, second["Cookie"])
        stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=support.DEADLINE_S)
        stream.request("GET", "/api/v1/events", headers=second)
        reply = stream.getresponse()
        self.assertEqual(reply.status, 200)
        self.assertTrue(reply.readline().startswith(b"retry:"))
        # gone with its token, and so is the stream
        self.assertEqual(server.as_admin("DELETE", f"/api/v1/tokens/{made['id']}").status, 204)
        self.assertEqual(server.call("GET", "/api/v1/projects", headers=second).status, 401)
        reply.read()
        stream.close()

    def test_a_session_changes_things_only_from_the_services_own_pages(self):
        server = self.serve()
        head = support.sign_in(server, server.admin)
        host = f"127.0.0.1:{server.port}"
        proofs = [OWN, {"Origin": "http://" + host}, {**OWN, "Origin": "http://" + host}]
        forged = [{}, {"Origin": "null"}, {"Origin": f"http://127.0.0.1:{server.port + 1}"}, {"Origin": "http://evil.example"},
                  {"Origin": f"http://{host}.evil.example"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"},
                  {"Sec-Fetch-Site": "cross-site", "Origin": "http://" + host}, {"Referer": f"http://{host}/"}]
        for n, more in enumerate(forged):
            with self.subTest(forged=more):
                answer = server.call("POST", "/api/v1/projects", {"name": f"forged{n}"}, headers={**head, **more})
                self.assertEqual(answer.status, 401, answer)
                self.assertEqual(server.call("DELETE", "/api/v1/session", headers={**head, **more}).status, 403)
        for n, more in enumerate(proofs):
            with self.subTest(proof=more):
                answer = server.call("POST", "/api/v1/projects", {"name": f"own{n}"}, headers={**head, **more})
                self.assertEqual(answer.status, 201, answer)
        self.assertEqual({p["name"] for p in server.as_admin("GET", "/api/v1/projects").json["projects"]}, {"own0", "own1", "own2"})
        # a session starts no other one, so that its end is its end
        self.assertEqual(server.call("POST", "/api/v1/session", headers={**head, **OWN}).status, 403)
        # of two tokens neither is anybody's, though both are good
        doubled = http.client.HTTPConnection("127.0.0.1", server.port, timeout=support.DEADLINE_S)
        doubled.putrequest("GET", "/api/v1/projects")
        for _ in range(2):
            doubled.putheader("Authorization", "Bearer " + server.admin)
        doubled.endheaders()
        self.assertEqual(doubled.getresponse().status, 400)
        doubled.close()

    def test_a_session_is_listed_ended_and_expires(self):
        url = self.cluster.database()
        first, second = support.Server(url), support.Server(url)
        self.addCleanup(first.close)
        self.addCleanup(second.close)
        first.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        made = [first.as_admin("POST", "/api/v1/tokens", {"scopes": scopes, "name": "t", **more}).json for scopes, more in
                ((["read"], {}), (["read"], {}), (["admin"], {"project": "demo"}))]
        heads = [support.sign_in(first, m["token"]) for m in (made[0], made[0], made[1])]
        listed = lambda **who: [(s["id"], s["token_id"], s["current"]) for s in
                                second.call("GET", "/api/v1/browser-sessions", **who).json["browser_sessions"]]
        ids = [s[0] for s in listed(token=first.admin)]
        self.assertEqual(len(ids), 3)
        self.assertEqual(listed(headers=heads[1]), [(ids[0], made[0]["id"], False), (ids[1], made[0]["id"], True)])
        self.assertEqual(listed(token=made[2]["token"]), [])  # the administrator of one project is not that of the service
        row = second.call("GET", "/api/v1/browser-sessions", headers=heads[2]).json["browser_sessions"][0]
        self.assertEqual((row["token_name"], row["address"]), ("t", "127.0.0.1"))
        self.assertEqual(first.call("GET", "/api/v1/browser-sessions").status, 401)
        end = lambda n, **who: first.call("DELETE", f"/api/v1/browser-sessions/{ids[n]}", **who).status
        reads = lambda head: [server.call("GET", "/api/v1/projects", headers=head).status for server in (first, second)]
        # those of another token are not there
        self.assertEqual([end(0, token=made[1]["token"]), end(0, token=made[2]["token"])], [404, 404])
        self.assertEqual([reads(h) for h in heads], [[200, 200]] * 3)
        self.assertEqual(end(0, headers=heads[1]), 401)  # no proof of its origin
        self.assertEqual(end(0, headers={**heads[1], **OWN}), 204)
        support.until("ended on every server", lambda: reads(heads[0]) == [401, 401])
        self.assertEqual([reads(h) for h in heads[1:]], [[200, 200]] * 2)
        # signed out: it is not only the cookie that is deleted
        out = second.call("DELETE", "/api/v1/session", headers={**heads[1], **OWN})
        self.assertEqual(out.status, 204)
        self.assertIn("Max-Age=0", out.headers["set-cookie"])
        support.until("signed out on every server", lambda: reads(heads[1]) == [401, 401])
        self.assertEqual(second.call("DELETE", "/api/v1/session", headers={**heads[1], **OWN}).status, 204)
        self.assertEqual(end(2, token=first.admin), 204)
        self.assertEqual(listed(token=first.admin), [])
        # expired: a session that no server has cached yet
        late = support.sign_in(first, made[1]["token"])
        support.sql(url, "UPDATE browser_sessions SET expires_at = now() - interval '1 second'")
        self.assertEqual(reads(late), [401, 401])
        self.assertEqual(support.sql(url, "SELECT count(*) FROM browser_sessions"), "1\n")
        # of one token the newest 32 are kept, and the expired one is deleted
        many = [support.sign_in(first, made[0]["token"]) for _ in range(34)]
        self.assertEqual(support.sql(url, "SELECT count(*), max(round(extract(epoch FROM expires_at - created_at) / 86400)) FROM browser_sessions").split("|"),
                         ["32", "7\n"])
        self.assertEqual([reads(many[n]) for n in (0, 1, 2, 33)], [[401, 401]] * 2 + [[200, 200]] * 2)
        seen = [r["action"] for r in first.as_admin("GET", "/api/v1/audit?limit=1000").json["audit"] if "session" in r["object"]]
        self.assertEqual((seen.count("sign in"), seen.count("sign out")), (38, 3))
        self.assertEqual(first.call("POST", "/api/v1/session").status, 401)

    def test_a_dead_session_still_reads_what_is_public(self):
        server = self.serve("--public-read")
        head = {"Cookie": "pfc_session=pfs_" + "0" * 64}
        self.assertEqual(server.call("GET", "/api/v1/projects", headers=head).status, 200)
        self.assertEqual(server.call("GET", "/api/v1/tokens", headers=head).status, 401)

    def test_refused_writes_are_in_the_audit_log_and_cannot_flood_it(self):
        begun, server = time.monotonic(), self.serve()
        server.as_admin("POST", "/api/v1/projects", {"name": "mine"})
        server.as_admin("POST", "/api/v1/projects", {"name": "theirs"})
        make = lambda **more: server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read", "ingest"], **more}).json
        bound, free = make(project="mine", name="ci"), make()
        refused = lambda: {(r["actor"], r["object"], r["detail"].split(",")[0]): r for r in
                           server.as_admin("GET", "/api/v1/audit?limit=1000").json["audit"] if r["action"] == "refused"}
        ask = lambda method, path, body, token: server.call(method, path, body, token=token).status
        self.assertEqual(ask("POST", "/api/v1/projects/theirs/commits", support.commits(1, 1), bound["token"]), 404)
        self.assertEqual(ask("POST", "/api/v1/tokens", {"scopes": ["read"]}, free["token"]), 403)
        self.assertEqual(ask("POST", "/api/v1/runs", {}, "pfc_" + "0" * 64), 401)
        self.assertEqual(ask("DELETE", "/api/v1/jobs/7", None, None), 401)
        # reads, and what is no route, are none
        self.assertEqual([ask("GET", "/api/v1/tokens", None, free["token"]), ask("POST", "/api/v1/nothing", None, None)], [403, 404])
        seen = support.until("they are in the log", lambda: (lambda r: r if len(r) == 4 else None)(refused()))
        row = seen[f"token {bound['id']} (ci)", "POST /api/v1/projects/{p}/commits", "404"]
        self.assertEqual((row["project"], row["detail"]), ("mine", "404, from 127.0.0.1"))
        self.assertIn((f"token {free['id']}", "POST /api/v1/tokens", "403"), seen)
        self.assertIn(("anonymous", "POST /api/v1/runs", "401"), seen)
        self.assertIn(("anonymous", "DELETE /api/v1/jobs/{id}", "401"), seen)
        # a flood: of one client, then of many tokens
        for _ in range(300):
            self.assertEqual(ask("POST", "/api/v1/runs", {}, None), 401)
        tokens = [make()["token"] for _ in range(100)]
        for token in tokens:
            self.assertEqual(ask("POST", "/api/v1/tokens", {"scopes": ["read"]}, token), 403)
        count = "SELECT count(*), sum(CASE WHEN detail LIKE '%times%' THEN split_part(detail, ' ', 2)::int ELSE 1 END) FROM audit WHERE action = 'refused'"
        rows, _ = support.sql(server.database, count).strip().split("|")
        self.assertLessEqual(int(rows), 16 + int((time.monotonic() - begun) / 6) + 1)
        server.stop()
        rows, refusals = support.sql(server.database, count).strip().split("|")
        self.assertEqual(int(refusals), 404)
        self.assertLess(int(rows), 100)

    def test_a_runner_of_another_project_takes_no_name_away(self):
        server = self.serve()
        tokens = {}
        for project in ("mine", "theirs"):
            server.as_admin("POST", "/api/v1/projects", {"name": project})
            for scope in ("runner", "read"):
                tokens[project, scope] = server.as_admin("POST", "/api/v1/tokens", {"scopes": [scope], "project": project}).json["token"]
        tokens[None, "runner"] = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["runner"]}).json["token"]

        def ask(project, machine_class):
            answer = server.call("POST", "/api/v1/jobs/lease", {"runner": "r1", "machine_class": machine_class}, token=tokens[project, "runner"])
            self.assertIn(answer.status, (200, 204), answer)
            return answer

        seen = lambda project: sorted((r["name"], r["machine_class"], r["project"]) for r in
                                      server.call("GET", "/api/v1/runners", token=tokens[project, "read"]).json["runners"])
        job = server.as_admin("POST", "/api/v1/projects/mine/commits", support.commits(1, 1))
        job = server.as_admin("POST", "/api/v1/jobs", {"project": "mine", "kind": "measure", "commit": support.commit_id(1),
                                                       "source": "/nowhere"}).json["id"]
        self.assertEqual(ask("mine", "a").status, 200)
        before = seen("mine")
        self.assertEqual(before, [("r1", "a", "mine")])
        ask("theirs", "b")
        self.assertEqual((seen("mine"), seen("theirs")), (before, [("r1", "b", "theirs")]))
        ask(None, "c")
        self.assertEqual((seen("mine"), seen("theirs")), ([("r1", "a", "mine"), ("r1", "c", None)], [("r1", "b", "theirs"), ("r1", "c", None)]))
        every = {(r["project"], r["job_id"]) for r in server.as_admin("GET", "/api/v1/runners").json["runners"]}
        self.assertIn(("mine", job), every)
        self.assertIn(("theirs", None), every)
        # drained: that of one project alone
        self.assertLess(server.as_admin("POST", "/api/v1/runners/drain", {"runner": "r1", "project": "theirs"}).status, 300)
        states = {r["project"]: r["state"] for r in server.as_admin("GET", "/api/v1/runners").json["runners"]}
        self.assertEqual((states["theirs"], states["mine"]), ("drained", "busy"))

    def test_names_have_no_characters_that_a_terminal_obeys_and_free_text_is_escaped_in_the_log(self):
        server = self.serve()
        server.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 2))
        run = support.run_document(1, 1)
        job = {"project": "demo", "kind": "measure", "commit": support.commit_id(1)}
        lease = {"runner": "r", "machine_class": "c", "labels": {}}
        measured = lambda **more: {**run, "measurements": [{**run["measurements"][0], **more}]}
        for evil in ("\u202e", "\u2066", "\u200f", "\u061c", "\u009b", "\u0085", "\u2028", "\ufeff"):
            bad = "a" + evil + "b"
            for path, body in (("tokens", {"scopes": ["read"], "name": bad}), ("projects", {"name": "x", "branch": bad}),
                               ("projects/demo/commits", {**support.commits(3, 3), "branch": bad}),
                               ("runs", measured(benchmark=bad)), ("runs", measured(metric=bad)), ("runs", measured(backend=bad)),
                               ("runs", measured(unit=bad)), ("runs", {**run, "machine": {**run["machine"], "name": bad}}),
                               ("runs", {**run, "machine": {**run["machine"], "class": bad}}), ("runs", {**run, "suite": bad}),
                               ("runs", {**run, "branch": bad}), ("jobs", {**job, "branch": bad}), ("jobs", {**job, "suite": bad}),
                               ("jobs", {**job, "labels": {bad: "x"}}), ("jobs", {**job, "labels": {"x": bad}}),
                               ("jobs/lease", {**lease, "runner": bad}), ("jobs/lease", {**lease, "machine_class": bad})):
                with self.subTest(path=path, body=body):
                    answer = server.as_admin("POST", "/api/v1/" + path, body)
                    self.assertEqual((answer.status, answer.json["error"]["code"]), (400, "invalid"), answer)
                    self.assertIn("control characters", answer.json["error"]["message"])
                    self.assertNotIn(evil, answer.json["error"]["message"])
        # what Git and people wrote is stored as it is, and shown escaped: cli/output, and here the log
        line = support.commits(3, 3)
        line["commits"][0].update(subject="see \u202egnp.exe \u009b2J", author="\u202eadA")
        self.assertEqual(server.as_admin("POST", "/api/v1/projects/demo/commits", line).status, 200)
        stored = server.as_admin("GET", f"/api/v1/projects/demo/commits/{support.commit_id(3)}").json
        self.assertEqual(stored["subject"], "see \u202egnp.exe \u009b2J")
        server.call("GET", "/" + urllib.parse.quote("\u202e\u009b2J\u2066"))
        self.assertEqual(server.call("GET", "/x", headers={"X-Request-Id": "\u009b".encode("latin-1", "replace").decode("latin-1")}).status, 404)
        for evil in ("\u202e", "\u009b", "\u2066"):
            self.assertNotIn(evil, server.log())

    def test_a_request_line_has_the_clients_address_and_its_tokens_number(self):
        server = self.serve("--trusted-proxies", "127.0.0.1")
        made = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"]}).json
        lines = lambda: [(l["path"], l["status"], l["address"], l["token"]) for l in map(json.loads, server.log().splitlines())
                         if l.get("event", l.get("msg")) == "request" and l["method"] == "GET" and l["path"].startswith("/api")]

        def ask(path, **more):
            # the line is written after the answer is sent: without waiting, the next request's line could precede it
            before = len(lines())
            status = server.call("GET", path, **more).status
            support.until("the line of the request", lambda: len(lines()) > before)
            return status

        signed_in = {"headers": support.sign_in(server, made["token"])}
        for n, (more, status) in enumerate((({"token": made["token"]}, 200), ({"token": made["token"], "headers": {"X-Forwarded-For": "203.0.113.9"}}, 200),
                                            (signed_in, 200), ({"token": "pfc_" + "0" * 64}, 401), ({}, 401))):
            self.assertEqual(ask(f"/api/v1/projects?limit={n + 1}", **more), status)
        self.assertEqual(ask("/api/v1/tokens", token=made["token"]), 403)
        p, own = "/api/v1/projects", made["id"]
        self.assertEqual(lines()[-6:], [(p, 200, "127.0.0.1", own), (p, 200, "203.0.113.9", own), (p, 200, "127.0.0.1", own),
                                        (p, 401, "127.0.0.1", 0), (p, 401, "127.0.0.1", 0), ("/api/v1/tokens", 403, "127.0.0.1", own)])


if __name__ == "__main__":
    unittest.main()
