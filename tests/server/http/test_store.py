"""Backup and restore into a fresh cluster, the check of what is stored, two servers on one database."""
import concurrent.futures
import http.client
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

import support

TABLES = ("projects", "commits", "branch_commits", "machines", "benchmarks", "series", "runs", "run_parts",
          "measurements", "unmeasured", "change_points", "alerts", "alert_events", "jobs", "tokens", "audit",
          "bisections", "bisection_steps", "verifications", "schema_migrations")


def admin(url, *args, status=0):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PERFCI_", "PG"))}
    done = subprocess.run([support.BIN / "perfci", "admin", *args], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, env={**env, "PERFCI_DATABASE_URL": url}, check=False)
    if done.returncode != status:
        raise AssertionError(f"admin {args}: status {done.returncode}, want {status}: {done.stderr}")
    return done


def contents(url):
    """Every row of every table, in an order that does not depend on where they lie."""
    return {t: sorted(support.sql(url, f"SELECT to_jsonb(t) FROM {t} AS t").splitlines()) for t in TABLES}


class Store(unittest.TestCase):
    def setUp(self):
        self.cluster = support.Cluster()
        self.addCleanup(self.cluster.close)
        self.folder = tempfile.mkdtemp(prefix="pfc-backup-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = os.path.join(self.folder, "all.dump")

    def filled(self):
        url = self.cluster.database()
        server = support.Server(url)
        self.addCleanup(server.close)
        server.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 30))
        for n in range(1, 31):
            answer = server.as_admin("POST", "/api/v1/runs", support.run_document(n, n, 100.0 if n < 16 else 150.0))
            self.assertEqual(answer.status, 201, answer)
        support.until("all judged", lambda: server.as_admin(
            "GET", "/api/v1/stats").json["detection_lag_s"] == 0)
        return url, server

    def test_a_backup_comes_back_whole_in_a_fresh_cluster(self):
        url, server = self.filled()
        self.assertEqual(json.loads(admin(url, "check", "--json").stdout)["holds"], True)
        self.assertEqual(server.stop(), 0)
        before = contents(url)
        self.assertEqual(len(before["runs"]), 30)
        admin(url, "backup", self.file)
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)
        self.assertEqual(os.listdir(self.folder), ["all.dump"])

        other = support.Cluster()
        self.addCleanup(other.close)
        fresh = other.database()
        admin(fresh, "restore", self.file)
        self.assertEqual(contents(fresh), before)
        admin(fresh, "check")
        # and a server goes on from there: the same run again is the same run, a new one gets a new number
        again = support.Server(fresh)
        self.addCleanup(again.close)
        self.assertEqual(again.as_admin("POST", "/api/v1/runs", support.run_document(1, 1, 100.0)).status, 200)
        answer = again.as_admin("POST", "/api/v1/runs", support.run_document(99, 30, 150.0))
        self.assertEqual(answer.status, 201)
        self.assertGreater(answer.json["run_id"], 30)

    def test_restore_refuses_a_database_that_is_not_empty_and_a_torn_file(self):
        url, _ = self.filled()
        admin(url, "backup", self.file)
        self.assertIn("not empty", admin(url, "restore", self.file, status=2).stderr)
        with open(self.file, "rb+") as file:
            file.truncate(os.path.getsize(self.file) // 2)
        fresh = self.cluster.database()
        admin(fresh, "restore", self.file, status=5)
        self.assertEqual(support.sql(fresh, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").strip(), "0")

    def test_check_finds_what_does_not_hold(self):
        url, server = self.filled()
        self.assertEqual(server.stop(), 0)
        support.sql(url, "DELETE FROM jobs WHERE kind = 'detect' AND run_id = 3;"
                 "UPDATE measurements SET n = n + 1 WHERE run_id = 4")
        report = json.loads(admin(url, "check", "--json", status=5).stdout)
        wrong = {c["what"]: c["wrong"] for c in report["checks"] if c["wrong"]}
        self.assertEqual(report["holds"], False)
        self.assertEqual(wrong, {"runs that are never judged": 1,
                                 "measurements whose samples do not fit their number or blocks": 1})

    def test_a_password_in_the_url_is_refused(self):
        done = admin("postgresql://a:secret@db/perfci", "check", status=2)
        self.assertNotIn("secret", done.stderr)

    def test_events_cross_between_two_servers(self):
        url, first = self.filled()
        second = support.Server(url, "--workers", "0")
        self.addCleanup(second.close)
        stream = http.client.HTTPConnection("127.0.0.1", second.port, timeout=support.DEADLINE_S)
        self.addCleanup(stream.close)
        stream.request("GET", "/api/v1/events", headers={"Authorization": "Bearer " + second.admin})
        reply = stream.getresponse()
        self.assertEqual(reply.status, 200)
        self.assertEqual(first.as_admin("POST", "/api/v1/runs", support.run_document(77, 30, 150.0)).status, 201)
        wanted = f"{77:032x}"
        end = time.monotonic() + support.DEADLINE_S
        while True:
            line = reply.readline().decode()  # a comment line comes from time to time, whatever happens
            self.assertTrue(line, "the stream ended")
            self.assertLess(time.monotonic(), end, "the event never came")
            if line.startswith("data:") and json.loads(line[5:]).get("id") == wanted:
                break
        # and what one has stored the other reads
        self.assertEqual(second.as_admin("GET", f"/api/v1/runs/{wanted}").status, 200)


class Pooler:
    """A PgBouncer that pools transactions of one database over two connections."""

    def __init__(self, cluster_url):
        parts = dict(part.split("=", 1) for part in cluster_url.split())
        owner = os.stat(os.path.join(parts["host"], "data"))  # it does not run as root either
        self.folder = tempfile.mkdtemp(prefix="pfc-pool-")
        path = os.path.join(self.folder, "ini")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"[databases]\n{parts['dbname']} = host={parts['host']} user={parts['user']}\n[pgbouncer]\n"
                       f"unix_socket_dir = {self.folder}\nlisten_port = 6432\nauth_type = any\npool_mode = transaction\n"
                       "default_pool_size = 2\nmax_client_conn = 100\n")
        shutil.chown(self.folder, owner.st_uid, owner.st_gid)
        self.url = f"host={self.folder} port=6432 user={parts['user']} dbname={parts['dbname']}"
        program = shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin") or "pgbouncer"
        self.process = subprocess.Popen([program, path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, user=owner.st_uid, group=owner.st_gid)

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)


class Pooled(unittest.TestCase):
    def test_a_pooler_of_transactions_may_stand_between(self):
        cluster = support.Cluster()
        self.addCleanup(cluster.close)
        url = cluster.database()
        pooler = Pooler(url)
        self.addCleanup(pooler.close)
        server = support.Server(pooler.url, environment={"PERFCI_DATABASE_PREPARE": "0", "PERFCI_DATABASE_DIRECT_URL": url})
        self.addCleanup(server.close)
        stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=support.DEADLINE_S)
        self.addCleanup(stream.close)
        stream.request("GET", "/api/v1/events", headers={"Authorization": "Bearer " + server.admin})
        events = stream.getresponse()
        self.assertEqual(events.status, 200)
        server.as_admin("POST", "/api/v1/projects", {"name": "demo"})
        server.as_admin("POST", "/api/v1/projects/demo/commits", support.commits(1, 40))
        documents = [support.run_document(n, n, 100.0 if n < 21 else 150.0) for n in range(1, 41)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda d: server.as_admin("POST", "/api/v1/runs", d).status, documents * 2))
        self.assertEqual((answers.count(201), answers.count(200)), (40, 40), answers)
        heard = b""
        while b"event: alert" not in heard:  # judged, and the news came past the pooler
            part = events.read1(65536)
            self.assertTrue(part, "the stream ended")
            heard += part
        series = server.as_admin("GET", "/api/v1/projects/demo/series").json["series"]
        window = server.as_admin("GET", f"/api/v1/series/{series[0]['id']}?points=10").json
        self.assertEqual((len(window["columns"]["median"]), window["bucketed"]), (10, True))
        answer = server.as_admin("GET", f"/api/v1/compare?project=demo&a={support.commit_id(2)}&b={support.commit_id(39)}")
        self.assertEqual(len(answer.json["rows"]), 1, answer)
        used = support.sql(url, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'perfci' AND pid <> pg_backend_pid()")
        self.assertLessEqual(int(used), 2 + 2, "the pool's two, and two that listen")
        admin(url, "check")


if __name__ == "__main__":
    unittest.main(verbosity=1)
