"""Who may ask, how often, and what is written down of it: rate limits, sessions, TLS, the audit log."""
import concurrent.futures
import http.client
import os
import shutil
import socket
import ssl
import subprocess
import unittest

import support


class Guard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = support.Cluster()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def serve(self, *flags, **more):
        server = support.Server(self.cluster.database(), *flags, **more)
        self.addCleanup(server.close)
        return server

    @staticmethod
    def crowd(server):
        """Asks by twenties, until at three at once and one a second somebody is refused."""
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

    def test_a_session_opens_reading_and_nothing_else(self):
        server = self.serve()
        made = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["admin"]}).json
        answer = server.call("POST", "/api/v1/session", token=made["token"])
        self.assertEqual(answer.status, 204)
        cookie = answer.headers["set-cookie"]
        for word in ("HttpOnly", "SameSite=Strict", "Path=/api/v1"):
            self.assertIn(word, cookie)
        self.assertNotIn("Max-Age", cookie)
        head = {"Cookie": "theme=dark; " + cookie.split(";")[0]}

        self.assertEqual(server.call("GET", "/api/v1/projects", headers=head).status, 200)
        stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=support.DEADLINE_S)
        stream.request("GET", "/api/v1/events", headers=head)
        reply = stream.getresponse()
        self.assertEqual(reply.status, 200)
        self.assertTrue(reply.readline().startswith(b"retry:"))
        stream.close()
        # changes need the header: a page of another site cannot make a browser send that
        self.assertEqual(server.call("POST", "/api/v1/projects", {"name": "x"}, headers=head).status, 401)
        self.assertEqual(server.call("DELETE", f"/api/v1/tokens/{made['id']}", headers=head).status, 401)
        self.assertEqual(server.call("GET", "/api/v1/projects",
                                     headers={**head, "Sec-Fetch-Site": "cross-site"}).status, 401)
        # gone with its token
        self.assertEqual(server.as_admin("DELETE", f"/api/v1/tokens/{made['id']}").status, 204)
        self.assertEqual(server.call("GET", "/api/v1/projects", headers=head).status, 401)
        self.assertIn("Max-Age=0", server.call("DELETE", "/api/v1/session").headers["set-cookie"])
        self.assertEqual(server.call("POST", "/api/v1/session").status, 401)

    def test_a_dead_session_still_reads_what_is_public(self):
        server = self.serve("--public-read")
        head = {"Cookie": "pfc_session=pfc_" + "0" * 64}
        self.assertEqual(server.call("GET", "/api/v1/projects", headers=head).status, 200)
        self.assertEqual(server.call("GET", "/api/v1/tokens", headers=head).status, 401)

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

    def test_no_secret_is_in_the_log(self):
        server = self.serve("--log-level", "debug")
        made = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"]}).json["token"]
        wrong = "pfc_" + "c" * 64
        cookie = {"Cookie": f"pfc_session={made}"}
        self.assertEqual(server.call("GET", "/api/v1/projects", token=made).status, 200)
        self.assertEqual(server.call("GET", "/api/v1/projects", token=wrong).status, 401)
        self.assertEqual(server.call("GET", "/api/v1/projects", headers=cookie).status, 200)
        # in places where none belongs
        self.assertEqual(server.call("GET", f"/api/v1/projects?token={made}", token=made).status, 400)
        self.assertEqual(server.as_admin("POST", "/api/v1/tokens", {"scopes": [made]}).status, 400)
        support.until("all was logged", lambda: server.log().count("/api/v1/tokens") >= 2)
        for secret in (made, wrong, server.admin):
            self.assertNotIn(secret.removeprefix("pfc_"), server.log())

    def test_tls_by_certificate_files(self):
        folder = support.tempfile.mkdtemp(prefix="pfc-tls-")
        self.addCleanup(shutil.rmtree, folder)
        key, cert = os.path.join(folder, "key.pem"), os.path.join(folder, "cert.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert,
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, capture_output=True, stdin=subprocess.DEVNULL)
        server = self.serve("--tls-cert", cert, "--tls-key", key, ready=False)
        context = ssl.create_default_context(cafile=cert)

        def call(method, path, token=None):
            connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=support.DEADLINE_S, context=context)
            connection.request(method, path, headers={"Authorization": "Bearer " + token} if token else {})
            reply = connection.getresponse()
            body = reply.read()
            connection.close()
            return reply, body

        support.until("ready", lambda: call("GET", "/readyz")[0].status == 200)
        reply, _ = call("POST", "/api/v1/session", server.admin)
        self.assertIn("Secure", reply.getheader("Set-Cookie"))
        with open(os.path.join(server.dir, "endpoint"), encoding="utf-8") as file:
            self.assertTrue(file.read().startswith("https://"))

    def test_half_of_a_key_pair_is_a_usage_error(self):
        done = subprocess.run([support.BIN / "perfci-server", "--database", "host=/nowhere", "--tls-cert", "x"],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=support.DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--tls-key", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
