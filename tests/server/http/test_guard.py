"""Access control: rate limits, sessions, TLS, the audit log."""
import concurrent.futures
import http.client
import os
import shutil
import socket
import subprocess
import unittest

import guard_tls
import support


class Guard(guard_tls.Tls, unittest.TestCase):
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

    @staticmethod
    def crowd(server):
        """Sends twenty requests at once, until one exceeds the limit of a burst of three and one per second."""
        answers = []

        def ask():
            with concurrent.futures.ThreadPoolExecutor(20) as pool:
                answers.extend(pool.map(lambda _: server.as_admin("GET", "/api/v1/projects"), range(20)))
            return [a for a in answers if a.status == 429]

        return answers, support.until("a refusal", ask)

    def test_loopback_has_no_limits_by_default(self):
        server = self.serve()
        for _ in range(300):
            self.assertEqual(server.as_admin("GET", "/api/v1/projects").status, 200)

    def test_an_address_over_its_rate_gets_429_and_probes_never(self):
        server = self.serve("--rate-address", "1")
        answers, refused = self.crowd(server)
        self.assertLessEqual({a.status for a in answers}, {200, 429})
        self.assertEqual(refused[0].json["error"]["code"], "too_many")
        self.assertGreaterEqual(int(refused[0].headers["retry-after"]), 1)
        for _ in range(50):
            self.assertEqual(server.call("GET", "/healthz").status, 200)
        # and after a while it is let in again
        support.until("let in", lambda: server.as_admin("GET", "/api/v1/projects").status == 200)

    def begin_upload(self, server, token, length=200_000, chunked=False):
        """A connection whose request the server has begun, with a part of its body sent.

        The server answers "100 Continue" after it has counted the request, so a request that follows cannot overtake it.
        """
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=support.DEADLINE_S)
        self.addCleanup(connection.close)
        framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {length}"
        head = (f"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{framing}\r\n"
                "Content-Type: application/json\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n")
        connection.sendall(head.encode())
        begun = b""
        while not begun.endswith(b"\r\n\r\n"):
            piece = connection.recv(4096)
            self.assertTrue(piece, f"the server closed the connection after {begun!r}")
            begun += piece
        self.assertEqual(begun, b"HTTP/1.1 100 Continue\r\n\r\n")
        connection.sendall(b"1\r\n \r\n" if chunked else b" ")
        return connection

    def upload(self, server, token):
        """The answer to a whole long body, which is no run: 400, or 429 where its token sends too many."""
        answer = server.call("POST", "/api/v1/runs", raw=b"{}" + b" " * 199_998, token=token, headers={"Content-Type": "application/json"})
        return answer

    def test_slow_uploads_count_for_their_token(self):
        server = self.serve("--uploads-per-token", "2")
        slow, other = (server.as_admin("POST", "/api/v1/tokens", {"scopes": ["ingest"]}).json["token"] for _ in range(2))
        held = [self.begin_upload(server, slow), self.begin_upload(server, slow, chunked=True)]
        refused = self.upload(server, slow)
        self.assertEqual((refused.status, refused.json["error"]["code"]), (429, "too_many"))
        self.assertGreaterEqual(int(refused.headers["retry-after"]), 1)
        self.assertIn("several long bodies", refused.json["error"]["message"])
        self.assertEqual(self.upload(server, other).status, 400)
        # Short bodies and other requests are not concerned.
        self.assertEqual(server.call("POST", "/api/v1/runs", {}, token=slow).status, 400)
        held[0].close()
        support.until("the closed one counts no longer", lambda: self.upload(server, slow).status == 400)
        held.append(self.begin_upload(server, slow))
        self.assertEqual(self.upload(server, slow).status, 429)

    def test_a_body_has_the_time_of_its_length_and_not_more(self):
        server = self.serve("--request-timeout", "1s")
        for chunked in (False, True):
            with self.subTest(chunked=chunked):
                connection = self.begin_upload(server, server.admin, chunked=chunked)

                def ended(sending=connection, piece=b"1\r\n \r\n" if chunked else b" "):
                    try:
                        sending.sendall(piece)  # a byte now and then is no progress
                    except OSError:
                        return True
                    return False

                support.until("the slow body is given up", ended)
        self.assertGreaterEqual(int(server.call("GET", "/metrics", token=server.admin).body.split(b"perfci_http_timeouts_total ")[1].split()[0]), 2)
        self.assertEqual(self.upload(server, server.admin).status, 400)

    def test_a_token_over_its_rate_does_not_slow_another(self):
        server = self.serve("--rate-token", "1")
        other = support.until("a token", lambda: server.as_admin(
            "POST", "/api/v1/tokens", {"scopes": ["read"]}).json.get("token"))
        self.crowd(server)
        self.assertEqual(server.call("GET", "/api/v1/projects", token=other).status, 200)

    def test_connections_of_one_address_are_limited(self):
        server = self.serve("--connections-per-address", "4")
        held = []
        try:
            for _ in range(40):
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=support.DEADLINE_S)
                held.append(connection)
                try:
                    connection.request("GET", "/version")
                    connection.getresponse().read()
                except (ConnectionError, http.client.HTTPException, OSError):
                    break
            else:
                self.fail("40 connections of one address were taken")
        finally:
            for connection in held:
                connection.close()
        support.until("let in again", lambda: self.answers(server))

    def test_a_trusted_proxy_is_not_limited_but_those_it_speaks_for_are(self):
        server = self.serve("--rate-address", "1", "--connections-per-address", "2", "--trusted-proxies", "127.0.0.0/8")
        token = server.admin
        ask = lambda client: server.call("GET", "/api/v1/projects", token=token,
                                         headers={"X-Forwarded-For": client} if client else {}).status
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
        self.assertEqual([ask(None) for _ in range(20)], [200] * 20)
        support.until("one client is limited", lambda: ask("203.0.113.9, 198.51.100.7") == 429)
        self.assertEqual(ask("198.51.100.8"), 200)
        # what stands left of the last address that is not trusted is hearsay
        support.until("limited behind two proxies", lambda: ask("198.51.100.99, 198.51.100.7, 127.0.0.5") == 429)
        # a proxy that adds a line of its own leaves what the client made up in the one before it
        token_head, made_up = {"Authorization": "Bearer " + token}, iter(range(1, 250))

        def in_two_lines():
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=support.DEADLINE_S)
            connection.putrequest("GET", "/api/v1/projects")
            for name, value in (*token_head.items(), ("X-Forwarded-For", f"203.0.113.{next(made_up)}"), ("X-Forwarded-For", "198.51.100.9")):
                connection.putheader(name, value)
            connection.endheaders()
            status = connection.getresponse().status
            connection.close()
            return status

        self.assertIn(429, [in_two_lines() for _ in range(100)])
        for connection in held:
            connection.close()

    def test_a_list_of_proxies_that_cannot_be_read_is_one_sentence(self):
        for text in ("10.0.0.0/33", "nobody", "10.0.0.1/x", "::1/129"):
            done = subprocess.run([support.BIN / "perfci-server", "--database", "dbname=none", "--listen", "127.0.0.1:0",
                                   "--trusted-proxies", text], capture_output=True, text=True, check=False,
                                  timeout=support.DEADLINE_S, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f'got "{text}"', done.stderr)

    @staticmethod
    def answers(server):
        try:
            return server.call("GET", "/healthz").status == 200
        except (ConnectionError, http.client.HTTPException, OSError):
            return False

    def test_every_change_is_in_the_audit_log(self):
        server = self.serve("--public-read")
        server.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 2))
        server.as_admin("POST", "/api/v1/runs", support.run_document(1, 1))
        token = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"], "name": "ci"}).json
        server.as_admin("DELETE", f"/api/v1/tokens/{token['id']}")
        rows = server.as_admin("GET", "/api/v1/audit?limit=100").json["audit"]
        seen = [(r["action"], r["object"]) for r in rows]
        self.assertIn(("ingest", "run 1"), seen)
        self.assertIn(("create", f"token {token['id']}"), seen)
        self.assertIn(("revoke", f"token {token['id']}"), seen)
        self.assertEqual([r["id"] for r in rows], sorted((r["id"] for r in rows), reverse=True))
        self.assertTrue(all(r["at"] and r["actor"] for r in rows))
        self.assertNotIn(token["token"], str(rows))
        mine = server.as_admin("GET", "/api/v1/audit?project=demo").json["audit"]
        self.assertEqual({r["project"] for r in mine}, {"demo"})
        # for administrators only, also where reading is public
        self.assertEqual(server.call("GET", "/api/v1/audit").status, 401)

    def test_a_revoked_token_ends_at_once_on_every_server(self):
        url = self.cluster.database()
        first, second = support.Server(url), support.Server(url)
        self.addCleanup(first.close)
        self.addCleanup(second.close)
        made = first.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"]}).json
        for _ in range(3):  # both remember it
            for server in (first, second):
                self.assertEqual(server.call("GET", "/api/v1/projects", token=made["token"]).status, 200)
        self.assertEqual(first.as_admin("DELETE", f"/api/v1/tokens/{made['id']}").status, 204)
        self.assertEqual(first.call("GET", "/api/v1/projects", token=made["token"]).status, 401)
        support.until("refused by the other", lambda: second.call(
            "GET", "/api/v1/projects", token=made["token"]).status == 401)

    def test_what_may_not_be_read_any_more_is_not_there_by_its_tag_either(self):
        url, folder = self.cluster.database(), support.tempfile.mkdtemp(prefix="pfc-open-")
        self.addCleanup(shutil.rmtree, folder)
        settings = support.pathlib.Path(folder, "settings")
        settings.write_text("PERFCI_PUBLIC_READ=1\n")
        first, second = support.Server(url, "--settings", str(settings)), support.Server(url)
        self.addCleanup(first.close)
        self.addCleanup(second.close)
        for name in ("mine", "theirs"):
            self.assertEqual(first.as_admin("POST", "/api/v1/projects", {"name": name}).status, 201)
        path, made = "/api/v1/projects/theirs", first.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"]}).json
        other = first.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"], "project": "mine"}).json["token"]

        def ask(server, token=None, **more):
            """With the tag of what was read before; a client that shows any tag is asked for as much."""
            answers = [server.call("GET", path, token=token, headers={"If-None-Match": tag, **more}) for tag in (known, "*")]
            self.assertEqual(answers[0].status, answers[1].status)
            for answer in answers:
                if answer.status != 304:
                    self.assertNotIn(b"theirs", answer.body.replace(b'no project \\"theirs\\"', b""))  # which the request named
                    self.assertNotIn("etag", answer.headers)
            return answers[0].status

        known = first.call("GET", path, token=made["token"]).headers["etag"]
        cookie = support.sign_in(first, made["token"])
        self.assertEqual([ask(s, made["token"]) for s in (first, second)], [304, 304])
        self.assertEqual([ask(first), ask(second), ask(second, **cookie)], [304, 401, 304])
        self.assertEqual([ask(s, other) for s in (first, second)], [404, 404])
        # reading is closed to the public
        settings.write_text("PERFCI_PUBLIC_READ=0\n")
        first.process.send_signal(support.signal.SIGHUP)
        support.until("reading is closed", lambda: first.call("GET", path).status == 401)
        self.assertEqual([ask(first), ask(first, made["token"])], [401, 304])
        # and the token is revoked
        self.assertEqual(first.as_admin("DELETE", f"/api/v1/tokens/{made['id']}").status, 204)
        self.assertEqual([ask(first, made["token"]), ask(first, **cookie)], [401, 401])
        support.until("refused by the other", lambda: second.call("GET", path, token=made["token"]).status == 401)
        self.assertEqual([ask(second, made["token"]), ask(second, **cookie)], [401, 401])

    def test_a_stream_ends_with_its_token_on_every_server(self):
        url = self.cluster.database()
        first, second = support.Server(url), support.Server(url)
        self.addCleanup(first.close)
        self.addCleanup(second.close)
        made, kept = (first.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"]}).json for _ in range(2))
        streams = []
        for server, token in ((first, made), (second, made), (second, kept)):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=support.DEADLINE_S)
            self.addCleanup(connection.close)
            connection.request("GET", "/api/v1/events", headers={"Authorization": "Bearer " + token["token"]})
            streams.append(connection.getresponse())
            self.assertEqual(streams[-1].status, 200)
            self.assertEqual(streams[-1].getheader("X-Content-Type-Options"), "nosniff")
        self.assertEqual(first.as_admin("DELETE", f"/api/v1/tokens/{made['id']}").status, 204)
        for stream in streams[:2]:
            stream.read()  # to its end
        self.assertFalse(streams[2].isclosed())
        first.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        first.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 1))
        first.as_admin("POST", "/api/v1/runs", support.run_document(1, 1))
        while b'"type":"run"' not in streams[2].readline().replace(b" ", b""):
            pass

    def test_no_secret_is_in_the_log(self):
        server = self.serve("--log-level", "debug")
        made = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"]}).json["token"]
        wrong = "pfc_" + "c" * 64
        cookie = support.sign_in(server, made)
        self.assertEqual(server.call("GET", "/api/v1/projects", token=made).status, 200)
        self.assertEqual(server.call("GET", "/api/v1/projects", token=wrong).status, 401)
        self.assertEqual(server.call("GET", "/api/v1/projects", headers=cookie).status, 200)
        # in places where none belongs
        self.assertEqual(server.call("GET", f"/api/v1/projects?token={made}", token=made).status, 400)
        self.assertEqual(server.as_admin("POST", "/api/v1/tokens", {"scopes": [made]}).status, 400)
        self.assertEqual(server.call("GET", f"/api/v1/projects/{made}", token=made).status, 404)
        self.assertEqual(server.call("GET", f"/{made}?{made}={made}").status, 404)
        self.assertEqual(server.as_admin("DELETE", f"/api/v1/tokens/{made}").status, 404)
        support.until("all was logged", lambda: server.log().count("/api/v1/tokens") >= 3)
        self.assertIn("/api/v1/projects/pfc_...", server.log())
        self.assertEqual(server.call("GET", "/" + cookie["Cookie"].split("=")[-1]).status, 404)
        support.until("that was logged, too", lambda: "/pfs_..." in server.log())
        for secret in (made, wrong, server.admin, cookie["Cookie"].split("=")[-1]):
            self.assertNotIn(secret[4:], server.log())

    def test_a_client_cannot_name_another_or_use_many_tokens_and_only_probes_are_free(self):
        server = self.serve("--rate-address", "1", "--trusted-proxies", "10.0.0.0/8")
        tokens = [server.admin]
        while len(tokens) < 4:
            answer = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"]})
            if answer.status == 201:
                tokens.append(answer.json["token"])
        count = iter(range(1 << 20))

        def limited(path, token=True, **more):
            def ask(n):
                client = f"198.{n >> 16}.{n >> 8 & 255}.{n & 255}"  # another each time
                return server.call("GET", path, token=tokens[n % 4] if token else None,
                                   headers={"X-Forwarded-For": client, "Forwarded": "for=" + client, "X-Real-IP": client, **more}).status
            with concurrent.futures.ThreadPoolExecutor(20) as pool:
                return 429 in pool.map(ask, [next(count) for _ in range(40)])

        for path in ("/api/v1/projects", "/metrics", "/version", "/nothing", "/", "/api/v1/projects?limit=x", "/api/v1/openapi.json"):
            support.until(f"429 at {path}", lambda: limited(path))
        support.until("429 without a token", lambda: limited("/api/v1/projects", token=False))
        for name, value in (("Accept-Encoding", "identity;q=0, *;q=0"), ("Idempotency-Key", "\u00e9")):  # refused for a header
            support.until("429 with " + name, lambda: limited("/api/v1/projects", **{name: value}))
        for path in ("/healthz", "/readyz"):
            self.assertFalse(limited(path), path)

    def test_a_proxy_that_is_trusted_says_whether_the_session_is_encrypted(self):
        for trusted, secure in (("127.0.0.0/8", True), ("10.0.0.0/8", False)):
            server = self.serve("--trusted-proxies", trusted)
            said = server.as_admin("POST", "/api/v1/session", headers={"X-Forwarded-Proto": "https"}).headers["set-cookie"]
            self.assertEqual("; Secure" in said, secure)
        self.assertNotIn("; Secure", server.as_admin("POST", "/api/v1/session").headers["set-cookie"])

    def test_every_kind_of_answer_has_the_security_headers_and_none_opens_itself_to_other_sites(self):
        server = self.serve()
        page = server.call("GET", "/")
        kinds = {"page": page, "json": server.as_admin("GET", "/api/v1/projects"), "none": server.call("DELETE", "/api/v1/session"),
                 "400": server.as_admin("GET", "/api/v1/projects?limit=x"), "401": server.call("GET", "/api/v1/projects"),
                 "404": server.as_admin("GET", "/api/v1/projects/x"), "405": server.as_admin("PUT", "/api/v1/projects"),
                 "413": server.as_admin("POST", "/api/v1/runs", headers={"Content-Length": "99999999999"}, raw=b""),
                 "414": server.as_admin("GET", "/api/v1/projects?cursor=" + "1" * 9000), "metrics": server.call("GET", "/metrics"),
                 "304": server.as_admin("GET", "/api/v1/openapi.json", headers={"If-None-Match": "*"}), "options": server.call("OPTIONS", "/")}
        kinds["429"] = self.crowd(self.serve("--rate-address", "1"))[1][0]
        away = support.Server("host=/nowhere dbname=none", ready=False)
        self.addCleanup(away.close)
        kinds["503"] = away.call("GET", "/readyz")
        for kind, answer in kinds.items():
            with self.subTest(kind=kind):
                if kind.isdigit():
                    self.assertEqual(answer.status, int(kind))
                self.assertRegex(answer.headers["content-security-policy"], "default-src 'none';.*frame-ancestors 'none'")
                self.assertNotIn("unsafe", answer.headers["content-security-policy"])
                for name, value in (("x-content-type-options", "nosniff"), ("x-frame-options", "DENY"), ("referrer-policy", "no-referrer"),
                                    ("cross-origin-resource-policy", "same-origin")):
                    self.assertEqual(answer.headers[name], value)
                self.assertTrue(answer.headers["x-request-id"])
                self.assertIn("cache-control", answer.headers)
        # no CORS header for any site: neither on a plain request nor on a preflight
        other = {"Origin": "https://evil.example", "Access-Control-Request-Method": "PATCH",
                 "Access-Control-Request-Headers": "authorization, content-type"}
        for method, path in (("OPTIONS", "/api/v1/projects"), ("OPTIONS", "/api/v1/alerts/1"), ("GET", "/api/v1/projects"), ("GET", "/healthz"),
                             ("GET", "/"), ("POST", "/api/v1/projects"), ("OPTIONS", "/nothing")):
            answer = away.call(method, path, headers=other)
            self.assertFalse([name for name in answer.headers if name.startswith("access-control-")], (method, path))

    def test_a_token_is_rotated_with_an_overlap(self):
        url = self.cluster.database()
        servers = [support.Server(url), support.Server(url)]
        for server in servers:
            self.addCleanup(server.close)
        first, second = servers
        first.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        old = first.as_admin("POST", "/api/v1/tokens", {"scopes": ["read", "ingest"], "name": "ci", "project": "demo",
                                                        "expires_at": "2999-01-01T00:00:00Z"}).json
        works = lambda made, server: server.call("GET", "/api/v1/projects/demo", token=made["token"]).status == 200
        self.assertTrue(works(old, first) and works(old, second))
        new = first.as_admin("POST", f"/api/v1/tokens/{old['id']}/rotate", {"overlap_s": 3600}).json
        self.assertNotEqual(new["token"], old["token"])
        self.assertEqual({**new, "id": 0, "token": 0, "expires_at": 0}, {**old, "id": 0, "token": 0, "expires_at": 0})
        self.assertTrue(new["expires_at"].startswith("29"))
        for made in (old, new):
            self.assertTrue(works(made, first) and works(made, second))
        rows = {row["id"]: row for row in first.as_admin("GET", "/api/v1/tokens").json["tokens"]}
        self.assertLess(rows[old["id"]]["expires_at"], "2998")
        # without an overlap the old one ends at once, everywhere; by the command line, as people do it
        done = subprocess.run([support.BIN / "perfci", "token", "rotate", str(new["id"]), "--overlap", "0s", "--quiet", "--url",
                               f"http://127.0.0.1:{first.port}"], capture_output=True, text=True, timeout=support.DEADLINE_S, check=False,
                              stdin=subprocess.DEVNULL, env={**os.environ, "PERFCI_TOKEN": first.admin})
        self.assertEqual(done.returncode, 0, done.stderr)
        last = {"token": done.stdout.strip()}
        self.assertTrue(works(last, second))
        for server in servers:
            support.until("the old one ends", lambda: not works(new, server))
        self.assertEqual(first.as_admin("POST", f"/api/v1/tokens/{new['id']}/rotate", {"overlap_s": 1}).status, 404)
        self.assertTrue(works(old, first))

    def test_a_token_that_ended_without_a_word_is_not_remembered_for_long(self):
        server = self.serve()
        status = lambda made: server.call("GET", "/api/v1/projects", token=made["token"]).status

        def remembered():
            made = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"]}).json
            self.assertEqual(status(made), 200)
            # as after a restore, or behind a pooler that loses the database's events
            support.sql(server.database, f"UPDATE tokens SET revoked_at = now() WHERE id = {made['id']}")
            return status(made) == 200 and made

        made = support.until("one is remembered", remembered)  # none is cached before the server listens for events of the database
        support.until("refused", lambda: status(made) == 401)

    def refused(self, *flags, status=2, **environment):
        """The error message of a server that does not start."""
        done = subprocess.run([support.BIN / "perfci-server", *flags], capture_output=True, text=True, check=False,
                              timeout=support.DEADLINE_S, stdin=subprocess.DEVNULL,
                              env={**{k: v for k, v in os.environ.items() if not k.startswith("PERFCI_")}, **environment})
        self.assertEqual(done.returncode, status, done.stderr)
        said = [line for line in done.stderr.splitlines() if not line.startswith("{")]
        self.assertEqual(len(said), 1, done.stderr)
        return said[0]

    def test_plain_http_leaves_this_machine_only_when_allowed(self):
        for address in ("0.0.0.0:0", "[::]:0"):
            said = self.refused("--database", "host=/nowhere", "--listen", address)
            for word in ("plain HTTP", "--tls-cert", "--plain-http"):
                self.assertIn(word, said)
        # told, it goes on to the database, which is away
        self.assertIn("nowhere", self.refused("--database", "host=/nowhere", "--listen", "0.0.0.0:0", "--database-wait", "0s",
                                              status=5, PERFCI_PLAIN_HTTP="1"))
        for address in ("127.0.0.1:0", "127.9.9.9:0", "localhost:0"):
            self.assertIn("nowhere", self.refused("--database", "host=/nowhere", "--listen", address, "--database-wait", "0s", status=5))

    def test_secrets_do_not_come_by_flags_or_open_files(self):
        for url in ("postgresql://perfci:sesame@db/perfci", "host=db password=sesame", "host=db password = 'sesame'",
                    "postgresql://db/perfci?user=a&password=sesame", "host=db sslpassword=sesame"):
            said = self.refused("--database", url, "--listen", "127.0.0.1:0")
            self.assertIn("--database: expected a URL without a password", said)
            self.assertNotIn("sesame", said)
        for flag in ("--token", "--database-read", "--database-direct", "--admin-token", "--password"):
            self.assertIn("unknown option", self.refused(flag, "sesame", "--database", "host=/nowhere"))
        # a password with unescaped special characters must not be reported as a host or a port
        for url in ("postgresql://u:ses/ame@db/p", "postgresql://u:x@sesame@db/p", "postgresql://u:x:sesame@ses@ame:1@db/p",
                    "postgresql://u:ses%ame@db/p", "host=db password='sesame", "host=db password=x sesame"):
            said = self.refused("--listen", "127.0.0.1:0", "--database-wait", "0s", PERFCI_DATABASE_URL=url)
            self.assertIn("%XX", said)
            self.assertNotIn("ses", said)
        folder = support.tempfile.mkdtemp(prefix="pfc-secret-")
        self.addCleanup(shutil.rmtree, folder)
        for name in ("PERFCI_DATABASE_URL", "PERFCI_DATABASE_READ_URL", "PERFCI_DATABASE_DIRECT_URL"):
            path = support.pathlib.Path(folder, name)
            path.write_text("host=/nowhere password=sesame\n")
            path.chmod(0o644)
            more = {} if name == "PERFCI_DATABASE_URL" else {"PERFCI_DATABASE_URL": "host=/nowhere"}
            said = self.refused("--listen", "127.0.0.1:0", **{name + "_FILE": str(path)}, **more)
            self.assertIn("world-readable; expected no access for others", said)
            self.assertIn(name + "_FILE", said)
            # for its owner alone, or as systemd has a credential: taken, and never told
            path.chmod(0o600)
            for source in ({name + "_FILE": str(path)}, {"CREDENTIALS_DIRECTORY": folder}):
                said = self.refused("--listen", "127.0.0.1:0", "--database-wait", "0s", status=5, **source, **more)
                self.assertIn("/nowhere", said)
                self.assertNotIn("sesame", said)
            path.unlink()
            self.assertRegex(self.refused("--listen", "127.0.0.1:0", **{name + "_FILE": str(path)}, **more),
                             f"{name}_FILE: cannot [a-z ]+ {path}: No such file")

    def test_what_the_process_shows_of_itself_holds_no_secret(self):
        cert, key = self.certificate()
        url = self.cluster.database()
        file = os.path.join(os.path.dirname(key), "url")
        with open(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="utf-8") as out:
            out.write(url + (" " if "://" not in url else "&" if "?" in url else "?") + "password=sesame")
        server = self.serve("--tls-cert", cert, "--tls-key", key, ready=False,
                            environment={"PERFCI_DATABASE_URL": "", "PERFCI_DATABASE_URL_FILE": file})
        support.until("ready", lambda: self.tls_call(server, cert, "GET", "/readyz")[0].status == 200)
        process = f"/proc/{server.process.pid}/"
        secrets = [b"sesame", server.admin.encode(), support.pathlib.Path(key).read_bytes().splitlines()[1]]
        shown = [support.pathlib.Path(process + name).read_bytes() for name in ("cmdline", "environ", "comm")]
        shown += [self.tls_call(server, cert, "GET", path, server.admin if path.startswith("/api") else None)[1]
                  for path in ("/version", "/healthz", "/readyz", "/metrics", "/api/v1/stats", "/api/v1/tokens", "/api/v1/audit",
                               "/api/v1/openapi.json", "/debug/vars", "/env", "/api/v1/settings")]
        shown.append(server.log().encode())
        for text in shown:
            for secret in secrets:
                self.assertFalse(secret in text, text[:100])

    def test_half_of_a_key_pair_is_a_usage_error(self):
        done = subprocess.run([support.BIN / "perfci-server", "--database", "host=/nowhere", "--tls-cert", "x"],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=support.DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--tls-key", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
