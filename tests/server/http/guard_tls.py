"""TLS of the running server: its files, the versions it speaks, the port beside it, a certificate that is renewed.

For Guard of test_guard.py, which has serve(), refused() and the cluster.
"""
import concurrent.futures
import http.client
import os
import shutil
import socket
import ssl
import subprocess
import warnings

import support


class Tls:
    """Mixed into Guard."""

    def certificate(self, name="server", days=2):
        """A key and a certificate of its own; the folder ends with the test."""
        folder = support.tempfile.mkdtemp(prefix="pfc-tls-")
        self.addCleanup(shutil.rmtree, folder)
        key, cert = os.path.join(folder, "key.pem"), os.path.join(folder, "cert.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                        "-out", cert, "-days", str(days), "-subj", "/CN=" + name, "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, capture_output=True, stdin=subprocess.DEVNULL)
        return cert, key

    @staticmethod
    def tls_call(server, cert, method, path, token=None, connection=None):
        if connection is None:
            connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=support.DEADLINE_S,
                                                     context=ssl.create_default_context(cafile=cert))
        connection.request(method, path, headers={"Authorization": "Bearer " + token} if token else {})
        reply = connection.getresponse()
        body = reply.read()
        connection.close()
        return reply, body

    def test_tls_by_certificate_files(self):
        cert, key = self.certificate()
        server = self.serve("--tls-cert", cert, "--tls-key", key, ready=False)
        support.until("ready", lambda: self.tls_call(server, cert, "GET", "/readyz")[0].status == 200)
        reply, _ = self.tls_call(server, cert, "POST", "/api/v1/session", server.admin)
        self.assertIn("Secure", reply.getheader("Set-Cookie"))
        for path in ("/", "/api/v1/projects", "/nothing"):
            self.assertEqual(self.tls_call(server, cert, "GET", path)[0].getheader("Strict-Transport-Security"), "max-age=31536000")
        self.assertNotIn("strict-transport-security", self.serve().call("GET", "/").headers)
        with open(os.path.join(server.dir, "endpoint"), encoding="utf-8") as file:
            self.assertTrue(file.read().startswith("https://"))
        self.assertRegex(self.tls_call(server, cert, "GET", "/metrics")[1], rb"(?m)^perfci_http_certificate_expires 1\d{9}$")
        # 1.2 and 1.3, nothing older, and no plain HTTP
        for version, good in ((ssl.TLSVersion.TLSv1_3, True), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_1, False),
                              (ssl.TLSVersion.TLSv1, False)):
            context = ssl.create_default_context(cafile=cert)
            context.set_ciphers("ALL:@SECLEVEL=0")  # the client would take what is older
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                context.minimum_version = context.maximum_version = version
            with self.subTest(version=version):
                try:
                    with socket.create_connection(("127.0.0.1", server.port), timeout=support.DEADLINE_S) as plain:
                        with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                            self.assertEqual((secure.version(), good), (f"TLSv1.{3 if version == ssl.TLSVersion.TLSv1_3 else 2}", True))
                except (ssl.SSLError, ConnectionError) as fault:
                    self.assertFalse(good, fault)
        with self.assertRaises((ConnectionError, http.client.HTTPException)):
            server.call("GET", "/healthz")

    def test_under_tls_operations_have_a_port_that_a_busy_pool_does_not_block(self):
        cert, key = self.certificate()
        url = self.cluster.database()
        server = support.Server(url, "--tls-cert", cert, "--tls-key", key, "--ops-listen", "127.0.0.1:0", "--threads", "2",
                                "--workers", "0", ready=False)
        self.addCleanup(server.close)
        port = int(support.pathlib.Path(server.dir, "ops-endpoint").read_text().rsplit(":", 1)[1])

        def ops(path):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=support.DEADLINE_S)
            connection.request("GET", path)
            reply = connection.getresponse()
            connection.close()
            return reply.status

        support.until("ready", lambda: ops("/readyz") == 200)
        self.assertEqual([ops(path) for path in ("/healthz", "/metrics", "/version", "/api/v1/projects", "/")], [200] * 3 + [404] * 2)
        token = server.admin
        self.assertEqual(self.tls_call(server, cert, "GET", "/api/v1/projects", token)[0].status, 200)
        locker = subprocess.Popen(["psql", "-XAtq", "-d", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        locker.stdin.write("BEGIN; LOCK TABLE projects; SELECT 'held';\n")
        locker.stdin.flush()
        self.assertEqual(locker.stdout.readline(), "held\n")
        waiting = ("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'perfci'")
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            # libmicrohttpd chooses a thread by the socket's number: many, so that both have one that waits
            asked = [pool.submit(self.tls_call, server, cert, "GET", "/api/v1/projects", token) for _ in range(16)]
            support.until("both threads wait", lambda: int(support.sql(url, waiting)) == 2)
            late = pool.submit(self.tls_call, server, cert, "GET", "/healthz")
            self.assertEqual([ops("/healthz") for _ in range(20)], [200] * 20)
            self.assertFalse(late.done(), "the pool was not busy: the test asks for nothing")
            locker.stdin.close()
            locker.wait(timeout=support.DEADLINE_S)
            locker.stdout.close()
            self.assertEqual(late.result()[0].status, 200)
            self.assertLessEqual({a.result()[0].status for a in asked}, {200, 503})

    def test_a_renewed_certificate_is_taken_over_by_a_reload(self):
        cert, key = self.certificate("old")
        other_cert, other_key = self.certificate("new")
        server = self.serve("--tls-cert", cert, "--tls-key", key, ready=False)
        support.until("ready", lambda: self.tls_call(server, cert, "GET", "/readyz")[0].status == 200)
        old = support.pathlib.Path(cert).read_bytes()
        held = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=support.DEADLINE_S,
                                           context=ssl.create_default_context(cafile=cert))
        held.request("GET", "/version")
        held.getresponse().read()

        # half of it is there: nothing changes, and the log says why
        shutil.copy(other_cert, cert)
        server.process.send_signal(support.signal.SIGHUP)
        support.until("the failure is logged", lambda: "certificate_not_reloaded" in server.log())
        self.assertIn("--tls-key: it is not the key of --tls-cert", server.log())
        with open(server.dir + "/old.pem", "wb") as file:
            file.write(old)
        self.assertEqual(self.tls_call(server, server.dir + "/old.pem", "GET", "/healthz")[0].status, 200)

        shutil.copy(other_key, key)
        server.process.send_signal(support.signal.SIGHUP)
        support.until("renewed", lambda: "certificate_reloaded" in server.log())
        self.assertEqual(self.tls_call(server, other_cert, "GET", "/healthz")[0].status, 200)
        with self.assertRaises(ssl.SSLError):
            self.tls_call(server, server.dir + "/old.pem", "GET", "/healthz")
        # who was connected stays
        self.assertEqual(self.tls_call(server, None, "GET", "/version", connection=held)[0].status, 200)

    def test_certificate_files_that_cannot_serve_are_one_sentence(self):
        cert, key = self.certificate()
        _, other = self.certificate()
        garbage, shown = key + ".no", key + ".open"
        support.pathlib.Path(garbage).write_text("no PEM")
        os.chmod(garbage, 0o600)
        shutil.copy(key, shown)
        os.chmod(shown, 0o644)
        start = ("--database", "host=/nowhere", "--listen", "127.0.0.1:0")
        for pair, sentence in (((cert, other), "--tls-key: it is not the key of --tls-cert"),
                               ((cert, garbage), "--tls-key: expected a PEM key without a passphrase"),
                               ((garbage, key), "--tls-cert: expected PEM certificates"),
                               ((cert, cert), "--tls-key"), ((cert, key + ".gone"), "--tls-key: cannot look at"),
                               ((cert + ".gone", key), "--tls-cert: cannot open"), ((cert, shown), "world-readable; expected no access for others")):
            with self.subTest(pair=pair):
                self.assertIn(sentence, self.refused(*start, "--tls-cert", pair[0], "--tls-key", pair[1]))
