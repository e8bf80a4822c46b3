"""The database goes away and comes back: 503 with a sentence meanwhile, and nothing to repair."""
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import unittest
import unittest.mock

import support


class DatabaseDown(unittest.TestCase):
    def setUp(self):
        self.cluster = support.Cluster()
        self.addCleanup(self.cluster.close)

    def server(self, *flags, **more):
        server = support.Server(self.cluster.url, "--public-read", *flags, **more)
        self.addCleanup(server.close)
        return server

    def is_unavailable(self, answer):
        return answer.status == 503 and answer.json["error"]["code"] == "unavailable"

    def test_down_and_back_while_it_runs(self):
        server = self.server()
        self.assertEqual(server.as_admin("POST", "/api/v1/projects", {"name": "demo"}).status, 201)
        for order in ("halt", "crash"):
            self.cluster.order(order)
            support.until("not ready", lambda: server.call("GET", "/readyz").status == 503)
            for method, path, body in (("GET", "/api/v1/projects", None), ("GET", "/api/v1/projects/demo", None),
                                       ("POST", "/api/v1/runs", support.run_document(1, 1))):
                with self.subTest(order=order, path=path):
                    answer = server.call(method, path, body, token=server.admin)
                    self.assertTrue(self.is_unavailable(answer), answer)
                    self.assertIn("retry-after", answer.headers)
            self.assertEqual(server.call("GET", "/healthz").status, 200)
            self.assertIn(b"perfci_database_up 0\n", server.call("GET", "/metrics").body)
            self.cluster.order("resume")
            support.until("ready again", lambda: server.call("GET", "/readyz").status == 200)
            support.until("the run is taken", lambda: server.as_admin(
                "POST", "/api/v1/runs", support.run_document(1, 1)).status in (200, 201))
        self.assertEqual(server.call("GET", "/api/v1/stats").json["runs"], 1)
        # The worker reconnected as well: the run is judged.
        support.until("the run is judged", lambda: (server.call(
            "GET", "/api/v1/projects/demo/series").json.get("series") or [{}])[0].get("points") == 1)

    def until_ready_is(self, server, status):
        return support.until(f"readiness is {status}", lambda: next(
            (a for a in [server.call("GET", "/readyz")] if a.status == status), None))

    def test_a_database_that_takes_no_writes_is_not_ready(self):
        server = self.server()
        self.assertEqual(server.as_admin("POST", "/api/v1/projects", {"name": "demo"}).status, 201)
        for word, status in (("on", 503), ("off", 200)):
            # Takes effect in the connections that the server holds, as on a primary that is demoted.
            support.sql(self.cluster.url, f"ALTER SYSTEM SET default_transaction_read_only = {word}")
            support.sql(self.cluster.url, "SELECT pg_reload_conf()")
            answer = self.until_ready_is(server, status)
            if status == 503:
                self.assertTrue(self.is_unavailable(answer), answer)
                self.assertRegex(answer.json["error"]["message"], r"^not ready: the database takes no writes: .*"
                                 "cannot execute INSERT in a read-only transaction")
                self.assertIn("retry-after", answer.headers)
                self.assertEqual(server.call("GET", "/api/v1/projects").status, 200)
                self.assertEqual(server.call("GET", "/healthz").status, 200)
        # A failed try stores nothing.
        self.assertEqual(support.sql(self.cluster.url, "SELECT count(*) FROM readiness").strip(), "0")

    def test_an_older_postgresql_is_refused_by_its_version(self):
        def message(kind, body):
            return kind + struct.pack("!I", len(body) + 4) + body

        def greet(listener):
            """A PostgreSQL 14.3 that accepts every login and then answers nothing."""
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)
                    connection.sendall(message(b"R", struct.pack("!I", 0)) + message(b"S", b"server_version\x0014.3\x00") + message(b"Z", b"I"))
                    connection.recv(65536)

        folder = tempfile.mkdtemp(prefix="pfc-old-")
        self.addCleanup(shutil.rmtree, folder)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(folder + "/.s.PGSQL.5432")
        listener.listen()
        thread = threading.Thread(target=greet, args=(listener,))
        thread.start()
        server = support.Server(f"host={folder} user=perfci dbname=perfci sslmode=disable", ready=False)
        self.addCleanup(server.close)
        support.until("the version is said", lambda: "expected PostgreSQL 15 or newer, got 14.3" in server.log())
        self.assertEqual(server.call("GET", "/readyz").status, 503)
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()

    def test_an_old_server_beside_a_newer_schema_stores_once_and_does_not_start_again(self):
        url = self.cluster.database(migrated=True)
        old = support.Server(url, "--public-read")
        self.addCleanup(old.close)
        self.assertEqual(old.as_admin("POST", "/api/v1/projects", {"name": "demo"}).status, 201)
        self.assertEqual(old.as_admin("POST", "/api/v1/runs", support.run_document(1, 1)).status, 201)
        support.sql(url, "INSERT INTO schema_migrations SELECT max(version) + 1, 'of a newer server' FROM schema_migrations")
        # It works on, because migrations only add: what is sent again is known, what is new is stored and judged.
        self.assertEqual(self.statuses(old, 1, 2, 2), [200, 201, 200])
        support.until("judged", lambda: support.sql(url, "SELECT sum(points) FROM series") == "2\n")
        self.assertEqual(old.call("GET", "/readyz").status, 200)
        support.sql(url, "INSERT INTO schema_migrations VALUES (9999, 'of a server two releases ahead')")
        answer = support.until("not ready", lambda: next((a for a in [old.call("GET", "/readyz")] if a.status == 503), None))
        self.assertRegex(answer.json["error"]["message"], r"schema is version 9999 and this server knows \d+ and the next: update the server$")
        self.assertEqual(old.stop(), 0)
        with self.assertRaisesRegex(AssertionError, "its schema is version 9999, this program knows [0-9]+: update it"):
            old.start()
        self.assertEqual(support.sql(url, "SELECT count(*) FROM runs"), "2\n")

    def statuses(self, server, *numbers):
        return [server.as_admin("POST", "/api/v1/runs", support.run_document(n, n)).status for n in numbers]

    def test_a_write_that_has_to_wait_is_given_up(self):
        server = self.server()
        locker = subprocess.Popen(["psql", "-XAtq", "-d", self.cluster.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            locker.stdin.write("BEGIN; LOCK TABLE readiness; SELECT 'held';\n")
            locker.stdin.flush()
            self.assertEqual(locker.stdout.readline(), "held\n")
            support.until("the limit ends it", lambda: "canceling statement due to" in
                          self.until_ready_is(server, 503).json["error"]["message"])
        finally:
            locker.kill()
            locker.communicate()
        self.until_ready_is(server, 200)

    def test_away_at_start_then_there(self):
        self.cluster.order("halt")
        server = self.server(ready=False)
        self.assertEqual(server.call("GET", "/healthz").status, 200)
        self.assertTrue(self.is_unavailable(server.call("GET", "/api/v1/projects")))
        self.assertEqual(server.call("GET", "/readyz").status, 503)
        support.until("a line about it", lambda: "database_unavailable" in server.log())
        self.cluster.order("resume")
        support.until("ready", lambda: server.call("GET", "/readyz").status == 200)
        self.assertEqual(server.as_admin("POST", "/api/v1/projects", {"name": "demo"}).status, 201)

    def test_what_was_remembered_is_not_used_while_no_event_is_heard(self):
        database = self.cluster.database()
        name = database.split("dbname=")[1].split()[0]
        server = support.Server(database, "--workers", "0")
        self.addCleanup(server.close)
        status = lambda made: server.call("GET", "/api/v1/projects", token=made["token"]).status

        def remembered():
            made = server.as_admin("POST", "/api/v1/tokens", {"scopes": ["read"]}).json
            self.assertEqual(status(made), 200)
            support.sql(database, f"UPDATE tokens SET revoked_at = now() WHERE id = {made['id']}")  # without a word
            return status(made) == 200 and made

        made = support.until("one is remembered", remembered)
        # the LISTEN connection is lost and cannot be replaced; the connections of requests keep working
        support.sql(self.cluster.url, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        support.sql(self.cluster.url, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
                                      " AND query = 'LISTEN perfci'")
        support.until("it reports the lost connection", lambda: "database_unavailable" in server.log())
        self.assertEqual([status(made) for _ in range(2)], [401, 401])
        support.sql(self.cluster.url, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        support.until("it listens again", lambda: "database_available" in server.log())
        self.assertEqual(status(made), 401)
        self.assertEqual(status({"token": server.admin}), 200)

    def test_one_that_may_forget_is_refused_unless_allowed(self):
        with unittest.mock.patch.dict(os.environ, PERFCI_TEST_FSYNC="on"):
            cluster = support.Cluster()
        self.addCleanup(cluster.close)
        safe = {"PERFCI_DATABASE_UNSAFE": "0"}
        forgetful = cluster.url
        support.sql(forgetful, "ALTER DATABASE main SET synchronous_commit = off")
        for url, setting in ((self.cluster.url, "fsync"), (forgetful, "synchronous_commit")):
            with self.subTest(setting=setting):
                env = {k: v for k, v in os.environ.items() if not k.startswith(("PERFCI_", "PG"))}
                done = subprocess.run([support.BIN / "perfci-server", "--listen", "127.0.0.1:0", "--database", url], env=env,
                                      capture_output=True, text=True, timeout=support.DEADLINE_S, check=False)
                self.assertEqual(done.returncode, 5, done.stderr)
                last = done.stderr.splitlines()[-1]
                self.assertTrue(last.startswith(f"perfci-server: database: its setting {setting} is off"), last)
                self.assertIn("--database-unsafe", last)
        support.Server(self.cluster.url, "--database-unsafe", environment=safe).close()
        # the commits of one that waits for no standby are lost in a fail-over
        support.sql(forgetful, "ALTER DATABASE main SET synchronous_commit = local")
        server = support.Server(forgetful, environment=safe, ready=False)
        self.assertEqual(server.process.wait(timeout=support.DEADLINE_S), 5)
        self.assertIn("its setting synchronous_commit is local, so that a fail-over takes results", server.log().splitlines()[-1])
        server.close()
        # and one that becomes such while the server runs, as by a fail-over, acknowledges nothing
        support.sql(forgetful, "ALTER DATABASE main SET synchronous_commit = remote_write")
        server = support.Server(forgetful, "--workers", "0", environment=safe)
        self.addCleanup(server.close)
        post = lambda: server.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        support.sql(forgetful, "ALTER DATABASE main SET synchronous_commit = off; SELECT pg_terminate_backend(pid)"
                    " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
        answer = post()
        self.assertTrue(self.is_unavailable(answer), answer)
        self.assertEqual(support.sql(forgetful, "SELECT count(*) FROM projects"), "0\n")
        support.sql(forgetful, "ALTER DATABASE main SET synchronous_commit = on")
        support.until("it is taken", lambda: post().status == 201)

    def test_away_at_start_for_good_is_5(self):
        self.cluster.order("halt")
        server = support.Server(self.cluster.url, "--database-wait", "1s", ready=False)
        self.assertEqual(server.process.wait(timeout=support.DEADLINE_S), 5)
        self.assertIn("perfci-server: ", server.log().splitlines()[-1])
        self.assertEqual(server.close(), 5)


if __name__ == "__main__":
    unittest.main(verbosity=1)
